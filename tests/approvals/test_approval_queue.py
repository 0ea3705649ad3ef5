"""The approval queue on a real database: adding, listing, expiry, changes without decisions."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalCounts,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalNotFoundError,
    ApprovalStatus,
    DecisionRefusedError,
    RiskLevel,
)
from synthorg_tui.approvals.queue import MAX_SNOOZE, ApprovalQueue, payload_hash
from synthorg_tui.engine import Engine
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.settings.root import RootConfig
from tests.approvals.approval_kit import (
    APPROVED,
    EXPIRED,
    PENDING,
    PERSON,
    REJECTED,
    decide,
    item,
    kinds,
)
from tests.conftest import FixedClock


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path / "data")
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def queue(database: StoreDatabase, clock: FixedClock) -> ApprovalQueue:
    return ApprovalQueue(database, clock=clock)


class TestAdding:
    async def test_an_item_reads_back_as_it_was_added(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        full = item(
            description="why\nit matters",
            risk_level=RiskLevel.HIGH,
            expires_at=clock.now() + timedelta(days=1),
            task_id="task",
            source="session",
            metadata={"scope": "agent", "note": 'ü "quoted"'},
        )
        await queue.add(full)
        assert await queue.get(full.id) == full

    async def test_an_unknown_item_is_none(self, queue: ApprovalQueue) -> None:
        assert await queue.get("lesson-1") is None

    async def test_items_survive_closing_the_store(self, tmp_path: Path, clock: FixedClock) -> None:
        first = Database.in_dir(tmp_path / "other")
        await first.open()
        await ApprovalQueue(first, clock=clock).add(item())
        await first.close()
        second = Database.in_dir(tmp_path / "other")
        await second.open()
        assert await ApprovalQueue(second, clock=clock).get("lesson-1") == item()
        await second.close()

    async def test_a_duplicate_id_is_refused_and_changes_nothing(
        self, queue: ApprovalQueue
    ) -> None:
        await queue.add(item())
        with pytest.raises(ApprovalConflictError):
            await queue.add(item(title="Something else"))
        assert await queue.get("lesson-1") == item()
        assert await kinds(queue) == [ApprovalEventKind.ADDED]

    async def test_the_id_of_a_rejected_item_is_refused_as_well(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        await queue.add(item())
        await decide(queue, database, status=REJECTED)
        with pytest.raises(ApprovalConflictError):
            await queue.add(item())

    async def test_an_item_that_claims_to_be_decided_is_refused(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        decided = item(status=APPROVED, decided_at=clock.now(), decided_by="me")
        with pytest.raises(DecisionRefusedError):
            await queue.add(decided)
        assert await queue.get("lesson-1") is None

    async def test_what_waits_without_an_end_gets_the_usual_one(
        self, database: StoreDatabase, clock: FixedClock
    ) -> None:
        queue = ApprovalQueue(database, clock=clock, expire_after=timedelta(days=90))
        soon = clock.now() + timedelta(hours=1)
        old = clock.now() - timedelta(days=400)
        await queue.add(item("a"))
        await queue.add(item("b", expires_at=soon))
        await queue.add(item("c", created_at=old))
        ends = {each.id: each.expires_at for each in await queue.list()}
        usual = clock.now() + timedelta(days=90)
        assert ends == {"a": usual, "b": soon, "c": usual}

    @given(
        text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
        payload=st.text(st.characters(exclude_categories=["Cs"])),
    )
    @settings(
        max_examples=50,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    async def test_any_text_is_kept_as_it_is(
        self, queue: ApprovalQueue, text: str, payload: str
    ) -> None:
        strange = item(text, title=text, metadata={text: payload}, payload=payload)
        if await queue.get(text) is None:
            await queue.add(strange)
        else:
            await queue.save(strange)
        assert await queue.get(text) == strange


class TestListing:
    async def test_newest_first_and_by_what_is_asked_for(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        later = clock.now() + timedelta(seconds=1)
        await queue.add(item("a"))
        await queue.add(item("b", risk_level=RiskLevel.HIGH, created_at=later))
        await queue.add(item("c", action_type="skills:file_change"))
        await decide(queue, database, "a")

        async def ids(**wanted: object) -> list[str]:
            return [each.id for each in await queue.list(**wanted)]  # type: ignore[arg-type]

        assert await ids() == ["b", "a", "c"]
        assert await ids(status=PENDING) == ["b", "c"]
        assert await ids(status=APPROVED) == ["a"]
        assert await ids(risk=RiskLevel.HIGH) == ["b"]
        assert await ids(action_type="skills:file_change", status=PENDING) == ["c"]
        assert await ids(action_type="skills:file_change", status=APPROVED) == []

    async def test_counts_tell_waiting_from_snoozed(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        for name in "abcdef":
            expires = clock.now() + timedelta(hours=1) if name == "f" else None
            await queue.add(item(name, expires_at=expires))
        await decide(queue, database, "a")
        await decide(queue, database, "b", REJECTED)
        await queue.snooze("c", clock.now() + timedelta(days=1), PERSON)
        clock.advance(hours=1)
        counts = await queue.counts()
        assert counts == ApprovalCounts(pending=2, snoozed=1, approved=1, rejected=1, expired=1)

    async def test_an_empty_queue_counts_nothing(self, queue: ApprovalQueue) -> None:
        assert await queue.counts() == ApprovalCounts()
        assert await queue.list() == ()


class TestExpiry:
    async def test_an_item_is_pending_until_its_time_and_expired_from_then_on(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        await queue.add(item(expires_at=clock.now() + timedelta(seconds=10)))
        clock.advance(seconds=9.999999)
        assert [each.status for each in await queue.list()] == [PENDING]
        clock.advance(microseconds=1)
        assert [each.status for each in await queue.list()] == [EXPIRED]
        assert await kinds(queue) == [ApprovalEventKind.ADDED, ApprovalEventKind.EXPIRED]

    async def test_every_way_of_reading_expires_what_is_due(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        for name in "abc":
            await queue.add(item(name, expires_at=clock.now() + timedelta(seconds=ord(name))))
        clock.advance(seconds=ord("a"))
        got = await queue.get("a")
        assert got is not None
        assert got.status is EXPIRED
        clock.advance(seconds=1)
        assert (await queue.counts()).expired == 2
        clock.advance(seconds=1)
        assert (await kinds(queue, "c"))[-1] is ApprovalEventKind.EXPIRED

    async def test_each_expiry_is_told_once_and_a_failing_listener_harms_nobody(
        self, database: StoreDatabase, clock: FixedClock
    ) -> None:
        told: list[str] = []

        def listen(expired: ApprovalItem) -> None:
            told.append(expired.id)
            raise ValueError("no")

        queue = ApprovalQueue(database, clock=clock, on_expire=listen)
        for name in "ab":
            await queue.add(item(name, expires_at=clock.now() + timedelta(seconds=1)))
        clock.advance(seconds=1)
        await queue.list()
        await queue.list()
        assert told == ["a", "b"]

    @pytest.mark.parametrize("fatal", [MemoryError, RecursionError])
    async def test_what_nobody_may_swallow_goes_through(
        self, database: StoreDatabase, clock: FixedClock, fatal: type[Exception]
    ) -> None:
        def listen(_: ApprovalItem) -> None:
            raise fatal

        queue = ApprovalQueue(database, clock=clock, on_expire=listen)
        await queue.add(item(expires_at=clock.now() + timedelta(seconds=1)))
        clock.advance(seconds=1)
        with pytest.raises(fatal):
            await queue.list()

    async def test_an_expired_item_can_be_made_pending_again(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        await queue.add(item(expires_at=clock.now() + timedelta(seconds=1)))
        clock.advance(seconds=1)
        renewed = item(expires_at=clock.now() + timedelta(days=1))
        assert await queue.save(renewed) == renewed
        assert await queue.list(status=PENDING) == (renewed,)
        assert (await kinds(queue))[-1] is ApprovalEventKind.REOPENED


class TestSaving:
    async def test_saving_an_unknown_item_says_none_and_adds_nothing(
        self, queue: ApprovalQueue
    ) -> None:
        assert await queue.save(item()) is None
        assert await queue.save_if_pending(item()) is False
        assert await queue.list() == ()

    async def test_saving_replaces_an_item(self, queue: ApprovalQueue) -> None:
        await queue.add(item())
        assert await queue.save(item(title="New")) == item(title="New")
        assert await queue.save_if_pending(item(title="Newer")) is True
        assert await queue.get("lesson-1") == item(title="Newer")

    async def test_saving_can_neither_make_nor_undo_a_decision(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        await queue.add(item())
        forged = item(status=APPROVED, decided_at=clock.now(), decided_by="an agent")
        for save in (queue.save, queue.save_if_pending):
            with pytest.raises(DecisionRefusedError):
                await save(forged)
        await decide(queue, database, status=REJECTED)
        with pytest.raises(DecisionRefusedError):
            await queue.save(item())
        assert await queue.save_if_pending(item()) is False
        assert (await queue.counts()).rejected == 1

    async def test_of_two_that_save_at_the_same_time_both_are_in_the_trail(
        self, queue: ApprovalQueue
    ) -> None:
        await queue.add(item())
        names = [f"title {number}" for number in range(10)]
        await asyncio.gather(*(queue.save_if_pending(item(title=name)) for name in names))
        numbers = [event.number for event in await queue.events("lesson-1")]
        assert numbers == list(range(1, 12))


class TestRevising:
    async def test_only_what_is_given_changes(self, queue: ApprovalQueue) -> None:
        await queue.add(item(description="old", metadata={"a": "1"}))
        revised = await queue.revise(
            "lesson-1", actor="learn", payload="{}", metadata={"b": "2"}, title="New"
        )
        expected = item(description="old", metadata={"b": "2"}, payload="{}", title="New")
        assert revised == await queue.get("lesson-1") == expected
        last = (await queue.events("lesson-1"))[-1]
        assert (last.kind, last.actor) == (ApprovalEventKind.REVISED, "learn")
        assert last.payload_hash == payload_hash(expected)

    async def test_what_is_decided_or_unknown_cannot_be_revised(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        with pytest.raises(ApprovalNotFoundError):
            await queue.revise("lesson-1", actor="learn", title="New")
        await queue.add(item())
        await decide(queue, database)
        with pytest.raises(ApprovalConflictError):
            await queue.revise("lesson-1", actor="learn", title="New")


class TestSnoozing:
    async def test_it_is_out_of_the_way_until_then(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        await queue.add(item())
        await queue.snooze("lesson-1", clock.now() + timedelta(days=1), PERSON)
        assert await queue.list(status=PENDING) == ()
        assert len(await queue.list(status=PENDING, snoozed=True)) == 1
        clock.advance(days=1)
        assert len(await queue.list(status=PENDING)) == 1

    async def test_waking_it_brings_it_back_at_once(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        ends = clock.now() + timedelta(days=2)
        await queue.add(item(expires_at=ends))
        await queue.snooze("lesson-1", clock.now() + timedelta(days=5), PERSON)
        woken = await queue.snooze("lesson-1", None, PERSON)
        assert woken.expires_at == ends
        assert await queue.list(status=PENDING) == (woken,)

    async def test_it_expires_later_by_as_long_as_it_was_away(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        start = clock.now()
        await queue.add(item(expires_at=start + timedelta(days=2)))
        await queue.snooze("lesson-1", start + timedelta(days=5), PERSON)
        again = await queue.snooze("lesson-1", start + timedelta(days=3), PERSON)
        assert again.expires_at == start + timedelta(days=5)

    async def test_only_to_a_time_to_come_that_is_not_too_far(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        await queue.add(item())
        for until in (clock.now(), clock.now() + MAX_SNOOZE + timedelta(seconds=1)):
            with pytest.raises(ApprovalConflictError):
                await queue.snooze("lesson-1", until, PERSON)
        await queue.snooze("lesson-1", clock.now() + MAX_SNOOZE, PERSON)

    async def test_who_snoozed_it_is_in_the_trail(
        self, queue: ApprovalQueue, clock: FixedClock
    ) -> None:
        await queue.add(item())
        await queue.snooze("lesson-1", clock.now() + timedelta(days=1), PERSON)
        last = (await queue.events("lesson-1"))[-1]
        assert (last.kind, last.actor) == (ApprovalEventKind.SNOOZED, "eva (terminal)")


class TestEngine:
    @pytest.mark.parametrize(("days", "status"), [(7, EXPIRED), (None, PENDING)])
    async def test_what_waits_expires_as_the_settings_say_and_listeners_hear_of_it(
        self, tmp_path: Path, clock: FixedClock, days: int | None, status: ApprovalStatus
    ) -> None:
        config = RootConfig.model_validate({"approvals": {"expire_after_days": days}})
        heard: list[tuple[str, str]] = []
        async with Engine.open(config, data_dir=tmp_path / "desk", clock=clock) as engine:
            engine.events.subscribe(lambda topic, data: heard.append((topic, data)))
            await engine.approvals.add(item())
            clock.advance(days=7)
            assert [each.status for each in await engine.approvals.list()] == [status]
        assert heard == ([("approval.expired", "lesson-1")] if days else [])
