"""The contract of language models: options in, an answer or a ``CompletionError`` out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from synthorg_tui.core.types import FrozenModel
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage, ToolDefinition, ToolUse


class CompletionOptions(FrozenModel):
    """Options for generating one answer.

    ``temperature`` 0 always picks the likeliest token. ``stop`` lists texts before which the answer
    ends. ``repeat_penalty`` above 1 discourages repetition. ``json_schema`` forces the answer to be
    JSON of that shape; bound its length with ``max_tokens``, since lengths in the schema make local
    models several times slower. ``on_text`` is called repeatedly while the answer is generated, on
    the caller's event loop, with the whole text so far; that text may end in part of a stop text.
    ``tools`` are offered to the model, which may answer with calls of them instead of with text.
    """

    max_tokens: int = Field(default=256, ge=1)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    stop: tuple[str, ...] = ()
    seed: int | None = Field(default=None, ge=0)
    repeat_penalty: float = Field(default=1.0, ge=1.0, le=2.0)
    json_schema: Mapping[str, Any] | None = None
    tools: tuple[ToolDefinition, ...] = ()
    on_text: Callable[[str], None] | None = Field(default=None, exclude=True, repr=False)


class TokenUsage(FrozenModel):
    """Tokens read and written for one answer; 0 where a server doesn't report them."""

    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)


class Completion(FrozenModel):
    """Answer of a language model; the text may be empty.

    ``finish_reason`` is ``MAX_TOKENS`` when the answer was cut short, ``TOOL_USE`` when it holds
    ``tool_uses``. ``format_error`` says what is wrong with a call that the model tried to write and
    that can't be read, in words for the model; there are then no ``tool_uses``.
    """

    text: str
    finish_reason: FinishReason
    usage: TokenUsage = TokenUsage.model_construct()
    tool_uses: tuple[ToolUse, ...] = ()
    format_error: str = ""


@runtime_checkable
class CompletionProvider(Protocol):
    """A language model that answers conversations.

    Constructing a provider loads nothing: the model is loaded by the first request.
    """

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        """Return the model's answer to the last message; raises ``CompletionError``.

        Cancelling the awaiting task stops the model within about one token.
        """

    async def close(self) -> None:
        """Release the model and its memory; do nothing when closed already."""
