"""Says why a memory isn't among those an agent is given, to a person who asks.

What was found is explained by its candidates. Here is the rest: memories that expired, were
replaced or deleted, those of other places and agents, and those that are purged. Agents never cause
these lookups, and nothing here is ranked or given to one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.memory.digest.models import DigestItem
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.errors import MemoryRetrievalError, translate_errors
from synthorg_tui.memory.listing import ChangeKind
from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, Verdict
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.retrieval.tags import FACT_CATEGORIES
from synthorg_tui.memory.store import facts, queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.digest_source import LocalDigestSource
from synthorg_tui.memory.store.edges import stands_for
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.memory.store.rows import STORED, StoredMemory, listed
from synthorg_tui.memory.strategies.service import MAX_QUERY, InjectionRequest, InjectionService
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

MAX_FORMER: Final = 5
MAX_TERMS: Final = 32
"""Words of a query that former memories are searched for."""
_MAX_NAME: Final = 60
_MAX_NEAR: Final = 200
_BETWEEN = re.compile(r"[\W_]+")
_PART = re.compile(r"^\[[A-Z]+\]\s*")
_TOKENIZER = BM25Tokenizer()

Why: TypeAlias = tuple[Verdict, str]


@dataclass(frozen=True, slots=True)
class MemoryVerdict:
    """Why one memory is in a digest or not: the verdict, and the reason as a sentence."""

    memory_id: str
    verdict: Verdict
    reason: str


class Absences:
    """Finds why memories aren't given to an agent; raises ``MemoryRetrievalError``.

    It sees the memories of every agent, so it must not be handed to one.
    """

    def __init__(self, core: Core, injection: InjectionService) -> None:
        self._core = core
        self._injection = injection

    async def former(
        self, request: InjectionRequest, besides: Sequence[str]
    ) -> tuple[Candidate, ...]:
        """Return up to five memories that fit the query by words, but aren't given any more.

        They contain more than half of its words and are expired, replaced or deleted; those with
        most of its words come first. ``besides`` are ids of memories to leave out.
        """
        terms = _terms(request.query)
        if not terms:
            return ()
        keys = self._injection.digest_for(request).structured.fact_keys
        keys = keys if self._injection.digest_for(request).enabled else ()
        newest = await self._newest(request, keys)
        where = self._former_where(request, keys, [fact.entry.id for fact in newest.values()])
        where.add("NOT list_contains(?::VARCHAR[], m.id::VARCHAR)", list(besides))
        rows = await self._core.read(
            lambda db: _fitting(db, where, terms), action="looking up former memories"
        )
        return tuple([await self._former(request, row) for row in rows])

    async def why(self, request: InjectionRequest, memory_id: str) -> MemoryVerdict:
        """Return why a memory is among those that answer a request, or why it isn't.

        Of a purged memory the start of the id is enough; an id that nothing has is no error.
        """
        known = next(iter(queries.known_ids([memory_id])), memory_id)
        explanation = (await self._injection.prepare(request)).explanation
        for candidate in explanation.candidates:
            if candidate.entry.id == known:
                reason = candidate.reason + await self._on_replaced(known)
                return MemoryVerdict(known, candidate.verdict, reason)
        with translate_errors(MemoryRetrievalError, "looking up a memory"):
            row = await self._core.read(lambda db: queries.row_by_id(db, known))
            if row is None:
                return await self._core.read(lambda db: _without_row(db, known))
        verdict, reason = (
            self._foreign(request, row)
            or await self._withdrawn(request, row)
            or _elsewhere(request, row)
            or (Verdict.NOT_RELEVANT, _not_found(explanation))
        )
        return MemoryVerdict(row.id, verdict, reason)

    def _former_where(
        self, request: InjectionRequest, keys: Sequence[str], newest: Sequence[str]
    ) -> WhereClause:
        """What isn't live, and what a digest replaces with a newer fact."""
        ended, values = self._core.ages.ended(self._now)
        where = WhereClause()
        where.add(
            f"(m.deleted_at IS NOT NULL OR m.archived_at IS NOT NULL OR {ended} OR ("
            "list_contains(?::VARCHAR[], m.fact_key) AND list_contains(?::VARCHAR[], m.category) "
            "AND NOT list_contains(?::VARCHAR[], m.id::VARCHAR)))",
            *values,
            list(keys),
            sorted(FACT_CATEGORIES),
            list(newest),
        )
        shared = self._injection.gives_shared(request)
        where.add("(m.agent_id = ? OR (m.shared AND ?))", request.agent_id, shared)
        queries.add_visibility(where, request.visibility)
        return where

    async def _on_replaced(self, memory_id: str) -> str:
        found = await self._core.read(
            lambda db: facts.stands_on_replaced(db, [memory_id]),
            action="looking up what a memory stands on",
        )
        at = found.get(memory_id)
        return f"; stands on a fact that was replaced on {_day(at)}" if at else ""

    @property
    def _now(self) -> datetime:
        return naive_utc(self._core.clock.now())

    async def _former(self, request: InjectionRequest, row: StoredMemory) -> Candidate:
        why = await self._withdrawn(request, row)
        verdict, reason = why or (Verdict.SUPERSEDED, "a newer fact of the same key is given")
        return Candidate(listed(row), verdict, reason, is_shared=row.shared)

    async def _newest(
        self, request: InjectionRequest, keys: Sequence[str]
    ) -> dict[str | None, DigestItem]:
        """The newest live fact of each key that the agent sees."""
        if not keys:
            return {}
        source = LocalDigestSource(self._core, request.visibility)
        return {fact.fact_key: fact for fact in await source.facts(request.agent_id, keys)}

    def _foreign(self, request: InjectionRequest, row: StoredMemory) -> Why | None:
        if row.agent_id == request.agent_id:
            return None
        owner = safe_text(row.agent_id)
        if not row.shared:
            return Verdict.FOREIGN, f"a private memory of agent {owner}"
        if self._injection.gives_shared(request):
            return None
        reason = f"published by agent {owner}, but only the agent's own memories are asked for"
        return Verdict.FOREIGN, reason

    async def _withdrawn(self, request: InjectionRequest, row: StoredMemory) -> Why | None:
        """Why a memory isn't given any more; ``None`` for one that is live and not replaced."""
        if row.deleted_at is None and not row.is_archived:
            ends = self._core.ages.end_of(
                row.agent_id, row.category, row.created_at, row.expires_at
            )
            if ends is not None and ends <= self._now:
                return Verdict.EXPIRED, f"expired on {_day(ends)}"
        if row.deleted_at is None:
            return await self._core.read(
                lambda db: _replaced(db, row, self._now),
                action="looking up what replaced a memory",
            )
        fact = await self._newer_fact(request, row)
        return await self._core.read(
            lambda db: _deleted(db, row, fact), action="reading the history"
        )

    async def _newer_fact(self, request: InjectionRequest, row: StoredMemory) -> DigestItem | None:
        """The fact that is given in place of a deleted memory."""
        if row.agent_id != request.agent_id or row.category not in FACT_CATEGORIES:
            return None
        if row.fact_key is None:
            return None
        newest = (await self._newest(request, [row.fact_key])).get(row.fact_key)
        if newest is None or newest.entry.id == row.id:
            return None
        return newest if naive_utc(newest.entry.created_at) >= row.created_at else None


def _terms(query: str) -> list[str]:
    """Beginnings of the query's words that other forms of them share, each after a blank."""
    stems = dict.fromkeys(_TOKENIZER.stems(query[:MAX_QUERY]))
    return list(dict.fromkeys(map(_beginning, stems)))[:MAX_TERMS]


def _beginning(stem: str) -> str:
    if len(stem) < 3:
        return f" {stem} "
    if stem.endswith("i"):  # "tri" is the stem of "try", "directori" that of "directory"
        return f" {stem[:-1]}y" if len(stem) == 3 else f" {stem[:-1]}"
    return f" {stem}"


def _fitting(db: Connection, where: WhereClause, terms: Sequence[str]) -> list[StoredMemory]:
    """The rows in whose text more than half of the terms begin a word, those with most first.

    The database finds those that hold the terms anywhere, which it does quickly and in little room.
    """
    found = " + ".join("contains(lower(m.content), ?)::INT" for _ in terms)
    rows = db.execute(
        # Materialized: else the sort counts again.
        f"WITH counted AS MATERIALIZED (SELECT m.id, {found} AS words, "
        "coalesce(m.deleted_at, m.archived_at, m.expires_at, m.created_at) AS left_at "
        f"FROM memories m WHERE {where}) "
        "SELECT id::VARCHAR FROM counted WHERE 2 * words > ? "
        f"ORDER BY words DESC, left_at DESC, id LIMIT {_MAX_NEAR}",
        [*map(str.strip, terms), *where.values, len(terms)],
    ).fetchall()
    near = queries.in_order(db, WhereClause(), [row[0] for row in rows], STORED)
    counts = {row.id: _count(terms, row.content) for row in near}
    fitting = [row for row in near if 2 * counts[row.id] > len(terms)]
    return sorted(fitting, key=lambda row: -counts[row.id])[:MAX_FORMER]


def _count(terms: Sequence[str], content: str) -> int:
    text = f" {_BETWEEN.sub(' ', content.lower())} "
    return sum(term in text for term in terms)


def _without_row(db: Connection, id_start: str) -> MemoryVerdict:
    """The verdict on an id of which there is no memory."""
    found = db.execute(
        "SELECT memory_id::VARCHAR, purged_at FROM tombstones "
        "WHERE starts_with(memory_id::VARCHAR, ?) ORDER BY purged_at DESC LIMIT 1",
        [id_start.lower()],
    ).fetchone()
    if not id_start or found is None:
        return MemoryVerdict(id_start, Verdict.UNKNOWN, "no memory has this id")
    memory_id, purged_at = found
    who = _last_actor(queries.history_of(db, memory_id), ChangeKind.PURGED)
    return MemoryVerdict(
        memory_id, Verdict.PURGED, f"erased for good{_by(who)} on {_day(purged_at)}"
    )


def _replaced(db: Connection, row: StoredMemory, now: datetime) -> Why | None:
    """Why a memory that isn't deleted isn't given: archived, or a fact that holds no more."""
    if row.archived_at is not None:
        return _archived(db, row)
    former = facts.held(db, [row.id], now)
    if row.id not in former:
        return None
    holder = former[row.id]
    if holder is not None:
        named = f"{safe_text(holder.fact_key or '')} ({_short(holder.id)})"
        day = _day(facts.begins(holder))
        return Verdict.SUPERSEDED, f"replaced by the newer fact {named} on {day}"
    if row.valid_to is not None and row.valid_to <= now:
        return Verdict.EXPIRED, f"true until {_day(row.valid_to)}"
    return Verdict.NOT_RELEVANT, f"true from {_day(row.valid_from)} on"


_ARCHIVED_BY: Final = {
    ArchiveReason.SUPERSEDED: "replaced by the newer",
    ArchiveReason.DUPLICATE: "a duplicate of",
    ArchiveReason.CONSOLIDATED: "consolidated into",
}


def _archived(db: Connection, row: StoredMemory) -> Why:
    """Why a memory was archived, with what stands in its place."""
    why, day = ArchiveReason(row.archived_why or ArchiveReason.BY_HAND), _day(row.archived_at)
    if why is ArchiveReason.EXPIRED:
        return Verdict.EXPIRED, f"expired on {_day(row.expires_at or row.archived_at)}"
    if why not in _ARCHIVED_BY:
        return Verdict.DELETED, f"archived on {day}"
    words, ends = _ARCHIVED_BY[why], stands_for(db, row.id, why)
    others = sorted(queries.rows_by_id(db, ends).values(), key=facts.begins)
    if not others:
        return Verdict.SUPERSEDED, f"archived on {day}: {why.value}"
    if why is ArchiveReason.SUPERSEDED:
        words += f" fact {safe_text(row.fact_key)}" if row.fact_key else " statement"
        day = day if row.fact_key else _day(row.valid_to or row.archived_at)
    return Verdict.SUPERSEDED, f"{words} ({_short(others[-1].id)}) on {day}"


def _deleted(db: Connection, row: StoredMemory, fact: DigestItem | None) -> Why:
    who = _last_actor(queries.history_of(db, row.id), ChangeKind.DELETED)
    when = _day(row.deleted_at)
    skill = _replacing_skill(db, row, who)
    if skill is not None:
        name = safe_text(truncate(_PART.sub("", skill.content.partition("\n")[0]), _MAX_NAME))
        reason = f'replaced by the skill "{name}" ({_short(skill.id)}), approved'
        return Verdict.SUPERSEDED, f"{reason}{_by(who)} on {when}"
    deleted = f"deleted{_by(who)} on {when}"
    if fact is None:
        return Verdict.DELETED, deleted
    return Verdict.SUPERSEDED, f"{_by_fact(fact)}; {deleted}"


def _replacing_skill(db: Connection, row: StoredMemory, who: str) -> StoredMemory | None:
    """The skill's memory that the decision which deleted this one has stored.

    Both are changes of one transaction, which gives all its changes the same time.
    """
    found = db.execute(
        "SELECT m.id::VARCHAR FROM history h JOIN memories m ON m.id = h.memory_id "
        "WHERE h.kind = ? AND h.changed_at = ? AND h.actor = ? AND m.category = ? "
        "AND m.id <> ?::UUID ORDER BY m.agent_id <> ?, h.revision LIMIT 1",
        [
            ChangeKind.ADDED.value,
            row.deleted_at,
            who,
            MemoryCategory.PROCEDURAL.value,
            row.id,
            row.agent_id,
        ],
    ).fetchone()
    return queries.row_by_id(db, found[0]) if found else None


def _last_actor(history: Iterable[queries.HistoryRow], kind: ChangeKind) -> str:
    return next((who for _, _, _, who, what, _, _ in history if what == kind.value), "")


def _elsewhere(request: InjectionRequest, row: StoredMemory) -> Why | None:
    view = request.visibility
    if view is None:
        return None
    if row.level == MemoryLevel.PROJECT.value and row.project not in (None, *view.projects):
        place, asked = f"project {row.project}", view.project or "no project"
    elif row.level == MemoryLevel.SESSION.value and row.session_id not in (None, view.session_id):
        place, asked = f"session {row.session_id}", view.session_id or "no session"
    else:
        return None
    return Verdict.ELSEWHERE, safe_text(f"belongs to {place}; asked from {asked}")


def _not_found(explanation: Explanation) -> str:
    if not explanation.candidates and explanation.degraded:
        return f"no memory was looked for: {explanation.degraded}"
    return f"not found for this query by the strategy {explanation.strategy}"


def _by_fact(fact: DigestItem) -> str:
    return safe_text(f"replaced by the newer fact {fact.fact_key} ({_short(fact.entry.id)})")


def _by(who: str) -> str:
    return f" by {safe_text(actor_words(who))}" if who else ""


def _short(memory_id: str) -> str:
    return f"memory {memory_id[:8]}"


def _day(moment: datetime | None) -> str:
    return "an unknown day" if moment is None else moment.replace(tzinfo=UTC).date().isoformat()
