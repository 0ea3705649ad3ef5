"""The Skills pane, driven by keys over skills in memory."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.approvals.review import ReviewScreen
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.sessions.transcript import TranscriptScreen
from synthorg_tui.tui.skills import screen as skills_module
from synthorg_tui.tui.skills.lines import known_lines
from synthorg_tui.tui.skills.screen import SkillsScreen
from synthorg_tui.tui.skills.state import Part
from tests.tui.approvals.approvals_fakes import NOW, FakeApprovals, approval_rows
from tests.tui.skills.skills_fakes import EVALUATIONS, OWN, FakeSkills, skill_rows
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

PUSH = f"{OWN}/set-upstream-first-push/SKILL.md"


def desk_with(count: int = 7) -> FakeDesk:
    desk = FakeDesk(rows(6))
    desk.skills = FakeSkills(skill_rows(count))
    desk.approvals = FakeApprovals(approval_rows(6))
    return desk


async def open_pane(pilot: Pilot[None], *, at: str = "") -> SkillsScreen:
    """Open the pane with the cursor on the skill of that name."""
    await settle(pilot)
    await pilot.press("3")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, SkillsScreen)
    for _ in range(40):
        if not at or (screen.row is not None and screen.row.name == at):
            break
        await pilot.press("j")
    await settle(pilot)
    return screen


async def test_roots_and_skills_are_listed_with_their_state_by_glyph_and_word() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        shown = screen_text(app)
        for part in (
            "project",
            "from lessons",
            "✗ review-style",
            "invalid",
            "≠ rebuild-index",
            "14×",
        ):
            assert part in shown
        for part in ("changed on disk", "◌ deploy-staging", "shadowed", "not in memory"):
            assert part in shown


async def test_without_skills_the_next_step_is_told() -> None:
    app = fake_app(desk_with(0))
    async with app.run_test() as pilot:
        await open_pane(pilot)
        assert "No skills yet" in screen_text(app)


async def test_problems_stand_under_their_lines_with_what_to_do() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot, at="review-style")
        shown = [each[48:].strip(" │") for each in screen_text(app).splitlines()]
        at = next(n for n, each in enumerate(shown) if "name differs" in each)
        assert '2 name: "review-style"' in shown[at - 1]
        assert "→ Rename the folder." in shown[at + 1]
        await pilot.press("n")
        await settle(pilot)
        assert "2 problems · n next" in screen_text(app)


async def test_what_taught_it_how_often_it_was_applied_and_its_versions_are_known() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 60)) as pilot:
        await open_pane(pilot, at="set-upstream-first-push")
        await pilot.press("z", "v")
        await settle(pilot)
        shown = screen_text(app)
        for part in ("Taught by", "3f2a91c0 L10–14", "14×, last", "edited by person (tui)"):
            assert part in shown


@pytest.mark.parametrize(
    ("size", "parts"),
    [
        ((120, 40), [Part.CHANGES, Part.SOURCE]),
        ((80, 24), [Part.KNOWN, Part.CHANGES, Part.SOURCE]),
    ],
)
async def test_each_press_shows_another_view(size: tuple[int, int], parts: list[Part]) -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=size) as pilot:
        screen = await open_pane(pilot, at="rebuild-index")
        for part in parts:
            before = screen_text(app)
            await pilot.press("v")
            await settle(pilot)
            assert screen.skills.shown is part
            assert screen_text(app) != before


async def test_its_memory_its_text_and_other_orders_are_a_key_away() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_pane(pilot, at="set-upstream-first-push")
        await pilot.press("y")
        await settle(pilot)
        assert app.clipboard == (screen.skill.text if screen.skill else "")
        await pilot.press("o", "o")
        await settle(pilot)
        assert screen.skills.caption == "7 · state"
        assert [row.name for row in screen.skills.groups[0].rows] == [
            "review-style",
            "run-the-tests",
            "deploy-staging",
        ]
        assert screen.row is not None
        assert screen.row.name == "set-upstream-first-push"
        await pilot.press("m")
        await settle(pilot)
        assert "No memory stands behind this skill" in toasts(app)


async def test_changes_between_versions_and_on_disk_are_shown_one_by_one() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot, at="rebuild-index")
        await pilot.press("c")
        await settle(pilot)
        assert "change 2 of 2" in screen_text(app)
        assert "+2. Run `git status`" in screen_text(app)
        await pilot.press("left_square_bracket")
        await settle(pilot)
        assert "change 1 of 2" in screen_text(app)
        assert "+description" in screen_text(app)
        await pilot.press("left_square_bracket", "escape")
        await settle(pilot)
        assert "change 1 of 2" not in screen_text(app)


async def test_what_changed_on_disk_is_accepted_by_a_review() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot, at="rebuild-index")
        await pilot.press("a")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        await pilot.press("a")
        await settle(pilot)
        assert [each[0] for each in desk.approvals.decided] == ["file_change-0003"]
        assert isinstance(app.screen, SkillsScreen)


async def test_what_was_here_before_is_only_listed_until_somebody_reviews_it() -> None:
    desk = desk_with()
    (found,) = [row for row in desk.skills.rows.values() if row.name == "run-the-tests"]
    desk.skills.rows[found.path] = replace(found, state=SkillState.FOUND)
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot, at="run-the-tests")
        assert "not reviewed yet" in screen_text(app)
        await pilot.press("a")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert desk.skills.acts == [("offer", found.path)]


async def test_what_comes_with_the_app_says_so_until_somebody_reviews_it() -> None:
    desk = desk_with()
    (row,) = [row for row in desk.skills.rows.values() if row.name == "run-the-tests"]
    desk.skills.rows[row.path] = replace(row, state=SkillState.SHIPPED)
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot, at="run-the-tests")
        assert "◇ run-the-tests" in screen_text(app)
        await pilot.press("a")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert desk.skills.acts == [("offer", row.path)]


async def test_with_nothing_changed_there_is_nothing_to_accept() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        screen = await open_pane(pilot, at="set-upstream-first-push")
        await pilot.press("a")
        await settle(pilot)
        assert app.screen is screen
        assert "disk and memory agree" in toasts(app)


async def test_what_is_on_disk_as_we_know_it_is_not_written_back() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        screen = await open_pane(pilot, at="set-upstream-first-push")
        await pilot.press("R")
        await settle(pilot)
        assert app.screen is screen
        assert "Nothing to write back" in toasts(app)


@pytest.mark.parametrize(
    ("key", "act", "name"),
    [("X", "retire", "set-upstream-first-push"), ("R", "restore", "rebuild-index")],
)
async def test_retiring_and_writing_back_ask_first_and_can_be_undone(
    key: str, act: str, name: str
) -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot, at=name)
        await pilot.press(key)
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("enter")
        await settle(pilot)
        assert not desk.skills.acts
        await pilot.press(key, "y")
        await settle(pilot)
        assert desk.skills.acts == [(act, f"{OWN}/{name}/SKILL.md")]
        await pilot.press("u")
        await settle(pilot)
        assert not desk.skills.acts
        assert desk.skills.rows[f"{OWN}/{name}/SKILL.md"].state is SkillState.VALID


async def test_the_file_itself_is_edited_and_then_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = desk_with()
    edited: list[Path] = []
    monkeypatch.setattr(skills_module, "edit_file", lambda _app, path: edited.append(path))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot, at="set-upstream-first-push")
        before = desk.skills.synced
        await pilot.press("e")
        await settle(pilot)
        assert edited == [Path(PUSH)]
        assert desk.skills.synced > before


async def test_checking_tells_how_the_file_is_now() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        await open_pane(pilot, at="review-style")
        await pilot.press("exclamation_mark")
        await settle(pilot)
        assert "review-style has 2 problems" in toasts(app)


async def test_filter_narrows_by_name_and_state() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        screen = await open_pane(pilot)
        await pilot.press("slash")
        await type_text(pilot, "invalid")
        await settle(pilot)
        assert "1 of 7" in screen_text(app)
        assert screen.row is not None
        assert screen.row.name == "review-style"
        await pilot.press("escape")
        await settle(pilot)
        assert screen.skills.caption == "7"


async def test_the_transcripts_that_taught_it_are_shown_one_after_the_other() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        await open_pane(pilot, at="set-upstream-first-push")
        for lines in ("lines 10–14", "lines 31–40"):
            await pilot.press("p")
            await settle(pilot)
            assert isinstance(app.screen, TranscriptScreen)
            assert lines in screen_text(app)
            await pilot.press("escape")
            await settle(pilot)


async def test_an_error_is_told_with_its_remedy() -> None:
    desk = desk_with()
    desk.skills.error = DomainError("The folder can't be read.", remedy="Allow it.")
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot)
        assert "The folder can't be read." in screen_text(app)
        desk.skills.error = None
        await pilot.press("r")
        await settle(pilot)
        assert "set-upstream-first-push" in screen_text(app)


async def test_a_change_on_disk_is_told_and_counted_while_the_app_runs() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot)
        before = desk.approvals.counted
        desk.skills.changed(2)
        await settle(pilot)
        assert "2 changes of skills on disk" in toasts(app)
        assert desk.approvals.counted > before


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_came_of_a_lesson_is_told_as_counts_and_over_the_weeks(
    size: tuple[int, int],
) -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=size) as pilot:
        screen = await open_pane(pilot, at="set-upstream-first-push")
        while not screen.view.known.display:
            await pilot.press("v")
        shown = " ".join(screen_text(app).split())
        for words in ("9 in digests, 3 before a call", "1 of 5 sessions that had it", "no proof"):
            assert words in shown
        assert "given ▂·▄█ failed █▅▅▅" in shown


async def test_until_it_is_counted_that_is_said() -> None:
    desk = desk_with()
    skill = await desk.skills.skill(PUSH)
    counting = "\n".join(row.plain for row in known_lines(skill, NOW))
    counted = "\n".join(row.plain for row in known_lines(skill, NOW, {}))
    assert "counting …" in counting
    assert "counting …" not in counted


async def test_whether_a_skill_helps_is_looked_up_once_and_again_on_its_key() -> None:
    desk = desk_with()
    desk.skills.evaluations = EVALUATIONS
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot, at="set-upstream-first-push")
        assert "lint ok · found for 9 of 10" in screen_text(app)
        before = desk.skills.looked.copy()
        assert (PUSH, False) in before
        await pilot.press("percent_sign")
        await settle(pilot)
        assert desk.skills.looked == [*before, (PUSH, True)]
