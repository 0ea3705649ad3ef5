"""Draws the README's pictures from the real app on the bundled sample.

python -m scripts.screenshots FOLDER
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from textual.pilot import Pilot

from synthorg_tui.engine import Engine
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.engine_host import LocalEngineHost

QUESTION = "push a branch that has no upstream"
PICTURES: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "memories": ((120, 36), ()),
    "memories-small": ((80, 24), ()),
    "digest": ((120, 40), ("2", "slash", *QUESTION.replace(" ", "\0"), "enter")),
    "approvals": ((120, 40), ("4", "enter")),
    "search": ((120, 36), ("s", *QUESTION.replace(" ", "\0"), "enter")),
}


async def settle(pilot: Pilot[None]) -> None:
    """Wait until the app has nothing left to do."""
    quiet = 0
    while quiet < 20:
        await pilot.pause(0.05)
        working = any(worker.is_running for worker in pilot.app.workers)
        quiet = 0 if working else quiet + 1


async def draw(data_dir: Path, folder: Path) -> None:
    for name, (size, keys) in PICTURES.items():
        app = MemoryDeskApp(LocalEngineHost(data_dir=data_dir))
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            await pilot.press(*("space" if key == "\0" else key for key in keys))
            await settle(pilot)
            picture = app.export_screenshot(title="synthorg-tui")
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")


def move_home(home: Path) -> None:
    """Have paths read as in anybody's home, where nothing of whose machine it is can show."""
    for name in [each for each in os.environ if each.startswith(("SYNTHORG_", "XDG_"))]:
        del os.environ[name]
    os.environ["HOME"] = str(home)


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        move_home(Path(home))
        data_dir = Path(home, ".local", "share", "synthorg-tui")
        async with Engine.open(data_dir=data_dir) as engine:
            with as_file(files("synthorg_tui.ingest").joinpath("sample")) as sample:
                await engine.imports.run([sample])
        await draw(data_dir, folder)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
