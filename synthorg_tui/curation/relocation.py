"""Updates the registry after the data directory, with the program's own skills, was moved.

Skills are identified by absolute paths, so a moved or restored directory needs all of them
rewritten, in registry, versions and journal alike, before any decision is finished. It runs at
start only, in one transaction, and touches no file.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from synthorg_tui.curation import journal, registry
from synthorg_tui.curation.journal import Effects
from synthorg_tui.curation.registry import RegisteredSkill
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.settings_kv import former_roots
from synthorg_tui.skills.disk import FILE_NAME

_log = logging.getLogger(__name__)


async def relocate(database: StoreDatabase, own_root: Path) -> int:
    """Change the registered paths of skills from a former own folder to ``own_root``.

    Returns the number of skills whose path was changed. A skill whose file is still in the former
    folder and not in ``own_root`` stays as it is: then the settings name another folder, and nobody
    moved the files. Call it before unfinished decisions are finished.
    """
    count = await database.write(lambda db: _follow_in(db, own_root))
    if count:
        _log.info("%d skills are registered in %s from now on", count, own_root)
    return count


def _follow_in(db: Connection, own_root: Path) -> int:
    former = former_roots(db, str(own_root))
    records = registry.select(db, "ORDER BY path", [])
    taken = {record.path for record in records}
    moved: dict[str, str] = {}
    for record in records:
        there = str(own_root / record.name / FILE_NAME)
        has_moved = os.path.lexists(there) or not os.path.lexists(record.path)
        if record.root in former and there not in taken and has_moved:
            moved[record.path] = there
            taken.add(there)
    if not moved:
        return 0
    for record in records:
        if (fresh := _at(record, moved)) != record:
            registry.forget(db, record.path)
            registry.put(db, fresh)
    for old, new in moved.items():
        for table in ("skill_versions", "skill_evaluations", "lesson_uses", "lesson_runs"):
            db.execute(f"UPDATE {table} SET path = ? WHERE path = ?", [new, old])
        moving = "UPDATE silenced SET subject = ? WHERE kind = 'lesson' AND subject = ?"
        db.execute(moving, [new, old])
    for operation in journal.every(db):
        effects = _effects_at(operation.effects, moved)
        if effects != operation.effects:
            journal.trim_in(db, operation, effects=effects, title=operation.title, by=None)
    return len(moved)


def _at(record: RegisteredSkill, moved: Mapping[str, str]) -> RegisteredSkill:
    path, winner = moved.get(record.path, record.path), record.superseded_by
    return record.model_copy(
        update={
            "path": path,
            "root": record.root if path == record.path else str(Path(path).parent.parent),
            "superseded_by": moved.get(winner, winner) if winner else winner,
        }
    )


def _effects_at(effects: Effects, moved: Mapping[str, str]) -> Effects:
    return effects.model_copy(
        update={
            "files": tuple(
                step.model_copy(update={"root": str(Path(moved[str(step.path)]).parent.parent)})
                if str(step.path) in moved
                else step
                for step in effects.files
            ),
            "records_before": {
                moved.get(path, path): _at(record, moved) if record else None
                for path, record in effects.records_before.items()
            },
            "left_alone": tuple(moved.get(path, path) for path in effects.left_alone),
        }
    )
