"""What can go is proposed, and goes only when a person says so."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.approvals.models import ApprovalItem
from synthorg_tui.curation.applications import Applications
from synthorg_tui.curation.effects import LessonEffect
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.pruning import PruneReport, PruneService
from synthorg_tui.curation.review import PRUNE_ACTION
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.memory.shared import SHARED_OWNER
from tests.conftest import FixedClock
from tests.curation.review_kit import PERSON, Office, lesson, office


@pytest.fixture
async def desk(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Office]:
    async with office(tmp_path, clock=clock) as opened:
        yield opened


async def learnt(desk: Office, words: str, **fields: Any) -> str:
    """Adopt a lesson about something of its own; its memory's id."""
    known = lesson(words, discovery=words, condition=f"{words} arises", action=words, **fields)
    return await desk.approve(await desk.propose(known))


async def prune(desk: Office, clock: FixedClock, **settings: object) -> PruneReport:
    config = ProceduralMemoryConfig.model_validate(settings)
    service = PruneService(config=config, skills=desk.ledger, queue=desk.queue, clock=clock)
    return await service.propose()


async def prune_knowing(desk: Office, clock: FixedClock, effect: LessonEffect) -> PruneReport:
    """Propose what can go when this came of every skill."""

    async def effects(_: object) -> dict[str, LessonEffect]:
        return {record.path: effect for record in await desk.ledger.active()}

    config = ProceduralMemoryConfig()
    service = PruneService(
        config=config, skills=desk.ledger, queue=desk.queue, clock=clock, effects=effects
    )
    return await service.propose()


async def waiting(desk: Office) -> list[tuple[ApprovalItem, PrunePayload]]:
    items = await desk.queue.list(action_type=PRUNE_ACTION)
    return [(item, PrunePayload.model_validate_json(item.payload)) for item in items]


async def test_a_skill_unused_for_too_long_is_proposed_with_the_reason(
    desk: Office, clock: FixedClock
) -> None:
    old = await learnt(desk, "Compile headers")
    clock.advance(days=91)
    await learnt(desk, "Rotate certificates")
    report = await prune(desk, clock)
    ((item, payload),) = await waiting(desk)
    assert (report.skills, report.chosen, report.proposed) == (2, 1, (item.id,))
    assert payload.memory_ids == (old,)
    assert payload.reasons[old] == "Compile headers (never given to an agent, 91 days without use)"
    assert len(await desk.ledger.active()) == 2


async def test_what_agents_were_given_lately_is_fresh(desk: Office, clock: FixedClock) -> None:
    used = await learnt(desk, "Compile headers")
    clock.advance(days=60)
    await Applications(desk.backend.core.database).applied([used], clock.now())
    clock.advance(days=60)
    assert (await prune(desk, clock)).chosen == 0
    clock.advance(days=31)
    assert (await prune(desk, clock)).chosen == 1
    ((_, payload),) = await waiting(desk)
    assert "given 1 time, 91 days" in payload.reasons[used]


async def test_a_lesson_with_which_the_failure_comes_as_often_is_proposed(
    desk: Office, clock: FixedClock
) -> None:
    known = await learnt(desk, "Compile headers")
    helpful = LessonEffect((("digest", 14),), True, 5, 1, 9, 2)
    assert (await prune_knowing(desk, clock, helpful)).chosen == 0
    useless = LessonEffect((("digest", 14),), True, 5, 2, 9, 3)
    assert (await prune_knowing(desk, clock, useless)).chosen == 1
    ((_, payload),) = await waiting(desk)
    assert payload.reasons[known] == (
        "Compile headers (never given to an agent, the failure came again in 2 of 5 sessions "
        "that had it, 3 of 9 without)"
    )


async def test_approving_removes_and_undo_brings_back(desk: Office, clock: FixedClock) -> None:
    await learnt(desk, "Compile headers")
    clock.advance(days=91)
    before = await desk.state()
    await prune(desk, clock)
    ((item, _),) = await waiting(desk)
    shown = (await desk.desk.review(item.id)).shown
    await desk.desk.approve(item.id, shown=shown, person=PERSON)
    assert await desk.ledger.active() == ()
    assert await desk.memories() == ()
    await desk.desk.undo(PERSON)
    after = await desk.state()
    assert (after["memories"], after["files"]) == (before["memories"], before["files"])
    assert len(await desk.ledger.active()) == 1


async def test_looking_again_changes_nothing_and_more_is_added_to_what_waits(
    desk: Office, clock: FixedClock
) -> None:
    await learnt(desk, "Compile headers")
    clock.advance(days=1)
    await learnt(desk, "Rotate certificates")
    clock.advance(days=90)
    (item_id,) = (await prune(desk, clock)).proposed
    again = await prune(desk, clock)
    assert (again.chosen, again.proposed, again.revised) == (1, (), ())
    clock.advance(days=1)
    assert (await prune(desk, clock)).revised == (item_id,)
    ((item, payload),) = await waiting(desk)
    assert len(payload.memory_ids) == 2
    assert item.title == "Remove 2 of the skills that ada has"


async def test_what_a_person_kept_is_not_proposed_again(desk: Office, clock: FixedClock) -> None:
    await learnt(desk, "Compile headers")
    clock.advance(days=91)
    (item_id,) = (await prune(desk, clock)).proposed
    shown = (await desk.desk.review(item_id)).shown
    await desk.desk.reject(item_id, shown=shown, reason="rare but vital", person=PERSON)
    clock.advance(days=400)
    assert (await prune(desk, clock)).chosen == 0


async def test_beyond_the_bound_the_least_useful_go(desk: Office, clock: FixedClock) -> None:
    config = {"pruning": {"type": "pareto", "max_entries": 2}}
    weak = await learnt(desk, "Compile headers", confidence=0.5)
    strong = await learnt(desk, "Rotate certificates", confidence=0.6)
    assert (await prune(desk, clock, **config)).chosen == 0
    clock.advance(days=1)
    await learnt(desk, "Tag releases", confidence=0.55)
    await Applications(desk.backend.core.database).applied([strong], clock.now())
    await prune(desk, clock, **config)
    ((_, payload),) = await waiting(desk)
    assert payload.memory_ids == (weak,)


async def test_each_agent_is_bounded_by_itself(desk: Office, clock: FixedClock) -> None:
    config = {"pruning": {"type": "pareto", "max_entries": 1}}
    await learnt(desk, "Compile headers")
    await learnt(desk, "Rotate certificates", agent="bob")
    assert (await prune(desk, clock, **config)).chosen == 0


@pytest.mark.parametrize("kind", ["ttl", "pareto", "hybrid"])
async def test_what_all_share_has_a_bound_of_its_own(
    desk: Office, clock: FixedClock, kind: str
) -> None:
    for words in ("Compile headers", "Rotate certificates"):
        await learnt(desk, words, scope="org")
        clock.advance(days=1)
    config = {"pruning": {"type": kind, "max_entries": 1}, "evolver": {"max_org_entries": 2}}
    assert (await prune(desk, clock, **config)).chosen == 0
    config["evolver"] = {"max_org_entries": 1}
    assert (await prune(desk, clock, **config)).chosen == 1
    ((item, payload),) = await waiting(desk)
    assert payload.agent_id == SHARED_OWNER
    assert item.title == "Remove 1 of the skills that all agents share"
