"""The consolidation screen: plans and groups shown, adopted, dropped, taken back; its pictures."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.consolidation.plan import (
    ConsolidationPlan,
    GroupKind,
    GroupMember,
    GroupState,
    MemberRole,
    MergedText,
    PlannedGroup,
    TextAuthor,
)
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.screen import ApprovalsScreen
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.manage.consolidation import ConsolidationScreen
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, until

TEXTS = rows(12)


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def merged(author: TextAuthor) -> MergedText:
    return MergedText(
        content="Consolidated episodic memories:\n- the flaky checkout test\n- the HTTP client",
        category="episodic",
        namespace="default",
        tags=(),
        source="consolidation",
        confidence=0.8,
        level="project",
        written_by=author,
    )


def group(
    number: int,
    kind: GroupKind,
    *,
    leaves: int = 2,
    kept: int = 0,
    state: GroupState = GroupState.PROPOSED,
    text: MergedText | None = None,
) -> PlannedGroup:
    """A group of which the first ``kept`` memories stay and the next ``leaves`` leave."""
    roles = [MemberRole.KEPT] * kept + [MemberRole.ARCHIVED] * leaves
    members = tuple(
        GroupMember(TEXTS[at % 12].id, role, "") for at, role in enumerate(roles, start=number)
    )
    reason = "the same text, recorded again" if kept else "the last of its kind is 90 days old"
    item = "merge-1" if state is GroupState.WAITING else None
    return PlannedGroup(
        *(number, kind, "claude-code", members, reason, leaves, 320, 110),
        text=text,
        state=state,
        item_id=item,
    )


def plan(number: int, *groups: PlannedGroup, hours: float = 1) -> ConsolidationPlan:
    made_at = NOW - timedelta(hours=hours)
    return ConsolidationPlan(
        None, made_at, "ada (tui)", 149, 13_489, groups, held_back=3, number=number
    )


DUPLICATES = group(1, GroupKind.DUPLICATE, kept=1)
BY_CODE = group(2, GroupKind.MERGED, leaves=3, text=merged(TextAuthor.CODE))
BY_MODEL = group(
    3, GroupKind.MERGED, leaves=4, text=merged(TextAuthor.MODEL), state=GroupState.WAITING
)
EXPIRED = group(4, GroupKind.EXPIRED, leaves=5)


def full() -> FakeManagement:
    """Three plans: one open, one adopted but for a group that was left, one dropped."""
    left = replace(group(2, GroupKind.ROOM), state=GroupState.LEFT, note="a memory was edited")
    done = group(1, GroupKind.SUPERSEDED, kept=1, state=GroupState.APPLIED)
    dropped = group(1, GroupKind.ROOM, state=GroupState.DROPPED)
    return FakeManagement(
        plans=[
            plan(7, DUPLICATES, BY_CODE, BY_MODEL, EXPIRED),
            plan(6, done, left, hours=30),
            plan(5, dropped, hours=200),
        ],
        texts=TEXTS,
    )


def app_with(management: FakeManagement) -> MemoryDeskApp:
    app = fake_app(FakeDesk(rows(6)), management=management)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return app


async def opened(pilot: Pilot[None], *keys: str) -> MemoryDeskApp:
    app = pilot.app
    assert isinstance(app, MemoryDeskApp)
    await settle(pilot)
    for key in ("f10", *keys):
        await pilot.press(key)
        await settle(pilot)
    return app


def compare(snap_compare: Compare, size: Size, management: FakeManagement, *keys: str) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await opened(pilot, *keys)

    return snap_compare(app_with(management), terminal_size=size, run_before=before)


def test_no_plans(snap_compare: Compare) -> None:
    """That there is no plan, what one says, and that r makes one."""
    assert compare(snap_compare, SIZES, FakeManagement())


def test_plans(snap_compare: Compare) -> None:
    """Three plans, newest first, the newest with its four groups; of it memories and tokens before
    and after, what was held back, how many groups are open and in Approvals, and what keys do."""
    assert compare(snap_compare, SIZES, full())


def test_a_group_of_copies(snap_compare: Compare) -> None:
    """Kind, reason, 3 memories become 1, tokens; the text that stays, then those that leave."""
    assert compare(snap_compare, SIZES, full(), "j")


def test_a_text_by_code(snap_compare: Compare) -> None:
    """That code wrote it, from how many sources; the new text, then what it stands for; marked."""
    assert compare(snap_compare, SIZES, full(), "j", "space")


def test_a_text_by_a_model(snap_compare: Compare) -> None:
    """'by a model' and 'in Approvals' in the list; that it is decided there, and the key."""
    assert compare(snap_compare, SIZES, full(), *"jjj")


def test_a_group_that_was_left(snap_compare: Compare) -> None:
    """'left', and why: a memory was edited."""
    assert compare(snap_compare, SIZES, full(), *"jjjjj", "enter", "j", "j")


def test_a_plan_that_fails_to_load(snap_compare: Compare) -> None:
    """What failed and what to do."""
    management = full()
    management.plan_error = DomainError("the store is closed", remedy="Open it again.")
    assert compare(snap_compare, SIZES, management)


def test_the_question_before_adopting(snap_compare: Compare) -> None:
    """How many groups of which plan, each with its kind; that u takes it back; No has the focus."""
    assert compare(snap_compare, SIZES, full(), "a")


def test_a_plan_is_being_made(snap_compare: Compare) -> None:
    """'1,200 of 20,000 memories looked at' above the footer, and c Stop in it."""
    management = full()
    management.plan_gate = asyncio.Event()

    async def before(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await pilot.press("r")
        await settle(pilot, held=1)

    assert snap_compare(app_with(management), terminal_size=SIZES, run_before=before)


def test_many_groups(snap_compare: Compare) -> None:
    """The groups of a plan of 400 can be scrolled; the last one has the cursor."""
    kinds = (GroupKind.DUPLICATE, GroupKind.EXPIRED)
    groups = [group(number, kinds[number % 2]) for number in range(1, 401)]
    management = FakeManagement(plans=[plan(1, *groups)], texts=TEXTS)
    assert compare(snap_compare, SIZES, management, "G")


async def test_a_plan_is_made_and_listed_first() -> None:
    management = FakeManagement(texts=TEXTS)
    management.found = plan(1, DUPLICATES)
    async with app_with(management).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "r")
        assert management.asked == ["plan"]
        assert "Plan 1" in screen_text(app)
        assert "duplicate" in screen_text(app)


async def test_that_nothing_could_leave_is_said() -> None:
    async with app_with(FakeManagement()).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "r")
        assert "Looked at 46 memories: nothing could leave" in toasts(app)
        assert "No plans yet" in screen_text(app)


async def test_making_a_plan_is_stopped_and_isn_t_left_meanwhile() -> None:
    management = FakeManagement()
    management.plan_gate = asyncio.Event()
    async with app_with(management).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await pilot.press("r")
        await until(pilot, lambda: "1,200 of 20,000" in screen_text(app))
        await pilot.press("escape")
        assert isinstance(app.screen, ConsolidationScreen)
        await pilot.press("c")
        management.plan_gate.set()
        await settle(pilot)
        assert "no plan was made" in toasts(app)


async def test_a_whole_plan_is_adopted_without_the_texts_of_a_model_and_taken_back() -> None:
    management = full()
    async with app_with(management).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "a")
        assert isinstance(app.screen, ConfirmDialog)
        assert "Adopt 3 groups of plan 7?" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        assert management.asked == []
        await pilot.press("a", "y")
        await settle(pilot)
        assert management.asked == ["apply 7 (1, 2, 4)"]
        assert "10 memories archived · 149 live before, 139 now" in toasts(app)
        await pilot.press("u", "y")
        await settle(pilot)
        assert management.asked[-1] == "undo 7"
        assert "10 memories live again" in toasts(app)
        await pilot.press("u")
        await settle(pilot)
        assert "Nothing of this plan was adopted" in toasts(app)


async def test_marked_groups_alone_are_adopted_and_others_dropped() -> None:
    management = full()
    async with app_with(management).run_test(size=(120, 40)) as pilot:
        await opened(pilot, "j", "space", "a", "y")
        assert management.asked == ["apply 7 (1,)"]
        await pilot.press("g", "j", "j", "x", "y")
        await settle(pilot)
        assert management.asked[-1] == "drop 7 (2,)"
        await pilot.press("g", "asterisk", "x", "y")
        await settle(pilot)
        assert management.asked[-1] == "drop 7 (4,)"


async def test_a_model_s_text_is_inert_here_and_enter_goes_to_approvals() -> None:
    management = full()
    async with app_with(management).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, *"jjj", "a")
        assert "it is decided in Approvals" in toasts(app)
        for key in ("x", "space"):
            await pilot.press(key)
            await settle(pilot)
        assert isinstance(app.screen, ConsolidationScreen)
        assert management.asked == []
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, ApprovalsScreen)
        assert "merge" in screen_text(app)


async def test_a_plan_is_folded_and_a_group_of_an_old_one_undecidable() -> None:
    async with app_with(full()).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "enter")
        assert "claude-code" not in screen_text(app)
        await pilot.press("G", "enter", "j", "a")
        await settle(pilot)
        assert "This group was decided already" in toasts(app)


async def test_an_error_while_adopting_is_shown_with_its_remedy() -> None:
    management = full()

    async def refuse(*_: object, **__: object) -> None:
        raise DomainError("consolidation is off", remedy="Set memory.consolidation.enabled.")

    management.apply_plan = refuse  # type: ignore[assignment,method-assign]
    async with app_with(management).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "a", "y")
        assert "consolidation is off" in screen_text(app)
        assert "Set memory.consolidation.enabled." in screen_text(app)


async def test_the_key_that_opened_it_closes_it_and_jobs_lead_there() -> None:
    async with app_with(full()).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot, "f10")
        assert not isinstance(app.screen, ConsolidationScreen)
        await pilot.press("f9")
        await settle(pilot)
        await pilot.press("f10")
        await settle(pilot)
        assert isinstance(app.screen, ConsolidationScreen)
