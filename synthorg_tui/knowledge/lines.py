"""The lines of a project: what the facts of its sessions say together, each with its counters.

A line's key depends on what it is about and never on how it is worded, so that further sessions
change the same line. What too little speaks for gives none: a line that isn't true, or that anybody
knew, is worse than none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from synthorg_tui.core.text import counted
from synthorg_tui.knowledge.certainty import LEAST, Witnesses, gathered
from synthorg_tui.knowledge.facts import Sighting
from synthorg_tui.learning.phrases import joined

SECTIONS: Final = {
    "commands": "How it is worked on",
    "gates": "What its gates want",
    "people": "What people want",
    "git": "Branches and commits",
    "decisions": "Decisions",
    "told": "What its own files tell agents",
}
"""Sections of a page in their order, by the name that lines have them by."""
_VERBS: Final = {
    "test": "Test",
    "part": "Test a part",
    "check": "Check",
    "build": "Build",
    "format": "Format",
    "run": "Run",
    "migrate": "Migrate the database",
    "generate": "Generate code",
    "release": "Release",
}
_UNTYPED: Final = frozenset({"Subject", "subject", "other"})
"""Ways to write commits that say nothing of how the next one has to be."""
_MAX_LINES: Final = 12
_MAX_OF_A_ROLE: Final = {"test": 2, "check": 3, "build": 2}
_MAX_DECISIONS: Final = 2
_LEAST_COMMITS: Final = 3
_SETTLED: Final = 0.3
"""A command that is less certain is told only when it is the only one of its kind."""
_BEFORE: Final = ("generate", "format", "build", "check", "test")
"""The order in which a change is gone over before it is committed."""
_MAX_BEFORE: Final = 5
_WORTH: Final = {"gates": 1.2, "people": 1.2, "commands": 1.0, "git": 0.8}
"""How much a certain line of a section is worth as against another; of all others half as much."""
_MOSTLY: Final = 0.8


@dataclass(frozen=True, slots=True)
class KnownLine:
    """One thing that is known of a project, or of the person where ``project`` is empty.

    ``key`` is the same however it is worded; ``counts`` are its counters in words. ``good`` and
    ``bad`` are how often it went well or was seen, and failed; ``episodes`` are references to the
    lines of the sessions that show it, one for each session.
    """

    project: str
    section: str
    key: str
    text: str
    counts: str
    good: int
    bad: int
    sessions: int
    last: datetime | None
    certainty: float
    episodes: tuple[str, ...]

    @property
    def memory_key(self) -> str:
        """The key of the memory that says this line."""
        return f"knowledge|{self.project}|{self.key}"


def lines_of(project: str, sightings: Sequence[Sighting], now: datetime) -> tuple[KnownLine, ...]:
    """Return what the facts of a project say together, in the order of its page."""
    lines = _ProjectLines(project, sightings, now).all()
    order = list(SECTIONS)
    known = [line for line in lines if line.certainty >= LEAST]
    return tuple(sorted(known, key=lambda line: order.index(line.section)))


def most_useful(lines: Iterable[KnownLine]) -> list[KnownLine]:
    """Return the lines of a page in order: the ``_MAX_LINES`` that are worth most."""
    lines = list(lines)
    ranked = sorted(lines, key=lambda line: -line.certainty * _WORTH.get(line.section, 0.5))
    kept = ranked[:_MAX_LINES]
    return [line for line in lines if line in kept]


def day(moment: datetime | None) -> str:
    """Return a day as it is written in lines; empty for an unknown one."""
    return f"{moment:%Y-%m-%d}" if moment else ""


def times(number: int) -> str:
    """Return how often in words: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def counts_of(seen: Witnesses, what: str) -> str:
    """Return counters in words: what was counted, in how many sessions, and when last."""
    last = day(seen.last)
    sessions = counted(seen.sessions, "session")
    return ", ".join(filter(None, (what, f"in {sessions}", f"last {last}" if last else "")))


class _ProjectLines:
    """Words the facts of one project, topic by topic."""

    def __init__(self, project: str, sightings: Sequence[Sighting], now: datetime) -> None:
        self._project = project
        self._sightings = sightings
        self._now = now
        self._active = max((s.fact.at for s in sightings if s.fact.at), default=None)

    def all(self) -> Iterator[KnownLine]:
        """Yield all lines, those that are too uncertain, too."""
        yield from self._before_commits()
        yield from self._commands()
        yield from self._scripts()
        yield from self._gates()
        yield from self._git()
        yield from self._commits()
        yield from self._decisions()

    def _of(self, *topics: str) -> dict[str, Witnesses]:
        return gathered(self._sightings, *topics)

    def _line(self, section: str, key: str, text: str, counts: str, seen: Witnesses) -> KnownLine:
        return KnownLine(
            project=self._project,
            section=section,
            key=key,
            text=text,
            counts=counts,
            good=seen.good,
            bad=seen.bad,
            sessions=seen.sessions,
            last=seen.last,
            certainty=seen.certainty(self._now, self._active),
            episodes=seen.episodes,
        )

    def _commands(self) -> Iterator[KnownLine]:
        of_role: dict[str, list[KnownLine]] = {}
        for subject, seen in self._of("command").items():
            role = subject.partition("|")[0]
            is_once = role == "run" and "<path>" in seen.facts[-1].detail
            if role in _VERBS and seen.good and not is_once:
                forms = Counter[str]()
                for fact in seen.facts:
                    forms[fact.detail] += fact.good
                form = min(forms, key=lambda one: ("<path>" in one, -forms[one], one))
                runs = _passed(seen.good, seen.good + seen.bad)
                of_role.setdefault(role, []).append(
                    self._line(
                        "commands",
                        f"command|{subject}",
                        f"{_VERBS[role]} with `{form}`",
                        counts_of(seen, runs),
                        seen,
                    )
                )
        for role in _VERBS:
            ranked = sorted(of_role.get(role, ()), key=lambda line: (-line.good, line.key))
            settled = [line for line in ranked if line.certainty >= _SETTLED] or ranked[:1]
            yield from settled[: _MAX_OF_A_ROLE.get(role, 1)]

    def _before_commits(self) -> Iterator[KnownLine]:
        """What passed before most commits, as one line in the order in which it is done."""
        commits = sum(seen.good for seen in self._of("commit").values())
        often = {
            subject: seen
            for subject, seen in self._of("before").items()
            if seen.good >= 2 and seen.good * 2 >= commits
        }
        if often:
            order = sorted(often, key=lambda each: _BEFORE.index(each.partition("|")[0]))
            order = order[:_MAX_BEFORE]
            named = [f"`{each.partition('|')[2]}`" for each in order]
            seen = Witnesses([s for each in order for s in often[each].sightings])
            least = min(often[each].good for each in order)
            counts = counts_of(seen, f"passed before {least} of {counted(commits, 'commit')}")
            text = f"Before a commit run {joined(named)}"
            yield self._line("commands", "before", text, counts, seen)

    def _scripts(self) -> Iterator[KnownLine]:
        """What scripts stand for: what was printed last."""
        for subject, seen in self._of("script").items():
            script, _, place = subject.partition("|")
            where = f" in `{place}`" if place else ""
            newest = seen.facts[-1].detail
            if "&&" not in newest:  # what does one thing only tells no more than its name
                continue
            same = Witnesses([s for s in seen.sightings if s.fact.detail == newest])
            yield self._line(
                "commands",
                f"script|{subject}",
                f"The script `{script}`{where} runs `{newest}`",
                counts_of(same, f"printed {times(same.good)}"),
                same,
            )

    def _gates(self) -> Iterator[KnownLine]:
        for subject, seen in self._of("gate").items():
            stopped = counts_of(seen, f"stopped {times(seen.good)}")
            text = seen.facts[-1].detail.rstrip(".")
            yield self._line("gates", f"gate|{subject}", text, stopped, seen)
        for hook, seen in self._of("hook").items():
            ran = Counter[str]()
            for fact in seen.facts:
                ran[fact.detail] += fact.good
            often = [name for name, count in ran.items() if count >= 2]
            if often:
                counts = counts_of(seen, f"ran {times(max(ran.values()))}")
                text = f"The {hook} hook runs {joined(f'`{name}`' for name in often)}"
                yield self._line("gates", f"hook|{hook}", text, counts, seen)
        for path, seen in self._of("ignored").items():
            if not seen.bad:
                counts = counts_of(seen, f"refused {times(seen.good)}")
                text = f"Git ignores `{path}`: leave it out of commits"
                yield self._line("gates", f"ignored|{path}", text, counts, seen)

    def _git(self) -> Iterator[KnownLine]:
        for place, seen in self._of("worktree").items():
            if seen.sessions >= 2:
                text = f"Branches are worked on in worktrees of their own: `{place}`"
                yield self._line("git", f"worktree|{place}", text, counts_of(seen, ""), seen)

    def _commits(self) -> Iterator[KnownLine]:
        forms = self._of("commit")
        every = sum(seen.good for seen in forms.values())
        for form, seen in forms.items():
            if form in _UNTYPED or seen.good < _LEAST_COMMITS or seen.good < _MOSTLY * every:
                continue
            ends = " (reference)" if seen.bad >= _MOSTLY * seen.good else ""
            example = seen.facts[-1].detail
            text = f"Commit messages begin `{form}{ends}`, such as “{example}”"
            counts = counts_of(seen, f"{seen.good} of {counted(every, 'commit')}")
            yield self._line("git", "commits", text, counts, seen)

    def _decisions(self) -> Iterator[KnownLine]:
        found = list(self._of("decision").items())[-_MAX_DECISIONS:]
        for subject, seen in reversed(found):
            counts = counts_of(seen, "committed")
            text = seen.facts[-1].detail
            yield self._line("decisions", f"decision|{subject}", text, counts, seen)


def _passed(good: int, ran: int) -> str:
    if ran == 1:
        return "passed in its only run"
    if ran == good == 2:
        return "both runs passed"
    return f"all {ran} runs passed" if good == ran else f"{good} of {ran} runs passed"
