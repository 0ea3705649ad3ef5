"""What a report may lead to: so many memories, recoveries and proposals, and nobody else's."""

import json
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.reports import TOO_MANY_RECOVERIES, TOO_MANY_WRITES, Reports
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.approvals.models import ApprovalItem, RiskLevel
from synthorg_tui.approvals.proposals import asked_by
from synthorg_tui.core.clock import SystemClock
from synthorg_tui.engine import Engine
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.extract.memories import extract
from synthorg_tui.ingest.readers.generic import FORMAT
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.ingest.service import ImportService
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.extensions import BatchStore, BrowseFilter
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.settings.root import RootConfig
from tests.approvals.approval_kit import FEW, let_few_wait
from tests.curation.review_kit import PERSON
from tests.tables import rows

TOOLS = ("cargo", "npm", "pip", "make", "git")


@asynccontextmanager
async def desk(data_dir: Path, **access: Any) -> AsyncIterator[Engine]:
    given = {
        "memory": {"level": "persistent", "retrieval": {"strategy": "self_editing"}},
        "agent_access": {"writes_per_minute": 10_000, **access},
    }
    async with Engine.open(RootConfig.model_validate(given), data_dir=data_dir) as engine:
        await engine.gateway.open()
        yield engine


def agent(engine: Engine, agent_id: str = "ada") -> AgentSession:
    return engine.gateway.connect(AgentIdentity(agent_id, project="/srv/tidepool"))


def recoveries(
    count: int, session: str = "run-1", *, first: int = 0, **said: Any
) -> dict[str, Any]:
    """A report of so many failures that were put right, each of another command."""
    calls: list[dict[str, Any]] = []
    for number in range(first, first + count):
        command = f"{TOOLS[number % len(TOOLS)]} sub{number}"
        failed = {"outcome": "failed", "exit_code": 2, "output": f"error: no target t{number}"}
        calls.append({"tool": "bash", "arguments": {"command": command}} | failed)
        mended = f"{command} --target t{number}"
        calls.append({"tool": "bash", "arguments": {"command": mended}, "outcome": "ok"})
    return {"task": "Build it", "outcome": "failed", "session": session, "calls": calls} | said


async def report(session: AgentSession, said: dict[str, Any]) -> CallReply:
    return await session.call(tools.REPORT_OUTCOME, said)


def told(reply: CallReply) -> dict[str, Any]:
    assert not reply.is_error, reply.content
    data: dict[str, Any] = json.loads(reply.content)["data"]
    return data


async def stored(engine: Engine) -> tuple[ListedMemory, ...]:
    return (await engine.desk.browse(BrowseFilter(), limit=500)).entries


async def asked(engine: Engine, agent_id: str = "ada") -> list[ApprovalItem]:
    items = [entry.item for entry in await engine.reviews.inbox(include_snoozed=True)]
    return [item for item in items if item.requested_by == asked_by(agent_id)]


@rows("over", [0, 1])
async def test_so_many_recoveries_are_stored_and_the_others_named(
    tmp_path: Path, over: int
) -> None:
    async with desk(tmp_path) as engine:
        data = told(await report(agent(engine), recoveries(MAX_REPORTED_RECOVERIES + over)))
        memories = await stored(engine)
        execution = await engine.executions.get("generic:ada.run-1")
        lessons = await asked(engine)
    kept = [entry for entry in memories if "recovery" in entry.tags]
    assert len(kept) == MAX_REPORTED_RECOVERIES
    left_out = data["left_out"].get(TOO_MANY_RECOVERIES, [])
    assert len(left_out) == over
    assert all(f"sub{MAX_REPORTED_RECOVERIES}" in title for title in left_out)
    assert execution is not None
    assert len(execution.recoveries) == MAX_REPORTED_RECOVERIES
    assert len(lessons) <= MAX_REPORTED_RECOVERIES


@rows(
    ("said", "learnt", "left"),
    [
        (recoveries(3), 0, 6),  # the session and three recoveries
        (recoveries(3), 2, 4),
        ({"task": "Nothing came of it", "outcome": "failed"}, 0, 9),
        ({"task": "Nothing came of it", "outcome": "failed"}, 1, 9),
        (recoveries(9), 1, -1),  # lessons are counted when they are there: then it is waited for
    ],
)
async def test_each_memory_and_each_lesson_of_a_report_takes_a_write(
    tmp_path: Path, said: dict[str, Any], learnt: int, left: int
) -> None:
    allowance = WriteAllowance(10, lambda: 0.0)
    async with desk(tmp_path) as engine:
        taking = reports(engine, tmp_path, learnt)
        told(await taking.take(AgentIdentity("ada"), said, allowance))
        assert len(await stored(engine)) == 10 - left - learnt or not said.get("calls")
        assert allowance.reserve(100) == max(left, 0)
        with pytest.raises(WriteRefusedError, match="too many writes"):
            await taking.take(AgentIdentity("ada"), said, allowance)


def reports(engine: Engine, data_dir: Path, learnt: int = 0) -> Reports:
    """Reports into the store of ``engine`` that teach so many lessons each."""
    memory = engine.memory
    assert isinstance(memory, BatchStore)

    async def learn(_ids: Sequence[str], _cancel: threading.Event) -> int:
        return learnt

    return Reports(
        lambda: memory,
        lambda store: ImportService(
            backend=store, executions=engine.executions, clock=SystemClock(), learner=learn
        ),
        queue=engine.approvals,
        data_dir=data_dir,
        clock=SystemClock(),
    )


async def test_what_the_allowance_left_out_is_stored_when_it_is_reported_again(
    tmp_path: Path,
) -> None:
    said = recoveries(6, outcome="completed")
    async with desk(tmp_path, writes_per_minute=3) as engine:
        data = told(await report(agent(engine), said))
        assert len(data["added"]) == 3
        assert len(data["left_out"][TOO_MANY_WRITES]) == 4
    async with desk(tmp_path) as engine:
        again = told(await report(agent(engine), said))
        assert len(again["added"]) == 4
        assert len(await stored(engine)) == 7


def test_what_was_reserved_comes_back_and_what_was_overdrawn_is_waited_for() -> None:
    now = 0.0
    allowance = WriteAllowance(60, lambda: now)
    assert allowance.reserve(50) == 50
    allowance.charge(-45)
    assert allowance.reserve(100) == 55
    assert allowance.reserve(1) == 0
    allowance.charge(3)
    now = 3.0
    assert allowance.reserve(1) == 0
    now = 4.0
    assert allowance.reserve(5) == 1


async def test_a_report_replaces_no_session_that_was_recorded(tmp_path: Path) -> None:
    recorded = {
        "format": FORMAT,
        "agent": "ada",
        "session": "run-1",
        "project": "/srv/tidepool",
        "task": "Recorded by the client itself, so it stays as it is.",
        "calls": recoveries(1)["calls"],
    }
    path = tmp_path / "recorded.jsonl"
    path.write_text(json.dumps(recorded) + "\n")
    async with desk(tmp_path / "data") as engine:
        await engine.imports.run([path])
        before = await stored(engine)
        reply = await report(agent(engine), recoveries(2, summary="Forged. " * 20))
        execution = await engine.executions.get("generic:ada.run-1")
        after = await stored(engine)
    assert execution is not None
    assert not execution.is_reported
    assert execution.task == recorded["task"]
    assert reply.is_error
    assert "was recorded" in reply.content
    assert {entry.id: entry.content for entry in before} == {e.id: e.content for e in after}


async def test_a_report_rewrites_no_memory_of_a_session_that_a_client_recorded(
    tmp_path: Path,
) -> None:
    """A client's session has another reader, but memories are known by agent and session alone."""
    recorded = {
        "format": FORMAT,
        "agent": "ada",
        "session": "s-1",
        "outcome": "completed",
        "task": "Find the flaky test",
        "turns": [{"role": "assistant", "text": "The clock was not frozen. " * 8}],
    }
    path = tmp_path / "recorded.jsonl"
    path.write_text(json.dumps(recorded) + "\n")
    async with desk(tmp_path / "data") as engine:
        (extracted,) = read_file(TranscriptFile(path, path.stat().st_size, 0)).executions
        by_client = extracted.execution.model_copy(update={"id": "codex:s-1"})
        memory = engine.memory
        assert isinstance(memory, BatchStore)
        await memory.store_many("ada", extract(by_client), actor="import")
        before = {entry.id: entry.content for entry in await stored(engine)}
        said = {"task": "Find it", "outcome": "completed", "session": "s-1"}
        data = told(await report(agent(engine), said | {"summary": "It is fine as it is. " * 9}))
        after = {entry.id: entry.content for entry in await stored(engine)}
    assert before
    assert data["updated"] == []
    assert before.items() <= after.items()


class TestPending:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        let_few_wait(monkeypatch)

    async def test_so_many_may_wait_and_no_more(self, tmp_path: Path) -> None:
        async with desk(tmp_path, writes="approval") as engine:
            session, other = agent(engine), agent(engine, "bob")
            for number in range(FEW):
                assert (await write(session, number)).waiting
            refused = [
                await write(session, FEW),
                await report(session, recoveries(1)),
            ]
            repeated = await write(session, 0)
            others = await write(other, 0)
            waiting = await asked(engine)
            shown = (await engine.reviews.review(waiting[0].id)).shown
            await engine.reviews.reject(waiting[0].id, shown=shown, reason="no", person=PERSON)
            room = await write(session, FEW)
            full = await write(session, FEW + 1)
        for reply in (*refused, full):
            assert reply.is_error
            assert f"{FEW} of your proposals wait for a person" in reply.content
        assert len(waiting) == FEW
        assert repeated.waiting
        assert others.waiting
        assert room.waiting

    async def test_a_deletion_counts_and_is_refused_alike(self, tmp_path: Path) -> None:
        async with desk(tmp_path) as engine:
            memory_id = (await write(agent(engine), 0)).memory_ids[0]
        async with desk(tmp_path, writes="approval") as engine:
            session = agent(engine)
            for number in range(1, FEW + 1):
                await write(session, number)
            sure = {"memory_id": memory_id, "confirm": True, "reason": "wrong"}
            reply = await session.call(tools.DELETE_ENTRY, sure)
            assert len(await asked(engine)) == FEW
        assert reply.is_error
        assert "wait for a person" in reply.content

    async def test_a_report_of_which_not_all_may_wait_names_the_rest(self, tmp_path: Path) -> None:
        async with desk(tmp_path, writes="approval") as engine:
            session = agent(engine)
            for number in range(FEW - 2):
                await write(session, number)
            data = told(await report(session, recoveries(5)))
            assert len(await asked(engine)) == FEW
        assert len(data["waiting"]) == 2
        ((reason, titles),) = data["left_out"].items()
        assert "wait for a person" in reason
        assert len(titles) == 4

    async def test_lessons_of_reports_count_and_those_of_recorded_runs_do_not(
        self, tmp_path: Path
    ) -> None:
        async with desk(tmp_path) as engine:
            for number in range(FEW - 2):
                await engine.approvals.add(waiting_item(f"earlier-{number}"))
            data = told(await report(agent(engine), recoveries(5)))
            waiting = await asked(engine)
            refused = await report(agent(engine), recoveries(1, "one-more"))
            path = tmp_path / "recorded.jsonl"
            recorded = recoveries(3, "recorded", first=500) | {"format": FORMAT, "agent": "ada"}
            path.write_text(json.dumps(recorded) + "\n")
            imported = await engine.imports.run([path])
        assert len(waiting) == FEW
        assert len(data["added"]) == 6
        assert refused.is_error
        assert imported.lessons_proposed


def waiting_item(item_id: str) -> ApprovalItem:
    return ApprovalItem(
        id=item_id,
        action_type="agents:write",
        title="x",
        description="x",
        requested_by=asked_by("ada"),
        risk_level=RiskLevel.LOW,
        created_at=SystemClock().now(),
        payload="{}",
    )


async def write(session: AgentSession, number: int) -> CallReply:
    arguments = {"content": f"The database number {number} listens.", "category": "semantic"}
    return await session.call("archival_memory_write", arguments)
