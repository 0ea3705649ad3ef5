"""What the person left is there at the next start, however the app ended."""

import asyncio
import json
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.state import FILE_NAME, UiState, load_state, save_state
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, rows
from tests.tui.tui_helpers import settle, until


def app_in(folder: Path, **host: object) -> MemoryDeskApp:
    made = FakeHost(FakeDesk(rows(6)), **host)  # type: ignore[arg-type]
    return MemoryDeskApp(made, data_dir=folder, now=lambda: NOW)


def left_at(folder: Path, pane: str) -> None:
    save_state(folder / FILE_NAME, UiState(pane=pane))


async def test_the_pane_shown_last_comes_first_once_the_store_is_open(tmp_path: Path) -> None:
    left_at(tmp_path, "sessions")
    gate = asyncio.Event()
    app = app_in(tmp_path, gate=gate)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        assert app.current_mode == "memories"
        gate.set()
        await settle(pilot)
        assert app.current_mode == "sessions"


async def test_a_person_who_pressed_a_key_before_is_not_moved(tmp_path: Path) -> None:
    left_at(tmp_path, "sessions")
    gate = asyncio.Event()
    app = app_in(tmp_path, gate=gate)
    async with app.run_test() as pilot:
        await settle(pilot, held=1)
        await pilot.press("down")
        gate.set()
        await settle(pilot)
        assert app.current_mode == "memories"


async def test_an_error_at_opening_is_shown_where_it_was_and_forgets_no_pane(
    tmp_path: Path,
) -> None:
    left_at(tmp_path, "skills")
    app = app_in(tmp_path, error=DomainError("The store is in use."))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.current_mode == "memories"
    assert load_state(tmp_path / FILE_NAME).pane == "skills"


async def test_a_change_is_on_disk_while_the_app_runs(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert not (tmp_path / FILE_NAME).exists()
        await pilot.press("3")
        await until(pilot, lambda: load_state(tmp_path / FILE_NAME).pane == "skills")
        app.theme = "desk-light"
        await until(pilot, lambda: load_state(tmp_path / FILE_NAME).theme == "desk-light")


async def test_keys_that_change_nothing_write_nothing(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("down", "up")
        await settle(pilot)
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize("pane", ["gone", "", 7, None, ["skills"]])
def test_a_pane_that_does_not_exist_is_the_first(tmp_path: Path, pane: object) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps({"version": 1, "pane": pane}), "utf-8")
    assert load_state(path).pane == "memories"
