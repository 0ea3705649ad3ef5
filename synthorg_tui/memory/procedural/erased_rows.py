"""Erasing words from the tables of skills, proposals and decisions; run in a transaction."""

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from synthorg_tui.approvals.erasing import ERASED
from synthorg_tui.memory.procedural import journal, ledger
from synthorg_tui.memory.procedural.journal import Effects, Operation
from synthorg_tui.memory.procedural.models import PrunePayload
from synthorg_tui.memory.procedural.tracing import Trace, adopted_by

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def erase_skill(db: "Connection", trace: Trace) -> None:
    """Take a skill out of the ledger with every text it had, or only the texts before this."""
    record = ledger.find(db, trace.path)
    kept = "" if trace.is_whole or record is None else record.sha256
    db.execute("DELETE FROM skill_versions WHERE path = ? AND sha256 <> ?", [trace.path, kept])
    if trace.is_whole:
        ledger.forget(db, trace.path)
        db.execute("UPDATE skills SET superseded_by = NULL WHERE superseded_by = ?", [trace.path])
    db.execute(
        "DELETE FROM skill_bytes WHERE sha256 NOT IN (SELECT sha256 FROM skill_versions) "
        "AND sha256 NOT IN (SELECT sha256 FROM skills)"
    )


def drop_memories(db: "Connection", memory_ids: Collection[str]) -> None:
    """Skills that are left know nothing of these memories."""
    gone = frozenset(memory_ids)
    for record in ledger.select(db, "ORDER BY path", []):
        kept = tuple(each for each in record.memory_ids if each not in gone)
        if kept != record.memory_ids:
            ledger.put(db, record.model_copy(update={"memory_ids": kept}))


def without_words(payload: PrunePayload, memory_ids: Collection[str]) -> PrunePayload | None:
    """A proposal to prune that says nothing of these memories; ``None`` when nothing is left."""
    kept = tuple(each for each in payload.memory_ids if each not in memory_ids)
    if not kept:
        return None
    reasons = {key: said for key, said in payload.reasons.items() if key in kept}
    return payload.model_copy(update={"memory_ids": kept, "reasons": reasons})


def erase_operations(
    db: "Connection",
    operations: Iterable[Operation],
    *,
    skills: Collection[Trace],
    items: Collection[str],
    by: int,
) -> None:
    """Leave no word of erased skills in what it takes to undo; what lost it all can't be undone.

    ``items`` are the proposals that were erased, ``by`` is the number of the purge.
    """
    paths = {trace.path for trace in skills}
    for operation in operations:
        is_asked = operation.item_id in items and not operation.effects.records_before
        effects = Effects() if is_asked else _without(operation, paths)
        is_named = operation.item_id in items or effects == Effects() != operation.effects
        title = ERASED if is_named else operation.title
        if (effects, title) != (operation.effects, operation.title):
            is_undoable = effects != Effects()
            journal.trim_in(
                db, operation, effects=effects, title=title, by=None if is_undoable else by
            )


def _without(operation: Operation, paths: Collection[str]) -> Effects:
    effects = operation.effects
    before = {path: each for path, each in effects.records_before.items() if path not in paths}
    left = effects.model_copy(
        update={
            "records_before": before,
            "files": tuple(step for step in effects.files if str(step.path) not in paths),
            "left_alone": tuple(path for path in effects.left_alone if path not in paths),
        }
    )
    is_about = adopted_by(operation) in paths
    if left == effects and not is_about:
        return effects
    said = left.model_dump_json()
    is_told = any(json.dumps(path, ensure_ascii=False)[1:-1] in said for path in paths)
    return Effects() if is_about or is_told or not before else left
