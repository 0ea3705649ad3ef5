"""What was decided without the person at the app, and that it is told until it was."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalEventKind
from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.approvals.trail import DecidedHow, DecisionTrail, TrailEntry, summary
from synthorg_tui.engine import Engine
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.settings.root import RootConfig
from tests.approvals.approval_kit import REJECTED, decide, item
from tests.conftest import FixedClock

POLICY = Policy("memory.procedural.require_approval")
APP = Person("tui")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def queue(database: StoreDatabase, clock: FixedClock) -> ApprovalQueue:
    queue = ApprovalQueue(database, clock=clock)
    for number in range(1, 6):
        await queue.add(item(f"lesson-{number}", title=f"Lesson {number}"))
    return queue


def hows(entries: tuple[TrailEntry, ...]) -> list[tuple[str, DecidedHow]]:
    return [(entry.item_id, entry.how) for entry in entries]


async def busy(queue: ApprovalQueue, database: StoreDatabase) -> None:
    """One of each kind, and what is no decision."""
    await decide(queue, database, "lesson-1", person=POLICY)
    await decide(queue, database, "lesson-2", person=APP)
    await decide(queue, database, "lesson-3", status=REJECTED)
    await queue.refused("lesson-4", actor="command line", reason="no terminal")
    await queue.snooze("lesson-5", FixedClock().now().replace(year=2027), APP)


async def test_it_lists_decisions_and_refusals_of_all_items_newest_first(
    queue: ApprovalQueue, database: StoreDatabase
) -> None:
    await busy(queue, database)
    entries = await DecisionTrail(database).entries()
    assert hows(entries) == [
        ("lesson-4", DecidedHow.REFUSED),
        ("lesson-3", DecidedHow.TERMINAL),
        ("lesson-2", DecidedHow.APP),
        ("lesson-1", DecidedHow.POLICY),
    ]
    assert (entries[0].title, entries[0].reason) == ("Lesson 4", "no terminal")
    assert len(await DecisionTrail(database).entries(limit=2)) == 2


async def test_news_is_what_was_not_decided_in_the_app(
    queue: ApprovalQueue, database: StoreDatabase
) -> None:
    assert await DecisionTrail(database).news() == ()
    await busy(queue, database)
    news = await DecisionTrail(database).news()
    assert [entry.item_id for entry in news] == ["lesson-4", "lesson-3", "lesson-1"]
    assert summary(news) == "1 skill adopted by a setting, 1 decision at a terminal, 1 refused"


async def test_an_undone_decision_is_news(queue: ApprovalQueue, database: StoreDatabase) -> None:
    await decide(queue, database, "lesson-1", person=APP)
    await database.write(
        lambda db: queue.reopen_in(db, "lesson-1", Person("terminal", "eva"), "undone")
    )
    (entry,) = await DecisionTrail(database).news()
    assert (entry.kind, entry.how) == ("reopened", DecidedHow.TERMINAL)


async def test_each_is_told_once_across_restarts(
    queue: ApprovalQueue, database: StoreDatabase, tmp_path: Path
) -> None:
    await busy(queue, database)
    trail = DecisionTrail(database)
    first, *_ = await trail.news()
    assert len(await trail.news()) == 3
    await trail.mark_told(first.number)
    await trail.mark_told(1)
    await database.close()
    again = Database.in_dir(tmp_path / "data")
    await again.open()
    assert await DecisionTrail(again).news() == ()
    await ApprovalQueue(again, clock=FixedClock()).refused("lesson-5", actor="x", reason="y")
    assert len(await DecisionTrail(again).news()) == 1
    await again.close()
    await database.open()


def test_many_are_told_in_numbers_and_nothing_in_none() -> None:
    assert summary(()) == ""
    entry = TrailEntry(1, "a", "", FixedClock().now(), ApprovalEventKind.REFUSED, "x", "")
    assert summary([entry] * 3_000) == "3,000 refused"


async def test_doctor_names_what_nobody_approved(tmp_path: Path) -> None:
    async with (
        own_database(tmp_path) as database,
        Engine.open(RootConfig(), data_dir=tmp_path, database=database) as engine,
    ):
        for number in range(1, 4):
            await engine.approvals.add(item(f"lesson-{number}"))
        await decide(engine.approvals, database, "lesson-1")
        await decide(engine.approvals, database, "lesson-2")
        await database.write(lambda db: engine.approvals.reopen_in(db, "lesson-2", APP, "undone"))
        report = await engine.maintenance.doctor()
        (check,) = [check for check in report.checks if check.name == "approvals"]
        assert check.ok, check.detail
        assert check.detail == "1 approved, each with its decision in the trail"
        await database.write(
            lambda db: db.execute(
                "UPDATE approvals SET status = 'approved', decided_at = now(), decided_by = 'eva' "
                "WHERE id IN ('lesson-2', 'lesson-3')"
            )
        )
        report = await engine.maintenance.doctor()
    (check,) = [check for check in report.checks if check.name == "approvals"]
    assert not report.ok
    assert check.detail == "2 marked approved that nobody approved: lesson-2, lesson-3"
