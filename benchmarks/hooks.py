"""How long an agent waits for the digest and the hints that hooks hand it.

    python -m benchmarks.hooks --memories 100000 [--data-dir DIR]
    python -m benchmarks.hooks --during-import 2000

Each hook is a process of its own, as the agent's program starts it: with nobody having the store
open, so that an owner is started first for a digest, and with one there. The time is that of the
whole process, from its start to its end. Every second tool call is one that an approved lesson is
about, each time in a session of its own, since the same thing is said once a session. The time of
the owner alone is that of its answer over a connection that is open. Stored vectors are synthetic,
questions are embedded by the bundled model.

With ``--during-import`` that many made-up sessions are imported, by a process that has the store
open, while hooks and searches are run one after the other; the same ones have been run before, with
an owner that has nothing else to do.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.scale import AGENT, p95, pack, questions
from benchmarks.sessions import write_sessions
from benchmarks.synthetic import ensure_filled, vocabulary
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.approvals.models import ApprovalItem
from synthorg_tui.approvals.person import Person
from synthorg_tui.connect.hook import HookConnection
from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.enums import SkillState
from synthorg_tui.curation.models import (
    LESSON_ACTION,
    WORDED_FIELDS,
    Author,
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.engine import Engine
from synthorg_tui.persistence.lock import DataDirLock
from synthorg_tui.settings.root import RootConfig

COLD = 7
WARM = 30
CALLS = 60
SETTLED = 3
PATIENCE = 60
LESSONS = 40
ROUNDS = 30
ADDED_BY_IMPORT = 150
"""Milliseconds that an import may add to the 95th percentile of a hook."""
PROGRAM = (sys.executable, "-m", "synthorg_tui")
HOOK = (*PROGRAM, "hook", "claude-code")
SEARCH = "search"
BEFORE, AFTER = "PreToolUse", "PostToolUseFailure"


class Ran(NamedTuple):
    """One hook: how many milliseconds it took, and whether it had something to say."""

    milliseconds: float
    said: bool


def hook(data_dir: Path, event: str, payload: Mapping[str, object]) -> Ran:
    """Run one hook."""
    given = json.dumps({"cwd": str(data_dir), "session_id": "1", **payload})
    command = [*HOOK, event, "--data-dir", str(data_dir), "--agent", AGENT]
    started = time.perf_counter()
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return Ran((time.perf_counter() - started) * 1_000, bool(done.stdout))


def prompt(data_dir: Path, text: str) -> float:
    """Run the hook of a prompt and return its duration in milliseconds."""
    return hook(data_dir, "UserPromptSubmit", {"prompt": text}).milliseconds


def calls(data_dir: Path, event: str) -> list[Ran]:
    """Run the hook of that many tool calls; a lesson is about every second one."""
    ran = []
    for command, said in asked():
        payload: dict[str, object] = {
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "session_id": f"{event}-{time.time_ns()}",
        }
        error = {"error": said}
        ran.append(hook(data_dir, event, payload | (error if event == AFTER else {})))
    return ran


def asked() -> Iterator[tuple[str, str]]:
    """The commands of that many tool calls with their errors; every second one is known."""
    words = vocabulary()
    for number in range(CALLS):
        known = number % 2 == 0
        word = words[number // 2 % LESSONS] if known else words[-1 - number]
        yield f"{word} publish", f"Exit code 1\nfatal: {word} has no remote target to publish to"


def answered(data_dir: Path, moment: str) -> list[float]:
    """Ask the owner about that many tool calls; return how many milliseconds each took."""
    took = []
    for command, said in asked():
        agent = {"agent_id": AGENT, "session_id": f"{moment}-{time.time_ns()}", "client": "owner"}
        hello: dict[str, object] = {"role": "hook", "pid": os.getpid(), "agent": agent}
        connection = HookConnection(
            data_dir.as_posix(), deadline=time.monotonic() + PATIENCE, hello=hello
        )
        try:
            started = time.perf_counter()
            error = said if moment == "after" else ""
            connection.call(
                "agent.hint", {"moment": moment, "action": {"command": command, "error": error}}
            )
            took.append((time.perf_counter() - started) * 1_000)
        finally:
            connection.close()
    return took


def lesson(word: str) -> Lesson:
    """A lesson of a command that failed, and worked with an option."""
    worked = f"{word} publish --target main"
    seen = Evidence(
        execution=f"benchmark:{word}",
        lines=f"benchmark:{word}#L1-L2",
        agent_id=AGENT,
        failed=f"{word} publish",
        error=f"fatal: {word} has no remote target to publish to",
        resolved_by=worked,
    )
    words = ProceduralMemoryProposal(
        discovery=f"Publish {word} with a target",
        condition=f"{word} publish says that it has no remote target",
        action=f"Run `{worked}`.",
        rationale=f"{word} has no target of its own.",
        confidence=0.7,
    )
    return Lesson(
        key=f"failure|{AGENT}|{word}",
        kind=LessonKind.FAILURE,
        agent_id=AGENT,
        task_id=f"benchmark:{word}",
        proposal=words,
        grounded=words,
        authors=dict.fromkeys(WORDED_FIELDS, Author.EVIDENCE),
        evidence=(seen,),
    )


async def teach(data_dir: Path) -> None:
    """Approve the lessons, unless an earlier run did."""
    room = {"max_memories_per_agent": 20_000}  # the synthetic agents have theirs full
    settings = RootConfig.model_validate({"memory": {"level": "persistent", "options": room}})
    async with Engine.open(settings, data_dir=data_dir) as engine:
        rows = (await engine.skills.overview()).rows
        if any(row.state is not SkillState.SHIPPED for row in rows):
            return
        for number, word in enumerate(vocabulary()[:LESSONS]):
            taught = lesson(word)
            item = ApprovalItem(
                id=f"lesson-{number}",
                action_type=LESSON_ACTION,
                title=taught.proposal.discovery,
                requested_by="learn",
                created_at=SystemClock().now(),
                payload=taught.model_dump_json(),
            )
            await engine.approvals.add(item)
            shown = (await engine.reviews.review(item.id)).shown
            await engine.reviews.approve(item.id, shown=shown, person=Person("tui"))


def given_up(data_dir: Path) -> int:
    """Return how many times hooks have logged that they gave the agent nothing."""
    log = data_dir / "hooks.log"
    return log.read_text(encoding="utf-8").count("\n") if log.exists() else 0


def end_owner(data_dir: Path) -> None:
    """End the process that owns the store, and wait until the store is free."""
    owner = json.loads((data_dir / "owner.lock").read_bytes() or b"null")
    if owner is None:
        return
    with suppress(ProcessLookupError):
        os.kill(owner["pid"], signal.SIGTERM)
    while True:
        with suppress(Exception), DataDirLock(data_dir):
            return
        time.sleep(0.05)


def measure(data_dir: Path, memories: int) -> list[Row]:
    asyncio.run(ensure_filled(data_dir, memories))
    asyncio.run(pack(data_dir))
    asyncio.run(teach(data_dir))
    prompts = iter(questions(COLD + WARM + 1, seed=41))
    alone = calls(data_dir, BEFORE)
    cold = []
    given_up_before = given_up(data_dir)
    for _ in range(COLD):
        cold.append(prompt(data_dir, next(prompts)))
        end_owner(data_dir)
        time.sleep(1)
    prompt(data_dir, next(prompts))
    time.sleep(SETTLED)
    warm = [prompt(data_dir, next(prompts)) for _ in range(WARM)]
    before, after = calls(data_dir, BEFORE), calls(data_dir, AFTER)
    own = {moment: answered(data_dir, moment) for moment in ("before", "after")}
    end_owner(data_dir)
    late = given_up(data_dir) - given_up_before
    hinted = sum(ran.said for ran in (*before[::2], *after[::2]))
    return [
        Row("digest: nobody has the store open, median", statistics.median(cold), "ms"),
        Row("digest: nobody has the store open, worst", max(cold), "ms", Limit("<=", 1_500)),
        Row("digest: somebody has, median", statistics.median(warm), "ms"),
        Row("digest: somebody has, p95", p95(warm), "ms", Limit("<=", 150)),
        *_of_calls("before a tool call: nobody has the store open", alone),
        *_of_calls("before a tool call: somebody has", before),
        *_of_calls("after one that failed: somebody has", after),
        *_of_owner("before a tool call: in the owner", own["before"]),
        *_of_owner("after one that failed: in the owner", own["after"]),
        Row("known calls with a hint", hinted, f"of {CALLS}", Limit(">=", CALLS)),
        Row("hints of unknown calls", _said(before[1::2], after[1::2]), "", Limit("<=", 0)),
        Row("hints with nobody there", _said(alone), "", Limit("<=", 0)),
        Row("hooks that gave up", late, f"of {COLD + WARM + 2 * CALLS}", Limit("<=", 0)),
        Row("load of the machine", os.getloadavg()[0], digits=1),
    ]


def _of_calls(name: str, ran: list[Ran]) -> list[Row]:
    times = [each.milliseconds for each in ran]
    return [
        Row(f"{name}, median", statistics.median(times), "ms"),
        Row(f"{name}, p95", p95(times), "ms", Limit("<=", 150)),
    ]


def _of_owner(name: str, times: list[float]) -> list[Row]:
    return [
        Row(f"{name}, median", statistics.median(times), "ms", digits=1),
        Row(f"{name}, p95", p95(times), "ms", Limit("<=", 50), digits=1),
    ]


def _said(*runs: list[Ran]) -> int:
    return sum(ran.said for run in runs for ran in run)


Times = dict[str, list[float]]


def search(data_dir: Path, text: str) -> float:
    """Run a search on the command line and return its duration in milliseconds."""
    started = time.perf_counter()
    command = [*PROGRAM, "--data-dir", str(data_dir), "search", text]
    subprocess.run(command, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1_000


def one_round(data_dir: Path, text: str, times: Times) -> None:
    """Run each hook and a search once, and note how long each took."""
    session = {"session_id": f"round-{time.time_ns()}"}
    command = {"command": f"{vocabulary()[0]} publish"}
    payloads: dict[str, dict[str, object]] = {
        "SessionStart": {},
        "UserPromptSubmit": {"prompt": text},
        BEFORE: {"tool_name": "Bash", "tool_input": command},
    }
    for event, payload in payloads.items():
        times[event].append(hook(data_dir, event, session | payload).milliseconds)
    times[SEARCH].append(search(data_dir, text))


def importing(data_dir: Path, folder: Path) -> "subprocess.Popen[bytes]":
    """Start an import in a process that opens the store, and wait until it listens."""
    command = [*PROGRAM, "--data-dir", str(data_dir), "import", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and owner_of(data_dir) != process.pid:
        time.sleep(0.05)
    return process


def owner_of(data_dir: Path) -> int:
    """The process that has the store open and answers others; 0 if none does."""
    with suppress(Exception):
        hello: dict[str, object] = {"role": "benchmark", "pid": os.getpid()}
        HookConnection(
            data_dir.as_posix(), deadline=time.monotonic() + PATIENCE, hello=hello
        ).close()
        return int(json.loads((data_dir / "owner.lock").read_bytes())["pid"])
    return 0


def measure_during_import(data_dir: Path, memories: int, sessions: int) -> list[Row]:
    asyncio.run(ensure_filled(data_dir, memories))
    asyncio.run(pack(data_dir))
    asyncio.run(teach(data_dir))
    prompts = questions(10_000, seed=43)
    without: Times = {event: [] for event in ("SessionStart", "UserPromptSubmit", BEFORE, SEARCH)}
    during: Times = {event: [] for event in without}
    prompt(data_dir, prompts.pop())
    time.sleep(SETTLED)
    for _ in range(ROUNDS):
        one_round(data_dir, prompts.pop(), without)
    end_owner(data_dir)
    given_up_before = given_up(data_dir)
    with tempfile.TemporaryDirectory() as folder:
        write_sessions(Path(folder), sessions)
        started = time.perf_counter()
        process = importing(data_dir, Path(folder))
        while process.poll() is None:
            one_round(data_dir, prompts.pop(), during)
        took = time.perf_counter() - started
        failed = process.returncode
    end_owner(data_dir)
    late = given_up(data_dir) - given_up_before
    return [
        Row("the import", took, "s"),
        Row("exit code of the import", failed, hold=Limit("<=", 0)),
        Row("rounds during it", len(during[SEARCH])),
        *(row for event in without for row in _beside(event, without[event], during[event])),
        Row("hooks that gave up during it", late, hold=Limit("<=", 0)),
        Row("load of the machine", os.getloadavg()[0], digits=1),
    ]


def _beside(name: str, without: list[float], during: list[float]) -> list[Row]:
    within = Limit("<=", p95(without) + ADDED_BY_IMPORT)
    return [
        Row(f"{name}: without an import, median", statistics.median(without), "ms"),
        Row(f"{name}: without an import, p95", p95(without), "ms"),
        Row(f"{name}: during it, median", statistics.median(during), "ms"),
        Row(f"{name}: during it, p95", p95(during), "ms", within),
        Row(f"{name}: during it, worst", max(during), "ms"),
    ]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--data-dir", type=Path, help="keep the store here and reuse it")
    parser.add_argument("--during-import", type=int, metavar="SESSIONS")
    options = parser.parse_args()
    memories, sessions = options.memories, options.during_import
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = options.data_dir or Path(scratch)
        if sessions:
            rows = measure_during_import(data_dir, memories, sessions)
        else:
            rows = measure(data_dir, memories)
    report = Report("hooks", {"memories": memories, "imported": sessions}, rows)
    print_report(report, as_json=options.json)


if __name__ == "__main__":
    main()
