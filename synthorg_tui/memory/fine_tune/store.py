"""All SQL of fine-tuning: runs, the pairs they use, checkpoints.

What a stage has made is stored here and nowhere else, so that a run goes on after a crash, backups
have it, and erasing a memory or a session reaches it (``persistence.work_texts``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from synthorg_tui.memory.fine_tune.errors import CheckpointNotFoundError, FineTuneRunNotFoundError
from synthorg_tui.memory.fine_tune.models import CheckpointRecord, FineTuneRun
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc

WRITTEN_FROM: Final = 1_000_000
"""Number of the first question that a model wrote; those that somebody asked come before it."""


_Step: TypeAlias = tuple[str, list[Any]]


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

        def work(db: Connection) -> None:
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
        await self._run(
            ("DELETE FROM fine_tune_pairs WHERE run_id = ?", [run_id]),
            ("DELETE FROM fine_tune_runs WHERE id = ?", [run_id]),
        )

    async def put_questions(self, run_id: str, questions: Sequence[TrainingQuestion]) -> None:
        """Store questions of a run, in place of those with the same numbers."""
        numbers = [question.number for question in questions]
        with_number = "run_id = ? AND list_contains(?::BIGINT[], number::BIGINT)"
        add = f"INSERT INTO fine_tune_pairs VALUES ({', '.join('?' * 9)})"
        rows: list[list[Any]] = [
            [run_id, q.number, memory, q.text, q.agent_id, q.session, q.split.value, q.vector, []]
            for q in questions
            for memory in q.relevant
        ]
        await self._run(
            (f"DELETE FROM fine_tune_pairs WHERE {with_number}", [run_id, numbers]),
            *((add, row) for row in rows),
        )

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

    async def put_found(
        self, run_id: str, column: Literal["vector", "negatives"], values: Mapping[int, object]
    ) -> None:
        """Store vectors of questions, or lists of their mined negatives, by their numbers.

        One statement takes a fiftieth of the time of many.
        """
        update = f"UPDATE fine_tune_pairs SET {column} ="
        kind = "BLOB" if column == "vector" else "VARCHAR[]"

        def work(db: Connection) -> None:
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
        made_at = naive_utc(checkpoint.created_at)
        await self._run(
            ("DELETE FROM fine_tune_checkpoints WHERE id = ?", [checkpoint.id]),
            (
                "INSERT INTO fine_tune_checkpoints VALUES (?, ?, ?, FALSE, ?)",
                [checkpoint.id, checkpoint.run_id, made_at, _json(checkpoint)],
            ),
            (
                "UPDATE fine_tune_runs SET run = ?, state = ? WHERE id = ?",
                [run.model_dump_json(round_trip=True), b"", run.id],
            ),
            (
                "UPDATE fine_tune_pairs SET question = '', vector = ?, negatives = ? "
                "WHERE run_id = ?",
                [b"", [], run.id],
            ),
        )

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

    async def mark(self, record: CheckpointRecord | None) -> None:
        """Mark one checkpoint as the one in force and store its record, or mark none."""
        steps: list[_Step] = [
            ("UPDATE fine_tune_checkpoints SET is_active = FALSE WHERE is_active", [])
        ]
        if record is not None:
            mark = "UPDATE fine_tune_checkpoints SET is_active = TRUE, record = ? WHERE id = ?"
            steps.append((mark, [_json(record), record.id]))
        await self._run(*steps)

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Delete the record of a checkpoint."""
        await self._run(("DELETE FROM fine_tune_checkpoints WHERE id = ?", [checkpoint_id]))

    async def _checkpoints(self, rest: str, *values: object) -> tuple[CheckpointRecord, ...]:
        rows = await self._rows(
            "SELECT c.record, c.is_active, (SELECT count(*) FROM fine_tune_pairs p "
            f"WHERE p.run_id = c.run_id) FROM fine_tune_checkpoints c {rest}",
            *values,
        )
        found = []
        for text, is_active, left in rows:
            record = CheckpointRecord.model_validate_json(text)
            erased = max(0, record.doc_count - left)
            now = {"is_active": is_active, "erased_since": erased}
            found.append(record.model_copy(update=now))
        return tuple(found)

    async def _run(self, *steps: _Step) -> None:
        """Execute statements with their values in one transaction."""

        def work(db: Connection) -> None:
            for sql, values in steps:
                db.execute(sql, values)

        await self._database.write(work)

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._database.read(lambda db: db.execute(sql, list(values)).fetchall())


def _json(record: CheckpointRecord) -> str:
    return record.model_dump_json(round_trip=True, exclude={"is_active", "erased_since"})
