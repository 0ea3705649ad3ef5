"""What agents went through, and what several of them went through alike."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

from pydantic import AwareDatetime, model_validator

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.procedural.models import Evidence, ProceduralMemoryProposal


class TrajectoryOutcome(StrEnum):
    """How it went: something failed (and was put right, perhaps), or all of it worked."""

    FAILURE = "failure"
    SUCCESS = "success"


class Trajectory(FrozenModel):
    """How one run of one agent went through one situation.

    ``situation`` is what the agent faced, whatever it then did. ``error_category`` says what went
    wrong and what put it right; only a failure has one. ``tools`` are the calls of a success, in
    order. ``draft`` is the lesson that this run alone gives, ``evidence`` what it stands on.
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
        """What it has in common with others that went the same way."""
        if self.outcome is TrajectoryOutcome.FAILURE:
            return f"failure:{self.error_category}"
        return f"success:{json.dumps(self.tools)}"


@dataclass(frozen=True)
class TrajectoryPattern:
    """Trajectories that went the same way.

    ``faced`` counts for each agent how often it faced the situation, however that went.
    """

    key: str
    trajectories: tuple[Trajectory, ...]
    faced: Counter[str]

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The agents that went this way, in order of appearance."""
        return tuple(dict.fromkeys(each.agent_id for each in self.trajectories))

    @property
    def occurrences(self) -> int:
        """How many trajectories went this way."""
        return len(self.trajectories)

    @property
    def attempts(self) -> int:
        """How many faced the situation, however that went."""
        return self.faced.total()

    @property
    def by_agent(self) -> tuple[tuple[int, int], ...]:
        """For each agent that faced the situation: how often it went this way, of how often."""
        went = Counter(each.agent_id for each in self.trajectories)
        return tuple((went[agent], faced) for agent, faced in self.faced.items())


class TrajectoryAggregator:
    """Finds what at least ``min_agents`` different agents went through alike."""

    def __init__(self, min_agents: int = 3) -> None:
        if min_agents < 1:
            raise ValueError("min_agents must be at least 1")
        self._min_agents = min_agents
        self._last_skipped_count = 0

    @property
    def last_skipped_count(self) -> int:
        """How many ways of the last call too few agents had gone."""
        return self._last_skipped_count

    def aggregate(self, trajectories: Iterable[Trajectory]) -> tuple[TrajectoryPattern, ...]:
        """The patterns, the most frequent first; equally frequent ones as they first appeared."""
        groups: dict[str, list[Trajectory]] = {}
        faced: dict[str, Counter[str]] = {}
        for each in trajectories:
            groups.setdefault(each.pattern, []).append(each)
            faced.setdefault(each.situation, Counter())[each.agent_id] += 1
        patterns = [_pattern(key, group, faced) for key, group in groups.items()]
        shared = [each for each in patterns if len(each.agents) >= self._min_agents]
        self._last_skipped_count = len(patterns) - len(shared)
        return tuple(sorted(shared, key=lambda each: -each.occurrences))


def _pattern(
    key: str, group: Sequence[Trajectory], faced: dict[str, Counter[str]]
) -> TrajectoryPattern:
    total: Counter[str] = Counter()
    for situation in dict.fromkeys(each.situation for each in group):
        total.update(faced[situation])
    return TrajectoryPattern(key, tuple(group), total)
