"""Counts what came of approved lessons: failures of the same sort in the sessions since.

A failure is recognised by the triggers that also make a hint come up. Of each pair of lesson and
session the result is stored, a time and no text, so that a record is unpacked once only; unpacking
and comparing run in a thread. What the counts mean is told in ``curation.effects``.
"""

import asyncio
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import same_project
from synthorg_tui.curation.effects import MAX_WEEKS, EffectWeek, LessonEffect
from synthorg_tui.curation.models import LessonKind, ProceduralMemoryScope
from synthorg_tui.curation.registry import ActiveSkills, RegisteredSkill
from synthorg_tui.executions.facts import fill_missing, readable_record
from synthorg_tui.executions.models import Execution, ToolCall, client_session
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.learning.triggers import Trigger, triggers_of
from synthorg_tui.memory.strategies.service import UseKind
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.values import aware, naive, naive_utc

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

_READING: Final = 1
"""Version of how failures are recognised: with another one, sessions are looked at again."""
_BATCH: Final = 32
"""Sessions that are looked at between two writes."""
_WEEK: Final = timedelta(days=7)
_FAILED: Final = frozenset({CallOutcome.FAILED, CallOutcome.BLOCKED_BY_HOOK})


@dataclass(frozen=True, slots=True)
class _WatchedLesson:
    """An approved lesson whose failure can be recognised; ``mark`` says by what."""

    path: str
    agent_id: str | None
    since: datetime
    mark: str
    triggers: tuple[Trigger, ...]

    @property
    def hints(self) -> frozenset[str]:
        """The first words of what it is about: a call without any needs no closer look."""
        return frozenset(trigger.intent.partition(" ")[0] for trigger in self.triggers)


@dataclass(frozen=True, slots=True)
class _SessionRun:
    """What one lesson's look at one execution found."""

    path: str
    execution_id: str
    mark: str
    ran: bool
    failed_at: datetime | None


class LessonEffects:
    """Counts, for all active skills, when agents were given them and which failures came again."""

    def __init__(self, database: StoreDatabase, skills: ActiveSkills, clock: Clock) -> None:
        self._database = database
        self._skills = skills
        self._clock = clock
        self._looking = asyncio.Lock()

    async def all(
        self, progress: "Callable[[int, int], None] | None" = None
    ) -> dict[str, LessonEffect]:
        """Return the effect of each active skill by the path of its file.

        Looks at the sessions first that weren't looked at yet; ``progress`` is called with how many
        of how many are done. When it is cancelled, the next call goes on from there.
        """
        records = await self._skills.active()
        watched = {each.path: each for record in records if (each := _watched(record))}
        async with self._looking:
            await self._look_at_sessions(list(watched.values()), progress)
        runs = await self._database.read(partial(_runs, lessons=list(watched.values())))
        uses = await self._database.read(_uses)
        now = self._clock.now()
        return {
            record.path: _effect(
                record, watched.get(record.path), runs[record.path], uses[record.path], now
            )
            for record in records
        }

    async def _look_at_sessions(
        self,
        lessons: Sequence[_WatchedLesson],
        progress: "Callable[[int, int], None] | None",
    ) -> None:
        if not lessons:
            return
        await fill_missing(self._database)
        by_path = {lesson.path: lesson for lesson in lessons}
        waiting = await self._database.read(partial(_unseen, lessons=lessons))
        for first in range(0, len(waiting), _BATCH):
            batch = waiting[first : first + _BATCH]
            found: list[_SessionRun] = []
            for execution_id, lines, paths in batch:
                record = await self._database.read(partial(_record_of, execution_id=execution_id))
                about = [by_path[path] for path in paths]
                found += await asyncio.to_thread(_look, record, execution_id, lines, about)
            await self._database.write(partial(_store, found=found))
            if progress is not None:
                progress(min(first + _BATCH, len(waiting)), len(waiting))


def _watched(record: RegisteredSkill) -> _WatchedLesson | None:
    """The lesson of a skill with what recognises its failure; ``None`` when nothing does."""
    if record.kind in (None, LessonKind.CORRECTION):
        return None
    found = triggers_of(record.kind, record.evidence)
    triggers = tuple(trigger for trigger in found if trigger.error and trigger.intent)
    if not triggers:
        return None
    evidence = "\n".join(seen.model_dump_json() for seen in record.evidence)
    digest = hashlib.sha256(f"{_READING}\n{record.kind}\n{evidence}".encode()).hexdigest()
    own = record.proposal.scope is ProceduralMemoryScope.AGENT
    agent_id = record.agent_id if own else None
    return _WatchedLesson(record.path, agent_id, record.adopted_at, digest[:16], triggers)


def _unseen(
    db: "Connection", lessons: Sequence[_WatchedLesson]
) -> list[tuple[str, int, list[str]]]:
    """Ids of executions with the lessons that they weren't compared to, as they are now."""
    return db.execute(
        "WITH lessons AS (SELECT unnest(?::VARCHAR[]) AS path, unnest(?::VARCHAR[]) AS agent_id, "
        "unnest(?::TIMESTAMP[]) AS since, unnest(?::VARCHAR[]) AS mark) "
        "SELECT e.id, e.line_count, list(l.path) FROM executions e JOIN lessons l "
        "ON e.calls > 0 AND coalesce(e.ended_at, e.started_at) >= l.since "
        "AND (l.agent_id IS NULL OR l.agent_id = e.agent_id) "
        "LEFT JOIN lesson_runs r ON r.execution_id = e.id AND r.path = l.path "
        "AND r.mark = concat(l.mark, ':', e.line_count) "
        "WHERE r.path IS NULL GROUP BY ALL ORDER BY e.id",
        [
            [lesson.path for lesson in lessons],
            [lesson.agent_id for lesson in lessons],
            [naive_utc(lesson.since) for lesson in lessons],
            [lesson.mark for lesson in lessons],
        ],
    ).fetchall()


def _record_of(db: "Connection", execution_id: str) -> bytes:
    row = db.execute("SELECT record FROM executions WHERE id = ?", [execution_id]).fetchone()
    return row[0] if row else b""


def _look(
    record: bytes, execution_id: str, lines: int, lessons: Sequence[_WatchedLesson]
) -> list[_SessionRun]:
    """Compare an execution to lessons; one that can't be read ran nothing."""
    execution = readable_record(record)
    calls = _timed_calls(execution) if execution is not None else []
    found = []
    for lesson in lessons:
        since = [(at, call, action) for at, call, action in calls if at >= lesson.since]
        ran, failed_at = _compare(lesson, since)
        mark = f"{lesson.mark}:{lines}"
        found.append(_SessionRun(lesson.path, execution_id, mark, ran, failed_at))
    return found


def _timed_calls(execution: Execution) -> list[tuple[datetime, ToolCall, AgentAction]]:
    """Its calls with their times; those without one are as old as the session."""
    return [
        (at, call, action_of(call, execution))
        for call in execution.calls
        if (at := call.at or execution.started_at) is not None
    ]


def action_of(call: ToolCall, execution: Execution) -> AgentAction:
    """Return a recorded call as it is compared with triggers, with its error if it failed."""
    failed = call.output if call.outcome in _FAILED else ""
    if call.is_shell:
        command = call.arguments
        return AgentAction(
            call.tool, command, "", failed, execution.project or "", execution.project
        )
    file = call.intent.partition(" ")[2]
    return AgentAction(call.tool, "", file, failed, execution.project or "", execution.project)


def _compare(
    lesson: _WatchedLesson, calls: Iterable[tuple[datetime, ToolCall, AgentAction]]
) -> tuple[bool, datetime | None]:
    """Whether any of the calls is what the lesson is about, and when the first failed so."""
    hints, ran = lesson.hints, False
    for at, call, action in calls:
        said = call.arguments if call.is_shell else call.intent
        if not any(hint in said for hint in hints):
            continue
        about = [trigger for trigger in lesson.triggers if _is_about(trigger, action)]
        ran = ran or bool(about)
        if action.error and any(trigger.matches_after(action) for trigger in about):
            return True, at
    return ran, None


def _is_about(trigger: Trigger, action: AgentAction) -> bool:
    if not same_project(trigger.project, action.project or action.cwd):
        return False
    if trigger.kind is LessonKind.FILE:
        return action.verb == trigger.intent
    return any(step.intent == trigger.intent for step in action.steps)


def _store(db: "Connection", found: Sequence[_SessionRun]) -> None:
    pairs = [[run.path for run in found], [run.execution_id for run in found]]
    db.execute(
        "DELETE FROM lesson_runs WHERE (path, execution_id) IN "
        "(SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]))",
        pairs,
    )
    db.execute(
        "INSERT INTO lesson_runs SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
        "unnest(?::VARCHAR[]), unnest(?::BOOLEAN[]), unnest(?::TIMESTAMP[])",
        [
            *pairs,
            [run.mark for run in found],
            [run.ran for run in found],
            [naive(run.failed_at) for run in found],
        ],
    )


def _runs(
    db: "Connection", lessons: Sequence[_WatchedLesson]
) -> Mapping[str, dict[str, datetime | None]]:
    """By lesson the sessions that ran what it is about, each with the time of its first failure.

    Subagents work in the session of their parent.
    """
    marks = {lesson.path: lesson.mark for lesson in lessons}
    rows = db.execute(
        "SELECT path, execution_id, mark, failed_at FROM lesson_runs WHERE ran"
    ).fetchall()
    found: dict[str, dict[str, datetime | None]] = defaultdict(dict)
    for path, execution_id, mark, failed in rows:
        if path in marks and mark.startswith(f"{marks[path]}:"):
            sessions, session, at = found[path], client_session(execution_id), aware(failed)
            before = sessions.get(session)
            sessions[session] = min(filter(None, (before, at)), default=None)
    return found


_Uses = Mapping[str, list[tuple[datetime, str, str | None]]]


def _uses(db: "Connection") -> _Uses:
    """By skill the times that it was given, with way and session."""
    rows = db.execute(
        "SELECT path, used_at, how, session_id FROM lesson_uses ORDER BY used_at"
    ).fetchall()
    found: dict[str, list[tuple[datetime, str, str | None]]] = defaultdict(list)
    for path, at, how, session in rows:
        used_at = aware(at)
        if used_at is not None:
            found[path].append((used_at, how, session))
    return found


def _effect(
    record: RegisteredSkill,
    watched: _WatchedLesson | None,
    sessions: Mapping[str, datetime | None],
    uses: Sequence[tuple[datetime, str, str | None]],
    now: datetime,
) -> LessonEffect:
    first_given: dict[str | None, datetime] = {}
    for at, _, session in uses:
        first_given.setdefault(session, at)
    had = {
        session
        for session, failed_at in sessions.items()
        if (given := first_given.get(session)) and (failed_at is None or given <= failed_at)
    }
    failed = {session: at for session, at in sessions.items() if at is not None}
    times = Counter(how for _, how, _ in uses)
    weeks = _weeks(record.adopted_at, now, [at for at, _, _ in uses], failed.values())
    return LessonEffect(
        ways=tuple((way.value, times[way.value]) for way in UseKind),
        is_recognised=watched is not None,
        had=len(had),
        had_failed=len(had & failed.keys()),
        lacked=len(sessions.keys() - had),
        lacked_failed=len(failed.keys() - had),
        weeks=weeks,
    )


def _weeks(
    since: datetime, now: datetime, given: Iterable[datetime], failed: Iterable[datetime]
) -> tuple[EffectWeek, ...]:
    """The weeks since the approval, counted back from now; what lies before isn't in them."""
    count = min(max((now - since) // _WEEK + 1, 1), MAX_WEEKS)
    by_week = [Counter((now - at) // _WEEK for at in times) for times in (given, failed)]
    return tuple(
        EffectWeek(by_week[0][back], by_week[1][back]) for back in range(count - 1, -1, -1)
    )
