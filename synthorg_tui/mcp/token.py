"""The token that clients over HTTP must send."""

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import (
    PRIVATE_FILE,
    FileTooLargeError,
    ensure_private_dir,
    read_plain,
    write_atomically,
)

TOKEN_FILE: Final = "mcp.token"
_BYTES: Final = 32
_MIN_LENGTH: Final = 32
_MAX_BYTES: Final = 1024


def require_token(data_dir: Path) -> str:
    """Return the data directory's token; a new one is generated and stored if there is none.

    Raises ``DomainError`` when other users can read its file, or it holds no token.
    """
    path = data_dir / TOKEN_FILE
    ensure_private_dir(data_dir)
    if not os.path.lexists(path):
        _make(path)
    return _read(path)


def is_bearer(header: bytes, token: str) -> bool:
    """Return whether an ``Authorization`` header carries the token.

    The comparison takes the same time for every wrong token, so that none can be guessed by it.
    """
    kind, _, given = header.partition(b" ")
    return kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), token.encode())


def _make(path: Path) -> None:
    # Written whole before it has its name: who else starts now reads all of it, or makes none.
    token = f"{secrets.token_urlsafe(_BYTES)}\n"
    with suppress(FileExistsError):
        write_atomically(path, token.encode(), mode=PRIVATE_FILE, replace=False)


def _read(path: Path) -> str:
    remedy = f"Delete {path} and start again: a new one is made."
    try:
        content, status = read_plain(path, limit=_MAX_BYTES)
    except FileTooLargeError as error:
        raise DomainError(f"{path} holds no token", remedy=remedy) from error
    except OSError as error:
        raise DomainError(f"{path} can't be read as a file", remedy=remedy) from error
    if status.st_uid != os.getuid():
        raise DomainError(f"{path} is not a file of yours", remedy=remedy)
    if status.st_mode & 0o077:
        raise DomainError(f"others can read {path}", remedy=remedy)
    token = content.decode("ascii", "replace").strip()
    if len(token) < _MIN_LENGTH or not token.isascii() or not token.isprintable():
        raise DomainError(f"{path} holds no token", remedy=remedy)
    return token
