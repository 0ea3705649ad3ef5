"""Where the owner of a data directory listens, and whether the socket there is ours."""

import os
import socket
import stat
from pathlib import Path
from typing import Final

from synthorg_tui.host.errors import NoOwnerError, RefusedError
from synthorg_tui.persistence.layout import ensure_private_dir

SOCKET_FILE: Final = "owner.sock"
LOG_FILE: Final = "owner.log"
"""What an owner without a screen has to say."""
_MAX_PATH: Final = 100
"""Socket paths are cut off by the system at 104 to 108 bytes."""


def socket_path(data_dir: Path) -> Path:
    """The socket of a data directory: inside it, or for a long path in a private folder."""
    direct = data_dir.absolute() / SOCKET_FILE
    if len(os.fsencode(direct)) <= _MAX_PATH:
        return direct
    import hashlib  # here: hooks have no time for what they don't need
    import tempfile

    name = hashlib.sha256(os.fsencode(data_dir.resolve())).hexdigest()[:16]
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"synthorg-tui-{os.getuid()}" / f"{name}.sock"


def prepare(path: Path) -> None:
    """Make room for a socket at ``path``; only who holds the directory's lock may do so.

    Raises ``RefusedError`` when its folder belongs to somebody else.
    """
    if path.parent.exists():
        _require_ours(path.parent)
    ensure_private_dir(path.parent)
    path.unlink(missing_ok=True)


def require_own_socket(path: Path) -> None:
    """Refuse to talk to a socket that isn't there or that another user put there.

    Raises ``NoOwnerError`` and ``RefusedError``.
    """
    try:
        status = path.stat(follow_symlinks=False)
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


def _require_ours(folder: Path) -> None:
    if folder.stat(follow_symlinks=False).st_uid != os.getuid():
        raise RefusedError(f"{folder} belongs to another user", remedy="Choose another --data-dir.")
