"""One skill in the Skills pane: its source or its changes, and what is known of it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.skills.lines import change_lines, known_lines, source_lines
from synthorg_tui.tui.skills.state import Part, Skills
from synthorg_tui.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from synthorg_tui.curation.models import Evidence
    from synthorg_tui.curation.overview import SkillDetail


class SkillView(Vertical):
    """Source or changes above what is known; where there is no room for both, one of them."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._places: list[int] = []
        self._problem = -1
        self._evidence = -1

    def compose(self) -> ComposeResult:
        """The text above, what is known below."""
        yield LineView(id="source")
        known = LineView(id="known")
        known.border_title = "About"
        yield known

    @property
    def source(self) -> LineView:
        """The text."""
        return self.query_one("#source", LineView)

    @property
    def known(self) -> LineView:
        """What is known."""
        return self.query_one("#known", LineView)

    def lay_out(self, part: Part, *, only_one: bool) -> None:
        """Show both, or ``only_one`` of them: the part."""
        self.source.display = not only_one or part is not Part.KNOWN
        self.known.display = not only_one or part is Part.KNOWN

    def show(self, skill: "SkillDetail | None", skills: Skills, helps: Sequence[Line] = ()) -> None:
        """Show a skill from its top, with ``helps`` of its effect; ``None`` until it is read."""
        source, known = self.source, self.known
        source.border_title, source.border_subtitle = "Source", ""
        if skill is None:
            source.show([])
            known.show([])
            return
        if skills.shown is Part.CHANGES:
            lines, source.border_subtitle = change_lines(skill, skills.change)
            source.border_title = "Changes"
        else:
            lines, self._places = source_lines(skill)
            problems = len(skill.row.findings)
            hint = f"{counted(problems, 'problem')} · {key_of('skills.problem')} next"
            source.border_subtitle = hint if problems else ""
        source.show(lines)
        known.border_subtitle = f"{key_of('skills.source')} transcript" if skill.evidence else ""
        known.show(known_lines(skill, self._now(), skills.effects, helps))

    def next_problem(self, by: int = 1) -> bool:
        """Scroll to the next problem of the source, or the one before with -1.

        Returns ``False`` when it has none.
        """
        if not self._places:
            return False
        start = self._problem if self._problem >= 0 or by > 0 else 0
        self._problem = (start + by) % len(self._places)
        self.source.reveal(self._places[self._problem])
        return True

    def next_evidence(self, skill: "SkillDetail | None") -> "Evidence | None":
        """What taught the skill, one occurrence after the other; ``None`` when nothing did."""
        if skill is None or not skill.evidence:
            return None
        self._evidence = (self._evidence + 1) % len(skill.evidence)
        return skill.evidence[self._evidence]

    def focus_part(self, part: Part) -> None:
        """Give the keys to the part that is shown."""
        (self.known if part is Part.KNOWN else self.source).focus()
