"""Finding memories: by meaning and keywords through the index, by filters in the database."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.index.protocol import (
    IndexFilter,
    IndexHit,
    IndexHits,
    SparseVector,
    Visibility,
)
from synthorg_tui.memory.listing import FoundMemories, ListedMemory
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.retrieval.hits import SearchHit, SearchResult
from synthorg_tui.memory.retrieval.relevance import (
    SEARCH_DEPTH,
    FusedHit,
    fuse_hits,
    joined,
    meaning_of,
    relevant_hits,
)
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.rows import LISTED
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors

ROWS_AT_ONCE = 50
"""Candidates to be explained, if that is enough: DuckDB takes twice as long to find 51."""

MIN_CANDIDATES = 30
"""Fused hits looked at in the database at least: some may be stale or irrelevant."""


class SearchScope(NamedTuple):
    """Whose memories a search looks at; the defaults are all."""

    agents: frozenset[str] | None = None
    exclude_agent: str | None = None
    shared: bool | None = None
    visibility: Visibility | None = None


class Search:
    """Searches of the local backend."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def hybrid(self, query: MemoryQuery, scope: SearchScope) -> FoundMemories:
        """Dense and sparse rankings, fused; ``query.text`` is required."""
        text = _text_of(query)
        (hits,), degraded = await self._rankings(query, [scope])
        candidates = fuse_hits(hits, limit=max(MIN_CANDIDATES, 2 * query.limit))
        found = await self._load(candidates, query)
        terms = frozenset(self._core.tokenizer.tokenize(text))
        relevant = relevant_hits(
            found,
            coverage=lambda hit: self._core.tokenizer.coverage(terms, hit.content),
            limit=query.limit,
        )
        return FoundMemories(hits=relevant, degraded=degraded)

    async def candidates(
        self, query: MemoryQuery, own: SearchScope, shared: SearchScope | None
    ) -> SearchResult:
        """Fused rankings of private and shared memories together, the irrelevant included."""
        scopes = [own] if shared is None else [own, shared]
        rankings, degraded = await self._rankings(query, scopes)
        hits = joined(rankings)
        fused = fuse_hits(hits, limit=len(hits.dense) + len(hits.sparse))
        rankings_of_ids = (fused, hits.dense, hits.sparse)
        top = {hit.id for ranking in rankings_of_ids for hit in ranking[: query.limit]}
        spare = ROWS_AT_ONCE - len(top)
        top.update([hit.id for hit in fused if hit.id not in top][: max(0, spare)])
        wanted = [hit for hit in fused if hit.id in top]
        foreign = {hit.id for other in rankings[1:] for hit in (*other.dense, *other.sparse)}
        found = (
            SearchHit(entry_of(hit), hit.dense, hit.sparse, hit.fused or 0.0, hit.id in foreign)
            for hit in await self._load(wanted, query)
        )
        return SearchResult(hits=tuple(found), degraded=degraded)

    async def _rankings(
        self, query: MemoryQuery, scopes: Sequence[SearchScope]
    ) -> tuple[list[IndexHits], str]:
        """Both raw rankings for each scope, and in words what they lack."""
        text = _text_of(query)
        sparse = self._core.tokenizer.encode(text)
        dense, missing = await self._query_vector(meaning_of(text))
        notes = [missing] if missing else await self._unembedded_note()
        if not await self._is_current():
            notes.append("the index is being repaired; the newest memories may be missing")
        index, depth = (await self._core.indexed()).index, _depth(query.limit)
        searches = (
            index.search(self._filter(query, scope), dense=dense, sparse=sparse, limit=depth)
            for scope in scopes
        )
        return await asyncio.gather(*searches), "; ".join(notes)

    async def sparse(self, query: MemoryQuery, scope: SearchScope) -> tuple[MemoryEntry, ...]:
        """By BM25 alone; the relevance is the share of the best score."""
        sparse: SparseVector = self._core.tokenizer.encode(_text_of(query))
        await self._is_current()
        hits = await (await self._core.indexed()).index.search(
            self._filter(query, scope), dense=None, sparse=sparse, limit=_depth(query.limit)
        )
        ranked = [FusedHit(h.id, None, h.score, _share(h, hits.sparse)) for h in hits.sparse]
        found = await self._load(ranked, query)
        return tuple(entry_of(hit) for hit in found[: query.limit])

    async def newest(self, query: MemoryQuery, scope: SearchScope) -> tuple[MemoryEntry, ...]:
        """By the filters alone, newest first, ties by id."""
        where = queries.live_where(
            now=self._core.clock.now(), shared=scope.shared, visibility=scope.visibility
        )
        if scope.agents is not None:
            where.add("list_contains(?::VARCHAR[], m.agent_id)", sorted(scope.agents))
        if scope.exclude_agent is not None:
            where.add("m.agent_id <> ?", scope.exclude_agent)
        queries.add_query(where, query)
        rows = await self._core.read(
            lambda db: queries.listing(
                db, where, LISTED, order=queries.ORDERS["newest"], limit=query.limit
            )
        )
        return tuple(map(entry_of, rows))

    async def matching(self, query: MemoryQuery, scope: SearchScope) -> tuple[MemoryEntry, ...]:
        """By text when there is one, else by the filters alone."""
        if query.text is None:
            return await self.newest(query, scope)
        return tuple(map(entry_of, (await self.hybrid(query, scope)).hits))

    async def _query_vector(self, text: str) -> tuple[Vectors | None, str]:
        try:
            return await self._core.embedder.embed_query(text), ""
        except EmbeddingError as error:
            return None, f"searched by keywords only: {error.message}"

    async def _unembedded_note(self) -> list[str]:
        waiting = await self._core.unembedded()
        if not waiting:
            return []
        return [
            f"{waiting} memories wait for embedding and are found by keywords only; "
            "`synthorg-tui reindex` embeds them"
        ]

    async def _is_current(self) -> bool:
        projection = await self._core.indexed()
        if projection.is_behind:
            await self._core.catch_up()
        return not projection.is_behind

    async def _load(self, ranked: Sequence[FusedHit], query: MemoryQuery) -> list[ListedMemory]:
        """The hits that are relevant enough and live: the index may be behind the database."""
        wanted = [hit for hit in ranked if hit.fused >= query.min_relevance]
        where = queries.live_where(now=self._core.clock.now())
        rows = await self._core.read(
            lambda db: queries.in_order(db, where, [hit.id for hit in wanted], LISTED)
        )
        scores = {hit.id: hit for hit in wanted}
        return [_scored(row, scores[row.id]) for row in rows]

    def _filter(self, query: MemoryQuery, scope: SearchScope) -> IndexFilter:
        return IndexFilter(
            now=self._core.clock.now(),
            agents=scope.agents,
            exclude_agent=scope.exclude_agent,
            shared=scope.shared,
            categories=query.categories or frozenset(),
            namespaces=query.namespaces or frozenset(),
            tags=query.tags,
            since=query.since,
            until=query.until,
            visibility=scope.visibility,
        )


def _scored(row: ListedMemory, hit: FusedHit) -> ListedMemory:
    return replace(row, dense=hit.dense, sparse=hit.sparse, fused=hit.fused)


def _text_of(query: MemoryQuery) -> str:
    if query.text is None:
        raise MemoryRetrievalError("a search needs a text")
    return query.text


def _depth(limit: int) -> int:
    return max(SEARCH_DEPTH, 2 * limit)


def _share(hit: IndexHit, ranking: Sequence[IndexHit]) -> float:
    best = ranking[0].score
    return min(1.0, max(0.0, hit.score / best)) if best > 0 else 1.0
