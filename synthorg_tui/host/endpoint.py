"""The socket of a data directory: where its owner listens, and whether it is this user's."""

import os
import socket
import stat
from contextlib import suppress

from synthorg_tui.host.errors import NoOwnerError, RefusedError

# Paths are text here, and pathlib and typing aren't used: a hook has no time to load them.

SOCKET_FILE = "owner.sock"
LOG_FILE = "owner.log"
"""The log of an owner without a screen."""
_MAX_PATH = 100
"""Socket paths are cut off by the system at 104 to 108 bytes."""


def socket_path(data_dir: str | os.PathLike[str]) -> str:
    """The socket of a data directory: inside it, or for a long path in a private folder."""
    direct = os.path.join(os.path.abspath(data_dir), SOCKET_FILE)
    if len(os.fsencode(direct)) <= _MAX_PATH:
        return direct
    import hashlib
    import tempfile

    name = hashlib.sha256(os.fsencode(os.path.realpath(data_dir))).hexdigest()[:16]
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return os.path.join(base, f"synthorg-tui-{os.getuid()}", f"{name}.sock")


def prepare(path: str) -> None:
    """Make room for a socket at ``path``; only who holds the directory's lock may do so.

    Raises ``RefusedError`` when its folder belongs to somebody else.
    """
    from pathlib import Path

    from synthorg_tui.core.files import ensure_private_dir

    folder = Path(path).parent
    if folder.exists() and folder.stat(follow_symlinks=False).st_uid != os.getuid():
        raise RefusedError(f"{folder} belongs to another user", remedy="Choose another --data-dir.")
    ensure_private_dir(folder)
    withdraw(path)


def withdraw(path: str) -> None:
    """Take the socket away; one that is gone already is fine, and so is a folder that is."""
    with suppress(OSError):
        os.unlink(path)


def require_own_socket(path: str) -> None:
    """Refuse to talk to a socket that isn't there or that another user put there.

    Raises ``NoOwnerError`` and ``RefusedError``.
    """
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoOwnerError(f"nobody listens at {path}") from error
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid():
        raise RefusedError(f"{path} is not a socket of yours", remedy="Remove it and start again.")


def is_same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as this user; ``True`` where it can't be told.

    The socket's mode keeps others out already; this holds where a mode means nothing.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    import struct

    size = struct.calcsize("3i")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", data)
    return bool(uid == os.getuid())
