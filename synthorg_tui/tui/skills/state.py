"""The state of the Skills pane: what is listed by root, and which texts of a skill are compared.

Pure functions of the engine's overview, tested without a screen: no Textual, and nothing of the
engine is loaded before there is something to show.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from synthorg_tui.core.enums import SkillState
from synthorg_tui.tui.base.window import Latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from synthorg_tui.curation.effects import LessonEffect
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow, SkillOverviewState

WITHOUT_FILE = (SkillState.GONE, SkillState.RETIRED)
"""States of a skill that is in memory, or was, and not on disk."""


SORTS = ("name", "use", "state")
"""The orders of the skills in a root; that by state puts first what asks for something."""
_URGENCY = tuple(SkillState(name) for name in ("invalid", "changed", "new", "gone", "warnings"))
_URGENCY += tuple(state for state in SkillState if state not in _URGENCY)


class Part(StrEnum):
    """What the pane shows of a skill; with room, what is known stands below the source too."""

    SOURCE = "source"
    KNOWN = "known"
    CHANGES = "changes"

    def following(self, *, only_one: bool) -> Part:
        """Return the next one; after the last comes the first.

        What is known is no view of its own where it stands below the source anyway.
        """
        parts = [part for part in Part if only_one or part is not Part.KNOWN]
        return parts[(parts.index(self) + 1) % len(parts)] if self in parts else parts[0]


class SkillGroup(NamedTuple):
    """A root with its skills that are listed; ``problem`` says why not all of it was read.

    ``scope`` is whose the root is, or former when it is no longer looked at.
    """

    path: str
    scope: str
    problem: str
    rows: tuple[SkillOverviewRow, ...]


class SkillText(NamedTuple):
    """A text that a skill has or had; ``title`` is how it came to be."""

    title: str
    text: str


class Skills:
    """The skills by root, those the filter lists, and which change of a skill is shown.

    ``sought`` is the name of a skill to go to once the roots are read. ``effects`` is what came of
    the active ones, by path; ``None`` until it is counted.
    """

    def __init__(self) -> None:
        self.overview: SkillOverviewState | None = None
        self.latest = Latest()
        self.filter_text = ""
        self.sort = SORTS[0]
        self.sought = ""
        self.shown = Part.SOURCE
        self.change = 0
        self.effects: dict[str, LessonEffect] | None = None

    def take(self, generation: int, overview: SkillOverviewState) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        is_newest = self.latest.answer(generation)
        if is_newest:
            self.overview = overview
        return is_newest

    @property
    def rows(self) -> tuple[SkillOverviewRow, ...]:
        """All skills, listed or not."""
        return self.overview.rows if self.overview else ()

    @property
    def groups(self) -> tuple[SkillGroup, ...]:
        """Each root with its skills that the filter lists, in order of ``sort``.

        One without any is there only if it wasn't read whole.
        """
        roots = self.overview.roots if self.overview else ()
        heads = {str(state.root.path): (state.root.scope.value, state.problem) for state in roots}
        for row in self.rows:
            heads.setdefault(row.root, ("former", ""))
        groups = []
        for path, (scope, problem) in heads.items():
            rows = self._ordered(row for row in self.rows if row.root == path and self.lists(row))
            if rows or problem:
                groups.append(SkillGroup(path, scope, problem, rows))
        return tuple(groups)

    def _ordered(self, rows: Iterable[SkillOverviewRow]) -> tuple[SkillOverviewRow, ...]:
        if self.sort == "use":
            return tuple(sorted(rows, key=lambda row: -row.applied))
        if self.sort == "state":
            return tuple(sorted(rows, key=lambda row: _URGENCY.index(row.state)))
        return tuple(rows)

    def next_sort(self) -> str:
        """Take the next order of the skills in a root, and return it."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        return self.sort

    def lists(self, row: SkillOverviewRow) -> bool:
        """Whether the filter lists the skill: all words in its name, description or state."""
        shown = {SkillState.FOUND: "not reviewed yet", SkillState.GONE: "missing on disk"}
        text = f"{row.name} {row.description} {row.state} {shown.get(row.state, '')}".lower()
        words = self.filter_text.lower().split()
        return all(
            word[1:] not in text if word.startswith("-") and len(word) > 1 else word in text
            for word in words
        )

    def row(self, path: object) -> SkillOverviewRow | None:
        """A skill by path."""
        return next((row for row in self.rows if row.path == path), None)

    def path_of(self, name: str) -> str | None:
        """The file of a skill: the one agents read rather than another of the same name."""
        unread = (SkillState.SHADOWED, *WITHOUT_FILE)
        named = sorted(
            (row for row in self.rows if row.name == name), key=lambda row: row.state in unread
        )
        return named[0].path if named else None

    def sought_path(self) -> str | None:
        """The file of the skill that is sought, once: then nothing is sought any more."""
        if not self.sought or self.overview is None:
            return None
        name, self.sought = self.sought, ""
        return self.path_of(name)

    @property
    def caption(self) -> str:
        """Honest totals, for the frame of the list."""
        total = len(self.rows)
        listed = sum(len(group.rows) for group in self.groups)
        if not total:
            return ""
        count = f"{total:,}" if listed == total else f"{listed:,} of {total:,}"
        return count if self.sort == SORTS[0] else f"{count} · {self.sort}"

    def turn_change(self, skill: SkillDetail, by: int) -> None:
        """Show the change before or after, where there is one."""
        last = max(len(texts(skill)) - 2, 0)
        self.shown = Part.CHANGES
        self.change = min(max(self.change + by, 0), last)


def texts(skill: SkillDetail) -> Sequence[SkillText]:
    """All texts of a skill, newest first: the one on disk comes first when it is another."""
    stored = [SkillText(version.title, version.text) for version in skill.versions]
    if skill.row.state is SkillState.GONE or not stored or stored[0].text == skill.text:
        return stored
    return [SkillText("on disk, not in memory", skill.text), *stored]
