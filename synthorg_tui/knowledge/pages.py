"""Project pages: what is known of one project, as plain data and as Markdown.

A page is made of stored lines and of the memories that say them: what a person changed there is
shown as changed, what a person deleted isn't shown. Every text on it comes from transcripts and is
one line without control characters; Markdown that it may contain is made harmless.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from synthorg_tui.core.projects import UnknownProjectError, find_project, project_name
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.knowledge.lines import SECTIONS, KnownLine, day

PERSON_PAGE: Final = "you"
"""The name of the page of what holds in all projects."""
_SHOWN_EPISODES: Final = 3
_MARKUP: Final = re.compile(r"[<>]|(?<!\w)https?://|!\[|\]\(")


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line as it is shown: ``text`` is a person's where ``edited``; ``memory_id`` says it."""

    line: KnownLine
    text: str
    memory_id: str
    edited: bool = False


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """What is known of one project.

    ``project`` is its folder, empty for the page of what holds in all of them. ``last`` is the end
    of its last session.
    """

    name: str
    project: str
    sessions: int
    last: datetime | None
    lines: tuple[PageLine, ...]

    @property
    def sections(self) -> tuple[tuple[str, tuple[PageLine, ...]], ...]:
        """The lines by the title of their section, in order; no section is empty."""
        found = (
            (title, tuple(each for each in self.lines if each.line.section == section))
            for section, title in SECTIONS.items()
        )
        return tuple((title, lines) for title, lines in found if lines)

    def markdown(self) -> str:
        """Return the page as Markdown, ending with a newline."""
        parts = [f"# {_plain(self.name)}", "", *self._head()]
        for title, lines in self.sections:
            parts += ["", f"## {title}", "", *map(_bullet, lines)]
        return "\n".join(parts) + "\n"

    def _head(self) -> list[str]:
        if not self.project:
            return ["What you said of how to work, in several projects or as a rule for all."]
        last = f", the last on {day(self.last)}" if self.last else ""
        known = f"Known from {counted(self.sessions, 'session')}{last}."
        empty = "" if self.lines else " Nothing certain enough to be told yet."
        return [f"`{_code(self.project)}`", "", f"{known}{empty}"]


def find_page(pages: Sequence[ProjectPage], named: str) -> ProjectPage:
    """Return the page of a project, named as in ``find_project``, or that of the person.

    Raises ``UnknownProjectError``, which has the nearest names.
    """
    for page in pages:
        if named in (page.name, page.project):
            return page
    known = [page.project for page in pages if page.project]
    project = find_project(named, known, str(Path.cwd()))
    found = next((page for page in pages if page.project == project), None)
    if found is None:
        raise UnknownProjectError(named, known)
    return found


def page_name(project: str) -> str:
    """Return what the page of a project is called: the name of its repository."""
    return safe_text(project_name(project)) or safe_text(project) or PERSON_PAGE


def _bullet(shown: PageLine) -> str:
    line = shown.line
    episodes = ", ".join(f"`{_code(one)}`" for one in line.episodes[:_SHOWN_EPISODES])
    more = len(line.episodes) - _SHOWN_EPISODES
    seen = f"{episodes} and {more} more" if more > 0 else episodes
    marks = [line.counts, f"certainty {line.certainty:.2f}", *(["edited"] if shown.edited else [])]
    return f"- {_plain(shown.text)}\n  ({'; '.join(filter(None, marks))})\n  {seen}".rstrip()


def _plain(text: str) -> str:
    """A text in which Markdown shows no picture, no link and no HTML of somebody else's."""
    parts = " ".join(safe_text(text).split()).split("`")
    if len(parts) % 2 == 0:  # a lone mark opens nothing
        parts = ["'".join(parts)]
    return "`".join(
        part if place % 2 else _MARKUP.sub(_harmless, part) for place, part in enumerate(parts)
    )


def _harmless(found: re.Match[str]) -> str:
    """The mark with a backslash; a bare address with a blank in it, so that none is a link."""
    mark = found[0]
    return f"{mark[:-3]}: //" if mark.endswith("://") else "".join(f"\\{each}" for each in mark)


def _code(text: str) -> str:
    return " ".join(safe_text(text).replace("`", "'").split())
