"""A few calls to the owner with nothing but the standard library: hooks have no time for more.

The messages are those of ``host.wire``; errors are told as text.
"""

import json
import socket
import time

from synthorg_tui import __version__
from synthorg_tui.host import endpoint


class CallFailedError(Exception):
    """The owner didn't answer in time, or refused."""


class HookConnection:
    """A connection for one or two calls, all of them done by ``deadline`` (monotonic seconds).

    Raises:
        NoOwnerError: Nobody listens.
        RefusedError: The socket isn't this user's.
    """

    def __init__(self, data_dir: str, *, deadline: float, hello: dict[str, object]) -> None:
        path = endpoint.socket_path(data_dir)
        endpoint.require_own_socket(path)
        self._deadline = deadline
        self._number = 0
        self._rest = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(self._left())
            self._socket.connect(path)
            self.call("host.hello", {"version": __version__, **hello})
        except BaseException:
            self._socket.close()
            raise

    def call(self, method: str, params: dict[str, object]) -> object:
        """The result of a call; raises ``CallFailedError`` and ``OSError``."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._socket.settimeout(self._left())
        self._socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = json.loads(self._line())
            if answer.get("id") == self._number and "method" not in answer:
                break
        if "error" in answer:
            raise CallFailedError(str(answer["error"].get("message")))
        return answer.get("result")

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            self._socket.settimeout(self._left())
            chunk = self._socket.recv(65536)
            if not chunk:
                raise CallFailedError("the owner hung up")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise CallFailedError("out of time")
        return left
