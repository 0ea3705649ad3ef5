"""A review: keys inert at first, the decision bound to what is shown, rewording before approval."""

import asyncio
from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.models import WORDED_FIELDS, Author, Lesson, ProceduralMemoryProposal
from synthorg_tui.curation.review import Review
from synthorg_tui.tui.approvals import rewording as approvals_rewording
from synthorg_tui.tui.approvals.dialogs import RewordForm
from synthorg_tui.tui.approvals.parts import PartsScreen
from synthorg_tui.tui.approvals.review import ReviewScreen
from synthorg_tui.tui.approvals.screen import ApprovalsScreen
from synthorg_tui.tui.approvals.wording import Wording
from synthorg_tui.tui.base.dialogs import ConfirmDialog, HelpScreen, PromptDialog
from synthorg_tui.tui.sessions.transcript import TranscriptScreen
from tests.tui.approvals.approvals_fakes import (
    PROPOSED,
    FakeApprovals,
    approval_rows,
    written,
)
from tests.tui.skills.skills_fakes import EVALUATIONS
from tests.tui.tui_fakes import FakeDesk, Seconds, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

LESSON, FLAGGED = "lesson-0000", "conflict-0005"


def desk_with(count: int = 6) -> FakeDesk:
    desk = FakeDesk(rows(6))
    desk.approvals = FakeApprovals(approval_rows(count))
    return desk


async def open_review(pilot: Pilot[None], down: int = 0) -> ReviewScreen:
    await settle(pilot)
    await pilot.press("4")
    await settle(pilot)
    await pilot.press(*["j"] * down, "enter")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


async def test_what_only_its_agent_reported_is_said_beside_the_evidence_and_the_texts() -> None:
    desk = desk_with()
    entry = desk.approvals.rows[LESSON]
    lesson = entry.subject
    assert isinstance(lesson, Lesson)
    told = tuple(seen.model_copy(update={"reported": True}) for seen in lesson.evidence)
    subject = lesson.model_copy(
        update={"evidence": told, "authors": dict.fromkeys(WORDED_FIELDS, Author.REPORTED)}
    )
    desk.approvals.rows[LESSON] = replace(entry, subject=subject, evidence=told, recurrence=0)
    app = fake_app(desk)
    async with app.run_test(size=(80, 60)) as pilot:
        await open_review(pilot)
        shown = screen_text(app)
    assert shown.count("reported by the agent itself, not recorded") == len(told)
    assert "only reported" in shown
    assert "◌ reported" in shown
    assert "◆ evidence" not in shown


async def test_evidence_comes_first_then_what_would_be_kept_and_its_authors() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(80, 60)) as pilot:
        await open_review(pilot)
        shown = screen_text(app)
        parts = ("Evidence", "✗ git push", "Discovery", "Change of the file", "Nearly the same")
        places = [shown.index(part) for part in parts]
        assert places == sorted(places)
        assert "◇ model" in shown
        assert "◆ evidence" in shown
        assert "confidence" in shown
        assert "seen in 2 runs" in shown
        assert "+description" in shown


class TestBound:
    @pytest.mark.parametrize("key", ["a", "x"])
    async def test_a_proposal_changed_behind_it_is_refused_and_shown_anew(self, key: str) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await open_review(pilot)
            desk.approvals.rewrite(LESSON, "Force-push whatever it says")
            await pilot.press(key)
            if key == "x":
                await type_text(pilot, "wrong")
                await pilot.press("enter")
            await settle(pilot)
            assert app.screen is screen
            assert not desk.approvals.decided
            shown = screen_text(app)
            assert "It changed since you read it" in shown
            assert "+ Force-push whatever it says" in shown
            assert "- Set the upstream with the first push" in shown

    async def test_a_file_changed_behind_it_is_refused_and_its_change_shown(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            await open_review(pilot)
            desk.approvals.touch_file(LESSON, "somebody was here")
            await pilot.press("a")
            await settle(pilot)
            assert not desk.approvals.decided
            assert "+ +somebody was here" in screen_text(app)

    async def test_what_is_shown_anew_is_inert_again_and_then_can_be_approved(self) -> None:
        desk, seconds = desk_with(), Seconds()
        seconds.held = True
        app = fake_app(desk, seconds=seconds)
        async with app.run_test() as pilot:
            await open_review(pilot)
            seconds.at += 1
            desk.approvals.rewrite(LESSON, "Another text")
            await pilot.press("a", "a")
            await settle(pilot)
            assert not desk.approvals.decided
            seconds.at += 1
            await pilot.press("a")
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == [LESSON]

    async def test_an_item_decided_elsewhere_is_not_decided_again(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            shown = screen.shown.review
            assert isinstance(shown, Review)
            await desk.approvals.reject(LESSON, shown.shown, "elsewhere")
            await pilot.press("r")
            await settle(pilot)
            await pilot.press("a")
            await settle(pilot)
            assert [each[1] for each in desk.approvals.decided] == ["rejected"]
            assert "It is rejected" in toasts(app)


class TestDecisions:
    async def test_approving_goes_back_to_the_inbox_with_the_next_item(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.press("a")
            await settle(pilot)
            assert desk.approvals.decided == [(LESSON, "approved", None)]
            assert isinstance(app.screen, ApprovalsScreen)
            assert app.screen.rows.entry is not None
            assert app.screen.rows.entry.item.id == "lesson-0001"
            assert "●5" in screen_text(app)

    async def test_help_that_lies_over_the_review_stays_when_the_decision_is_done(self) -> None:
        desk = desk_with()
        desk.approvals.gate = asyncio.Event()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("a", "question_mark")
            await settle(pilot, held=1)
            assert isinstance(app.screen, HelpScreen)
            desk.approvals.gate.set()
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == [LESSON]
            assert isinstance(app.screen, HelpScreen)
            await pilot.press("escape")
            await settle(pilot)
            assert screen.is_active
            assert screen.shown.review is not None
            assert screen.shown.review.item.status == "approved"

    async def test_what_is_flagged_asks_once_more_and_no_has_the_focus(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot, down=5)
            assert "an instruction to the agent" in screen_text(app)
            await pilot.press("a")
            await settle(pilot)
            assert isinstance(app.screen, ConfirmDialog)
            assert "says otherwise" in screen_text(app)
            await pilot.press("enter")
            await settle(pilot)
            assert not desk.approvals.decided
            await pilot.press("a", "y")
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == [FLAGGED]

    async def test_a_rejection_needs_a_reason(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.press("x")
            await settle(pilot)
            assert isinstance(app.screen, PromptDialog)
            await pilot.press("enter")
            await settle(pilot)
            assert not desk.approvals.decided
            assert "Nothing is written yet" in screen_text(app)
            await type_text(pilot, "not ours")
            await pilot.press("enter")
            await settle(pilot)
            assert desk.approvals.decided == [(LESSON, "rejected", "not ours")]

    async def test_snoozing_puts_it_out_of_the_way(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.press("w", "enter")
            await settle(pilot)
            assert desk.approvals.rows[LESSON].item.snoozed_until is not None
            assert "●5" in screen_text(app)

    async def test_undo_brings_the_item_back(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.press("a")
            await settle(pilot)
            await pilot.press("u")
            await settle(pilot)
            assert desk.approvals.status(LESSON) == "pending"

    async def test_an_item_that_is_gone_is_told(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            del desk.approvals.rows["lesson-0001"]
            await pilot.press("n")
            await settle(pilot)
            assert "There is no item lesson-0001." in screen_text(app)
            await pilot.press("a")
            await settle(pilot)
            assert not desk.approvals.decided

    async def test_an_error_of_the_decision_is_told_and_the_review_stays(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk = desk_with()

        async def fail(*_: object) -> str:
            raise DomainError("The disk is full.", remedy="Make room.")

        monkeypatch.setattr(desk.approvals, "approve", fail)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("a")
            await settle(pilot)
            assert app.screen is screen
            assert "The disk is full." in toasts(app)

    async def test_a_reason_that_could_not_be_stored_is_there_the_next_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk = desk_with()

        async def fail(*_: object) -> str:
            raise DomainError("The disk is full.", remedy="Free some space.")

        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            with monkeypatch.context() as refusing:
                refusing.setattr(desk.approvals, "reject", fail)
                await pilot.press("x")
                await type_text(pilot, "too vague")
                await pilot.press("enter")
                await settle(pilot)
            assert "The disk is full." in toasts(app)
            await pilot.press("x")
            assert "too vague" in screen_text(app)
            await pilot.press("enter")
            await settle(pilot)
            assert desk.approvals.status(LESSON) == "rejected"


class TestRewording:
    async def test_edited_in_the_form_it_is_shown_then_approved_with_that_wording(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await open_review(pilot)
            await pilot.press("e")
            await settle(pilot)
            assert isinstance(app.screen, RewordForm)
            await pilot.press("N", "o", "w", "space", "ctrl+s")
            await settle(pilot)
            assert not desk.approvals.decided
            assert "+ Now Set the upstream" in screen_text(app)
            assert "✎ you" in screen_text(app)
            assert screen.shown.draft is not None
            await pilot.press("a")
            await settle(pilot)
            edited = desk.approvals.decided[0][2]
            assert isinstance(edited, ProceduralMemoryProposal)
            assert edited.discovery == f"Now {PROPOSED.discovery}"
            assert edited.execution_steps == PROPOSED.steps

    async def test_an_empty_field_is_refused_and_a_changed_form_is_not_left_by_accident(
        self,
    ) -> None:
        app = fake_app(desk_with())
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("e")
            await settle(pilot)
            form = app.screen
            form.query_one("#action", TextArea).text = "  "
            await pilot.press("ctrl+s")
            await settle(pilot)
            assert "Action is empty." in screen_text(app)
            await pilot.press("escape")
            assert app.screen is form
            await pilot.press("escape")
            await settle(pilot)
            assert app.screen is screen
            assert screen.shown.draft is None

    async def test_reworded_in_the_editor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        desk = desk_with()
        texts = ["[DISCOVERY]\nOnly this", ""]

        def edit(_app: object, text: str) -> str:
            texts[1] = text
            return texts[0]

        monkeypatch.setattr(approvals_rewording, "edit_text", edit)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("E")
            await settle(pilot)
            assert "Condition is empty" in toasts(app)
            assert screen.shown.draft is None
            texts[0] = "[DISCOVERY]\nPush with -u\n[CONDITION]\nc\n[ACTION]\na\n[RATIONALE]\nr"
            await pilot.press("E")
            await settle(pilot)
            assert texts[1] == "[DISCOVERY]\nOnly this"
            assert screen.shown.draft == Wording("Push with -u", "c", "a", "r")

    async def test_parts_take_the_evidence_of_a_field_and_drop_a_step(self) -> None:
        desk = desk_with()
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.press("f")
            await settle(pilot)
            assert isinstance(app.screen, PartsScreen)
            await pilot.press("right", "G", "space", "ctrl+s")
            await settle(pilot)
            await pilot.press("a")
            await settle(pilot)
            edited = desk.approvals.decided[0][2]
            assert isinstance(edited, ProceduralMemoryProposal)
            assert edited.discovery.startswith("`git push` fails")
            assert edited.rationale == PROPOSED.rationale
            assert edited.execution_steps == PROPOSED.steps[:1]

    async def test_a_wording_is_dropped_or_left_only_on_purpose(self) -> None:
        app = fake_app(desk_with())
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("e", "Z", "ctrl+s")
            await settle(pilot)
            await pilot.press("n", "escape")
            await settle(pilot)
            assert app.screen is screen
            assert screen.shown.draft is not None
            await pilot.press("backspace")
            await settle(pilot)
            assert screen.shown.draft is None

    async def test_only_lessons_can_be_reworded(self) -> None:
        app = fake_app(desk_with())
        async with app.run_test() as pilot:
            screen = await open_review(pilot, down=4)
            assert "Lesson 6 that nobody used" in screen_text(app)
            await pilot.press("e")
            await settle(pilot)
            assert app.screen is screen


async def test_the_footer_of_a_review_offers_what_has_an_effect() -> None:
    app = fake_app(desk_with(1))
    async with app.run_test(size=(160, 40)) as pilot:
        await open_review(pilot)
        footer = screen_text(app).splitlines()[-1]
        assert "a Approve" in footer
        for label in ("Drop", "Next", "Previous"):
            assert label not in footer
        await pilot.press("e", "Z", "ctrl+s")
        await settle(pilot)
        assert "Drop" in screen_text(app).splitlines()[-1]


async def test_the_transcript_of_the_chosen_occurrence_is_shown() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        await open_review(pilot)
        await pilot.press("right_square_bracket", "p")
        await settle(pilot)
        assert isinstance(app.screen, TranscriptScreen)
        assert "lines 31–40" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)


async def test_whether_a_proposed_skill_helps_is_looked_up_once_and_again_on_its_key() -> None:
    desk = desk_with()
    desk.approvals.evaluations = EVALUATIONS
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        assert "lint ok · found for 9 of 10" in screen_text(app)
        assert desk.approvals.looked == [(LESSON, False)]
        await pilot.press("percent_sign")
        await settle(pilot)
        assert desk.approvals.looked[1:] == [(LESSON, True)]


async def test_a_write_proposes_no_skill_and_is_not_looked_at() -> None:
    row = written("Staging's database listens on port 6543.")
    desk = desk_with()
    desk.approvals = FakeApprovals([row])
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_review(pilot)
        await pilot.press("percent_sign")
        await settle(pilot)
        assert desk.approvals.looked == []
        assert "Does it help" not in screen_text(app)
