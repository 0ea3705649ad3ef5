"""Patterns: what several agents went through alike, and how certain that makes it for all.

Lessons of single runs become trajectories, which name the situation and not the agent, so that
those of different agents compare; trajectories that went the same way are a pattern. All of it is
computed from what is given: nothing here reads a store or proposes anything.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, Self

from pydantic import AwareDatetime, model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.curation.models import Evidence, Lesson, LessonKind, ProceduralMemoryProposal
from synthorg_tui.curation.supersession import COMPATIBLE_ACTION, action_similarity


class TrajectoryOutcome(StrEnum):
    """The outcome of a run in one situation.

    It is a failure when something failed, even if that was put right later.
    """

    FAILURE = "failure"
    SUCCESS = "success"


class Trajectory(FrozenModel):
    """The way one run of one agent went through one situation.

    ``situation`` names what the agent faced, whatever it then did. ``error_category`` names what
    went wrong and what put it right; only a failure has one. ``tools`` are the steps of a success,
    in order. ``draft`` is the lesson that this run alone gives, ``evidence`` the record behind it.
    """

    agent_id: NotBlankStr
    situation: NotBlankStr
    outcome: TrajectoryOutcome
    error_category: NotBlankStr | None = None
    tools: tuple[NotBlankStr, ...] = ()
    at: AwareDatetime
    draft: ProceduralMemoryProposal
    evidence: tuple[Evidence, ...] = ()

    @model_validator(mode="after")
    def _validate_category(self) -> Self:
        if (self.outcome is TrajectoryOutcome.FAILURE) != (self.error_category is not None):
            raise ValueError("a failure needs an error_category, and nothing else has one")
        return self

    @property
    def pattern(self) -> str:
        """The key that all trajectories share that went the same way."""
        if self.outcome is TrajectoryOutcome.FAILURE:
            return f"failure:{self.error_category}"
        return f"success:{json.dumps(self.tools)}"


@dataclass(frozen=True)
class TrajectoryPattern:
    """Trajectories, of one or more agents, that went through a situation in the same way.

    ``faced`` maps each agent to the number of times it faced the situation, however that went.
    """

    key: str
    trajectories: tuple[Trajectory, ...]
    faced: Counter[str]

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The ids of the agents that went this way, in order of appearance."""
        return tuple(dict.fromkeys(trajectory.agent_id for trajectory in self.trajectories))

    @property
    def occurrences(self) -> int:
        """The number of trajectories that went this way."""
        return len(self.trajectories)

    @property
    def attempts(self) -> int:
        """The number of trajectories that faced the situation, however they went."""
        return self.faced.total()

    @property
    def by_agent(self) -> tuple[tuple[int, int], ...]:
        """For each agent, how often it went this way and how often it faced the situation."""
        went = Counter(trajectory.agent_id for trajectory in self.trajectories)
        return tuple((went[agent], faced) for agent, faced in self.faced.items())


class TrajectoryAggregator:
    """Groups trajectories into patterns that at least ``min_agents`` different agents share."""

    def __init__(self, min_agents: int = 3) -> None:
        if min_agents < 1:
            raise ValueError("min_agents must be at least 1")
        self._min_agents = min_agents
        self.last_skipped_count = 0  # patterns with too few agents, in the last `aggregate`

    def aggregate(self, trajectories: Iterable[Trajectory]) -> tuple[TrajectoryPattern, ...]:
        """Return the shared patterns, most frequent first, else in order of appearance."""
        groups: dict[str, list[Trajectory]] = {}
        faced: dict[str, Counter[str]] = {}
        for trajectory in trajectories:
            groups.setdefault(trajectory.pattern, []).append(trajectory)
            faced.setdefault(trajectory.situation, Counter())[trajectory.agent_id] += 1
        patterns = [_pattern(key, group, faced) for key, group in groups.items()]
        shared = [pattern for pattern in patterns if len(pattern.agents) >= self._min_agents]
        self.last_skipped_count = len(patterns) - len(shared)
        return tuple(sorted(shared, key=lambda pattern: -pattern.occurrences))


def _pattern(
    key: str, group: Sequence[Trajectory], faced: dict[str, Counter[str]]
) -> TrajectoryPattern:
    total: Counter[str] = Counter()
    for situation in dict.fromkeys(trajectory.situation for trajectory in group):
        total.update(faced[situation])
    return TrajectoryPattern(key, tuple(group), total)


@dataclass(frozen=True, slots=True)
class LessonOccurrence:
    """The lesson that one run taught, and when."""

    lesson: Lesson
    at: datetime

    @property
    def situation(self) -> str:
        """A name for what the agent faced that is the same for every agent.

        For a failure it is made of the call and its error, for a success of the project.
        """
        if self.lesson.kind is LessonKind.FAILURE:
            return self.lesson.key.split("|", 2)[-1]
        return f"success in {next((e.project for e in self.lesson.evidence if e.project), '')}"


def trajectories_of(occurrences: Sequence[LessonOccurrence]) -> tuple[Trajectory, ...]:
    """Return a trajectory for each occurrence, in the same order.

    Agents that put the same failure right by compatible remedies went the same way. The remedy that
    most of them took has the situation itself as its category, which therefore stays the same from
    cycle to cycle.
    """
    failures: dict[str, list[LessonOccurrence]] = {}
    for occurrence in occurrences:
        if occurrence.lesson.kind is LessonKind.FAILURE:
            failures.setdefault(occurrence.situation, []).append(occurrence)
    remedies = {situation: _remedies(group) for situation, group in failures.items()}
    return tuple(
        _trajectory(occurrence, remedies.get(occurrence.situation, ()))
        for occurrence in occurrences
    )


def _trajectory(occurrence: LessonOccurrence, remedies: Sequence[str]) -> Trajectory:
    lesson = occurrence.lesson
    is_failure = lesson.kind is LessonKind.FAILURE
    category = None
    if is_failure:
        remedy = _remedy(lesson.grounded.action, remedies)
        is_usual = remedy == remedies[0]
        category = occurrence.situation if is_usual else f"{occurrence.situation} -> {remedy}"
    return Trajectory(
        agent_id=lesson.agent_id,
        situation=occurrence.situation,
        outcome=TrajectoryOutcome.FAILURE if is_failure else TrajectoryOutcome.SUCCESS,
        error_category=category,
        tools=() if is_failure else lesson.grounded.execution_steps,
        at=occurrence.at,
        draft=lesson.grounded,
        evidence=lesson.evidence,
    )


def _remedies(group: Iterable[LessonOccurrence]) -> tuple[str, ...]:
    """What was done about one situation, the most usual first; compatible remedies are one."""
    counts = Counter(occurrence.lesson.grounded.action for occurrence in group)
    together: Counter[str] = Counter()
    for action, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        together[_remedy(action, tuple(together))] += count
    return tuple(sorted(together, key=lambda remedy: (-together[remedy], remedy)))


def _remedy(action: str, remedies: Sequence[str]) -> str:
    """The known remedy that the action is; the action itself when it is like none."""
    alike = (known for known in remedies if action_similarity(action, known) >= COMPATIBLE_ACTION)
    return action if action in remedies else next(alike, action)


INTRACLASS_CORRELATION: Final = 0.5
Z: Final = 0.8416212
"""The 80th percentile of the standard normal distribution."""


def worth(runs: int) -> float:
    """Return how many independent runs the ``runs`` (at least 1) of one agent are worth.

    Runs of one agent resemble each other, so the result grows more slowly than ``runs``.
    """
    return runs / (1 + INTRACLASS_CORRELATION * (runs - 1))


def certainty_of_pattern(agents: Iterable[tuple[int, int]]) -> float:
    """Return how certain a pattern is, in [0, 1).

    ``agents`` holds for each agent in how many runs it went this way, and in how many (at least 1,
    and no fewer) it faced the situation. The result is the lower bound of a confidence interval, so
    few runs give a low certainty.
    """
    weighed = [(worth(faced), went / faced) for went, faced in agents]
    number = sum(weight for weight, _ in weighed)
    if not number:
        return 0.0
    rate = sum(weight * share for weight, share in weighed) / number
    doubt = Z * Z / number
    spread = Z * math.sqrt(max(0.0, rate * (1 - rate)) / number + doubt / (4 * number))
    return max(0.0, (rate + doubt / 2 - spread) / (1 + doubt))
