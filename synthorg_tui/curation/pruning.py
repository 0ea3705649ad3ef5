"""Proposes which active skills to remove, by age, by usefulness, or both; a person decides.

The strategies choose among the lessons of one owner and are pure; ``PruneService`` puts what they
choose into the queue. Nothing here can remove anything: it holds a ``ProposalBox``, and reads the
registry through ``ActiveSkills``.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeAlias

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus, RiskLevel
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.text import counted
from synthorg_tui.curation.effects import LessonEffect
from synthorg_tui.curation.models import ProceduralMemoryScope, PrunePayload
from synthorg_tui.curation.registry import ActiveSkills, RegisteredSkill
from synthorg_tui.curation.review import PRUNE_ACTION, entry_of
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.config import ProceduralMemoryConfig, PruningConfig
from synthorg_tui.memory.shared import SHARED_OWNER


@dataclass(frozen=True, slots=True)
class PruningCandidate:
    """A skill that may be removed, with the measures it is judged by.

    ``relevance`` is in [0, 1]. ``fresh_at`` is when it was approved or last given to an agent,
    whichever is later.
    """

    id: str
    relevance: float
    fresh_at: datetime


class PruningStrategy(Protocol):
    """Chooses which skills of one owner to remove."""

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        """Return the ids of the candidates to remove, sorted."""


class TtlPruningStrategy:
    """Chooses the skills that were not used for more than ``max_age_days`` days."""

    def __init__(self, max_age_days: int = 90) -> None:
        self._max_age = timedelta(days=max_age_days)

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        return _ids(lesson for lesson in candidates if now - lesson.fresh_at > self._max_age)


class ParetoPruningStrategy:
    """Chooses, beyond ``max_entries``, the skills that others beat in both relevance and freshness.

    Candidates are retained frontier by frontier: first those that none beats, then those that only
    the first frontier beats, and so on. Of the frontier that no longer fits whole, the freshest are
    retained. So exactly ``max_entries`` stay; the first frontier alone would be a handful of a
    hundred.
    """

    def __init__(self, max_entries: int = 100) -> None:
        self._max_entries = max_entries

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        if len(candidates) <= self._max_entries:
            return ()
        # Fresh first: whatever beats a candidate comes before it.
        ordered = sorted(
            candidates,
            key=lambda lesson: (-lesson.fresh_at.timestamp(), -lesson.relevance, lesson.id),
        )
        ranks = _frontiers(ordered)
        best_first = sorted(range(len(ordered)), key=lambda place: (ranks[place], place))
        return _ids(ordered[place] for place in best_first[self._max_entries :])


class HybridPruningStrategy:
    """Applies ``TtlPruningStrategy`` first, then ``ParetoPruningStrategy`` to the rest."""

    def __init__(self, max_age_days: int = 90, max_entries: int = 100) -> None:
        self._by_age = TtlPruningStrategy(max_age_days)
        self._by_use = ParetoPruningStrategy(max_entries)

    def prune(self, candidates: Sequence[PruningCandidate], *, now: datetime) -> tuple[str, ...]:
        old = self._by_age.prune(candidates, now=now)
        rest = [lesson for lesson in candidates if lesson.id not in set(old)]
        return tuple(sorted({*old, *self._by_use.prune(rest, now=now)}))


def create_pruning_strategy(config: PruningConfig) -> PruningStrategy:
    """Return the strategy that ``config`` names."""
    if config.type == "ttl":
        return TtlPruningStrategy(config.max_age_days)
    if config.type == "pareto":
        return ParetoPruningStrategy(config.max_entries)
    return HybridPruningStrategy(config.max_age_days, config.max_entries)


def _frontiers(ordered: Sequence[PruningCandidate]) -> list[int]:
    """The frontier of each candidate, from 0; equal ones share theirs.

    In this order the last of a frontier has its highest relevance, so that one look tells
    whether the frontier beats a candidate.
    """
    ranks: list[int] = []
    highest: list[float] = []  # of each frontier, negated: ascending
    previous: PruningCandidate | None = None
    for lesson in ordered:
        is_repeat = previous is not None and (lesson.fresh_at, lesson.relevance) == (
            previous.fresh_at,
            previous.relevance,
        )
        rank = ranks[-1] if is_repeat else bisect_right(highest, -lesson.relevance)
        highest[rank : rank + 1] = [-lesson.relevance]
        ranks.append(rank)
        previous = lesson
    return ranks


def _ids(candidates: Iterable[PruningCandidate]) -> tuple[str, ...]:
    return tuple(sorted(lesson.id for lesson in candidates))


PRUNER: Final = "pruning"
_MAX_DISCOVERY: Final = 120


@dataclass(frozen=True, slots=True)
class PruneReport:
    """The result of ``PruneService.propose``.

    ``skills`` is the number of active skills, ``chosen`` the number to remove, proposed now or
    earlier. ``proposed`` are ids of new approval items, ``revised`` those of pending ones that were
    changed.
    """

    skills: int = 0
    chosen: int = 0
    proposed: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()


EffectCounts: TypeAlias = Callable[
    [Callable[[int, int], None] | None], Awaitable[dict[str, LessonEffect]]
]
"""Counts what came of each active skill, by path; takes what is told of the progress."""


class PruneService:
    """Proposes to a person which skills to remove: one item an agent, and one for shared skills.

    Besides what the strategies choose, these are lessons that agents were given often enough while
    the failure came as often with them as without. A removal that a person rejected isn't proposed
    again. ``effects`` counts what came of each active skill.
    """

    def __init__(
        self,
        config: ProceduralMemoryConfig,
        skills: ActiveSkills,
        queue: ProposalBox,
        clock: Clock,
        effects: "EffectCounts | None" = None,
    ) -> None:
        self._counts = effects
        self._own = create_pruning_strategy(config.pruning)
        self._shared = _shared_strategy(config)
        self._skills = skills
        self._queue = queue
        self._clock = clock

    async def effects(
        self, progress: "Callable[[int, int], None] | None" = None
    ) -> dict[str, LessonEffect]:
        """Return what came of each active skill, by path; changes no skill.

        ``progress`` is called with how many of how many sessions are looked at.
        """
        return {} if self._counts is None else await self._counts(progress)

    async def propose(self, progress: "Callable[[int, int], None] | None" = None) -> PruneReport:
        """Judge every active skill, then add or update the approval items accordingly."""
        records = await self._skills.active()
        effects = await self.effects(progress)
        items = await self._queue.list(action_type=PRUNE_ACTION, snoozed=True)
        rejected = (item for item in items if item.status is ApprovalStatus.REJECTED)
        kept = frozenset(memory_id for item in rejected for memory_id in _ids_of(item))
        pending = {
            item.metadata.get("agent"): item
            for item in reversed(items)
            if item.status is ApprovalStatus.PENDING
        }
        chosen = {
            owner: unused
            for owner, group in _by_owner(records).items()
            if (unused := self._chosen(owner, group, kept, effects))
        }
        proposed: list[str] = []
        revised: list[str] = []
        for owner, unused in chosen.items():
            item = self._item(owner, unused, effects)
            waiting = pending.get(owner)
            if waiting is None:
                await self._queue.add(item)
                proposed.append(item.id)
            elif _ids_of(waiting) != _ids_of(item):
                await self._queue.revise(
                    waiting.id,
                    actor=PRUNER,
                    payload=item.payload,
                    metadata=waiting.metadata | item.metadata,
                    title=item.title,
                    description=item.description,
                )
                revised.append(waiting.id)
        count = sum(map(len, chosen.values()))
        return PruneReport(len(records), count, tuple(proposed), tuple(revised))

    def _chosen(
        self,
        owner: str,
        group: Sequence[RegisteredSkill],
        kept: frozenset[str],
        effects: Mapping[str, LessonEffect],
    ) -> list[RegisteredSkill]:
        strategy = self._shared if owner == SHARED_OWNER else self._own
        candidates = [
            PruningCandidate(record.path, _relevance(record), _fresh_at(record)) for record in group
        ]
        chosen = set(strategy.prune(candidates, now=self._clock.now()))
        chosen |= {path for path, effect in effects.items() if effect.is_no_rarer_with_it}
        return [
            record
            for record in group
            if record.path in chosen and kept.isdisjoint(record.memory_ids)
        ]

    def _item(
        self,
        owner: str,
        unused: Sequence[RegisteredSkill],
        effects: Mapping[str, LessonEffect],
    ) -> ApprovalItem:
        now = self._clock.now()
        ids = tuple(memory_id for record in unused for memory_id in record.memory_ids)
        reasons = {
            record.memory_ids[0]: _reason(record, now, effects.get(record.path))
            for record in unused
        }
        whose = "all agents share" if owner == SHARED_OWNER else f"{owner} has"
        digest = hashlib.sha256("\n".join((*sorted(ids), str(now))).encode()).hexdigest()
        return ApprovalItem(
            id=f"prune-{digest[:12]}",
            action_type=PRUNE_ACTION,
            title=f"Remove {len(unused)} of the skills that {whose}",
            description="\n".join(reasons.values()),
            requested_by=PRUNER,
            risk_level=RiskLevel.MEDIUM,
            created_at=now,
            metadata={"kind": "prune", "agent": owner, "skills": str(len(unused))},
            payload=PrunePayload(agent_id=owner, memory_ids=ids, reasons=reasons).model_dump_json(),
        )


def _shared_strategy(config: ProceduralMemoryConfig) -> PruningStrategy:
    """The strategy for what all agents share, which has a limit of its own."""
    by_age = config.pruning.type != "pareto"
    return create_pruning_strategy(
        PruningConfig(
            type="hybrid" if by_age else "pareto",
            max_age_days=config.pruning.max_age_days,
            max_entries=config.evolver.max_org_entries,
        )
    )


def _by_owner(records: Iterable[RegisteredSkill]) -> dict[str, list[RegisteredSkill]]:
    """Skills with a memory by the agent that learnt them, or by the shared owner."""
    groups: dict[str, list[RegisteredSkill]] = {}
    for record in records:
        is_shared = record.proposal.scope is ProceduralMemoryScope.ORG
        if record.memory_ids:
            owner = SHARED_OWNER if is_shared else record.agent_id
            groups.setdefault(owner, []).append(record)
    return groups


def _relevance(record: RegisteredSkill) -> float:
    """Half what the lesson claims, its confidence, and half what it has shown: a / (1 + a).

    ``a`` is how often agents were given it.
    """
    uses = record.application_count
    return (record.proposal.confidence + uses / (1 + uses)) / 2


def _fresh_at(record: RegisteredSkill) -> datetime:
    return max(record.adopted_at, record.last_applied_at or record.adopted_at)


def _reason(record: RegisteredSkill, now: datetime, effect: LessonEffect | None) -> str:
    days = (now - _fresh_at(record)).days
    uses = record.application_count
    used = f"given {counted(uses, 'time')}" if uses else "never given to an agent"
    what = one_line(record.proposal.discovery, _MAX_DISCOVERY)
    facts = [used, *([f"{counted(days, 'day')} without use"] if days else [])]
    if effect is not None and effect.is_recognised and effect.had + effect.lacked:
        facts.append(effect.failure_words)
    return f"{what} ({', '.join(facts)})"


def _ids_of(item: ApprovalItem) -> frozenset[str]:
    subject = entry_of(item).subject
    return frozenset(subject.memory_ids if isinstance(subject, PrunePayload) else ())
