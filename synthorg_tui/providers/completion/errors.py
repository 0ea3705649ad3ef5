"""Completion errors."""

from synthorg_tui.core.errors import DomainError


class CompletionError(DomainError):
    """No answer; ``retryable`` says whether the same request may succeed later."""

    def __init__(self, message: str, *, retryable: bool, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable
