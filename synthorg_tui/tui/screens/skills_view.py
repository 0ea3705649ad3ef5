"""The Skills pane as far as it only looks: the shelf, a source, and what is known of it."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.jobs import start
from synthorg_tui.tui.panes import Panes, Recount
from synthorg_tui.tui.ports import MemoryDesk
from synthorg_tui.tui.screens.list_pane import ListPane
from synthorg_tui.tui.skills_ports import Skill, SkillRow, SkillsDesk
from synthorg_tui.tui.view_models import skills_lines as drawn
from synthorg_tui.tui.view_models.clockwork import counted
from synthorg_tui.tui.view_models.ink import Line, line
from synthorg_tui.tui.view_models.skills import Skills
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.inked import LineView
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

SHOWN = ("source", "known", "changes")
"""What the detail may show; with room, what is known stands below the source all the time."""


class SkillsView(ListPane):
    """Lists skills by root and shows the one under the cursor; the desk comes once it is open."""

    CSS_PATH = "skills.tcss"

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__(panes=panes, now=now)
        self.port: SkillsDesk | None = None
        self.skills = Skills()
        self.shown = SHOWN[0]
        self.places: list[int] = []
        self._loaded: dict[str, Skill] = {}
        self._sought = ""

    def compose(self) -> ComposeResult:
        """Header, shelf above or beside the skill, footer."""
        yield TopBar(self.panes, "Skills")
        with Horizontal(id="skills-body"):
            with Vertical(id="shelf-side"):
                yield from self.filter_entry("words  -words, in name, description and state")
                shelf = FixedList(id="shelf")
                shelf.border_title = "Skills"
                yield shelf
            with Vertical(id="skill-side"):
                yield LineView(id="source")
                known = LineView(id="known")
                known.border_title = "Known"
                yield known
        yield KeyBar("skills", "app")

    @property
    def listed(self) -> FixedList:
        """The list of skills."""
        return self.query_one("#shelf", FixedList)

    @property
    def row(self) -> SkillRow | None:
        """The skill under the cursor."""
        value = self.listed.value
        return self.skills.row(value) if isinstance(value, str) else None

    @property
    def skill(self) -> Skill | None:
        """The skill under the cursor in full, once it is read."""
        row = self.row
        return self._loaded.get(row.path) if row else None

    @property
    def main_list(self) -> LineList:
        """The shelf."""
        return self.listed

    # Loading

    def attach(self, desk: MemoryDesk) -> None:
        """The engine is open: read the roots."""
        self.desk, self.port = desk, desk.skills
        self._error = None
        self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._error = error
        self.skills.shelf = None
        self.draw()

    def reload(self, *, sync: bool = True) -> None:
        """Read the roots again; what changed there is put up for review."""
        if self.port is None:
            return
        self.await_rows()
        start(self, partial(self.load, self.port, sync=sync), group="shelf")

    async def load(self, port: SkillsDesk, *, sync: bool) -> None:
        """Read the roots; the cursor stays on its skill where it can."""
        generation = self.skills.ask()
        try:
            if sync:
                await port.sync()
            shelf = await port.shelf()
        except DomainError as error:
            if generation == self.skills.generation:
                self.tell_error(error)
            return
        if self.skills.take(generation, shelf):
            self._loaded.clear()
            self._error = None
            self.draw()
            self.post_message(Recount())

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        narrow = self.narrow
        self.query_one("#skills-body").styles.layout = "vertical" if narrow else "horizontal"
        zoomed = self.has_class("-zoomed")
        self.query_one("#shelf-side").display = not zoomed
        self.query_one("#skill-side").display = bool(self.skills.groups)
        self.set_class(not self.skills.groups, "-bare")
        only = narrow or zoomed
        self.query_one("#source").display = not only or self.shown != "known"
        self.query_one("#known").display = not only or self.shown == "known"
        self.listed.placeholder = self._placeholder()
        self.listed.border_subtitle = self.skills.caption
        self._draw_list()
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self.draw_skill()

    def _draw_list(self) -> None:
        shelf, path = self.listed, self._sought_path() or self.listed.value
        shelf.show(lambda width: drawn.shelf_lines(self.skills, width))
        found = [at for at in range(shelf.row_count) if path and shelf.value_at(at) == path]
        shelf.move_to(found[0] if found else shelf.cursor)

    def show_skill(self, name: str) -> None:
        """Put the cursor on a skill, once the roots are read."""
        self._sought = name
        if self.is_mounted:
            self.query_one("#query", Input).value = ""
        self.reload(sync=False)

    def _sought_path(self) -> str | None:
        """The skill to go to; our own, which agents read, rather than one of the same name."""
        if not self._sought or self.skills.shelf is None:
            return None
        found = [row for row in self.skills.shelf.rows if row.name == self._sought]
        self._sought = ""
        found.sort(key=lambda row: row.state in ("shadowed", "gone", "retired"))
        return found[0].path if found else None

    def _status(self) -> str:
        if self.port is None:
            return "not open" if self._error else "opening the store …"
        return counted(len(self.skills.shelf.rows), "skill") if self.skills.shelf else ""

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return drawn.shelf_error(self._error.message, self._error.remedy)
        if self.port is None or self.skills.shelf is None:
            return [line(("Reading the skills …", "muted"))] if self._slow else []
        return drawn.empty_shelf(self.skills)

    @on(LineList.Moved, "#shelf")
    def _follow_cursor(self) -> None:
        self.skills.change = 0
        self.draw_skill()

    def draw_skill(self, *, top: bool = True) -> None:
        """Draw the skill under the cursor; it is read once the cursor rests."""
        row, skill = self.row, self.skill
        source, known = self.query_one("#source", LineView), self.query_one("#known", LineView)
        source.border_title = "Source"
        source.border_subtitle = ""
        if row is not None and skill is None:
            self.later(self._read)
        if skill is None:
            source.show([])
            known.show([])
            return
        if self.shown == "changes":
            lines, source.border_subtitle = drawn.change_lines(skill, self.skills.change)
            source.border_title = "Changes"
        else:
            lines, self.places = drawn.source_lines(skill)
            problems = len(skill.row.problems)
            source.border_subtitle = f"{counted(problems, 'problem')} · n next" if problems else ""
        source.show(lines, top=top)
        known.border_subtitle = "p transcript" if skill.taught_by else ""
        known.show(drawn.known_lines(skill, self.now()), top=top)

    def _read(self) -> None:
        row, port = self.row, self.port
        if row is None or port is None or row.path in self._loaded:
            return

        async def read() -> None:
            self._loaded[row.path] = await port.skill(row.path)
            self.draw_skill()

        start(self, read, group="skill")

    # Filter

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.skills.filter_text = event.value
        self.draw()

    def action_back(self) -> None:
        """Close the zoom, the changes, the entry, then the filter."""
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif self.shown != SHOWN[0]:
            self.shown = SHOWN[0]
        elif entering or self.focused is self.listed:
            self.query_one("#query", Input).value = ""
        self.draw()
        self.listed.focus()
