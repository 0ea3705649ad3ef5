"""Questions that were recorded, each with the memories that somebody's acts showed to answer it.

Scenarios and their pins are a person's; a search after which a hit was opened is an agent's or a
person's; a failure was put right in the same session. What people approved is read where approvals
are known.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from pydantic import ValidationError

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.executions.facts import readable_record
from synthorg_tui.executions.models import Execution, SourceRef
from synthorg_tui.executions.output_lines import headline
from synthorg_tui.executions.recoveries import RECOVERY_TAG
from synthorg_tui.memory.enums import EdgeKind
from synthorg_tui.memory.evaluation.questions import EvalQuestion, QuestionSource, RecallTask
from synthorg_tui.memory.scenarios import Question, stored_scenarios
from synthorg_tui.memory.store.edges import edges_of
from synthorg_tui.memory.strategies.schemas import MemoryTool
from synthorg_tui.memory.tool_retriever import RECALL_MEMORY, SEARCH_MEMORY
from synthorg_tui.persistence.call_log import RecordedCall, successful_calls
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import naive_utc

MAX_CALLS: Final = 20_000
"""Calls of agents that are looked through, the latest ones."""
MAX_OPENED: Final = 2_000
"""Hits that a person opened which are remembered, the latest ones."""
MAX_SESSIONS: Final = 200
"""Imported sessions that are looked through for failures, the latest ones."""
MAX_TEXT: Final = 2_000
"""Characters of a question."""
OPENED_WITHIN: Final = timedelta(minutes=30)
"""How long after a search one of its hits may be opened."""
_SEARCHES: Final = (SEARCH_MEMORY, MemoryTool.ARCHIVAL_SEARCH.value, "digest")
_OPENINGS: Final = (RECALL_MEMORY, "read_skill")


class OpenedHits:
    """What a person searched for in the app before opening a hit; the newest of each are kept.

    No more is recorded of searches than this: the redacted words and which memory was opened.
    """

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def note(self, query: str, memory_id: str) -> None:
        """Record that this memory was opened after this search; nothing of a shared one.

        Its publisher isn't given it, so that no question could be asked.
        """
        text = redact_text(" ".join(query.split())[:MAX_TEXT], RedactionTally())
        at = naive_utc(self._clock.now())
        if text:
            await self._database.write(partial(_note, text=text, memory_id=memory_id, at=at))

    async def questions(self) -> tuple[EvalQuestion, ...]:
        """Return the searches, each with a memory that was opened after it."""
        sql = "SELECT query, memory_id::VARCHAR, agent_id FROM opened_hits ORDER BY opened_at"
        rows = await self._database.read(lambda db: db.execute(sql).fetchall())
        return tuple(
            _question(query, agent_id, frozenset({key}), QuestionSource.SEARCH, session=query)
            for query, key, agent_id in rows
        )


def _note(db: Connection, *, text: str, memory_id: str, at: datetime) -> None:
    found = db.execute(
        "SELECT agent_id FROM memories WHERE id = ?::UUID AND NOT shared", [memory_id]
    ).fetchone()
    if found is None:
        return
    db.execute("DELETE FROM opened_hits WHERE query = ? AND memory_id = ?::UUID", [text, memory_id])
    db.execute("INSERT INTO opened_hits VALUES (?, ?::UUID, ?, ?)", [text, memory_id, found[0], at])
    beyond = "SELECT opened_at FROM opened_hits ORDER BY opened_at DESC LIMIT 1 OFFSET ?"
    oldest = db.execute(beyond, [MAX_OPENED]).fetchone()
    if oldest is not None:
        db.execute("DELETE FROM opened_hits WHERE opened_at <= ?", [oldest[0]])


class RecordedQuestions:
    """Reads the questions that are in a store's database; their answers may be gone by now."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def all(self) -> tuple[EvalQuestion, ...]:
        """Return the questions of scenarios, of searches and of failures."""
        found = (await self.scenarios(), await self.searches(), await self.failures())
        return tuple(question for each in found for question in each)

    async def scenarios(self) -> tuple[EvalQuestion, ...]:
        """Return saved questions: answered by what was pinned, else by what was included."""
        questions = []
        for name, question, expected in await self._database.read(stored_scenarios):
            try:
                asked = Question.model_validate_json(question)
            except ValidationError:  # of another version: it can't be run either
                continue
            relevant = frozenset(asked.pinned or expected)
            source = QuestionSource.PIN if asked.pinned else QuestionSource.SCENARIO
            if relevant:
                view = asked.visibility
                questions.append(
                    _question(
                        asked.query,
                        asked.agent_id,
                        relevant,
                        source,
                        session=name,
                        project=view.project if view else None,
                    )
                )
        return tuple(questions)

    async def searches(self) -> tuple[EvalQuestion, ...]:
        """Return what agents searched for before they opened one of the hits."""
        names = (*_SEARCHES, *_OPENINGS)
        calls = await self._database.read(partial(successful_calls, names=names, limit=MAX_CALLS))
        return tuple(_opened(calls))

    async def failures(self) -> tuple[EvalQuestion, ...]:
        """Return errors of calls that were put right, answered by the memory or lesson of it."""
        known = await self._database.read(_remedies)
        sql = (
            "SELECT id FROM executions ORDER BY coalesce(ended_at, started_at) DESC NULLS LAST, id "
            "LIMIT ?"
        )
        latest = await self._database.read(lambda db: db.execute(sql, [MAX_SESSIONS]).fetchall())
        questions: list[EvalQuestion] = []
        for execution_id in (each for (each,) in latest if each in known):
            record = await self._database.read(partial(_record_of, execution_id=execution_id))
            if record is not None:
                questions += _failed(record, known[execution_id])
        return tuple(questions)


def _question(
    text: str,
    agent_id: str,
    relevant: frozenset[str],
    source: QuestionSource,
    *,
    session: str = "",
    project: str | None = None,
) -> EvalQuestion:
    """A question whose task is told by its answers once it is known which of them are live."""
    cut = text.strip()[:MAX_TEXT]
    return EvalQuestion(cut, agent_id, relevant, RecallTask.EPISODIC, source, session, project)


def _opened(calls: Sequence[RecordedCall]) -> Iterator[EvalQuestion]:
    """Each search of which a hit was opened next; calls are in the order of their time."""
    asked: dict[tuple[str, str | None], RecordedCall] = {}
    for call in calls:
        place = (call.agent_id, call.project)
        if call.name in _SEARCHES:
            asked[place] = call
            continue
        search = asked.get(place)
        if search is None or call.at - search.at > OPENED_WITHIN:
            continue
        relevant = frozenset(call.memory_ids).intersection(search.memory_ids)
        text = _asked_in(search.arguments)
        if relevant and text:
            yield _question(
                text,
                call.agent_id,
                relevant,
                QuestionSource.SEARCH,
                session=f"call {search.number}",
                project=call.project,
            )


def _asked_in(arguments: str) -> str:
    """The query in a call's arguments; empty where they were cut or erased."""
    try:
        values = json.loads(arguments)
    except ValueError:
        return ""
    query = values.get("query") if isinstance(values, dict) else None
    return query.strip() if isinstance(query, str) else ""


_Remedy = tuple[SourceRef, frozenset[str]]


def _remedies(db: Connection) -> dict[str, list[_Remedy]]:
    """The memories of recoveries by session: their lines, and the ids that say what helped.

    Where a lesson was made of one, the lesson says it, as agents are given that alone.
    """
    rows = db.execute(
        "SELECT m.id::VARCHAR, m.source FROM memories m WHERE m.deleted_at IS NULL "
        "AND m.archived_at IS NULL AND m.tags[1] = ? AND m.source IS NOT NULL",
        [RECOVERY_TAG],
    ).fetchall()
    lessons: dict[str, set[str]] = {}
    if rows:
        for edge in edges_of(db, [key for key, _ in rows], [EdgeKind.DERIVED_FROM]):
            lessons.setdefault(edge.to_id, set()).add(edge.from_id)
    procedural = _procedural(db, sorted({key for each in lessons.values() for key in each}))
    found: dict[str, list[_Remedy]] = {}
    for key, source in rows:
        ref = SourceRef.parse(source)
        if ref is not None:
            said = frozenset(lessons.get(key, ())) & procedural
            found.setdefault(ref.execution_id, []).append((ref, said or frozenset({key})))
    return found


def _procedural(db: Connection, ids: Sequence[str]) -> frozenset[str]:
    """Those of the ids that are live procedural memories: lessons."""
    if not ids:
        return frozenset()
    rows = db.execute(
        "SELECT m.id::VARCHAR FROM memories m WHERE m.id IN (SELECT unnest(?::UUID[])) "
        "AND m.category = ? AND m.deleted_at IS NULL AND m.archived_at IS NULL",
        [list(ids), MemoryCategory.PROCEDURAL.value],
    ).fetchall()
    return frozenset(key for (key,) in rows)


def _record_of(db: Connection, execution_id: str) -> Execution | None:
    row = db.execute("SELECT record FROM executions WHERE id = ?", [execution_id]).fetchone()
    return None if row is None else readable_record(row[0])


def _failed(execution: Execution, remedies: Sequence[_Remedy]) -> Iterator[EvalQuestion]:
    """What failed in a session and was put right, as an agent would ask about it."""
    if execution.is_reported:
        return
    calls = {call.id: call for call in execution.calls}
    for recovery in execution.recoveries:
        call = calls.get(recovery.failed_call)
        error = headline(call.output) if call is not None else ""
        if call is None or not error:
            continue
        relevant = frozenset(
            key
            for ref, ids in remedies
            if ref.first_line <= call.call_line <= ref.last_line
            for key in ids
        )
        if relevant:
            yield _question(
                f"{call.intent} {error}",
                execution.agent_id,
                relevant,
                QuestionSource.FAILURE,
                session=execution.id,
                project=execution.project,
            )
