"""Taking a decision back: what was there before is there again, in the store and on disk."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.approvals.errors import ApprovalConflictError
from synthorg_tui.approvals.person import Person
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.memory.extensions import BundleOutcome, MemoryBundle
from synthorg_tui.memory.procedural import journal, ledger
from synthorg_tui.memory.procedural.adoption import Plan
from synthorg_tui.memory.procedural.disk import state_of
from synthorg_tui.memory.procedural.journal import Effects, FileStep, Operation
from synthorg_tui.memory.procedural.ledger import SkillRecord, VersionEvent
from synthorg_tui.memory.procedural.review_models import DecisionKind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_CARRIED_OVER = ("application_count", "last_applied_at", "evidence")
"""What a skill has gained since and doesn't lose."""


def check_undoable(operations: Iterable[Operation]) -> None:
    """Raise ``ApprovalConflictError`` unless all can be taken back, one after the other."""
    files: dict[Path, str] = {}
    for operation in operations:
        for step in _steps_back(operation, files):
            files[step.path] = step.after


def undo_plan(operation: Operation) -> Plan:
    """What takes a decision back.

    Raises ``ApprovalConflictError`` when a file it wrote has been changed since.
    """
    effects = operation.effects
    return Plan(
        bundle=MemoryBundle(remove=effects.added, restore=effects.removed),
        files=tuple(_steps_back(operation, {})),
    )


def _steps_back(operation: Operation, files: Mapping[Path, str]) -> Iterator[FileStep]:
    """The steps that are left; ``files`` are taken to have these hashes already."""
    for step in operation.effects.files:
        present = files.get(step.path)
        if present is None:
            present = state_of(step.path).sha256
        if str(step.path) in operation.effects.left_alone or present == step.before:
            continue
        if present != step.after:
            raise ApprovalConflictError(
                f"{step.path} has been changed since: undoing would lose that",
                remedy="Accept or move away what is there, then try again.",
            )
        yield step.reversed()


def undo_in(
    db: "Connection",
    operation: Operation,
    plan: Plan,
    outcome: BundleOutcome,
    *,
    queue: ApprovalQueue,
    person: Person,
    at: datetime,
) -> Operation:
    """Take a decision back within the transaction that changed the memories."""
    for path, before in operation.effects.records_before.items():
        _put_back(db, path, before)
    for step in plan.files:
        _note(db, step, operation, actor=str(person), at=at)
    if operation.item_id is not None:
        queue.reopen_in(
            db, operation.item_id, person, "undone", payload=operation.effects.payload_before
        )
    undoing = journal.record_in(
        db,
        kind=DecisionKind.UNDONE,
        item_id=operation.item_id,
        title=operation.title,
        actor=str(person),
        at=at,
        effects=Effects(
            files=plan.files,
            added=tuple(entry.id for entry in outcome.restored),
            removed=tuple(entry.id for entry in outcome.removed),
        ),
    )
    if not journal.mark_undone_in(db, operation, by=undoing.number):
        raise ApprovalConflictError(f"{operation.title!r} is undone already")
    return undoing


def _put_back(db: "Connection", path: str, before: SkillRecord | None) -> None:
    if before is None:
        ledger.forget(db, path)
        return
    present = ledger.find(db, path)
    if present is not None:
        gained = {name: getattr(present, name) for name in _CARRIED_OVER}
        before = before.model_copy(update=gained)
    ledger.put(db, before)


def _note(
    db: "Connection", step: FileStep, operation: Operation, *, actor: str, at: datetime
) -> None:
    """The file's history tells of the undo."""
    before = operation.effects.records_before.get(str(step.path))
    ledger.add_version(
        db,
        str(step.path),
        version=before.version if before else 1,
        at=at,
        actor=actor,
        event=VersionEvent.WRITTEN if step.after else VersionEvent.REMOVED,
        sha256=step.after or step.before,
    )
