"""Every figure is what counting its rows one by one comes to, in any zone and span."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from statistics import quantiles
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.figures.models import FigureSpan, Series, StoreFigures
from synthorg_tui.figures.scale import calendar_start
from synthorg_tui.figures.service import FigureService
from synthorg_tui.host.calls import CALLS
from synthorg_tui.memory.kinds import MemoryKind, kind_of
from synthorg_tui.memory.store.browsing import browse_where
from synthorg_tui.memory.store.policy import AgeRules
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.tui.base.filters import parse_query
from synthorg_tui.tui.overview.ways import memories_way
from tests.figures.figure_kit import (
    NOW,
    SKILLS,
    Rows,
    by_hand,
    expected_scale,
    fill,
    insert,
    made_rows,
    service_of,
)

ZONES: tuple[tzinfo, ...] = (
    ZoneInfo("Europe/Berlin"),
    ZoneInfo("America/St_Johns"),
    ZoneInfo("Australia/Lord_Howe"),
    timezone(timedelta(hours=5, minutes=45)),
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StoreDatabase, Path, Rows]]:
    folder, rows = tmp_path_factory.mktemp("figures"), made_rows()
    database = Database.in_dir(folder)

    async def begin() -> None:
        await database.open()
        await fill(database, rows)

    asyncio.run(begin())
    yield database, folder, rows
    asyncio.run(database.close())


@pytest.fixture(params=list(FigureSpan), ids=str)
def span(request: pytest.FixtureRequest) -> FigureSpan:
    return FigureSpan(request.param)


@pytest.fixture(params=ZONES, ids=str)
def now(request: pytest.FixtureRequest) -> datetime:
    return NOW.astimezone(request.param)


@pytest.fixture(scope="module")
def kept() -> dict[tuple[FigureSpan, str], StoreFigures]:
    return {}


@pytest.fixture
async def figures(
    filled: tuple[StoreDatabase, Path, Rows],
    span: FigureSpan,
    now: datetime,
    kept: dict[tuple[FigureSpan, str], StoreFigures],
) -> StoreFigures:
    key = (span, str(now.tzinfo))
    if key not in kept:
        kept[key] = await service_of(filled[0], filled[1]).read(span, now)
    return kept[key]


def times(rows: list[dict[str, Any]], column: str, amount: str = "") -> list[tuple[datetime, int]]:
    return [(row[column], row[amount] if amount else 1) for row in rows if row[column]]


def is_live(row: dict[str, Any]) -> bool:
    is_ended = row["expires_at"] is not None and row["expires_at"] <= NOW
    return row["deleted_at"] is None and row["archived_at"] is None and not is_ended


def kind(row: dict[str, Any]) -> str:
    tags = [*row["tags"], *([f"fact:{row['fact_key']}"] if row["fact_key"] else [])]
    return kind_of(MemoryCategory(row["category"]), tags, row["content"])


def test_memories_are_counted_by_project_and_kind(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, span: FigureSpan, now: datetime
) -> None:
    rows, scale = filled[2], expected_scale(span, now, figures)
    live = [row for row in rows.memories if is_live(row)]
    found = figures.memories
    assert figures.scale == scale
    assert found.live == len(live)
    archived = [row for row in rows.memories if row["archived_at"]]
    assert found.archived == len(archived)
    assert found.added.counts == by_hand(scale, times(live, "created_at"), now)
    for listed, name_of in (
        (found.projects, lambda row: row["project"] or ""),
        (found.kinds, kind),
    ):
        by_name: dict[str, list[dict[str, Any]]] = {}
        for row in live:
            by_name.setdefault(name_of(row), []).append(row)
        counted = [
            Series(name, by_hand(scale, times(of_name, "created_at"), now))
            for name, of_name in by_name.items()
        ]
        wanted = sorted((each for each in counted if each.total), key=lambda s: (-s.total, s.name))
        assert list(listed) == wanted
    assert {each.name for each in found.kinds} <= set(MemoryKind)


def test_digests_and_hints_are_counted_by_what_came_of_them(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    calls, scale = filled[2].calls, figures.scale
    digests = [row for row in calls if row["kind"] == "digest"]
    fine = [row for row in digests if not row["is_error"]]
    hints = [row for row in calls if row["kind"] == "hint" and not row["is_error"]]
    for series, rows in (
        (figures.digests.hits, [row for row in fine if row["memory_ids"]]),
        (figures.digests.misses, [row for row in fine if not row["memory_ids"]]),
        (figures.digests.failed, [row for row in digests if row["is_error"]]),
        (figures.hints.before, [row for row in hints if row["name"] == "before_action"]),
        (figures.hints.after, [row for row in hints if row["name"] == "after_failure"]),
    ):
        assert series.counts == by_hand(scale, times(rows, "called_at"), now)
    first = scale.since
    within = [
        row for row in fine if not first or row["called_at"].astimezone(now.tzinfo).date() >= first
    ]
    assert figures.digests.tokens == sum(row["tokens"] for row in within)
    if len(within) > 1:
        spent = quantiles([row["milliseconds"] for row in within], n=20, method="inclusive")
        assert figures.digests.p50 == pytest.approx(spent[9])
        assert figures.digests.p95 == pytest.approx(spent[18])


def run_sessions(rows: Rows, path: str) -> dict[str, datetime | None]:
    """Sessions that ran what a lesson is about, with the time of their first failure."""
    found: dict[str, datetime | None] = {}
    for row in rows.runs:
        if row["path"] == path and row["ran"]:
            session = row["execution_id"].partition(":")[2].partition("/")[0]
            failures = [at for at in (found.get(session), row["failed_at"]) if at is not None]
            found[session] = min(failures, default=None)
    return found


def test_what_became_of_calls_with_a_hint_is_told_by_their_sessions(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    rows, first = filled[2], figures.scale.since
    for outcome in figures.hints.outcomes:
        wanted: Counter[str] = Counter()
        for use in rows.uses:
            is_old = first and use["used_at"].astimezone(now.tzinfo).date() < first
            if use["how"] != outcome.how or is_old:
                continue
            sessions = run_sessions(rows, use["path"])
            failed = sessions.get(use["session_id"])
            if use["session_id"] not in sessions:
                wanted["unknown"] += 1
            elif failed is None:
                wanted["clean"] += 1
            else:
                wanted["again" if failed >= use["used_at"] else "earlier"] += 1
        told = {name: getattr(outcome, name) for name in ("clean", "again", "earlier", "unknown")}
        assert told == {name: wanted[name] for name in told}
        assert outcome.given == wanted.total()


def test_lessons_in_force_are_counted_with_their_failures(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    rows = filled[2]
    found = {lesson.path: lesson for lesson in figures.lessons}
    assert set(found) == set(SKILLS[:-1])
    for path, lesson in found.items():
        given = [row for row in rows.uses if row["path"] == path]
        assert lesson.given.counts == by_hand(figures.scale, times(given, "used_at"), now)
        first: dict[str, datetime] = {}
        for use in given:
            if use["session_id"] is not None:
                session = use["session_id"]
                first[session] = min(first.get(session, use["used_at"]), use["used_at"])
        ran = run_sessions(rows, path)
        had = {
            session
            for session, failed in ran.items()
            if session in first and (failed is None or first[session] <= failed)
        }
        failed_in = {session for session, failed in ran.items() if failed is not None}
        lacked = ran.keys() - had
        assert (lesson.had, lesson.had_failed) == (len(had), len(had & failed_in))
        assert (lesson.lacked, lesson.lacked_failed) == (len(lacked), len(lacked & failed_in))


def test_tokens_and_cost_are_summed_by_model_and_agent(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    rows, scale, first = filled[2], figures.scale, figures.scale.since
    for use in figures.models.uses:
        agent = use.agent or "synthorg"
        own = [r for r in rows.costs if (r["model"], r["agent_id"]) == (use.model, agent)]
        both = [(r["timestamp"], r["input_tokens"] + r["output_tokens"]) for r in own]
        assert use.tokens.counts == by_hand(scale, both, now)
        within = [
            r for r in own if not first or r["timestamp"].astimezone(now.tzinfo).date() >= first
        ]
        assert use.answers == len(within)
        assert use.cost == sum(r["cost_usd"] for r in within)
        assert use.prompt_tokens == sum(r["input_tokens"] for r in within)
        assert use.prompt_tokens + use.completion_tokens == use.tokens.total
        assert use.seconds == 0.5 * len(within)
    for series in figures.models.given:
        calls = [row for row in rows.calls if row["agent_id"] == series.name]
        assert series.counts == by_hand(scale, times(calls, "called_at", "tokens"), now)


def test_approvals_are_counted_when_they_were_proposed_and_decided(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    items, found = filled[2].approvals, figures.approvals
    assert found.proposed.counts == by_hand(figures.scale, times(items, "created_at"), now)
    for status, series in (("approved", found.approved), ("rejected", found.rejected)):
        decided = [row for row in items if row["status"] == status]
        assert series.counts == by_hand(figures.scale, times(decided, "decided_at"), now)
    pending = [row for row in items if row["status"] == "pending"]
    later = [row for row in pending if row["snoozed_until"] and row["snoozed_until"] > NOW]
    assert (found.waiting, found.snoozed) == (len(pending) - len(later), len(later))


def test_the_calendar_has_the_days_of_a_year_on_which_sessions_ended(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    sessions: Counter[Any] = Counter()
    calls: Counter[Any] = Counter()
    for row in filled[2].sessions:
        day = (row["ended_at"] or row["started_at"]).astimezone(now.tzinfo).date()
        if day >= calendar_start(now):
            sessions[day] += row["parent_id"] is None
            calls[day] += row["calls"]
    assert {each.day: (each.sessions, each.calls) for each in figures.days} == {
        day: (sessions[day], calls[day]) for day in sessions
    }


async def test_the_rows_one_key_away_are_as_many_as_the_figure_says(
    filled: tuple[StoreDatabase, Path, Rows], figures: StoreFigures, now: datetime
) -> None:
    database, since = filled[0], figures.scale.since
    paths = [series.name for series in figures.memories.projects if series.name]

    async def listed(text: str) -> int:
        query = parse_query(text, now=now, projects=paths)
        assert not query.problems
        where = browse_where(query.criteria, NOW, AgeRules())
        sql = f"SELECT count(*) FROM memories m WHERE {where}"
        rows = await database.read(lambda db: db.execute(sql, where.values).fetchall())
        return int(rows[0][0])

    for operator, found in (
        ("project:", figures.memories.projects),
        ("kind:", figures.memories.kinds),
    ):
        for series in found:
            way = memories_way(since, operator, series.name)
            assert (way is None) is (not series.name)
            if way is not None:
                assert await listed(way.text) == series.total
    everything = memories_way(since)
    assert everything is not None
    assert await listed(everything.text) == figures.memories.added.total


def test_figures_cross_the_wire_unchanged(figures: StoreFigures) -> None:
    call = CALLS["figures.read"]
    sent = json.loads(json.dumps(call.result.dump_python(figures, mode="json")))
    came = call.result.validate_python(sent)
    assert came.made_at == figures.made_at
    assert replace(came, made_at=figures.made_at) == figures
    asked = call.decode(call.encode([FigureSpan.YEAR, figures.made_at], {}))
    assert asked["span"] is FigureSpan.YEAR
    assert asked["now"].utcoffset() == figures.made_at.utcoffset()


async def test_an_unchanged_section_is_not_counted_again_and_a_changed_one_is(
    tmp_path: Path,
) -> None:
    rows, database = made_rows(3, count=20), Database.in_dir(tmp_path)
    await database.open()
    try:
        await fill(database, rows)
        service: FigureService = service_of(database, tmp_path)
        before = await service.read(FigureSpan.ALL, NOW)
        same = await service.read(FigureSpan.ALL, NOW)
        assert same.memories is before.memories
        new = {**rows.calls[0], "number": 9_999, "kind": "digest", "is_error": False}
        await insert(database, "agent_calls", [{**new, "called_at": NOW, "memory_ids": ["m"]}])
        after = await service.read(FigureSpan.ALL, NOW)
        assert after.memories is before.memories
        assert after.digests.hits.total == before.digests.hits.total + 1
        await database.write(
            lambda db: db.execute("DELETE FROM memories WHERE archived_at IS NOT NULL")
        )
        purged = await service.read(FigureSpan.ALL, NOW)
        assert (purged.memories.archived, purged.memories.live) == (0, before.memories.live)
    finally:
        await database.close()


async def test_an_empty_store_has_no_figures(tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    try:
        figures = await service_of(database, tmp_path).read(FigureSpan.ALL, NOW)
    finally:
        await database.close()
    assert figures.is_empty
    assert figures.scale.starts == (NOW.date(),)
    assert figures.sizes.database > 0
    assert (figures.sizes.index, figures.sizes.backup_count) == (0, 0)
