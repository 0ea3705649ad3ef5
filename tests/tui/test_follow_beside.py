"""A session that an agent writes beside the open app: the real app, engine and hook.

Two sessions of one kind share the memory of what was put right, so that each adds one and both one.
"""

import asyncio
import io
import json
from pathlib import Path
from time import monotonic

import pytest

from synthorg_tui.connect import hook
from synthorg_tui.engine import Engine
from synthorg_tui.host.endpoint import socket_path
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests.ingest.test_import_service import session
from tests.patience import PATIENCE
from tests.tui.tui_helpers import pane, screen_text

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
    app = MemoryDeskApp(LocalEngineHost(data_dir=data), data_dir=data)
    async with app.run_test(size=(120, 40)) as pilot:
        end = monotonic() + PATIENCE

        async def shown(words: str) -> None:
            while words not in screen_text(app):
                assert monotonic() < end, screen_text(app)
                await pilot.pause(0.02)

        await shown("job number 1")
        while not Path(socket_path(data)).exists():
            await pilot.pause(0.05)
        await pilot.pause(2.0)  # until the folders are watched
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
        await pilot.pause(3.0 if hooked else 1.0)  # whatever would come a second time
        assert dict(pane(app).listing.facets.agents)["claude-code"] == 3
    async with Engine.open(shipped_settings(), data_dir=data) as engine:
        assert await engine.executions.count() == 2
        assert dict((await engine.desk.facets()).agents)["claude-code"] == 3
