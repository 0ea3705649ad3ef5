"""Searching in rounds: search, judge whether that suffices, search with a better question.

The loop, and the judge and the reformulator that ask a language model. Neither writes anything, and
a failure of either leaves the agent with what the search before it gave.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, runtime_checkable

from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.json_answer import question_about
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider

_log = logging.getLogger(__name__)

_SHOWN_ENTRIES = 10
_SHOWN_CHARS = 200
_TAG_ENTRIES = "memory-entry"
_TAG_QUERY = "task-data"
_SUFFICIENT = "SUFFICIENT"


@runtime_checkable
class SufficiencyChecker(Protocol):
    """Judges whether the memories found are enough to answer a question.

    A documented extension point for programs that embed the memory.
    """

    async def check_sufficiency(self, query: str, results: tuple[MemoryEntry, ...]) -> bool:
        """Return ``True`` when the results suffice, which ends the search."""


@runtime_checkable
class QueryReformulator(Protocol):
    """Rewords a question so that a search finds more.

    A documented extension point for programs that embed the memory.
    """

    async def reformulate(self, query: str, results: tuple[MemoryEntry, ...]) -> str | None:
        """Return another wording of the question, or ``None`` when there is no better one."""


class LLMSufficiencyChecker:
    """``SufficiencyChecker`` that asks a language model; if it fails, the results suffice."""

    def __init__(self, provider: CompletionProvider) -> None:
        self._provider = provider

    async def check_sufficiency(self, query: str, results: tuple[MemoryEntry, ...]) -> bool:
        instruction = (
            "Do the memories answer the question? Reply with one word: "
            f"{_SUFFICIENT} or INSUFFICIENT."
        )
        options = CompletionOptions(max_tokens=32)
        with surviving("asking whether memories suffice", _log):
            answer = await _ask(self._provider, instruction, query, results, options)
            return _says_sufficient(answer)
        return True


class LLMQueryReformulator:
    """``QueryReformulator`` that asks a language model; ``None`` if it fails or says nothing."""

    def __init__(self, provider: CompletionProvider) -> None:
        self._provider = provider

    async def reformulate(self, query: str, results: tuple[MemoryEntry, ...]) -> str | None:
        instruction = (
            "The memories don't answer the question. Write one better search query for it: other "
            "words for the same thing, more specific. Reply with the query only."
        )
        options = CompletionOptions(max_tokens=64, repeat_penalty=1.1)
        with surviving("reformulating the query", _log):
            answer = await _ask(self._provider, instruction, query, results, options)
            return answer.strip() or None
        return None


async def _ask(
    provider: CompletionProvider,
    instruction: str,
    query: str,
    results: tuple[MemoryEntry, ...],
    options: CompletionOptions,
) -> str:
    shown = "\n".join(
        f"[{entry.category}] {safe_text(entry.content[:_SHOWN_CHARS])}"
        for entry in results[:_SHOWN_ENTRIES]
    )
    parts = {"Question": (_TAG_QUERY, query), "Memories": (_TAG_ENTRIES, shown or "(none)")}
    return (await provider.complete(question_about(instruction, parts), options)).text


def _says_sufficient(answer: str) -> bool:
    """By the first word of the last line that has any."""
    lines = [line for line in answer.splitlines() if line.strip()]
    if not lines:
        return False
    word = lines[-1].split()[0]
    return "".join(c for c in word if c.isalnum()).upper() == _SUFFICIENT


Search: TypeAlias = Callable[[str], Awaitable[tuple[MemoryEntry, ...]]]


class SearchAndAsk:
    """Repeats a search with reworded questions until the results suffice.

    At most ``rounds`` further searches follow the first one.
    """

    def __init__(
        self, reformulator: QueryReformulator, checker: SufficiencyChecker, *, rounds: int
    ) -> None:
        self._reformulator = reformulator
        self._checker = checker
        self._rounds = rounds

    async def run(self, query: str, search: Search) -> tuple[MemoryEntry, ...]:
        """Return everything found in all rounds, best first.

        An exception of the first search is raised; a later failure ends the loop with the results
        so far.
        """
        found = await search(query)
        words = query
        for _ in range(self._rounds):
            if await self._suffices(query, found):
                return found
            better = await self._better(words, found)
            if better is None:
                return found
            with surviving("searching again", _log) as failure:
                words, found = better, merge_entries(found, await search(better))
            if failure.error is not None:
                return found
        if not await self._suffices(query, found):
            _log.info("%d memories don't suffice after %d rounds", len(found), self._rounds)
        return found

    async def _suffices(self, query: str, found: tuple[MemoryEntry, ...]) -> bool:
        with surviving("checking what was found", _log):
            return await self._checker.check_sufficiency(query, found)
        return True  # not knowing counts as enough

    async def _better(self, query: str, found: tuple[MemoryEntry, ...]) -> str | None:
        """Another question, or ``None`` when there is none."""
        with surviving("reformulating", _log):
            better = (await self._reformulator.reformulate(query, found) or "").strip()
            return None if better in ("", query.strip()) else better
        return None


def merge_entries(
    first: tuple[MemoryEntry, ...], second: tuple[MemoryEntry, ...]
) -> tuple[MemoryEntry, ...]:
    """Merge two results by id, each memory with its higher relevance, most relevant first.

    Ties keep the order in which memories were first seen.
    """
    best: dict[str, MemoryEntry] = {}
    for entry in (*first, *second):
        known = best.get(entry.id)
        if known is None or (entry.relevance_score or 0.0) > (known.relevance_score or 0.0):
            best[entry.id] = entry
    return tuple(sorted(best.values(), key=lambda entry: -(entry.relevance_score or 0.0)))
