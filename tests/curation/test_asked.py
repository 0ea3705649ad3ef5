"""Questions that approved lessons answer."""

from pathlib import Path

from synthorg_tui.curation.asked import approved_questions
from synthorg_tui.memory.evaluation.questions import QuestionSource
from tests.curation.review_kit import evidence, lesson, office
from tests.memory.store.store_kit import AGENT


async def test_what_the_evidence_shows_is_answered_by_the_approved_memory(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        item = await desk.propose(lesson(seen=(evidence(line=12),)))
        assert await approved_questions(desk.ledger) == ()
        added = await desk.approve(item)
        (question,) = await approved_questions(desk.ledger)
    assert question.source is QuestionSource.APPROVAL
    assert question.relevant == {added}
    assert question.agent_id == AGENT
    assert question.text.startswith("git push")
    assert "upstream" in question.text
