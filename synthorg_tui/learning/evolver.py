"""The evolver: proposes to give every agent what several of them have learnt.

It turns patterns into items for a person and decides nothing. It has no store, no queue and no way
to write to either, and must never get one: the import contract "The evolver holds no writer" checks
this file and what it stands on.
"""

import hashlib
import json
import logging
from collections.abc import Container, Iterable, Sequence
from datetime import timedelta
from typing import Final, Self

from pydantic import AwareDatetime, Field, model_validator

from synthorg_tui.approvals.models import ApprovalItem, RiskLevel
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.text import counted
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation import models
from synthorg_tui.curation.inbox import metadata_of, title_of
from synthorg_tui.curation.models import (
    WORDED_FIELDS,
    Author,
    Evidence,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.supersession import (
    ExistingSkill,
    Supersession,
    SupersessionVerdict,
    compare_all,
)
from synthorg_tui.learning.patterns import (
    Trajectory,
    TrajectoryAggregator,
    TrajectoryPattern,
    certainty_of_pattern,
)
from synthorg_tui.memory.config import EvolverConfig
from synthorg_tui.memory.errors import MemoryConfigError

EVOLVER: Final = "AutonomousSkillEvolver"
PROMOTION: Final = "skill_evolver:org_promotion"
CONFLICT: Final = "skill_evolver:conflict"
TAGS: Final = ("evolver-generated", "org-scope")

_MAX_RATIONALE: Final = 2000
_MAX_EVIDENCE: Final = 100

_log = logging.getLogger(__name__)


class EvolverReport(FrozenModel):
    """The result of one cycle of the evolver: what it looked at, and what it proposes.

    ``items`` are not in the queue yet. The other counts are of patterns that led to no item:
    ``few_agents`` were met by too few agents, ``uncertain`` ones aren't certain enough, ``known``
    ones are given to every agent already, ``decided`` ones were approved or rejected before, and
    ``over_limit`` ones wait for a later cycle.
    """

    cycle_id: NotBlankStr
    window_start: AwareDatetime
    window_end: AwareDatetime
    trajectories: int = Field(default=0, ge=0)
    patterns: int = Field(default=0, ge=0)
    items: tuple[ApprovalItem, ...] = ()
    few_agents: int = Field(default=0, ge=0)
    uncertain: int = Field(default=0, ge=0)
    known: int = Field(default=0, ge=0)
    decided: int = Field(default=0, ge=0)
    over_limit: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _validate_window(self) -> Self:
        if self.window_end < self.window_start:
            raise ValueError("window_end must be >= window_start")
        return self

    @property
    def conflicts(self) -> int:
        """The number of items that ask a person to choose between two lessons."""
        return sum(item.action_type == CONFLICT for item in self.items)


class AutonomousSkillEvolver:
    """Turns what many agents went through alike into proposals for a person.

    It is given everything it looks at and returns what it proposes: it has no store, no queue and
    no way to write to either.
    """

    def __init__(self, config: EvolverConfig, clock: Clock) -> None:
        # The setting has one value; a copy made past its validation must not get further.
        if config.requires_human_approval is not True:
            raise MemoryConfigError("requires_human_approval can't be switched off")
        self._config = config
        self._clock = clock

    def evolve(
        self,
        trajectories: Iterable[Trajectory],
        existing: Sequence[ExistingSkill],
        *,
        decided: Container[str] = (),
    ) -> EvolverReport:
        """Run one cycle and return its proposals; nothing is stored.

        Args:
            trajectories: Of all agents; those outside the configured window are ignored.
            existing: The lessons that every agent is given already.
            decided: Ids of items that need not be proposed again.
        """
        end = self._clock.now()
        start = end - timedelta(days=self._config.window_days)
        report = EvolverReport(
            cycle_id=f"cycle-{end:%Y%m%dT%H%M%S.%f}", window_start=start, window_end=end
        )
        if not self._config.enabled:
            _log_event(models.SKILL_EVOLVER_DISABLED, report.cycle_id)
            return report
        _log_event(models.SKILL_EVOLVER_CYCLE_START, report.cycle_id)
        recent = [trajectory for trajectory in trajectories if start <= trajectory.at <= end]
        aggregator = TrajectoryAggregator(self._config.min_agents_seen_pattern)
        patterns = aggregator.aggregate(recent)
        report = report.model_copy(
            update={
                "trajectories": len(recent),
                "patterns": len(patterns),
                "few_agents": aggregator.last_skipped_count,
            }
        )
        report = self._proposed(report, patterns, existing, decided)
        _log_event(models.SKILL_EVOLVER_CYCLE_COMPLETE, report.cycle_id, items=len(report.items))
        return report

    def _proposed(
        self,
        report: EvolverReport,
        patterns: Sequence[TrajectoryPattern],
        existing: Sequence[ExistingSkill],
        decided: Container[str],
    ) -> EvolverReport:
        items: list[ApprovalItem] = []
        counts = dict.fromkeys(("uncertain", "known", "decided", "over_limit"), 0)
        for pattern in patterns:
            confidence = certainty_of_pattern(pattern.by_agent)
            if confidence < self._config.min_confidence_for_org_promotion:
                counts["uncertain"] += 1
                continue
            proposal = _proposal(pattern, confidence)
            compared = compare_all(proposal, existing)
            if any(comparison.is_repeat for comparison in compared):
                counts["known"] += 1
                continue
            item = _item(pattern, proposal, compared, report)
            if item.id in decided:
                counts["decided"] += 1
            elif len(items) >= self._config.max_proposals_per_cycle:
                counts["over_limit"] += 1
            else:
                items.append(item)
                _log_item(item)
        return report.model_copy(update={**counts, "items": tuple(items)})


def _item(
    pattern: TrajectoryPattern,
    proposal: ProceduralMemoryProposal,
    compared: Sequence[Supersession],
    report: EvolverReport,
) -> ApprovalItem:
    replaced = _ids(compared, SupersessionVerdict.FULL)
    against = _ids(compared, SupersessionVerdict.CONFLICT)
    pattern_id = hashlib.sha256(pattern.key.encode()).hexdigest()[:12]
    lesson = _lesson(pattern, pattern_id, proposal, (*against, *replaced))
    figures = (
        f"{counted(len(pattern.agents), 'agent')}, "
        f"{pattern.occurrences} of {pattern.attempts} runs."
    )
    return ApprovalItem(
        id=f"{'conflict' if against else 'org'}-{pattern_id}",
        action_type=CONFLICT if against else PROMOTION,
        title=title_of(lesson),
        description=f"{figures} {_consequence(against, replaced)}",
        requested_by=EVOLVER,
        risk_level=RiskLevel.HIGH if against else RiskLevel.MEDIUM,
        created_at=report.window_end,
        metadata=metadata_of(lesson)
        | {
            "cycle_id": report.cycle_id,
            "pattern_id": pattern_id,
            "supersedes": json.dumps(replaced),
            "conflicts": json.dumps(against),
            "agents": json.dumps(pattern.agents),
        },
        payload=lesson.model_dump_json(),
    )


def _consequence(against: Sequence[str], replaced: Sequence[str]) -> str:
    if against:
        return (
            "It contradicts what every agent is given for the same situation: approving puts it "
            "in that one's place, rejecting keeps that one."
        )
    if replaced:
        return "Approving gives it to every agent, in the place of what it says better."
    return "Approving gives it to every agent."


def _proposal(pattern: TrajectoryPattern, confidence: float) -> ProceduralMemoryProposal:
    """The lesson of the latest run, with how many it stands on and how certain it is."""
    draft = max(pattern.trajectories, key=lambda trajectory: trajectory.at).draft
    figures = (
        f"{counted(len(pattern.agents), 'agent')} learnt it, in {pattern.occurrences} of the "
        f"{pattern.attempts} runs that came to it."
    )
    rationale = f"{draft.rationale[: _MAX_RATIONALE - len(figures) - 1]} {figures}"
    return draft.model_copy(
        update={
            "rationale": rationale,
            "confidence": round(confidence, 4),
            "tags": tuple(dict.fromkeys((*TAGS, *draft.tags)))[:20],
            "scope": ProceduralMemoryScope.ORG,
        }
    )


def _lesson(
    pattern: TrajectoryPattern,
    pattern_id: str,
    proposal: ProceduralMemoryProposal,
    supersedes: tuple[str, ...],
) -> Lesson:
    proposal = proposal.model_copy(update={"supersedes": supersedes})
    return Lesson(
        key=pattern.key,
        kind=LessonKind.EVOLVED,
        agent_id=EVOLVER,
        task_id=pattern_id,
        proposal=proposal,
        grounded=proposal,
        authors=dict.fromkeys(WORDED_FIELDS, Author.EVIDENCE),
        evidence=_evidence(pattern),
    )


def _evidence(pattern: TrajectoryPattern) -> tuple[Evidence, ...]:
    """The latest occurrences, oldest first; not all of hundreds."""
    ordered = sorted(pattern.trajectories, key=lambda trajectory: trajectory.at)
    evidence = [item for trajectory in ordered for item in trajectory.evidence]
    return tuple(evidence[-_MAX_EVIDENCE:])


def _ids(compared: Iterable[Supersession], verdict: SupersessionVerdict) -> tuple[str, ...]:
    return tuple(comparison.existing.id for comparison in compared if comparison.verdict is verdict)


def _log_item(item: ApprovalItem) -> None:
    is_conflict = item.action_type == CONFLICT
    event = (
        models.SKILL_EVOLVER_CONFLICT_DETECTED
        if is_conflict
        else models.SKILL_EVOLVER_PROPOSAL_EMITTED
    )
    _log_event(event, item.metadata["cycle_id"], item_id=item.id)


def _log_event(event: str, cycle_id: str, **details: object) -> None:
    _log.info("%s %s", event, cycle_id, extra={"event": event, "cycle_id": cycle_id, **details})
