"""A review's versions of a lesson, and keys that do nothing until what is shown was there."""

from dataclasses import replace

import pytest

from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.tui.actions import of
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.dialogs import RewordForm
from synthorg_tui.tui.approvals.screen import ApprovalsScreen
from synthorg_tui.tui.approvals.wording import Wording, approvable
from tests.tui.approvals.test_review_screen import LESSON, desk_with, open_review
from tests.tui.tui_fakes import FakeDesk, Seconds, fake_app
from tests.tui.tui_helpers import screen_text, settle, toasts

DECIDING = ("approve", "reject", "snooze", "undo", "drop")
INERT = [action.keys for action in of("review") if action.method in DECIDING]


def worded(desk: FakeDesk, **refused: str) -> Lesson:
    """Give the first lesson words of a model, one of which is proposed."""
    entry = desk.approvals.rows[LESSON]
    lesson = entry.subject
    assert isinstance(lesson, Lesson)
    said = lesson.grounded.model_copy(
        update={
            "discovery": "Name the upstream branch.",
            "rationale": "A new branch has none.",
            "check": "See that the push passes.",
        }
    )
    subject = lesson.model_copy(
        update={
            "proposal": lesson.grounded.model_copy(update={"discovery": said.discovery}),
            "suggested": said,
            "authors": lesson.authors | {"discovery": Author.MODEL},
            "refused": refused,
        }
    )
    desk.approvals.rows[LESSON] = replace(entry, subject=subject)
    return subject


class TestVersions:
    async def test_one_key_shows_the_models_words_then_codes_then_what_was_proposed(self) -> None:
        desk = desk_with()
        lesson = worded(desk, name="name has 'origin', which the evidence doesn't")
        app = fake_app(desk)
        async with app.run_test(size=(120, 80)) as pilot:
            screen = await open_review(pilot)
            assert "name has 'origin', which the evidence doesn't" in screen_text(app)
            assert "The model's words" not in screen_text(app)
            await pilot.press("m")
            await settle(pilot)
            shown = screen_text(app)
            assert "The model's words; not approved yet" in shown
            assert "A new branch has none." in shown
            assert "See that the push passes." in shown
            await pilot.press("m")
            await settle(pilot)
            assert "Code's words; not approved yet" in screen_text(app)
            assert lesson.grounded.discovery[:30] in screen_text(app)
            await pilot.press("m")
            await settle(pilot)
            assert screen.shown.draft is None
            assert "not approved yet" not in screen_text(app)

    async def test_what_is_approved_is_the_version_shown_with_its_authors(self) -> None:
        desk = desk_with()
        lesson = worded(desk)
        app = fake_app(desk)
        async with app.run_test(size=(120, 60)) as pilot:
            screen = await open_review(pilot)
            await pilot.press("m")
            await settle(pilot)
            draft = screen.shown.draft
            assert isinstance(draft, Wording)
            proposal, authors = approvable(lesson, draft)
            assert proposal == lesson.suggested
            assert authors["discovery"] is authors["rationale"] is Author.MODEL
            assert authors["action"] is lesson.source
            await pilot.press("a")
            await settle(pilot)
            assert desk.approvals.decided[-1][-1] == lesson.suggested

    async def test_switching_disables_the_keys_that_decide_for_a_moment(self) -> None:
        desk, seconds = desk_with(), Seconds()
        worded(desk)
        seconds.held = True
        app = fake_app(desk, seconds=seconds)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.press("m", "a")
            await settle(pilot)
            assert not desk.approvals.decided

    async def test_a_version_is_left_without_a_warning_a_wording_of_ones_own_is_not(self) -> None:
        desk = desk_with()
        worded(desk)
        app = fake_app(desk)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("m", "n")
            await settle(pilot)
            assert screen.shown.draft is None
            assert screen.shown.place == "2 of 6"
            await pilot.press("N")
            await settle(pilot)
            wording = screen.shown.wording
            assert isinstance(wording, Wording)
            screen.shown.take(replace(wording, action="My own."))
            await pilot.press("m")
            await settle(pilot)
            assert isinstance(screen.shown.draft, Wording)
            assert screen.shown.draft.action == "My own."
            assert "Your wording is not approved" in toasts(app)

    async def test_the_footer_offers_other_words_only_where_there_are_some(self) -> None:
        desk = desk_with(1)
        app = fake_app(desk)
        async with app.run_test(size=(160, 40)) as pilot:
            await open_review(pilot)
            assert "m Words" not in screen_text(app).splitlines()[-1]
        worded(desk)
        app = fake_app(desk)
        async with app.run_test(size=(160, 40)) as pilot:
            await open_review(pilot)
            assert "m Words" in screen_text(app).splitlines()[-1]


class TestInert:
    async def test_keys_that_decide_do_nothing_as_the_review_opens(self) -> None:
        desk, seconds = desk_with(), Seconds()
        seconds.held = True
        app = fake_app(desk, seconds=seconds)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            shown = screen.shown.review
            assert shown is not None
            for key in INERT:
                await pilot.press(*key.split(","))
                await settle(pilot)
                assert app.screen is screen, key
            assert screen.shown.review is shown
            assert not desk.approvals.decided
            assert screen.shown.draft is None

    async def test_keys_that_decide_nothing_work_as_soon_as_they_are_pressed(self) -> None:
        seconds = Seconds()
        seconds.held = True
        app = fake_app(desk_with(), seconds=seconds)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            for place in ("2 of 6", "3 of 6", "4 of 6"):
                await pilot.press("n")
                await settle(pilot)
                assert screen.shown.place == place
            await pilot.press("N", "e")
            await settle(pilot)
            assert isinstance(app.screen, RewordForm)

    @pytest.mark.parametrize(("after", "decided"), [(0.499, False), (0.5, True)])
    async def test_keys_work_from_half_a_second_on(self, after: float, decided: bool) -> None:
        desk, seconds = desk_with(), Seconds()
        seconds.held = True
        app = fake_app(desk, seconds=seconds)
        async with app.run_test() as pilot:
            await open_review(pilot)
            seconds.at += after
            await pilot.press("a")
            await settle(pilot)
            assert bool(desk.approvals.decided) is decided

    async def test_a_click_on_the_footer_is_inert_too(self) -> None:
        desk, seconds = desk_with(), Seconds()
        seconds.held = True
        app = fake_app(desk, seconds=seconds)
        async with app.run_test() as pilot:
            await open_review(pilot)
            await pilot.click("#keys", offset=(4, 0))
            await settle(pilot)
            assert not desk.approvals.decided
            seconds.at += 1
            await pilot.click("#keys", offset=(4, 0))
            await settle(pilot)
            assert [each[0] for each in desk.approvals.decided] == [LESSON]

    async def test_reading_on_and_leaving_work_at_once(self) -> None:
        seconds = Seconds()
        seconds.held = True
        app = fake_app(desk_with(), seconds=seconds)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            await pilot.press("j")
            await settle(pilot)
            assert screen.query_one("#ground").scroll_offset.y == 1
            await pilot.press("escape")
            await settle(pilot)
            assert isinstance(app.screen, ApprovalsScreen)

    async def test_the_next_item_is_inert_again(self) -> None:
        desk, seconds = desk_with(), Seconds()
        seconds.held = True
        app = fake_app(desk, seconds=seconds)
        async with app.run_test() as pilot:
            screen = await open_review(pilot)
            seconds.at += 1
            await pilot.press("n", "a")
            await settle(pilot)
            assert screen.shown.review is not None
            assert screen.shown.review.item.id == "lesson-0001"
            assert not desk.approvals.decided


async def test_a_review_left_and_come_back_to_is_inert_again() -> None:
    desk, seconds = desk_with(), Seconds()
    seconds.held = True
    app: MemoryDeskApp = fake_app(desk, seconds=seconds)
    async with app.run_test() as pilot:
        await open_review(pilot)
        seconds.at += 1
        await pilot.press("1")
        await settle(pilot)
        await pilot.press("4", "a")
        await settle(pilot)
        assert not desk.approvals.decided
