"""Which of several statements of one thing holds: what ``facts`` decides, without a key.

A statement is what a person said, a note, or the subject of a commit. The last word holds: what an
older one says is archived, and what tells of more than that is given with the sentence left out.
Only statements of one agent, project and place are compared. An agent's never replaces what a
person said, and what was read in a session never what a person wrote here: both are given, marked,
until a person decides. Where a person said that both hold, they are never compared again.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.claims import (
    MAX_STATEMENT,
    Relation,
    lost_by,
    relation,
    sentences,
    subject_of,
)
from synthorg_tui.memory.enums import ArchiveReason, EdgeKind
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges, edges_of, remove_edges
from synthorg_tui.memory.store.facts import Succession, by_persons
from synthorg_tui.memory.store.rows import STORED, StoredMemory
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

STATING: Final = (MemoryCategory.SEMANTIC, MemoryCategory.SOCIAL, MemoryCategory.WORKING)
"""Categories of what states something; lessons and skills are none, and no statement ends them."""
ACTOR: Final = "statements"
"""Who lets a statement hold again in the history: no person, whose acts can be undone."""
MAX_COMPARED: Final = 2_000
"""Statements of a place that a new one is compared with: the newest."""
_IS_STATEMENT: Final = (
    f"m.fact_key IS NULL AND length(m.content) <= {MAX_STATEMENT} AND (m.tags[1] = 'commit' OR "
    f"(m.category IN ({', '.join(repr(each.value) for each in STATING)}) "
    "AND coalesce(m.tags[1], '') NOT IN ('knowledge', 'refused')))"
)
_COMPARED: Final = "statements_compared"
"""Name of the fact that the statements of an earlier version were compared with one another."""
_QUOTES: Final = re.compile(r"[\u201c\u201d\n]|\s\u2192\s")


class _StatementPair(NamedTuple):
    """Two statements of one thing, and the edge that follows from them."""

    newer: StoredMemory
    older: StoredMemory
    kind: EdgeKind


def is_statement(row: StoredMemory) -> bool:
    """Return whether a row is compared with others by its text."""
    if row.fact_key is not None or len(row.content) > MAX_STATEMENT:
        return False
    first = row.tags[0] if row.tags else ""
    return first == "commit" or (row.category in STATING and first not in ("knowledge", "refused"))


def succession(db: Connection, rows: Iterable[StoredMemory], now: datetime) -> Succession:
    """Return what follows from these statements, as they are in the database now.

    A time ahead of the clock counts as the time of writing.
    """
    asked = [row for row in rows if is_statement(row)]
    places = {place: list(own) for place, own in groupby(sorted(asked, key=_place), key=_place)}
    pairs = [pair for own in places.values() for pair in _pairs(db, own)]
    replaced: dict[str, tuple[StoredMemory, StoredMemory]] = {}
    ends: dict[str, datetime] = {}
    for newer, older, kind in pairs:
        if kind is EdgeKind.SUPERSEDES and _is_one(older):
            if older.is_live(now):
                replaced[older.id] = (older, newer)
            known = (ends.get(older.id), older.valid_to, _since(newer))
            ends[older.id] = min(end for end in known if end is not None)
    noted = tuple(
        MemoryEdge(newer.id, older.id, kind)
        for newer, older, kind in pairs
        if older.is_live(now) and not replaced.keys() & {newer.id, older.id}
    )
    return Succession(tuple(replaced.values()), ends, noted)


def uncompared(db: Connection) -> list[str]:
    """Return once, of a store, its newest live statements, which an earlier version wrote."""
    if db.execute("SELECT 1 FROM meta WHERE name = ?", [_COMPARED]).fetchone():
        return []
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, 'yes')", [_COMPARED])
    found = db.execute(
        f"SELECT m.id::VARCHAR FROM memories m WHERE {queries.LIVE} AND {_IS_STATEMENT} "
        "ORDER BY m.created_at DESC LIMIT ?",
        [MAX_COMPARED],
    ).fetchall()
    return [key for (key,) in found]


def released(db: Connection, ids: Sequence[str]) -> list[StoredMemory]:
    """Return the statements that these replaced, now without an end, and forget that they did."""
    edges = [edge for edge in edges_of(db, ids, [EdgeKind.SUPERSEDES]) if edge.from_id in ids]
    rows = queries.rows_by_id(db, [edge.to_id for edge in edges]) if edges else {}
    former = [row for row in rows.values() if is_statement(row)]
    remove_edges(db, [edge for edge in edges if edge.to_id in {row.id for row in former}])
    archived = [row for row in former if row.archived_why == ArchiveReason.SUPERSEDED]
    if archived:
        db.execute(
            "UPDATE memories SET valid_to = NULL WHERE id IN (SELECT unnest(?::UUID[]))",
            [[row.id for row in archived]],
        )
    return [row._replace(valid_to=None) for row in archived if row.deleted_at is None]


def beside(db: Connection, rows: Iterable[StoredMemory]) -> list[MemoryEdge]:
    """Return edges by which these statements are never again compared with what replaced them."""
    ids = [row.id for row in rows if is_statement(row) and row.is_archived]
    edges = edges_of(db, ids, [EdgeKind.SUPERSEDES]) if ids else ()
    return [edge._replace(kind=EdgeKind.BESIDE) for edge in edges if edge.to_id in ids]


def contradicting(db: Connection) -> list[tuple[StoredMemory, StoredMemory]]:
    """Return the pairs of live memories of which one contradicts the other, newest first."""
    found = db.execute(
        "SELECT from_id::VARCHAR, to_id::VARCHAR FROM memory_edges WHERE kind = ?",
        [EdgeKind.CONTRADICTS.value],
    ).fetchall()
    rows = queries.rows_by_id(db, [key for pair in found for key in pair])
    pairs = [(rows[one], rows[other]) for one, other in found if one in rows and other in rows]
    live = [pair for pair in pairs if all(row.is_current for row in pair)]
    return sorted(live, key=lambda pair: (pair[0].created_at, pair[0].id), reverse=True)


def hold_both(
    db: Connection, ids: Sequence[str], *, at: datetime, by: str, undone: bool = False
) -> None:
    """Note that a person said that these two memories hold, or with ``undone`` took it back."""
    told, before = EdgeKind.BESIDE, EdgeKind.CONTRADICTS
    told, before = (before, told) if undone else (told, before)
    edges = edges_of(db, queries.known_ids(ids), [before])
    found = [edge for edge in edges if {*edge[:2]} == {*ids}]
    remove_edges(db, found)
    add_edges(
        db,
        [edge._replace(kind=told) for edge in found],
        made_at=naive_utc(at),
        made_by=by,
    )


def as_given(
    db: Connection, rows: Sequence[ListedMemory | StoredMemory], at: datetime | None = None
) -> dict[str, str]:
    """Return the texts of those memories that agents are given other than as they are.

    Sentences that a newer statement replaced (until ``at``, naive UTC) are left out, and what
    contradicts another live statement says so.
    """
    texts = {row.id: row.content for row in rows}
    places = sorted({row.project or "" for row in rows})
    found = db.execute(
        "SELECT coalesce(o.project, ''), o.agent_id, o.content, n.content, "
        "coalesce(o.valid_to, least(n.created_at, n.recorded_at)) AS ended "
        "FROM memory_edges e JOIN memories o ON o.id = e.to_id JOIN memories n ON n.id = e.from_id "
        "WHERE e.kind = ? AND o.fact_key IS NULL AND o.deleted_at IS NULL AND n.deleted_at IS NULL "
        "AND (o.archived_at IS NULL OR o.archived_why = ?) AND ended <= coalesce(?, ended) "
        "AND list_contains(?::VARCHAR[], coalesce(o.project, ''))",
        [EdgeKind.SUPERSEDES.value, ArchiveReason.SUPERSEDED.value, at, places],
    ).fetchall()
    for project, agent, older, newer, end in found:
        for row in rows:
            is_here = (row.project or "", row.agent_id) == (project, agent)
            if is_here and _naive(row.created_at) < end:
                texts[row.id] = _without(texts[row.id], older, newer, f"{end:%Y-%m-%d}")
    for key, others in groupby(_contradicted(db, list(texts)), key=lambda found: found[0]):
        named = ", ".join(f"{other[:8]} of {day:%Y-%m-%d}" for _, other, day in others)
        texts[key] = f"(contradicts {named}) {texts[key]}"
    return {row.id: texts[row.id] for row in rows if texts[row.id] != row.content}


def _naive(moment: datetime) -> datetime:
    return naive_utc(moment) if moment.tzinfo else moment


def _contradicted(db: Connection, ids: Sequence[str]) -> list[tuple[str, str, datetime]]:
    """Return which of these memories contradict a live one, with its id and time."""
    return db.execute(
        "SELECT m.id::VARCHAR, o.id::VARCHAR, o.created_at FROM memory_edges e "
        "JOIN memories m ON m.id IN (e.from_id, e.to_id) "
        "JOIN memories o ON o.id IN (e.from_id, e.to_id) AND o.id <> m.id "
        f"WHERE e.kind = ? AND {queries.LIVE} AND o.deleted_at IS NULL AND o.archived_at IS NULL "
        "AND m.id IN (SELECT unnest(?::UUID[])) ORDER BY 1, 3, 2",
        [EdgeKind.CONTRADICTS.value, queries.known_ids(ids)],
    ).fetchall()


def _without(text: str, older: str, newer: str, day: str) -> str:
    """The text with what the newer statement replaced marked instead of told."""
    mark, lost = f"(until {day}, replaced)", lost_by(newer, older)
    told = sentences(older)
    for said in told:
        if len(told) == 1 or relation(newer, said) is Relation.SUPERSEDES:
            bare = re.escape(said.partition(": ")[2] or said)
            text = re.sub(bare, lambda _: mark, text, flags=re.IGNORECASE)
    if not any(word in text.casefold() for word in lost):
        return text
    for sentence in (each for part in _QUOTES.split(text) for each in sentences(part)):
        if any(word in sentence.casefold() for word in lost) and (
            relation(newer, sentence) is Relation.SUPERSEDES
        ):
            text = text.replace(sentence, mark)
    return text


def _place(row: StoredMemory) -> tuple[str, ...]:
    """Where a statement holds: those of another agent, project or session are never compared."""
    session = row.session_id if row.level == MemoryLevel.SESSION else None
    place: tuple[Hashable, ...] = (row.agent_id, row.shared, row.namespace, row.project, session)
    return tuple(str(each or "") for each in place)


def _pairs(db: Connection, own: Sequence[StoredMemory]) -> Iterator[_StatementPair]:
    """Return the pairs that new statements of one place make with those that are there."""
    new = {row.id: row for row in own}
    others = _others(db, own)
    by_word: dict[str, list[StoredMemory]] = {}
    for row in others:
        for word in subject_of(_text(row)):
            by_word.setdefault(word, []).append(row)
    edges = edges_of(db, [row.id for row in (*own, *others)], [EdgeKind.BESIDE])
    apart = {frozenset(edge[:2]) for edge in edges}
    said = by_persons(db, [*own, *others])
    for row in own:
        alike = {each.id: each for word in subject_of(_text(row)) for each in by_word.get(word, ())}
        for other in alike.values():
            is_twice = other.id in new and other.id < row.id
            if other.id == row.id or is_twice or frozenset((row.id, other.id)) in apart:
                continue
            older, newer = sorted((row, other), key=_age)
            found = relation(_text(newer), _text(older))
            if found is not None and newer.archived_at is None:
                may = found is Relation.SUPERSEDES and _weight(newer, said) >= _weight(older, said)
                yield _StatementPair(
                    newer, older, EdgeKind.SUPERSEDES if may else EdgeKind.CONTRADICTS
                )


def _others(db: Connection, own: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Statements of the place that share a word with a new one, the newest ``MAX_COMPARED``."""
    row = own[0]
    words = {word for each in own for word in subject_of(_text(each))}
    where = queries.WhereClause(_IS_STATEMENT, "m.deleted_at IS NULL")
    where.add("(m.archived_at IS NULL OR m.archived_why = ?)", ArchiveReason.SUPERSEDED.value)
    where.add("m.agent_id = ? AND m.shared = ?", row.agent_id, row.shared)
    where.add("m.namespace = ? AND m.project IS NOT DISTINCT FROM ?", row.namespace, row.project)
    starts = {re.escape(word.removesuffix("i")) for word in words}
    where.add("regexp_matches(lower(m.content), ?)", "|".join(sorted(starts)) or "^$")
    found = queries.listing(db, where, STORED, order=queries.ORDERS["newest"], limit=MAX_COMPARED)
    return [each for each in found if _place(each) == _place(row)]


def _weight(row: StoredMemory, said: frozenset[str]) -> int:
    """Whose word a statement is: an agent's, a person's in a session, a person's written here."""
    return 2 if row.id in said else int(row.tags[:1] == (MemoryKind.SAID.value,))


def _is_one(row: StoredMemory) -> bool:
    """Whether a memory states one thing only, so that another may take its place."""
    return len(sentences(row.content)) <= 1 + _is_commit(row)


def _is_commit(row: StoredMemory) -> bool:
    return row.tags[:1] == (MemoryKind.COMMIT.value,)


def _text(row: StoredMemory) -> str:
    """What a memory states: of a commit its subject."""
    return row.content.partition("\n")[0] if _is_commit(row) else row.content


def _since(row: StoredMemory) -> datetime:
    return min(row.created_at, row.recorded_at or row.created_at)


def _age(row: StoredMemory) -> tuple[datetime, datetime, int]:
    return (_since(row), row.recorded_at or row.created_at, row.revision)
