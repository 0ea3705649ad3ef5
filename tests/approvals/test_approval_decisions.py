"""Decisions on a real database: who takes them, when they are refused, what is remembered."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalNotFoundError,
    ApprovalStatus,
    DecisionRefusedError,
    StaleReviewError,
)
from synthorg_tui.approvals.person import Policy
from synthorg_tui.approvals.queue import ApprovalQueue, payload_hash
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import Connection, StoreDatabase
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


class TestDeciding:
    @pytest.mark.parametrize("status", [APPROVED, REJECTED])
    async def test_a_person_decides_once(
        self,
        queue: ApprovalQueue,
        database: StoreDatabase,
        clock: FixedClock,
        status: ApprovalStatus,
    ) -> None:
        await queue.add(item())
        decided = await decide(queue, database, status=status)
        assert (decided.status, decided.decided_by) == (status, "eva (terminal)")
        assert (decided.decided_at, decided.decision_reason) == (clock.now(), "because")
        with pytest.raises(ApprovalConflictError, match=status.value):
            await decide(queue, database)
        last = (await queue.events("lesson-1"))[-1]
        assert (last.kind.value, last.reason) == (status.value, "because")

    async def test_an_unknown_item_cannot_be_decided(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        with pytest.raises(ApprovalNotFoundError):
            await decide(queue, database)

    async def test_what_has_changed_since_it_was_shown_is_not_decided(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        await queue.add(item())
        await queue.revise("lesson-1", actor="learn", payload='{"type": "other"}')
        with pytest.raises(StaleReviewError):
            await decide(queue, database)
        assert (await queue.counts()).pending == 1

    async def test_what_expired_behind_the_screen_is_not_decided(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        await queue.add(item(expires_at=clock.now() + timedelta(seconds=1)))
        clock.advance(seconds=1)
        with pytest.raises(ApprovalConflictError, match="expired"):
            await decide(queue, database)

    @pytest.mark.parametrize("reason", [None, "", " \n"])
    async def test_a_rejection_needs_a_reason_and_an_approval_does_not(
        self, queue: ApprovalQueue, database: StoreDatabase, reason: str | None
    ) -> None:
        await queue.add(item())
        with pytest.raises(DecisionRefusedError):
            await decide(queue, database, status=REJECTED, reason=reason)
        assert (await decide(queue, database, reason=reason)).decision_reason is None

    @pytest.mark.parametrize("status", [PENDING, EXPIRED])
    async def test_only_approving_and_rejecting_are_decisions(
        self, queue: ApprovalQueue, database: StoreDatabase, status: ApprovalStatus
    ) -> None:
        await queue.add(item())
        with pytest.raises(DecisionRefusedError):
            await decide(queue, database, status=status)

    @pytest.mark.parametrize("nobody", ["eva (terminal)", None, object()])
    async def test_only_a_person_decides(
        self, queue: ApprovalQueue, database: StoreDatabase, nobody: object
    ) -> None:
        await queue.add(item())
        with pytest.raises(DecisionRefusedError):
            await decide(queue, database, person=nobody)  # type: ignore[arg-type]

    async def test_a_policy_may_approve_but_not_reject(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        policy = Policy("memory.procedural.require_approval")
        await queue.add(item())
        with pytest.raises(DecisionRefusedError):
            await decide(queue, database, status=REJECTED, person=policy)
        decided = await decide(queue, database, person=policy)
        assert decided.decided_by == "policy (memory.procedural.require_approval)"

    async def test_an_edited_payload_is_what_was_approved(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        await queue.add(item())
        decided = await decide(queue, database, payload='{"type":"lesson","edited":true}')
        assert decided == await queue.get("lesson-1")
        last = (await queue.events("lesson-1"))[-1]
        assert last.payload_hash == payload_hash(decided) != payload_hash(item())

    async def test_a_decision_is_undone_with_the_callers_transaction(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        await queue.add(item())

        def fails(db: Connection) -> None:
            queue.decide_in(
                db,
                "lesson-1",
                status=APPROVED,
                person=PERSON,
                reason=None,
                payload_hash=payload_hash(item()),
            )
            raise OSError("disk full")

        with pytest.raises(OSError, match="disk full"):
            await database.write(fails)
        assert await queue.get("lesson-1") == item()
        assert await kinds(queue) == [ApprovalEventKind.ADDED]


class TestAfterwards:
    async def test_deciding_and_taking_effect_fit_in_one_transaction(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        await queue.add(item())

        def work(db: Connection) -> ApprovalItem:
            queue.decide_in(
                db,
                "lesson-1",
                status=APPROVED,
                person=PERSON,
                reason=None,
                payload_hash=payload_hash(item()),
            )
            return queue.consume_in(db, "lesson-1")

        consumed = await database.write(work)
        assert consumed.consumed_at == clock.now()
        clock.advance(hours=1)
        assert await database.write(lambda db: queue.consume_in(db, "lesson-1")) == consumed

    async def test_only_an_approval_takes_effect(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        await queue.add(item())
        with pytest.raises(ApprovalConflictError):
            await database.write(lambda db: queue.consume_in(db, "lesson-1"))

    @pytest.mark.parametrize("status", [APPROVED, REJECTED])
    async def test_a_decision_taken_back_leaves_the_item_as_it_was(
        self, queue: ApprovalQueue, database: StoreDatabase, status: ApprovalStatus
    ) -> None:
        await queue.add(item())
        await decide(queue, database, status=status, payload='{"edited": 1}')
        reopened = await database.write(
            lambda db: queue.reopen_in(db, "lesson-1", PERSON, "undo", payload=item().payload)
        )
        assert reopened == item() == await queue.get("lesson-1")
        assert (await kinds(queue))[-1] is ApprovalEventKind.REOPENED

    async def test_an_expiry_that_passed_meanwhile_starts_anew(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        await queue.add(item(expires_at=clock.now() + timedelta(days=1)))
        await decide(queue, database)
        clock.advance(days=3)
        await database.write(lambda db: queue.reopen_in(db, "lesson-1", PERSON, "undo"))
        [reopened] = await queue.list(status=PENDING)
        assert reopened.expires_at == clock.now() + timedelta(days=1)

    async def test_what_is_not_decided_cannot_be_taken_back(
        self, queue: ApprovalQueue, database: StoreDatabase
    ) -> None:
        await queue.add(item())
        with pytest.raises(ApprovalConflictError):
            await database.write(lambda db: queue.reopen_in(db, "lesson-1", PERSON, "undo"))


class TestTrail:
    async def test_earlier_lines_never_change(
        self, queue: ApprovalQueue, database: StoreDatabase, clock: FixedClock
    ) -> None:
        seen: tuple[object, ...] = ()
        await queue.add(item())
        steps = (
            lambda: queue.revise("lesson-1", actor="learn", title="New"),
            lambda: queue.snooze("lesson-1", clock.now() + timedelta(days=1), PERSON),
            lambda: queue.refused("lesson-1", actor="terminal", reason="no terminal"),
            lambda: decide(queue, database),
            lambda: database.write(lambda db: queue.reopen_in(db, "lesson-1", PERSON, "undo")),
            lambda: decide(queue, database, status=REJECTED),
        )
        for step in steps:
            await step()
            trail = await queue.events("lesson-1")
            assert trail[: len(seen)] == seen
            assert len(trail) > len(seen)
            seen = trail
        assert [event.kind.value for event in trail] == [
            "added",
            "revised",
            "snoozed",
            "refused",
            "approved",
            "reopened",
            "rejected",
        ]

    async def test_refusing_an_unknown_item_leaves_no_trace(self, queue: ApprovalQueue) -> None:
        await queue.refused("nothing", actor="terminal", reason="no terminal")
        assert await queue.events("nothing") == ()


class TestPayloadHash:
    def test_the_layout_of_the_json_does_not_matter_and_its_content_does(self) -> None:
        one, two = item(payload='{"a": 1, "b": 2}'), item(payload='{"b":2,"a":1}')
        assert payload_hash(one) == payload_hash(two)
        assert payload_hash(one) != payload_hash(item(payload='{"a": 1, "b": 3}'))

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_anything_has_a_hash(self, payload: str) -> None:
        assert len(payload_hash(item(payload=payload))) == 64

    def test_json_too_deep_to_read_has_a_hash(self) -> None:
        assert len(payload_hash(item(payload="[" * 100_000))) == 64
