"""Errors of organisation memory; a family of its own, not errors of agents' memories."""

from synthorg_tui.core.errors import DomainError


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
