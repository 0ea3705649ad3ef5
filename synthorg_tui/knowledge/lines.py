"""The lines of a project: what the facts of its sessions say together, each with its counters.

A line's key depends on what it is about and never on how it is worded, so that further sessions
change the same line. What too little speaks for gives none: a line that isn't true, or that anybody
knew, is worse than none.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from synthorg_tui.core.text import counted
from synthorg_tui.knowledge.certainty import LEAST, Witnesses, gathered
from synthorg_tui.knowledge.facts import Sighting
from synthorg_tui.learning.project_commands import ALL_ROLES

SECTIONS: Final = {
    "commands": "How it is worked on",
    "gates": "What its gates want",
    "people": "What people want",
    "files": "Where the work is",
    "tools": "Tools and versions",
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
    "install": "Install what it needs",
    "migrate": "Migrate the database",
    "generate": "Generate code",
    "release": "Release",
}
_PLAIN_FORMS: Final = {
    "Subject": "with a capital letter and no type",
    "subject": "with a small letter and no type",
}
_MAX_OF_A_ROLE: Final = 3
_MAX_FILES: Final = 5
_MAX_FOLDERS: Final = 4
_MAX_DECISIONS: Final = 8
_MAX_TOOLS: Final = 4
_MAX_DEPTH: Final = 6
_LEAST_EDITS: Final = 3
_LEAST_RUNS: Final = 5
_MOSTLY: Final = 0.8
_TESTS: Final = (
    (re.compile(r"(?P<stem>.+)_test(?P<end>\.\w+)"), "*_test{}"),
    (re.compile(r"(?P<stem>.+)_spec(?P<end>\.\w+)"), "*_spec{}"),
    (re.compile(r"test_(?P<stem>.+)(?P<end>\.\w+)"), "test_*{}"),
    (re.compile(r"(?P<stem>.+)\.test(?P<end>\.\w+)"), "*.test{}"),
    (re.compile(r"(?P<stem>.+)\.spec(?P<end>\.\w+)"), "*.spec{}"),
    (re.compile(r"(?P<stem>[A-Z]\w*)Tests?(?P<end>\.\w+)"), "*Test{}"),
)


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
        yield from self._commands()
        yield from self._scripts()
        yield from self._gates()
        yield from self._places()
        yield from self._tools()
        yield from self._git()
        yield from self._commits()
        yield from self._decisions()
        yield from self._told()

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
            if role in _VERBS and seen.good:
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
        for role in ALL_ROLES:
            ranked = sorted(of_role.get(role, ()), key=lambda line: (-line.good, line.key))
            yield from ranked[:_MAX_OF_A_ROLE]

    def _scripts(self) -> Iterator[KnownLine]:
        """What scripts stand for: what was printed last."""
        for subject, seen in self._of("script").items():
            script, _, place = subject.partition("|")
            where = f" in `{place}`" if place else ""
            newest = seen.facts[-1].detail
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
        commits = self._of("commit").values()
        by_session = {s.session: 0 for each in commits for s in each.sightings}
        for each in commits:
            for sighting in each.sightings:
                by_session[sighting.session] += sighting.fact.good
        for subject, seen in self._of("hook").items():
            made = sum(by_session.get(s, 0) for s in {one.session for one in seen.sightings})
            ran = min(seen.good, made)
            if ran >= 2 and ran >= made / 2:
                counts = counts_of(seen, f"seen at {ran} of {counted(made, 'commit')}")
                text = f"A hook runs `{subject}` at `git commit`"
                yield self._line("gates", f"hook|{subject}", text, counts, seen)
        for subject, seen in self._of("refused").items():
            kind, _, path = subject.partition("|")
            if kind == "ignored":
                text = f"Git ignores `{path}`: adding files there takes `git add -f`"
            elif seen.good >= 2:
                text = "A new branch has no upstream: `git push` is refused until"
                text += " `git push --set-upstream origin <branch>`"
            else:
                continue
            counts = counts_of(seen, f"refused {times(seen.good)}")
            yield self._line("gates", f"refused|{subject}", text, counts, seen)

    def _places(self) -> Iterator[KnownLine]:
        files = self._remaining()
        hot = sorted(files, key=lambda path: (-files[path].good, -files[path].sessions, path))
        hot = [path for path in hot if files[path].good >= _LEAST_EDITS][:_MAX_FILES]
        if hot:
            seen = Witnesses([s for path in hot for s in files[path].sightings])
            names = ", ".join(f"`{path}` ({files[path].good})" for path in hot)
            counts = counts_of(seen, counted(seen.good, "edit"))
            yield self._line("files", "files", f"Edited most: {names}", counts, seen)
        yield from self._folders(files)
        yield from self._tests(files)
        for path, seen in files.items():
            if seen.bad >= _LEAST_EDITS and seen.bad * 4 >= seen.good + seen.bad:
                counts = f"{seen.bad} of {counted(seen.good + seen.bad, 'edit')} failed"
                text = f"Edits of `{path}` often fail: read the part to change first"
                yield self._line("files", f"fails|{path}", text, counts_of(seen, counts), seen)

    def _remaining(self) -> dict[str, Witnesses]:
        """The files that were changed and not removed or moved away since."""
        gone = {path: seen.last for path, seen in self._of("gone").items()}
        return {
            path: seen
            for path, seen in self._of("file").items()
            if not any(
                (path == other or path.startswith(f"{other}/"))
                and (at is None or seen.last is None or at > seen.last)
                for other, at in gone.items()
            )
        }

    def _folders(self, files: dict[str, Witnesses]) -> Iterator[KnownLine]:
        groups = _grouped(list(files))
        if len(files) >= _LEAST_RUNS and groups:
            seen = _together(files, groups)
            names = ", ".join(
                f"`{folder}/` ({counted(len(paths), 'file')})" for folder, paths in groups
            )
            counts = counts_of(seen, f"{counted(len(files), 'file')} changed in all")
            yield self._line("files", "folders", f"Changes go to {names}", counts, seen)

    def _tests(self, files: dict[str, Witnesses]) -> Iterator[KnownLine]:
        named: dict[str, list[str]] = {}
        for path in files:
            name = posixpath.basename(path)
            found = ((p.fullmatch(name), shape) for p, shape in _TESTS)
            match = next(((m, shape) for m, shape in found if m), None)
            if match is not None:
                named.setdefault(match[1].format(match[0]["end"]), []).append(path)
        for shape, paths in named.items():
            if len(paths) >= 2:
                folder = posixpath.commonpath(paths) if len(paths) > 1 else ""
                seen = _together(files, [(folder, paths)])
                where = f"are in `{folder}/` and " if folder else ""
                text = f"Tests {where}have names such as `{shape}`"
                counts = counts_of(seen, counted(len(paths), "file"))
                yield self._line("files", f"tests|{shape}", text, counts, seen)

    def _tools(self) -> Iterator[KnownLine]:
        built = {
            fact.detail.split()[0] for one in self._of("command").values() for fact in one.facts
        }
        programs: dict[str, list[tuple[str, Witnesses]]] = {}
        for subject, seen in self._of("tool").items():
            program, _, intent = subject.partition("|")
            if program not in built:
                programs.setdefault(program, []).append((intent, seen))
        for program, intents in programs.items():
            seen = Witnesses([s for _, each in intents for s in each.sightings])
            named = sorted(intents, key=lambda one: (-one[1].good, one[0]))[:_MAX_TOOLS]
            if seen.good >= _LEAST_RUNS:
                uses = ", ".join(f"`{intent}` ({each.good})" for intent, each in named)
                counts = counts_of(seen, counted(seen.good, "run"))
                text = f"`{program}` is used: {uses}"
                yield self._line("tools", f"tool|{program}", text, counts, seen)
        for topic, words in (("version", "{} {} is in use"), ("wanted", "`{}` asks for {} {}")):
            for subject, seen in self._of(topic).items():
                newest = seen.facts[-1].detail
                same = Witnesses([s for s in seen.sightings if s.fact.detail == newest])
                language, _, manifest = subject.partition("|")
                names = (manifest, language, newest) if manifest else (language, newest)
                counts = counts_of(same, f"seen {times(same.good)}")
                yield self._line("tools", f"{topic}|{subject}", words.format(*names), counts, same)

    def _git(self) -> Iterator[KnownLine]:
        for place, seen in self._of("worktree").items():
            if seen.sessions >= 2:
                text = f"Branches are worked on in worktrees of their own: `{place}`"
                yield self._line("git", f"worktree|{place}", text, counts_of(seen, ""), seen)
        branches = self._of("branch")
        schemes: dict[str, list[str]] = {}
        for name in branches:
            if match := re.match(r"[A-Za-z0-9.]+[-/_]", name):
                schemes.setdefault(match[0], []).append(name)
        for start, names in schemes.items():
            if len(names) >= 2 and len(names) >= _MOSTLY * len(branches):
                seen = Witnesses([s for name in names for s in branches[name].sightings])
                text = f"Branches are named `{start}…`, such as `{names[-1]}`"
                counts = counts_of(
                    seen, f"{len(names)} of {counted(len(branches), 'branch', 'branches')}"
                )
                yield self._line("git", f"branch|{start}", text, counts, seen)

    def _commits(self) -> Iterator[KnownLine]:
        forms = self._of("commit")
        every = sum(seen.good for seen in forms.values())
        for form, seen in forms.items():
            if form == "other" or seen.good < _LEAST_EDITS or seen.good < _MOSTLY * every:
                continue
            ends = " (reference)" if seen.bad >= _MOSTLY * seen.good else ""
            example = seen.facts[-1].detail
            begin = _PLAIN_FORMS.get(form) or f"`{form}{ends}`"
            text = f"Commit messages begin {begin}, such as “{example}”"
            counts = counts_of(seen, f"{seen.good} of {counted(every, 'commit')}")
            yield self._line("git", "commits", text, counts, seen)

    def _decisions(self) -> Iterator[KnownLine]:
        found = list(self._of("decision").items())[-_MAX_DECISIONS:]
        for subject, seen in reversed(found):
            counts = counts_of(seen, "committed")
            text = seen.facts[-1].detail
            yield self._line("decisions", f"decision|{subject}", text, counts, seen)

    def _told(self) -> Iterator[KnownLine]:
        """The rules of a file as of the session that read it last."""
        found = self._of("told")
        newest = {
            sighting.fact.subject.partition("|")[0]: sighting.session
            for sighting in self._sightings
            if sighting.fact.topic == "told"
        }
        for subject, seen in found.items():
            path = subject.partition("|")[0]
            if seen.sightings[-1].session == newest[path]:
                text = f"{path} says: “{seen.facts[-1].detail}”"
                counts = counts_of(seen, "read")
                yield self._line("told", f"told|{subject}", text, counts, seen)


def _passed(good: int, ran: int) -> str:
    if ran == 1:
        return "passed in its only run"
    if ran == good == 2:
        return "both runs passed"
    return f"all {ran} runs passed" if good == ran else f"{good} of {ran} runs passed"


def _together(
    files: dict[str, Witnesses], groups: Iterable[tuple[str, Sequence[str]]]
) -> Witnesses:
    return Witnesses([s for _, paths in groups for path in paths for s in files[path].sightings])


def _grouped(paths: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The folders that most of the files are in; one that has nearly all is taken apart."""
    depth, groups = 1, dict[str, list[str]]()
    while depth <= _MAX_DEPTH:
        groups = {}
        for path in paths:
            parts = path.split("/")[:-1]
            if parts:
                groups.setdefault("/".join(parts[:depth]), []).append(path)
        most = max(map(len, groups.values()), default=0)
        if most < len(paths) / 2:
            break
        depth += 1
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [(folder, found) for folder, found in ranked if len(found) >= 2][:_MAX_FOLDERS]
