"""Completion errors."""

from synthorg_tui.core.errors import DomainError


class CompletionError(DomainError):
    """A language model gave no answer; ``retryable`` says whether a later retry may succeed."""

    def __init__(self, message: str, *, retryable: bool, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable
