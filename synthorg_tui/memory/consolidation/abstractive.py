"""A model's summary of talk and narrative, or its beginning where no model gives one.

What a model may write is bounded here, whatever it answers: never empty, never longer than it was
allowed, and about the text. What it reads is fenced, since memories are strangers' text.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from synthorg_tui.core.failsafe import first_error, surviving, together
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.consolidation.grounding import is_grounded
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
    TokenUsage,
)
from synthorg_tui.providers.enums import FinishReason, MessageRole
from synthorg_tui.providers.models import ChatMessage

MAX_AT_ONCE: Final = 4
"""Questions that a batch has open at the same time."""
_TAG: Final = "untrusted-artifact"
_CHARS_PER_TOKEN: Final = 4
_ROLE: Final = "You shorten the notes of a coding agent."
_INSTRUCTION: Final = (
    "Shorten this note to one to three plain sentences: what was done, what was decided and why, "
    "with names, numbers and commands exactly as they stand. Report only what it says, and nothing "
    "about it. Write only these sentences."
)

CostTracker: TypeAlias = Callable[[NotBlankStr, str, TokenUsage], None]
"""Told, for each answer, the agent it was for, the model's name and the tokens."""


class AbstractiveSummarizer:
    """Summarises sparse texts with a language model.

    Args:
        provider: The model; it counts its own tokens, ``cost_tracker`` is for more than that.
        model: Its name, for ``cost_tracker``.
        max_summary_tokens: Most tokens of a summary.
        temperature: How freely the model chooses its words.
        cost_tracker: Told of each answer for which an agent is given.

    Raises:
        ValueError: ``model`` is blank.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider,
        model: NotBlankStr,
        max_summary_tokens: int = 200,
        temperature: float = 0.3,
        cost_tracker: CostTracker | None = None,
    ) -> None:
        if not model.strip():
            raise ValueError("model must not be blank")
        self._provider = provider
        self._model = model
        self._options = CompletionOptions(
            max_tokens=max_summary_tokens, temperature=temperature, repeat_penalty=1.1
        )
        self._cost_tracker = cost_tracker

    async def summarize(self, content: str, agent_id: NotBlankStr | None = None) -> str:
        """Return a summary; the text's beginning when no answer comes that stands on the text.

        Raises:
            CompletionError: The model refused in a way that asking again won't change.
        """
        messages = (
            ChatMessage(
                role=MessageRole.SYSTEM,
                content=f"{_ROLE} {untrusted_content_directive([_TAG])}",
            ),
            # The question comes last: a small model answers what it read last.
            ChatMessage(
                role=MessageRole.USER,
                content=f"{wrap_untrusted(_TAG, content)}\n\n{_INSTRUCTION}",
            ),
        )
        try:
            answer = await answered(self._provider, messages, self._options)
        except PromptTooLongError:
            answer = None
        if answer is None:
            return beginning(content)
        if self._cost_tracker is not None and agent_id is not None:
            self._cost_tracker(agent_id, self._model, answer.usage)
        return answer.text if is_grounded(answer.text, [content]) else beginning(content)

    async def summarize_batch(
        self, entries: Sequence[MemoryEntry]
    ) -> tuple[tuple[NotBlankStr, str], ...]:
        """Return the id and summary of each memory, in the order given; several asked at once.

        Raises:
            CompletionError: As for ``summarize``, for the first memory where that happens.
        """
        free = asyncio.Semaphore(MAX_AT_ONCE)

        async def summary(entry: MemoryEntry) -> str:
            async with free:
                return await self.summarize(entry.content, entry.agent_id)

        try:
            texts = await together(*map(summary, entries))
        except BaseExceptionGroup as failures:
            raise first_error(failures) from failures
        return tuple((entry.id, text) for entry, text in zip(entries, texts, strict=True))


async def answered(
    provider: CompletionProvider, messages: Sequence[ChatMessage], options: CompletionOptions
) -> Completion | None:
    """Ask a model and return its answer within its bound; ``None`` when it failed for now.

    The text is stripped and may be empty; one that was cut short ends with a whole sentence.

    Raises:
        PromptTooLongError: The question is longer than the model reads at once.
        CompletionError: It refused in a way that asking again won't change.
    """
    with surviving("asking the model for a summary") as failure:
        completion = await provider.complete(messages, options)
        text = within(completion.text.strip(), options.max_tokens)
        if completion.finish_reason is FinishReason.MAX_TOKENS:
            text = whole_sentences(text)
        return completion.model_copy(update={"text": text})
    if isinstance(failure.error, CompletionError) and not failure.error.retryable:
        raise failure.error
    return None


def beginning(content: str, length: int = 200) -> str:
    """Return a text's first ``length`` characters, and "..." where it goes on."""
    return content if len(content) <= length else content[:length] + "..."


def within(text: str, tokens: int) -> str:
    """Return a text of at most so many tokens, as they are estimated everywhere."""
    if estimate_tokens(text) <= tokens:
        return text
    return whole_sentences(text[: tokens * _CHARS_PER_TOKEN])


def whole_sentences(text: str) -> str:
    """Return a text that was cut without its unfinished last sentence, if it has whole ones."""
    ends = [text.rfind(end) for end in (". ", ".\n", "! ", "? ")]
    if text.endswith((".", "!", "?")) or max(ends) < len(text) // 2:
        return text.rstrip()
    return text[: max(ends) + 1]
