"""Lookups for the digest, in the database and through the index.

Limited to what an agent itself stored or published and may see from its session and project.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.digest.lines import TITLE_PATTERN
from synthorg_tui.memory.digest.models import DigestItem
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.errors import MemoryRetrievalError, translate_errors
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.retrieval.tags import FACT_CATEGORIES
from synthorg_tui.memory.store import facts, queries, statements
from synthorg_tui.memory.store.beside import without_copies
from synthorg_tui.memory.store.core import Core, entry_of
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.memory.store.search import Search, SearchScope
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

T = TypeVar("T")

_NEWEST: Final = queries.ORDERS["newest"]
_IS_FACT: Final = "m.fact_key IS NOT NULL AND m.category IN (" + (
    ", ".join(f"'{category}'" for category in sorted(FACT_CATEGORIES)) + ")"
)
_MAX_FACTS: Final = 10_000
_OF_PERSONS: Final = (
    f"m.source_kind IN ('{SourceKind.USER}', '{SourceKind.OPERATOR}') DESC, {_NEWEST}"
)
_IS_EPISODE: Final = f"m.category = '{MemoryCategory.EPISODIC}'"
_HAS_TITLE: Final = f"starts_with(ltrim(m.content), '#') AND NOT ({_IS_EPISODE} OR ({_IS_FACT}))"
_TEXTS: Final = f"""
    SELECT m.id, m.created_at,
        CASE WHEN {_IS_FACT} THEN lower(m.fact_key) ELSE '' END AS key,
        CASE WHEN {_HAS_TITLE} THEN lower(regexp_extract(m.content, ?, 1)) ELSE '' END AS title,
        lower(CASE WHEN {_HAS_TITLE} THEN regexp_replace(m.content, ?, '') ELSE m.content END)
            AS body,
        CASE WHEN {_IS_EPISODE} THEN 2 ELSE 1 END AS body_weight
    FROM memories m WHERE """
_TERM_SCORE: Final = (
    "3 * contains(title, ?)::INT + 2 * contains(key, ?)::INT + body_weight * contains(body, ?)::INT"
)


class LocalDigestSource:
    """``DigestSource`` on the local store, as seen from one session and project.

    Returns the agent's own memories only, including those it published.
    """

    def __init__(self, core: Core, visibility: Visibility | None) -> None:
        self._core = core
        self._visibility = visibility
        self._search = Search(core)

    async def facts(self, agent_id: str, keys: Sequence[str]) -> Sequence[DigestItem]:
        """Return the fact that holds for each key, in the order of the keys.

        Where a person and an agent say different things, that is the person's.
        """
        where = self._live(agent_id)
        where.add(f"{_IS_FACT} AND list_contains(?::VARCHAR[], m.fact_key)", list(keys))
        rows = await self._read(
            lambda db: queries.listing(db, where, STORED, order=_OF_PERSONS, limit=_MAX_FACTS)
        )
        by_key = {row.fact_key: row for row in reversed(rows)}
        return [_item(by_key[key]) for key in keys if key in by_key]

    async def tagged(
        self, agent_id: str, tags: Sequence[str], *, limit: int
    ) -> Sequence[DigestItem]:
        """Return at most ``limit`` items with any of the tags, newest first."""
        where = self._live(agent_id)
        where.add("list_has_any(m.tags, ?::VARCHAR[])", list(tags))
        where = without_copies(where)
        rows = await self._read(
            lambda db: queries.listing(db, where, STORED, order=_NEWEST, limit=limit)
        )
        return [_item(row) for row in rows]

    async def by_words(
        self, agent_id: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[tuple[DigestItem, int]]:
        """Return items that contain any of the terms, each with its score, best first.

        Without terms, return the newest items.
        """
        where = without_copies(self._live(agent_id))
        if not terms:
            rows = await self._read(
                lambda db: queries.listing(db, where, STORED, order=_NEWEST, limit=limit)
            )
            return [(_item(row), 0) for row in rows]
        sql = (
            # Materialized: else the sort computes texts and scores again.
            f"WITH texts AS MATERIALIZED ({_TEXTS} {where}), "
            f"scored AS MATERIALIZED (SELECT id, created_at, "
            f"{' + '.join(_TERM_SCORE for _ in terms)} AS score FROM texts) "
            "SELECT id::VARCHAR, score FROM scored WHERE score > 0 "
            f"ORDER BY score DESC, created_at DESC, id LIMIT {int(limit)}"
        )
        bound = [TITLE_PATTERN, TITLE_PATTERN, *where.values]
        bound += [term for term in terms for _ in range(3)]

        scores: dict[str, int] = {}

        def work(db: Connection) -> list[StoredMemory]:
            scores.update(db.execute(sql, bound).fetchall())
            return queries.in_order(db, WhereClause(), list(scores), STORED)

        return [(_item(row), scores[row.id]) for row in await self._read(work)]

    async def by_meaning(
        self, agent_id: str, text: str, *, limit: int
    ) -> tuple[Sequence[tuple[DigestItem, float]], str]:
        """Return relevant items found by vector search, each with its cosine similarity.

        The second value says in words which source was missing; empty when none was.
        """
        scope = SearchScope(agents=frozenset({agent_id}), visibility=self._visibility)
        with translate_errors(MemoryRetrievalError, "searching"):
            found = await self._search.hybrid(MemoryQuery(text=text, limit=limit), scope)
        cosines = {hit.id: hit.dense for hit in found.hits if hit.dense is not None}
        items = await self.by_id(agent_id, list(cosines))
        return [(item, cosines[item.entry.id]) for item in items], found.degraded

    async def by_id(self, agent_id: str, ids: Sequence[str]) -> Sequence[DigestItem]:
        """Return the agent's items with these ids, in the order of the ids."""
        where = self._live(agent_id)
        rows = await self._read(lambda db: queries.in_order(db, where, ids, STORED))
        return [_item(row) for row in rows]

    def _live(self, agent_id: str) -> WhereClause:
        return self._core.live_where(agent=agent_id, visibility=self._visibility)

    async def _read(self, work: Callable[[Connection], list[StoredMemory]]) -> list[StoredMemory]:
        """What ``work`` reads, without facts and statements that another one has replaced."""
        now = naive_utc(self._core.clock.now())

        def read(db: Connection) -> list[StoredMemory]:
            rows = facts.standing(db, work(db), now)
            texts = statements.as_given(db, rows)
            return [row._replace(content=texts.get(row.id, row.content)) for row in rows]

        return await self._core.read(read, action="looking up memories")


def _item(row: StoredMemory) -> DigestItem:
    return DigestItem(
        entry=entry_of(row),
        source_kind=SourceKind(row.source_kind),
        session_id=row.session_id,
    )
