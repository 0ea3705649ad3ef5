"""The socket of a data directory: its path, and the checks that it belongs to this user."""

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
    """Return the path of a data directory's socket.

    It is inside the directory, or in a private folder if the path were too long for a socket.
    """
    direct = os.path.join(os.path.abspath(data_dir), SOCKET_FILE)
    if len(os.fsencode(direct)) <= _MAX_PATH:
        return direct
    import hashlib
    import tempfile

    name = hashlib.sha256(os.fsencode(os.path.realpath(data_dir))).hexdigest()[:16]
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return os.path.join(base, f"synthorg-tui-{os.getuid()}", f"{name}.sock")


def prepare(path: str) -> None:
    """Create the folder for a socket at ``path`` and remove a socket left there.

    The caller must hold the lock of the data directory.

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
    """Remove the socket; does nothing when it, or its folder, doesn't exist."""
    with suppress(OSError):
        os.unlink(path)


def require_own_socket(path: str) -> None:
    """Raise ``NoOwnerError`` without a socket, ``RefusedError`` for one of another user."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoOwnerError(f"nobody listens at {path}") from error
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid():
        raise RefusedError(f"{path} is not a socket of yours", remedy="Remove it and start again.")


def is_same_user(connection: socket.socket) -> bool:
    """Return whether the process at the other end runs as this user.

    ``True`` where the system can't tell. The socket's file mode keeps other users out already;
    this check is for systems that ignore the mode.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    import struct

    size = struct.calcsize("3i")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", data)
    return bool(uid == os.getuid())
