"""Lessons of single runs as trajectories, so that those of different agents can be compared."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from synthorg_tui.memory.procedural.models import Lesson, LessonKind
from synthorg_tui.memory.procedural.supersession import COMPATIBLE_ACTION, action_similarity
from synthorg_tui.memory.procedural.trajectory import Trajectory, TrajectoryOutcome


@dataclass(frozen=True, slots=True)
class Encounter:
    """What one run taught, and when."""

    lesson: Lesson
    at: datetime

    @property
    def situation(self) -> str:
        """What the agent faced, in the words of no agent.

        For a failure that is the call and its error. A success is compared with others in its
        project.
        """
        if self.lesson.kind is LessonKind.FAILURE:
            return _without_agent(self.lesson.key)
        return f"success in {next((e.project for e in self.lesson.evidence if e.project), '')}"


def trajectories_of(encounters: Sequence[Encounter]) -> tuple[Trajectory, ...]:
    """A trajectory for each encounter.

    Agents that put the same failure right in compatible ways went the same way. The way most of
    them went has the situation's own category, which therefore stays the same from cycle to cycle.
    """
    failures: dict[str, list[Encounter]] = {}
    for each in encounters:
        if each.lesson.kind is LessonKind.FAILURE:
            failures.setdefault(each.situation, []).append(each)
    ways = {situation: _ways(group) for situation, group in failures.items()}
    return tuple(_trajectory(each, ways.get(each.situation, ())) for each in encounters)


def _trajectory(encounter: Encounter, ways: Sequence[str]) -> Trajectory:
    lesson = encounter.lesson
    is_failure = lesson.kind is LessonKind.FAILURE
    category = None
    if is_failure:
        way = _way(lesson.grounded.action, ways)
        is_usual = way == ways[0]
        category = encounter.situation if is_usual else f"{encounter.situation} -> {way}"
    return Trajectory(
        agent_id=lesson.agent_id,
        situation=encounter.situation,
        outcome=TrajectoryOutcome.FAILURE if is_failure else TrajectoryOutcome.SUCCESS,
        error_category=category,
        tools=() if is_failure else lesson.grounded.execution_steps,
        at=encounter.at,
        draft=lesson.grounded,
        evidence=lesson.evidence,
    )


def _ways(group: Iterable[Encounter]) -> tuple[str, ...]:
    """What was done about one situation, the most usual first; compatible ways are one."""
    counts = Counter(each.lesson.grounded.action for each in group)
    together: Counter[str] = Counter()
    for action, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        together[_way(action, tuple(together))] += count
    return tuple(sorted(together, key=lambda way: (-together[way], way)))


def _way(action: str, ways: Sequence[str]) -> str:
    """The way that the action is; itself when it is like none."""
    alike = (way for way in ways if action_similarity(action, way) >= COMPATIBLE_ACTION)
    return action if action in ways else next(alike, action)


def _without_agent(key: str) -> str:
    """A lesson's key (kind, agent, and what it is about) for whichever agent."""
    return key.split("|", 2)[-1]
