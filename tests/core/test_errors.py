"""What every expected failure has for programs: a code, and its category."""

from synthorg_tui.core.errors import ConfigError, DomainError, ErrorCategory, ErrorCode
from synthorg_tui.memory.errors import MemoryError, MemoryStoreError


def test_an_error_without_a_code_of_its_own_is_internal() -> None:
    for error in (DomainError("no"), ConfigError("no"), MemoryError("no"), MemoryStoreError("no")):
        assert (error.error_code, int(error.error_code)) == (ErrorCode.INTERNAL_ERROR, 8000)
        assert error.error_category is ErrorCategory.INTERNAL


def test_an_errors_own_code_is_that_of_its_subclasses_too() -> None:
    class Own(DomainError):
        error_category = ErrorCategory("internal")

    assert Own("no").error_category is ErrorCategory.INTERNAL
    assert ErrorCode(8000) is ErrorCode.INTERNAL_ERROR
