"""Claude Code's hooks: a digest with a prompt, a hint with a tool call, the import of a session.

A hook never stops the agent: a failure or a timeout gives empty output, exit code 0, and a line in
``hooks.log`` in the data directory. What lasts and keeps it from the store, the person is shown
once a day. It decides on no tool call and changes none.

A person waits for it at every prompt, so nothing but the standard library may be imported here, and
of that only the quick part: paths are text, since loading pathlib and typing takes as long as the
owner takes to answer.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from synthorg_tui import __version__
from synthorg_tui.connect import DIGEST_EVENTS, HINT_EVENTS, IMPORT_EVENTS, trouble
from synthorg_tui.core import COPY_VARIABLE
from synthorg_tui.host import endpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import IO

LOG_FILE = "hooks.log"
DATABASE_FILE = "memory.duckdb"
SERVER_FILE = "memory.postgres"
TIME_LIMIT = 1.4
"""Seconds from the start of the hook until it gives up."""
HINT_TIME_LIMIT = 0.3
"""The same for a hint: tool calls are many, and each waits for it."""
OWNER_SECONDS = 600
"""Seconds that an owner started by a hook waits for the next: a person thinks between prompts."""
MAX_INPUT_BYTES = 1024 * 1024
MAX_QUERY = 8_000
MAX_HINT_TEXT = 8_000
"""Characters of a command, a path or an error that are sent; of an error, its start and its end."""
_MAX_LOG_BYTES = 256 * 1024
_POLL_SECONDS = 0.02
_LOCKED, _CORRUPT = 3, 4
"""Exit codes of an owner that couldn't open the store."""
_CORRUPT_TOLD = "the store is corrupt. `synthorg-tui restore` brings back a backup."


class CallFailedError(Exception):
    """The owner didn't answer in time, or refused."""


class UnreachableError(CallFailedError):
    """Something that lasts keeps hooks from the store: it is gone, locked or another version's."""


class HookCall:
    """One run of a hook: its event and options, and the JSON that Claude Code sent.

    ``deadline`` is in seconds of ``time.monotonic``; Claude Code reads ``output``.
    """

    def __init__(
        self,
        event: str,
        data_dir: str,
        options: Mapping[str, str],
        payload: Mapping[str, object],
        deadline: float,
        output: "IO[str]",
    ) -> None:
        self.event = event
        self.data_dir = data_dir
        self.agent_id = options.get("--agent", "claude-code")
        self.token_budget = int(options["--token-budget"]) if "--token-budget" in options else None
        self.deadline = deadline
        self.config = options.get("--config")
        self.payload = payload
        self.output = output

    def text(self, key: str) -> str:
        """Return a text of the payload, or an empty one if it is missing or no text."""
        return _text(self.payload, key)

    def file(self, name: str) -> str:
        """Return the path of a file in the data directory."""
        return os.path.join(self.data_dir, name)


class HookConnection:
    """A blocking connection to the owner, on which every call ends by ``deadline``.

    ``deadline`` is in seconds of ``time.monotonic``. The messages are those of ``host.wire``,
    whose own client takes too long to load.

    Raises:
        NoOwnerError: No process listens.
        RefusedError: The socket isn't this user's.
    """

    def __init__(self, data_dir: str, *, deadline: float, hello: dict[str, object]) -> None:
        path = endpoint.socket_path(data_dir)
        endpoint.require_own_socket(path)
        self._deadline = deadline
        self._number = 0
        self._unread = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(self._seconds_left())
            self._socket.connect(path)
            self.call("host.hello", {"version": __version__, **hello})
        except BaseException:
            self._socket.close()
            raise

    def call(self, method: str, params: dict[str, object]) -> object:
        """Make a call and return its result.

        Raises ``CallFailedError`` when the owner refuses or is too late, ``ConnectionError`` when
        it leaves before it answers, and other ``OSError``.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            answer = json.loads(self._line())
            if answer.get("id") == self._number and "method" not in answer:
                break
        if "error" in answer:
            refused = answer["error"]
            is_other_version = "VersionMismatchError" in str(refused.get("data"))
            raise (UnreachableError if is_other_version else CallFailedError)(refused["message"])
        return answer.get("result")

    def acknowledge(self, receipt: object) -> None:
        """Tell the owner that the text with this receipt was written; nothing answers it."""
        self._send({"method": "$/event", "params": {"topic": "handed_over", "data": receipt}})

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _send(self, message: dict[str, object]) -> None:
        self._socket.settimeout(self._seconds_left())
        self._socket.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _line(self) -> bytes:
        while b"\n" not in self._unread:
            self._socket.settimeout(self._seconds_left())
            chunk = self._socket.recv(65536)
            if not chunk:
                raise ConnectionResetError("the owner hung up")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _seconds_left(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise CallFailedError("out of time")
        return seconds


def main(
    arguments: Sequence[str],
    *,
    stdin: "IO[bytes] | None" = None,
    stdout: "IO[str] | None" = None,
    now: Callable[[], float] = time.time,
) -> int:
    """Run one hook and return the exit code: 2 for wrong arguments, else 0, also on failure.

    ``now`` gives the seconds since 1970: what keeps hooks from the store is told once a day.
    """
    started = time.monotonic()
    parsed = _parse(arguments)
    if isinstance(parsed, str):
        sys.stderr.write(f"{parsed}\n")
        return 2
    event, options = parsed
    deadline = started + (HINT_TIME_LIMIT if event in HINT_EVENTS else TIME_LIMIT)
    data_dir = options.get("--data-dir")
    try:
        data_dir = data_dir or configured_data_dir(options)
        payload = _payload(stdin or sys.stdin.buffer)
        call = HookCall(event, data_dir, options, payload, deadline, stdout or sys.stdout)
        # A run was given its digest with its task, and is imported by whoever started it.
        if COPY_VARIABLE not in os.environ or event in HINT_EVENTS:
            _HANDLERS[event](call)
    except UnreachableError as error:
        _log(data_dir, event, f"{type(error).__name__}: {error}")
        _tell(event, data_dir, str(error), now(), stdout or sys.stdout)
    except Exception as error:  # the agent goes on whatever is wrong here
        _log(data_dir, event, f"{type(error).__name__}: {error}")
    return 0


def _tell(event: str, data_dir: str | None, reason: str, now: float, output: "IO[str]") -> None:
    """Show the person trouble with the store: once a day, as Claude Code takes it."""
    line = trouble.told(reason)
    sys.stderr.write(f"{line}\n")  # Claude Code shows that in its own log
    if event in DIGEST_EVENTS and trouble.note(str(data_dir), reason, now):
        output.write(json.dumps({"systemMessage": line}) + "\n")


def _digest(call: HookCall) -> None:
    """Hand over what is new of the digest; an owner that leaves is followed by the next one."""
    params: dict[str, object] = {"query": _query(call), "token_budget": call.token_budget}
    if call.event == "SessionStart":  # also after a compaction: the context is empty
        params["anew"] = True
    while True:
        with closing(_connection(call)) as connection:
            try:
                served = connection.call("agent.digest", params)
            except ConnectionError:  # the owner's work is done: the next one answers
                continue
            trouble.over(call.data_dir)
            _hand_over(call, connection, served)
            return


def _hint(call: HookCall) -> None:
    """Hand over what is known about the call.

    Nothing without an owner: the next prompt's hook starts one, a tool call doesn't wait for it.
    """
    action = _action(call)
    if action and (connection := _running_owner(call)) is not None:
        with closing(connection):
            _hand_over(call, connection, connection.call("agent.hint", action))


def _hand_over(call: HookCall, connection: HookConnection, served: object) -> None:
    """Write the served text as additional context, then acknowledge its receipt."""
    if isinstance(served, dict) and served.get("text"):
        context = {"hookEventName": call.event, "additionalContext": served["text"]}
        call.output.write(json.dumps({"hookSpecificOutput": context}) + "\n")
        call.output.flush()
        connection.acknowledge(served.get("receipt"))


def _action(call: HookCall) -> dict[str, object]:
    """What ``agent.hint`` is asked about; empty for a call that names no command and no file."""
    given = call.payload.get("tool_input")
    if not isinstance(given, dict) or call.payload.get("is_interrupt") is True:
        return {}
    command = _text(given, "command")[:MAX_HINT_TEXT]
    file = (_text(given, "file_path") or _text(given, "notebook_path"))[:MAX_HINT_TEXT]
    if not command and not file:
        return {}
    error, half = call.text("error"), MAX_HINT_TEXT // 2
    return {
        "moment": "after" if call.event == "PostToolUseFailure" else "before",
        "action": {
            "tool": call.text("tool_name") or "bash",
            "command": command,
            "file": file,
            "error": error if len(error) <= MAX_HINT_TEXT else f"{error[:half]}\n{error[-half:]}",
            "cwd": call.text("cwd"),
        },
        **({"subagent": call.text("agent_id")} if call.text("agent_id") else {}),
    }


def _text(values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _query(call: HookCall) -> str:
    prompt = call.text("prompt").strip()
    if prompt:
        return prompt[:MAX_QUERY]
    name = os.path.basename(os.path.realpath(call.text("cwd") or "."))
    return f"Starting to work on {name}: decisions, conventions, lessons, what was done last"


def _import(call: HookCall) -> None:
    """Have what is new of the session imported, by a process that nobody waits for."""
    if call.event == "SessionEnd":
        _end_session(call)
    transcript = call.text("transcript_path")
    if not transcript:
        raise CallFailedError("the event names no transcript")
    _require_store(call)
    transcript = os.path.expanduser(transcript)
    if os.path.exists(transcript):  # Claude Code ends sessions that never had a prompt, too
        command = ["synthorg_tui", "--data-dir", call.data_dir]
        command += ["--config", call.config] if call.config else []
        _start([*command, "import", transcript], call.file(LOG_FILE))


def _end_session(call: HookCall) -> None:
    """Tell a running owner that the session ended; without one, its memories end by time."""
    if not call.text("session_id"):
        return
    try:
        if (connection := _running_owner(call)) is not None:
            with closing(connection):
                connection.call("agent.end_session", {})
    except (CallFailedError, OSError) as error:  # the import is started all the same
        _log(call.data_dir, call.event, f"{type(error).__name__}: {error}")


_HANDLERS: dict[str, Callable[[HookCall], None]] = {
    **dict.fromkeys(DIGEST_EVENTS, _digest),
    **dict.fromkeys(HINT_EVENTS, _hint),
    **dict.fromkeys(IMPORT_EVENTS, _import),
}
_OPTIONS = ("--data-dir", "--config", "--agent", "--token-budget")


def _running_owner(call: HookCall) -> HookConnection | None:
    """A connection to the owner, or ``None`` when there is none."""
    from synthorg_tui.host.errors import NoOwnerError

    try:
        return HookConnection(call.data_dir, deadline=call.deadline, hello=_hello(call))
    except (NoOwnerError, ConnectionError, FileNotFoundError):
        return None


def _connection(call: HookCall) -> HookConnection:
    """A connection to the owner; one is started when there is none."""
    log = call.file(endpoint.LOG_FILE)
    started: subprocess.Popen[bytes] | None = None
    while True:
        connection = _running_owner(call)
        if connection is not None:
            return connection
        if time.monotonic() > call.deadline:
            if started is not None and started.poll() == _LOCKED:
                raise UnreachableError(trouble.last_words(log))
            raise CallFailedError("no owner listened in time")
        if started is None:
            _require_store(call)
            owner = ["synthorg_tui.host", call.data_dir, str(OWNER_SECONDS)]
            owner += [call.config] if call.config else []
            started = _start(owner, log)
        elif (started.poll() or 0) > 0 and started.returncode != _LOCKED:
            is_corrupt = started.returncode == _CORRUPT
            raise UnreachableError(_CORRUPT_TOLD if is_corrupt else trouble.last_words(log))
        time.sleep(_POLL_SECONDS)


def _hello(call: HookCall) -> dict[str, object]:
    # The folder that the session began in; ``cwd`` moves with the agent's own ``cd``.
    project = os.environ.get("CLAUDE_PROJECT_DIR") or call.text("cwd")
    agent = {
        "agent_id": call.agent_id,
        "project": os.path.realpath(project) if project else None,
        "session_id": call.text("session_id") or None,
        "client": "claude-code hook",
    }
    return {"role": "hook", "pid": os.getpid(), "agent": agent}


def _require_store(call: HookCall) -> None:
    if not any(os.path.exists(call.file(name)) for name in (DATABASE_FILE, SERVER_FILE)):
        raise UnreachableError(
            f"there is no store in {call.data_dir}. If it was moved to DIR, run "
            "`synthorg-tui --data-dir DIR connect claude-code --hooks`."
        )


def _start(module: list[str], log: str) -> "subprocess.Popen[bytes]":
    """Run one of our modules on its own; what it says goes to the file ``log``."""
    import subprocess  # here: a hook that finds an owner needs none

    with _opened_log(log) as messages:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            start_new_session=True,
        )


def _payload(stream: "IO[bytes]") -> Mapping[str, object]:
    sent = stream.read(MAX_INPUT_BYTES + 1)
    if len(sent) > MAX_INPUT_BYTES:
        raise CallFailedError(f"the event is longer than {MAX_INPUT_BYTES:,} bytes")
    payload = json.loads(sent)
    if not isinstance(payload, dict):
        raise CallFailedError("the event is no JSON object")
    return payload


def _parse(arguments: Sequence[str]) -> tuple[str, dict[str, str]] | str:
    """Event and options; a text says what is wrong with them."""
    usage = (
        "usage: synthorg-tui hook claude-code EVENT [--data-dir DIR] [--config FILE] [--agent ID] "
        f"[--token-budget N]\nevents: {', '.join(_HANDLERS)}; the event's JSON comes on stdin"
    )
    if len(arguments) < 2 or arguments[0] != "claude-code" or arguments[1] not in _HANDLERS:
        return usage
    event, words = arguments[1], arguments[2:]
    if len(words) % 2 or any(name not in _OPTIONS for name in words[::2]):
        return usage
    options = dict(zip(words[::2], words[1::2], strict=True))
    if not options.get("--token-budget", "0").isdigit():
        return usage
    return event, options


def configured_data_dir(options: Mapping[str, str]) -> str:
    """Return where the settings say the store is; reading them costs time, so hooks name it."""
    from pathlib import Path

    from synthorg_tui.settings.loader import load_settings

    config = Path(options["--config"]) if "--config" in options else None
    return load_settings(config).memory.storage.data_dir


def _log(data_dir: str | None, event: str, message: str) -> None:
    """Add a line to the log; where that can't be done either, nothing is said."""
    if data_dir is None:
        return
    try:
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {event}: {' '.join(message.split())}\n"
        path = os.path.join(data_dir, LOG_FILE)
        if not os.path.isdir(data_dir):  # the store was moved: nothing is made in its old place
            from synthorg_tui.connect.trouble import state_file

            path = state_file(LOG_FILE)
        with _opened_log(path) as log:
            log.write(line.encode(errors="replace"))
    except OSError:
        return


def _opened_log(path: str) -> "IO[bytes]":
    from synthorg_tui.core.files import open_log  # here: most hooks have nothing to log

    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    return open_log(path, _MAX_LOG_BYTES)
