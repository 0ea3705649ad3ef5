"""The root of every error this application raises on purpose."""


class DomainError(Exception):
    """An expected failure, told to a person as what happened and what to do.

    Args:
        message: What happened, in one line.
        remedy: What the person can do about it; empty when there is nothing.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class ConfigError(DomainError):
    """Settings are invalid; the message names file, field, value and what is allowed."""

    exit_code = 2


class StoreLockedError(DomainError):
    """Another process owns the data directory."""

    exit_code = 3

    def __init__(self, message: str, *, owner_pid: int | None, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.owner_pid = owner_pid


class StoreCorruptError(DomainError):
    """The database file can't be read; nothing was changed."""

    exit_code = 4


class CancelledByUserError(DomainError):
    """A long job was cancelled; what was done so far is kept."""

    exit_code = 130
