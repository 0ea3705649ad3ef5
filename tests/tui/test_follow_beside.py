"""A session that an agent writes beside the open app: the real app, engine and hook.

Sessions of one kind share the memory of what was put right, so that each adds one and all one.
"""

import asyncio
import io
import json
from pathlib import Path

import pytest

from synthorg_tui.connect import hook
from synthorg_tui.engine import Engine
from synthorg_tui.host.endpoint import socket_path
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.following import Following
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests.ingest.test_import_service import session
from tests.patience import PATIENCE
from tests.tui.tui_helpers import pane, screen_text, until

SECOND = "00000002-2222-4333-8444-555555555555"


@pytest.mark.parametrize("hooked", [False, True], ids=["without hooks", "with hooks"])
async def test_a_session_written_line_by_line_appears_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hooked: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    data, place = tmp_path / "data", tmp_path / ".claude" / "projects" / "spotter"
    session(1).write(place / "1.jsonl")
    text = session(2).write(tmp_path / "draft").read_text()
    async with Engine.open(shipped_settings(), data_dir=data) as engine:
        await engine.imports.run()
    watched, look = asyncio.Event(), Following._first_look

    async def first_look(following: Following) -> list[TranscriptFile]:
        found = await look(following)
        watched.set()
        return found

    monkeypatch.setattr(Following, "_first_look", first_look)
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    app = MemoryDeskApp(LocalEngineHost(data_dir=data), data_dir=data)
    async with app.run_test(size=(120, 40)) as pilot:

        async def shown(words: str) -> None:
            await until(pilot, lambda: words in screen_text(app))

        await shown("job number 1")
        await until(pilot, Path(socket_path(data)).exists)
        await until(pilot, watched.is_set)
        target = place / f"{SECOND}.jsonl"
        for line in text.splitlines(keepends=True):
            with target.open("a") as stream:
                stream.write(line)
            await pilot.pause(0.05)
        if hooked:
            told = {"session_id": SECOND, "transcript_path": str(target), "cwd": str(tmp_path)}
            arguments = ["claude-code", "SessionEnd", "--data-dir", str(data)]
            stdin = io.BytesIO(json.dumps(told).encode())
            assert await asyncio.to_thread(hook.main, arguments, stdin=stdin) == 0
        await shown("job number 2")
        if not hooked:  # what a hook imports is the agent's own doing, which Activity shows
            await shown("new from")
        session(3).write(place / "3.jsonl")
        await shown("job number 3")  # by then what was due before it is done
        assert dict(pane(app).listing.facets.agents)["claude-code"] == 4
    async with Engine.open(shipped_settings(), data_dir=data) as engine:
        assert await engine.executions.count() == 3
        assert dict((await engine.desk.facets()).agents)["claude-code"] == 4
