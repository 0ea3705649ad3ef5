"""The state of the Sessions pane: which sessions are listed, in which order, and what is unfolded.

Pure functions of the stored sessions, tested without a screen: no Textual, and nothing of the
engine is loaded before there is something to show.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.projects import project_name
from synthorg_tui.tui.base.filters import Query, parse_row_filter, read_since
from synthorg_tui.tui.base.window import Latest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from synthorg_tui.executions.sessions import StoredSession

OUTCOMES: Final = tuple(outcome.value for outcome in ExecutionOutcome)
_SORTS: Final = ("newest", "size")
_TIMES: Final = ("since", "until")


class SessionRow(NamedTuple):
    """A session in the list, with the ``day`` it is listed under (``None``: unknown).

    ``part`` is a subagent's session under that of its parent, ``parts`` how many of those a session
    has. ``project`` and ``agent`` are empty where they are those of the session above.
    """

    session: StoredSession
    day: date | None = None
    part: bool = False
    parts: int = 0
    project: str = ""
    agent: str = ""


class Sessions:
    """The stored sessions, and the rows that filter, order and folding make of them."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.latest = Latest()
        self.loaded: tuple[StoredSession, ...] | None = None
        self.filter_text = ""
        self.sort = _SORTS[0]
        self.rows: tuple[SessionRow, ...] = ()
        self.listed = 0
        self._unfolded: set[str] = set()

    @property
    def held(self) -> tuple[StoredSession, ...]:
        """All sessions, listed or not."""
        return self.loaded or ()

    @property
    def own(self) -> int:
        """How many sessions there are, those of subagents counted with what started them."""
        return len(_roots(self.held))

    @property
    def filter(self) -> Query:
        """The parsed filter."""
        return parse_session_filter(self.filter_text, self._now())

    def take(self, generation: int, sessions: tuple[StoredSession, ...]) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        if not self.latest.answer(generation):
            return False
        self.loaded = sessions
        self.arrange()
        return True

    def next_sort(self) -> str:
        """Switch to the next order and return it."""
        self.sort = _SORTS[(_SORTS.index(self.sort) + 1) % len(_SORTS)]
        self.arrange()
        return self.sort

    def turn(self, session_id: str) -> bool:
        """Unfold the subagents of a session, or fold them; ``False`` when it has none."""
        if not any(row.session.id == session_id and row.parts for row in self.rows):
            return False
        self._unfolded ^= {session_id}
        self.arrange()
        return True

    def arrange(self) -> None:
        """Make the rows anew after sessions, filter, order or folding changed."""
        wanted = self.filter
        passed = [each for each in self.held if passes(each, wanted)]
        if self.sort == "size":
            passed.sort(key=lambda each: -each.size)
        self.listed = len(_roots(passed))
        self.rows = tuple(self._rows_of(passed))

    def _rows_of(self, passed: Sequence[StoredSession]) -> Iterator[SessionRow]:
        roots = _roots(passed)
        parts: defaultdict[str, list[StoredSession]] = defaultdict(list)
        for each in passed:
            if each.above is not None and each.id not in roots:
                parts[each.above].append(each)
        above: tuple[str, str] = ("", "")
        before: object = ()
        for each in passed:
            if each.id not in roots:
                continue
            day = self._day(each)
            if self.sort == "newest" and day != before:
                before = day
                above = ("", "")
            names = (project_name(each.project or ""), each.agent_id)
            project = names[0] if names[0] != above[0] else ""
            agent = names[1] if names[1] != above[1] else ""
            above = names
            below = list(_below(each.id, parts))
            yield SessionRow(each, day, parts=len(below), project=project, agent=agent)
            if each.id in self._unfolded:
                for part in below:
                    yield SessionRow(part, day, part=True)

    @property
    def days(self) -> Iterator[tuple[int, date | None]]:
        """The rows at which another day begins, with that day; none in the order by size."""
        before: object = ()
        for at, row in enumerate(self.rows if self.sort == "newest" else ()):
            if row.day != before:
                yield at, row.day
            before = row.day

    def _day(self, session: StoredSession) -> date | None:
        latest = session.latest
        return latest.astimezone(self._now().tzinfo).date() if latest else None

    def is_unfolded(self, session_id: str) -> bool:
        """Whether the subagents of a session are listed."""
        return session_id in self._unfolded

    def index_of(self, session_id: str | None) -> int | None:
        """Return the row of a session, if it is listed."""
        for at, row in enumerate(self.rows):
            if row.session.id == session_id:
                return at
        return None

    @property
    def caption(self) -> str:
        """How many sessions are listed, of how many, and their order; as the header counts."""
        if not self.held:
            return ""
        total = self.own
        count = f"{total:,}" if self.listed == total else f"{self.listed:,} of {total:,}"
        return f"{count} · {self.sort}"


def _roots(sessions: Sequence[StoredSession]) -> set[str]:
    """The ids of the sessions that aren't listed under one that started them."""
    ids = {each.id for each in sessions}
    return {each.id for each in sessions if each.above not in ids or each.above == each.id}


def _below(
    session_id: str, parts: defaultdict[str, list[StoredSession]]
) -> Iterator[StoredSession]:
    """The sessions that a session's agent started, and those that these started."""
    waiting, seen = [session_id], {session_id}
    while waiting:
        for part in sorted(parts[waiting.pop()], key=_started):
            if part.id not in seen:
                seen.add(part.id)
                waiting.append(part.id)
                yield part


def _started(session: StoredSession) -> tuple[bool, float]:
    moment = session.started_at or session.ended_at
    return moment is None, moment.timestamp() if moment else 0.0


def parse_session_filter(text: str, now: datetime) -> Query:
    """Parse a filter of sessions: words, ``agent: project: since: until: is:``.

    A time that can't be read is a problem, and restricts nothing.
    """
    query = parse_row_filter(text, "agent", "project", "since", "until", states=OUTCOMES)
    values, problems = [], list(query.problems)
    for name, value in query.values:
        moment = read_since(value, now) if name in _TIMES else None
        if name in _TIMES and moment is None:
            problems.append(f"{name}:{value} is no time; write 12h, 7d, 2w or 2026-01-31")
        else:
            values.append((name, moment.isoformat() if moment else value))
    return replace(query, values=tuple(values), problems=tuple(problems))


def passes(session: StoredSession, wanted: Query) -> bool:
    """Return whether a session is what the filter asks for.

    Of several values for one operator one must fit; words are looked for in title, id, agent,
    project and model.
    """
    asked: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in wanted.values:
        asked[name].append(value)
    if not all(_fits(session, name, values) for name, values in asked.items()):
        return False
    texts = (session.title, session.id, session.agent_id, session.project, session.model)
    return wanted.has_words(" ".join(filter(None, texts)).lower())


def _fits(session: StoredSession, name: str, values: Sequence[str]) -> bool:
    if name == "agent":
        return any(value in session.agent_id.lower() for value in values)
    if name == "project":
        named = f"{session.project or ''} {project_name(session.project or '')}".lower()
        return any(value in named for value in values)
    if name == "is":
        return session.outcome.value in values
    moments = [datetime.fromisoformat(value) for value in values]
    if session.latest is None:
        return False
    if name == "since":
        return all(session.latest >= moment for moment in moments)
    return all(session.latest < moment for moment in moments)
