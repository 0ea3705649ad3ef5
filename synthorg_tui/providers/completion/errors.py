"""Completion errors."""

from synthorg_tui.core.errors import DomainError


class CompletionError(DomainError):
    """A language model gave no answer; ``retryable`` says whether a later retry may succeed."""

    def __init__(self, message: str, *, retryable: bool, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable


class PromptTooLongError(CompletionError):
    """A question has more tokens than the model reads at once; a shorter one may be answered."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(
            f"A prompt of {tokens} tokens doesn't fit the model's {context}",
            retryable=False,
            remedy="Raise providers.completion.context_tokens",
        )
