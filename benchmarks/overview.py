"""Speed of the overview over a large store: its figures, opening it, changing the span.

    python -m benchmarks.overview --memories 100000 --calls 100000 [--data-dir DIR]

The rows are made up in the database itself; nothing is embedded. Opening is from the key to the
drawn figures, in the real app without a terminal; what holds the event loop is measured beside it.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.scale import p50, p95
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.engine import Engine
from synthorg_tui.figures.models import FigureSpan
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import Connection
from synthorg_tui.settings.root import RootConfig

if TYPE_CHECKING:
    from textual.pilot import Pilot


DRAWN_WITHIN = 300.0
"""Milliseconds until the overview must be drawn."""
HELD_AT_MOST = 50.0
"""Milliseconds that the event loop may be held while figures are read. On a machine with other work
the scheduler holds it as well."""
ROUNDS = 12
TURNS = 2
"""Times that all spans are gone through."""
_EVERY = 0.002
_AT = "now()::TIMESTAMP - to_seconds(CAST(hash(i, {salt}) % 63072000 AS BIGINT))"
"""A moment of the last two years."""
_MEMORIES = """
INSERT INTO memories
SELECT uuid(), i + 1, 'agent-' || i % 5, i % 7 = 0, 'default',
    ['working', 'episodic', 'semantic', 'procedural', 'social'][1 + i % 5],
    CASE WHEN i % 40 = 3 THEN '[DISCOVERY] ' ELSE '' END || 'What memory ' || i || ' tells of it',
    NULL, 0.8, [['session', 'task', 'recovery', 'commit', 'said', 'shell'][1 + i % 6]],
    'persistent', NULL, '/home/ada/project-' || hash(i, 9) % 40, NULL, NULL, md5(i::VARCHAR),
    false, {at}, NULL, NULL,
    CASE WHEN i % 50 = 0 THEN now()::TIMESTAMP END, NULL, 'private', 'operator', NULL, NULL, NULL,
    CASE WHEN i % 30 = 1 THEN now()::TIMESTAMP END, NULL, NULL
FROM range({count}) t(i)
"""
_CALLS = """
INSERT INTO agent_calls
SELECT i + 1, {at}, 'agent-' || i % 5, 'claude-code', '/home/ada/project-' || i % 40,
    CASE WHEN i % 3 = 0 THEN 'digest' WHEN i % 3 = 1 THEN 'hint' ELSE 'tool' END,
    CASE WHEN i % 3 = 0 THEN 'digest' WHEN i % 6 = 1 THEN 'before_action'
        WHEN i % 3 = 1 THEN 'after_failure' ELSE 'search_memory' END,
    '{{"query": "what was done"}}', i % 97 = 0, i % 900, i % 400,
    CASE WHEN i % 4 = 0 THEN [] ELSE [uuid()::VARCHAR] END, false, 'x'::BLOB
FROM range({count}) t(i)
"""
_USES = """
INSERT INTO lesson_uses
SELECT 'skill-' || i % 30, {at}, ['digest', 'before', 'after', 'read'][1 + i % 4], 'agent-0', NULL,
    'session-' || i % 2000 FROM range({count}) t(i)
"""
_RUNS = """
INSERT INTO lesson_runs
SELECT 'skill-' || i % 30, 'claude-code:session-' || i % 2000, 'mark', i % 3 > 0,
    CASE WHEN i % 6 = 1 THEN {at} END FROM range({count}) t(i)
"""
_USAGE = """
INSERT INTO cost_records
SELECT 'agent-' || i % 3, 'task', 'server', 'model-' || i % 4, 900 + i % 300, 80, 0.002, {at}, 1.5
FROM range({count}) t(i)
"""
_SESSIONS = """
INSERT INTO executions BY NAME
SELECT 'claude-code:session-' || i AS id, 'agent-' || i % 5 AS agent_id,
    '/home/ada/project-' || i % 40 AS project, '/home/ada/' || i AS path, 100 AS line_count,
    'x'::BLOB AS record, 'Session ' || i AS title, 'succeeded' AS outcome, {at} AS started_at,
    {at} AS ended_at, i % 90 AS calls, 0 AS failures, [] AS files, 1000 AS size
FROM range({count}) t(i)
"""


def fill(db: "Connection", memories: int, calls: int) -> None:
    """Fill an empty store with rows of the last two years."""
    made = (
        (_MEMORIES, memories),
        (_CALLS, calls),
        (_USES, calls // 4),
        (_RUNS, 6_000),
        (_SESSIONS, 2_000),
    )
    for salt, (statement, count) in enumerate((*made, (_USAGE, calls // 4))):
        db.execute(statement.format(at=_AT.format(salt=salt), count=count))


@asynccontextmanager
async def filled(data_dir: Path, memories: int, calls: int) -> AsyncIterator[Engine]:
    """Open a store with so many memories and calls, made at the first opening."""
    database = Database.in_dir(data_dir)
    await database.open()
    rows = await database.read(lambda db: db.execute("SELECT count(*) FROM memories").fetchall())
    if not rows[0][0]:
        await database.write(lambda db: fill(db, memories, calls))
    await database.close()
    async with Engine.open(RootConfig(), data_dir=data_dir) as engine:
        yield engine


class Held:
    """The longest hold of the event loop during each of several acts, in milliseconds."""

    def __init__(self) -> None:
        self.longest: list[float] = []

    async def watch(self) -> None:
        """Sleep for short times, and note how late it wakes up at most; until cancelled."""
        self.longest.append(0.0)
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_EVERY)
            late = (time.perf_counter() - began - _EVERY) * 1_000
            self.longest[-1] = max(self.longest[-1], late)


async def timed(act: Callable[[], Awaitable[object]], held: Held) -> float:
    """Return how many milliseconds it takes; the longest hold of the loop goes into ``held``."""
    watching = asyncio.create_task(held.watch())
    await asyncio.sleep(0)
    began = time.perf_counter()
    await act()
    taken = (time.perf_counter() - began) * 1_000
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return taken


async def reading(engine: Engine) -> list[Row]:
    """Time the figures alone: each span for the first time, and again without a change."""
    now, held = datetime.now(UTC).astimezone(), Held()
    first: list[float] = []
    again: list[float] = []
    await engine.figures.read(FigureSpan.WEEK, now)
    for number in range(ROUNDS):
        for span in FigureSpan:
            at = now.replace(minute=number, second=0)  # another minute: everything is counted
            first.append(await timed(lambda s=span, a=at: engine.figures.read(s, a), held))  # type: ignore[misc]
            again.append(await timed(lambda s=span, a=at: engine.figures.read(s, a), held))  # type: ignore[misc]
    limit, at_most = Limit("<=", DRAWN_WITHIN), Limit("<=", HELD_AT_MOST)
    return [
        Row("count all figures, p50", p50(first), "ms", digits=1),
        Row("count all figures, p95", p95(first), "ms", limit, digits=1),
        Row("the same figures again, p50", p50(again), "ms", digits=1),
        Row("event loop held by a reading, p95", p95(held.longest), "ms", at_most, digits=1),
    ]


async def drawn(pilot: "Pilot[None]", span: FigureSpan | None = None) -> None:
    """Wait until the overview on the screen has the figures of the span."""
    from synthorg_tui.tui.overview.screen import OverviewScreen

    def is_drawn() -> bool:
        screen = pilot.app.screen
        shown = screen.drawn_span if isinstance(screen, OverviewScreen) else None
        return shown is not None and span in (None, shown)

    await until(is_drawn)


async def until(condition: Callable[[], bool]) -> None:
    """Wait, a millisecond at a time, until the condition holds."""
    while not condition():  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.001)


async def on_screen(data_dir: Path) -> list[Row]:
    """Time opening the overview in the app, and changing the span."""
    from synthorg_tui.tui.app import MemoryDeskApp
    from synthorg_tui.tui.engine_host import SharingHost

    app = MemoryDeskApp(SharingHost(data_dir=data_dir), data_dir=data_dir)
    openings: list[float] = []
    changes: list[float] = []
    held = Held()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.maker.desk is not None)
        await pilot.pause(1.0)
        for _ in range(ROUNDS):

            async def open_it() -> None:
                app.action_manage("overview")
                await drawn(pilot)

            openings.append(await timed(open_it, held))
            await pilot.press("escape")
            await pilot.pause(0.05)
        app.action_manage("overview")
        await drawn(pilot)
        for span in (*FigureSpan,) * TURNS:

            async def change(wanted: FigureSpan = span) -> None:
                app.screen.turn_to(wanted)  # type: ignore[attr-defined]
                await drawn(pilot, wanted)

            changes.append(await timed(change, held))
    limit = Limit("<=", DRAWN_WITHIN)
    return [
        Row("open the overview, first", openings[0], "ms", limit, digits=1),
        Row("open the overview, p50", p50(openings), "ms", limit, digits=1),
        Row("open the overview, p95", p95(openings), "ms", limit, digits=1),
        Row("change the span, p50", p50(changes), "ms", limit, digits=1),
        Row("change the span, p95", p95(changes), "ms", limit, digits=1),
        Row("event loop held by drawing, p50", p50(held.longest), "ms", digits=1),
    ]


async def measure(data_dir: Path, memories: int, calls: int) -> Report:
    """Return all figures of one store."""
    async with filled(data_dir, memories, calls) as engine:
        rows = await reading(engine)
    rows += await on_screen(data_dir)
    return Report("overview", {"memories": memories, "calls": calls}, rows)


def main() -> int:
    parser: argparse.ArgumentParser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = args.data_dir or Path(folder) / "data"
        report = asyncio.run(measure(place, args.memories, args.calls))
    print_report(report, as_json=args.json)
    return int(report.missed)


if __name__ == "__main__":
    raise SystemExit(main())
