"""A store of seeded rows, kept as plain Python beside it, to be counted by hand."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from synthorg_tui.figures.models import FigureSpan, StoreFigures, TimeScale
from synthorg_tui.figures.scale import scale_of
from synthorg_tui.figures.service import FigureService
from synthorg_tui.jobs.models import JobStatus
from synthorg_tui.jobs.scheduler import JobScheduler
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.memory.store.queries import live_where
from synthorg_tui.persistence.port import StoreDatabase

NOW = datetime(2026, 3, 30, 9, 30, tzinfo=UTC)
"""A Monday; the day before, clocks in Europe went from two to three."""
PROJECTS = ("/home/ada/shop", "/home/ada/till", None)
TAGS = ("session", "task", "commit", "said", "shell")
SKILLS = ("skills/push", "skills/lint", "skills/gone")


class NoJobs:
    """Nothing runs by itself."""

    async def list(self) -> tuple[JobStatus, ...]:
        return ()


@dataclass
class Rows:
    """What is in the store, as dictionaries by column."""

    memories: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    uses: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    costs: list[dict[str, Any]] = field(default_factory=list)
    approvals: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)


def moments(pick: random.Random) -> Callable[[], datetime]:
    """Moments of two years, of which every third is next to some zone's midnight."""

    def moment() -> datetime:
        at = NOW - timedelta(seconds=pick.randrange(2 * 365 * 86_400))
        if pick.random() < 0.3:
            hour = pick.choice((-14, -5, -2, -1, 0, 1, 5, 10))
            midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
            edge = pick.choice((-1, 0, 1))
            at = min(midnight + timedelta(hours=hour, seconds=edge), NOW)
        return at

    return moment


def made_rows(seed: int = 7, count: int = 400) -> Rows:
    """Rows of every table that is counted."""
    pick = random.Random(seed)
    at, rows = moments(pick), Rows()
    for number in range(count):
        rows.memories.append(_memory(number, at(), pick))
        rows.calls.append(_call(number, at(), pick))
    for _ in range(count // 2):
        session = pick.choice((*map(str, range(25)), None))
        how = pick.choice(("digest", "before", "after", "read"))
        use: dict[str, Any] = {"path": pick.choice(SKILLS), "used_at": at(), "how": how}
        rows.uses.append({**use, "session_id": session, "agent_id": "ada", "project": None})
        cost = {"agent_id": pick.choice(("synthorg", "ada")), "model": pick.choice("ab")}
        tokens = {"input_tokens": pick.randrange(900), "output_tokens": pick.randrange(90)}
        spent = {"cost_usd": pick.randrange(8) / 8, "timestamp": at(), "seconds": 0.5}
        rows.costs.append({**cost, **tokens, **spent, "task_id": "none", "provider": "x"})
        rows.approvals.append(_approval(len(rows.approvals), at, pick))
        rows.sessions.append(_session(len(rows.sessions), at(), pick))
    for path in SKILLS:
        for number in range(25):
            failed = at() if pick.random() < 0.5 else None
            for part in ("", "/part"):
                name = f"claude-code:{number}{part}"
                ran = pick.random() < 0.7
                run = {"path": path, "execution_id": name, "mark": "m:1", "ran": ran}
                rows.runs.append({**run, "failed_at": failed if ran else None})
    return rows


def _memory(number: int, at: datetime, pick: random.Random) -> dict[str, Any]:
    gone = pick.random()
    category, is_lesson = pick.choice(("semantic", "procedural")), pick.random() < 0.2
    return {
        "id": UUID(int=number + 1),
        "revision": number + 1,
        "agent_id": "ada",
        "shared": False,
        "namespace": "default",
        "category": category,
        "content": "[DISCOVERY] it" if is_lesson else "it",
        "confidence": 0.5,
        "tags": [pick.choice(TAGS)],
        "level": "persistent",
        "project": pick.choice(PROJECTS),
        "content_hash": str(number),
        "edited": False,
        "created_at": at,
        "deleted_at": NOW if gone < 0.1 else None,
        "archived_at": NOW if 0.1 < gone < 0.2 else None,
        "expires_at": NOW + timedelta(days=pick.choice((-1, 1))) if gone > 0.8 else None,
        "fact_key": "port" if pick.random() < 0.1 else None,
    }


def _call(number: int, at: datetime, pick: random.Random) -> dict[str, Any]:
    kind = pick.choice(("digest", "hint", "tool"))
    names = {"digest": ("digest",), "hint": ("before_action", "after_failure"), "tool": ("search",)}
    return {
        "number": number + 1,
        "called_at": at,
        "agent_id": pick.choice(("ada", "bob")),
        "client": "claude-code",
        "project": None,
        "kind": kind,
        "name": pick.choice(names[kind]),
        "arguments": "{}",
        "is_error": pick.random() < 0.1,
        "tokens": pick.randrange(500),
        "milliseconds": float(pick.randrange(300)),
        "memory_ids": ["m"] if pick.random() < 0.7 else [],
        "wrote": False,
        "texts": b"x",
    }


def _approval(number: int, at: Callable[[], datetime], pick: random.Random) -> dict[str, Any]:
    status, first, second = pick.choice(("pending", "approved", "rejected", "expired")), at(), at()
    is_decided = status in ("approved", "rejected")
    return {
        "id": str(number),
        "action_type": "x",
        "title": "x",
        "description": "x",
        "requested_by": "ada",
        "risk_level": "low",
        "status": status,
        "created_at": min(first, second),
        "snoozed_until": NOW + timedelta(days=pick.choice((-1, 1)))
        if pick.random() < 0.3
        else None,
        "decided_at": max(first, second) if is_decided else None,
        "metadata": "{}",
        "payload": "{}",
    }


def _session(number: int, at: datetime, pick: random.Random) -> dict[str, Any]:
    return {
        "id": f"claude-code:s{number}",
        "agent_id": "ada",
        "path": "p",
        "line_count": 1,
        "record": b"x",
        "title": "t",
        "started_at": at - timedelta(hours=3),
        "ended_at": at if pick.random() < 0.8 else None,
        "parent_id": "claude-code:s0" if number and pick.random() < 0.2 else None,
        "calls": pick.randrange(40),
    }


def skill_row(path: str) -> dict[str, Any]:
    """A registered skill; the last of ``SKILLS`` isn't in force any more."""
    return {
        "path": path,
        "root": "skills",
        "name": path.partition("/")[2],
        "status": "retired" if path == SKILLS[-1] else "active",
        "scope": "agent",
        "agent_id": "ada",
        "source": "x",
        "memory_ids": "[]",
        "sha256": "",
        "version": 1,
        "proposal": "{}",
        "evidence": "[]",
        "application_count": 0,
        "adopted_at": NOW,
        "updated_at": NOW,
    }


async def insert(database: StoreDatabase, table: str, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows; times become UTC without a zone."""
    listed = list(rows)
    if not listed:
        return
    columns = list(listed[0])
    values = [[_stored(row[column]) for column in columns] for row in listed]
    marks = ", ".join("?" for _ in columns)
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    await database.write(lambda db: db.executemany(statement, values))


def _stored(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


async def fill(database: StoreDatabase, rows: Rows) -> None:
    """Put all rows into an empty store."""
    for table, kept in (
        ("memories", rows.memories),
        ("agent_calls", rows.calls),
        ("lesson_uses", rows.uses),
        ("lesson_runs", rows.runs),
        ("cost_records", rows.costs),
        ("approvals", rows.approvals),
        ("executions", rows.sessions),
        ("skills", map(skill_row, SKILLS)),
    ):
        await insert(database, table, kept)


def service_of(database: StoreDatabase, folder: Path) -> FigureService:
    """The service over a store, for which time stands still."""
    jobs: JobScheduler = NoJobs()  # type: ignore[assignment]
    return FigureService(
        database, folder, lambda: live_where(now=NOW, ages=AgeRules()), lambda _: 0, lambda: jobs
    )


def by_hand(
    scale: TimeScale, times: Iterable[tuple[datetime, int]], now: datetime
) -> tuple[int, ...]:
    """Sum amounts by bucket, one moment after the other."""
    ends: list[date | None] = [*scale.starts[1:], None]
    found = []
    for at, (start, end) in enumerate(zip(scale.starts, ends, strict=True)):
        reaches_back = at == 0 and scale.span is FigureSpan.ALL
        days = [(moment.astimezone(now.tzinfo).date(), amount) for moment, amount in times]
        found.append(
            sum(
                amount
                for day, amount in days
                if (day >= start or reaches_back) and (end is None or day < end)
            )
        )
    return tuple(found)


def expected_scale(span: FigureSpan, now: datetime, figures: StoreFigures) -> TimeScale:
    """The buckets of the span, where all time begins with what is oldest in the figures."""
    return figures.scale if span is FigureSpan.ALL else scale_of(span, now)
