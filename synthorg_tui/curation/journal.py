"""The journal of decisions: what each one did, so that it can be finished or undone.

A decision commits everything that is in the database at once, together with its row here. Its
files follow; a row is ``open`` until they are as it says, and is finished after a crash. So a file
may only be written from here, and the stored form of ``Effects`` must stay readable: an undo needs
the rows of earlier versions. What a decision changes is worked out in ``plan``.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pydantic import AwareDatetime, Field

from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.curation import registry
from synthorg_tui.curation.administration import AdminPayload
from synthorg_tui.curation.registry import RegisteredSkill, VersionEvent
from synthorg_tui.curation.review import DecisionKind
from synthorg_tui.memory.org.changes import OrgEffect
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc
from synthorg_tui.skills.disk import FILE_NAME, remove_skill, state_of, write_skill
from synthorg_tui.skills.document import SkillPathError

_log = logging.getLogger(__name__)


class OperationState(StrEnum):
    """The state of a decision's files: all written (``DONE``), or perhaps not yet (``OPEN``)."""

    OPEN = "open"
    DONE = "done"


class FileStep(FrozenModel):
    """The writing or removal of one SKILL.md.

    ``before`` and ``after`` are the SHA-256 (hex) of its bytes, empty for no file.
    """

    root: str
    name: str
    before: str
    after: str

    @property
    def path(self) -> Path:
        """The path of the SKILL.md."""
        return Path(self.root) / self.name / FILE_NAME

    def reversed(self) -> "FileStep":
        """Return the step that undoes this one."""
        return self.model_copy(update={"before": self.after, "after": self.before})


class Effects(FrozenModel):
    """The changes made by a decision: what it takes to finish and to undo it.

    ``added`` and ``removed`` are ids of memories, ``org`` facts. ``records_before`` maps the path
    of each changed skill to its earlier state, ``None`` for a new one; ``payload_before`` is the
    item's payload from before the person edited it. ``left_alone`` are paths of files that were not
    written because somebody else had changed them. Decisions that were taken in bulk have the same
    ``bulk``; it is empty for others. What ``is_used_later`` changed nothing by itself, and can be
    undone until whoever asked for the decision acts on it. ``act`` is done last; ``failure`` says
    why it couldn't be, empty when it was.
    """

    files: tuple[FileStep, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    org: tuple[OrgEffect, ...] = ()
    records_before: dict[str, RegisteredSkill | None] = Field(default_factory=dict)
    payload_before: str | None = None
    left_alone: tuple[str, ...] = ()
    bulk: str = ""
    is_used_later: bool = False
    act: AdminPayload | None = None
    failure: str = ""

    @property
    def touched(self) -> tuple[str, ...]:
        """The ids of all memories and facts that the decision changed."""
        return (*self.added, *self.removed, *(effect.fact_id for effect in self.org))


class Operation(FrozenModel):
    """A decision as it is stored; ``number`` gives the order.

    ``undone_by`` is the number of the later decision that undid it, or that left nothing to undo.
    """

    number: int
    kind: DecisionKind
    item_id: str | None
    title: str
    actor: str
    at: AwareDatetime
    state: OperationState
    undone_by: int | None
    effects: Effects


_COLUMNS = "number, kind, item_id, title, actor, happened_at, state, undone_by, effects"


Perform: TypeAlias = Callable[[AdminPayload, str], Awaitable[str]]
"""Does an act in somebody's name, and returns why it can't be done; twice is as once."""


class Journal:
    """Reads the recorded decisions, writes their files and has their acts done by ``perform``.

    ``is_here`` tells whether a folder of skills is one of this machine: what others decided in a
    shared store is theirs to finish.
    """

    def __init__(
        self,
        database: StoreDatabase,
        queue: ApprovalQueue,
        perform: Perform,
        is_here: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._database = database
        self._queue = queue
        self._perform = perform
        self._is_here = is_here

    async def finish(self, operation: Operation) -> Operation:
        """Write the files of a decision, do its act and mark it as done.

        Doing so again changes nothing. A file that somebody else has changed is left alone, and
        named in the returned operation's effects, as is why an act couldn't be done. Raises
        ``SkillWriteError`` when a file can't be written: the decision stands and stays open.
        """
        left_alone = []
        for step in operation.effects.files:
            content = await self._database.read(partial(registry.bytes_of, sha256=step.after))
            if not await asyncio.to_thread(write_step, step, content):
                left_alone.append(step)
        paths = tuple(str(step.path) for step in left_alone)
        act = operation.effects.act
        failure = await self._perform(act, operation.actor) if act is not None else ""
        effects = operation.effects.model_copy(update={"left_alone": paths, "failure": failure})
        done = operation.model_copy(update={"state": OperationState.DONE, "effects": effects})
        await self._database.write(lambda db: self._finished(db, done, left_alone))
        return done

    async def roll_forward(self) -> tuple[Operation, ...]:
        """Finish all decisions that were committed but not finished, and return those that now are.

        One that can't be finished is logged and stays open.
        """
        finished = []
        is_open = partial(_select, clause="WHERE state = 'open' ORDER BY number")
        for operation in await self._database.read(is_open):
            if not all(self._is_here(step.root) for step in operation.effects.files):
                continue
            try:
                finished.append(await self.finish(operation))
            except DomainError as error:
                _log.warning("%r can't be finished yet: %s", operation.title, error)
        return tuple(finished)

    def _finished(
        self, db: Connection, operation: Operation, left_alone: Sequence[FileStep]
    ) -> None:
        # A path would tell what was erased: of a purge that is done no effects are stored.
        effects = Effects() if operation.kind is DecisionKind.PURGED else operation.effects
        for step in left_alone:
            _add_not_written(db, step, operation)
        db.execute(
            "UPDATE operations SET state = ?, effects = ? WHERE number = ?",
            [operation.state.value, effects.model_dump_json(), operation.number],
        )
        is_acted_on = effects.act is not None or not effects.is_used_later
        has_effect = operation.kind is DecisionKind.APPROVED and is_acted_on
        if has_effect and operation.item_id is not None:
            self._queue.consume_in(db, operation.item_id)


def write_step(step: FileStep, content: bytes | None) -> bool:
    """Write or remove a file unless it has been changed; return whether it is now as wanted.

    ``content`` are the bytes to write, ``None`` to remove the file. A file that is neither as
    before the step nor as after it is left alone.
    """
    present = state_of(step.path).sha256
    if present == step.after:
        return True
    is_lost = bool(step.after) and content is None
    if present != step.before or is_lost:
        return False
    try:
        if content is None:
            remove_skill(Path(step.root), step.name)
        else:
            write_skill(Path(step.root), step.name, content)
    except SkillPathError as error:
        _log.warning("left alone: %s", error)
        return False
    return True


def _add_not_written(db: Connection, step: FileStep, operation: Operation) -> None:
    """Add to the file's history that the approved text was not written."""
    record = registry.find(db, str(step.path))
    if record is not None and step.after:
        registry.add_version(
            db,
            record.path,
            version=record.version,
            at=operation.at,
            actor=operation.actor,
            event=VersionEvent.NOT_WRITTEN,
            sha256=step.after,
        )


def record_in(
    db: Connection,
    *,
    kind: DecisionKind,
    item_id: str | None,
    title: str,
    actor: str,
    at: datetime,
    effects: Effects,
) -> Operation:
    """Record a decision as open, within the transaction that makes it, and return it."""
    operation = Operation(
        number=latest(db) + 1,
        kind=kind,
        item_id=item_id,
        title=title,
        actor=actor,
        at=at,
        state=OperationState.OPEN,
        undone_by=None,
        effects=effects,
    )
    db.execute(
        f"INSERT INTO operations ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            operation.number,
            kind.value,
            item_id,
            title,
            actor,
            naive_utc(at),
            operation.state.value,
            None,
            effects.model_dump_json(),
        ],
    )
    return operation


def mark_undone_in(db: Connection, operation: Operation, *, by: int) -> bool:
    """Mark a decision as undone and done; ``False`` when it was undone already.

    ``by`` is the number of the decision that undoes it. Runs in the caller's transaction.
    """
    changed = db.execute(
        "UPDATE operations SET undone_by = ?, state = 'done' "
        "WHERE number = ? AND undone_by IS NULL RETURNING number",
        [by, operation.number],
    ).fetchall()
    return bool(changed)


def trim_in(
    db: Connection, operation: Operation, *, effects: Effects, title: str, by: int | None
) -> None:
    """Replace the stored effects and title of a decision.

    ``by`` is the number of the decision because of which it can no longer be undone, ``None`` when
    it still can. Runs in the caller's transaction.
    """
    db.execute(
        "UPDATE operations SET effects = ?, title = ?, "
        "undone_by = coalesce(undone_by, ?), state = CASE WHEN ? THEN 'done' ELSE state END "
        "WHERE number = ?",
        [effects.model_dump_json(), title, by, by is not None, operation.number],
    )


def every(db: Connection) -> tuple[Operation, ...]:
    """Return every decision, oldest first."""
    return _select(db, "ORDER BY number")


def latest(db: Connection) -> int:
    """Return the number of the last decision, 0 when there is none."""
    row = db.execute("SELECT coalesce(max(number), 0) FROM operations").fetchone()
    return int(row[0]) if row else 0


def last_undoable(db: Connection, actors: Sequence[str] = ()) -> tuple[Operation, ...]:
    """Return the last decision that can be undone, with those taken in bulk with it, latest first.

    Empty when there is none: an undo or a purge can't be undone, nor what was acted on since.
    """
    undoable = (
        "WHERE undone_by IS NULL AND kind NOT IN ('undone', 'purged') "
        """AND NOT (contains(effects, '"is_used_later":true') """
        "AND item_id IN (SELECT id FROM approvals WHERE consumed_at IS NOT NULL))"
    )
    if actors:
        undoable += f" AND actor IN ({', '.join('?' for _ in actors)})"
    last = _select(db, f"{undoable} ORDER BY number DESC LIMIT 1", actors)
    bulk = last[0].effects.bulk if last else ""
    if not bulk:
        return last
    undoable += " AND contains(effects, ?)"
    return _select(db, f"{undoable} ORDER BY number DESC", [*actors, bulk])


def _select(db: Connection, clause: str, values: Sequence[object] = ()) -> tuple[Operation, ...]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM operations {clause}", list(values)).fetchall()
    return tuple(_operation(row) for row in rows)


def _operation(row: Sequence[object]) -> Operation:
    number, kind, item_id, title, actor, at, state, undone_by, effects = row
    assert isinstance(at, datetime)
    return Operation.model_validate(
        {
            "number": number,
            "kind": kind,
            "item_id": item_id,
            "title": title,
            "actor": actor,
            "at": at.replace(tzinfo=UTC),
            "state": state,
            "undone_by": undone_by,
            "effects": Effects.model_validate_json(str(effects)),
        }
    )
