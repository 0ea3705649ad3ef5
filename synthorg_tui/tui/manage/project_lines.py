"""Lines of the project screens: a row for each project, its page, and one line of it in full."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import (
    Line,
    bar,
    beside,
    fact,
    facts,
    keys_line,
    line,
    one_line,
    rule,
)

if TYPE_CHECKING:
    from synthorg_tui.knowledge.pages import PageLine, ProjectPage

_LABEL: Final = 11
_fact = partial(fact, cells=_LABEL)
_NAME_CELLS: Final = 18
_BAR_CELLS: Final = 5
_SHORT_ID: Final = 8
_WORDS: Final = ((0.75, "sure"), (0.5, "likely"), (0.3, "perhaps"), (0.0, "hardly known"))
NO_PROJECTS: Final = (
    line(("No projects yet", "title")),
    Line(),
    line(("They come from the sessions of your coding agents.", "text")),
    keys_line(("esc", "then i in Memories imports sessions")),
)


def certainty_words(certainty: float) -> str:
    """Return how certain a line is, in a word."""
    return next(word for least, word in _WORDS if certainty >= least)


def project_line(page: "ProjectPage", width: int, now: datetime) -> Line:
    """One project: its name, how many lines are known, and when it was worked on last."""
    name = one_line(page.name)[:_NAME_CELLS]
    role = "title" if not page.project else "strong"
    left = line(("★ " if not page.project else "  ", "accent"), (f"{name:<{_NAME_CELLS}} ", role))
    known = counted(len(page.lines), "line") if page.lines else "nothing certain yet"
    left.add(known, "text" if page.lines else "faint")
    last = "all projects" if not page.project else ago(page.last, now) if page.last else ""
    return beside(left, line((last, "muted")), width)


def head_lines(page: "ProjectPage", now: datetime) -> list[Line]:
    """What a page says of itself: its folder, and from what it is known."""
    lines = [line((one_line(page.name), "title"))]
    if not page.project:
        return [*lines, line(("What you said of how to work, in all projects", "muted")), Line()]
    last = f", the last {moment(page.last, now)}" if page.last else ""
    known = f"Known from {counted(page.sessions, 'session')}{last}"
    return [
        *lines,
        line((one_line(short_path(page.project)), "muted")),
        line((known, "muted")),
        Line(),
    ]


def page_text(page: "ProjectPage", now: datetime) -> list[Line]:
    """The whole page as a text: its head, and each line under its section."""
    none = line(("Nothing certain enough to be told yet.", "text"))
    return [
        *head_lines(page, now),
        *([] if page.lines else [none]),
        *(
            row
            for title, shown in page.sections
            for row in (rule(title), *map(_told_line, shown), Line())
        ),
    ]


def _told_line(shown: "PageLine") -> Line:
    row = line(("• ", "faint"), (one_line(shown.text), "text"), hang=2)
    return row.add(f"  {one_line(shown.line.counts)}", "muted").add(_mark(shown), "accent")


def listed_lines(page: "ProjectPage", width: int) -> list[tuple[object, Line]]:
    """The lines of a page under their sections, a row each, with its counter and certainty."""
    rows: list[tuple[object, Line]] = []
    for title, shown in page.sections:
        rows.append((None, line((title, "title"))))
        rows += [(each, _listed(each, width)) for each in shown]
    return rows


def _listed(shown: "PageLine", width: int) -> Line:
    left = line((" ", "text"), (one_line(shown.text), "text"), (_mark(shown), "accent"))
    right = line((f"{_counter(shown)} ", "muted")).extend(bar(shown.line.certainty, _BAR_CELLS))
    return beside(left, right, width)


def _mark(shown: "PageLine") -> str:
    return "  edited by you" if shown.edited else ""


def _counter(shown: "PageLine") -> str:
    known = shown.line
    return f"{known.good:,} of {known.good + known.bad:,}" if known.bad else f"{known.good:,}×"


def known_lines(shown: "PageLine", now: datetime) -> list[Line]:
    """One line in full: its counters, how certain it is, when it was seen last, and where."""
    known = shown.line
    certain = _fact("certainty", "").extend(bar(known.certainty, 10))
    certain.add(f" {certainty_words(known.certainty)}, {known.certainty:.2f}", "text")
    edited = "yours: what sessions show from now on doesn't change it" if shown.edited else ""
    ends = line(("enter", "accent"), (" shows these lines in their session", "muted"))
    return [
        line((one_line(shown.text), "strong")),
        Line(),
        _fact("seen", one_line(known.counts)),
        certain,
        *facts(
            ("last", moment(known.last, now) if known.last is not None else ""),
            ("wording", edited),
            cells=_LABEL,
        ),
        Line(),
        line(("Stands on", "title")),
        *(episode_line(ref) for ref in known.episodes),
        ends if known.episodes else line(("no lines of a session", "faint")),
    ]


def episode_line(ref: str) -> Line:
    """Where a line was seen: agent, session and lines."""
    session, _, place = one_line(ref).partition("#")
    reader, _, name = session.partition(":")
    first, _, last = place.replace("L", "").partition("-")
    lines = f"lines {first} to {last}" if last and last != first else f"line {first}"
    return line(
        (f"{reader.replace('_', '-')} ", "text"),
        (f"{name[:_SHORT_ID]}  ", "faint"),
        (lines, "text"),
    )
