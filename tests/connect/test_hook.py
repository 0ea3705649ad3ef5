"""Claude Code's hooks: the digest in time, or nothing at all; never in the agent's way."""

import asyncio
import functools
import io
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from synthorg_tui.agents.session import AgentSession
from synthorg_tui.connect import DIGEST_EVENTS, IMPORT_EVENTS, hook, trouble
from synthorg_tui.core import COPY_VARIABLE
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.host.client import connect
from synthorg_tui.host.headless import serve
from synthorg_tui.host.owner import Owner
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.persistence.lock import DataDirLock
from synthorg_tui.settings.root import RootConfig
from tests import REPO
from tests.host.idle_kit import IDLE, IdleClock
from tests.patience import PATIENCE
from tests.tables import rows

SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})
FACT = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC, content="The staging database listens on port 6543."
)
PROMPT = {"prompt": "which port does the staging database use?", "session_id": "s1"}


def run(event: str, data_dir: Path, payload: object, now: float = 0.0) -> tuple[int, str]:
    """Exit code and output of a hook in this process."""
    output = io.StringIO()
    stdin = io.BytesIO(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    code = hook.main(
        ["claude-code", event, "--data-dir", str(data_dir)],
        stdin=stdin,
        stdout=output,
        now=lambda: now or time.time(),
    )
    return code, output.getvalue()


def logged(data_dir: Path) -> str:
    return (data_dir / hook.LOG_FILE).read_text()


@asynccontextmanager
async def owned(data_dir: Path) -> AsyncIterator[Engine]:
    async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
        await engine.memory.store("claude-code", FACT)
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            yield engine
        finally:
            await owner.stop()


@rows("event", DIGEST_EVENTS)
async def test_the_digest_is_the_additional_context(
    tmp_path: Path, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    async with owned(tmp_path) as engine:
        code, output = await asyncio.to_thread(run, event, tmp_path, PROMPT)
        (record,) = await engine.gateway.calls()
    told = json.loads(output)["hookSpecificOutput"]
    assert code == 0
    assert told["hookEventName"] == event
    assert "6543" in told["additionalContext"]
    assert told["additionalContext"] == record.reply
    assert record.client == "claude-code hook"


@rows("event", [*DIGEST_EVENTS, *IMPORT_EVENTS])
def test_an_agent_that_a_run_started_is_given_nothing_twice(
    tmp_path: Path, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest came with its task, and who started it imports its session."""
    monkeypatch.setenv(COPY_VARIABLE, "0123456789ab")
    code, output = run(event, tmp_path, {**PROMPT, "transcript_path": "/no/such"})
    assert (code, output) == (0, "")
    assert not (tmp_path / hook.LOG_FILE).exists()


async def test_nothing_to_tell_is_no_output(tmp_path: Path) -> None:
    async with owned(tmp_path):
        payload = {"prompt": "sourdough starter hydration"}
        assert await asyncio.to_thread(run, "UserPromptSubmit", tmp_path, payload) == (0, "")


class Unwritable(io.StringIO):
    """The output of a hook whose agent is gone, or that is killed before it is written."""

    def flush(self) -> None:
        raise BrokenPipeError


async def test_a_digest_is_handed_over_once_it_was_written_however_long_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    words = ["claude-code", "UserPromptSubmit", "--data-dir", str(tmp_path)]

    def asked(output: io.StringIO) -> str:
        stdin = io.BytesIO(json.dumps(PROMPT).encode())
        assert hook.main(words, stdin=stdin, stdout=output) == 0
        return output.getvalue()

    async with owned(tmp_path):
        assert "6543" in await asyncio.to_thread(asked, Unwritable())
        assert "BrokenPipeError" in logged(tmp_path)
        assert "6543" in await asyncio.to_thread(asked, io.StringIO())
        assert await asyncio.to_thread(asked, io.StringIO()) == ""


async def test_the_receipt_follows_the_output_and_nothing_is_waited_for_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner's answer to it would cost the person time."""
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    written: list[str] = []
    acknowledged, release = asyncio.Event(), asyncio.Event()
    acknowledge = AgentSession.acknowledge

    async def held(session: AgentSession, receipt: str) -> None:
        assert written
        acknowledged.set()
        await release.wait()
        await acknowledge(session, receipt)

    class Output(io.StringIO):
        def flush(self) -> None:
            written.append(self.getvalue())

    monkeypatch.setattr(AgentSession, "acknowledge", held)
    async with owned(tmp_path):
        stdin = io.BytesIO(json.dumps(PROMPT).encode())
        words = ["claude-code", "UserPromptSubmit", "--data-dir", str(tmp_path)]
        await asyncio.to_thread(hook.main, words, stdin=stdin, stdout=Output())
        await asyncio.wait_for(acknowledged.wait(), PATIENCE)
        release.set()
    assert "6543" in written[0]


def test_trouble_with_the_store_is_told_once_a_day_and_in_the_status_line(tmp_path: Path) -> None:
    day = time.mktime((2026, 3, 1, 23, 59, 59, 0, 0, -1))
    told = [
        run(event, tmp_path / "gone", PROMPT, now=at)[1]
        for event, at in (
            ("PreToolUse", day),
            ("SessionStart", day),
            ("SessionStart", day),
            ("UserPromptSubmit", day + 1),
            ("SessionStart", day + 1),
        )
    ]
    assert [bool(output) for output in told] == [False, True, False, True, False]
    line = json.loads(told[1])
    assert line.keys() == {"systemMessage"}
    assert f"there is no store in {tmp_path / 'gone'}" in line["systemMessage"]
    assert "connect claude-code --hooks" in line["systemMessage"]
    assert trouble.current(day + 86_400) == [line["systemMessage"]]
    assert trouble.current(day + 86_402) == []


async def test_trouble_is_over_once_the_store_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    data_dir = tmp_path / "data"
    run("SessionStart", data_dir, PROMPT)
    assert trouble.current(time.time())
    async with owned(data_dir):
        await asyncio.to_thread(run, "UserPromptSubmit", data_dir, PROMPT)
    assert trouble.current(time.time()) == []


async def test_an_owner_of_another_version_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    monkeypatch.setattr(hook, "__version__", "0.0.1")
    async with owned(tmp_path):
        _, output = await asyncio.to_thread(run, "SessionStart", tmp_path, PROMPT)
    assert "this is 0.0.1" in json.loads(output)["systemMessage"]


async def test_a_store_of_a_newer_schema_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    async with Engine.open(SETTINGS, data_dir=tmp_path):
        pass
    with duckdb.connect(tmp_path / "memory.duckdb") as database:
        database.execute("UPDATE meta SET value = '9999' WHERE name = 'schema_version'")
    _, output = await asyncio.to_thread(run, "SessionStart", tmp_path, PROMPT)
    assert "schema version 9999" in json.loads(output)["systemMessage"]


async def test_an_owner_that_leaves_is_followed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    starting = SimpleNamespace(poll=lambda: None)  # the one that the hook would start comes late
    monkeypatch.setattr(hook, "_start", lambda *_: starting)
    digest, calls, asked_first = AgentSession.digest, list[AgentSession](), asyncio.Event()

    @functools.wraps(digest)
    async def leaving(session: AgentSession, *args: Any, **kwargs: Any) -> Any:
        calls.append(session)
        if len(calls) == 1:
            asked_first.set()
            await asyncio.Event().wait()
        return await digest(session, *args, **kwargs)

    monkeypatch.setattr(AgentSession, "digest", leaving)
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await engine.memory.store("claude-code", FACT)
        owner = Owner(engine, data_dir=tmp_path, kind="command")
        await owner.start()
        asked = asyncio.create_task(asyncio.to_thread(run, "UserPromptSubmit", tmp_path, PROMPT))
        await asked_first.wait()
        await owner.stop()
        following = Owner(engine, data_dir=tmp_path, kind="app")
        await following.start()
        _, output = await asked
        await following.stop()
    assert "6543" in output


async def test_an_owner_that_is_late_gives_no_output_and_a_line_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    @functools.wraps(AgentSession.digest)  # what a call is like is read when it is first made
    async def late(*_: Any, **__: Any) -> None:
        await go_on.wait()

    monkeypatch.setattr(hook, "TIME_LIMIT", 0.3)
    monkeypatch.setattr(AgentSession, "digest", late)
    async with owned(tmp_path):
        assert await asyncio.to_thread(run, "UserPromptSubmit", tmp_path, PROMPT) == (0, "")
        go_on.set()
    assert "UserPromptSubmit" in logged(tmp_path)


async def test_an_owner_stays_while_hooks_come_back_and_leaves_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, ready = IdleClock(monkeypatch), asyncio.Event()
    serving = asyncio.create_task(
        serve(
            SETTINGS,
            data_dir=tmp_path,
            stop=asyncio.Event(),
            until_idle=IDLE,
            on_ready=lambda _: ready.set(),
        )
    )
    await ready.wait()
    for _ in range(3):  # longer than it waits, but never so long without anybody
        clock.advance(0.6)
        await (await connect(tmp_path, role="hook")).close()
        await clock.looked()
        assert not serving.done()
    clock.advance(1.1)
    await asyncio.wait_for(serving, PATIENCE)


async def test_without_the_models_library_there_is_a_digest_by_keywords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await engine.memory.store("claude-code", FACT)
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    monkeypatch.setattr("synthorg_tui.providers.onnx.load_runtime", broken)
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(
        serve(SETTINGS, data_dir=tmp_path, stop=stop, on_ready=lambda _: ready.set())
    )
    await asyncio.wait({serving, asyncio.create_task(ready.wait())}, return_when="FIRST_COMPLETED")
    _, output = await asyncio.to_thread(run, "UserPromptSubmit", tmp_path, PROMPT)
    stop.set()
    await serving
    assert "6543" in output


def test_an_absent_store_gives_an_agent_nothing_and_a_line_in_the_log(
    tmp_path: Path, no_trouble: Path
) -> None:
    data_dir = tmp_path / "none"
    assert run("Stop", data_dir, {"transcript_path": "/no/such"}) == (0, "")
    assert "there is no store" in logged(no_trouble)
    assert not data_dir.exists()


def test_a_store_that_somebody_holds_gives_the_person_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners, start = list[subprocess.Popen[bytes]](), hook._start

    passed = [0.0]

    def starting(module: list[str], log: str) -> subprocess.Popen[bytes]:
        owners.append(start(module, log))
        owners[-1].wait()
        passed[0] = PATIENCE * 9
        return owners[-1]

    monkeypatch.setattr(hook, "_start", starting)
    monkeypatch.setattr("synthorg_tui.connect.hook.time.monotonic", lambda: passed[0])
    (tmp_path / "memory.duckdb").write_bytes(b"")
    lock = DataDirLock(tmp_path).acquire()
    code, output = run("SessionStart", tmp_path, PROMPT)
    lock.release()
    assert [each.returncode for each in owners] == [3]
    assert code == 0
    assert "is in use by process" in json.loads(output)["systemMessage"]
    assert "is in use by process" in logged(tmp_path)


def test_a_corrupt_store_gives_an_agent_nothing_and_the_person_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    (tmp_path / "memory.duckdb").write_bytes(b"not a database" * 1000)
    code, output = run("SessionStart", tmp_path, PROMPT)
    assert code == 0
    assert "`synthorg-tui restore`" in json.loads(output)["systemMessage"]
    assert "corrupt" in logged(tmp_path)


def test_the_owner_that_a_hook_starts_runs_no_code_of_the_folder_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook runs where the agent works: what lies there is somebody else's."""
    package = tmp_path / "project" / "synthorg_tui"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", "utf-8")
    store = tmp_path / "store"
    store.mkdir()
    (store / "memory.duckdb").write_bytes(b"not a database" * 1000)
    monkeypatch.chdir(package.parent)
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    assert run("SessionStart", store, PROMPT)[0] == 0
    assert "corrupt" in logged(store)
    assert not (tmp_path / "ran").exists()


@rows("payload", [b"", b"{", b"[]", b"\xff", b"x" * (2 * hook.MAX_INPUT_BYTES)])
def test_an_event_that_is_none_gives_no_output_and_a_line_in_the_log(
    tmp_path: Path, payload: bytes
) -> None:
    assert run("UserPromptSubmit", tmp_path, payload) == (0, "")
    assert "UserPromptSubmit" in logged(tmp_path)


def test_the_log_does_not_grow_without_bound(tmp_path: Path) -> None:
    (tmp_path / hook.LOG_FILE).write_text("x" * 1_000_000)
    run("Stop", tmp_path, {})
    assert len(logged(tmp_path)) < 1000


@rows("event", IMPORT_EVENTS)
async def test_what_is_new_of_the_session_is_imported(tmp_path: Path, event: str) -> None:
    sample = REPO / "synthorg_tui" / "ingest" / "sample"
    transcript = next(iter(sorted(sample.glob("*.jsonl"))))
    async with owned(tmp_path) as engine:
        payload = {"transcript_path": str(transcript)}
        assert await asyncio.to_thread(run, event, tmp_path, payload) == (0, "")
        async with asyncio.timeout(PATIENCE):
            while not await engine.executions.count():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert await engine.executions.count() == 1


@rows("event", IMPORT_EVENTS)
def test_a_session_without_a_transcript_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """`claude mcp list` ends a session, too."""
    started: list[object] = []
    monkeypatch.setattr(hook, "_start", lambda *call: started.append(call))
    (tmp_path / "memory.duckdb").write_bytes(b"")
    written = tmp_path / "written.jsonl"
    written.write_text("{}\n")
    for name in ("nothing.jsonl", written.name):
        assert run(event, tmp_path, {"transcript_path": str(tmp_path / name)}) == (0, "")
    assert [str(written) in str(call) for call in started] == [True]
    assert not (tmp_path / hook.LOG_FILE).exists()


@rows(
    "arguments",
    [
        [],
        ["claude-code"],
        ["other", "Stop"],
        ["claude-code", "Dance"],
        ["claude-code", "Stop", "-x"],
    ],
)
def test_a_call_that_can_not_be_is_told(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert hook.main(arguments) == 2
    assert "usage" in capsys.readouterr().err


@rows(
    ("event", "payload"),
    [("Stop", {}), ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git push"}})],
)
def test_a_hook_loads_nothing_heavy(tmp_path: Path, event: str, payload: dict[str, object]) -> None:
    """The parser, pydantic, asyncio and the engine would each take longer than the hook."""
    code = (
        "import sys, io; before = set(sys.modules); from synthorg_tui.cli import main;"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[3].encode()));"
        "main(['hook', 'claude-code', sys.argv[2], '--data-dir', sys.argv[1]]);"
        "heavy = 'argparse pydantic asyncio duckdb dataclasses subprocess pathlib typing ctypes';"
        "print([name for name in heavy.split() if name in sys.modules.keys() - before])"
    )
    command = [sys.executable, "-c", code, str(tmp_path), event, json.dumps(payload)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
