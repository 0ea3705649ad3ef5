"""How certain a line is: more with each session that shows it, less with time and with failure.

One session makes a subject certain by ``s``: what was said or seen at once states its own, and what
is counted has ``good / (good + 3)``, so that three good runs give 0.5. No single session gives more
than ``MOST_OF_ONE``, since one session may be an exception. Sessions are taken as independent
witnesses, each of which leaves a part of the doubt: ``1 - product(1 - weight * s)``, and at most
``MOST``.

A witness loses weight in two ways. It halves with every ``PROJECT_HALF_LIFE`` days by which the
project went on without showing it again: what isn't seen while others work has probably changed.
And it halves with every ``HALF_LIFE`` days of age as such, slowly, since a project at rest doesn't
change by itself. When the latest sessions that had to do with it show failures only, the evidence
has turned: each of them halves what is left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from synthorg_tui.knowledge.facts import Fact, Sighting

MOST: Final = 0.95
MOST_OF_ONE: Final = 0.7
PROJECT_HALF_LIFE: Final = 90.0
"""Days of a project's own work after which a witness counts half."""
HALF_LIFE: Final = 730.0
"""Days after which any witness counts half."""
LEAST: Final = 0.15
"""What is less certain isn't known: its line is put aside until it is seen again."""
_STEP: Final = 0.05
"""Certainties are told in steps of this, so that a day changes no memory."""
_ENOUGH: Final = 3
_DAY: Final = 86_400.0
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Witnesses:
    """All sightings of what one line says, the earliest first."""

    sightings: list[Sighting] = field(default_factory=list)

    @property
    def facts(self) -> list[Fact]:
        """The facts alone."""
        return [sighting.fact for sighting in self.sightings]

    @property
    def good(self) -> int:
        """How often it went well, or was seen."""
        return sum(fact.good for fact in self.facts)

    @property
    def bad(self) -> int:
        """How often it failed."""
        return sum(fact.bad for fact in self.facts)

    @property
    def sessions(self) -> int:
        """The number of sessions that show it, each with its subagents."""
        return len({_root(sighting.session) for sighting in self.sightings})

    @property
    def last(self) -> datetime | None:
        """When it was seen last; ``None`` when no time is known."""
        return max((fact.at for fact in self.facts if fact.at), default=None)

    @property
    def episodes(self) -> tuple[str, ...]:
        """The lines that show it, one reference for each session, the latest first."""
        found: dict[str, tuple[int, int]] = {}
        for session, _, fact in reversed(self.sightings):
            first, last = found.get(session, fact.lines)
            found[session] = min(first, fact.lines[0]), max(last, fact.lines[1])
        return tuple(f"{session}#L{a}-L{b}" for session, (a, b) in found.items() if session)

    def certainty(self, now: datetime, active: datetime | None) -> float:
        """Return the certainty in [0, 1] at ``now``; ``active`` is the project's last session."""
        doubt = 1.0
        by_session: dict[str, list[Fact]] = {}
        for session, _, fact in self.sightings:
            by_session.setdefault(_root(session), []).append(fact)
        for facts in by_session.values():
            doubt *= 1.0 - _weight(facts, now, active) * _strength(facts)
        turned = _failures_at_the_end(list(by_session.values()))
        certainty = min(MOST, 1.0 - doubt) * 0.5**turned
        return round(round(certainty / _STEP) * _STEP, 2)


def gathered(sightings: Iterable[Sighting], *topics: str) -> dict[str, Witnesses]:
    """Return the evidence by subject; with ``topics`` those of these topics only."""
    found: dict[str, Witnesses] = {}
    for sighting in sightings:
        if not topics or sighting.fact.topic in topics:
            found.setdefault(sighting.fact.subject, Witnesses()).sightings.append(sighting)
    return found


def _root(session: str) -> str:
    """The session that a subagent's is part of."""
    return session.partition("/")[0]


def _strength(facts: Sequence[Fact]) -> float:
    stated = max((fact.certainty for fact in facts if fact.certainty is not None), default=None)
    good = sum(fact.good for fact in facts)
    return min(MOST_OF_ONE, good / (good + _ENOUGH) if stated is None else stated)


def _weight(facts: Sequence[Fact], now: datetime, active: datetime | None) -> float:
    at = max((fact.at for fact in facts if fact.at), default=None)
    if at is None:
        return 1.0
    age = max(0.0, (now - at).total_seconds() / _DAY)
    behind = max(0.0, ((active or at) - at).total_seconds() / _DAY)
    return float(0.5 ** (age / HALF_LIFE) * 0.5 ** (behind / PROJECT_HALF_LIFE))


def _failures_at_the_end(sessions: Sequence[Sequence[Fact]]) -> int:
    """How many of the latest sessions show nothing but failures."""
    ordered = sorted(sessions, key=lambda facts: max(fact.at or _LONG_AGO for fact in facts))
    count = 0
    for facts in reversed(ordered):
        if any(fact.good for fact in facts) or not any(fact.bad for fact in facts):
            break
        count += 1
    return count
