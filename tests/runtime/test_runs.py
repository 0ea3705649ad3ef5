"""Runs as a program or the app has them carried out: with memory, approvals and what they leave."""

import asyncio
import itertools
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import CallOutcome, MemoryCategory, MemoryLevel, TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.inbox import lesson_of
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.runtime.models import AgentRun, RunProfile, RunRequest, RunStatus, RunStep
from synthorg_tui.settings.root import RootConfig
from tests.curation.review_kit import PERSON
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.patience import PATIENCE, until
from tests.providers.server_kit import said
from tests.runtime.run_kit import model_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

FACT = "The staging database of the heron project listens on port 6543."
HELD = "touch begun; while [ ! -e go ]; do sleep 0.01; done"
"""A command that the test holds: it has begun when there is one file, and goes on with another."""


def asks(tool: str, **arguments: Any) -> dict[str, Any]:
    """An answer of the server that asks for a call."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    choice = {"message": message, "finish_reason": "tool_calls"}
    return {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 5}}


def ends(text: str = "Done.") -> dict[str, Any]:
    return said(text)


class Server:
    """What the model answers, in turn, and what it was asked; ``goes_on`` keeps it waiting."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.goes_on = threading.Event()
        self.goes_on.set()

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        self.goes_on.wait(PATIENCE)
        return self.answers.pop(0) if self.answers else ends("So.")


class Bench:
    """An engine whose model is the scripted server, a workspace, and an agent that is new."""

    def __init__(self, engine: Engine, server: Server, workspace: Path, agent: str) -> None:
        self.engine = engine
        self.server = server
        self.workspace = workspace
        self.agent = agent
        workspace.mkdir(exist_ok=True)
        server.requests.clear()

    async def knows(self, text: str = FACT, agent: str = "") -> str:
        """Give the agent a memory, and return its id."""
        request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text)
        return await self.engine.memory.store(agent or self.agent, request)

    async def run(self, *answers: dict[str, Any], **values: Any) -> AgentRun:
        run = await self.start(*answers, **values)
        return await self.engine.runs.wait(run.id)

    async def start(self, *answers: dict[str, Any], **values: Any) -> AgentRun:
        self.server.answers[:] = answers
        request = {
            "task": "Which port does the staging database of the heron project listen on?",
            "agent_id": self.agent,
            "workspace": self.workspace,
            "profile": RunProfile.UNATTENDED,
            **values,
        }
        return await self.engine.runs.start(RunRequest(**request))

    @property
    def first_messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.server.requests[0]["messages"]
        return messages


def settings(server: Server, **more: Any) -> RootConfig:
    model = {"type": "openai", "base_url": server.url, "model": "m"}
    return RootConfig.model_validate(
        {"memory": {"level": "persistent"}, "providers": {"completion": model}, **more}
    )


@asynccontextmanager
async def opened(server: Server, tmp_path: Path, **more: Any) -> AsyncIterator[Bench]:
    async with Engine.open(settings(server, **more), data_dir=tmp_path / "data") as engine:
        yield Bench(engine, server, tmp_path / "heron-project", "heron")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    with model_server(made.respond) as made.url:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(server: Server, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder = tmp_path_factory.mktemp("runs")
    async with Engine.open(settings(server), data_dir=folder / "data") as engine:
        yield engine


@pytest.fixture
def bench(shared: Engine, server: Server, tmp_path: Path) -> Bench:
    return Bench(shared, server, tmp_path / "heron-project", f"heron-{next(_AGENTS)}")


_AGENTS = itertools.count(1)


async def test_a_run_is_given_memories_between_system_prompt_and_task(bench: Bench) -> None:
    memory_id = await bench.knows()
    run = await bench.run(ends("It is 6543."))
    roles = [message["role"] for message in bench.first_messages]
    assert roles[-1] == "user"
    assert bench.first_messages[-1]["content"].startswith("Which port")
    assert "6543" in bench.first_messages[1]["content"]
    given = (await bench.engine.runs.steps(run.id))[0]
    assert (given.kind, given.memory_ids) == ("given", (memory_id,))


async def test_policies_stand_before_the_memories(server: Server, tmp_path: Path) -> None:
    rules = {"core_policies": ["Never push to the main branch."]}
    async with opened(server, tmp_path, org_memory=rules) as bench:
        await bench.knows()
        await bench.run(ends())
        text = "\n".join(message["content"] for message in bench.first_messages)
        assert 0 < text.index("Never push to the main") < text.index("6543") < text.index("Which")


async def test_a_run_has_the_memory_tools_of_its_agent(bench: Bench) -> None:
    await bench.knows()
    run = await bench.run(asks("search_memory", query="port of the staging database"), ends())
    call = (await bench.engine.runs.steps(run.id))[2]
    assert (call.tool, call.outcome) == ("search_memory", CallOutcome.OK)
    assert "<tool-result>" in call.text
    assert "6543" in call.text


async def test_a_run_reads_skills_and_policies_with_its_agents_rights(bench: Bench) -> None:
    run = await bench.run(asks("org_policies"), asks("list_skills"), ends())
    policies, skills = (await bench.engine.runs.steps(run.id))[2:5:2]
    assert "There are no policies." in policies.text
    assert (policies.outcome, skills.outcome) == (CallOutcome.OK, CallOutcome.OK)


async def test_a_run_without_memory_is_given_none_and_has_no_memory_tools(bench: Bench) -> None:
    await bench.knows()
    await bench.run(ends(), memory=False)
    assert len(bench.first_messages) == 2
    tools = [tool["function"]["name"] for tool in bench.server.requests[0]["tools"]]
    assert not {"search_memory", "list_skills", "org_search"} & set(tools)


async def test_a_run_leaves_an_execution_with_its_calls_and_its_costs(bench: Bench) -> None:
    run = await bench.run(asks("bash", command="echo storks"), ends())
    assert (run.status, run.reason) == (RunStatus.ENDED, TerminationReason.COMPLETED)
    execution = await bench.engine.executions.get(run.execution_id)
    assert execution is not None
    assert [call.arguments for call in execution.calls] == ["echo storks"]
    assert "storks" in execution.calls[0].output
    assert "tool-result" not in execution.calls[0].output
    assert not execution.is_reported
    costs = await bench.engine.operations.cost_records.query(task_id=run.id)
    assert [(cost.agent_id, cost.input_tokens) for cost in costs] == [
        (bench.agent, 50),
        (bench.agent, 7),
    ]
    assert (run.turns, run.calls, run.prompt_tokens) == (2, 1, 57)


async def test_a_run_is_distilled_into_four_lines_once(bench: Bench) -> None:
    run = await bench.run(asks("bash", command="true"), ends())
    query = MemoryQuery(tags=("distillation",), limit=5)
    (entry,) = await bench.engine.memory.retrieve(bench.agent, query)
    assert entry.content.splitlines() == [
        f"Task ID: {run.id}",
        "Outcome: completed",
        "Trajectory: 2 turns, 64 tokens; tools: bash; 1 tool call total",
        "Memory tool invocations: none",
    ]
    assert entry.metadata.source == "distillation"


async def test_a_stage_that_fails_is_a_step_and_a_warning_and_stops_none_after_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(type(bench.engine.learning), "learn_from", broken)
    run = await bench.run(asks("bash", command="true"), ends())
    notes = [step.text for step in await bench.engine.runs.steps(run.id) if step.kind == "note"]
    assert [note.partition(":")[0] for note in notes] == [
        "costs",
        "record",
        "distillation",
        "capture",
    ]
    assert notes[-1] == "capture: failed: RuntimeError"
    (warned,) = [each for each in caplog.records if "capture of the run" in each.getMessage()]
    assert warned.levelname == "WARNING"
    assert (run.status, run.reason) == (RunStatus.ENDED, TerminationReason.COMPLETED)


async def test_memories_of_the_session_end_with_the_run(server: Server, tmp_path: Path) -> None:
    own = [{"id": "heron", "level": MemoryLevel.SESSION.value}]
    editing = {"level": "persistent", "retrieval": {"strategy": "self_editing"}}
    async with opened(server, tmp_path, agents=own, memory=editing) as bench:
        wrote = asks("archival_memory_write", content="Only for this session.", category="episodic")
        run = await bench.run(wrote, ends())
        steps = await bench.engine.runs.steps(run.id)
        assert steps[2].outcome is CallOutcome.OK, steps[2].text
        assert "deleted" in steps[-1].text
        found = await bench.engine.memory.retrieve(bench.agent, MemoryQuery(limit=10))
        assert [entry for entry in found if "Only for" in entry.content] == []


async def test_a_run_whose_agent_is_paused_does_not_start(bench: Bench) -> None:
    await bench.engine.gateway.set_paused(bench.agent, True)
    with pytest.raises(DomainError, match="paused"):
        await bench.start()
    await bench.engine.gateway.set_paused(bench.agent, False)
    assert (await bench.run(ends())).reason is TerminationReason.COMPLETED


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"workspace": Path("/nowhere/at/all")}, "no folder"),
        ({"executor": "abacus"}, "no executor"),
        ({"agent_id": "__shared__"}, "reserved"),
    ],
)
async def test_what_cannot_run_is_refused_before_it_starts(
    bench: Bench, values: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DomainError, match=problem):
        await bench.start(**values)
    assert [
        run for run in await bench.engine.runs.list() if run.request.agent_id == bench.agent
    ] == []


async def test_runs_are_listed_newest_first_and_found_by_the_start_of_their_id(
    bench: Bench,
) -> None:
    runs = [await bench.run(ends()) for _ in range(3)]
    listed = await bench.engine.runs.list(limit=2)
    assert [run.id for run in listed] == [runs[2].id, runs[1].id]
    assert (await bench.engine.runs.list(offset=2))[0].id == runs[0].id
    assert (await bench.engine.runs.show(runs[0].id[:12])).id == runs[0].id
    assert await bench.engine.runs.list(status=RunStatus.RUNNING) == ()
    for unknown in ("zzz", ""):
        with pytest.raises(DomainError):
            await bench.engine.runs.show(unknown)


async def test_following_yields_each_step_once_and_ends_with_the_run(bench: Bench) -> None:
    run = await bench.start(asks("bash", command="true"), ends())
    live = [step.number async for step in bench.engine.runs.follow(run.id)]
    stored = [step.number for step in await bench.engine.runs.steps(run.id)]
    assert live == stored == list(range(1, len(stored) + 1))
    assert [step.number async for step in bench.engine.runs.follow(run.id)] == stored


async def test_a_cancelled_run_has_ended_for_good_with_its_record(bench: Bench) -> None:
    run = await bench.start(asks("bash", command="touch begun; sleep 6000"))
    await until((bench.workspace / "begun").exists)
    ended = await bench.engine.runs.cancel(run.id)
    assert (ended.status, ended.reason) == (RunStatus.ENDED, TerminationReason.SHUTDOWN)
    task = await bench.engine.operations.tasks.get(run.id)
    assert task is not None
    assert task.status == "cancelled"


async def test_closing_interrupts_a_run_and_it_is_resumed_behind_its_last_step(
    server: Server, tmp_path: Path
) -> None:
    async with opened(server, tmp_path) as bench:
        run = await bench.start(asks("bash", command="echo once >> log"))
        log = bench.workspace / "log"
        await until(log.exists)
        server.goes_on.clear()
    server.goes_on.set()
    async with opened(server, tmp_path) as bench:
        shown = await bench.engine.runs.show(run.id)
        assert shown.status is not RunStatus.RUNNING
        if shown.status is RunStatus.INTERRUPTED:
            server.answers[:] = [ends()]
            await bench.engine.runs.resume(run.id)
            shown = await bench.engine.runs.wait(run.id)
        assert shown.reason is TerminationReason.COMPLETED
        assert log.read_text() == "once\n"
        with pytest.raises(DomainError, match="ended"):
            await bench.engine.runs.resume(run.id)


async def test_a_parked_run_refuses_to_go_on_undecided_and_can_be_cancelled(bench: Bench) -> None:
    run = await bench.run(asks("bash", command="true"), profile=RunProfile.ASK)
    assert (run.status, run.reason) == (RunStatus.PARKED, TerminationReason.PARKED)
    item = await bench.engine.approvals.get(run.item_id)
    assert item is not None
    assert item.status == "pending"
    assert await bench.engine.operations.parked_contexts.query(approval_id=run.item_id)
    with pytest.raises(DomainError, match="waits"):
        await bench.engine.runs.resume(run.id)
    ended = await bench.engine.runs.cancel(run.id)
    assert ended.status is RunStatus.ENDED
    item = await bench.engine.approvals.get(run.item_id)
    assert item is not None
    assert item.status == "expired"


async def test_a_parked_run_that_is_cancelled_does_not_go_on_by_itself(bench: Bench) -> None:
    keeping = asyncio.create_task(bench.engine.runs.keep())
    run = await bench.run(asks("bash", command="true"), ends(), profile=RunProfile.ASK)
    await bench.engine.runs.cancel(run.id)
    await bench.engine.runs.wait(run.id)
    ended = await bench.engine.runs.show(run.id)
    keeping.cancel()
    assert (ended.status, ended.reason) == (RunStatus.ENDED, TerminationReason.SHUTDOWN)
    notes = [step.text for step in await bench.engine.runs.steps(run.id) if step.kind == "note"]
    assert not any(text.startswith("Resumed") for text in notes)


async def test_a_run_is_given_no_memory_of_another_agent(bench: Bench) -> None:
    await bench.knows(agent="stork")
    await bench.run(ends())
    assert "port 6543" not in json.dumps(bench.first_messages)


async def test_cancelling_a_run_that_ends_already_leaves_it_as_it_ended(bench: Bench) -> None:
    run = await bench.start(ends())
    async for step in bench.engine.runs.follow(run.id):
        if step.kind == "note":  # of the first stage after it
            break
    ended = await bench.engine.runs.cancel(run.id)
    assert (ended.status, ended.reason) == (RunStatus.ENDED, TerminationReason.COMPLETED)


async def test_a_parked_run_goes_on_by_itself_once_its_call_is_allowed(bench: Bench) -> None:
    keeping = asyncio.create_task(bench.engine.runs.keep())
    parked = await bench.run(
        asks("bash", command="echo storks >> log"), ends(), profile=RunProfile.ASK
    )
    assert not (bench.workspace / "log").exists()
    shown = (await bench.engine.reviews.review(parked.item_id)).shown
    await bench.engine.reviews.approve(parked.item_id, shown=shown, person=PERSON)
    await until(lambda: len(bench.server.requests) == 2)
    run = await bench.engine.runs.wait(parked.id)
    keeping.cancel()
    assert run.reason is TerminationReason.COMPLETED
    assert (bench.workspace / "log").read_text() == "storks\n"
    assert await bench.engine.operations.parked_contexts.get(parked.id) is None


async def test_a_rejected_call_is_not_done_and_its_reason_told(bench: Bench) -> None:
    parked = await bench.run(
        asks("bash", command="echo storks >> log"), ends(), profile=RunProfile.ASK
    )
    reviews = bench.engine.reviews
    shown = (await reviews.review(parked.item_id)).shown
    await reviews.reject(parked.item_id, shown=shown, reason="Not in this folder.", person=PERSON)
    await bench.engine.runs.resume(parked.id)
    run = await bench.engine.runs.wait(parked.id)
    assert run.reason is TerminationReason.COMPLETED
    assert not (bench.workspace / "log").exists()
    told = bench.server.requests[1]["messages"][-1]["content"]
    assert "Not in this folder." in told


async def lessons_in(engine: Engine) -> list[tuple[object, ...]]:
    found = [lesson_of(item) for item in await engine.approvals.list()]
    return [
        (lesson.kind, lesson.proposal.model_dump(), lesson.recurrence)
        for lesson in found
        if lesson is not None
    ]


async def test_capture_makes_the_same_lesson_of_our_own_run_as_of_the_same_run_imported(
    server: Server, tmp_path: Path
) -> None:
    commands = ("git push", "git push --set-upstream origin main")
    async with opened(server, tmp_path) as bench:
        repository(bench.workspace, tmp_path / "origin.git")
        run = await bench.run(
            *(asks("bash", command=each) for each in commands), ends(), task="Push the branch."
        )
        steps = await bench.engine.runs.steps(run.id)
        own = await lessons_in(bench.engine)
        execution = await bench.engine.executions.get(run.execution_id)
    assert execution is not None
    assert [call.outcome for call in execution.calls] == [CallOutcome.FAILED, CallOutcome.OK]
    transcript = ClaudeTranscript(cwd=str(bench.workspace)).user("Push the branch.")
    for call in execution.calls:
        transcript.bash(call.arguments, call.output, error=call.outcome is CallOutcome.FAILED)
    transcript.say("Done.")
    async with Engine.open(settings(server), data_dir=tmp_path / "other") as engine:
        await engine.imports.run([transcript.write(tmp_path / "session.jsonl")])
        imported = await lessons_in(engine)
    assert len(own) == 1, [step.text for step in steps]
    assert own == imported


def repository(folder: Path, origin: Path) -> None:
    """A repository with a commit and an empty origin, whose branch has no upstream."""
    git = ("git", "-c", "user.name=Heron", "-c", "user.email=heron@example.org", "-C", str(folder))
    subprocess.run(("git", "init", "-q", "--bare", "-b", "main", str(origin)), check=True)
    subprocess.run((*git, "init", "-q", "-b", "main"), check=True)
    subprocess.run((*git, "commit", "-q", "--allow-empty", "-m", "First"), check=True)
    subprocess.run((*git, "remote", "add", "origin", str(origin)), check=True)


async def test_the_texts_of_a_run_go_with_its_session_and_with_the_memories_it_was_given(
    bench: Bench,
) -> None:
    memory_id = await bench.knows()
    run = await bench.run(asks("bash", command="echo plumage"), ends("Plumage it is."))
    await bench.engine.erasure.purge([memory_id], actor=str(PERSON))
    stored = json.dumps([step.model_dump(mode="json") for step in await steps_of(bench, run)])
    assert "port 6543" not in stored
    assert "plumage" in stored
    await bench.engine.sessions.purge([run.execution_id], actor=str(PERSON))
    with pytest.raises(DomainError):
        await bench.engine.runs.show(run.id)
    assert await bench.engine.operations.checkpoints.query(execution_id=run.id) == ()


async def steps_of(bench: Bench, run: AgentRun) -> tuple[RunStep, ...]:
    return await bench.engine.runs.steps(run.id)


async def test_a_run_of_another_run_has_a_digest_of_its_own_and_no_persons_word(
    bench: Bench,
) -> None:
    await bench.knows(agent="stork")
    first = await bench.run(ends(), task="Ask the stork.")
    bench.server.requests.clear()
    second = await bench.run(ends(), agent_id="stork", parent=first.id)
    assert "6543" in json.dumps(bench.first_messages)
    execution = await bench.engine.executions.get(second.execution_id)
    assert execution is not None
    assert [turn.role for turn in execution.turns] == ["parent", "assistant"]
    task = await bench.engine.operations.tasks.get(second.id)
    assert task is not None
    assert task.parent_task_id == first.id


async def test_pausing_an_agent_interrupts_its_run_before_the_next_turn(bench: Bench) -> None:
    run = await bench.start(asks("bash", command=HELD), ends())
    await until((bench.workspace / "begun").exists)
    await bench.engine.gateway.set_paused(bench.agent, True)
    (bench.workspace / "go").touch()
    stopped = await bench.engine.runs.wait(run.id)
    assert (stopped.status, stopped.reason) == (RunStatus.INTERRUPTED, TerminationReason.SHUTDOWN)
    with pytest.raises(DomainError, match="paused"):
        await bench.engine.runs.resume(run.id)
    await bench.engine.gateway.set_paused(bench.agent, False)
    await bench.engine.runs.resume(run.id)
    assert (await bench.engine.runs.wait(run.id)).reason is TerminationReason.COMPLETED


async def test_how_a_run_went_and_what_its_agent_does_is_told_by_its_steps(bench: Bench) -> None:
    operations = bench.engine.operations
    run = await bench.start(asks("bash", command=HELD), ends())
    await until((bench.workspace / "begun").exists)
    state = await operations.agent_states.get(bench.agent)
    assert state is not None
    assert (state.status, state.execution_id) == ("executing", run.id)
    assert await operations.heartbeats.get(run.id) is not None
    (bench.workspace / "go").touch()
    await bench.engine.runs.wait(run.id)
    state = await operations.agent_states.get(bench.agent)
    assert state is not None
    assert (state.status, state.execution_id) == ("idle", None)
    assert await operations.heartbeats.get(run.id) is None
    (metric,) = await operations.task_metrics.query(agent_id=bench.agent)
    assert (metric.task_id, metric.is_success, metric.turns_used) == (run.id, True, 2)
    assert metric.duration_seconds > 0


async def test_a_run_whose_workspace_is_gone_ends_with_what_is_wrong(bench: Bench) -> None:
    parked = await bench.run(asks("bash", command="true"), profile=RunProfile.ASK)
    reviews = bench.engine.reviews
    shown = (await reviews.review(parked.item_id)).shown
    await reviews.reject(parked.item_id, shown=shown, reason="No.", person=PERSON)
    bench.workspace.rmdir()
    await bench.engine.runs.resume(parked.id)
    run = await bench.engine.runs.wait(parked.id)
    assert (run.status, run.reason) == (RunStatus.ENDED, TerminationReason.ERROR)
    assert "folder" in run.told
