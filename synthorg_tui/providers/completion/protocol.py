"""The contract of language models: options in, an answer or a ``CompletionError`` out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from synthorg_tui.core.types import FrozenModel
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage


class CompletionOptions(FrozenModel):
    """How an answer is to be made.

    ``temperature`` 0 always takes the likeliest token. ``stop`` ends the answer before any of
    these texts. ``repeat_penalty`` above 1 discourages repetition. ``json_schema`` forces the
    answer to be JSON of that shape; bound its length with ``max_tokens``, since lengths in the
    schema make local models several times slower. ``on_text`` is told the text so far again and
    again while it is written, on the caller's event loop; the last of it may be part of a stop
    text.
    """

    max_tokens: int = Field(default=256, ge=1)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    stop: tuple[str, ...] = ()
    seed: int | None = Field(default=None, ge=0)
    repeat_penalty: float = Field(default=1.0, ge=1.0, le=2.0)
    json_schema: Mapping[str, Any] | None = None
    on_text: Callable[[str], None] | None = Field(default=None, exclude=True, repr=False)


class TokenUsage(FrozenModel):
    """Tokens read and written; 0 where a server doesn't tell."""

    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)


class Completion(FrozenModel):
    """An answer; it may be empty, and is cut short when it ended for ``MAX_TOKENS``."""

    text: str
    finish_reason: FinishReason
    usage: TokenUsage = TokenUsage.model_construct()


@runtime_checkable
class CompletionProvider(Protocol):
    """Answers conversations. Loading is lazy: constructing a provider reads no model."""

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        """The answer to the last message; raises ``CompletionError``.

        Cancelling the caller stops the model within about a token.
        """
        ...

    async def close(self) -> None:
        """Free the model; closing twice does nothing."""
        ...
