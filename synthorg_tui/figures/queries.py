"""The SQL of the figures: each section is counted where it lies, in one pass over its table.

Every function reads on one connection, so that all figures are of one moment. ``*_MARK`` reads
what differs once the section's rows have changed, far quicker than counting them.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import add
from typing import Any, Final

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.approvals.rows import count_by_status
from synthorg_tui.core.projects import repository_of
from synthorg_tui.figures.models import (
    ActivityDay,
    ApprovalFigures,
    DigestFigures,
    FigureSpan,
    HintOutcome,
    LessonFigures,
    MemoryFigures,
    ModelFigures,
    ModelUse,
    Series,
    TimeScale,
)
from synthorg_tui.figures.scale import (
    LocalDays,
    calendar_start,
    counted_in,
    midnight,
    scale_of,
    series_of,
)
from synthorg_tui.memory.kinds import KIND_SQL
from synthorg_tui.memory.store.browsing import ARCHIVED
from synthorg_tui.memory.store.queries import WhereClause
from synthorg_tui.persistence.entities import OWN_AGENT
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import aware

MEMORY_MARK: Final = "SELECT count(*), max(revision) FROM memories"
VECTOR_MARK: Final = (
    "SELECT (SELECT (count(*), max(revision)) FROM memories), "
    "(SELECT (count(*), max(revision)) FROM vectors)"
)
CALL_MARK: Final = "SELECT count(*), max(number) FROM agent_calls"
LESSON_MARK: Final = (
    "SELECT (SELECT (count(*), max(used_at)) FROM lesson_uses), "
    "(SELECT (count(*), bit_xor(hash(r))) FROM lesson_runs r), "
    "(SELECT (count(*), max(updated_at)) FROM skills)"
)
MODEL_MARK: Final = (
    "SELECT (SELECT (count(*), max(timestamp)) FROM cost_records), "
    "(SELECT (count(*), max(number)) FROM agent_calls)"
)
APPROVAL_MARK: Final = (
    "SELECT count(*), max(created_at), max(decided_at), max(snoozed_until), "
    "(SELECT max(number) FROM approval_events) FROM approvals"
)
ACTIVITY_MARK: Final = "SELECT count(*), max(ended_at), sum(calls), sum(line_count) FROM executions"
_HINT_MOMENTS: Final = ("before", "after")


@dataclass(frozen=True, slots=True)
class Asked:
    """What figures are asked for: the scale, the zone's days, and which memories are live.

    ``now`` is in the asker's zone; ``since`` is naive UTC, ``None`` for all time.
    """

    now: datetime
    scale: TimeScale
    days: LocalDays
    live: WhereClause

    @property
    def since(self) -> datetime | None:
        """The beginning of the first bucket."""
        first = self.scale.since
        return midnight(first, self.now) if first is not None else None

    def bucket(self, column: str) -> str:
        """Return the SQL of the first day of the bucket of a column."""
        return self.days.bucket_sql(column, self.scale.unit)


def asked_for(db: Connection, span: FigureSpan, now: datetime, live: WhereClause) -> Asked:
    """Return what is asked for; all time begins with the oldest of what is counted."""
    oldest = _oldest(db, live)
    scale = scale_of(span, now, oldest)
    begins = min(filter(None, (oldest, aware(midnight(scale.starts[0], now)))), default=now)
    calendar = aware(midnight(calendar_start(now), now)) or now
    return Asked(now, scale, LocalDays(now, min(begins, calendar)), live)


def _oldest(db: Connection, live: WhereClause) -> datetime | None:
    row = db.execute(
        f"SELECT least((SELECT min(m.created_at) FROM memories m WHERE {live}), "
        "(SELECT min(called_at) FROM agent_calls), (SELECT min(created_at) FROM approvals), "
        "(SELECT min(used_at) FROM lesson_uses), (SELECT min(timestamp) FROM cost_records))",
        live.values,
    ).fetchone()
    return aware(row[0]) if row else None


def memory_figures(db: Connection, asked: Asked) -> MemoryFigures:
    """Count the live memories by project and kind over time."""
    where = f"{asked.live} AND m.created_at >= coalesce(?, m.created_at)"
    rows = db.execute(
        "SELECT day, project, kind, grouping(project), count(*) FROM ("
        f"SELECT {asked.bucket('m.created_at')} AS day, coalesce(m.project, '') AS project, "
        f"{KIND_SQL} AS kind FROM memories m WHERE {where}) "
        "GROUP BY GROUPING SETS ((day, project), (day, kind))",
        [*asked.live.values, asked.since],
    ).fetchall()
    by_kind = [(kind, day, count) for day, _, kind, is_kind, count in rows if is_kind]
    by_project = [
        (repository_of(project), day, count)
        for day, project, _, is_kind, count in rows
        if not is_kind
    ]
    totals = db.execute(
        f"SELECT count(*) FILTER ({asked.live}), count(*) FILTER ({ARCHIVED}) FROM memories m",
        asked.live.values,
    ).fetchone() or (0, 0)
    return MemoryFigures(
        live=totals[0],
        archived=totals[1],
        added=_one("added", asked, [(day, count) for _, day, count in by_kind]),
        projects=series_of(asked.scale, by_project),
        kinds=series_of(asked.scale, by_kind),
    )


def _one(name: str, asked: Asked, rows: Iterable[tuple[date, int]]) -> Series:
    return Series(name, counted_in(asked.scale, rows))


def digest_figures(db: Connection, asked: Asked) -> DigestFigures:
    """Count the digests: those with memories, without, and those that failed."""
    rows = db.execute(
        f"SELECT CASE WHEN is_error THEN 'failed' WHEN len(memory_ids) > 0 THEN 'hits' "
        f"ELSE 'misses' END, {asked.bucket('called_at')}, count(*) FROM agent_calls "
        "WHERE kind = 'digest' AND called_at >= coalesce(?, called_at) GROUP BY ALL",
        [asked.since],
    ).fetchall()
    spent = db.execute(
        "SELECT quantile_cont(milliseconds, 0.5), quantile_cont(milliseconds, 0.95), sum(tokens) "
        "FROM agent_calls WHERE kind = 'digest' AND NOT is_error "
        "AND called_at >= coalesce(?, called_at)",
        [asked.since],
    ).fetchone() or (None, None, None)
    hits, misses, failed = series_of(asked.scale, rows, "hits", "misses", "failed")
    return DigestFigures(hits, misses, failed, spent[0] or 0.0, spent[1] or 0.0, int(spent[2] or 0))


def given_tokens(db: Connection, asked: Asked) -> tuple[Series, ...]:
    """Sum the tokens that each agent was given in digests, hints and other replies."""
    rows = db.execute(
        f"SELECT agent_id, {asked.bucket('called_at')}, sum(tokens)::BIGINT FROM agent_calls "
        "WHERE called_at >= coalesce(?, called_at) GROUP BY ALL",
        [asked.since],
    ).fetchall()
    return tuple(each for each in series_of(asked.scale, rows) if each.total)


def hint_series(db: Connection, asked: Asked) -> tuple[Series, ...]:
    """Count the hints before a call and after one that failed."""
    rows = db.execute(
        "SELECT CASE WHEN name = 'before_action' THEN 'before' ELSE 'after' END, "
        f"{asked.bucket('called_at')}, count(*) FROM agent_calls WHERE kind = 'hint' "
        "AND NOT is_error AND called_at >= coalesce(?, called_at) GROUP BY ALL",
        [asked.since],
    ).fetchall()
    return series_of(asked.scale, rows, *_HINT_MOMENTS)


_RUNS: Final = (
    "runs AS (SELECT path, split_part(CASE WHEN contains(execution_id, ':') "
    "THEN substr(execution_id, instr(execution_id, ':') + 1) ELSE '' END, '/', 1) AS session, "
    "min(failed_at) AS failed_at FROM lesson_runs WHERE ran GROUP BY ALL)"
)
"""Sessions that ran what a lesson is about; a subagent works in the session of its parent."""


def hint_outcomes(db: Connection, asked: Asked) -> tuple[HintOutcome, ...]:
    """Count what became of the calls that were given a lesson before or after them."""
    rows = db.execute(
        f"WITH {_RUNS} SELECT u.how, "
        "count(*) FILTER (r.path IS NOT NULL AND r.failed_at IS NULL), "
        "count(*) FILTER (r.failed_at >= u.used_at), count(*) FILTER (r.failed_at < u.used_at), "
        "count(*) FILTER (r.path IS NULL) "
        "FROM lesson_uses u LEFT JOIN runs r ON r.path = u.path AND r.session = u.session_id "
        "WHERE u.how IN ('before', 'after') AND u.used_at >= coalesce(?, u.used_at) GROUP BY ALL",
        [asked.since],
    ).fetchall()
    found = {row[0]: HintOutcome(*row) for row in rows}
    return tuple(found.get(how, HintOutcome(how, 0, 0, 0, 0)) for how in _HINT_MOMENTS)


def lesson_figures(db: Connection, asked: Asked) -> tuple[LessonFigures, ...]:
    """Return the skills in force, those that were given most first."""
    given = db.execute(
        f"SELECT path, {asked.bucket('used_at')}, count(*) FROM lesson_uses "
        "WHERE used_at >= coalesce(?, used_at) GROUP BY ALL",
        [asked.since],
    ).fetchall()
    sessions = db.execute(
        f"WITH {_RUNS}, first AS (SELECT path, session_id, min(used_at) AS at FROM lesson_uses "
        "WHERE session_id IS NOT NULL GROUP BY ALL), "
        "judged AS (SELECT r.path, r.failed_at IS NOT NULL AS failed, f.at IS NOT NULL "
        "AND (r.failed_at IS NULL OR f.at <= r.failed_at) AS had FROM runs r "
        "LEFT JOIN first f ON f.path = r.path AND f.session_id = r.session) "
        "SELECT path, count(*) FILTER (had), count(*) FILTER (had AND failed), "
        "count(*) FILTER (NOT had), count(*) FILTER (NOT had AND failed) FROM judged GROUP BY path"
    ).fetchall()
    counts = {path: tuple(numbers) for path, *numbers in sessions}
    days: defaultdict[str, list[tuple[date, int]]] = defaultdict(list)
    for path, day, count in given:
        days[path].append((day, count))
    skills = db.execute("SELECT name, path FROM skills WHERE status = 'active'").fetchall()
    lessons = [
        LessonFigures(name, path, _one(name, asked, days[path]), *counts.get(path, (0, 0, 0, 0)))
        for name, path in skills
    ]
    return tuple(sorted(lessons, key=lambda each: (-each.given.total, each.name, each.path)))


def model_figures(db: Connection, asked: Asked) -> ModelFigures:
    """Sum up the language models by model and agent, and what agents were given."""
    rows = db.execute(
        "SELECT model, CASE WHEN agent_id = $own THEN '' ELSE agent_id END, "
        f"{asked.bucket('timestamp')}, count(*), sum(input_tokens)::BIGINT, "
        "sum(output_tokens)::BIGINT, sum(seconds), sum(cost_usd) "
        "FROM cost_records WHERE timestamp >= coalesce($since, timestamp) GROUP BY ALL",
        {"own": OWN_AGENT, "since": asked.since},
    ).fetchall()
    by_name: defaultdict[tuple[str, str], list[list[Any]]] = defaultdict(list)
    for model, agent, *numbers in rows:
        by_name[model, agent].append(numbers)
    uses = [_use(name, agent, found, asked) for (name, agent), found in by_name.items()]
    ordered = sorted(uses, key=lambda each: (-each.tokens.total, each.model, each.agent))
    return ModelFigures(tuple(ordered), given_tokens(db, asked))


def _use(model: str, agent: str, rows: list[list[Any]], asked: Asked) -> ModelUse:
    days, answers, read, written, seconds, cost = zip(*rows, strict=True)
    tokens = zip(days, map(add, read, written), strict=True)
    return ModelUse(
        model=model,
        agent=agent,
        answers=sum(answers),
        prompt_tokens=sum(read),
        completion_tokens=sum(written),
        seconds=sum(seconds),
        cost=sum(cost),
        tokens=_one(model, asked, tokens),
    )


def approval_figures(db: Connection, asked: Asked) -> ApprovalFigures:
    """Count what waits, and what was proposed and decided over time."""
    rows = db.execute(
        f"SELECT 'proposed', {asked.bucket('created_at')}, count(*) FROM approvals "
        "WHERE created_at >= coalesce($since, created_at) GROUP BY ALL UNION ALL "
        f"SELECT status, {asked.bucket('decided_at')}, count(*) FROM approvals "
        "WHERE status IN ('approved', 'rejected') AND decided_at >= coalesce($since, decided_at) "
        "GROUP BY ALL",
        {"since": asked.since},
    ).fetchall()
    counts = count_by_status(db, asked.now)
    waiting, snoozed = (counts.get((ApprovalStatus.PENDING, later), 0) for later in (False, True))
    proposed, approved, rejected = series_of(asked.scale, rows, "proposed", "approved", "rejected")
    return ApprovalFigures(waiting, snoozed, proposed, approved, rejected)


def activity_days(db: Connection, asked: Asked) -> tuple[ActivityDay, ...]:
    """Count sessions by the day that they ended on, and the calls of their agents.

    Subagents' sessions are part of their parent's; their calls count.
    """
    moment = "coalesce(ended_at, started_at)"
    first = calendar_start(asked.now)
    last = first + timedelta(weeks=60)
    rows = db.execute(
        f"SELECT {asked.days.sql(moment)} AS day, count(*) FILTER (parent_id IS NULL), "
        f"sum(coalesce(calls, 0))::BIGINT FROM executions WHERE {moment} >= ? "
        "GROUP BY day ORDER BY day",
        [midnight(first, asked.now)],
    ).fetchall()
    return tuple(ActivityDay(*row) for row in rows if first <= row[0] <= last)
