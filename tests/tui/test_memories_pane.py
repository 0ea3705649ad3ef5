"""The Memories pane, driven by keys over a desk in memory."""

import asyncio
import json
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Button, Input, TextArea
from tui_fakes import NOW, FakeDesk, FakeHost, fake_app, rows
from tui_helpers import screen_text, settle, type_text

from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.screens.deleted import DeletedScreen
from synthorg_tui.tui.screens.dialogs import ConfirmDialog
from synthorg_tui.tui.screens.form import MemoryForm
from synthorg_tui.tui.screens.importing import ImportScreen
from synthorg_tui.tui.screens.memories import MemoriesScreen
from synthorg_tui.tui.screens.source import SourceScreen
from synthorg_tui.tui.screens.welcome import WelcomeScreen
from synthorg_tui.tui.state import FILE_NAME, load_state


def pane(app: MemoryDeskApp) -> MemoriesScreen:
    screen = app.screen
    assert isinstance(screen, MemoriesScreen)
    return screen


async def test_number_key_one_shows_the_memories() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("1")
        assert app.current_mode == "memories"


async def test_preview_follows_the_cursor() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("j", "j")
        await settle(pilot)
        assert pane(app).rows.row == rows(40)[2]
        assert "read-only on weekends" in screen_text(app)


async def test_vim_keys_reach_the_ends() -> None:
    app = fake_app(FakeDesk(rows(1000)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("G")
        await settle(pilot)
        assert pane(app).rows.row == rows(1000)[999]
        await pilot.press("g")
        await settle(pilot)
        assert pane(app).rows.row == rows(1000)[0]
        await pilot.press("ctrl+d", "ctrl+u")
        assert pane(app).rows.cursor == 0


async def test_at_most_300_rows_are_held_and_the_total_is_honest() -> None:
    app = fake_app(FakeDesk(rows(1000)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "1–300 of 1,000" in screen_text(app)
        for _ in range(9):
            await pilot.press(*["ctrl+f"] * 2)
            await settle(pilot)
        assert len(pane(app).listing.window.rows) <= 300
        assert pane(app).rows.row is not None
        assert "·····" not in screen_text(app)


async def test_filter_narrows_in_place_and_shows_chips() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "cat:proc agent:codex -reload git")
        await settle(pilot)
        listing = pane(app).listing
        assert {row.agent_id for row in listing.window.rows} == {"codex"}
        for chip in ("procedural", "@codex", "without reload", "git"):
            assert chip in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert pane(app).listing.window.total == 40


async def test_typing_on_at_once_goes_to_the_entry_and_to_no_key_of_the_list() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        for key, character in (("slash", "/"), *((letter, letter) for letter in "tags/sea")):
            app.post_message(events.Key("slash" if key == "/" else key, character))
        await settle(pilot)
        assert isinstance(app.focused, Input)
        assert app.focused.value == "tags/sea"


async def test_an_operator_that_makes_no_sense_is_explained() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("slash")
        await type_text(pilot, "since:soon")
        await settle(pilot)
        assert "since:soon is no time" in screen_text(app)
        assert pane(app).listing.window.total == 40


async def test_search_shows_three_scores_a_row() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "git push")
        await pilot.press("enter")
        await settle(pilot)
        shown = screen_text(app)
        for part in ("Results", "fused", "dense", "sparse", "0.80"):
            assert part in shown


async def test_search_that_finds_nothing_says_so() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "zebra")
        await settle(pilot)
        assert "Nothing relevant" in screen_text(app)


async def test_degraded_search_carries_a_banner() -> None:
    desk = FakeDesk(rows(6))
    desk.degraded = "no model: keywords only"
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("s")
        await type_text(pilot, "git")
        await settle(pilot)
        assert "! no model: keywords only" in screen_text(app)


async def test_a_stale_search_answer_is_dropped() -> None:
    desk = FakeDesk(rows(40))
    desk.search_gate["git"] = asyncio.Event()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        screen = pane(app)
        screen.listing.search_text = "git"
        old = screen.listing.ask()
        hits = await desk.search("timeout", screen.listing.query.criteria, limit=5)
        screen.listing.search_text = "timeout"
        new = screen.listing.ask()
        assert screen.listing.take_hits(new, hits)
        before = screen.listing.window
        desk.search_gate["git"].set()
        assert not screen.listing.take_hits(
            old, await desk.search("git", screen.listing.query.criteria, limit=5)
        )
        assert screen.listing.window is before


async def test_delete_is_confirmed_on_another_key_with_no_in_focus() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("d")
        assert isinstance(app.screen, ConfirmDialog)
        assert isinstance(app.focused, Button)
        assert app.focused.id == "no"
        await pilot.press("d")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("enter")
        await settle(pilot)
        assert len(desk.live) == 40
        await pilot.press("d", "y")
        await settle(pilot)
        assert len(desk.live) == 39


async def test_undo_brings_back_what_was_deleted() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        before = dict(desk.live)
        await pilot.press("space", "space", "d")
        assert "Delete 2 memories?" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert len(desk.live) == 38
        await pilot.press("u")
        await settle(pilot)
        assert desk.live == before


async def test_deleted_memories_can_be_restored_after_a_restart() -> None:
    desk = FakeDesk(rows(6))
    await desk.remove(["mem-00001"])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("u")
        await settle(pilot)
        assert isinstance(app.screen, DeletedScreen)
        await pilot.press("u")
        await settle(pilot)
        assert "mem-00001" in desk.live


async def test_erasing_is_asked_for_tells_what_goes_along_and_is_final() -> None:
    desk = FakeDesk(rows(6))
    desk.erased_with = ("Skill set-upstream goes, with its history and its proposals",)
    await desk.remove(["mem-00001"])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("U")
        await settle(pilot)
        await pilot.press("X")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        assert "Skill set-upstream goes" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert not desk.gone
        assert "mem-00001" not in desk.live


async def test_marks_hidden_by_the_filter_are_left_alone() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("asterisk")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 6
        await pilot.press("slash")
        await type_text(pilot, "cat:procedural")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("d")
        assert "Delete 1 memory?" in screen_text(app)
        assert "5 marked but hidden" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert set(desk.gone) == {"mem-00001"}


async def test_a_range_marks_all_between() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("v", "j", "j", "j", "v")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 4


async def test_marking_all_reaches_rows_that_are_not_loaded() -> None:
    app = fake_app(FakeDesk(rows(700)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("asterisk")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 700
        await pilot.press("asterisk")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 0


async def test_a_new_memory_is_written_and_taken_back() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a")
        app.screen.query_one("#agent", Input).value = "codex"
        app.screen.query_one("#content", TextArea).text = "Always run the linter."
        app.screen.query_one("#tags", Input).value = "lint habit"
        await pilot.press("ctrl+s")
        await settle(pilot)
        added = desk.live["new-6"]
        assert (added.agent_id, added.content, added.tags) == (
            "codex",
            "Always run the linter.",
            ("lint", "habit"),
        )
        await pilot.press("u")
        await settle(pilot)
        assert "new-6" not in desk.live


async def test_a_memory_without_content_is_not_saved() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a")
        app.screen.query_one("#agent", Input).value = "codex"
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        assert "Needs some content" in screen_text(app)


async def test_an_edit_changes_only_what_was_touched_and_undo_restores_it() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        original = desk.live["mem-00000"]
        await pilot.press("e")
        app.screen.query_one("#content", TextArea).text = "Shorter."
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert desk.live["mem-00000"].content == "Shorter."
        assert desk.live["mem-00000"].tags == original.tags
        await pilot.press("u")
        await settle(pilot)
        assert desk.live["mem-00000"].content == original.content


async def test_leaving_a_changed_form_asks_once() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("e")
        app.screen.query_one("#content", TextArea).text = "Half a thought"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)


async def test_the_cursor_stays_on_its_memory_when_the_list_changes() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j")
        await desk.remove(["mem-00000"])
        await pilot.press("r")
        await settle(pilot)
        assert pane(app).rows.row == rows(40)[3]
        assert pane(app).rows.cursor == 2


async def test_sorting_turns_through_the_orders() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("o")
        await settle(pilot)
        assert "oldest" in screen_text(app)
        assert pane(app).listing.window.rows[0] == rows(40)[39]


async def test_choosing_a_group_filters_by_it_and_again_lifts_it() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "enter")
        await settle(pilot)
        assert pane(app).listing.filter_text == "cat:working"
        await pilot.press("enter")
        await settle(pilot)
        assert pane(app).listing.filter_text == ""


async def test_source_shows_the_lines_with_the_named_ones_marked() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert isinstance(app.screen, SourceScreen)
        marked = [each for each in screen_text(app).splitlines() if "▌" in each]
        assert len(marked) == 5
        await pilot.press("escape")
        assert isinstance(app.screen, MemoriesScreen)


async def test_copy_puts_the_raw_content_on_the_clipboard() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("y")
        assert app.clipboard == rows(1)[0].content


async def test_export_writes_the_marked_memories(tmp_path: Path) -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("space", "space", "x")
        target = tmp_path / "out.json"
        app.screen.query_one("#answer", Input).value = str(target)
        await pilot.press("enter")
        await settle(pilot)
        exported = json.loads(target.read_text())
        assert [each["id"] for each in exported] == ["mem-00000", "mem-00001"]


async def test_export_never_overwrites(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("mine")
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("x")
        app.screen.query_one("#answer", Input).value = str(target)
        await pilot.press("enter")
        await settle(pilot)
        assert target.read_text() == "mine"


async def test_loading_shows_while_the_engine_opens() -> None:
    gate = asyncio.Event()
    app = fake_app(gate=gate)
    async with app.run_test() as pilot:
        await settle(pilot, rounds=10)
        assert "Reading the store" in screen_text(app)
        assert "opening the store" in screen_text(app)
        gate.set()
        await settle(pilot)
        assert "40 memories" in screen_text(app)


@pytest.mark.parametrize(
    "error",
    [
        StoreLockedError("Process 4711 owns the store.", owner_pid=4711, remedy="Close it."),
        DomainError("Broken.", remedy="Mend it."),
    ],
)
async def test_an_error_shows_cause_and_remedy(error: DomainError) -> None:
    app = fake_app(error=error)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert error.message in screen_text(app)
        assert error.remedy in screen_text(app)


async def test_rows_are_there_before_the_engine_is() -> None:
    desk, gate = FakeDesk(rows(6)), asyncio.Event()
    app = fake_app(desk, gate=gate, shows_early=True)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "6 memories" in screen_text(app)
        await pilot.press("j", "d")
        await settle(pilot)
        assert [note.message for note in app._notifications] == ["Not loaded yet: try again"]
        gate.set()
        await settle(pilot)
        assert app._memories.rows.cursor == 1
        await pilot.press("d")
        await settle(pilot)
        assert "Delete 1 memory?" in screen_text(app)


async def test_a_filter_answers_before_the_engine_is_there_and_a_search_once_it_is() -> None:
    gate = asyncio.Event()
    app = fake_app(FakeDesk(rows(6)), gate=gate, shows_early=True)
    async with app.run_test() as pilot:
        await settle(pilot)
        app._memories.set_text("cat:nothing-like-it", "filter")
        await settle(pilot)
        app._memories.set_text("cat:semantic", "filter")
        await settle(pilot)
        found = app._memories.listing.window.total
        assert 0 < found < 6
        app._memories.set_text("memory", "search")
        await settle(pilot)
        assert app._memories.listing.waiting
        gate.set()
        await settle(pilot)
        assert not app._memories.listing.waiting


async def test_an_engine_that_fails_after_the_rows_were_shown_is_told() -> None:
    app = fake_app(error=DomainError("No model.", remedy="Install it."), shows_early=True)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "No model." in screen_text(app)


async def test_reload_opens_the_store_once_it_is_free() -> None:
    host = FakeHost(FakeDesk(rows(6)), error=DomainError("Locked."))
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        host.error = None
        await pilot.press("r")
        await settle(pilot)
        assert "6 memories" in screen_text(app)


async def test_first_run_offers_three_ways_and_loads_the_sample() -> None:
    desk = FakeDesk([])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert isinstance(app.screen, WelcomeScreen)
        for offer in ("Import what was found", "Load the sample", "Start empty"):
            assert offer in screen_text(app)
        await pilot.press("l")
        await settle(pilot)
        assert isinstance(app.screen, ImportScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert "6 memories" in screen_text(app)


async def test_starting_empty_says_what_to_do_next() -> None:
    app = fake_app(FakeDesk([]))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("e")
        await settle(pilot)
        assert "No memories yet" in screen_text(app)
        assert "i imports sessions" in screen_text(app)


async def test_import_takes_only_the_chosen_places_and_reports_what_was_left_out() -> None:
    desk = FakeDesk(rows(6))
    desk.skipped = (("/home/ada/bad.jsonl", "not readable"),)
    app = fake_app(desk)
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await pilot.press("i")
        await settle(pilot)
        await pilot.press("space", "i")
        await settle(pilot)
        assert desk.imported == ["/home/ada/.codex/sessions"]
        assert "231  memories added" in screen_text(app)
        assert "/home/ada/bad.jsonl  not readable" in screen_text(app)


async def test_import_shows_progress_and_stops_on_request() -> None:
    desk = FakeDesk(rows(6))
    desk.import_gate = asyncio.Event()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("i")
        await settle(pilot)
        await pilot.press("i")
        await settle(pilot, rounds=10)
        for part in ("50%", "31 of 60 files", "6.4 MB/s", "6 s left"):
            assert part in screen_text(app)
        await pilot.press("escape")
        assert isinstance(app.screen, ImportScreen)
        await pilot.press("c")
        desk.import_gate.set()
        await settle(pilot)
        assert "Stopped. What was imported is kept." in screen_text(app)


async def test_state_is_restored_and_junk_is_tolerated(tmp_path: Path) -> None:
    app = MemoryDeskApp(FakeHost(FakeDesk(rows(6))), data_dir=tmp_path, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.theme = "nord"
        await pilot.press("o", "slash")
        await type_text(pilot, "git")
        await pilot.press("enter")
        await settle(pilot)
    kept = load_state(tmp_path / FILE_NAME)
    assert (kept.theme, kept.sort, kept.filter) == ("nord", "oldest", "git")
    (tmp_path / FILE_NAME).write_text('{"version": 1, "theme": 7, "split": 9999, "x": []}')
    assert load_state(tmp_path / FILE_NAME) == load_state(None)


async def test_leaving_closes_the_engine() -> None:
    host = FakeHost(FakeDesk(rows(6)))
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("q")
    assert host.closed == 1


async def test_a_narrow_terminal_stacks_and_a_wide_one_sets_side_by_side() -> None:
    app = fake_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = pane(app)
        assert not screen.query_one("#facets").display
        assert screen.query_one("#detail").region.y > screen.rows.region.y
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert screen.query_one("#facets").display
        assert screen.query_one("#detail").region.x > screen.rows.region.x
