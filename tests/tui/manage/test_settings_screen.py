"""The settings screen: pictures of it, and what its keys change; docstrings say what is visible."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.engine import Engine
from synthorg_tui.settings.changes import Takes
from synthorg_tui.tui import safety
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.manage.setting_acts import SettingActs
from synthorg_tui.tui.manage.settings import SettingsScreen
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.manage.settings_fakes import FILE, MOST, FakeSettings, changed
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

FIND_MOST = ("slash", "=retrieval.max_memories", "enter")


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def compare(
    snap_compare: Compare, size: Size, settings: FakeSettings, *keys: str, theme: str = ""
) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        if theme:
            pilot.app.theme = theme
        await settle(pilot)
        await pressed(pilot, *keys)

    app = fake_app(FakeDesk(rows(6)), management=FakeManagement(settings))
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_settings_that_nobody_changed(snap_compare: Compare) -> None:
    """The switches, all on; then the settings by section; what the first is for, its default."""
    assert compare(snap_compare, SIZES, FakeSettings(), "f7")


def test_settings_of_every_source(snap_compare: Compare) -> None:
    """Marks of file, app, variable and of a value passed over; who changed it, and the file's."""
    keys = ("slash", "=retrieval.m", "enter", "j", "j")
    assert compare(snap_compare, SIZES, FakeSettings(changed()), "f7", *keys)


def test_a_value_that_is_not_allowed(snap_compare: Compare) -> None:
    """The entry with 700; field, value and what is allowed; the setting stays as it is."""
    keys = ("f7", *FIND_MOST, "enter", *"00")
    assert compare(snap_compare, SIZES, FakeSettings(changed()), *keys)


def test_a_change_that_waits_for_a_restart(snap_compare: Compare) -> None:
    """The mark in the list, the number at its foot, and what to do."""
    assert compare(snap_compare, SIZES, FakeSettings(changed()), "f7", "slash", "=packing", "enter")


def test_settings_with_faults(snap_compare: Compare) -> None:
    """Each fault of the file on a line of its own, with file and line."""
    faults = f"{FILE}:2: memory.level: no\n{FILE}:3: memory.nonsense: unknown setting"
    assert compare(snap_compare, SIZES, FakeSettings(problem=faults), "f7")


def test_settings_in_light(snap_compare: Compare) -> None:
    """What is switched off stands out in light colours too."""
    settings = FakeSettings(changed())
    assert compare(snap_compare, (120, 40), settings, "f7", "j", theme="desk-light")


@asynccontextmanager
async def opened(settings: FakeSettings, *keys: str) -> AsyncIterator[Pilot[None]]:
    app = fake_app(FakeDesk(rows(2)), management=FakeManagement(settings))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pressed(pilot, "f7", *keys)
        yield pilot


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    """Press keys one by one; one that begins with ``=`` is a text to write."""
    for key in keys:
        await (type_text(pilot, key[1:]) if key.startswith("=") else pilot.press(key))
        await settle(pilot)


def said(pilot: Pilot[None]) -> str:
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    return plain(screen.text.lines)


async def test_enter_turns_what_is_true_or_false() -> None:
    settings = FakeSettings()
    async with opened(settings, "slash", "=include_shared", "enter", "enter") as pilot:
        assert settings.asked == ["memory.retrieval.include_shared = false"]
        assert "false; it holds now" in toasts(pilot.app)


async def test_enter_turns_a_switch_off_and_on_again() -> None:
    settings = FakeSettings()
    async with opened(settings, "j", "enter") as pilot:
        assert "OFF" in screen_text(pilot.app)
        await pressed(pilot, "enter")
        assert settings.asked == [
            "memory.procedural.enabled = false", "memory.procedural.enabled = true",
        ]  # fmt: skip


async def test_enter_offers_the_values_of_a_choice() -> None:
    settings = FakeSettings()
    async with opened(settings, "slash", "=memory.level", "enter", "enter") as pilot:
        await pressed(pilot, "j", "enter")
        assert settings.asked == ["memory.level = session"]


async def test_a_value_is_checked_at_each_key_and_a_wrong_one_is_not_taken() -> None:
    settings = FakeSettings()
    async with opened(settings, *FIND_MOST, "enter") as pilot:
        assert "↵ takes it" in said(pilot)
        await pressed(pilot, "0", "enter")
        assert "200 is not allowed; allowed: whole number from 1 to 100" in said(pilot)
        assert settings.asked == []
        await pressed(pilot, "backspace", "backspace", "5", "enter")
        assert settings.asked == [f"{MOST} = 25"]


async def test_what_several_settings_together_forbid_is_told_while_writing() -> None:
    async with opened(FakeSettings(), "slash", "=recency_weight", "enter", "enter") as pilot:
        await pressed(pilot, "9")
        assert "↵ takes it" in said(pilot)
        await pressed(pilot, *["backspace"] * 6, "2")
        assert "2 is not allowed; allowed: number from 0 to 1" in said(pilot)


async def test_escape_leaves_the_value_as_it_was() -> None:
    settings = FakeSettings()
    async with opened(settings, *FIND_MOST, "enter", "5", "escape") as pilot:
        assert isinstance(pilot.app.screen, SettingsScreen)
        assert settings.asked == []


async def test_a_file_that_was_changed_meanwhile_is_told_and_the_value_stays_written() -> None:
    settings = FakeSettings()
    settings.refusal = ConfigError("the file was changed meanwhile: it says 5 now")
    async with opened(settings, *FIND_MOST, "enter", "backspace", "5", "enter") as pilot:
        assert "changed meanwhile" in toasts(pilot.app)
        assert settings.asked == []
        await pressed(pilot, "enter")
        assert settings.asked == [f"{MOST} = 25"]


async def test_what_is_not_changed_here_says_where_it_is() -> None:
    settings = FakeSettings()
    async with opened(settings, "slash", "=data_dir", "enter", "enter") as pilot:
        assert "where the store is" in toasts(pilot.app)
        assert settings.asked == []


async def test_reset_undo_and_redo_are_one_key_each() -> None:
    settings = FakeSettings(changed())
    async with opened(settings, *FIND_MOST, "R", "u", "ctrl+r"):
        assert settings.asked == [f"reset {MOST}", "undo", "redo"]


async def test_a_setting_that_nobody_changed_is_not_reset() -> None:
    settings = FakeSettings()
    async with opened(settings, *FIND_MOST, "R"):
        assert settings.asked == []


async def test_a_change_that_is_overruled_says_by_what() -> None:
    settings = FakeSettings()
    settings.takes = Takes.OVERRULED
    async with opened(settings, "enter") as pilot:
        assert "doesn't hold: it is set above" in toasts(pilot.app)


async def test_a_looser_safety_setting_is_asked_about_and_a_no_takes_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(safety, "READ_FIRST", 0.01)
    settings = FakeSettings()
    settings.takes = Takes.AGREEMENT
    async with opened(
        settings, "slash", "=approvals.review", "enter", "enter", "j", "enter"
    ) as pilot:
        assert "made looser: take it?" in screen_text(pilot.app)
        settings.takes = Takes.NOW
        await pressed(pilot, "n")
        assert settings.asked[-1] == "undo"
        assert settings.agreed == []


async def test_the_changes_are_listed_with_who_and_when() -> None:
    settings = FakeSettings()
    async with opened(settings, "enter", "H") as pilot:
        assert "memory.injection_enabled  – → false  a person at the app" in said(pilot)


async def test_an_agents_app_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def engine() -> Engine:
        raise AssertionError("the engine was asked")

    monkeypatch.setenv("CLAUDECODE", "1")
    acts = SettingActs(engine, None)
    for act in (acts.undo, acts.redo, acts.trial, partial(acts.change, MOST, "7")):
        with pytest.raises(DecisionRefusedError):
            await act()
