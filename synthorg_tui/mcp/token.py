"""The token that clients over HTTP must show."""

import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.persistence.layout import PRIVATE_FILE, ensure_private_dir

TOKEN_FILE: Final = "mcp.token"
_BYTES: Final = 32
_MIN_LENGTH: Final = 32


class UnsafeTokenError(DomainError):
    """The token's file is none that only this user can read and write."""


def require_token(data_dir: Path) -> str:
    """The data directory's token, made when there is none; raises ``UnsafeTokenError``."""
    path = data_dir / TOKEN_FILE
    ensure_private_dir(data_dir)
    if not os.path.lexists(path):
        _make(path)
    return _read(path)


def is_bearer(header: bytes, token: str) -> bool:
    """Whether an ``Authorization`` header carries the token; takes the same time if it doesn't."""
    kind, _, given = header.partition(b" ")
    return kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), token.encode())


def _make(path: Path) -> None:
    # Written whole before it has its name: who else starts now reads all of it, or makes none.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(secrets.token_urlsafe(_BYTES) + "\n")
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def _read(path: Path) -> str:
    remedy = f"Delete {path} and start again: a new one is made."
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise UnsafeTokenError(f"{path} can't be read as a file", remedy=remedy) from error
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise UnsafeTokenError(f"{path} is not a file of yours", remedy=remedy)
        if status.st_mode & 0o077:
            raise UnsafeTokenError(f"others can read {path}", remedy=remedy)
        token = stream.read(1024).decode("ascii", "replace").strip()
    if len(token) < _MIN_LENGTH or not token.isascii() or not token.isprintable():
        raise UnsafeTokenError(f"{path} holds no token", remedy=remedy)
    return token
