"""The root of every error this application raises on purpose."""

from enum import IntEnum, StrEnum


class ErrorCategory(StrEnum):
    """Groups of error codes."""

    INTERNAL = "internal"


class ErrorCode(IntEnum):
    """Numbers of errors for programs, which stay when messages change."""

    INTERNAL_ERROR = 8000


class DomainError(Exception):
    """Base class of expected failures, shown to a person without a traceback.

    ``exit_code`` is the status with which a command that raises it ends. A subclass that programs
    have to tell apart overrides ``error_code`` and ``error_category``.

    Args:
        message: What happened, in one line.
        remedy: What the person can do about it; empty when there is nothing.
    """

    exit_code = 1
    error_code = ErrorCode.INTERNAL_ERROR
    error_category = ErrorCategory.INTERNAL

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    @property
    def with_remedy(self) -> str:
        """The message and, if there is one, the remedy after it."""
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class ConfigError(DomainError):
    """Settings are invalid; the message names the file, field and value, and what is allowed."""

    exit_code = 2


class StoreLockedError(DomainError):
    """Another process owns the data directory, so it can't be opened here.

    ``is_leaving`` is whether that process is only closing it.
    """

    exit_code = 3

    def __init__(
        self, message: str, *, owner_pid: int | None, remedy: str = "", is_leaving: bool = False
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.owner_pid = owner_pid
        self.is_leaving = is_leaving


class StoreCorruptError(DomainError):
    """The database file is damaged and can't be read; nothing was changed in it."""

    exit_code = 4


class DamagedLogError(StoreCorruptError):
    """The log beside the database file is damaged; the file itself may well be whole."""


class DiskFullError(DomainError):
    """There is too little room on the disk; nothing was written."""


class CancelledByUserError(DomainError):
    """A person cancelled a long job; the work completed so far is preserved."""

    exit_code = 130
