"""Lessons that are adopted without asking, by a setting with which a person said so beforehand.

Two settings allow it, and one kind of lesson: with ``memory.procedural.require_approval`` off all
harmless ones are adopted, with ``approvals.review: uncertain`` those that are certain besides. Both
are safety settings: nobody but a person makes them looser (``settings.safety``). What such a
setting adopted is undone like any decision, and waits for a person from then on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from synthorg_tui.approvals import ApprovalsConfig
from synthorg_tui.approvals.models import ApprovalEvent, ApprovalEventKind, RiskLevel
from synthorg_tui.approvals.person import Policy
from synthorg_tui.curation.models import (
    Author,
    Lesson,
    LessonKind,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.review import Review
from synthorg_tui.curation.supersession import SupersessionVerdict
from synthorg_tui.memory.config import ProceduralMemoryConfig

ALL_HARMLESS: Final = Policy("memory.procedural.require_approval")
CERTAIN_ONES: Final = Policy("approvals.review")
_BY_PERSONS_ONLY: Final = frozenset({LessonKind.CORRECTION, LessonKind.EVOLVED})
_LOW_RISKS: Final = frozenset({RiskLevel.LOW, RiskLevel.MEDIUM})


@dataclass(frozen=True, slots=True)
class Adoption:
    """The setting by which lessons are adopted, and how certain they have to be, from 0 to 1."""

    policy: Policy
    certain_from: float = 0.0

    def takes(self, review: Review, trail: Iterable[ApprovalEvent]) -> bool:
        """Return whether the lesson may be adopted; ``trail`` is what happened to it until now.

        It was recorded, is for its own agent, replaces and contradicts nothing, is of low or medium
        risk and has no suspicious content. A correction, whose rule is whatever a transcript says
        that somebody said, waits, and so does what was put back by undoing its adoption.
        """
        lesson = review.entry.subject
        return (
            isinstance(lesson, Lesson)
            and lesson.proposal.confidence >= self.certain_from
            and lesson.source is not Author.REPORTED
            and lesson.kind not in _BY_PERSONS_ONLY
            and lesson.proposal.scope is ProceduralMemoryScope.AGENT
            and not (review.problem or review.flags or review.replaces)
            and review.item.risk_level in _LOW_RISKS
            and all(skill.verdict != SupersessionVerdict.CONFLICT for skill in review.near)
            and all(event.kind is not ApprovalEventKind.REOPENED for event in trail)
        )


def adoption_by(approvals: ApprovalsConfig, procedural: ProceduralMemoryConfig) -> Adoption | None:
    """Return what the settings let be adopted; ``None`` when every proposal waits for a person.

    Of the two settings the one that lets more through counts, and is the one that is recorded.
    """
    if not procedural.require_approval:
        return Adoption(ALL_HARMLESS)
    if approvals.review == "uncertain":
        return Adoption(CERTAIN_ONES, approvals.certain_from)
    return None
