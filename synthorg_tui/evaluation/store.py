"""The stored results of evaluations, each with the SHA-256 of the text that was looked at.

A text has one result a level, the latest. What of it repeats words of sessions goes with the skill,
the proposal or the session that it is about; the rows are deleted by those who erase these.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from pydantic import ValidationError

from synthorg_tui.evaluation.models import RESULTS, EvaluationLevel, SkillEvaluation
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware, naive_utc

_COLUMNS: Final = "name, path, item_id, sha256, level, made_at, folder, result"


class EvaluationStore:
    """Keeps the latest result of each level for each text of a skill."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def put(self, evaluation: SkillEvaluation) -> None:
        """Store a result in place of an earlier one of the same text and level."""
        await self._database.write(partial(_put, evaluation=evaluation))

    async def of(self, path: str, sha256: str) -> tuple[SkillEvaluation, ...]:
        """Return the latest result of each level for a skill at ``path``, cheapest first.

        One of the text with this hash goes before one of an older text, which is marked.
        """
        rows = await self._database.read(partial(_rows, path=path, sha256=sha256))
        known: dict[EvaluationLevel, SkillEvaluation] = {}
        for evaluation in rows:
            own = evaluation.model_copy(update={"is_current": evaluation.sha256 == sha256})
            before = known.get(own.level)
            if before is None or (own.is_current and not before.is_current):
                known[own.level] = own
        return tuple(known[level] for level in EvaluationLevel if level in known)

    async def folders(self) -> frozenset[str]:
        """Return the folders that stored results name."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT DISTINCT folder FROM skill_evaluations").fetchall()
        )
        return frozenset(folder for (folder,) in rows if folder)


def _put(db: Connection, evaluation: SkillEvaluation) -> None:
    key = [evaluation.path, evaluation.sha256, evaluation.level.value]
    db.execute(
        "DELETE FROM skill_evaluations WHERE path = ? AND sha256 = ? AND level = ?",
        key,
    )
    db.execute(
        f"INSERT INTO skill_evaluations ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            evaluation.name,
            evaluation.path,
            evaluation.item_id,
            evaluation.sha256,
            evaluation.level.value,
            naive_utc(evaluation.made_at),
            getattr(evaluation.result, "folder", ""),
            json.dumps(evaluation.result.model_dump(mode="json"), ensure_ascii=False),
        ],
    )


def _rows(db: Connection, path: str, sha256: str) -> Sequence[SkillEvaluation]:
    """The results at a path or of a text, newest first: a text may have been proposed elsewhere."""
    rows = db.execute(
        "SELECT name, path, item_id, sha256, made_at, result FROM skill_evaluations "
        "WHERE path = ? OR (sha256 = ? AND sha256 <> '') ORDER BY made_at DESC",
        [path, sha256],
    ).fetchall()
    found = []
    for name, where, item_id, of, at, result in rows:
        with suppress(ValidationError):  # one that can't be read any more is looked at anew
            head = {"name": name, "path": where, "item_id": item_id, "sha256": of}
            known = RESULTS.validate_json(result)
            found.append(SkillEvaluation(**head, made_at=aware(at), result=known))
    return found
