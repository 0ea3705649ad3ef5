"""Project pages: what is known of one project, as plain data and as Markdown.

A page is made of stored lines and of the memories that say them: what a person changed there is
shown as changed, what a person deleted isn't shown. Every text on it comes from transcripts and is
one line without control characters; Markdown that it may contain is made harmless.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import expand_home, repository_of
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.knowledge.lines import SECTIONS, KnownLine, day

PERSON_PAGE: Final = "you"
"""The name of the page of what holds in all projects."""
_SHOWN_EPISODES: Final = 3
_NEAR: Final = 0.5
_MARKUP: Final = re.compile(r"[<>]|(?<!\w)https?://|!\[|\]\(")


class UnknownProjectError(DomainError):
    """No project has this name; ``near`` are names that are like it."""

    def __init__(self, name: str, near: Sequence[str], *, same: bool = False) -> None:
        self.near = tuple(near)
        meant = ", ".join(near)
        problem = f"several projects are called {name}" if same else f"there is no project {name}"
        remedy = f"Did you mean {meant}?" if near else "`synthorg-tui projects list` names them."
        super().__init__(problem, remedy=remedy)


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


def find_page(pages: Sequence[ProjectPage], name: str) -> ProjectPage:
    """Return the page of this name, or of the project in this folder.

    Raises ``UnknownProjectError``, which tells names that are like it.
    """
    wanted = name.rstrip("/") or name
    place = repository_of(str(expand_home(name).resolve()))
    named = [page for page in pages if page.name == wanted or page.project in (name, place)]
    short = [page for page in pages if page.name.rpartition("/")[2] == wanted]
    found = named or short
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownProjectError(name, [page.name for page in found], same=True)
    names = {page.name.lower(): page.name for page in pages}
    near = difflib.get_close_matches(wanted.lower(), names, n=3, cutoff=_NEAR)
    raise UnknownProjectError(name, [names[each] for each in near])


def page_name(project: str) -> str:
    """Return what the page of a project is called: the name of its folder."""
    name = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return safe_text(name) or safe_text(project) or PERSON_PAGE


def unique_names(projects: Sequence[str]) -> dict[str, str]:
    """Return the name of each project's page; where folders share a name, with what is above."""
    names = {project: page_name(project) for project in projects}
    for longer in (_longer, lambda project, _: safe_text(project)):
        taken = list(names.values())
        names = {
            project: name if taken.count(name) == 1 else longer(project, name)
            for project, name in names.items()
        }
    return names


def _longer(project: str, name: str) -> str:
    above = project.replace("\\", "/").rstrip("/").split("/")[-2:-1]
    return "/".join([*map(safe_text, above), name]) if above and above[0] else name


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
