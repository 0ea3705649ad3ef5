"""An import that is killed anywhere loses nothing that another process was told is stored."""

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.sessions import remembered, write_sessions
from synthorg_tui.core.errors import DomainError
from synthorg_tui.engine import Engine
from synthorg_tui.host.client import remote_engine
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.settings.root import RootConfig
from tests.patience import PATIENCE
from tests.postgres_switch import files_only
from tests.soak import points

SESSIONS = 12
SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})


async def contents(engine: object) -> set[str]:
    """The texts of all memories, as an engine here or one of another process has them."""
    page = await engine.desk.browse(BrowseFilter(), limit=500)  # type: ignore[attr-defined]
    return {memory.content for memory in page.entries}


async def seen_before_the_kill(
    data_dir: Path, importing: subprocess.Popen[bytes], least: int
) -> set[str]:
    """Ask the importing process until it has stored so many memories, then kill it."""
    seen = set[str]()
    while len(seen) < least and importing.poll() is None:
        try:
            async with remote_engine(data_dir, SETTINGS, role="test") as remote:
                seen = await contents(remote)
        except DomainError:  # it doesn't listen yet, or is just leaving
            await asyncio.sleep(0.01)
    importing.send_signal(signal.SIGKILL)
    importing.wait(PATIENCE)
    return seen


@files_only
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(points(1, 30)))
async def test_what_others_saw_stored_is_there_and_the_next_import_completes_it(
    tmp_path: Path, seed: int
) -> None:
    write_sessions(tmp_path / "sessions", SESSIONS, seed=seed)
    data_dir = tmp_path / "data"
    command = [sys.executable, "-m", "synthorg_tui", "--data-dir", str(data_dir), "import"]
    command.append(str(tmp_path / "sessions"))
    importing = await asyncio.to_thread(
        subprocess.Popen, command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    least = random.Random(seed).randrange(1, 2 * SESSIONS)
    seen = await seen_before_the_kill(data_dir, importing, least)
    assert seen
    async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
        assert seen <= await contents(engine)
        await engine.imports.run([tmp_path / "sessions"])
        stored = await contents(engine)
    for number in range(SESSIONS):
        assert any(remembered(number) in text for text in stored), number
