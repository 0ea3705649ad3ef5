"""Finds what a digest may hold: pinned items, facts, tagged ones, and those that match the task.

The text of a task becomes the terms of a keyword search here. Which items get into the budget is
decided in ``packing``.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from synthorg_tui.core.failsafe import safely
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.digest.models import DigestItem, DigestSource

MAX_CHARS: Final = 1024
MAX_TERMS: Final = 12
MAX_TERM_CHARS: Final = 64
EVERYTHING: Final = "*"

# As in later versions of the design: punctuation at a word must not keep it from being found.
_TERM = re.compile(r"[\w-]*\w[\w-]*")
_COMMAND = re.compile(r"/[A-Za-z][\w-]*(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a keyword search; with ``everything`` all items match.

    ``refusal`` says in words why a text can't be searched for; empty otherwise.
    """

    words: tuple[str, ...] = ()
    everything: bool = False
    refusal: str = ""


def terms_of(text: str) -> Terms:
    """Split a text into its distinct lower-case words; the text ``*`` matches everything."""
    text = text.strip()
    if len(text) > MAX_CHARS:
        return Terms(refusal=f"keyword search takes {MAX_CHARS} characters, not {len(text)}")
    if text == EVERYTHING:
        return Terms(everything=True)
    words = tuple(dict.fromkeys(_TERM.findall(text.lower())))
    if len(words) > MAX_TERMS:
        return Terms(refusal=f"keyword search takes {MAX_TERMS} different words, not {len(words)}")
    if any(len(word) > MAX_TERM_CHARS for word in words):
        return Terms(refusal=f"keyword search takes words of {MAX_TERM_CHARS} characters at most")
    return Terms(words=words)


def is_command(text: str) -> bool:
    """Return whether a turn is a slash command such as ``/help``; file paths are not."""
    return _COMMAND.match(text.lstrip()) is not None


@dataclass(slots=True)
class DigestMatch:
    """An item with the searches that found it, and its cosine similarity if there is one."""

    item: DigestItem
    found_by: list[str] = field(default_factory=list)
    dense: float | None = None


@dataclass(slots=True)
class DigestMatches:
    """Matches of all searches in order of first occurrence, with the number of hits of each."""

    by_id: dict[str, DigestMatch] = field(default_factory=dict)
    structured: int = 0
    keyword: int = 0
    semantic: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, item: DigestItem, found_by: str) -> DigestMatch:
        """Record a hit and return the item's match, merged with earlier hits."""
        match = self.by_id.setdefault(item.entry.id, DigestMatch(item))
        match.found_by.append(found_by)
        return match


class DigestSearch:
    """Runs the configured lookups and searches of a digest on an agent's items."""

    def __init__(self, source: DigestSource, config: MemoryV1Config) -> None:
        self._source = source
        self._config = config

    async def gather(self, agent_id: str, query: str, pinned: Collection[str]) -> DigestMatches:
        """Return all matches: pinned items, then structured lookups, keyword and semantic hits."""
        found = DigestMatches()
        for item in await self._pinned(agent_id, pinned):
            found.add(item, "pinned by hand")
        await self._structured(found, agent_id)
        if self._config.keyword.enabled:
            await self._keyword(found, agent_id, query)
        if self._config.semantic.enabled and query.strip():
            await self._semantic(found, agent_id, query)
        return found

    async def _pinned(self, agent_id: str, pinned: Collection[str]) -> Sequence[DigestItem]:
        ids = list(dict.fromkeys(pinned))
        return await self._source.by_id(agent_id, ids) if ids else ()

    async def _structured(self, found: DigestMatches, agent_id: str) -> None:
        wanted = self._config.structured
        most = 2 * self._config.budgets.max_total_items
        if wanted.fact_keys:
            facts = await self._source.facts(agent_id, list(dict.fromkeys(wanted.fact_keys)))
            for item in facts[:most]:
                found.add(item, f"the fact {item.fact_key}")
            found.structured = min(most, len(facts))
        room = most - found.structured
        if wanted.tags and room > 0:
            tagged = await self._source.tagged(agent_id, wanted.tags, limit=room)
            for item in tagged:
                shared = [tag for tag in wanted.tags if tag in item.entry.metadata.tags]
                found.add(item, f"tagged {', '.join(shared)}")
            found.structured += len(tagged)

    async def _keyword(self, found: DigestMatches, agent_id: str, query: str) -> None:
        terms = terms_of(query)
        if terms.refusal:
            found.notes.append(terms.refusal)
        if not terms.words and not terms.everything:
            return
        limit = self._config.keyword.limit
        hits = await self._source.by_words(agent_id, terms.words, limit=limit)
        for item, score in hits:
            found.add(item, f"keyword score {score}" if terms.words else "everything was asked for")
        found.keyword = len(hits)

    async def _semantic(self, found: DigestMatches, agent_id: str, query: str) -> None:
        """A failure, or vectors that are missing, leave the other hits as they are."""
        call = self._source.by_meaning(agent_id, query, limit=self._config.semantic.limit)
        answer = await safely(call, what="the semantic search", notes=found.notes)
        if answer is None:
            return
        hits, missing = answer
        found.notes += [missing] if missing else []
        for item, cosine in sorted(hits, key=lambda hit: (-hit[1], hit[0].entry.id)):
            found.add(item, f"meaning {cosine:.2f}").dense = cosine
        found.semantic = len(hits)
