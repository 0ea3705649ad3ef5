"""Searching again with a better question when what was found doesn't answer it."""

import logging
from typing import Protocol, runtime_checkable

from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.safety import raise_fatal
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

logger = logging.getLogger(__name__)

_SHOWN_ENTRIES = 10
_SHOWN_CHARS = 200
_TAG_ENTRIES = "memory-entry"
_TAG_QUERY = "task-data"
_SUFFICIENT = "SUFFICIENT"


@runtime_checkable
class SufficiencyChecker(Protocol):
    """Judges whether memories answer a question."""

    async def check_sufficiency(self, query: str, results: tuple[MemoryEntry, ...]) -> bool:
        """Whether to stop searching."""
        ...


@runtime_checkable
class QueryReformulator(Protocol):
    """Finds a better question."""

    async def reformulate(self, query: str, results: tuple[MemoryEntry, ...]) -> str | None:
        """Another wording, or ``None`` when there is no better one."""
        ...


class LLMSufficiencyChecker:
    """Asks a model. When it fails, what was found counts as enough."""

    def __init__(self, provider: CompletionProvider) -> None:
        self._provider = provider

    async def check_sufficiency(self, query: str, results: tuple[MemoryEntry, ...]) -> bool:
        instruction = (
            "Do the memories answer the question? Reply with one word: "
            f"{_SUFFICIENT} or INSUFFICIENT."
        )
        options = CompletionOptions(max_tokens=32)
        try:
            answer = await _ask(self._provider, instruction, query, results, options)
        except Exception as error:  # whatever it is, the search goes on without it
            raise_fatal(error)
            logger.warning("whether memories suffice is unknown: %s", error)
            return True
        return _says_sufficient(answer)


class LLMQueryReformulator:
    """Asks a model; ``None`` when it fails or says nothing."""

    def __init__(self, provider: CompletionProvider) -> None:
        self._provider = provider

    async def reformulate(self, query: str, results: tuple[MemoryEntry, ...]) -> str | None:
        instruction = (
            "The memories don't answer the question. Write one better search query for it: other "
            "words for the same thing, more specific. Reply with the query only."
        )
        options = CompletionOptions(max_tokens=64, repeat_penalty=1.1)
        try:
            answer = await _ask(self._provider, instruction, query, results, options)
        except Exception as error:  # whatever it is, the search goes on without it
            raise_fatal(error)
            logger.warning("the query was not reformulated: %s", error)
            return None
        return answer.strip() or None


async def _ask(
    provider: CompletionProvider,
    instruction: str,
    query: str,
    results: tuple[MemoryEntry, ...],
    options: CompletionOptions,
) -> str:
    directive = untrusted_content_directive((_TAG_QUERY, _TAG_ENTRIES))
    shown = "\n".join(
        f"[{entry.category}] {safe_text(entry.content[:_SHOWN_CHARS])}"
        for entry in results[:_SHOWN_ENTRIES]
    )
    question = wrap_untrusted(_TAG_QUERY, query)
    found = wrap_untrusted(_TAG_ENTRIES, shown or "(none)")
    messages = (
        ChatMessage(role=MessageRole.SYSTEM, content=f"{instruction}\n\n{directive}"),
        ChatMessage(role=MessageRole.USER, content=f"Question:\n{question}\n\nMemories:\n{found}"),
    )
    return (await provider.complete(messages, options)).text


def _says_sufficient(answer: str) -> bool:
    """By the first word of the last line that has any."""
    lines = [line for line in answer.splitlines() if line.strip()]
    if not lines:
        return False
    word = lines[-1].split()[0]
    return "".join(c for c in word if c.isalnum()).upper() == _SUFFICIENT
