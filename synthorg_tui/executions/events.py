"""The identity of what happened in a session: the same turn or call in two files is one event.

A fork, a resumed session, a replay and a copy repeat the events of the session they come from. An
event is known by the id that its writer gave it, where that is long enough to be unique, and by a
hash of its time and content. That includes the request that it answers, so that the same command
at the same second of two sessions stays two. Content without a time joins nothing. A fork that
names its session is one with that, whatever they have in common.
"""

import bisect
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import Final

from synthorg_tui.executions.erased_lines import ERASED_LINE
from synthorg_tui.executions.models import Execution, ToolCall, Turn

_MIN_ID: Final = 16
_TIME_LIKE: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]")
_NAMING_FORKS: Final = frozenset({"codex"})
"""Readers of programs whose forks name the session that they come from."""
_SESSION: Final = re.compile(r'"session_?id":"[^"]*"', re.IGNORECASE)
"""The name of the file that a record stands in: lines of a joined session come from several."""
_TIMESTAMP: Final = re.compile(r'"timestamp":(?:"[^"]*"|\d+)')


@dataclass(frozen=True)
class SessionEvents:
    """The events of a session by the line (1-based) that each stands on, with their times.

    ``wholes`` are identities of all of it: the work of a subagent, whoever did it and when, as
    subagents of one session that were given the same and did the same are one; the names of a
    session whose forks name it, and of the one that it is a fork of.
    """

    by_line: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    times: dict[int, datetime] = field(default_factory=dict)
    wholes: frozenset[int] = frozenset()

    @cached_property
    def keys(self) -> frozenset[int]:
        """All identities."""
        return self.wholes.union(*self.by_line.values())

    def between(self, spans: Iterable[tuple[int, int]]) -> set[int]:
        """Return the identities of the events on these lines, first and last of each span."""
        spans = list(spans)
        on = (line for line in self.by_line if any(a <= line <= b for a, b in spans))
        return set().union(*(self.by_line[line] for line in on))


def events_of(execution: Execution) -> SessionEvents:
    """Return the events of a session; of one in our own format, which names it, there are none."""
    if execution.reader == "generic":
        return SessionEvents()
    found = SessionEvents(wholes=frozenset(_wholes(execution)))
    scope = f"{execution.reader}/{execution.id.partition('/')[2]}"
    request = ""
    for event in _in_order(execution):
        if isinstance(event, Turn):
            request = event.text if event.role != "assistant" else request
            kind, id_, line = event.role, event.record_id, event.first_line
            content = [event.text, request]
        else:
            kind, id_, line = "call", event.id, event.call_line
            content = [event.tool, event.arguments, request]
            if event.result_line is not None:
                found.by_line[event.result_line].update(_keys(scope, "result", id_, None, content))
        found.by_line[line].update(_keys(scope, kind, id_, event.at, content))
        if event.at is not None:
            found.times.setdefault(line, event.at)
    return found


def _in_order(execution: Execution) -> list[Turn | ToolCall]:
    return sorted(
        (*execution.turns, *execution.calls),
        key=lambda event: event.first_line if isinstance(event, Turn) else event.call_line,
    )


def _keys(
    scope: str, kind: str, id_: str, at: datetime | None, content: Sequence[str]
) -> Iterator[int]:
    is_unique = len(id_) >= _MIN_ID and any(map(str.isdigit, id_)) and not _TIME_LIKE.match(id_)
    if is_unique:
        yield _hash(scope, kind, id_)
    if at is not None:
        yield _hash(scope, kind, at.isoformat(), *content)


def _wholes(execution: Execution) -> Iterator[int]:
    if execution.reader in _NAMING_FORKS:
        for name in filter(None, (execution.session_id, execution.forked_from)):
            yield _hash(execution.reader, "session", name)
    if execution.parent_id is not None and execution.calls:
        texts = [turn.text for turn in execution.turns]
        for call in execution.calls:
            texts += (call.tool, call.arguments, call.outcome.value, call.output)
        yield _hash(execution.reader, execution.parent_id, *texts)


def _hash(*parts: str) -> int:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big", signed=True)


class Copy:
    """One file's version of a session: its record, its stored lines, and its events."""

    def __init__(self, execution: Execution, lines: Sequence[str]) -> None:
        self.execution = execution
        self.lines = tuple(lines)
        self.events = events_of(execution)


@dataclass(frozen=True, slots=True)
class Joined:
    """Two copies as one: all lines of the first, and of the second what only that has.

    ``moved`` and ``held`` are the new numbers of the first's and of the second's lines; 0 of a line
    of the second that holds no event and stands nowhere. ``new`` are the numbers of the events that
    only the second has.
    """

    lines: tuple[str, ...]
    moved: tuple[int, ...]
    held: tuple[int, ...]
    new: tuple[int, ...]


def joined(known: Copy, other: Copy) -> Joined:
    """Return two copies of a session as one.

    What only ``other`` has stands before the line that follows it there; at its end, before what
    happened later. So a file that was cut and goes on, a fork, and a longer copy all add what is
    their own, in the order of their events. Where both have an event, the line with more in it
    stays, else the one that was written first: a copy may be stamped anew.
    """
    alike = known.execution.parent_id and other.events.wholes & known.events.wholes
    if alike and not _have_common(known, other):
        count = len(known.lines)
        same = tuple(min(number, count) for number in range(1, len(other.lines) + 1))
        return Joined(known.lines, tuple(range(1, count + 1)), same, ())
    places = _Alignment(known, other).places
    before = _own(known, other, places)
    lines: list[str] = []
    moved, held, new = [], [0] * len(other.lines), []
    at_known = {at: number for number, at in enumerate(places) if at is not None}
    for at in range(len(known.lines) + 1):
        for number in before.get(at, ()):
            lines.append(other.lines[number])
            held[number] = len(lines)
            if number + 1 in other.events.by_line:
                new.append(len(lines))
        if at < len(known.lines):
            lines.append(_fuller(known, at, other, at_known.get(at)))
            moved.append(len(lines))
            if at in at_known:
                held[at_known[at]] = len(lines)
    return Joined(tuple(lines), tuple(moved), tuple(held), tuple(new))


def _have_common(known: Copy, other: Copy) -> bool:
    """Whether the two have an event in common, rather than being alike as a whole."""
    ours = set().union(*known.events.by_line.values())
    return not ours.isdisjoint(set().union(*other.events.by_line.values()))


class _Alignment:
    """Finds for each line of a copy the line of the known one that holds the same.

    ``places`` has positions in the known copy, from 0, ``None`` for what is in the other only.
    Lines without an identity are the same where their text is, apart from the session's id. A
    replay stamps what it copies anew: there times don't matter, up to the first event of its own.
    """

    def __init__(self, known: Copy, other: Copy) -> None:
        self._known, self._other = known, other
        ours, theirs = known.execution, other.execution
        is_replay = bool(theirs.forked_from) and theirs.forked_from == ours.session_id
        is_replay |= bool(ours.forked_from) and ours.forked_from in {
            theirs.session_id,
            theirs.forked_from,
        }
        self._used: set[int] = set()
        self.places: list[int | None] = [self._same_event(n) for n in range(len(other.lines))]
        common = [n for n, at in enumerate(self.places) if at is not None]
        is_replay = is_replay or any(self._is_stamped_anew(number) for number in common)
        places = {timeless: self._texts(timeless) for timeless in {False, is_replay}}
        reached = -1
        for number, line in enumerate(other.lines):
            at = self.places[number]
            if at is None:
                text = _plain(line, other.execution.session_id, is_replay)
                at = self.places[number] = self._next(places[is_replay].get(text, ()), reached)
                is_own = at is None and number + 1 in other.events.by_line
                is_replay = is_replay and not (is_own and number > max(common, default=-1))
            reached = reached if at is None else max(reached, at)

    def _is_stamped_anew(self, number: int) -> bool:
        place = self.places[number]
        times = self._known.events.times, self._other.events.times
        return place is not None and times[0].get(place + 1) != times[1].get(number + 1)

    def _same_event(self, number: int) -> int | None:
        found = [
            at
            for key in self._other.events.by_line.get(number + 1, ())
            for at in self._where.get(key, ())
            if at not in self._used
        ]
        if not found:
            return None
        self._used.add(min(found))
        return min(found)

    @cached_property
    def _where(self) -> dict[int, list[int]]:
        where: dict[int, list[int]] = defaultdict(list)
        for line, keys in self._known.events.by_line.items():
            for key in keys:
                where[key].append(line - 1)
        return where

    def _texts(self, timeless: bool) -> dict[str, list[int]]:
        texts: dict[str, list[int]] = defaultdict(list)
        for at, line in enumerate(self._known.lines):
            texts[_plain(line, self._known.execution.session_id, timeless)].append(at)
        return texts

    def _next(self, places: Sequence[int], reached: int) -> int | None:
        """The first of these places after ``reached`` that is free."""
        for at in places[bisect.bisect_right(places, reached) :]:
            if at not in self._used:
                self._used.add(at)
                return at
        return None


def _plain(line: str, session_id: str, timeless: bool) -> str:
    text = _SESSION.sub("", line.replace(f'"{session_id}"', '""'))
    return _TIMESTAMP.sub("", text) if timeless else text


def _runs(places: Sequence[int | None]) -> Iterator[tuple[int, list[int]]]:
    """The runs of lines without a place: the first number of each, and all of them."""
    run: list[int] = []
    for number, at in enumerate([*places, 0]):
        if at is None:
            run.append(number)
        elif run:
            yield run[0], run
            run = []


def _unerased(
    run: list[int], lines: Sequence[str], previous: int, following: int | None
) -> list[int]:
    """The run without lines that stand in the known copy erased."""
    gap = lines[previous + 1 : following]
    is_erased = len(gap) > 0 and all(line == ERASED_LINE for line in gap)
    return run[len(gap) :] if is_erased else run


def _own(known: Copy, other: Copy, places: Sequence[int | None]) -> dict[int, list[int]]:
    """The lines that only ``other`` has, by the position in ``known`` before which they belong."""
    before: dict[int, list[int]] = defaultdict(list)
    for first, run in _runs(places):
        following = next((at for at in places[first + len(run) :] if at is not None), None)
        previous = next((at for at in reversed(places[:first]) if at is not None), -1)
        run = _unerased(run, known.lines, previous, following)
        if following is None:
            for number, place in _by_time(known, other, run, previous):
                before[place].append(number)
        elif any(number + 1 in other.events.by_line for number in run):
            before[following] += run
    return before


def _by_time(
    known: Copy, other: Copy, run: Sequence[int], previous: int
) -> Iterator[tuple[int, int]]:
    """Each line that ends a copy with its place: after all that didn't happen later."""
    times, moments = other.events.times, sorted((at, n) for n, at in known.events.times.items())
    lines, reached = sorted(known.events.times), list(accumulate((n for _, n in moments), max))
    at = next((times[number + 1] for number in run if number + 1 in times), None)
    for number in run:
        at = times.get(number + 1, at)
        place = len(known.lines)
        if at is not None:
            earlier = bisect.bisect_right(moments, (at, place))
            last = max(previous + 1, reached[earlier - 1] if earlier else 0)
            following = bisect.bisect_right(lines, last)
            place = lines[following] - 1 if following < len(lines) else place
        yield number, place


def _fuller(known: Copy, at: int, other: Copy, number: int | None) -> str:
    if number is None or known.lines[at] == ERASED_LINE:
        return known.lines[at]
    present, more = (
        copy.events.by_line.get(line + 1, set()) for copy, line in ((known, at), (other, number))
    )
    is_first = "" < _stamp(other.lines[number]) < _stamp(known.lines[at])
    return other.lines[number] if present < more or (is_first and more) else known.lines[at]


def _stamp(line: str) -> str:
    found = _TIMESTAMP.search(line)
    return found[0] if found else ""
