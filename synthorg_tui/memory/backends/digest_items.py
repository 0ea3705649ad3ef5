"""Lookups for the digest in backends without a database, and in several backends at once."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, runtime_checkable

from synthorg_tui.memory.digest.lines import TITLE_PATTERN
from synthorg_tui.memory.digest.models import DigestItem, DigestSource, ItemKind
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.retrieval.hits import CandidateSource

_TITLE: Final = re.compile(TITLE_PATTERN)
_BY_PERSONS: Final = (SourceKind.USER, SourceKind.OPERATOR)

ItemsOf = Callable[[str], Awaitable[Sequence[DigestItem]]]


@runtime_checkable
class DigestItems(Protocol):
    """Optional ability of a backend to have digests made of the memories visible in it.

    A protocol because not every backend can be looked through; check with ``isinstance``.
    """

    def digest_items(self) -> DigestSource:
        """Return the source from which a digest is built."""


class PlainDigestSource:
    """``DigestSource`` that looks through all items of an agent.

    Args:
        items: Returns all items of an agent that may be given.
        search: Finds them by meaning.
    """

    def __init__(self, items: ItemsOf, search: CandidateSource) -> None:
        self._items = items
        self._search = search

    async def facts(self, agent_id: str, keys: Sequence[str]) -> Sequence[DigestItem]:
        """Return the fact for each key, a person's before an agent's, then the newest."""
        found: dict[str, DigestItem] = {}
        items = sorted(await self._newest(agent_id), key=lambda i: i.source_kind not in _BY_PERSONS)
        for item in items:
            if item.kind is ItemKind.FACT and item.fact_key is not None:
                found.setdefault(item.fact_key, item)
        return [found[key] for key in keys if key in found]

    async def tagged(
        self, agent_id: str, tags: Sequence[str], *, limit: int
    ) -> Sequence[DigestItem]:
        """Return at most ``limit`` items with any of the tags, newest first."""
        wanted = set(tags)
        items = await self._newest(agent_id)
        return [i for i in items if not wanted.isdisjoint(i.entry.metadata.tags)][:limit]

    async def by_words(
        self, agent_id: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[tuple[DigestItem, int]]:
        """Return items that contain any of the terms, each with its score, best first."""
        items = await self._newest(agent_id)
        if not terms:
            return [(item, 0) for item in items[:limit]]
        scored = [(item, _score(item, terms)) for item in items]
        found = [(item, score) for item, score in scored if score > 0]
        return sorted(found, key=lambda pair: -pair[1])[:limit]

    async def by_meaning(
        self, agent_id: str, text: str, *, limit: int
    ) -> tuple[Sequence[tuple[DigestItem, float]], str]:
        """Return items similar to the text, each with its cosine similarity."""
        query = MemoryQuery(text=text, limit=limit)
        found = await self._search.candidates(agent_id, query, include_shared=False)
        cosines = {hit.entry.id: hit.dense for hit in found.hits if hit.dense is not None}
        items = await self.by_id(agent_id, list(cosines)[:limit])
        return [(item, cosines[item.entry.id]) for item in items], found.degraded

    async def by_id(self, agent_id: str, ids: Sequence[str]) -> Sequence[DigestItem]:
        """Return the agent's items with these ids, in the order of the ids."""
        items = {item.entry.id: item for item in await self._items(agent_id)}
        return [items[memory_id] for memory_id in ids if memory_id in items]

    async def _newest(self, agent_id: str) -> list[DigestItem]:
        items = sorted(await self._items(agent_id), key=lambda item: item.entry.id)
        return sorted(items, key=lambda item: item.entry.created_at, reverse=True)


class JoinedDigestSource:
    """``DigestSource`` that asks several others and merges their answers."""

    def __init__(self, sources: Sequence[DigestSource]) -> None:
        self._sources = sources

    async def facts(self, agent_id: str, keys: Sequence[str]) -> Sequence[DigestItem]:
        """Return the fact for each key; of two in different backends the newer one."""
        found: dict[str | None, DigestItem] = {}
        for source in self._sources:
            for item in await source.facts(agent_id, keys):
                known = found.get(item.fact_key)
                if known is None or known.entry.created_at < item.entry.created_at:
                    found[item.fact_key] = item
        return [found[key] for key in keys if key in found]

    async def tagged(
        self, agent_id: str, tags: Sequence[str], *, limit: int
    ) -> Sequence[DigestItem]:
        """Return at most ``limit`` items with any of the tags, newest first."""
        found = [i for s in self._sources for i in await s.tagged(agent_id, tags, limit=limit)]
        return sorted(found, key=lambda item: item.entry.created_at, reverse=True)[:limit]

    async def by_words(
        self, agent_id: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[tuple[DigestItem, int]]:
        """Return items that contain any of the terms, each with its score, best first."""
        found = [p for s in self._sources for p in await s.by_words(agent_id, terms, limit=limit)]
        newest = sorted(found, key=lambda pair: pair[0].entry.created_at, reverse=True)
        return sorted(newest, key=lambda pair: -pair[1])[:limit]

    async def by_meaning(
        self, agent_id: str, text: str, *, limit: int
    ) -> tuple[Sequence[tuple[DigestItem, float]], str]:
        """Return items similar to the text, each with its cosine similarity."""
        answers = [await s.by_meaning(agent_id, text, limit=limit) for s in self._sources]
        found = sorted((p for items, _ in answers for p in items), key=lambda pair: -pair[1])
        return found[:limit], "; ".join(note for _, note in answers if note)

    async def by_id(self, agent_id: str, ids: Sequence[str]) -> Sequence[DigestItem]:
        """Return the agent's items with these ids, in the order of the ids."""
        found = {i.entry.id: i for s in self._sources for i in await s.by_id(agent_id, ids)}
        return [found[memory_id] for memory_id in ids if memory_id in found]


def _score(item: DigestItem, terms: Sequence[str]) -> int:
    """3 for each term in the title, 2 in the key or an episode, 1 in other text."""
    content, key = item.entry.content, item.fact_key or ""
    episode = item.kind is ItemKind.EPISODE
    heading = None if episode or key else _TITLE.match(content)
    title = heading[1].lower() if heading else ""
    body = (_TITLE.sub("", content, count=1) if heading else content).lower()
    weight = 2 if episode else 1
    return sum(
        3 * (term in title) + 2 * (term in key.lower()) + weight * (term in body) for term in terms
    )
