"""What the evolver proposes reaches every agent by a person's approval, and only so."""

import logging
from pathlib import Path

import pytest

from synthorg_tui.curation import models as events
from synthorg_tui.curation.models import ProceduralMemoryProposal
from synthorg_tui.curation.supersession import ExistingSkill
from synthorg_tui.learning.evolver import AutonomousSkillEvolver
from synthorg_tui.learning.patterns import Trajectory, TrajectoryOutcome
from synthorg_tui.memory.config import EvolverConfig
from synthorg_tui.memory.models import MemoryQuery
from tests.conftest import FixedClock
from tests.curation.review_kit import PERSON, Office, lesson, office, proposal

AGENTS = ("ada", "bob", "cyd", "dan", "eve")


def met(agent: str, clock: FixedClock, draft: ProceduralMemoryProposal) -> Trajectory:
    return Trajectory(
        agent_id=agent,
        situation="git push|no upstream",
        outcome=TrajectoryOutcome.FAILURE,
        error_category="no upstream",
        at=clock.now(),
        draft=draft,
    )


async def propose(desk: Office, clock: FixedClock, **draft: object) -> str:
    """Run the evolver over five agents and queue what it proposes; the item's id."""
    shared = [
        ExistingSkill(each.memory_ids[0], each.proposal)
        for each in await desk.ledger.active()
        if each.proposal.scope == "org"
    ]
    evolver = AutonomousSkillEvolver(EvolverConfig(enabled=True), clock)
    report = evolver.evolve([met(a, clock, proposal(**draft)) for a in AGENTS], shared)
    (item,) = report.items
    await desk.queue.add(item)
    return item.id


async def shared(desk: Office) -> list[str]:
    found = await desk.backend.search_shared(MemoryQuery())
    return [entry.content for entry in found]


async def test_a_promotion_is_shared_once_it_is_approved_and_taken_back_by_undo(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with office(tmp_path, clock=clock) as desk:
        item_id = await propose(desk, clock)
        assert await shared(desk) == []
        await desk.approve(item_id)
        (content,) = await shared(desk)
        assert "5 agents learnt it, in 5 of the 5 runs" in content
        await desk.desk.undo(PERSON)
        assert await shared(desk) == []


async def test_a_rejected_promotion_is_shared_with_nobody(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with office(tmp_path, clock=clock) as desk:
        item_id = await propose(desk, clock)
        shown = (await desk.desk.review(item_id)).shown
        await desk.desk.reject(item_id, shown=shown, reason="only ours", person=PERSON)
        assert await shared(desk) == []


@pytest.mark.parametrize("action", [None, "Ask the maintainer to open it."])
async def test_approving_puts_it_in_the_place_of_what_it_supersedes_or_contradicts(
    tmp_path: Path, clock: FixedClock, caplog: pytest.LogCaptureFixture, action: str | None
) -> None:
    caplog.set_level(logging.INFO)
    async with office(tmp_path, clock=clock) as desk:
        known = lesson(scope="org", confidence=0.6, action=action or proposal().action)
        await desk.approve(await desk.propose(known))
        item_id = await propose(desk, clock)
        assert item_id.startswith("conflict-" if action else "org-")
        await desk.approve(item_id)
        (content,) = await shared(desk)
        assert "5 agents learnt it" in content
        told = [record.__dict__.get("event") for record in caplog.records]
        assert told.count(events.ORG_SKILL_SUPERSEDED) == 1
