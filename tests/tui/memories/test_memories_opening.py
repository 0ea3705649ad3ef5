"""The pane while the store opens, when it can't be, and on the first run."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.ingest.service import ImportReport
from synthorg_tui.tui.activity.models import ActivityEvent
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.screen import ApprovalsScreen
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.memories.welcome import WelcomeScreen
from synthorg_tui.tui.state import FILE_NAME, load_state
from synthorg_tui.tui.widgets import bars
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, fake_app, rows
from tests.tui.tui_helpers import pane, screen_text, settle, toasts, type_text, until

LOCKED = StoreLockedError("Process 4711 owns the store.", owner_pid=4711, remedy="Close it.")


async def test_loading_shows_while_the_engine_opens() -> None:
    gate = asyncio.Event()
    app = fake_app(gate=gate)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        assert "Reading the store" in screen_text(app)
        assert "opening the store" in screen_text(app)
        gate.set()
        await settle(pilot)
        assert "40 memories" in screen_text(app)


@pytest.mark.parametrize(
    "error",
    [
        LOCKED,
        DomainError("Broken.", remedy="Mend it."),
    ],
)
async def test_an_error_shows_cause_and_remedy(error: DomainError) -> None:
    app = fake_app(error=error)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert error.message in screen_text(app)
        assert error.remedy in screen_text(app)


async def test_who_is_waited_for_is_told_until_the_store_is_free() -> None:
    gate = asyncio.Event()
    host = FakeHost(FakeDesk(rows(6)), gate=gate)
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        host.waits(LOCKED)
        await until(pilot, lambda: "Waiting a few seconds" in screen_text(app))
        assert LOCKED.message in screen_text(app)
        assert LOCKED.remedy not in screen_text(app)
        gate.set()
        await settle(pilot)
        assert "6 memories" in screen_text(app)


async def test_who_stays_is_an_error_and_waiting_again_takes_its_place() -> None:
    gate = asyncio.Event()
    host = FakeHost(FakeDesk(rows(6)), error=LOCKED)
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert LOCKED.remedy in screen_text(app)
        host.gate = gate
        await pilot.press("r")
        host.waits(LOCKED)
        await until(pilot, lambda: "Waiting a few seconds" in screen_text(app))
        assert LOCKED.remedy not in screen_text(app)
        gate.set()
        await until(pilot, lambda: LOCKED.remedy in screen_text(app))


async def test_rows_are_there_before_the_engine_is() -> None:
    desk, gate = FakeDesk(rows(6)), asyncio.Event()
    app = fake_app(desk, gate=gate, shows_early=True)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        assert "6 memories" in screen_text(app)
        await pilot.press("j", "d")
        await settle(pilot, held=1)
        assert toasts(app) == "Not loaded yet: try again"
        gate.set()
        await settle(pilot)
        assert pane(app).rows.cursor == 1
        await pilot.press("d")
        await settle(pilot)
        assert "Delete 1 memory?" in screen_text(app)


async def test_memories_are_changed_before_what_the_other_panes_need_is_loaded() -> None:
    host = FakeHost(FakeDesk(rows(6)))
    host.prepares = asyncio.Event()
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        await pilot.press("d")
        await settle(pilot, held=1)
        assert "Delete 1 memory?" in screen_text(app)
        await pilot.press("escape", "4")
        await settle(pilot, held=1)
        assert isinstance(app.screen, ApprovalsScreen)
        approvals = app.screen
        assert approvals.desk is None
        host.prepares.set()
        await settle(pilot)
        assert approvals.desk is not None


async def test_a_filter_answers_before_the_engine_is_there_and_a_search_once_it_is() -> None:
    gate = asyncio.Event()
    app = fake_app(FakeDesk(rows(6)), gate=gate, shows_early=True)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        pane(app).set_text("cat:nothing-like-it", "filter")
        await settle(pilot, held=1)
        pane(app).set_text("cat:semantic", "filter")
        await settle(pilot, held=1)
        found = pane(app).listing.window.total
        assert 0 < found < 6
        pane(app).set_text("memory", "search")
        await settle(pilot, held=1)
        assert pane(app).listing.waiting
        gate.set()
        await settle(pilot)
        assert not pane(app).listing.waiting


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
        assert isinstance(app.screen, MemoriesScreen)
        assert "6 memories" in screen_text(app)
        assert toasts(app) == "Imported: 231 memories from 57 sessions. i shows more."


async def test_the_offer_goes_once_agents_or_commands_brought_memories() -> None:
    desk = FakeDesk([])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        desk.activity.tell(ActivityEvent("changed", 1))
        await settle(pilot)
        assert isinstance(app.screen, WelcomeScreen), "nothing is there yet"
        desk.live = {row.id: row for row in rows(6)}
        desk.activity.tell(ActivityEvent("changed", 1))
        await until(pilot, lambda: "6 memories" in screen_text(app))
        assert isinstance(app.screen, MemoriesScreen)


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
        await pilot.press("i")
        await settle(pilot)
        assert desk.imported == ["/home/ada/.codex/sessions"]
        assert "231  memories added" in screen_text(app)
        assert "/home/ada/bad.jsonl  not readable" in screen_text(app)


async def test_import_runs_beside_the_memories_and_stops_on_request() -> None:
    desk = FakeDesk(rows(6))
    desk.import_gate = asyncio.Event()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("i")
        await settle(pilot)
        await pilot.press("i")
        await settle(pilot, held=1)
        assert isinstance(app.screen, MemoriesScreen)
        assert "importing 50%" in screen_text(app)
        await pilot.press("j", "space")
        await settle(pilot, held=1)
        assert "1 marked" in screen_text(app)
        await pilot.press("i")
        await settle(pilot, held=1)
        for part in ("50%", "31 of 60 files", "6.4 MB/s", "6 s left"):
            assert part in screen_text(app)
        await pilot.press("escape")
        await settle(pilot, held=1)
        assert isinstance(app.screen, MemoriesScreen)
        await pilot.press("i")
        await settle(pilot, held=1)
        await pilot.press("c")
        desk.import_gate.set()
        await settle(pilot)
        assert "Stopped. What was imported is kept." in screen_text(app)
        await pilot.press("escape", "i")
        await settle(pilot)
        assert "Where sessions were found" in screen_text(app)


async def test_the_offer_comes_back_while_the_store_is_empty(tmp_path: Path) -> None:
    for _ in range(2):
        app = MemoryDeskApp(FakeHost(FakeDesk([])), data_dir=tmp_path, now=lambda: NOW)
        async with app.run_test() as pilot:
            await settle(pilot)
            assert isinstance(app.screen, WelcomeScreen)
            await pilot.press("e")
            await settle(pilot)
            assert isinstance(app.screen, MemoriesScreen)


async def test_where_nothing_is_found_the_offer_says_where_was_looked() -> None:
    desk = FakeDesk([])
    desk.places = ()
    app = fake_app(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "No sessions found in the places of 15 agents;" in screen_text(app)
        assert "synthorg-tui agents readers lists them." in screen_text(app)


async def test_what_comes_in_by_itself_is_one_line_of_the_header() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        first = ImportReport(memories_added=3, added_by_project={"/srv/spotter": 3})
        second = replace(first, added_by_project={"/srv/shop\x1b": 3}, lessons_proposed=2)
        desk.activity.tell(ActivityEvent("changed", 0, imported=first))
        await until(pilot, lambda: "3 new from spotter" in screen_text(app))
        desk.activity.tell(ActivityEvent("changed", 0, imported=second))
        line = "6 new from spotter and 1 other, 2 lessons"
        await until(pilot, lambda: line in screen_text(app))


async def test_what_came_in_fades_once_the_person_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "NEWS_FADE_AFTER", 0.05)
    looks, faded = list[bool](), bars.TopBar._faded

    def look(bar: bars.TopBar) -> None:
        looks.append(bar.app.app_focus)
        faded(bar)

    monkeypatch.setattr(bars.TopBar, "_faded", look)
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.app_focus = False
        report = ImportReport(memories_added=3)
        desk.activity.tell(ActivityEvent("changed", 0, imported=report))
        await until(pilot, lambda: "3 new" in screen_text(app))
        await until(pilot, lambda: len(looks) > 1)
        assert "3 new" in screen_text(app)
        app.app_focus = True
        await until(pilot, lambda: "3 new" not in screen_text(app))


async def test_state_is_restored_and_junk_is_tolerated(tmp_path: Path) -> None:
    app = MemoryDeskApp(FakeHost(FakeDesk(rows(6))), data_dir=tmp_path, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.theme = "nord"
        await pilot.press("o")
        await settle(pilot)
    kept = load_state(tmp_path / FILE_NAME)
    assert (kept.theme, kept.sort) == ("nord", "oldest")
    (tmp_path / FILE_NAME).write_text('{"version": 1, "theme": 7, "split": 9999, "x": []}')
    assert load_state(tmp_path / FILE_NAME) == load_state(None)


async def test_a_filter_is_no_longer_there_at_the_next_start(tmp_path: Path) -> None:
    for start in range(2):
        app = MemoryDeskApp(FakeHost(FakeDesk(rows(6))), data_dir=tmp_path, now=lambda: NOW)
        async with app.run_test() as pilot:
            await settle(pilot)
            assert pane(app).listing.window.total == 6, start
            await pilot.press("slash")
            await type_text(pilot, "zebra")
            await pilot.press("enter")
            await settle(pilot)
            assert pane(app).listing.window.total == 0


async def test_the_project_of_the_working_directory_is_preselected_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    desk = FakeDesk([replace(rows(2)[0], project=str(shop)), *rows(6)[1:]])
    monkeypatch.chdir(shop / "src")
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "project shop" in screen_text(app)
        assert pane(app).listing.window.total == 1
        await pilot.press("escape")
        await settle(pilot)
        assert pane(app).listing.window.total == 6
        await pilot.press("r")
        await settle(pilot)
        assert pane(app).listing.window.total == 6


async def test_a_working_directory_without_memories_preselects_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = fake_app(FakeDesk([replace(rows(1)[0], project=str(tmp_path / "shop"))]))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert pane(app).listing.filter_text == ""


async def test_leaving_closes_the_engine() -> None:
    host = FakeHost(FakeDesk(rows(6)))
    app = MemoryDeskApp(host, now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("q")
    assert host.closed == 1
