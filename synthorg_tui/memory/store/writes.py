"""One transaction's changes to the memories: rows, vectors, history, tombstones, revisions.

Every change of a memory goes through ``Changes``, which gives it a revision and an entry in the
history. What may be stored is decided before, in ``writer``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from synthorg_tui.memory.enums import ArchiveReason, EdgeKind
from synthorg_tui.memory.listing import ChangeKind
from synthorg_tui.memory.org import log as org_log
from synthorg_tui.memory.store import edges, facts, plans, statements
from synthorg_tui.memory.store.edges import MemoryEdge
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.queries import (
    HALF_ARCHIVED,
    HAS_PURGED,
    LEAST_REVISION,
    REDACTED,
    column,
    contents_by_id,
    known_ids,
    rows_by_id,
)
from synthorg_tui.memory.store.rows import (
    COLUMNS,
    STATE_FIELDS,
    StoredMemory,
    content_hash,
    history_fields,
    state_changes,
    to_json,
    true_times,
    with_tags,
)
from synthorg_tui.persistence.call_log import erase_from_calls
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import insert
from synthorg_tui.providers.embedding.protocol import Vectors

_MEMORY_TYPES = {
    "id": "UUID",
    "revision": "BIGINT",
    "shared": "BOOLEAN",
    "edited": "BOOLEAN",
    "confidence": "DOUBLE",
    "tags": "VARCHAR[]",
    "created_at": "TIMESTAMP",
    "updated_at": "TIMESTAMP",
    "expires_at": "TIMESTAMP",
    "deleted_at": "TIMESTAMP",
    "valid_from": "TIMESTAMP",
    "valid_to": "TIMESTAMP",
    "recorded_at": "TIMESTAMP",
    "archived_at": "TIMESTAMP",
}
_COLUMN_TYPES = {
    "memories": tuple(_MEMORY_TYPES.get(name, "VARCHAR") for name in COLUMNS),
    "vectors": ("UUID", "BIGINT", "VARCHAR", "BLOB"),
    "history": ("BIGINT", "UUID", "TIMESTAMP", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"),
    "tombstones": ("UUID", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "TIMESTAMP"),
}


@dataclass(slots=True)
class Changes:
    """Writer of one transaction's changes to memories.

    ``revision`` is the last revision number assigned; each change increments it. ``points``
    collects memories whose row and vector are known here; ``touched`` collects ids that the index
    has to look up in the database. ``ages`` say what has expired.
    """

    db: Connection
    revision: int
    now: datetime
    fingerprint: str
    ages: AgeRules
    points: list[tuple[StoredMemory, Vectors | None]] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    unembedded: bool = False
    has_purged: bool = False
    _history: list[tuple[int, str, datetime, str, str, str, str]] = field(default_factory=list)

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been changed yet, so that the database is as it was committed."""
        return not (self._history or self.touched)

    def add(self, rows: Sequence[tuple[StoredMemory, Vectors | None]], *, actor: str) -> None:
        """Insert new memories, each with its vector or ``None``."""
        if not rows:
            return
        numbered = []
        for added, vector in rows:
            row = self._changed(added, actor, ChangeKind.ADDED, None, history_fields(added))
            numbered.append((row, vector))
        memories = [[_plain(getattr(row, name)) for name in COLUMNS] for row, _ in numbered]
        self._insert("memories", memories)
        self.put_vectors([(row.id, row.revision, vector) for row, vector in numbered])
        self.points.extend(numbered)
        self._settle([row for row, _ in numbered], actor)

    def edit(
        self, before: StoredMemory, after: StoredMemory, vector: Vectors | None, *, actor: str
    ) -> StoredMemory:
        """Write a changed memory and return it with its new revision and time of change.

        ``vector`` is the vector of the new content; it is used only if the content changed.
        """
        after = after._replace(updated_at=max(self.now, after.created_at))
        old = history_fields(before) | true_times(before)
        new = history_fields(after) | true_times(after)
        changed = {name for name in new if old[name] != new[name]}
        row = self._changed(
            after,
            actor,
            ChangeKind.EDITED,
            {name: old[name] for name in old if name in changed},
            {name: new[name] for name in new if name in changed},
        )
        self._write(row)
        if before.content != after.content:
            self.db.execute("DELETE FROM vectors WHERE memory_id = ?::UUID", [row.id])
            self.put_vectors([(row.id, row.revision, vector)])
            self._release([row.id])
            doubts = edges.edges_of(self.db, [row.id], [EdgeKind.CONTRADICTS])
            edges.remove_edges(self.db, doubts)
        self.touched.append(row.id)
        self._settle([row], actor)
        return row

    def _settle(self, written: Sequence[StoredMemory], actor: str) -> None:
        """Archive what the written memories replace, or those of them that came too late."""
        for settled in (facts, statements):
            found = settled.succession(self.db, written, self.now)
            former = [row for row, _ in found.replaced]
            over = [MemoryEdge(new.id, old.id, EdgeKind.SUPERSEDES) for old, new in found.replaced]
            self._note([*over, *found.noted], actor)
            for memory_id, end in found.ends.items():
                self.db.execute(
                    "UPDATE memories SET valid_to = ?::TIMESTAMP WHERE id = ?::UUID",
                    [end, memory_id],
                )
            self.archive(former, why=ArchiveReason.SUPERSEDED, actor=actor)
            gone = {row.id for row in former}
            self.points = [(row, vector) for row, vector in self.points if row.id not in gone]

    def settle(self, ids: Sequence[str]) -> None:
        """Let the last word hold among these statements, which are live again, and others."""
        rows = rows_by_id(self.db, ids).values() if ids else ()
        self._settle([row for row in rows if statements.is_statement(row)], statements.ACTOR)

    def compare_statements(self) -> None:
        """Compare what an earlier version of the program wrote; does nothing a second time."""
        self.settle(statements.uncompared(self.db))

    def _note(self, found: Sequence[MemoryEdge], actor: str) -> None:
        edges.add_edges(self.db, found, made_at=self.now, made_by=actor)

    def _release(self, ids: Sequence[str]) -> None:
        """Let the statements hold again that these had replaced, if nothing else replaces them."""
        self._hold_again(statements.released(self.db, ids))

    def _hold_again(self, former: Sequence[StoredMemory]) -> None:
        self.mark(former, deleted=False, actor=statements.ACTOR)
        self.settle([row.id for row in former])

    def redact(self, clean: Callable[[str], str], *, salt: str, actor: str) -> int:
        """Replace what ``clean`` makes another text of in all memories; return in how many.

        The history gets an entry without fields, and loses the old text in a step of its own. A
        changed memory waits for embedding, and an import doesn't know it as unchanged any more.
        """
        ids = column(self.db, "SELECT id::VARCHAR FROM memories")
        rows = rows_by_id(self.db, ids).values()
        changed = [(row, after) for row in rows if (after := _redacted(row, clean, salt)) != row]
        for row, after in changed:
            self._write(self._changed(after, actor, ChangeKind.EDITED, {}, {}))
            self.db.execute("DELETE FROM vectors WHERE memory_id = ?::UUID", [row.id])
            self.touched.append(row.id)
        if changed:
            self.unembedded = True
            self.note_redacted()
        return len(changed)

    def remove(self, ids: Sequence[str], *, actor: str) -> list[StoredMemory]:
        """Soft-delete the live and archived memories among ``ids``; return them as before."""
        rows = [row for row in rows_by_id(self.db, ids).values() if row.deleted_at is None]
        self.mark(rows, deleted=True, actor=actor)
        self._release([row.id for row in rows])
        return rows

    def restore(self, ids: Sequence[str], *, actor: str) -> list[StoredMemory]:
        """Undo deletion, archiving or expiry of the memories among ``ids``; return them as before.

        A time of expiry that has passed is removed, and what has ended by its age gets as long
        again from now on, or they would be hidden again at once.
        """
        rows = [row for row in rows_by_id(self.db, ids).values() if self.is_hidden(row)]
        self._note(statements.beside(self.db, rows), actor)
        facts.release(self.db, rows)
        self.mark(rows, deleted=False, actor=actor)
        self.settle([row.id for row in rows])
        return rows

    def is_hidden(self, row: StoredMemory) -> bool:
        """Return whether a memory is deleted, archived or expired."""
        ends = self.ages.end_of(row.agent_id, row.category, row.created_at, row.expires_at)
        return not row.is_current or (ends is not None and ends <= self.now)

    def mark(self, rows: Sequence[StoredMemory], *, deleted: bool, actor: str) -> None:
        """Soft-delete the given memories, or make the given ones live again."""
        kind = ChangeKind.DELETED if deleted else ChangeKind.RESTORED
        after = (
            [row._replace(deleted_at=self.now) for row in rows]
            if deleted
            else [self._revived(row) for row in rows]
        )
        self.set_states(list(zip(rows, after, strict=True)), kind, actor=actor)

    def archive(
        self,
        rows: Sequence[StoredMemory],
        *,
        why: ArchiveReason,
        mode: str | None = None,
        actor: str,
    ) -> None:
        """Archive the given current memories: they stay unchanged, but are given to no agent.

        ``mode`` is the documented way their content was preserved, where a summary replaces them.
        """
        changed = [
            (
                row,
                row._replace(archived_at=self.now, archived_why=why.value, archived_mode=mode),
            )
            for row in rows
            if row.is_current
        ]
        self.set_states(changed, ChangeKind.ARCHIVED, actor=actor)

    def set_states(
        self,
        changed: Sequence[tuple[StoredMemory, StoredMemory]],
        kind: ChangeKind,
        *,
        actor: str,
    ) -> None:
        """Write the states (see ``STATE_FIELDS``) of memories, given as before and after.

        The history records the changed fields; a mere deletion is recorded by its kind alone.
        """
        if not changed:
            return
        rows = [
            self._changed(after, actor, kind, *state_changes(before, after))
            for before, after in changed
        ]
        columns = [
            [getattr(row, name) for row in rows] for name in ("id", "revision", *STATE_FIELDS)
        ]
        names = ", ".join(f"{name} = c.{name}" for name in ("revision", *STATE_FIELDS))
        types = ("UUID", "BIGINT", *(_MEMORY_TYPES.get(name, "VARCHAR") for name in STATE_FIELDS))
        lists = ", ".join(
            f"unnest(?::{kind}[]) AS {name}"
            for name, kind in zip(("id", "revision", *STATE_FIELDS), types, strict=True)
        )
        self.db.execute(
            f"UPDATE memories SET {names} FROM (SELECT {lists}) c WHERE memories.id = c.id",
            columns,
        )
        self.touched.extend(row.id for row in rows)
        # What comes back may have missed a change of the model.
        self.unembedded = self.unembedded or any(row.is_current for row in rows)

    def repair_states(self) -> None:
        """Give archived memories without a reason one, remove reasons of others, drop loose edges.

        Nothing is given to agents that wasn't before.
        """
        half = "UPDATE memories m SET archived_why = CASE WHEN m.archived_at IS NULL THEN NULL "
        self.db.execute(
            f"{half} ELSE ? END, archived_mode = CASE WHEN m.archived_at IS NULL THEN NULL "
            f"ELSE m.archived_mode END WHERE {HALF_ARCHIVED}",
            [ArchiveReason.BY_HAND.value],
        )
        self.db.execute(f"DELETE FROM memory_edges e WHERE {edges.IS_LOOSE}")

    def rebuild_facts(self) -> None:
        """Make the organisation's facts what their log comes to; the index is to be made anew."""
        _, wrong = org_log.disagreeing(self.db)
        org_log.rebuild(self.db, wrong)
        self.remove_vectors(wrong)
        self.db.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [LEAST_REVISION, str(self.revision)]
        )
        self.unembedded = True

    def remove_vectors(self, ids: Sequence[str]) -> None:
        """Delete the vectors of memories or facts."""
        listed = "(SELECT unnest(?::UUID[]))"
        self.db.execute(f"DELETE FROM vectors WHERE memory_id IN {listed}", [list(ids)])

    def _revived(self, row: StoredMemory) -> StoredMemory:
        expires = row.expires_at
        if expires is not None and expires <= self.now:
            expires = None
        ends = self.ages.end_of(row.agent_id, row.category, row.created_at, expires)
        if ends is not None and ends <= self.now:
            expires = self.now + (ends - row.created_at)
        return row._replace(
            expires_at=expires,
            deleted_at=None,
            archived_at=None,
            archived_why=None,
            archived_mode=None,
        )

    def purge(self, memory_ids: Sequence[str], *, actor: str) -> list[StoredMemory]:
        """Erase live, archived and deleted memories and return their old rows.

        A tombstone without content remains of each, so that an import can't bring it back. What
        consolidation merged of them and what was published of them goes, too; what else that stood
        for is live again.
        """
        repeated, others = plans.made_of(self.db, known_ids(memory_ids))
        published = edges.copies_published(self.db, known_ids(memory_ids), live=False).values()
        rows = list(rows_by_id(self.db, [*memory_ids, *repeated, *published]).values())
        if not rows:
            return rows
        ids = [row.id for row in rows]
        self.mark(list(rows_by_id(self.db, others).values()), deleted=False, actor=actor)
        former = [row for row in statements.released(self.db, ids) if row.id not in ids]
        listed = "(SELECT unnest(?::UUID[]))"
        self.db.execute(
            "UPDATE history SET fields_before = '{}', fields_after = '{}' "
            f"WHERE memory_id IN {listed}",
            [ids],
        )
        numbered = [self._changed(row, actor, ChangeKind.PURGED, {}, {}) for row in rows]
        erased = [
            (r.id, r.revision, r.agent_id, r.import_key, r.content_hash, self.now) for r in numbered
        ]
        self._insert("tombstones", erased)
        erase_from_calls(self.db, ids, [row.content for row in rows])
        self.db.execute(f"DELETE FROM vectors WHERE memory_id IN {listed}", [ids])
        self.db.execute(f"DELETE FROM memories WHERE id IN {listed}", [ids])
        edges.remove_all(self.db, ids)
        plans.erase_from_plans(self.db, ids)
        self.touched.extend(ids)
        self.note_erased()
        self._hold_again(former)
        return rows

    def note_redacted(self) -> None:
        """Note the same of texts that the index holds, too, up to this revision."""
        values = [REDACTED, str(self.revision)]
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        self.note_erased()

    def note_erased(self) -> None:
        """Note that this transaction erases texts, which the file holds until it is rewritten."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, 'yes')", [HAS_PURGED])
        self.has_purged = True

    def embed(self, vectors: Sequence[tuple[tuple[str, str], Vectors]]) -> int:
        """Store vectors for (id, content) pairs and return how many were stored.

        Of memories and facts. A pair of what has changed or been deleted meanwhile is skipped.
        """
        current = contents_by_id(self.db, [memory_id for (memory_id, _), _ in vectors])
        numbered = []
        for (memory_id, content), vector in vectors:
            if current.get(memory_id) == content:
                self.revision += 1
                numbered.append((memory_id, self.revision, vector))
        ids = [memory_id for memory_id, _, _ in numbered]
        self.db.execute("DELETE FROM vectors WHERE memory_id IN (SELECT unnest(?::UUID[]))", [ids])
        self.put_vectors(numbered)
        self.touched.extend(ids)
        return len(ids)

    def finish(self) -> None:
        """Write the collected history entries; must be the last step of the transaction."""
        self._insert("history", self._history)

    def _write(self, row: StoredMemory) -> None:
        names = [name for name in COLUMNS if name != "id"]
        self.db.execute(
            f"UPDATE memories SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?::UUID",
            [*(_plain(getattr(row, name)) for name in names), row.id],
        )

    def _changed(
        self,
        row: StoredMemory,
        actor: str,
        kind: ChangeKind,
        before: dict[str, object] | None,
        after: dict[str, object],
    ) -> StoredMemory:
        self.revision += 1
        texts = (to_json(before or {}), to_json(after))
        self._history.append((self.revision, row.id, self.now, actor, kind.value, *texts))
        return row._replace(revision=self.revision)

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        insert(self.db, table, _COLUMN_TYPES[table], rows)

    def put_vectors(self, vectors: Sequence[tuple[str, int, Vectors | None]]) -> None:
        """Insert vectors, each with what it is of and its revision; ``None`` waits for one."""
        known = [
            (memory_id, revision, self.fingerprint, vector.tobytes())
            for memory_id, revision, vector in vectors
            if vector is not None
        ]
        self.unembedded = self.unembedded or len(known) < len(vectors)
        self._insert("vectors", known)


def _redacted(row: StoredMemory, clean: Callable[[str], str], salt: str) -> StoredMemory:
    content, tags = clean(row.content), tuple(map(clean, row.tags))
    source = None if row.source is None else clean(row.source)
    if (content, tags, source) == (row.content, row.tags, row.source):
        return row
    digest = content_hash(content, salt)
    return with_tags(row, tags)._replace(
        content=content, source=source, content_hash=digest, draft_hash=None
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
