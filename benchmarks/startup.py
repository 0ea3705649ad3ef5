"""CPU until the app is painted and until it is usable, against a Textual hello app.

    python -m benchmarks.startup [--data-dir DIR] [--runs N]

Each start is a process of its own on a pseudo-terminal of 120x40. CPU is user plus system time of
that process, all threads. *Painted* is the first frame, *usable* is rows on the screen: the clock
is read after the frame that has them; scrolling and filtering work from there on. *Loaded* is when
the engine is open too, for searches and changes. Without ``--data-dir`` a store with a few memories
is made for the run. One start of each kind goes first, so that all find their bytecode compiled,
whatever the environment says about writing it.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.terminal import on_terminal

STEPS = ("hello", "painted", "usable", "loaded")
LABELS = {
    "hello": "Textual hello app, first frame",
    "painted": "synthorg-tui, first frame",
    "usable": "synthorg-tui, rows shown",
    "loaded": "synthorg-tui, engine open",
}
LIMITS = {"painted": 2.0, "usable": 3.0}


def report(path: str, app: object) -> None:
    """Write what was used so far and end the app."""
    Path(path).write_text(json.dumps({"cpu": time.process_time()}), encoding="utf-8")
    app.exit()  # type: ignore[attr-defined]


def child_hello(path: str) -> None:
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Hello(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("Hello")

        def on_ready(self) -> None:
            self.call_after_refresh(report, path, self)

    Hello().run()


def child_ours(path: str, data_dir: Path, step: str) -> None:
    from textual.screen import Screen

    from synthorg_tui.tui.app import MemoryDeskApp, run
    from synthorg_tui.tui.ports import MemoryDesk
    from synthorg_tui.tui.screens.memories import MemoriesScreen

    class Watched(MemoriesScreen):
        def _show(self) -> None:
            super()._show()
            if step == "usable" and self.listing.window.rows:
                self.call_after_refresh(report, path, self.app)

        def attach(self, desk: MemoryDesk) -> None:
            super().attach(desk)
            if step == "loaded":
                self.call_after_refresh(report, path, self.app)

    class Measured(MemoryDeskApp):
        def _make_memories(self) -> Screen[None]:
            self._memories = Watched(state=self.state, now=self._now, panes=self._panes)
            return self._memories

        def action_reopen(self) -> None:
            if step == "painted":
                report(path, self)
            else:
                super().action_reopen()

    run(data_dir=data_dir, app_type=Measured)


def environment(bytecode: Path) -> dict[str, str]:
    """Compiled modules are written to and read from ``bytecode``."""
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return known | {"PYTHONPYCACHEPREFIX": str(bytecode)}


def measure(step: str, data_dir: Path, bytecode: Path) -> float:
    """Seconds of CPU one start takes."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "cpu.json"
        arguments = ["--child", step, "--result", str(result), "--data-dir", str(data_dir)]
        on_terminal("benchmarks.startup", arguments, environment(bytecode))
        return float(json.loads(result.read_text(encoding="utf-8"))["cpu"])


async def fill(data_dir: Path) -> None:
    """A store with a few memories."""
    from synthorg_tui.core.enums import MemoryCategory
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.models import MemoryStoreRequest

    async with Engine.open(data_dir=data_dir) as engine:
        for number in range(40):
            content = f"Case {number}: the build failed until the cache was cleared."
            request = MemoryStoreRequest(category=MemoryCategory.EPISODIC, content=content)
            await engine.memory.store("bench", request)


def compare(data_dir: Path, runs: int) -> int:
    """Steps take turns, and ratios are taken turn by turn: machines drift."""
    with tempfile.TemporaryDirectory() as bytecode:
        rounds = [
            {step: measure(step, data_dir, Path(bytecode)) for step in STEPS}
            for _ in range(runs + 1)
        ][1:]
    print(f"{'':34} {'CPU s':>8} {'ratio':>7} {'hold':>6}")
    missed = 0
    for step in STEPS:
        spent = statistics.median(each[step] for each in rounds)
        ratio = statistics.median(each[step] / each["hello"] for each in rounds)
        limit = LIMITS.get(step)
        missed += limit is not None and ratio > limit
        held = f"{limit:.0f}x" if limit else ""
        print(f"{LABELS[step]:34} {spent:8.2f} {ratio:6.2f}x {held:>6}")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, help="an existing store")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--child", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "hello":
        child_hello(options.result)
        return 0
    if options.child:
        child_ours(options.result, options.data_dir, options.child)
        return 0
    if options.data_dir:
        return compare(options.data_dir, options.runs)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(fill(Path(folder)))
        return compare(Path(folder), options.runs)


if __name__ == "__main__":
    sys.exit(main())
