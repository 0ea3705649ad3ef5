"""A lesson that counts already and comes up again is more certain, and proposed no more."""

from pathlib import Path

import pytest

from synthorg_tui.curation.registry import RegisteredSkill
from synthorg_tui.learning.drafting import certainty_of_lesson
from tests.curation.review_kit import PERSON, Office, evidence, lesson, office, on_disk

AGAIN = evidence("claude-code:two", 40)


async def adopted(desk: Office) -> RegisteredSkill:
    await desk.approve(await desk.propose(lesson()))
    (record,) = await desk.ledger.active()
    return record


async def test_evidence_and_confidence_grow_in_skill_and_memory(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        before = await adopted(desk)
        files = on_disk(tmp_path)
        assert await desk.parts.evidence.add(lesson(seen=(AGAIN,)))
        (record,) = await desk.ledger.active()
        (memory,) = await desk.memories()
    assert record.evidence == (*before.evidence, AGAIN)
    assert record.recurrence == 2
    assert record.proposal.confidence == pytest.approx(certainty_of_lesson(0.7, 2))
    assert memory.confidence == record.proposal.confidence > before.proposal.confidence
    assert memory.id == before.memory_ids[0]
    assert on_disk(tmp_path) == files


async def test_the_same_occurrence_counts_once(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await adopted(desk)
        for _ in range(2):
            assert await desk.parts.evidence.add(lesson(seen=(AGAIN,)))
        (record,) = await desk.ledger.active()
    assert record.recurrence == 2


async def test_a_lesson_that_no_skill_stands_for_is_told_to_be_new(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        record = await adopted(desk)
        assert not await desk.parts.evidence.add(lesson("another lesson"))
        await desk.desk.retire(record.path, PERSON)
        assert not await desk.parts.evidence.add(lesson(seen=(AGAIN,)))


async def test_what_a_person_made_more_certain_stays_so(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson(confidence=1.0)))
        await desk.parts.evidence.add(lesson(seen=(AGAIN,)))
        (memory,) = await desk.memories()
    assert memory.confidence == 1.0
