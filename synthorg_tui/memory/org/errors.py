"""Errors of organisation memory; a family of its own, not errors of agents' memories."""

from collections.abc import Iterator
from contextlib import contextmanager

from synthorg_tui.core.errors import DiskFullError, DomainError
from synthorg_tui.memory.errors import MemoryError, duckdb_error


class OrgMemoryError(DomainError):
    """Base class of errors of organisation memory."""


class OrgMemoryConnectionError(OrgMemoryError):
    """The backend is not connected, or the connection was lost."""


class OrgMemoryWriteError(OrgMemoryError):
    """A write failed; nothing has changed."""


class OrgMemoryQueryError(OrgMemoryError):
    """A query failed."""


class OrgMemoryAccessDeniedError(OrgMemoryError):
    """The author may not write facts of this category; nothing has changed."""


class OrgMemoryConfigError(OrgMemoryError):
    """The configuration of organisation memory is invalid."""

    exit_code = 2


@contextmanager
def translate_org_errors(kind: type[OrgMemoryError], action: str) -> Iterator[None]:
    """Context manager that converts errors of database and memory store into ``kind``.

    ``action`` names the operation for the message, such as ``searching the organisation's facts``.
    """
    try:
        yield
    except (MemoryError, DiskFullError) as error:
        raise kind(f"{action} failed: {error.message}", remedy=error.remedy) from error
    except duckdb_error() as error:
        raise kind(f"{action} failed: {str(error).splitlines()[0]}") from error
