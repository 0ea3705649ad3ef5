"""All SQL of fine-tuning: runs, the pairs they use, checkpoints.

What a stage has made is stored here and nowhere else, so that a run goes on after a crash, backups
have it, and erasing a memory or a session reaches it (``persistence.work_texts``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.memory.fine_tune.errors import CheckpointNotFoundError, FineTuneRunNotFoundError
from synthorg_tui.memory.fine_tune.models import CheckpointRecord, FineTuneRun
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.values import naive_utc

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection


WRITTEN_FROM: Final = 1_000_000
"""Number of the first question that a model wrote; those that somebody asked come before it."""


class PairSplit(StrEnum):
    """What a question is for: to learn from, to tell when to stop, or to judge by at the end."""

    TRAINING = "training"
    VALIDATION = "validation"
    HELD_OUT = "held_out"


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question of a run with the memories that answer it.

    ``session`` is where these are from, which decides the split. ``vector`` is that of the base,
    empty before it is embedded; ``negatives`` are ids of memories that look alike and don't answer.
    """

    number: int
    text: str
    agent_id: str
    relevant: tuple[str, ...]
    session: str
    split: PairSplit
    vector: bytes = b""
    negatives: tuple[str, ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether a model wrote it."""
        return self.number >= WRITTEN_FROM


class FineTuneStore:
    """Keeps runs, their questions, and checkpoints."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def save(self, run: FineTuneRun, state: bytes | None = None) -> None:
        """Store a run in place of what was stored of it; ``state`` too, unless it is ``None``."""
        text = run.model_dump_json(round_trip=True)

        def work(db: "Connection") -> None:
            if db.execute("SELECT 1 FROM fine_tune_runs WHERE id = ?", [run.id]).fetchone() is None:
                values = [run.id, naive_utc(run.started_at), text, state or b""]
                db.execute("INSERT INTO fine_tune_runs VALUES (?, ?, ?, ?)", values)
                return
            db.execute("UPDATE fine_tune_runs SET run = ? WHERE id = ?", [text, run.id])
            if state is not None:
                db.execute("UPDATE fine_tune_runs SET state = ? WHERE id = ?", [state, run.id])

        await self._database.write(work)

    async def run(self, run_id: str) -> FineTuneRun:
        """Return a run; raises ``FineTuneRunNotFoundError``."""
        found = await self._rows("SELECT run FROM fine_tune_runs WHERE id = ?", run_id)
        if not found:
            raise FineTuneRunNotFoundError(
                f"there is no run {run_id!r}", remedy="`synthorg-tui models runs` lists them."
            )
        return FineTuneRun.model_validate_json(found[0][0])

    async def state(self, run_id: str) -> bytes:
        """Return what training needs to go on; empty when it hasn't begun or is over."""
        found = await self._rows("SELECT state FROM fine_tune_runs WHERE id = ?", run_id)
        return bytes(found[0][0]) if found else b""

    async def runs(self, *, limit: int, offset: int) -> tuple[tuple[FineTuneRun, ...], int]:
        """Return runs, newest first, and how many there are."""
        rows = await self._rows(
            "SELECT run FROM fine_tune_runs ORDER BY started_at DESC, id LIMIT ? OFFSET ?",
            limit,
            offset,
        )
        ((total,),) = await self._rows("SELECT count(*) FROM fine_tune_runs")
        return tuple(FineTuneRun.model_validate_json(row[0]) for row in rows), int(total)

    async def delete_run(self, run_id: str) -> None:
        """Delete a run with its questions."""

        def work(db: "Connection") -> None:
            db.execute("DELETE FROM fine_tune_pairs WHERE run_id = ?", [run_id])
            db.execute("DELETE FROM fine_tune_runs WHERE id = ?", [run_id])

        await self._database.write(work)

    async def put_questions(self, run_id: str, questions: Sequence[TrainingQuestion]) -> None:
        """Store all questions of a run, in place of earlier ones."""

        def work(db: "Connection") -> None:
            db.execute("DELETE FROM fine_tune_pairs WHERE run_id = ?", [run_id])
            _insert(db, run_id, questions)

        await self._database.write(work)

    async def add_questions(self, run_id: str, questions: Sequence[TrainingQuestion]) -> None:
        """Store more questions of a run, in place of those with the same numbers."""
        numbers = [question.number for question in questions]

        def work(db: "Connection") -> None:
            db.execute(
                "DELETE FROM fine_tune_pairs WHERE run_id = ? "
                "AND list_contains(?::BIGINT[], number::BIGINT)",
                [run_id, numbers],
            )
            _insert(db, run_id, questions)

        await self._database.write(work)

    async def questions(self, run_id: str) -> tuple[TrainingQuestion, ...]:
        """Return the questions of a run in order, each with those memories that aren't purged."""
        rows = await self._rows(
            "SELECT number, question, agent_id, session_id, split, vector, negatives, memory_id "
            "FROM fine_tune_pairs WHERE run_id = ? ORDER BY number, memory_id",
            run_id,
        )
        found: dict[int, TrainingQuestion] = {}
        for number, text, agent, session, split, vector, negatives, memory in rows:
            known = found.get(number)
            found[number] = TrainingQuestion(
                number, text, agent, (*known.relevant, memory) if known else (memory,), session,
                PairSplit(split), bytes(vector), tuple(negatives),
            )  # fmt: skip
        return tuple(found.values())

    async def put_vectors(self, run_id: str, vectors: Mapping[int, bytes]) -> None:
        """Store vectors of questions by their numbers."""
        await self._set(run_id, "vector", "BLOB", vectors)

    async def put_negatives(self, run_id: str, negatives: Mapping[int, Sequence[str]]) -> None:
        """Store the mined negatives of questions by their numbers."""
        await self._set(
            run_id,
            "negatives",
            "VARCHAR[]",
            {key: list(ids) for key, ids in negatives.items()},
        )

    async def _set(self, run_id: str, column: str, kind: str, values: Mapping[int, object]) -> None:
        """Set a column of questions by their numbers; one statement takes a fiftieth of many."""
        update = f"UPDATE fine_tune_pairs SET {column} ="

        def work(db: "Connection") -> None:
            if not hasattr(db, "extract_statements"):  # PostgreSQL takes lists of lists apart
                db.executemany(
                    f"{update} ? WHERE run_id = ? AND number = ?",
                    [(value, run_id, number) for number, value in values.items()],
                )
                return
            given = f"SELECT unnest(?::BIGINT[]) AS number, unnest(?::{kind}[]) AS value"
            db.execute(
                f"{update} given.value FROM ({given}) AS given "
                "WHERE run_id = ? AND fine_tune_pairs.number = given.number",
                [list(values), list(values.values()), run_id],
            )

        await self._database.write(work)

    async def finish(self, run: FineTuneRun, checkpoint: CheckpointRecord) -> None:
        """Store a complete run with its checkpoint; the words of its questions go.

        Which memories it used stays, so that it is known when one of them is purged.
        """
        text, record = run.model_dump_json(round_trip=True), _json(checkpoint)

        def work(db: "Connection") -> None:
            db.execute("DELETE FROM fine_tune_checkpoints WHERE id = ?", [checkpoint.id])
            db.execute(
                "INSERT INTO fine_tune_checkpoints VALUES (?, ?, ?, FALSE, ?)",
                [checkpoint.id, checkpoint.run_id, naive_utc(checkpoint.created_at), record],
            )
            db.execute(
                "UPDATE fine_tune_runs SET run = ?, state = ? WHERE id = ?", [text, b"", run.id]
            )
            db.execute(
                "UPDATE fine_tune_pairs SET question = '', vector = ?, negatives = ? "
                "WHERE run_id = ?",
                [b"", [], run.id],
            )

        await self._database.write(work)

    async def has_checkpoint(self, run_id: str) -> bool:
        """Tell whether a run's checkpoint is still there."""
        return bool(await self._checkpoints("WHERE c.run_id = ?", run_id))

    async def checkpoint(self, checkpoint_id: str) -> CheckpointRecord:
        """Return a checkpoint; raises ``CheckpointNotFoundError``."""
        found = await self._checkpoints("WHERE c.id = ?", checkpoint_id)
        if not found:
            raise CheckpointNotFoundError(
                f"there is no checkpoint {checkpoint_id!r}",
                remedy="`synthorg-tui models checkpoints` lists them.",
            )
        return found[0]

    async def checkpoints(
        self, *, limit: int, offset: int
    ) -> tuple[tuple[CheckpointRecord, ...], int]:
        """Return checkpoints, newest first, and how many there are."""
        found = await self._checkpoints(
            "ORDER BY c.created_at DESC, c.id LIMIT ? OFFSET ?", limit, offset
        )
        ((total,),) = await self._rows("SELECT count(*) FROM fine_tune_checkpoints")
        return found, int(total)

    async def active(self) -> CheckpointRecord | None:
        """Return the checkpoint that is marked as the one in force."""
        return next(iter(await self._checkpoints("WHERE c.is_active")), None)

    async def mark(self, checkpoint_id: str | None, *, backup: str | None = None) -> None:
        """Mark one checkpoint as the one in force, or none.

        ``backup`` is stored with it: the settings that it replaces.
        """

        def work(db: "Connection") -> None:
            db.execute("UPDATE fine_tune_checkpoints SET is_active = FALSE WHERE is_active")
            if checkpoint_id is None:
                return
            db.execute(
                "UPDATE fine_tune_checkpoints SET is_active = TRUE WHERE id = ?", [checkpoint_id]
            )
            if backup is not None:
                ((text,),) = db.execute(
                    "SELECT record FROM fine_tune_checkpoints WHERE id = ?", [checkpoint_id]
                ).fetchall()
                record = CheckpointRecord.model_validate_json(text)
                changed = record.model_copy(update={"backup_config_json": backup})
                db.execute(
                    "UPDATE fine_tune_checkpoints SET record = ? WHERE id = ?",
                    [_json(changed), checkpoint_id],
                )

        await self._database.write(work)

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Delete the record of a checkpoint."""
        sql: Final = "DELETE FROM fine_tune_checkpoints WHERE id = ?"
        await self._database.write(lambda db: db.execute(sql, [checkpoint_id]))

    async def _checkpoints(self, rest: str, *values: object) -> tuple[CheckpointRecord, ...]:
        rows = await self._rows(
            "SELECT c.record, c.is_active, (SELECT count(*) FROM fine_tune_pairs p "
            f"WHERE p.run_id = c.run_id) FROM fine_tune_checkpoints c {rest}",
            *values,
        )
        return tuple(_record(text, is_active, left) for text, is_active, left in rows)

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._database.read(lambda db: db.execute(sql, list(values)).fetchall())


def _insert(db: "Connection", run_id: str, questions: Sequence[TrainingQuestion]) -> None:
    for q in questions:
        for memory in q.relevant:
            about = (memory, q.text, q.agent_id, q.session, q.split.value, q.vector)
            row: list[object] = [run_id, q.number, *about, []]
            db.execute(f"INSERT INTO fine_tune_pairs VALUES ({', '.join('?' * 9)})", row)


def _json(record: CheckpointRecord) -> str:
    return record.model_dump_json(round_trip=True, exclude={"is_active", "erased_since"})


def _record(text: str, is_active: bool, left: int) -> CheckpointRecord:
    record = CheckpointRecord.model_validate_json(text)
    erased = max(0, record.doc_count - left)
    return record.model_copy(update={"is_active": is_active, "erased_since": erased})
