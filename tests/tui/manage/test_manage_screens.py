"""The screens about the whole, over a real store: what each shows, writes and refuses."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.host.client import connect
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.engine_adapter import Draft
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.tui.manage.adapter import ProcessFacts
from synthorg_tui.tui.manage.backups import BackupsScreen
from synthorg_tui.tui.manage.connecting import ConnectScreen
from synthorg_tui.tui.manage.doctor import DoctorScreen
from synthorg_tui.tui.manage.lines import facts_lines
from synthorg_tui.tui.manage.opening import PathSuggester
from synthorg_tui.tui.manage.settings import SettingsScreen
from tests import patience
from tests.tui.tui_helpers import screen_text, settle, toasts, until

Opened = Callable[..., AbstractAsyncContextManager[Pilot[None]]]
STORE = Path()
DRAFT = Draft("codex", MemoryCategory.PROCEDURAL, "Push with an upstream.", ("git",))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def _store(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A store with one memory, of which every test has a copy."""

    async def make() -> None:
        host = LocalEngineHost(data_dir=STORE)
        await (await host.open()).add(DRAFT)
        await host.close()

    global STORE
    STORE = tmp_path_factory.mktemp("store")
    asyncio.run(make())


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Pilot[None]]:
    """The app over a store of its own, with one memory."""
    data_dir = shutil.copytree(STORE, home / "data")
    app = MemoryDeskApp(LocalEngineHost(data_dir=data_dir), data_dir=data_dir)
    async with app.run_test(size=(120, 40)) as pilot:
        await patience.until(lambda: app.maker.desk is not None)
        yield pilot
        await settle(pilot, held=1)


async def says(pilot: Pilot[None], *texts: str) -> None:
    """Wait until all these are on the screen or in a toast."""
    await until(pilot, lambda: all(text in shown(pilot) for text in texts))


def shown(pilot: Pilot[None]) -> str:
    return f"{screen_text(pilot.app)}\n{toasts(pilot.app)}"


async def test_the_doctor_reads_the_store_and_says_what_the_process_takes(home: Path) -> None:
    async with opened(home) as pilot:
        await pilot.press("f4")
        await says(pilot, "Everything is in order", "✓ database", "✓ disk space")
        await says(pilot, "✓ readers", "every record type was known")
        await says(pilot, "B resident", "embedding minilm (", "offline: nothing leaves")
        await pilot.press("R")
        await says(pilot, "Repair what can be repaired?")
        await pilot.press("y")
        await until(pilot, lambda: isinstance(pilot.app.screen, DoctorScreen))
        await says(pilot, "Everything is in order")


@pytest.mark.parametrize(("is_loaded", "told"), [(True, "(loaded)"), (False, "(not loaded now)")])
async def test_the_doctor_says_whether_the_model_is_in_memory(is_loaded: bool, told: str) -> None:
    facts = ProcessFacts(1, 1, "minilm", "auto", (), is_loaded)
    assert f"embedding minilm {told}" in plain(facts_lines(facts))
    assert "re-ranker" not in plain(facts_lines(facts))
    assert "· re-ranker onnx ·" in plain(facts_lines(replace(facts, reranking="onnx")))


async def test_a_backup_is_made_and_restored_once_the_word_is_typed(home: Path) -> None:
    async with opened(home) as pilot:
        app = pilot.app
        assert isinstance(app, MemoryDeskApp)
        await pilot.press("f6", "a")
        await says(pilot, "Backed up to", "by hand")
        desk = app.maker.desk
        assert desk is not None
        later = await desk.add(Draft("codex", MemoryCategory.SEMANTIC, "Added after the backup."))
        await pilot.press("R")
        await says(pilot, "Replace the store by", "type restore")
        await pilot.press(*"yes", "enter")
        await says(pilot, "Nothing was changed")
        assert (await desk.history(later))[0].kind == "added"
        await pilot.press("R")
        await says(pilot, "type restore")
        await pilot.press(*"restore", "enter")
        await says(pilot, "Restored ")
        await patience.until(lambda: app.maker.desk is not desk)
        await pilot.press("escape")
        await says(pilot, "Push with an upstream.")
        await until(pilot, lambda: "Added after" not in screen_text(app))


async def test_a_store_that_is_damaged_is_restored_from_the_app(home: Path) -> None:
    async with opened(home) as pilot:
        await pilot.press("f6", "a")
        await says(pilot, "Backed up to")
    (home / "data" / "memory.duckdb").write_bytes(b"nothing of a database")
    host = LocalEngineHost(data_dir=home / "data")
    async with MemoryDeskApp(host, data_dir=home / "data").run_test(size=(120, 40)) as pilot:
        await says(pilot, "✗")
        await pilot.press("f6")
        await says(pilot, "by hand")
        await pilot.press("enter")
        await says(pilot, "type restore")
        await pilot.press(*"restore", "enter")
        await says(pilot, "Restored ")
        await pilot.press("escape")
        await says(pilot, "Push with an upstream.")


async def test_nothing_is_restored_beside_other_clients(home: Path) -> None:
    async with opened(home) as pilot:
        await pilot.press("f6", "a")
        await says(pilot, "Backed up to")
        await patience.until(lambda: (home / "data" / "owner.sock").exists())
        connection = await connect(home / "data", role="command")
        try:
            await pilot.press("enter")
            await says(pilot, "1 other program uses the store")
            assert isinstance(pilot.app.screen, BackupsScreen)
        finally:
            await connection.close()


async def test_connecting_shows_the_change_and_writes_it_after_a_key(home: Path) -> None:
    written = home / ".claude.json"
    async with opened(home) as pilot:
        await pilot.press("f2")
        await says(pilot, "Claude Code   not connected")
        await pilot.press("a")
        await pilot.press("enter")
        await says(pilot, "Connecting Claude Code would change", '+  "mcpServers": {')
        assert not written.exists()
        await pilot.press("a")
        await says(pilot, "Claude Code is connected.", "connected for you")
        assert '"synthorg"' in written.read_text("utf-8")
        await pilot.press("X")
        await says(pilot, "Disconnecting Claude Code would change")
        await pilot.press("a")
        await says(pilot, "Claude Code is disconnected.", "is as it was")
        assert not written.exists()


async def test_another_agent_or_scope_drops_the_shown_change(home: Path) -> None:
    async with opened(home) as pilot:
        await pilot.press("f2")
        await says(pilot, "not connected")
        for key in ("j", "s", "h"):
            await pilot.press("enter")
            await says(pilot, "would change:")
            await pilot.press(key)
            await says(pilot, "Nothing is written before you say so")
            await pilot.press("a")
        assert isinstance(pilot.app.screen, ConnectScreen)
        assert not list(home.glob(".c*"))


async def test_an_agent_that_runs_the_app_connects_and_restores_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(home) as pilot:
        await pilot.press("f6", "a")
        await says(pilot, "Backed up to")
        monkeypatch.setenv("CLAUDECODE", "1")
        await pilot.press("enter")
        await says(pilot, "runs this; only a person")
        await pilot.press("escape", "f2")
        await says(pilot, "not connected")
        await pilot.press("enter")
        await says(pilot, "runs this; only a person")
        await pilot.press("a")
        assert not (home / ".claude.json").exists()


async def test_settings_are_listed_with_source_and_checked_after_the_editor(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = home / "good.yaml"
    good.write_text("memory:\n  retrieval:\n    rerank_cache_ttl_seconds: 70\n", encoding="utf-8")
    bad = home / "bad.yaml"
    bad.write_text("memory:\n  level: never\n  nonsense: 1\n", encoding="utf-8")
    chosen: list[Path] = []
    monkeypatch.setattr(
        "synthorg_tui.tui.manage.settings.edit_file",
        lambda _app, path: shutil.copy(chosen[-1], path),
    )
    async with opened(home) as pilot:
        await pilot.press("f7")
        await says(pilot, "memory.injection_enabled", "from     default")
        await pilot.press("slash", *"rerank_cache")
        await says(pilot, "memory.retrieval.rerank_cache_ttl_seconds", "whole number")
        chosen.append(good)
        await pilot.press("enter", "E")
        await says(pilot, "1 after a restart", "↻ rerank_cache_ttl")
        await pilot.press("j")
        await says(pilot, "Changed since the app started")
        screen = pilot.app.screen
        assert isinstance(screen, SettingsScreen)
        assert "company.yaml:3" in plain(screen.text.lines)
        chosen.append(bad)
        await pilot.press("E")
        faults = ("company.yaml:2: memory.level", "company.yaml:3: memory.nonsense")
        await until(pilot, lambda: all(fault in plain(screen.text.lines) for fault in faults))


async def test_a_path_is_imported_and_one_that_is_not_there_is_named(home: Path) -> None:
    (home / "sessions").mkdir()
    async with opened(home) as pilot:
        await pilot.press("f3", *"nowhere", "enter")
        await says(pilot, "There is no file or folder")
        await pilot.press("f3", *"sess")
        await patience.until(lambda: "sessions/" in screen_text(pilot.app))
        await pilot.press("right", "enter")
        await says(pilot, "Imported: 0 memories from 0 sessions")


async def test_the_rest_of_a_name_is_offered_folders_first(tmp_path: Path) -> None:
    for name in ("logs.jsonl", ".logs"):
        (tmp_path / name).touch()
    (tmp_path / "logs").mkdir()
    suggester = PathSuggester()
    assert await suggester.get_suggestion(f"{tmp_path}/lo") == f"{tmp_path}/logs/"
    assert await suggester.get_suggestion(f"{tmp_path}/.l") == f"{tmp_path}/.logs"
    assert await suggester.get_suggestion(f"{tmp_path}/nothing") is None
