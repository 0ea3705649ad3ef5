"""From recorded runs of many agents to proposals in the queue, on the real store."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.person import Person
from synthorg_tui.approvals.queue import ApprovalQueue, payload_hash
from synthorg_tui.curation import models as events
from synthorg_tui.curation.models import Lesson, ProceduralMemoryProposal, ProceduralMemoryScope
from synthorg_tui.curation.registry import ActiveSkills, RegisteredSkill
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.learning.evolver import CONFLICT, PROMOTION
from synthorg_tui.learning.models import LearnProgress
from synthorg_tui.learning.promotion import EvolutionService
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.service import LearnService
from synthorg_tui.memory.config import CompanyMemoryConfig, ProceduralMemoryConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.conftest import FixedClock
from tests.learning.lesson_kit import START, Run

AGENTS = ("ada", "bob", "cyd", "dan", "eve")
ME = Person("terminal")


def pushed(agent: str, branch: str = "fix", remedy: str = "git push -u origin {}") -> Execution:
    error = f"fatal: The current branch {branch} has no upstream branch."
    run = Run(f"{agent}-{branch}", agent=agent, branch=branch)
    return run.bash("git push", error, code=128).bash(remedy.format(branch)).done()


@dataclass
class Desk:
    database: StoreDatabase
    clock: FixedClock
    given: list[RegisteredSkill] = field(default_factory=list)

    @property
    def queue(self) -> ApprovalQueue:
        return ApprovalQueue(self.database, clock=self.clock, expire_after=timedelta(days=90))

    async def active(self) -> tuple[RegisteredSkill, ...]:
        return tuple(self.given)

    def service(self, **evolver: object) -> EvolutionService:
        settings = {"procedural": {"evolver": {"enabled": True, **evolver}}}
        return EvolutionService(
            config=CompanyMemoryConfig.model_validate(settings),
            executions=ExecutionStore(self.database),
            skills=self,
            queue=self.queue,
            clock=self.clock,
        )

    async def record(self, *runs: Execution) -> None:
        store = ExecutionStore(self.database)
        for run in runs:
            await store.save(run, PackedLines(), FileMark(run.id, 1, 1, "d"))

    async def decide(self, item: ApprovalItem, status: ApprovalStatus) -> None:
        await self.database.write(
            lambda db: self.queue.decide_in(
                db, item.id, status=status, person=ME, reason="r", payload_hash=payload_hash(item)
            )
        )


def shared(memory_id: str, proposal: ProceduralMemoryProposal) -> RegisteredSkill:
    return RegisteredSkill(
        path=f"/skills/{memory_id}",
        root="/skills",
        name=memory_id,
        agent_id="skills",
        source="test",
        memory_ids=(memory_id,),
        version=1,
        proposal=proposal,
        adopted_at=START,
        updated_at=START,
    )


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield Desk(database, FixedClock(START + timedelta(days=1)))
    await database.close()


async def test_what_five_agents_learnt_waits_for_a_person(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS))
    seen: list[LearnProgress] = []
    evolution = await desk.service().run(progress=seen.append)
    (item,) = await desk.queue.list()
    assert evolution.proposed == (item.id,)
    assert item.action_type == PROMOTION
    lesson = Lesson.model_validate_json(item.payload)
    assert lesson.proposal.confidence == 0.8759
    assert "`git push -u origin <branch>`" in lesson.proposal.action
    assert {each.agent_id for each in lesson.evidence} == set(AGENTS)
    assert seen[-1] == LearnProgress("reading", 5, 5)


async def test_too_few_agents_propose_nothing(desk: Desk) -> None:
    await desk.record(*(pushed(agent, branch) for agent in AGENTS[:2] for branch in "abc"))
    evolution = await desk.service().run()
    assert (evolution.report.trajectories, evolution.report.few_agents) == (6, 1)
    assert await desk.queue.list() == ()


async def test_the_same_runs_again_change_nothing(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS))
    await desk.service().run()
    before = await desk.queue.list()
    again = await desk.service().run()
    assert (again.proposed, again.revised) == ((), ())
    assert await desk.queue.list() == before


async def test_another_agent_makes_a_pending_proposal_more_certain(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS[:4]))
    (item_id,) = (await desk.service().run()).proposed
    await desk.record(pushed(AGENTS[4]))
    assert (await desk.service().run()).revised == (item_id,)
    item = await desk.queue.get(item_id)
    assert item is not None
    assert Lesson.model_validate_json(item.payload).proposal.confidence == 0.8759
    assert item.metadata["recurrence"] == "5"


@pytest.mark.parametrize("status", [ApprovalStatus.APPROVED, ApprovalStatus.REJECTED])
async def test_what_was_decided_is_not_proposed_again(desk: Desk, status: ApprovalStatus) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS[:3]))
    await desk.service().run()
    (item,) = await desk.queue.list()
    await desk.decide(item, status)
    await desk.record(*(pushed(agent, "more") for agent in AGENTS))
    evolution = await desk.service().run()
    assert (evolution.proposed, evolution.revised, evolution.report.decided) == ((), (), 1)


async def test_what_was_rejected_for_an_agent_is_no_reason_to_share_it(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS[:3]))
    config = ProceduralMemoryConfig()
    executions = ExecutionStore(desk.database)
    proposals = LessonProposals(desk.queue, clock=desk.clock)
    learning = LearnService(executions=executions, proposals=proposals, config=config)
    await learning.learn(word=False)
    first, *_ = await desk.queue.list()
    await desk.decide(first, ApprovalStatus.REJECTED)
    report = (await desk.service().run()).report
    assert (report.trajectories, report.few_agents, report.items) == (2, 1, ())


async def test_an_expired_proposal_waits_again_once_there_is_more(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS[:4]))
    (item_id,) = (await desk.service(window_days=400).run()).proposed
    desk.clock.advance(days=91)
    await desk.record(pushed(AGENTS[4]))
    assert (await desk.service(window_days=400).run()).revised == (item_id,)
    item = await desk.queue.get(item_id)
    assert item is not None
    assert item.status is ApprovalStatus.PENDING


async def test_what_contradicts_a_shared_lesson_is_a_choice(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS))
    (item,) = (await desk.service().run()).report.items
    proposal = Lesson.model_validate_json(item.payload).proposal
    other = ProceduralMemoryProposal.model_validate(
        {**proposal.model_dump(), "action": "Ask the maintainer to create it."}
    )
    desk.given.append(shared("m1", other))
    evolution = await desk.service().run()
    assert evolution.report.items[0].action_type == CONFLICT
    assert Lesson.model_validate_json(evolution.report.items[0].payload).proposal.supersedes == (
        "m1",
    )


async def test_disabled_it_reads_nothing(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS))
    assert (await desk.service(enabled=False).run()).report.items == ()


async def test_a_failed_cycle_is_told_and_can_be_run_again(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_self: object) -> tuple[str, ...]:
        raise OSError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(ExecutionStore, "ids", broken)
        caplog.set_level(logging.INFO)
        with pytest.raises(OSError, match="gone"):
            await desk.service().run()
    told = [record.__dict__.get("event") for record in caplog.records]
    assert events.SKILL_EVOLVER_CYCLE_FAILED in told
    assert (await desk.service().run()).report.cycle_id


async def test_what_only_an_agent_is_given_is_no_obstacle(desk: Desk) -> None:
    await desk.record(*(pushed(agent) for agent in AGENTS))
    (item,) = (await desk.service().run()).report.items
    proposal = Lesson.model_validate_json(item.payload).proposal
    own = proposal.model_copy(update={"scope": ProceduralMemoryScope.AGENT, "confidence": 1.0})
    desk.given.append(shared("m1", own))
    assert (await desk.service().run()).report.known == 0
    desk.given.append(shared("m2", own.model_copy(update={"scope": ProceduralMemoryScope.ORG})))
    assert (await desk.service().run()).report.known == 1


def test_the_service_is_given_nothing_that_writes_memories() -> None:
    given = EvolutionService.__init__.__annotations__
    assert "queue" in given
    assert not {"backend", "memory", "store", "shared"} & given.keys()
    assert [name for name in vars(ActiveSkills) if not name.startswith("_")] == ["active"]
