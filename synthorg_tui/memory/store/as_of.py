"""Searches and digests as of a time: what the store knew then, and which facts held then.

For a person who asks why something was done. What an import read counts from when it happened, and
a statement until the one that replaced it was made, whenever the store learnt of them. The index
only knows the present, so the rows and vectors of that time are read from the database: 40 ms a
thousand, at most ``MAX_SCANNED``. Texts are as they are now; what was purged since is gone.
"""

import math
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits, Visibility
from synthorg_tui.memory.listing import FoundMemories, ListedMemory
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.retrieval.hits import SearchHit, SearchResult
from synthorg_tui.memory.retrieval.relevance import (
    SEARCH_DEPTH,
    fuse_hits,
    meaning_of,
    moved_cutoff,
    relevant_hits,
)
from synthorg_tui.memory.store import facts, queries, statements
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.rows import LISTED
from synthorg_tui.memory.store.scan import best, cosines
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.providers.embedding.errors import EmbeddingError

MAX_SCANNED: Final = 20_000
"""Memories that one search looks at: the newest of those known at the time."""
_KNOWN_SINCE: Final = (
    "CASE WHEN m.import_key IS NOT NULL AND m.fact_key IS NULL "
    "THEN least(m.created_at, m.recorded_at) ELSE coalesce(m.recorded_at, m.created_at) END"
)
_ENDED: Final = (
    f"CASE WHEN m.archived_why = '{ArchiveReason.SUPERSEDED}' AND m.fact_key IS NULL "
    "THEN coalesce(m.valid_to, m.archived_at) ELSE m.archived_at END"
)


class _Snapshot(NamedTuple):
    """What the store knew at a time: memories, and the vectors of those that have one."""

    rows: dict[str, ListedMemory]
    vectors: dict[str, bytes]


async def find_as_of(
    core: Core, query: MemoryQuery, at: datetime, *, agents: frozenset[str] | None
) -> FoundMemories:
    """Search by meaning and words among what was known at ``at``; ``query.text`` is required.

    ``degraded`` says how many were looked at where there were more, and what was missing.
    """
    where = queries.WhereClause()
    if agents is not None:
        where.add("list_contains(?::VARCHAR[], m.agent_id)", sorted(agents))
    found, degraded = await _ranked(core, query, at, where)
    wanted = [hit for hit in found if (hit.fused or 0.0) >= query.min_relevance]
    terms = frozenset(core.tokenizer.tokenize(query.text or ""))
    relevant = relevant_hits(
        wanted,
        coverage=lambda hit: core.tokenizer.coverage(terms, hit.content),
        limit=query.limit,
        cutoff=moved_cutoff(core.moved),
    )
    return FoundMemories(hits=relevant, degraded=degraded)


async def candidates_as_of(
    core: Core,
    agent_id: str,
    query: MemoryQuery,
    at: datetime,
    *,
    include_shared: bool,
    visibility: Visibility | None,
) -> SearchResult:
    """Return what an agent could have been given at ``at``, as ``CandidateSource`` does."""
    where = queries.WhereClause()
    where.add("m.agent_id = ? AND NOT m.shared OR ? AND m.shared", agent_id, include_shared)
    queries.add_visibility(where, visibility)
    found, degraded = await _ranked(core, query, at, where)
    then = naive_utc(at)
    texts = await core.read(lambda db: statements.as_given(db, found, then))
    hits = (
        SearchHit(
            entry_of(replace(row, content=texts.get(row.id, row.content))),
            *(row.dense, row.sparse, row.fused or 0.0, row.agent_id != agent_id),
        )
        for row in found
    )
    return SearchResult(tuple(hits), degraded, moved=core.moved)


async def _ranked(
    core: Core, query: MemoryQuery, at: datetime, where: queries.WhereClause
) -> tuple[list[ListedMemory], str]:
    """All hits, best first, and what was missing in words."""
    text = query.text or ""
    now, then = naive_utc(core.clock.now()), naive_utc(at)
    known = await core.read(
        lambda db: _known(db, query, where, (then, now), core.embedder.fingerprint)
    )
    notes = []
    if len(known.rows) == MAX_SCANNED:
        notes.append(f"only the newest {MAX_SCANNED:,} memories of that time were searched")
    dense: tuple[IndexHit, ...] = ()
    try:
        vector = await core.embedder.embed_query(meaning_of(text))
        dense = best(cosines(known.vectors, vector), SEARCH_DEPTH)
    except EmbeddingError as error:
        notes.append(f"searched by words only: {error.message}")
    terms = frozenset(core.tokenizer.tokenize(text))
    hits = IndexHits(dense=dense, sparse=_by_words(known, terms))
    found = [
        replace(known.rows[hit.id], dense=hit.dense, sparse=hit.sparse, fused=hit.fused)
        for hit in fuse_hits(hits, limit=SEARCH_DEPTH)
    ]
    return found, "; ".join(notes)


def _known(
    db: Connection,
    query: MemoryQuery,
    whose: queries.WhereClause,
    times: tuple[datetime, datetime],
    fingerprint: str,
) -> _Snapshot:
    then, now = times
    where = queries.WhereClause()
    where.add(f"{_KNOWN_SINCE} <= ?", then)
    for gone in (_ENDED, "m.deleted_at", "m.expires_at"):
        where.add(f"({gone} IS NULL OR {gone} > ?)", then)
    where.add(f"({whose})", *whose.values)
    queries.add_query(where, query)
    rows = queries.listing(db, where, LISTED, order=queries.ORDERS["newest"], limit=MAX_SCANNED)
    former = facts.held(db, [row.id for row in rows if row.is_fact], now, at=then)
    known = {row.id: row for row in rows if row.id not in former}
    return _Snapshot(known, queries.vectors_by_id(db, list(known), fingerprint))


def _by_words(known: _Snapshot, terms: frozenset[str]) -> tuple[IndexHit, ...]:
    """Memories that hold terms, by how rare these are; terms are beginnings of words."""
    texts = {key: row.content.lower() for key, row in known.rows.items()}
    scores = dict.fromkeys(texts, 0.0)
    for term in terms:
        holding = [key for key, text in texts.items() if term in text]
        for key in holding:
            scores[key] += math.log1p(len(texts) / len(holding))
    found = {key: scores[key] for key in sorted(scores) if scores[key]}
    return best(found, SEARCH_DEPTH)
