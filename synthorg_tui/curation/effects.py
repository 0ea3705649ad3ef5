"""What came of an approved lesson, as counts: when agents were given it, and what failed since.

Counts only: an agent that had a lesson and didn't fail may have done so without it. So no word in
here says that a lesson helped. They are made in ``learning.effects``, which knows how failures are
recognised.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from synthorg_tui.core.text import counted

MAX_WEEKS: Final = 12
NO_PROOF: Final = "counts, no proof of what it changed"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_WAYS: Final = {
    "digest": "in digests",
    "before": "before a call",
    "after": "after a failure",
    "read": "read as a skill",
}
MIN_GIVEN: Final = 10
MIN_SESSIONS: Final = 3
"""How often a lesson must have been given, and in how many sessions its command must have run with
it and without it, before the two are compared."""


class EffectWeek(NamedTuple):
    """Times that a lesson was given in a week, and sessions in which its failure came again."""

    given: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class LessonEffect:
    """How often agents were given a lesson, by way, and how sessions since its approval went.

    ``had`` and ``lacked`` are numbers of sessions that ran what the lesson is about: in the first
    the agent had been given it by the time of the first failure, or without one at all.
    ``had_failed`` and ``lacked_failed`` are those in which the failure came again.
    ``is_recognised`` is false of lessons whose failure can't be told in a transcript. ``weeks`` are
    the last ones since the approval, the present one last.
    """

    ways: tuple[tuple[str, int], ...] = ()
    is_recognised: bool = False
    had: int = 0
    had_failed: int = 0
    lacked: int = 0
    lacked_failed: int = 0
    weeks: tuple[EffectWeek, ...] = ()

    @property
    def given(self) -> int:
        """The number of times that agents were given it, since each one is recorded."""
        return sum(times for _, times in self.ways)

    @property
    def given_words(self) -> str:
        """The times by way, such as "9 in digests, 3 before a call"; empty without any."""
        return ", ".join(f"{times:,} {_WAYS.get(how, how)}" for how, times in self.ways if times)

    @property
    def failure_words(self) -> str:
        """Whether the failure came again since the approval, with the lesson and without it."""
        if not self.is_recognised:
            return "its failure can't be recognised in sessions"
        ran, failed = self.had + self.lacked, self.had_failed + self.lacked_failed
        if not ran:
            return "no session since has run what it is about"
        if not failed:
            return f"the failure wasn't seen again in {counted(ran, 'session')}"
        if not self.had:
            return f"the failure came again in {failed:,} of {counted(ran, 'session')} without it"
        with_it = f"in {self.had_failed:,} of {counted(self.had, 'session')} that had it"
        without = f"{self.lacked_failed:,} of {self.lacked:,} without"
        return f"the failure came again {with_it}, {without}"

    @property
    def is_no_rarer_with_it(self) -> bool:
        """Whether the failure came as often with the lesson as without, in enough sessions."""
        enough = self.given >= MIN_GIVEN and min(self.had, self.lacked) >= MIN_SESSIONS
        return (
            enough
            and self.had_failed > 0
            and self.had_failed * self.lacked >= self.lacked_failed * self.had
        )

    @property
    def lines_over_time(self) -> tuple[tuple[str, str], ...]:
        """A small line for what was given and one for what failed, week by week, with their names.

        Both are drawn to their own highest week; without two weeks there is nothing to draw.
        """
        if len(self.weeks) < 2:
            return ()
        lines = [("given", spark([week.given for week in self.weeks]))]
        if self.is_recognised:
            lines.append(("failed", spark([week.failed for week in self.weeks])))
        return tuple(lines)


def spark(values: list[int]) -> str:
    """Draw numbers as a line of bars, one character each; zero is a point."""
    highest = max(values, default=0)
    last = len(_LEVELS) - 1
    return "".join(_LEVELS[round(value * last / highest)] if value > 0 else "·" for value in values)
