"""The Approvals pane, driven by keys over a queue in memory."""

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from synthorg_tui.approvals.proposals import MAX_PENDING, asked_by
from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.review import ReviewScreen
from synthorg_tui.tui.approvals.screen import ApprovalsScreen
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from tests.tui.approvals.approvals_fakes import NOW, FakeApprovals, approval_rows
from tests.tui.tui_fakes import FakeDesk, Seconds, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text


def desk_with(count: int) -> FakeDesk:
    desk = FakeDesk(rows(6))
    desk.approvals = FakeApprovals(approval_rows(count))
    return desk


def pane(app: MemoryDeskApp) -> ApprovalsScreen:
    screen = app.screen
    assert isinstance(screen, ApprovalsScreen)
    return screen


async def open_pane(pilot: Pilot[None]) -> None:
    await settle(pilot)
    await pilot.press("4")
    await settle(pilot)


async def review(pilot: Pilot[None], count: int = 1) -> None:
    """Read so many items from the cursor on, long enough to count as reviewed."""
    for _ in range(count):
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(pilot.app.screen, ReviewScreen)
        pilot.app.screen._wake()
        await pilot.press("escape", "j")
        await settle(pilot)


class TestHeader:
    async def test_what_waits_is_counted_on_every_pane(self) -> None:
        app = fake_app(desk_with(7))
        async with app.run_test() as pilot:
            await settle(pilot)
            for key in "1234":
                await pilot.press(key)
                await settle(pilot)
                first = screen_text(app).splitlines()[0].replace(" ●", "●")
                assert "4 Approvals●7" in first or "4 Appr●7" in first

    async def test_nothing_is_counted_before_the_first_rows_are_shown(self) -> None:
        desk = desk_with(7)
        app = fake_app(desk)
        counted: list[int] = []
        async with app.run_test() as pilot:
            while not app.maker.memories.rows.window.rows:
                counted.append(desk.approvals.counted)
                await pilot.pause(0.001)
            await settle(pilot)
            assert not any(counted)
            assert desk.approvals.counted == 1

    async def test_an_import_counts_again(self) -> None:
        desk = desk_with(2)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await settle(pilot)
            desk.approvals = FakeApprovals(approval_rows(5))
            await pilot.press("i", "i")
            await settle(pilot)
            assert "●5" in screen_text(app)

    async def test_what_others_put_there_is_counted_while_the_app_runs(self) -> None:
        desk = desk_with(2)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await settle(pilot)
            desk.approvals.rows = FakeApprovals(approval_rows(5)).rows
            desk.approvals.changed()
            await settle(pilot)
            assert "●5" in screen_text(app)

    async def test_with_nothing_waiting_there_is_no_count(self) -> None:
        app = fake_app(desk_with(0))
        async with app.run_test() as pilot:
            await open_pane(pilot)
            assert "●" not in screen_text(app)
            assert "Nothing waits for you" in screen_text(app)


class TestInbox:
    async def test_the_item_under_the_cursor_is_shown_with_its_evidence(self) -> None:
        app = fake_app(desk_with(6))
        async with app.run_test(size=(120, 40)) as pilot:
            await open_pane(pilot)
            shown = screen_text(app)
            assert "Set the upstream with the first push" in shown
            assert "fatal: The current branch feature/cart" in shown
            assert "✓ git push -u origin HEAD" in shown

    async def test_filter_narrows_in_place_and_tells_totals(self) -> None:
        app = fake_app(desk_with(12))
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await pilot.press("slash")
            await type_text(pilot, "kind:lesson -timer")
            await settle(pilot)
            assert {row.kind for row in pane(app).inbox.rows} == {"lesson"}
            assert "2 of 12" in screen_text(app)
            assert "without timer" in screen_text(app)
            await pilot.press("escape")
            await settle(pilot)
            assert len(pane(app).inbox.rows) == 12

    async def test_groups_have_headings_that_the_cursor_passes_over(self) -> None:
        app = fake_app(desk_with(12))
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await pilot.press("t", "g")
            await settle(pilot)
            assert "conflict 2" in screen_text(app)
            assert pane(app).rows.entry == pane(app).inbox.rows[0]

    async def test_views_show_what_waits_is_snoozed_or_was_decided(self) -> None:
        desk = desk_with(3)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await pilot.press("w")
            await settle(pilot)
            assert isinstance(app.screen, ChoiceDialog)
            await pilot.press("enter")
            await settle(pilot)
            assert "●2" in screen_text(app)
            assert len(pane(app).inbox.rows) == 2
            await pilot.press("v")
            await settle(pilot)
            assert [row.item.snoozed_until is not None for row in pane(app).inbox.rows] == [True]
            await pilot.press("w")
            await settle(pilot)
            assert "●3" in screen_text(app)
            assert "Nothing is snoozed" in screen_text(app)
            await pilot.press("v")
            await settle(pilot)
            assert "Nothing was approved yet" in screen_text(app)

    async def test_a_queue_that_cannot_be_read_is_told_with_its_remedy(self) -> None:
        desk = desk_with(3)
        desk.approvals.error = DomainError("The queue is broken.", remedy="Repair it.")
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            assert "The queue is broken." in screen_text(app)
            desk.approvals.error = None
            await pilot.press("r")
            await settle(pilot)
            assert len(pane(app).inbox.rows) == 3

    @pytest.mark.parametrize("size", [(80, 24), (120, 40)])
    async def test_an_agent_that_asks_for_too_much_is_one_line_above_the_list(
        self, size: tuple[int, int]
    ) -> None:
        desk = desk_with(MAX_PENDING)
        for entry in desk.approvals.rows.values():
            desk.approvals.rows[entry.item.id] = replace(
                entry, item=entry.item.model_copy(update={"requested_by": asked_by("ada")})
            )
        app = fake_app(desk)
        async with app.run_test(size=size) as pilot:
            await open_pane(pilot)
            assert screen_text(app).count("100 proposals of agent ada wait") == 1
            assert "until you decide" in " ".join(screen_text(app).split())
            first = next(iter(desk.approvals.rows))
            del desk.approvals.rows[first]
            await pilot.press("r")
            await settle(pilot)
            assert "agent ada wait" not in screen_text(app)

    async def test_a_long_queue_is_listed_with_honest_totals(self) -> None:
        app = fake_app(desk_with(2000))
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await pilot.press("G")
            await settle(pilot)
            assert "2,000 · newest" in screen_text(app)
            assert pane(app).rows.entry == pane(app).inbox.rows[-1]


class TestBulk:
    async def test_nothing_is_approved_that_was_not_reviewed(self) -> None:
        desk = desk_with(6)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await pilot.press("asterisk", "A")
            await settle(pilot)
            assert isinstance(app.screen, ApprovalsScreen)
            assert not desk.approvals.decided

    async def test_exactly_the_reviewed_are_approved_after_asking(self) -> None:
        desk = desk_with(6)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await review(pilot, 2)
            await pilot.press("A")
            await settle(pilot)
            assert isinstance(app.screen, ConfirmDialog)
            assert "Approve 2 items as reviewed?" in screen_text(app)
            await pilot.press("y")
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == ["lesson-0000", "lesson-0001"]
            assert "●4" in screen_text(app)

    async def test_reviewed_items_that_the_filter_hides_stay(self) -> None:
        desk = desk_with(6)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await review(pilot, 3)
            await pilot.press("slash")
            await type_text(pilot, "kind:promotion")
            await pilot.press("enter", "A")
            await settle(pilot)
            assert "Approve 1 item as reviewed?" in screen_text(app)
            await pilot.press("y")
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == ["promotion-0002"]

    async def test_marks_narrow_it_and_what_stays_is_told(self) -> None:
        desk = desk_with(6)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await review(pilot, 2)
            await pilot.press("g", "space", "G", "space", "A")
            await settle(pilot)
            assert "Approve 1 item as reviewed?" in screen_text(app)
            assert "1 marked but not reviewed stay." in screen_text(app)
            await pilot.press("n")
            await settle(pilot)
            assert not desk.approvals.decided

    async def test_one_that_changed_meanwhile_is_refused_and_has_to_be_read_again(self) -> None:
        desk = desk_with(6)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await review(pilot, 2)
            desk.approvals.rewrite("lesson-0001", "Something else")
            await pilot.press("A", "y")
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == ["lesson-0000"]
            assert list(pane(app).inbox.reviewed) == []

    async def test_one_undo_takes_back_all_that_were_approved_at_once_as_is_said(self) -> None:
        desk = desk_with(6)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await review(pilot, 3)
            await pilot.press("A")
            await settle(pilot)
            assert "u undoes all of them at once." in screen_text(app)

    async def test_what_was_decided_offers_no_decision_in_the_footer(self) -> None:
        app = fake_app(desk_with(3))
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await review(pilot, 3)
            await pilot.press("A", "y")
            await settle(pilot)
            await pilot.press("v", "v")
            await settle(pilot)
            assert pane(app).inbox.view == "approved"
            footer = screen_text(app).splitlines()[-1]
            assert "Review" in footer
            for label in ("Approve", "Snooze", "Mark"):
                assert label not in footer

    async def test_a_glance_is_no_review(self) -> None:
        seconds = Seconds()
        seconds.held = True
        app = fake_app(desk_with(6), seconds=seconds)
        async with app.run_test() as pilot:
            await open_pane(pilot)
            await pilot.press("enter")
            await settle(pilot)
            await pilot.press("escape")
            await settle(pilot)
            assert not pane(app).inbox.reviewed


async def test_undo_takes_back_the_last_decision() -> None:
    desk = desk_with(2)
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot)
        await review(pilot, 1)
        await pilot.press("A", "y")
        await settle(pilot)
        assert "●1" in screen_text(app)
        await pilot.press("u")
        await settle(pilot)
        assert "●2" in screen_text(app)
        assert desk.approvals.status("lesson-0000") == "pending"
        await pilot.press("u")
        await settle(pilot)
        assert "There is no decision to take back" in toasts(app)


async def test_snoozing_offers_times_ahead() -> None:
    desk = desk_with(1)
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot)
        await pilot.press("w", "G", "enter")
        await settle(pilot)
        until = desk.approvals.rows["lesson-0000"].item.snoozed_until
        assert until is not None
        assert until > NOW
        assert "Nothing waits for you" in screen_text(app)
