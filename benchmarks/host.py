"""Two agents and a command line beside the open app: errors, lost writes, times of searches.

    python -m benchmarks.host --calls 2000 [--data-dir DIR] [--headless]

The app runs on a pseudo-terminal, each agent in a process of its own. The store is filled with the
sample sessions and what the agents write; with ``--data-dir`` it is the one there.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.table import Limit, Report, Row, command_line, print_report
from benchmarks.terminal import on_terminal
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.engine import Engine
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.host.client import connect
from synthorg_tui.host.errors import NoOwnerError, OwnerGoneError
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.settings.root import RootConfig

AGENTS = ("ada", "bob")
SETTINGS = {
    "memory": {"level": "persistent", "retrieval": {"strategy": "self_editing"}},
    "agent_access": {"writes_per_minute": 10_000},
}
SEARCH = "archival_memory_search"
WRITE = "archival_memory_write"
COMMAND = (sys.executable, "-m", "synthorg_tui")
SUBJECTS = ("database", "branch", "deploy", "cache", "certificate", "queue", "schema", "release")


def query(random_: random.Random) -> str:
    """Return a random text to search for, most likely different at each call."""
    return f"what about the {random_.choice(SUBJECTS)} {random_.randrange(10**6)}"


async def work(agent: str, calls: int, data_dir: Path, config: Path) -> dict[str, Any]:
    """Make the calls of one agent, writes and searches mixed.

    Returns its errors, its writes and the duration of each search.
    """
    random_ = random.Random(agent)
    connection = AgentConnection(data_dir, AgentIdentity(agent), config_path=config, patience=10)
    await connection.tools()
    searches: list[float] = []
    written: list[str] = []
    errors: list[str] = []
    for number in range(calls):
        kind = random_.random()
        if kind < 0.2:
            content = f"{agent} learnt thing {number} about {query(random_)}"
            reply = await connection.call(WRITE, {"content": content, "category": "semantic"})
            written.append(content)
        elif kind < 0.3:
            digest = await connection.digest(query(random_))
            errors += [digest.degraded] if digest.degraded else []
            continue
        else:
            started = time.perf_counter()
            reply = await connection.call(SEARCH, {"query": query(random_)})
            searches.append(time.perf_counter() - started)
        errors += [reply.content] if reply.is_error else []
    await connection.close()
    return {"searches": searches, "written": written, "errors": errors}


async def in_process(data_dir: Path, searches: int) -> list[float]:
    """Run the same searches without a socket, and return the seconds each took."""
    random_ = random.Random("alone")
    durations = []
    async with Engine.open(RootConfig.model_validate(SETTINGS), data_dir=data_dir) as engine:
        await engine.gateway.open()
        session: AgentSession = engine.gateway.connect(AgentIdentity(AGENTS[0]))
        await session.call(SEARCH, {"query": "warm up"})
        for _ in range(searches):
            started = time.perf_counter()
            await session.call(SEARCH, {"query": query(random_)})
            durations.append(time.perf_counter() - started)
    return durations


async def commands(data_dir: Path, config: Path, stop: asyncio.Event) -> list[int]:
    """Run searches on the command line until ``stop`` is set, and return their exit codes."""
    codes = []
    while not stop.is_set():
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            "--data-dir",
            str(data_dir),
            "--config",
            str(config),
            "search",
            "database",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        codes.append(await process.wait())
    return codes


async def agents(calls: int, data_dir: Path, config: Path) -> list[dict[str, Any]]:
    """Run both agents at once, each in a process of its own, and return their results."""
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.host",
            "--agent",
            agent,
            "--calls",
            str(calls // len(AGENTS)),
            "--data-dir",
            str(data_dir),
            "--config",
            str(config),
            stdout=asyncio.subprocess.PIPE,
        )
        for agent in AGENTS
    ]
    return [json.loads((await process.communicate())[0]) for process in running]


def own(arguments: list[str]) -> None:
    """Run the owner of the store on a pseudo-terminal until it is ended."""
    with suppress(RuntimeError):  # it was ended by a signal
        on_terminal("synthorg_tui", arguments)


async def listening(data_dir: Path) -> int:
    """Wait until a process owns the store and listens, and return its process id."""
    while True:
        try:
            connection = await connect(data_dir, role="benchmark")
        except (NoOwnerError, OwnerGoneError):
            await asyncio.sleep(0.05)
        else:
            await connection.close()
            return connection.owner.pid


async def missing(data_dir: Path, written: list[str]) -> int:
    """Return how many of the written memories are missing in the store."""
    async with Engine.open(RootConfig.model_validate(SETTINGS), data_dir=data_dir) as engine:
        stored: set[str] = set()
        for agent in AGENTS:
            offset = 0
            while True:
                page = await engine.desk.browse(
                    BrowseFilter(agents=(agent,)), offset=offset, limit=300
                )
                stored |= {entry.content for entry in page.entries}
                offset += len(page.entries)
                if not page.entries:
                    break
    return len(set(written) - stored)


async def inside(data_dir: Path, calls: int) -> list[float]:
    """Return the seconds that each search of this run took inside the owner."""
    async with Engine.open(RootConfig.model_validate(SETTINGS), data_dir=data_dir) as engine:
        await engine.gateway.open()
        recorded = await engine.gateway.calls(limit=calls)
    return [call.milliseconds / 1000 for call in recorded if call.name == SEARCH]


async def load(
    calls: int, data_dir: Path, *, headless: bool
) -> tuple[list[dict[str, Any]], list[int]]:
    """Run an owner, the agents and the commands.

    Returns the agents' results and the exit codes of the commands.
    """
    config = data_dir.parent / "company.json.yaml"
    config.write_text(json.dumps(SETTINGS))
    options = ["--data-dir", str(data_dir), "--config", str(config)]
    owner = threading.Thread(target=own, args=([*options, *(["serve"] if headless else [])],))
    owner.start()
    pid = await listening(data_dir)
    stop = asyncio.Event()
    shell = asyncio.create_task(commands(data_dir, config, stop))
    results = await agents(calls, data_dir, config)
    stop.set()
    codes = await shell
    os.kill(pid, signal.SIGTERM)
    await asyncio.to_thread(owner.join)
    return results, codes


async def measure(calls: int, data_dir: Path, *, headless: bool) -> list[Row]:
    await in_process(data_dir, 5)  # makes the store
    results, codes = await load(calls, data_dir, headless=headless)
    searches = [seconds for result in results for seconds in result["searches"]]
    written = [text for result in results for text in result["written"]]
    errors = [text for result in results for text in result["errors"]]
    lost = await missing(data_dir, written)
    beside = await inside(data_dir, calls)
    alone = await in_process(data_dir, 100)  # now: on the same memories as over the wire
    near, busy, far = p95(alone), p95(beside), p95(searches)
    failed = sum(code != 0 for code in codes)
    none = Limit("<=", 0)
    return [
        Row("calls of agents", calls),
        Row("errors shown to agents", len(errors), hold=none),
        Row("commands beside them, failed", failed, f"of {len(codes)}", none),
        Row("writes lost", lost, f"of {len(written)}", none),
        Row("search in the process, p95", near, "ms", digits=1),
        Row("the same with all of this beside it", busy, "ms", digits=1),
        Row("search over the wire, p95", far, "ms", _over_wire(near), digits=1),
        Row("against the process with all of this", far, "ms", _over_wire(busy), digits=1),
        Row("search over the wire, p50", statistics.median(searches) * 1_000, "ms", digits=1),
    ]


def _over_wire(near: float) -> Limit:
    return Limit("<=", 2 * near + 10)


def p95(seconds: list[float]) -> float:
    """Return the 95th percentile of durations in seconds, in milliseconds."""
    return sorted(seconds)[int(len(seconds) * 0.95)] * 1_000


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--agent", help=argparse.SUPPRESS)
    parser.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.agent:
        outcome = work(options.agent, options.calls, options.data_dir, options.config)
        print(json.dumps(asyncio.run(outcome)))
        return
    with tempfile.TemporaryDirectory() as folder:
        data_dir = options.data_dir or Path(folder) / "data"
        rows = asyncio.run(measure(options.calls, data_dir, headless=options.headless))
    parameters = {"calls": options.calls, "owner": "serve" if options.headless else "app"}
    print_report(Report("host", parameters, rows), as_json=options.json)


if __name__ == "__main__":
    main()
