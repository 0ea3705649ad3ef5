"""A person's own changes of memories, undone and redone in order, and older versions restored.

Acts are read from the history, so that they can be undone after a restart too. Only changes made by
a person are undone here, none made by agents, imports or settings. A change that was overwritten
since, or that a purge erased, is skipped, and so are the changes of a decision: they are undone
with the decision, which would stand otherwise.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from synthorg_tui.core.actors import PERSON_SUFFIXES
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.errors import MemoryNotFoundError, MemoryStoreError
from synthorg_tui.memory.listing import ChangeKind, UndoneAct
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.queries import history_of, rows_by_id
from synthorg_tui.memory.store.rows import (
    StoredMemory,
    content_hash,
    history_fields,
    true_times,
    with_state,
    with_tags,
    with_true_times,
)
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence.port import Connection
from synthorg_tui.providers.embedding.protocol import Vectors

MayEdit = Callable[[Connection, str], None]

MAX_LOOKED_AT: Final = 200
"""Acts that are looked through for one that can still be undone, newest first."""
_IS_PERSONS: Final = " OR ".join(f"ends_with(actor, '{end}')" for end in PERSON_SUFFIXES)
_ACTS: Final = f"""
    WITH acts AS (
        SELECT max(revision) AS number, kind, changed_at, list(revision) AS revisions
        FROM history WHERE ({_IS_PERSONS}) AND kind <> 'purged' GROUP BY kind, changed_at, actor
    ), steps AS (
        SELECT act, arg_max(undoes, revision) AS is_undone, max(revision) AS stepped
        FROM undo_steps GROUP BY act
    )
    SELECT a.number, a.kind, a.changed_at, a.revisions,
        coalesce(s.is_undone, false) AS is_undone, coalesce(s.stepped, 0) AS stepped
    FROM acts a LEFT JOIN steps s ON s.act = a.number
    WHERE a.number NOT IN (SELECT revision FROM undo_steps)
"""
_TO_UNDO: Final = f"SELECT * FROM ({_ACTS}) WHERE NOT is_undone ORDER BY number DESC LIMIT ?"
_TO_REDO: Final = f"""
    WITH all_acts AS ({_ACTS}) SELECT * FROM all_acts
    WHERE is_undone AND stepped > (SELECT max(number) FROM all_acts)
    ORDER BY stepped DESC LIMIT ?
"""
_IS_DECISIONS: Final = """
    SELECT 1 FROM history h
    JOIN operations o ON o.actor = h.actor AND contains(o.effects, h.memory_id::VARCHAR)
    WHERE h.revision = ? AND h.revision = CASE WHEN o.kind = 'undone'
        THEN (SELECT min(revision) FROM history
            WHERE memory_id = h.memory_id AND changed_at >= o.happened_at)
        ELSE (SELECT max(revision) FROM history
            WHERE memory_id = h.memory_id AND changed_at <= o.happened_at) END
    LIMIT 1
"""
# Decisions are dated within their transaction, but the undoing of one before it.


class _Act(NamedTuple):
    """One change of a person, with the fields that each memory gets to undo or redo it."""

    number: int
    kind: ChangeKind
    at: datetime
    targets: tuple[tuple[str, dict[str, Any]], ...]


class PersonActs:
    """Undoes and redoes what persons did to memories; ``may_edit`` is as in ``StoreAdmin``."""

    def __init__(self, core: Core, may_edit: MayEdit) -> None:
        self._core = core
        self._may_edit = may_edit

    async def step(self, *, undoes: bool, actor: str) -> UndoneAct | None:
        """Undo the last act, or redo the last one undone; ``None`` when there is none."""
        act = await self._core.read(lambda db: self._next(db, undoes))
        if act is None:
            return None
        texts = {fields["content"] for _, fields in act.targets if "content" in fields}
        vectors = dict(zip(texts, await self._core.embed(list(texts)), strict=True))

        def work(changes: Changes) -> UndoneAct:
            if self._next(changes.db, undoes) != act:
                raise MemoryStoreError("something else changed just now", remedy="Try again.")
            rows = self._carry_out(changes, act, undoes, vectors, actor)
            changes.db.execute(
                "INSERT INTO undo_steps VALUES (?, ?, ?)", [changes.revision, act.number, undoes]
            )
            first = next(iter(rows.values())).content
            return UndoneAct(act.kind, tuple(rows), act.at, first.partition("\n")[0])

        return await self._core.change(work)

    async def restore_version(self, memory_id: str, revision: int, *, actor: str) -> StoredMemory:
        """Give a memory its text, tags and other fields as of a revision, as a new revision."""
        fields = await self._core.read(lambda db: _as_of(db, memory_id, revision))
        (vector,) = await self._core.embed([str(fields["content"])])

        def work(changes: Changes) -> StoredMemory:
            before = rows_by_id(changes.db, [memory_id]).get(memory_id)
            if before is None or not before.is_current:
                raise MemoryNotFoundError(f"there is no memory {memory_id}")
            self._may_edit(changes.db, memory_id)
            after = _with(before, fields, self._core.salt)
            if after == before:
                return before
            return changes.edit(before, after._replace(edited=True), vector, actor=actor)

        return await self._core.change(work)

    def _next(self, db: Connection, undoes: bool) -> _Act | None:
        rows = db.execute(_TO_UNDO if undoes else _TO_REDO, [MAX_LOOKED_AT]).fetchall()
        for number, kind, at, revisions, *_ in rows:
            if db.execute(_IS_DECISIONS, [number]).fetchone():
                continue
            targets = self._targets(db, ChangeKind(kind), revisions, undoes)
            if targets:
                return _Act(number, ChangeKind(kind), at.replace(tzinfo=UTC), targets)
        return None

    def _targets(
        self, db: Connection, kind: ChangeKind, revisions: Sequence[int], undoes: bool
    ) -> tuple[tuple[str, dict[str, Any]], ...]:
        """The memories that the act can still be undone for, with the fields they get."""
        changed = db.execute(
            "SELECT memory_id::VARCHAR, fields_before, fields_after FROM history "
            "WHERE revision IN (SELECT unnest(?::BIGINT[])) ORDER BY revision",
            [list(revisions)],
        ).fetchall()
        rows = rows_by_id(db, [memory_id for memory_id, _, _ in changed])
        found = []
        for memory_id, before, after in changed:
            row = rows.get(memory_id)
            if row is None or not self._is_own(db, memory_id):
                continue
            old, new = json.loads(before), json.loads(after)
            present, wanted = (new, old) if undoes else (old, new)
            if kind is not ChangeKind.EDITED:
                if _can_step(row, kind, present, undoes):
                    is_told = kind in (ChangeKind.ARCHIVED, ChangeKind.RESTORED)
                    found.append((memory_id, wanted if is_told else {}))
                continue
            if wanted and row.is_current and _has(row, present):
                found.append((memory_id, wanted))
        return tuple(found)

    def _is_own(self, db: Connection, memory_id: str) -> bool:
        """Whether it is changed here; the memory of a skill is, by a decision, elsewhere."""
        try:
            self._may_edit(db, memory_id)
        except DomainError:
            return False
        return True

    def _carry_out(
        self,
        changes: Changes,
        act: _Act,
        undoes: bool,
        vectors: dict[str, Vectors | None],
        actor: str,
    ) -> dict[str, StoredMemory]:
        rows = rows_by_id(changes.db, [memory_id for memory_id, _ in act.targets])
        if act.kind is ChangeKind.EDITED:
            for memory_id, fields in act.targets:
                after = _with(rows[memory_id], fields, self._core.salt)._replace(edited=True)
                vector = vectors.get(after.content)
                changes.edit(rows[memory_id], after, vector, actor=actor)
            return rows
        _put_back(changes, [(rows[key], fields) for key, fields in act.targets if fields], actor)
        plain = [rows[memory_id] for memory_id, fields in act.targets if not fields]
        if (act.kind is ChangeKind.DELETED) == undoes:
            _undelete(changes, plain, actor)
        else:
            changes.remove([row.id for row in plain], actor=actor)
        return rows


def _can_step(row: StoredMemory, kind: ChangeKind, present: dict[str, Any], undoes: bool) -> bool:
    """Whether a memory still is in the state that an act left it in, or found it in."""
    if kind in (ChangeKind.ADDED, ChangeKind.DELETED):
        if (kind is ChangeKind.DELETED) == undoes:
            return row.deleted_at is not None
        return row.is_current if kind is ChangeKind.ADDED else row.deleted_at is None
    if (kind is ChangeKind.RESTORED) == undoes:
        return row.is_current
    return with_state(row, present) == row if present else row.deleted_at is not None


def _put_back(
    changes: Changes, targets: Sequence[tuple[StoredMemory, dict[str, Any]]], actor: str
) -> None:
    """Give memories the states that the history recorded."""
    for row, fields in targets:
        after = with_state(row, fields)
        if after.deleted_at is not None:
            kind = ChangeKind.DELETED
        elif after.archived_at is not None:
            kind = ChangeKind.ARCHIVED
        else:
            kind = ChangeKind.EDITED if row.is_current else ChangeKind.RESTORED
        changes.set_states([(row, after)], kind, actor=actor)


def _undelete(changes: Changes, rows: Sequence[StoredMemory], actor: str) -> None:
    """Undo deletions; what was deleted from the archive is there again."""
    archived = [row for row in rows if row.archived_at is not None]
    back = [(row, row._replace(deleted_at=None)) for row in archived]
    changes.set_states(back, ChangeKind.ARCHIVED, actor=actor)
    changes.restore([row.id for row in rows if row.archived_at is None], actor=actor)


def _as_of(db: Connection, memory_id: str, revision: int) -> dict[str, Any]:
    """The recorded fields as of a revision: those that were first, with each change up to it."""
    history = [row for row in reversed(history_of(db, memory_id)) if row[0] <= revision]
    if not history or history[-1][0] != revision:
        raise MemoryNotFoundError(
            f"memory {memory_id} has no version {revision}",
            remedy="See `synthorg-tui memories history`.",
        )
    fields: dict[str, Any] = {}
    for _, _, _, _, _, _, after in history:
        fields |= json.loads(after)
    if "content" not in fields:
        raise MemoryStoreError(f"the text of version {revision} was erased")
    return fields


def _has(row: StoredMemory, fields: dict[str, Any]) -> bool:
    present = history_fields(row) | true_times(row)
    return all(present.get(name) == value for name, value in fields.items())


def _with(row: StoredMemory, fields: dict[str, Any], salt: str) -> StoredMemory:
    """The row with recorded fields; what follows from them is worked out anew."""
    given = {name: value for name, value in fields.items() if name in history_fields(row)}
    tags = given.pop("tags", list(row.tags))
    after = with_true_times(with_tags(row._replace(**given), tags), fields)
    return after._replace(content_hash=content_hash(after.content, salt))
