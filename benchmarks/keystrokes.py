"""How long the Digest pane takes from a key to the answer on the screen.

    python -m benchmarks.keystrokes --memories 100000 [--data-dir DIR]

The app runs in a process of its own on a pseudo-terminal of 120x40, on a store of that size, and is
given keys as a terminal would. *Single* keys come after a pause; a *burst* is ten keys at the pace
of quick typing, counted from its last one. The answer is there when it has been drawn. Each key
makes a question that is new to the model's cache; stored vectors are synthetic.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.widgets import Input

from benchmarks.scale import AGENT, p50, p95, questions
from benchmarks.synthetic import ensure_filled
from benchmarks.table import Row, print_table
from benchmarks.terminal import on_terminal
from synthorg_tui.tui.app import MemoryDeskApp, run
from synthorg_tui.tui.digest_ports import Answer, Ask
from synthorg_tui.tui.screens.digest import DigestScreen
from synthorg_tui.tui.screens.digest_view import DEBOUNCE

TASKS = 8
KEYS_A_TASK = 10
BURSTS = 20
BURST_KEYS = 10
PACE = 0.06
PAUSE = 0.4
SINGLE_WITHIN = 150.0
BEYOND_THE_DEBOUNCE = 100.0


class Typed(MemoryDeskApp):
    """Opens the Digest pane, types, and notes when each answer was drawn."""

    taken: ClassVar[dict[str, list[float]]] = {"single": [], "burst": [], "engine": []}
    displayed = 0.0

    def on_ready(self) -> None:
        self.answers = asyncio.Event()
        self.run_worker(self._measure())

    def post_display_hook(self) -> None:
        self.displayed = time.perf_counter()

    async def _measure(self) -> None:
        await asyncio.sleep(5)  # the list is read, the model loaded
        self._press("2")
        await asyncio.sleep(1)
        screen = self.screen
        assert isinstance(screen, DigestScreen)
        screen.digest.agent_id = AGENT
        self._watch(screen)
        self._press("slash")
        for task in questions(TASKS, seed=31):
            await self._singly(screen, task)
        for task in questions(BURSTS, seed=37):
            await self._in_a_burst(screen, task)
        self.exit()

    def _watch(self, screen: DigestScreen) -> None:
        take = screen.digest.take

        def noted(generation: int, ask: Ask, answer: Answer) -> bool:
            self.answers.set()
            return take(generation, ask, answer)

        screen.digest.take = noted  # type: ignore[method-assign]

    async def _singly(self, screen: DigestScreen, task: str) -> None:
        await self._begin(screen, task[:-KEYS_A_TASK])
        for character in task[-KEYS_A_TASK:]:
            await asyncio.sleep(PAUSE)
            self.taken["single"].append(await self._answered(screen, character))
            answer = screen.digest.answer
            assert answer is not None
            self.taken["engine"].append(answer.milliseconds)

    async def _in_a_burst(self, screen: DigestScreen, task: str) -> None:
        await self._begin(screen, task[:-BURST_KEYS])
        for character in task[-BURST_KEYS:-1]:
            self._press(character)
            await asyncio.sleep(PACE)
        self.taken["burst"].append(await self._answered(screen, task[-1]))

    async def _begin(self, screen: DigestScreen, task: str) -> None:
        entry = screen.query_one("#task", Input)
        entry.value = task
        entry.cursor_position = len(task)
        await asyncio.sleep(3 * PAUSE)

    async def _answered(self, screen: DigestScreen, character: str) -> float:
        """Milliseconds from a key until the answer to the question it makes is drawn."""
        wanted = screen.digest.query + character
        drawn = asyncio.Event()
        started = time.perf_counter()
        self._press(character)
        while screen.digest.waiting or screen.digest.query != wanted:
            self.answers.clear()
            await self.answers.wait()
        answered = time.perf_counter()
        screen.call_after_refresh(drawn.set)
        await drawn.wait()
        return (max(answered, self.displayed) - started) * 1_000

    def _press(self, character: str) -> None:
        key = "space" if character == " " else character
        self.post_message(events.Key(key, character))


def child(result: Path, data_dir: Path) -> None:
    """Type into the app on the store and write what was measured."""
    run(data_dir=data_dir, app_type=Typed)
    result.write_text(json.dumps(Typed.taken), encoding="utf-8")


def rows(taken: dict[str, list[float]], debounce: float) -> list[Row]:
    single, burst, engine = taken["single"], taken["burst"], taken["engine"]
    bound = debounce + BEYOND_THE_DEBOUNCE
    return [
        Row("a single key to its answer, p50", f"{p50(single):.0f} ms"),
        Row(
            "a single key to its answer, p95",
            f"{p95(single):.0f} ms",
            f"<= {SINGLE_WITHIN:.0f} ms",
            p95(single) <= SINGLE_WITHIN,
        ),
        Row("of which the engine, p50", f"{p50(engine):.0f} ms"),
        Row("of which the engine, p95", f"{p95(engine):.0f} ms"),
        Row("last key of a burst to its answer, p50", f"{p50(burst):.0f} ms"),
        Row(
            "last key of a burst to its answer, p95",
            f"{p95(burst):.0f} ms",
            f"<= {bound:.0f} ms",
            p95(burst) <= bound,
        ),
    ]


def measure(data_dir: Path, memories: int) -> list[Row]:
    asyncio.run(ensure_filled(data_dir, memories))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "keys.json"
        on_terminal("benchmarks.keystrokes", ["--child", str(result), "--data-dir", str(data_dir)])
        return rows(json.loads(result.read_text(encoding="utf-8")), DEBOUNCE * 1_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.data_dir)
        return
    with tempfile.TemporaryDirectory() as scratch:
        measured = measure(given.data_dir or Path(scratch), given.memories)
    load = os.getloadavg()[0]
    print_table(f"{given.memories:,} memories, 10 agents, load {load:.1f}", measured)


if __name__ == "__main__":
    main()
