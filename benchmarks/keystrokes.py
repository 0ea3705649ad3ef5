"""How long the Digest pane takes from a key to the key, and to the answer, on the screen.

    python -m benchmarks.keystrokes --memories 100000 [--data-dir DIR]

The app runs in a process of its own on a pseudo-terminal of 120x40, on a store of that size, and is
given keys as a terminal would. *Single* keys come after a pause; a *burst* is ten keys at the pace
of quick typing, of which the last one counts. The answer is there when it has been drawn, the echo
of a key when the entry has been drawn with it. Each key makes a question that is new to the model's
cache; stored vectors are synthetic.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.strip import Strip
from textual.widgets import Input

from benchmarks.scale import AGENT, p50, p95, questions
from benchmarks.synthetic import ensure_filled
from benchmarks.table import Limit, Report, Row, command_line, print_report
from benchmarks.terminal import on_terminal
from synthorg_tui.memory.strategies.service import Injection
from synthorg_tui.tui.app import MemoryDeskApp, run
from synthorg_tui.tui.digest.screen import DigestScreen

TASKS = 8
KEYS_A_TASK = 10
BURSTS = 20
BURST_KEYS = 10
PACE = 0.06
PAUSE = 0.4
ANSWER_WITHIN = 150.0
ECHO_WITHIN = 100.0


class Echo:
    """Records, in milliseconds, how long each key press takes to appear in the input."""

    def __init__(self) -> None:
        self.durations: list[float] = []
        self._due: deque[tuple[str, float]] = deque()
        self._drawn = ""

    def watch(self, entry: Input) -> None:
        """Record the drawing of this input."""
        render_line = entry.render_line

        def noted(y: int) -> Strip:
            self._drawn = entry.value
            return render_line(y)

        entry.render_line = noted  # type: ignore[method-assign]

    def pressed(self, wanted: str, at: float) -> None:
        """Record that a key was pressed at time ``at`` that makes the input's text ``wanted``."""
        self._due.append((wanted, at))

    def displayed(self, at: float) -> None:
        """Record that everything drawn so far was written to the terminal at time ``at``."""
        while self._due and self._drawn.startswith(self._due[0][0]):
            self.durations.append((at - self._due.popleft()[1]) * 1_000)


class Typed(MemoryDeskApp):
    """An app that opens the Digest pane, types, and records when each answer was drawn."""

    durations: ClassVar[dict[str, list[float]]] = {"single": [], "burst": [], "engine": []}
    echo: ClassVar[Echo] = Echo()
    displayed = 0.0

    def on_ready(self) -> None:
        self.answers = asyncio.Event()
        self.run_worker(self._measure())

    def post_display_hook(self) -> None:
        self.displayed = time.perf_counter()
        self.echo.displayed(self.displayed)

    async def _measure(self) -> None:
        await asyncio.sleep(5)  # the list is read, the model loaded
        self._press("2")
        await asyncio.sleep(1)
        screen = self.screen
        assert isinstance(screen, DigestScreen)
        screen.digest.agent_id = AGENT
        self._watch(screen)
        self.echo.watch(screen.query_one("#task", Input))
        self._press("slash")
        for task in questions(TASKS, seed=31):
            await self._singly(screen, task)
        for task in questions(BURSTS, seed=37):
            await self._in_a_burst(screen, task)
        self.durations["echo"] = self.echo.durations
        self.exit()

    def _watch(self, screen: DigestScreen) -> None:
        take = screen.digest.take

        def noted(generation: int, injection: Injection, text_tokens: int) -> bool:
            self.answers.set()
            return take(generation, injection, text_tokens)

        screen.digest.take = noted  # type: ignore[method-assign]

    async def _singly(self, screen: DigestScreen, task: str) -> None:
        await self._begin(screen, task[:-KEYS_A_TASK])
        for end in range(len(task) - KEYS_A_TASK + 1, len(task) + 1):
            await asyncio.sleep(PAUSE)
            self.durations["single"].append(await self._answered(screen, task[:end]))
            answer = screen.digest.answer
            assert answer is not None
            taken = sum(stage.milliseconds for stage in answer.stages)
            self.durations["engine"].append(taken)

    async def _in_a_burst(self, screen: DigestScreen, task: str) -> None:
        await self._begin(screen, task[:-BURST_KEYS])
        for end in range(len(task) - BURST_KEYS + 1, len(task)):
            self._type(task[:end])
            await asyncio.sleep(PACE)
        self.durations["burst"].append(await self._answered(screen, task))

    async def _begin(self, screen: DigestScreen, task: str) -> None:
        entry = screen.query_one("#task", Input)
        entry.value = task
        entry.cursor_position = len(task)
        await asyncio.sleep(3 * PAUSE)

    async def _answered(self, screen: DigestScreen, wanted: str) -> float:
        """Milliseconds from the last key of a question until its answer is drawn."""
        drawn = asyncio.Event()
        started = self._type(wanted)
        while screen.digest.waiting or screen.digest.query != wanted:
            self.answers.clear()
            await self.answers.wait()
        answered = time.perf_counter()
        screen.call_after_refresh(drawn.set)
        await drawn.wait()
        return (max(answered, self.displayed) - started) * 1_000

    def _type(self, wanted: str) -> float:
        """Press the last key of what the entry shall then hold; returns when."""
        now = time.perf_counter()
        self.echo.pressed(wanted, now)
        self._press(wanted[-1])
        return now

    def _press(self, character: str) -> None:
        key = "space" if character == " " else character
        self.post_message(events.Key(key, character))


def child(result: Path, data_dir: Path) -> None:
    """Run the app on the store, type, and write the measured times to ``result``."""
    run(data_dir=data_dir, app_type=Typed)
    result.write_text(json.dumps(Typed.durations), encoding="utf-8")


def within(name: str, values: list[float], limit: float) -> list[Row]:
    """Return rows for the median and the 95th percentile, in milliseconds.

    The latter must not exceed ``limit``.
    """
    return [
        Row(f"{name}, p50", p50(values), "ms"),
        Row(f"{name}, p95", p95(values), "ms", Limit("<=", limit)),
    ]


def rows(durations: dict[str, list[float]]) -> list[Row]:
    engine = durations["engine"]
    return [
        *within("a single key to its answer", durations["single"], ANSWER_WITHIN),
        Row("of which the engine, p50", p50(engine), "ms"),
        Row("of which the engine, p95", p95(engine), "ms"),
        *within("last key of a burst to its answer", durations["burst"], ANSWER_WITHIN),
        *within("any key to its echo", durations["echo"], ECHO_WITHIN),
        Row("load of the machine", os.getloadavg()[0], digits=1),
    ]


def measure(data_dir: Path, memories: int) -> list[Row]:
    asyncio.run(ensure_filled(data_dir, memories))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "keys.json"
        on_terminal("benchmarks.keystrokes", ["--child", str(result), "--data-dir", str(data_dir)])
        return rows(json.loads(result.read_text(encoding="utf-8")))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.data_dir)
        return
    with tempfile.TemporaryDirectory() as scratch:
        measured = measure(options.data_dir or Path(scratch), options.memories)
    report = Report("keystrokes", {"memories": options.memories}, measured)
    print_report(report, as_json=options.json)


if __name__ == "__main__":
    main()
