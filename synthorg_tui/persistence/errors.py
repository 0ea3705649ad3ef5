"""Errors of operational data, with the documented names."""

from synthorg_tui.core.errors import DomainError


class PersistenceError(DomainError):
    """Base class of what goes wrong with operational data."""


class PersistenceConnectionError(PersistenceError):
    """The backend isn't connected, or its database can't be opened."""


class MigrationError(PersistenceError):
    """The schema can't be brought up to date, as that of a newer version of this program."""


class RecordNotFoundError(PersistenceError):
    """There is no record with the id that was asked for."""


class DuplicateRecordError(PersistenceError):
    """A record with this id, or with another value that must be unique, exists already."""


class QueryError(PersistenceError):
    """The database refused a query, or a stored record can't be read."""


class MoveRefusedError(PersistenceError):
    """A store isn't copied there: the target holds something else, or is the source itself."""
