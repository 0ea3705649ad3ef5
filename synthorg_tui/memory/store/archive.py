"""The archive: memories that stay unchanged but are given to no agent until they are restored.

An archived memory is a row of the same table with a time and a reason, so it is in the archive or
live, and never both or neither, whatever is killed. It isn't in the vector index. A search looks at
every archived vector instead, a batch at a time, and counts words in the database: slower with each
thousand memories, but without cost until then.
"""

import heapq
from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Final

from synthorg_tui.memory.errors import (
    MemoryRetrievalError,
)
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits
from synthorg_tui.memory.listing import BrowseFilter, FoundMemories
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.retrieval.relevance import (
    SEARCH_DEPTH,
    fuse_hits,
    meaning_of,
    moved_cutoff,
    relevant_hits,
)
from synthorg_tui.memory.store import browsing, queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.memory.store.rows import LISTED
from synthorg_tui.memory.store.scan import cosines
from synthorg_tui.persistence.port import Connection
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors

VECTORS_AT_ONCE: Final = 2000
"""Vectors in memory at once during a search, three megabytes of them."""
_MAX_TERMS: Final = 32
_LEAST_STEM: Final = 4


async def find_archived(
    core: Core, query: MemoryQuery, *, agents: frozenset[str] | None, within: BrowseFilter
) -> FoundMemories:
    """Search archived memories by meaning and words; see ``MemoryAdmin.find``."""
    if query.text is None:
        raise MemoryRetrievalError("a search needs a text")
    scope = replace(within, words=(), agents=within.agents or tuple(sorted(agents or ())))
    where = browsing.browse_where(scope, core.clock.now(), core.ages)
    queries.add_query(where, query)
    terms = core.tokenizer.tokenize(query.text)
    vector, degraded = await _vector_of(core, query.text)
    fingerprint = core.embedder.fingerprint

    def look(db: Connection) -> IndexHits:
        near = () if vector is None else _by_meaning(db, where, fingerprint, vector)
        return IndexHits(dense=near, sparse=_by_words(db, where, terms))

    hits = await core.read(look)
    fused = {hit.id: hit for hit in fuse_hits(hits, limit=2 * SEARCH_DEPTH)}
    rows = await core.read(
        lambda db: queries.in_order(db, WhereClause(browsing.ARCHIVED), list(fused), LISTED)
    )
    scored = [
        replace(row, dense=hit.dense, sparse=hit.sparse, fused=hit.fused)
        for row in rows
        if (hit := fused[row.id]).fused >= query.min_relevance
    ]
    wanted = frozenset(terms)
    relevant = relevant_hits(
        scored,
        coverage=lambda hit: core.tokenizer.coverage(wanted, hit.content),
        limit=query.limit,
        cutoff=moved_cutoff(core.moved),
    )
    if vector is not None and (
        lacking := await core.read(lambda db: _count_without_vector(db, fingerprint))
    ):
        degraded = f"{lacking} archived memories have no vector and are found by keywords only"
    return FoundMemories(hits=relevant, degraded=degraded)


def _count_without_vector(db: Connection, fingerprint: str) -> int:
    where = WhereClause(browsing.ARCHIVED)
    where.add(
        "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory_id = m.id AND v.fingerprint = ?)",
        fingerprint,
    )
    return queries.total(db, where)


async def _vector_of(core: Core, text: str) -> tuple[Vectors | None, str]:
    core.idle.used()
    try:
        return await core.embedder.embed_query(meaning_of(text)), ""
    except EmbeddingError as error:
        return None, f"searched by keywords only: {error.message}"


def _by_meaning(
    db: Connection, where: WhereClause, fingerprint: str, vector: Vectors
) -> tuple[IndexHit, ...]:
    """The nearest of all archived vectors, a batch of them at a time."""
    best: list[tuple[float, str]] = []
    found = db.execute(
        "SELECT m.id::VARCHAR, v.vector FROM memories m JOIN vectors v ON v.memory_id = m.id "
        f"WHERE {where} AND v.fingerprint = ?",
        [*where.values, fingerprint],
    )
    while rows := found.fetchmany(VECTORS_AT_ONCE):
        batch = [(cosine, key) for key, cosine in cosines(dict(rows), vector).items()]
        best = heapq.nlargest(SEARCH_DEPTH, [*best, *batch])
    return tuple(IndexHit(memory_id, cosine) for cosine, memory_id in best)


def _by_words(db: Connection, where: WhereClause, terms: Sequence[str]) -> tuple[IndexHit, ...]:
    """The memories with most of the query's words, a rare word counting more.

    Words are looked for as beginnings anywhere in the text, which the database does quickly; the
    cutoff then counts real words.
    """
    wanted = [_beginning(term) for term in dict.fromkeys(terms)][:_MAX_TERMS]
    total = queries.total(db, where)
    if not wanted or not total:
        return ()
    found = [f"contains(lower(m.content), ?)::INT AS w{n}" for n in range(len(wanted))]
    texts = f"SELECT m.id, {', '.join(found)} FROM memories m WHERE {where}"
    sums = ", ".join(f"sum(w{n})" for n in range(len(wanted)))
    values = [*wanted, *where.values]
    counts = db.execute(f"SELECT {sums} FROM ({texts})", values).fetchone() or ()
    weights = [log(1 + (total - count + 0.5) / (count + 0.5)) for count in counts]
    score = " + ".join(f"w{n} * {weight!r}" for n, weight in enumerate(weights))
    rows = db.execute(
        f"WITH texts AS MATERIALIZED ({texts}), "
        f"scored AS (SELECT id, {score} AS score FROM texts) SELECT id::VARCHAR, score "
        f"FROM scored WHERE score > 0 ORDER BY score DESC, id LIMIT {SEARCH_DEPTH}",
        values,
    ).fetchall()
    return tuple(IndexHit(memory_id, float(score)) for memory_id, score in rows)


def _beginning(stem: str) -> str:
    """What other forms of a stem start with, too: "tri" is the stem of "try"."""
    return stem[:-1] if stem.endswith("i") and len(stem) >= _LEAST_STEM else stem
