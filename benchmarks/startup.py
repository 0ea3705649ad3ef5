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

from benchmarks.table import Limit, Report, Row, command_line, print_report
from benchmarks.terminal import on_terminal

STEPS = ("hello", "painted", "usable", "loaded")
LABELS = {
    "hello": "Textual hello app, first frame",
    "painted": "synthorg-tui, first frame",
    "usable": "synthorg-tui, rows shown",
    "loaded": "synthorg-tui, engine open",
}
LIMITS = {"painted": Limit("<=", 2), "usable": Limit("<=", 3)}


def report(path: str, app: object) -> None:
    """Write the CPU time used so far to a file and end the app."""
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
    from synthorg_tui.tui import making
    from synthorg_tui.tui.app import MemoryDeskApp, run
    from synthorg_tui.tui.engine_adapter import EngineAdapter
    from synthorg_tui.tui.memories.screen import MemoriesScreen

    class Watched(MemoriesScreen):
        def show_answer(self) -> None:
            super().show_answer()
            if step == "usable" and self.listing.window.rows:
                self.call_after_refresh(report, path, self.app)

        def attach(self, desk: EngineAdapter) -> None:
            super().attach(desk)
            if step == "loaded":
                self.call_after_refresh(report, path, self.app)

    class Measured(MemoryDeskApp):
        def action_reopen(self) -> None:
            if step == "painted":
                report(path, self)
            else:
                super().action_reopen()

    making.MemoriesScreen = Watched  # type: ignore[attr-defined]
    run(data_dir=data_dir, app_type=Measured)


def environment(bytecode: Path) -> dict[str, str]:
    """Return the environment for a start that caches compiled modules in ``bytecode``."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {"PYTHONPYCACHEPREFIX": str(bytecode)}


def measure(step: str, data_dir: Path, bytecode: Path) -> float:
    """Start the app once and return the CPU seconds it took to reach ``step``."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "cpu.json"
        arguments = ["--child", step, "--result", str(result), "--data-dir", str(data_dir)]
        on_terminal("benchmarks.startup", arguments, environment(bytecode))
        return float(json.loads(result.read_text(encoding="utf-8"))["cpu"])


async def fill(data_dir: Path) -> None:
    """Fill a store with a few memories."""
    from synthorg_tui.core.enums import MemoryCategory
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.models import MemoryStoreRequest

    async with Engine.open(data_dir=data_dir) as engine:
        for number in range(40):
            content = f"Case {number}: the build failed until the cache was cleared."
            request = MemoryStoreRequest(category=MemoryCategory.EPISODIC, content=content)
            await engine.memory.store("bench", request)


def compare(data_dir: Path, runs: int) -> list[Row]:
    """Measure all steps in turns and return their figures and ratios.

    Ratios are computed turn by turn, since the speed of machines drifts.
    """
    with tempfile.TemporaryDirectory() as bytecode:
        rounds = [
            {step: measure(step, data_dir, Path(bytecode)) for step in STEPS}
            for _ in range(runs + 1)
        ][1:]
    cpu = {step: statistics.median(turn[step] for turn in rounds) for step in STEPS}
    ratios = {
        step: statistics.median(turn[step] / turn["hello"] for turn in rounds) for step in STEPS
    }
    return [
        *(Row(f"{LABELS[step]}, CPU", cpu[step], "s", digits=2) for step in STEPS),
        *(
            Row(f"{LABELS[step]}, ratio to hello", ratios[step], "x", LIMITS.get(step), digits=2)
            for step in STEPS[1:]
        ),
    ]


def main() -> int:
    parser = command_line(__doc__)
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
    with tempfile.TemporaryDirectory() as folder:
        if options.data_dir is None:
            asyncio.run(fill(Path(folder)))
        rows = compare(options.data_dir or Path(folder), options.runs)
    report = Report("startup", {"runs": options.runs}, rows)
    print_report(report, as_json=options.json)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
