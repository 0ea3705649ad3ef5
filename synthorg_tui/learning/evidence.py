"""Evidence for lessons that were approved: what comes up again makes skill and memory more certain.

While a lesson waits for a decision its item gains the evidence (``proposals``); afterwards the
active skill and its memories do. Words never change by it: what a person approved stays as read.
"""

from typing import TYPE_CHECKING

from synthorg_tui.curation.lesson_sources import stand_on_sources
from synthorg_tui.curation.models import Lesson, LessonKind
from synthorg_tui.curation.registry import RegisteredSkill, SkillRegistry, SkillStatus, find, put
from synthorg_tui.learning.drafting import merged
from synthorg_tui.memory.extensions import MemoryAdmin, MemoryEdit

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

ACTOR = "learn"


class LessonEvidence:
    """Adds evidence to approved skills and raises the confidence of their memories.

    Decides nothing and writes no file; waits for a decision that is being taken.
    """

    def __init__(self, registry: SkillRegistry, memories: MemoryAdmin) -> None:
        self._registry = registry
        self._memories = memories

    async def add(self, lesson: Lesson) -> bool:
        """Add the lesson's evidence to the skill drawn from it; ``False`` if none is active."""
        async with self._registry.deciding:
            same = [
                skill for skill in await self._registry.active() if skill.lesson_key == lesson.key
            ]
            for record in same:
                await self._add(record, lesson)
        return bool(same)

    async def _add(self, record: RegisteredSkill, lesson: Lesson) -> None:
        """The memories first: cut short there, the evidence is new the next time, too."""
        together = merged(_lesson(record, lesson), lesson)
        if together.recurrence == record.recurrence and together.evidence == record.evidence:
            return
        confidence = max(record.proposal.confidence, together.proposal.confidence)
        for entry in await self._memories.entries(record.memory_ids):
            await self._memories.edit(entry.id, MemoryEdit(confidence=confidence), actor=ACTOR)

        def work(db: "Connection") -> None:
            present = find(db, record.path)
            if present is not None and present.status is SkillStatus.ACTIVE:
                proposal = present.proposal.model_copy(update={"confidence": confidence})
                gained = {"proposal": proposal, "evidence": together.evidence}
                skill = present.model_copy(update=gained)
                put(db, skill)
                stand_on_sources(db, [skill], at=skill.updated_at)

        await self._registry.change(work)


def _lesson(record: RegisteredSkill, lesson: Lesson) -> Lesson:
    """The lesson that a skill stands for, as far as it matters for more evidence."""
    return Lesson(
        key=lesson.key,
        kind=record.kind or LessonKind.FAILURE,
        agent_id=record.agent_id,
        task_id=lesson.task_id,
        proposal=record.proposal,
        grounded=record.proposal,
        authors={},
        evidence=record.evidence,
    )
