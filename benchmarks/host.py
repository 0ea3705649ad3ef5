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

from benchmarks.table import Row, print_table
from benchmarks.terminal import on_terminal
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.engine import Engine
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.host.client import connect
from synthorg_tui.host.errors import NoOwnerError, OwnerGoneError
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.settings.config import RootConfig

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
    """Something to search for; no two are likely to be the same."""
    return f"what about the {random_.choice(SUBJECTS)} {random_.randrange(10**6)}"


async def work(agent: str, calls: int, data_dir: Path, config: Path) -> dict[str, Any]:
    """One agent's calls, mixed; what went wrong, what it wrote and how long searches took."""
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
    """The same search without a wire."""
    random_ = random.Random("alone")
    taken = []
    async with Engine.open(RootConfig.model_validate(SETTINGS), data_dir=data_dir) as engine:
        await engine.gateway.open()
        session: AgentSession = engine.gateway.connect(AgentIdentity(AGENTS[0]))
        await session.call(SEARCH, {"query": "warm up"})
        for _ in range(searches):
            started = time.perf_counter()
            await session.call(SEARCH, {"query": query(random_)})
            taken.append(time.perf_counter() - started)
    return taken


async def commands(data_dir: Path, config: Path, stop: asyncio.Event) -> list[int]:
    """Exit codes of a command line that searches again and again."""
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
    """Both agents at once, each in its process."""
    each = calls // len(AGENTS)
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.host",
            "--agent",
            agent,
            "--calls",
            str(each),
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
    """Run the owner on a terminal until it is ended."""
    with suppress(RuntimeError):  # it was ended by a signal
        on_terminal("synthorg_tui", arguments)


async def listening(data_dir: Path) -> int:
    """The process that listens, once one does."""
    while True:
        try:
            connection = await connect(data_dir, role="benchmark")
        except (NoOwnerError, OwnerGoneError):
            await asyncio.sleep(0.05)
        else:
            await connection.close()
            return connection.owner.pid


async def missing(data_dir: Path, written: list[str]) -> int:
    """How many of the written memories the store doesn't have."""
    async with Engine.open(RootConfig.model_validate(SETTINGS), data_dir=data_dir) as engine:
        kept: set[str] = set()
        for agent in AGENTS:
            offset = 0
            while True:
                page = await engine.desk.browse(
                    BrowseFilter(agents=(agent,)), offset=offset, limit=300
                )
                kept |= {entry.content for entry in page.entries}
                offset += len(page.entries)
                if not page.entries:
                    break
    return len(set(written) - kept)


async def inside(data_dir: Path, calls: int) -> list[float]:
    """How long the owner itself took for the searches of this run."""
    async with Engine.open(RootConfig.model_validate(SETTINGS), data_dir=data_dir) as engine:
        await engine.gateway.open()
        recorded = await engine.gateway.calls(limit=calls)
    return [call.milliseconds / 1000 for call in recorded if call.name == SEARCH]


async def measure(calls: int, data_dir: Path, *, headless: bool) -> list[Row]:
    """The whole table."""
    config = data_dir.parent / "company.json.yaml"
    config.write_text(json.dumps(SETTINGS))
    await in_process(data_dir, 5)  # makes the store
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
    searches = [time_ for result in results for time_ in result["searches"]]
    written = [text for result in results for text in result["written"]]
    errors = [text for result in results for text in result["errors"]]
    lost = await missing(data_dir, written)
    beside = await inside(data_dir, calls)
    alone = await in_process(data_dir, 100)  # now: on the same memories as over the wire
    near, busy, far = p95(alone), p95(beside), p95(searches)
    failed = sum(code != 0 for code in codes)
    return [
        Row("calls of agents", f"{calls}"),
        Row("errors told to agents", f"{len(errors)}", "0", not errors),
        Row("commands beside them, failed", f"{failed} of {len(codes)}", "0", not failed),
        Row("writes lost", f"{lost} of {len(written)}", "0", not lost),
        Row("search in the process, p95", f"{near * 1000:.1f} ms"),
        Row("the same with all of this beside it", f"{busy * 1000:.1f} ms"),
        _far("search over the wire, p95", far, near),
        _far("against the process with all of this", far, busy),
        Row("search over the wire, p50", f"{statistics.median(searches) * 1000:.1f} ms"),
    ]


def _far(name: str, seconds: float, near: float) -> Row:
    limit = 2 * near + 0.010
    held = seconds <= limit
    return Row(name, f"{seconds * 1000:.1f} ms", f"<= {limit * 1000:.1f} ms", held)


def p95(times: list[float]) -> float:
    """The 95th percentile."""
    return sorted(times)[int(len(times) * 0.95)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--agent", help=argparse.SUPPRESS)
    parser.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.agent:
        print(json.dumps(asyncio.run(work(args.agent, args.calls, args.data_dir, args.config))))
        return
    with tempfile.TemporaryDirectory() as folder:
        data_dir = args.data_dir or Path(folder) / "data"
        rows = asyncio.run(measure(args.calls, data_dir, headless=args.headless))
    print_table(
        f"one owner, two agents and a command line ({'serve' if args.headless else 'app'})", rows
    )


if __name__ == "__main__":
    main()
