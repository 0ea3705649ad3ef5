"""The Sessions pane as lines: the list by day, and what is known of one session.

Pure functions of the stored sessions; no Textual.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import ExecutionOutcome
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.projects import project_name
from synthorg_tui.tui.base.formatting import counted, duration, moment, size
from synthorg_tui.tui.base.lines import (
    Line,
    beside,
    fact,
    facts,
    keys_line,
    line,
    one_line,
    section,
)

if TYPE_CHECKING:
    from datetime import datetime

    from synthorg_tui.executions.sessions import StoredSession
    from synthorg_tui.tui.sessions.adapter import MadeOfSession
    from synthorg_tui.tui.sessions.state import SessionRow, Sessions

OUTCOMES: Final[dict[ExecutionOutcome, tuple[str, str, str]]] = {
    ExecutionOutcome.COMPLETED: ("✓", "completed", "good"),
    ExecutionOutcome.FAILED: ("✗", "failed", "bad"),
    ExecutionOutcome.INTERRUPTED: ("⊘", "interrupted", "warn"),
    ExecutionOutcome.UNKNOWN: ("·", "how it ended isn't recorded", "muted"),
}
"""Glyph, words and role of each outcome: the colour is never the only sign."""

_LABEL: Final = 10
_fact = partial(fact, cells=_LABEL)
_MOST_OF_A_NAME: Final = 14
_ROOMY: Final = 60
"""Cells of a list below which a row has neither duration nor size: they are in the detail."""


def session_line(row: SessionRow, width: int, *, unfolded: bool) -> Line:
    """A session on one line: how it ended, its title, where that changes whose it is, its size."""
    session = row.session
    glyph, _, role = OUTCOMES[session.outcome]
    left = line(("   ↳ " if row.part else " ", "faint"), (f"{glyph} ", role))
    left.add(one_line(session.title), "text")
    if row.parts:
        left.add(f" {'▾' if unfolded else '▸'}{row.parts:,}", "accent")
    right = Line()
    for name, name_role in ((row.project, "accent"), (row.agent, "muted")):
        if name:
            right.add(f"{_shortened(one_line(name))} ", name_role)
    return _cut_title(row, left, right.extend(_numbers(session, width)), width)


def _cut_title(row: SessionRow, left: Line, right: Line, width: int) -> Line:
    """The two parts of a row; of a title that is too long the count behind it still shows."""
    room = width - right.width - 1
    if row.parts and left.width > room:
        count = left.spans.pop()
        left = left.fit(max(room - len(count[0]), 1))
        left.spans.append(count)
    return beside(left, right, width)


def _numbers(session: StoredSession, width: int) -> Line:
    """How long it took, calls, failed calls, and size, each below the one above."""
    numbers = Line()
    if width >= _ROOMY:
        numbers.add(f"{_span(session):>5}", "muted")
    numbers.add(f" {session.calls:>4,}" if session.calls else "     ", "muted")
    failed = f"{session.failures:,}✗" if session.failures else ""
    numbers.add(f" {failed:>4}", "bad")
    if width >= _ROOMY:
        numbers.add(f" {size(session.size):>8}", "muted")
    return numbers


def _shortened(name: str) -> str:
    return name if len(name) <= _MOST_OF_A_NAME else name[: _MOST_OF_A_NAME - 1] + "…"


def _seconds(session: StoredSession) -> float | None:
    if session.started_at is None or session.ended_at is None:
        return None
    return (session.ended_at - session.started_at).total_seconds()


def _span(session: StoredSession) -> str:
    """How long it took, in at most five characters: ``45s``, ``12m``, ``3h20``, ``4d``."""
    seconds = _seconds(session)
    if seconds is None:
        return ""
    minutes = int(seconds) // 60
    if minutes < 1:
        return f"{max(int(seconds), 0)}s"
    if minutes < 60:
        return f"{minutes}m"
    return f"{minutes // 60}h{minutes % 60:02}" if minutes < 48 * 60 else f"{minutes // 1440}d"


def session_lines(
    session: StoredSession, made: MadeOfSession | None, *, parts: int, now: datetime
) -> list[Line]:
    """What is known of a session; ``made`` is ``None`` until it is read what was made of it."""
    glyph, words, role = OUTCOMES[session.outcome]
    head = [line((one_line(session.title), "strong")), line((f"{glyph} {words}", role)), Line()]
    lines = [*head, *_facts(session, parts, now)]
    if made is None:
        return [*lines, *section("Made of it", [line(("…", "faint"))])]
    none = line(("nothing: no memory, lesson or skill", "muted"))
    told = [line((one_line(each), "text")) for each in made.told]
    resume = [line((one_line(made.resume_problem), "muted"))]
    if made.resume:
        command = line((one_line(made.resume), "accent"))
        resume = [command, line(("y copies the command", "faint"))]
    return [*lines, *section("Made of it", told or [none]), *section("Resume", resume)]


def _facts(session: StoredSession, parts: int, now: datetime) -> list[Line]:
    seconds = _seconds(session)
    calls = counted(session.calls, "call")
    failed = f", {session.failures:,} failed" if session.failures else ""
    known = [
        ("agent", one_line(session.agent_id), "text"),
        ("project", one_line(short_path(session.project or "")), "text"),
        ("started", moment(session.started_at, now) if session.started_at else "", "text"),
        ("took", duration(seconds) if seconds is not None else "", "text"),
        ("did", calls + failed, "text"),
        ("files", f"{counted(session.files, 'file')} changed" if session.files else "", "text"),
        ("model", one_line(session.model or ""), "text"),
        ("subagents", f"{parts:,}, space lists them" if parts else "", "text"),
        ("branch of" if session.branch_of else "part of", one_line(session.above or ""), "text"),
        ("stored", f"{counted(session.lines, 'line')}, {size(session.size)}", "text"),
        ("read from", one_line(short_path(session.path)), "muted"),
        ("id", one_line(session.id), "muted"),
    ]
    return facts(*known, cells=_LABEL)


def deleted_line(session: StoredSession, width: int) -> Line:
    """A session as the question names it that asks whether to delete it."""
    name = " · ".join(filter(None, (session.agent_id, project_name(session.project or ""))))
    return line((one_line(session.title), "text"), (f"  {one_line(name)}", "muted")).fit(width)


def empty_lines(sessions: Sessions) -> list[Line]:
    """Why nothing is listed, and the next step."""
    if sessions.held:
        return [
            line(("No session matches", "title")),
            Line(),
            line((f"{counted(len(sessions.held), 'session')} hidden by the filter.", "text")),
            keys_line(("esc", "clears it"), ("/", "changes it")),
        ]
    return [
        line(("No sessions yet", "title")),
        Line(),
        line(("What agents did is read from the transcripts that their programs write.", "text")),
        keys_line(("i", "imports those of this machine"), ("r", "looks again")),
    ]
