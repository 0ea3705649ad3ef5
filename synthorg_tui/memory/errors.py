"""Errors of the memory engine, and the conversion of database and index errors into them.

``MemoryError`` here is the domain error; the builtin always propagates.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from synthorg_tui.core.errors import DiskFullError, DomainError
from synthorg_tui.providers.embedding.errors import EmbeddingError


class MemoryError(DomainError):
    """Base class of errors of the memory engine; not the builtin of the same name."""


class MemoryConnectionError(MemoryError):
    """The backend is not connected, or the connection was lost."""


class MemoryStoreError(MemoryError):
    """Storing, editing or deleting a memory failed."""


class WriteRefusedError(MemoryStoreError):
    """An agent's write was refused; the message is meant for the agent."""


class MemoryRetrievalError(MemoryError):
    """Retrieving, searching or counting memories failed."""


class MemoryNotFoundError(MemoryError):
    """No memory has the given id."""


class MemoryConfigError(MemoryError):
    """The memory configuration is invalid."""

    exit_code = 2


class MemoryCapabilityError(MemoryError):
    """The backend doesn't support the operation."""


class VectorIndexError(MemoryError):
    """The vector index failed; no data is lost, since it can be rebuilt from the database."""


_NO_SPACE: Final = os.strerror(errno.ENOSPC)
"""How database and index word a full disk: both pass on what the system calls it."""


def duckdb_error() -> type[Exception]:
    """Return DuckDB's base exception class, importing DuckDB only when called."""
    import duckdb

    return duckdb.Error


@contextmanager
def translate_errors(kind: type[MemoryError], action: str) -> Iterator[None]:
    """Context manager that converts database, index and embedding errors into ``kind``.

    ``action`` names the operation for the message, such as ``searching``. Memory errors other than
    those of the index pass through unchanged.
    """
    try:
        yield
    except DiskFullError as error:
        raise kind(error.message, remedy=error.remedy) from error
    except (VectorIndexError, EmbeddingError) as error:
        raise _error(kind, action, error.message, error.remedy) from error
    except duckdb_error() as error:
        raise _error(kind, action, str(error).splitlines()[0]) from error


def _error(kind: type[MemoryError], action: str, why: str, remedy: str = "") -> MemoryError:
    if _NO_SPACE in why:
        return kind("The disk is full.", remedy="Free some space.")
    return kind(f"{action} failed: {why}", remedy=remedy)
