"""The Skills pane as far as it only looks: the shelf, a source, and what is known of it.

The Skills pane: what can be done with the skills on disk.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.editor import EditorError, edit_file
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.panes import Panes, Recount
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.skills import lines as drawn
from synthorg_tui.tui.skills.lines import skill_line
from synthorg_tui.tui.skills.ports import Skill, SkillRow, SkillsDesk
from synthorg_tui.tui.skills.state import Skills
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineView
from synthorg_tui.tui.widgets.rows import FixedList

SHOWN = ("source", "known", "changes")
"""What the detail may show; with room, what is known stands below the source all the time."""


class SkillsView(Pane):
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

    def attach(self, desk: MemoryPort) -> None:
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
        run_job(self, partial(self.load, self.port, sync=sync), group="shelf")

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

        run_job(self, read, group="skill")

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


class SkillsScreen(SkillsView):
    """Edits, checks, accepts, restores, retires and compares skills."""

    BINDINGS = bindings("skills")
    HELP_CONTEXTS = ("skills", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self._monotonic = monotonic
        self._problem = -1
        self._taught = -1

    def _chosen(self) -> tuple[SkillRow, SkillsDesk] | None:
        row, port = self.row, self.port
        if row is None or port is None:
            toast(self, "There is no skill under the cursor", severity="warning")
            return None
        return row, port

    def _do(self, act: Callable[[], Awaitable[str]]) -> None:
        """Run a change; tell what it did, then read the roots again."""

        async def run() -> None:
            toast(self, await act())
            self.reload()

        run_job(self, run, group="change", newest_only=False)

    # The file

    def action_edit(self) -> None:
        """Edit the file in $EDITOR; what changed is put up for review."""
        found = self._chosen()
        if found is not None and found[0].state in ("gone", "retired"):
            toast(self, f"{found[0].name} has no file; w writes ours back", severity="warning")
        elif found is not None:
            try:
                edit_file(self.app, Path(found[0].path))
            except EditorError as error:
                toast(self, str(error), severity="error")
            self.reload()

    def action_check(self) -> None:
        """Read the file again and go to its first problem."""
        found = self._chosen()
        if found is None:
            return
        row, port = found

        async def check() -> None:
            await self.load(port, sync=True)
            now = self.skills.row(row.path)
            count = len(now.problems) if now else 0
            if now is None:
                toast(self, f"{row.name} is gone from disk", severity="warning")
            elif count:
                toast(
                    self, f"{row.name} has {counted(count, 'problem')}: n goes from one to the next"
                )
            else:
                toast(self, f"{row.name} is valid")

        run_job(self, check, group="shelf")

    def action_problem(self) -> None:
        """Go to the next problem of the source."""
        view = self.query_one("#source", LineView)
        if self.shown != "source":
            self.shown = SHOWN[0]
            self.draw()
        if self.places:
            self._problem = (self._problem + 1) % len(self.places)
            view.reveal(self.places[self._problem])
        else:
            toast(self, "No problem was found in it")

    # Disk and memory

    def action_accept(self) -> None:
        """Review what changed on disk; approving takes it over into memory."""
        found = self._chosen()
        if found is None:
            return
        row, port = found
        if row.waiting:
            self._review(row.waiting)
        elif row.state == "found":
            run_job(self, partial(self._offer, port, row), group="change", newest_only=False)
        else:
            agree = row.state not in ("changed", "new", "gone")
            why = "disk and memory agree" if agree else "what is on disk was decided before"
            toast(self, f"Nothing about {row.name} waits: {why}")

    async def _offer(self, port: SkillsDesk, row: SkillRow) -> None:
        """Nobody was asked about what was here before us: ask now."""
        if item_id := await port.offer(row.path):
            self._review(item_id)
        else:
            toast(self, f"Nothing about {row.name} waits any more")
            self.reload()

    def _review(self, item_id: str) -> None:
        from synthorg_tui.tui.approvals.review import ReviewOpener, ReviewScreen

        if self.desk is None:
            return
        opener = ReviewOpener(self.panes, self.now, self._monotonic, pane="Skills")
        self.app.push_screen(ReviewScreen(self.desk, [item_id], opener))

    def action_restore(self) -> None:
        """Write our version back over the one on disk, after asking."""
        row = self.row
        if row is not None and row.state == "valid":
            toast(self, f"Nothing to write back: {row.name} is on disk as we know it")
            return
        self._ask(
            "Write our version back?",
            "Write",
            "What is on disk now is kept in the history. u undoes.",
            lambda port, row: port.restore(row.path),
        )

    def action_retire(self) -> None:
        """Take the skill out of use, file and memory, after asking."""
        self._ask(
            "Retire this skill?",
            "Retire",
            "Agents are no longer given it. u brings it back.",
            lambda port, row: port.retire(row.path),
        )

    def _ask(
        self,
        question: str,
        yes: str,
        note: str,
        act: Callable[[SkillsDesk, SkillRow], Awaitable[str]],
    ) -> None:
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        found = self._chosen()
        if found is None:
            return
        row, port = found
        self.app.push_screen(
            ConfirmDialog(question, [skill_line(row, 60)], yes=yes, note=note),
            lambda sure: self._do(partial(act, port, row)) if sure else None,
        )

    def action_undo(self) -> None:
        """Take back the last decision."""
        if port := self.port:

            async def undo() -> str:
                return await port.undo() or "There is no decision to take back"

            self._do(undo)

    def action_source(self) -> None:
        """Show the transcript lines that taught it."""
        from synthorg_tui.tui.memories.source import SourceScreen

        skill, desk = self.skill, self.desk
        if skill is None or desk is None or not skill.taught_by:
            toast(self, "No transcript stands behind this skill", severity="warning")
            return
        self._taught = (self._taught + 1) % len(skill.taught_by)
        self.app.push_screen(SourceScreen(desk, skill.taught_by[self._taught].lines))

    # Looks

    def action_changes(self) -> None:
        """Show what the last version changed, or the source again."""
        self.shown = SHOWN[0] if self.shown == "changes" else "changes"
        self.draw()

    def action_older(self) -> None:
        """The change before."""
        self._compare(1)

    def action_newer(self) -> None:
        """The change after."""
        self._compare(-1)

    def _compare(self, by: int) -> None:
        if self.skill is not None:
            self.shown = "changes"
            self.skills.turn_change(self.skill, by)
            self.draw()

    def action_view(self) -> None:
        """Source, what is known, changes: the next of them."""
        self.shown = SHOWN[(SHOWN.index(self.shown) + 1) % len(SHOWN)]
        self.draw()

    @on(LineList.Chosen, "#shelf")
    def action_zoom(self) -> None:
        """Give the skill the whole room, and back."""
        if self.row is not None:
            self.toggle_class("-zoomed")
            self.draw()
            shown = "#known" if self.shown == "known" else "#source"
            (self.query_one(shown) if self.has_class("-zoomed") else self.listed).focus()

    def action_reload(self) -> None:
        """Read the roots again, or try to open the store again."""
        if self.port is None:
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()
