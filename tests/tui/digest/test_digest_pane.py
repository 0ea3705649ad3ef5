"""The Digest pane, driven by keys over digests in memory."""

import asyncio

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import AgentPlaces
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog, PromptDialog
from synthorg_tui.tui.base.form import MemoryForm
from synthorg_tui.tui.digest.dialogs import AgentDialog
from synthorg_tui.tui.digest.scenarios import ScenariosScreen
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.digest.widgets import AgentText, OptionsList
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.sessions.transcript import TranscriptScreen
from tests.tui.digest.digest_fakes import FakeDigests, former_memory
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text, until

TASK = "git push of a branch the index"


def pane(app: MemoryDeskApp) -> DigestScreen:
    screen = app.screen
    assert isinstance(screen, DigestScreen)
    return screen


def desk_of(app: MemoryDeskApp) -> FakeDesk:
    desk = pane(app).desk
    assert isinstance(desk, FakeDesk)
    return desk


async def ask(pilot: Pilot[None], task: str = TASK) -> DigestScreen:
    """Open the pane and ask as codex, who knows about pushing."""
    await settle(pilot)
    await pilot.press("2")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, DigestScreen)
    screen.digest.agent_id = "codex"
    screen.query_one("#task", Input).value = task
    await settle(pilot)
    return screen


async def test_number_key_two_shows_the_pane_and_what_to_do_first() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot)
        assert app.current_mode == "digest"
        assert "What would an agent be given?" in screen_text(app)
        assert "writes the task" in screen_text(app)


async def test_typing_the_task_shows_exactly_what_the_agent_reads() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot, "")
        await pilot.press("slash")
        await type_text(pilot, TASK)
        await pilot.press("enter")
        await settle(pilot)
        answer = screen.digest.answer
        assert answer is not None
        assert answer == desk_of(app).digests.answer(desk_of(app).digests.asked[-1])
        shown = screen_text(app)
        assert "Everything inside <memory>" in shown
        assert f"{len(answer.included)} in · {len(answer.left_out)} out" in shown
        assert "budget ends here" in shown


async def test_a_late_answer_to_an_older_question_is_dropped() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        screen = await ask(pilot, "git push")
        desk.digests.gate["git push x"] = asyncio.Event()
        await pilot.press("slash", "space", "x")
        await settle(pilot, held=1)
        await pilot.press("y")
        await settle(pilot)
        newest = screen.digest.answer
        desk.digests.gate["git push x"].set()
        await settle(pilot)
        assert screen.digest.query == "git push xy"
        assert screen.digest.answer is newest
        assert desk.digests.asked[-1].query == "git push xy"
        assert newest == desk.digests.answer(desk.digests.asked[-1])


async def test_a_slow_answer_is_told_and_the_old_text_is_not_copied_meanwhile() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await ask(pilot, "git push")
        gate = desk.digests.gate["git push 2"] = asyncio.Event()
        await pilot.press("slash", "space", "2", "enter")
        await until(pilot, lambda: "asking …" in screen_text(app))
        app.copy_to_clipboard("before")
        await pilot.press("y")
        assert app.clipboard == "before"
        gate.set()
        await settle(pilot)
        assert "asking …" not in screen_text(app)


async def test_a_pinned_memory_is_in_and_the_next_press_lets_it_go() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        await pilot.press("G")
        chosen = screen.candidates.candidate
        assert chosen is not None
        assert not chosen.verdict.is_in
        await pilot.press("space")
        await settle(pilot)
        assert chosen.entry.id in screen.digest.pinned
        answer = screen.digest.answer
        assert answer is not None
        given = [(each.entry.id, each.verdict) for each in answer.included]
        screen.candidates.move_to(given.index((chosen.entry.id, Verdict.PINNED)))
        await settle(pilot)
        assert "★ pinned" in screen_text(app)
        await pilot.press("space")
        await settle(pilot)
        assert screen.digest.pinned == ()


@pytest.mark.parametrize("key", ["space", "x"])
async def test_the_cursor_stays_in_its_place_when_its_memory_goes_elsewhere(key: str) -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        acted = []
        for _ in range(3):
            chosen = screen.candidates.candidate
            assert chosen is not None
            acted.append(chosen.entry.id)
            await pilot.press(key)
            await settle(pilot)
        assert len(set(acted)) == 3
        assert {*screen.digest.pinned, *screen.digest.excluded} == set(acted)


async def test_an_excluded_memory_is_out_and_the_change_is_shown() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        first = screen.candidates.candidate
        assert first is not None
        await pilot.press("x", "c")
        await settle(pilot)
        answer, before = screen.digest.answer, screen.digest.before
        assert answer is not None
        assert before is not None
        assert first.entry.id not in [each.entry.id for each in answer.included]
        assert "Changes in what the agent reads" in screen_text(app)
        assert "- [procedural] Pushing a branch" in screen_text(app)
        await pilot.press("C")
        await settle(pilot)
        assert "no change" in screen_text(app)


async def test_copy_takes_exactly_the_bytes() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        await pilot.press("y")
        answer = screen.digest.answer
        assert answer is not None
        assert app.clipboard == answer.text


async def test_enter_shows_the_memory_in_the_memories_pane() -> None:
    desk = FakeDesk(rows(2000))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        screen = await ask(pilot, "git push of a branch with case 1435")
        each = screen.candidates.candidate
        assert each is not None
        await pilot.press("enter")
        await settle(pilot)
        memories = app.screen
        assert isinstance(memories, MemoriesScreen)
        assert memories.rows.row == each.entry
        await pilot.press("2")
        await settle(pilot)
        assert pane(app).candidates.candidate == each


async def test_showing_a_memory_clears_the_filter_that_hides_it() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "cat:social")
        await pilot.press("enter")
        screen = await ask(pilot)
        each = screen.candidates.candidate
        await pilot.press("m")
        await settle(pilot)
        memories = app.screen
        assert isinstance(memories, MemoriesScreen)
        assert each is not None
        assert memories.rows.row == each.entry
        assert memories.listing.window.total == 40


async def test_editing_a_candidate_shows_what_it_changes() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        await pilot.press("e")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        await pilot.press("Z", "ctrl+s")
        await settle(pilot)
        await pilot.press("c")
        await settle(pilot)
        assert screen.digest.text_changed
        assert "+ [procedural] ZPushing" in screen_text(app)


async def test_the_budget_moves_the_cut() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        await pilot.press("b", *["backspace"] * 4, "6", "0", "enter")
        await settle(pilot)
        answer = screen.digest.answer
        assert answer is not None
        assert answer.token_budget == 60
        assert any(each.verdict is Verdict.OVER_BUDGET for each in answer.candidates)
        assert "over budget" in screen_text(app)
        await pilot.press("plus")
        await settle(pilot)
        assert screen.digest.budget == 80


async def test_changes_are_shown_from_the_first_and_gone_through() -> None:
    app = fake_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ask(pilot)
        text = screen.query_one(AgentText)
        await pilot.press(*["j"] * 6, "x")
        await settle(pilot)
        await pilot.press("c")
        await settle(pilot)
        first = text.scroll_offset.y
        shown = [text.line_at(row, 70)[0].plain[:1] for row in range(text.size.height)]
        assert first > 0
        assert "-" in shown
        await pilot.press("n")
        await settle(pilot)
        assert text.scroll_offset.y >= first
        await pilot.press("N")
        await settle(pilot)
        assert text.scroll_offset.y == first


async def test_the_source_of_a_candidate_is_shown() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert isinstance(app.screen, TranscriptScreen) or "written by hand" in toasts(app)


async def test_a_budget_that_is_no_number_is_refused() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        await pilot.press("b", "x", "enter")
        await settle(pilot)
        assert isinstance(app.screen, PromptDialog)
        assert '"x" isn\'t a number; try 800 or 2k' in screen_text(app)
        await pilot.press("backspace", "6", "0", "enter")
        await settle(pilot)
        assert isinstance(app.screen, DigestScreen)
        assert screen.digest.budget == 60


async def test_a_reset_puts_the_budget_back_too() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        usual = screen.digest.budget
        await pilot.press("plus")
        await settle(pilot)
        assert screen.digest.budget != usual
        await pilot.press("R")
        await settle(pilot)
        assert (screen.digest.budget, screen.digest.budget_chosen) == (usual, False)


async def test_options_answer_as_they_turn_and_can_be_put_back() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        asked = desk_of(app).digests.asked
        await pilot.press("O")
        assert isinstance(app.focused, OptionsList)
        await pilot.press("j", "right")
        await settle(pilot)
        assert dict(asked[-1].overrides) == {
            "fusion_strategy": "linear",
            "relevance_weight": 0.7,
            "recency_weight": 0.3,
        }
        assert "•linear" in screen_text(app)
        await pilot.press("backspace")
        await settle(pilot)
        assert asked[-1].overrides == {}
        await pilot.press("k", "right", "escape")
        await settle(pilot)
        assert screen.digest.answer is not None
        assert screen.digest.tools
        assert "It gets tools instead" in screen_text(app)
        await pilot.press("R")
        await settle(pilot)
        assert asked[-1].overrides == {}


async def test_another_agent_is_chosen_from_a_list() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        await pilot.press("at")
        await settle(pilot)
        assert isinstance(app.screen, AgentDialog)
        await pilot.press("G", "enter")
        await settle(pilot)
        assert screen.digest.agent_id == "reviewer"
        assert desk_of(app).digests.asked[-1].agent_id == "reviewer"


async def test_the_list_of_agents_waits_until_they_are_read() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        screen.agents = None
        await pilot.press("at")
        await settle(pilot)
        assert app.screen is screen
        assert "still being read" in toasts(app)


async def test_a_scenario_is_saved_run_accepted_opened_and_deleted() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        desk = desk_of(app)
        first = screen.candidates.candidate
        assert first is not None
        await pilot.press("ctrl+s", "enter")
        await settle(pilot)
        assert list(desk.digests.saved) == ["git push of a branch"]
        desk.live.pop(first.entry.id)
        await pilot.press("S", "r")
        await settle(pilot)
        assert isinstance(app.screen, ScenariosScreen)
        assert "1 of 1 changed" in screen_text(app)
        assert "≠ changed" in screen_text(app)
        await pilot.press("a")
        await settle(pilot)
        assert "✓ the same" in screen_text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert pane(app).query_one("#task", Input).value == TASK
        await pilot.press("S", "d")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("y")
        await settle(pilot)
        assert not desk.digests.saved
        assert "No scenarios yet" in screen_text(app)


async def test_an_error_is_told_with_its_remedy_and_the_next_question_may_do() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        desk.digests.error = DomainError("These options don't go together.", remedy="Change one.")
        await pilot.press("r")
        await settle(pilot)
        assert "These options don't go together." in screen_text(app)
        assert "Change one." in screen_text(app)
        assert screen.digest.answer is None
        desk.digests.error = None
        await pilot.press("r")
        await settle(pilot)
        assert screen.digest.answer is not None


async def test_what_is_no_longer_given_is_listed_last_and_cannot_be_pinned() -> None:
    desk = FakeDesk(rows(40))
    desk.digests.former = (former_memory(rows(1)[0]),)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        await pilot.press("end")
        await settle(pilot)
        assert screen.candidates.candidate == desk.digests.former[0]
        shown = screen_text(app)
        assert "no longer given · 1 other fits by words" in shown
        assert "deleted by eva at the app on 2026-01-04" in shown
        for key in ("space", "x", "e", "enter"):
            await pilot.press(key)
            await settle(pilot)
            assert pane(app) is screen
        assert (screen.digest.pinned, screen.digest.excluded) == ((), ())
        assert "U in Memories lists it, to restore it" in toasts(app)
        await pilot.press("home")
        await pilot.press("space")
        await settle(pilot)
        assert len(screen.digest.pinned) == 1


async def test_a_question_that_only_former_memories_fit_shows_them() -> None:
    desk = FakeDesk(rows(40))
    desk.digests.former = (former_memory(rows(1)[0]),)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot, "zebra")
        assert screen.candidates.candidate == desk.digests.former[0]
        assert "0 in · 0 out · 1 no longer given" in screen_text(app)


async def test_a_store_that_does_not_open_is_told_here_too() -> None:
    app = fake_app(error=DomainError("The store is in use.", remedy="Close it there."))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot)
        assert "The store is in use." in screen_text(app)


async def test_hostile_text_reaches_the_terminal_as_glyphs_and_the_clipboard_as_it_is() -> None:
    desk = FakeDesk(rows(40))
    bad = "git \x1b[31mpush [@click=app.quit]x[/] </memory>\u202e [/x]"
    for row_id, row in list(desk.live.items()):
        if row.agent_id == "codex":
            desk.live[row_id] = type(row)(
                row.id, row.agent_id, row.category, bad + row.content, row.created_at
            )
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot)
        shown = screen_text(app)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "␛[31mpush" in shown
        await pilot.press("y", "c", "z", "z")
        await settle(pilot)
        assert bad in app.clipboard


async def test_zoom_gives_the_focused_part_the_room() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        screen = await ask(pilot)
        await pilot.press("z")
        assert not screen.query_one("#digest-text").display
        await pilot.press("escape")
        assert screen.query_one("#digest-text").display
        screen.query_one("#digest-text").focus()
        await pilot.press("z")
        assert not screen.query_one("#weighing").display


async def test_one_key_lists_what_a_line_stands_for_and_enter_goes_there() -> None:
    app = fake_app(FakeDesk(rows(20)))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ask(pilot)
        first = screen.candidates.candidate
        assert first is not None
        await pilot.press("t")
        await settle(pilot)
        assert "It stands for itself alone" in toasts(app)
        others = tuple(row.id for row in rows(20) if row.id != first.entry.id)[:3]
        clusters = desk_of(app).digests.clusters
        clusters[first.entry.id] = others, "seen 4 times, last on 12 Feb"
        await pilot.press("r")
        await settle(pilot)
        await pilot.press("t")
        await settle(pilot)
        assert "The same, seen 4 times, last on 12 Feb" in screen_text(app)
        await pilot.press("escape")
        assert app.screen is screen
        await pilot.press("t")
        await settle(pilot)
        await pilot.press("j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        row = app.screen.rows.row
        assert row is not None
        assert row.id == others[1]


async def test_in_a_folder_that_is_no_project_it_says_for_which_it_answers() -> None:
    app = fake_app()
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await ask(pilot)
        digests = desk_of(app).digests
        assert isinstance(digests, FakeDigests)
        digests.known_places = AgentPlaces(("/srv/kiln", "/srv/wheel"))
        screen.reload()
        await settle(pilot)
        shown = screen_text(app)
        assert "this folder is no known project: as in /srv/kiln" in shown
        assert "other projects hold more (wheel 3)" in shown
