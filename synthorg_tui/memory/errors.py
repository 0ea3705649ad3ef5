"""Memory errors, and the translation of what the database and the index raise into them.

``MemoryError`` here is the domain error; the builtin always propagates.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.providers.embedding.errors import EmbeddingError


class MemoryError(DomainError):
    """Base of every memory failure."""


class MemoryConnectionError(MemoryError):
    """The backend is not connected or the connection was lost."""


class MemoryStoreError(MemoryError):
    """A store, edit or delete failed."""


class WriteRefusedError(MemoryStoreError):
    """An agent may not write that, or not now; it may know why."""


class MemoryRetrievalError(MemoryError):
    """A retrieve, search or count failed."""


class MemoryNotFoundError(MemoryError):
    """No memory has the given id."""


class MemoryConfigError(MemoryError):
    """The memory configuration is invalid."""

    exit_code = 2


class MemoryCapabilityError(MemoryError):
    """The backend doesn't support the operation."""


class VectorIndexError(MemoryError):
    """The vector index failed; the store still has everything and can rebuild it."""


_NO_SPACE: Final = os.strerror(errno.ENOSPC)
"""How database and index word a full disk: both pass on what the system calls it."""


def duckdb_error() -> type[Exception]:
    """DuckDB's base error, imported when it is needed."""
    import duckdb

    return duckdb.Error


@contextmanager
def translate_errors(kind: type[MemoryError], action: str) -> Iterator[None]:
    """Turn what the database and the index raise into one kind of memory error."""
    try:
        yield
    except (VectorIndexError, EmbeddingError) as error:
        raise _error(kind, action, error.message, error.remedy) from error
    except duckdb_error() as error:
        raise _error(kind, action, str(error).splitlines()[0]) from error


def _error(kind: type[MemoryError], action: str, why: str, remedy: str = "") -> MemoryError:
    if _NO_SPACE in why:
        return kind("The disk is full.", remedy="Free some space.")
    return kind(f"{action} failed: {why}", remedy=remedy)
