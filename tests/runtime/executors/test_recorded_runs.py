"""Runs by agents of others through the engine: their record, memories, lessons and what is left.

A stand-in writes the transcript that the real program would write into its home.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import CallOutcome, MemoryCategory, TerminationReason
from synthorg_tui.engine import Engine
from synthorg_tui.executions.models import Execution
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.runtime.models import AgentRun, RunProfile, RunRequest, RunStatus, StepKind
from synthorg_tui.settings.root import RootConfig
from tests.runtime.executors.client_kit import CLAUDE_RUN, SESSION, Act, Place, place

ERROR = "rm: cannot remove 'old': Is a directory"
AT = "2026-05-01T10:00:0{}.000Z"


@dataclass(frozen=True)
class Bench:
    engine: Engine
    where: Place

    async def run(self, **request: Any) -> AgentRun:
        asked = {
            "task": "Remove the folder old.",
            "agent_id": "builder",
            "workspace": self.where.project,
            "executor": "claude",
            "profile": RunProfile.UNATTENDED,
        }
        started = await self.engine.runs.start(RunRequest.model_validate({**asked, **request}))
        return await self.engine.runs.wait(started.id)

    async def recorded(self, run: AgentRun) -> Execution:
        found = await self.engine.executions.get(run.execution_id)
        assert found is not None, run
        return found


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    where = place(tmp_path)
    for name, value in where.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    settings = RootConfig.model_validate({"memory": {"level": "persistent"}})
    async with Engine.open(settings, data_dir=tmp_path / "data") as engine:
        yield Bench(engine, where)


def transcript(home: Path, session: str = SESSION) -> Act:
    """The transcript that Claude Code writes of such a session."""

    def line(number: int, kind: str, content: object, **more: object) -> str:
        record = {"type": kind, "sessionId": session, "cwd": "{cwd}", "gitBranch": "HEAD"}
        message = {"role": kind, "id": f"msg_{number}", "content": content}
        record |= {"uuid": f"u{number}", "timestamp": AT.format(number), "message": message}
        return json.dumps({**record, **more})

    def used(number: int, command: str) -> list[dict[str, object]]:
        given = {"command": command, "description": "as asked"}
        return [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": given}]

    def got(number: int, output: str, failed: bool) -> list[dict[str, object]]:
        return [
            {
                "type": "tool_result",
                "tool_use_id": f"t{number}",
                "content": output,
                "is_error": failed,
            }
        ]

    lines = [
        line(0, "user", "Remove the folder old."),
        line(1, "assistant", used(1, "rm {cwd}/old")),
        line(2, "user", got(1, f"Exit code 1\n{ERROR}", True)),
        line(3, "assistant", used(2, "rm -r {cwd}/old")),
        line(4, "user", got(2, "", False), toolUseResult={"stdout": "", "interrupted": False}),
        line(5, "assistant", [{"type": "text", "text": "Done."}]),
    ]
    path = home / ".claude" / "projects" / "-a-copy" / f"{session}.jsonl"
    return "record", "\n".join((str(path), *lines))


async def test_a_run_is_recorded_as_a_session_of_its_agent_in_the_real_project(
    bench: Bench,
) -> None:
    bench.where.install("claude", transcript(bench.where.home), *CLAUDE_RUN)
    run = await bench.run()
    record = await bench.recorded(run)
    assert (run.status, run.reason) == (RunStatus.ENDED, TerminationReason.COMPLETED)
    assert record.id == f"claude_code:{SESSION}"
    assert (record.agent_id, record.project) == ("builder", str(bench.where.project))
    assert (record.task, record.branch) == ("Remove the folder old.", None)
    old = bench.where.project / "old"
    assert [(call.arguments, call.outcome) for call in record.calls] == [
        (f"rm {old}", CallOutcome.FAILED),
        (f"rm -r {old}", CallOutcome.OK),
    ]
    assert (run.calls, run.turns, run.cost) == (2, 3, 0.25)


async def test_a_run_teaches_what_the_same_session_would(bench: Bench) -> None:
    bench.where.install("claude", transcript(bench.where.home), *CLAUDE_RUN)
    await bench.run()
    (item,) = await bench.engine.approvals.list()
    assert "rm" in item.title
    assert "-r" in item.title
    assert item.requested_by == "capture"


async def test_a_later_import_finds_nothing_new_and_keeps_the_agent(bench: Bench) -> None:
    bench.where.install("claude", transcript(bench.where.home), *CLAUDE_RUN)
    run = await bench.run()
    place_of = bench.where.home / ".claude" / "projects"
    report = await bench.engine.imports.run([place_of])
    assert (report.files, report.unchanged, report.executions) == (1, 1, 0)
    (path,) = place_of.rglob("*.jsonl")
    path.write_text(path.read_text() + "\n")
    report = await bench.engine.imports.run([place_of])
    assert report.skipped == ()
    assert (await bench.recorded(run)).agent_id == "builder"


async def test_without_a_transcript_the_record_is_made_of_the_steps(bench: Bench) -> None:
    bench.where.install("claude", *CLAUDE_RUN)
    record = await bench.recorded(await bench.run())
    assert record.reader == "generic"
    assert (record.agent_id, record.project) == ("builder", str(bench.where.project))
    assert [call.outcome for call in record.calls] == [CallOutcome.FAILED, CallOutcome.OK]
    (item,) = await bench.engine.approvals.list()
    assert "-r" in item.title


async def test_a_run_is_given_what_memory_knows_and_a_person_did_not_say_it(bench: Bench) -> None:
    fact = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC,
        content="The folder old is removed with rm -r, since it is a folder.",
    )
    memory_id = await bench.engine.memory.store("builder", fact)
    bench.where.install("claude", transcript(bench.where.home), *CLAUDE_RUN)
    run = await bench.run(task="How is the folder old removed?")
    said = bench.where.seen("claude")["input"]
    given = (await bench.engine.runs.steps(run.id))[0]
    assert (given.kind, given.memory_ids) == (StepKind.GIVEN, (memory_id,))
    assert "rm -r, since it is a folder" in said
    assert said.endswith("</session_context>\n\nHow is the folder old removed?")


async def test_a_cancelled_run_is_recorded_once(bench: Bench) -> None:
    script = (transcript(bench.where.home), *CLAUDE_RUN[:4], ("sleep", "60"))
    bench.where.install("claude", *script)
    asked = RunRequest(
        task="Tidy up.", agent_id="builder", workspace=bench.where.project, executor="claude"
    )
    run = await bench.engine.runs.start(asked)
    async for step in bench.engine.runs.follow(run.id):
        if step.kind is StepKind.CALL:
            break
    ended = await bench.engine.runs.cancel(run.id)
    assert (ended.status, ended.reason) == (RunStatus.ENDED, TerminationReason.SHUTDOWN)
    found = await bench.engine.executions.get(f"claude_code:{SESSION}")
    assert found is not None
    assert found.agent_id == "builder"
    assert ended.execution_id == ""


async def test_executors_say_why_they_cannot_run(bench: Bench) -> None:
    bench.where.install("codex")
    told = dict(await bench.engine.runs.executors())
    assert told["codex"] == ""
    assert "npm install --global @anthropic-ai/claude-code" in told["claude"]
    assert "npm install --global opencode-ai" in told["opencode"]
