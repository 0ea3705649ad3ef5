"""Searches the store: by meaning and keywords through the index, by filters in the database.

The index ranks ids; what is returned is read from the database, which decides what is live. How
two rankings are fused and what is relevant is in ``retrieval.relevance``.
"""

import asyncio
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from synthorg_tui.core.projects import folders_of
from synthorg_tui.memory.errors import MemoryRetrievalError, VectorIndexError
from synthorg_tui.memory.index.protocol import (
    IndexFilter,
    IndexHit,
    IndexHits,
    SparseVector,
    Visibility,
)
from synthorg_tui.memory.kinds import IMPORTED
from synthorg_tui.memory.listing import BrowseFilter, FoundMemories, ListedMemory
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryQuery
from synthorg_tui.memory.retrieval.clusters import lines_of
from synthorg_tui.memory.retrieval.hits import CopiesOf, SearchHit, SearchResult
from synthorg_tui.memory.retrieval.neighbours import Beside
from synthorg_tui.memory.retrieval.relevance import (
    SEARCH_DEPTH,
    FusedHit,
    fuse_hits,
    joined,
    meaning_of,
    moved_cutoff,
    relevant_hits,
)
from synthorg_tui.memory.store import browsing, facts, queries, statements
from synthorg_tui.memory.store.beside import (
    HitFacts,
    copies_of,
    facts_of,
    first_copies,
    neighbours_of,
    rows_beside,
    with_loans,
)
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.rows import LISTED
from synthorg_tui.memory.store.scan import scan
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors

ROWS_AT_ONCE = 50
"""Candidates to be explained, if that is enough: DuckDB takes twice as long to find 51."""

NEARLY_THE_SAME = 0.84
"""Cosine similarity of two memories from which on they say nearly the same.

With the local model rewordings of one fact have 0.85 and more, most facts on the same subject 0.82
and less. Vectors don't distinguish sentences that differ in a name or a number only.
"""
MAX_COPIES = 20_000
"""Copies of one memory that are kept out of the way of others."""
MIN_CANDIDATES = 30
"""Fused hits looked at in the database at least: some may be stale or irrelevant."""

_SPARE = 2
"""How many times as many are found as an agent asked for, as some say the same."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""A time at which nothing has expired."""


class SearchScope(NamedTuple):
    """Restricts a search to certain memories; the defaults allow all live ones.

    With ``expired`` those are found, too, that have expired and aren't deleted.
    """

    agents: frozenset[str] | None = None
    exclude_agent: str | None = None
    shared: bool | None = None
    visibility: Visibility | None = None
    projects: frozenset[str] | None = None
    tags: tuple[str, ...] = ()
    expired: bool = False


class _Question(NamedTuple):
    """What the index, or with ``scans`` the database, is asked, and what the answer will lack."""

    dense: Vectors | None
    sparse: SparseVector
    degraded: str
    scans: bool


class _Pool(NamedTuple):
    """Rows to choose from, best first, and the ids of what other agents share."""

    rows: list[ListedMemory]
    foreign: set[str]


class _Near(NamedTuple):
    """What stands beside hits without being one, what stands beside which, and facts of all."""

    rows: list[ListedMemory]
    neighbours: dict[str, Beside]
    facts: HitFacts


class Search:
    """Searches the local store, by text through the index or by filters in the database."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def hybrid(
        self, query: MemoryQuery, scope: SearchScope, *, within: BrowseFilter | None = None
    ) -> FoundMemories:
        """Search by meaning and keywords and return the relevant memories by fused score.

        ``query.text`` is required. Memories that ``within`` doesn't list, whatever its words, are
        left out before ``query.limit`` is applied; the index knows little of such a filter, so more
        results are fetched until enough remain.
        """
        within = None if within is None or within.is_empty else within
        if within is not None:
            scope = await self._narrowed(scope, within)
        text = _text_of(query)
        terms = frozenset(self._core.tokenizer.tokenize(text))
        question = await self._question(text)
        wanted, depth = max(MIN_CANDIDATES, 2 * query.limit), _depth(query.limit)
        while True:
            (hits,) = await self._rankings(question, query, [scope], depth)
            candidates = fuse_hits(hits, limit=2 * depth if within else wanted)
            found = await self._load(candidates, query, within)
            is_all = max(len(hits.dense), len(hits.sparse)) < depth
            if not within or is_all or len(found) >= wanted:
                break
            depth *= 4
        copies = await self._copies(found)
        if copies:
            left_out = {key for each in copies.values() for key in each.ids}
            (hits,) = await self._rankings(question, query, [scope], depth + len(left_out))
            candidates = fuse_hits(_without(hits, left_out), limit=2 * depth if within else wanted)
            found = await self._load(candidates, query, within)
            found = [_counted(row, copies.get(row.id)) for row in found]
        relevant = relevant_hits(
            found[:wanted],
            coverage=lambda hit: self._core.tokenizer.coverage(terms, hit.content),
            limit=query.limit,
            cutoff=moved_cutoff(self._core.moved),
        )
        return FoundMemories(hits=relevant, degraded=question.degraded)

    async def _narrowed(self, scope: SearchScope, within: BrowseFilter) -> SearchScope:
        """The scope with those parts of a filter that the index knows."""
        tags = await self._core.read(lambda db: browsing.sole_spellings(db, within.tags))
        if len(within.kinds) == 1 and within.kinds[0] in IMPORTED:
            tags.append(within.kinds[0].value)
        projects = frozenset(f for each in within.projects for f in folders_of(each)) or None
        expired = "expired" in within.states
        return scope._replace(projects=projects, tags=tuple(tags), expired=expired)

    async def similar(self, memory_id: str, *, limit: int) -> tuple[ListedMemory, ...]:
        """Return live memories whose vector is near that of a memory, most similar first."""
        core = self._core
        found = await core.read(lambda db: queries.rows_by_id(db, [memory_id]))
        vectors = await core.read(
            lambda db: queries.vectors_by_id(db, [memory_id], core.embedder.fingerprint)
        )
        if not found or memory_id not in vectors:
            return ()
        import numpy as np

        index = (await core.indexed()).index
        hits = await index.search(
            IndexFilter(now=core.clock.now(), ended=core.ages.ended_points(core.clock.now())),
            dense=np.frombuffer(vectors[memory_id], np.float32),
            sparse=None,
            limit=limit + 1,
        )
        near = [hit for hit in hits.dense if hit.id != memory_id and hit.score >= NEARLY_THE_SAME]
        ranked = [FusedHit(hit.id, hit.score, None, min(hit.score, 1.0)) for hit in near[:limit]]
        rows = await core.read(
            lambda db: queries.in_order(
                db, queries.WhereClause(), [hit.id for hit in ranked], LISTED
            )
        )
        scores = {hit.id: hit for hit in ranked}
        now, shown = core.clock.now(), map(core.ages.shown, rows)
        return tuple(_scored(row, scores[row.id]) for row in shown if row.is_live(now))

    async def candidates(
        self, query: MemoryQuery, own: SearchScope, shared: SearchScope | None
    ) -> SearchResult:
        """Return the fused results of own and shared memories together, even irrelevant ones."""
        scopes = [own] if shared is None else [own, shared]
        question, depth = await self._question(_text_of(query)), _depth(query.limit)
        pool = await self._pool(await self._rankings(question, query, scopes, depth), query)
        copies = await self._copies(pool.rows)
        if copies:
            # Copies stand close together in a ranking: as many more are asked for.
            left_out = {key for each in copies.values() for key in each.ids}
            rankings = await self._rankings(question, query, scopes, depth + len(left_out))
            pool = await self._pool([_without(hits, left_out) for hits in rankings], query)
        near = await self._near(pool.rows, query, own)
        rows = (*pool.rows, *near.rows)
        texts = await self._core.read(lambda db: statements.as_given(db, rows))
        found = (
            SearchHit(
                entry_of(replace(row, content=texts.get(row.id, row.content))),
                *(row.dense, row.sparse, row.fused or 0.0, row.id in pool.foreign),
            )
            for row in rows
        )
        return SearchResult(
            tuple(found), question.degraded, near.neighbours, copies, *near.facts, self._core.moved
        )

    async def _pool(self, rankings: Sequence[IndexHits], query: MemoryQuery) -> "_Pool":
        """The hits to look at: the first of each ranking, and more of the fused ones."""
        hits = joined(rankings)
        fused = fuse_hits(hits, limit=len(hits.dense) + len(hits.sparse))
        rankings_of_ids = (fused, hits.dense, hits.sparse)
        top = {hit.id for ranking in rankings_of_ids for hit in ranking[: query.limit]}
        spare = ROWS_AT_ONCE - len(top)
        top.update([hit.id for hit in fused if hit.id not in top][: max(0, spare)])
        foreign = {hit.id for other in rankings[1:] for hit in (*other.dense, *other.sparse)}
        return _Pool(await self._load([hit for hit in fused if hit.id in top], query), foreign)

    async def _copies(self, rows: Sequence[ListedMemory]) -> dict[str, CopiesOf]:
        """All exact copies of those rows that have any among the rows; mostly none."""
        kept = list(first_copies(rows))
        if not kept:
            return {}
        where = self._core.live_where()
        return await self._core.read(lambda db: copies_of(db, where, kept, MAX_COPIES))

    async def _near(
        self, rows: Sequence[ListedMemory], query: MemoryQuery, scope: SearchScope
    ) -> "_Near":
        """What stands beside the rows, and what else is known of all of them."""
        seen = self._own(scope)
        asked = self._own(scope)
        queries.add_query(asked, query)
        now, ages = naive_utc(self._core.clock.now()), self._core.ages

        def read(db: Connection) -> _Near:
            neighbours = neighbours_of(db, seen, rows)
            near = [ages.shown(row) for row in rows_beside(db, asked, rows, neighbours)]
            keyed = [row.id for row in near if row.is_fact]
            former = facts.held(db, keyed, now) if keyed else {}
            left = [row for row in near if row.id not in former]
            known = facts_of(db, (*rows, *left), self._core.embedder.fingerprint)
            return _Near(left, neighbours, known)

        return await self._core.read(read)

    def _own(self, scope: SearchScope) -> queries.WhereClause:
        """Conditions for the live memories that a scope includes, but for ``exclude_agent``."""
        where = self._core.live_where(shared=scope.shared, visibility=scope.visibility)
        if scope.agents is not None:
            where.add("list_contains(?::VARCHAR[], m.agent_id)", sorted(scope.agents))
        return where

    async def _question(self, text: str, *, by_meaning: bool = True) -> _Question:
        """The vectors of a text; what the answer will lack is said in words."""
        notes: list[str] = []
        dense = None
        is_whole = scans = True
        try:
            is_whole, scans = await self._core.is_current(), False
        except VectorIndexError as error:
            notes.append(f"searched without the index: {error.message}")
        try:
            if by_meaning and self._core.asks_by_meaning(text):
                dense = await self._core.embedder.embed_query(meaning_of(text))
        except EmbeddingError as error:
            notes.append(f"searched by keywords only: {error.message}")
        if dense is not None and (waiting := await self._core.unembedded()):
            notes.append(
                f"{waiting} memories wait for embedding and are found by keywords only; "
                "`synthorg-tui reindex` embeds them"
            )
        if not is_whole:
            notes.append("the index is being repaired; the newest memories may be missing")
        return _Question(dense, self._core.tokenizer.encode(text), "; ".join(notes), scans)

    async def _rankings(
        self, question: _Question, query: MemoryQuery, scopes: Sequence[SearchScope], depth: int
    ) -> list[IndexHits]:
        """Both raw rankings for each scope."""
        dense, sparse = question.dense, question.sparse
        if question.scans:
            return [await self._scanned(question, query, scope, depth) for scope in scopes]
        index = (await self._core.indexed()).index
        searches = (
            index.search(self._filter(query, scope), dense=dense, sparse=sparse, limit=depth)
            for scope in scopes
        )
        return await asyncio.gather(*searches)

    async def _scanned(
        self, question: _Question, query: MemoryQuery, scope: SearchScope, depth: int
    ) -> IndexHits:
        where, core = self._matching(query, scope), self._core
        if scope.projects is not None:
            where.add("list_contains(?::VARCHAR[], m.project)", sorted(scope.projects))
        where.add("list_has_all(m.tags, ?::VARCHAR[])", list(scope.tags))
        return await core.read(
            lambda db: scan(
                db,
                where,
                fingerprint=core.embedder.fingerprint,
                tokenizer=core.tokenizer,
                dense=question.dense,
                sparse=question.sparse,
                limit=depth,
            )
        )

    def _matching(self, query: MemoryQuery, scope: SearchScope) -> queries.WhereClause:
        """Conditions for what a scope allows and the filters of a query match."""
        where = self._own(scope)
        if scope.exclude_agent is not None:
            where.add("m.agent_id <> ?", scope.exclude_agent)
        queries.add_query(where, query)
        return where

    async def sparse(self, query: MemoryQuery, scope: SearchScope) -> tuple[MemoryEntry, ...]:
        """Search by keywords (BM25) alone.

        The relevance of a result is its score divided by the best score.
        """
        question = await self._question(_text_of(query), by_meaning=False)
        (hits,) = await self._rankings(question, query, [scope], _depth(query.limit))
        ranked = [FusedHit(h.id, None, h.score, _share(h, hits.sparse)) for h in hits.sparse]
        found = await self._load(ranked, query)
        return tuple(entry_of(hit) for hit in found[: query.limit])

    async def newest(self, query: MemoryQuery, scope: SearchScope) -> tuple[MemoryEntry, ...]:
        """Return memories that match the filters, newest first, ties by id; ignores the text."""
        where = self._matching(query, scope)
        rows = await self._core.read(
            lambda db: queries.listing(
                db, where, LISTED, order=queries.ORDERS["newest"], limit=query.limit
            )
        )
        shown = map(self._core.ages.shown, rows)
        return tuple(map(entry_of, await self._holding(list(shown))))

    async def matching(self, query: MemoryQuery, scope: SearchScope) -> tuple[MemoryEntry, ...]:
        """Search by text, or by the filters alone when the query has no text.

        What stands beside a hit in its session is lent a share of its score. What says the same is
        one memory of the answer to a text, and what a lesson of the answer was made of isn't in it.
        """
        if query.text is None:
            return await self.newest(query, scope)
        more = query.model_copy(update={"limit": min(MAX_QUERY_LIMIT, _SPARE * query.limit)})
        found = (await self.hybrid(more, scope)).hits
        near = await self._near(found, query, scope)
        rows = with_loans(found, near.rows, near.neighbours, query.min_relevance)
        now = self._core.clock.now()
        return lines_of(tuple(map(entry_of, rows)), *near.facts, now=now)[: query.limit]

    async def _load(
        self,
        ranked: Sequence[FusedHit],
        query: MemoryQuery,
        within: BrowseFilter | None = None,
    ) -> list[ListedMemory]:
        """The hits that are relevant enough and live: the index may be behind the database."""
        wanted = [hit for hit in ranked if hit.fused >= query.min_relevance]
        # Deleted and expired memories are left out by their rows: DuckDB takes twice as long.
        where, now = queries.WhereClause(), self._core.clock.now()
        if within is not None:
            where = browsing.browse_where(replace(within, words=()), now, self._core.ages)
            now = _NEVER if "expired" in within.states else now
        rows = await self._core.read(
            lambda db: queries.in_order(db, where, [hit.id for hit in wanted], LISTED)
        )
        scores = {hit.id: hit for hit in wanted}
        shown = map(self._core.ages.shown, rows)
        return await self._holding(
            [_scored(row, scores[row.id]) for row in shown if row.is_live(now)]
        )

    async def _holding(self, rows: list[ListedMemory]) -> list[ListedMemory]:
        """The memories without facts that another one has replaced, or that aren't true now."""
        keyed = [row.id for row in rows if row.is_fact]
        if not keyed:
            return rows
        now = naive_utc(self._core.clock.now())
        former = await self._core.read(lambda db: facts.held(db, keyed, now))
        return [row for row in rows if row.id not in former]

    def _filter(self, query: MemoryQuery, scope: SearchScope) -> IndexFilter:
        now = _NEVER if scope.expired else self._core.clock.now()
        return IndexFilter(
            now=now,
            ended=self._core.ages.ended_points(now),
            agents=scope.agents,
            exclude_agent=scope.exclude_agent,
            shared=scope.shared,
            categories=query.categories or frozenset(),
            namespaces=query.namespaces or frozenset(),
            tags=(*query.tags, *scope.tags),
            since=query.since,
            until=query.until,
            visibility=scope.visibility,
            projects=scope.projects,
        )


def _counted(row: ListedMemory, copies: CopiesOf | None) -> ListedMemory:
    if copies is None:
        return row
    last = max(copies.last, row.created_at)
    return replace(row, seen_times=1 + len(copies.ids), last_seen=last)


def _scored(row: ListedMemory, hit: FusedHit) -> ListedMemory:
    return replace(row, dense=hit.dense, sparse=hit.sparse, fused=hit.fused)


def _without(hits: IndexHits, ids: Container[str]) -> IndexHits:
    return IndexHits(
        dense=tuple(hit for hit in hits.dense if hit.id not in ids),
        sparse=tuple(hit for hit in hits.sparse if hit.id not in ids),
    )


def _text_of(query: MemoryQuery) -> str:
    if query.text is None:
        raise MemoryRetrievalError("a search needs a text")
    return query.text


def _depth(limit: int) -> int:
    return max(SEARCH_DEPTH, 2 * limit)


def _share(hit: IndexHit, ranking: Sequence[IndexHit]) -> float:
    best = ranking[0].score
    return min(1.0, max(0.0, hit.score / best)) if best > 0 else 1.0
