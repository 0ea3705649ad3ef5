"""Sessions of made-up projects in three languages, and a real store to look at them in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from synthorg_tui.core.clock import Clock
from synthorg_tui.engine import Engine
from synthorg_tui.executions.models import Execution, Turn
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import FileMark
from synthorg_tui.knowledge.facts import Sighting
from synthorg_tui.knowledge.lines import KnownLine, lines_of
from synthorg_tui.knowledge.service import facts_of_session
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.learning.lesson_kit import START, Run
from tests.memory.store.hash_embedder import HashEmbedder

NOW = START + timedelta(days=1)
NPM_CHECK = """
> shop-web@1.4.0 check
> eslint . && tsc --noEmit

"""


def python_run(session: str = "py1") -> Run:
    """A Python service, tested by make and committed through pre-commit."""
    run = Run(session, project="/srv/kiln", branch="kiln/oven")
    run.file("Read", "pyproject.toml", '     1→[project]\n     2→requires-python = ">=3.12"\n')
    for number in range(4):
        run.edit("kiln/oven.py", old=str(number))
    run.edit("tests/test_oven.py").edit("tests/test_glaze.py").edit("kiln/glaze.py")
    run.edit("kiln/clay.py")
    run.bash("pytest tests/test_oven.py -q", "1 failed", code=1)
    run.bash("pytest tests/test_oven.py -q", "3 passed").bash("pytest -q", "9 passed")
    run.bash("python --version", "Python 3.12.4")
    for word in ("add", "heat", "cool"):
        run.bash(
            f'git commit -am "feat(oven): {word} the kiln"',
            f"ruff.....................Passed\nmypy.....................Passed\n"
            f"[kiln/oven 1a2b3c{len(word)}] feat(oven): {word} the kiln\n 1 file changed",
        )
    return run


def rust_run(session: str = "rs1") -> Run:
    """A Rust tool with a helper of its own."""
    run = Run(session, project="/srv/ferry", branch="main")
    for _ in range(3):
        run.bash("cargo test --workspace", "test result: ok. 12 passed; 0 failed")
        run.bash("cargo clippy -- -D warnings", "Finished")
    run.bash("cargo build --release 2>&1 | tail -3", "error[E0308]: mismatched types")
    for verb in ("open", "open", "close", "list", "list", "list"):
        run.bash(f"ferryctl {verb}", "ok")
    run.bash("rustc --version", "rustc 1.84.0 (9fc6b4312 2025-01-07)")
    run.bash("rm src/old.rs").edit("src/main.rs")
    return run


def node_run(session: str = "ts1") -> Run:
    """A web shop whose check is a script, run by a hook at each commit."""
    run = Run(session, project="/srv/shop-web", branch="shop/cart")
    run.bash("npm run check", NPM_CHECK).bash("cd packages/ui && npm run test:unit", "12 passed")
    run.bash("npm run check 2>&1 | tail -4", "> other@1.0.0 check\n> tsc")
    for word in ("cart", "till", "shelf"):
        run.bash(
            f'git add -A && git commit -m "Move {word} to the ui package"',
            f"{NPM_CHECK}[shop/cart 9f8e7d6] Move {word} to the ui package\n 1 file changed",
        )
    run.bash("git push", "fatal: The current branch shop/cart has no upstream branch.", code=128)
    run.bash("git push -u origin shop/cart", "done")
    return run


def said(run: Run, *words: str, session: str = "", project: str = "") -> Execution:
    """The run with turns of a person after its calls."""
    execution = run.done()
    line = execution.line_count
    turns = tuple(
        Turn(role="user", text=text, first_line=line + i, last_line=line + i, at=START)
        for i, text in enumerate(words)
    )
    return execution.model_copy(
        update={"turns": (*execution.turns, *turns), "line_count": line + len(turns)}
    )


def at(execution: Execution, when: datetime) -> Execution:
    """The same session at another time."""
    calls = tuple(call.model_copy(update={"at": when}) for call in execution.calls)
    turns = tuple(turn.model_copy(update={"at": when}) for turn in execution.turns)
    return execution.model_copy(
        update={"calls": calls, "turns": turns, "started_at": when, "ended_at": when}
    )


def sightings(*executions: Execution) -> list[Sighting]:
    """What sessions say, as the store would give it."""
    return [
        Sighting(each.id, each.project or "", fact)
        for each in executions
        for fact in facts_of_session(each)
    ]


def known(*executions: Execution, now: datetime = NOW) -> dict[str, KnownLine]:
    """The lines of the sessions' project by key."""
    project = executions[0].project or ""
    return {line.key: line for line in lines_of(project, sightings(*executions), now)}


async def save(engine: Engine, *executions: Execution) -> None:
    """Store sessions as an import does."""
    for execution in executions:
        lines = PackedLines(f"line {n}" for n in range(execution.line_count))
        mark = FileMark(f"/transcripts/{execution.session_id}.jsonl", 1, 1, execution.id)
        await engine.executions.save(execution, lines, mark)


@asynccontextmanager
async def opened(data_dir: Path, clock: Clock | None = None) -> AsyncIterator[Engine]:
    """A real engine on an own folder; what is known of a project asks no model."""
    async with Engine.open(
        RootConfig(), data_dir=data_dir, clock=clock or FixedClock(NOW), embedder=HashEmbedder()
    ) as engine:
        yield engine
