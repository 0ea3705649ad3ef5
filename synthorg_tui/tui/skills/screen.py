"""The Skills pane: the skills on disk and in memory, and what can be done with them.

The screen reads, asks and passes on. What is listed and compared belongs to ``state``, how it looks
to ``lines``; one skill in full is drawn by ``widgets``.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.editor import EditorError, edit_file
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, error_lines, line
from synthorg_tui.tui.base.pane import Pane, to_memory
from synthorg_tui.tui.jobs import Recount, copy, run_job, toast
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.skills import lines as drawn
from synthorg_tui.tui.skills.adapter import EngineSkills
from synthorg_tui.tui.skills.evaluating import EvaluationLook
from synthorg_tui.tui.skills.state import WITHOUT_FILE, Part, Skills
from synthorg_tui.tui.skills.widgets import SkillView
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow


class SkillsScreen(Pane):
    """Lists skills by root; edits, checks, accepts, restores, retires and compares them."""

    BINDINGS = bindings("skills")
    CSS_PATH = "skills.tcss"
    HELP_CONTEXTS = ("skills", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self.skills = Skills()
        self._monotonic = monotonic
        self._loaded: dict[str, SkillDetail] = {}
        self._helps = EvaluationLook(self, self.draw_skill, now, "skills.evaluate")

    def compose(self) -> ComposeResult:
        """Header, the list above or beside the skill, footer."""
        yield TopBar(self.panes, "Skills")
        with Horizontal(id="skills-body"):
            with Vertical(id="list-side"):
                yield from self.filter_entry("words  -words, in name, description and state")
                listed = FixedList(id="skill-list")
                listed.border_title = "Skills"
                yield listed
            yield SkillView(now=self.now, id="skill-side")
        yield KeyBar("skills", "app")

    @property
    def listed(self) -> FixedList:
        """The list of skills."""
        return self.query_one("#skill-list", FixedList)

    @property
    def main_list(self) -> LineList:
        """The list of skills."""
        return self.listed

    @property
    def view(self) -> SkillView:
        """The skill under the cursor as it is drawn."""
        return self.query_one(SkillView)

    @property
    def row(self) -> "SkillOverviewRow | None":
        """The skill under the cursor."""
        return self.skills.row(self.listed.value)

    @property
    def skill(self) -> "SkillDetail | None":
        """The skill under the cursor in full, once it is read."""
        row = self.row
        return self._loaded.get(row.path) if row else None

    # Loading

    @property
    def port(self) -> EngineSkills | None:
        """The skills on disk, once the store is open."""
        return self.desk.skills if self.desk is not None else None

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self.skills.overview = None
        super().tell_error(error)

    def reload(self, *, sync: bool = True) -> None:
        """Read the roots again; what changed there is put up for review."""
        if self.port is None:
            return
        self.await_rows()
        run_job(self, partial(self.load, self.port, sync=sync), group="overview")

    async def load(self, port: EngineSkills, *, sync: bool) -> None:
        """Read the roots; the cursor stays on its skill where it can."""
        generation = self.skills.latest.ask()
        try:
            if sync:
                await port.sync()
            overview = await port.overview()
        except DomainError as error:
            if self.skills.latest.answer(generation):
                self.tell_error(error)
            return
        if self.skills.take(generation, overview):
            self._loaded.clear()
            self._error = None
            self.draw()
            self.post_message(Recount())
            run_job(self, partial(self._count, port), group="effects")

    async def _count(self, port: EngineSkills) -> None:
        """Count what came of the skills, which may take a while, and draw the one shown anew."""
        self.skills.effects = await port.effects()
        self.draw_skill()

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        zoomed, is_bare = self.has_class("-zoomed"), not self.skills.groups
        body = self.query_one("#skills-body")
        body.styles.layout = "vertical" if self.narrow else "horizontal"
        self.query_one("#list-side").display = not zoomed
        self.view.display = not is_bare
        self.set_class(is_bare, "-bare")
        self.view.lay_out(self.skills.shown, only_one=self.narrow or zoomed)
        self.listed.placeholder = self._placeholder()
        self.listed.border_subtitle = self.skills.caption
        self._draw_list()
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self.draw_skill()

    def _draw_list(self) -> None:
        listed, path = self.listed, self.skills.sought_path() or self.listed.value
        listed.show(lambda width: drawn.group_lines(self.skills, width))
        paths = [listed.value_at(at) for at in range(listed.row_count)]
        listed.move_to(paths.index(path) if path and path in paths else listed.cursor)

    def show_skill(self, name: str) -> None:
        """Put the cursor on a skill, once the roots are read."""
        self.skills.sought = name
        if self.is_mounted:
            self.query_one("#query", Input).value = ""
        self.reload(sync=False)

    def _status(self) -> str:
        if self.port is None:
            return self.opening_status
        return counted(len(self.skills.rows), "skill") if self.skills.overview else ""

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return self.copyable(error_lines("The skills can't be shown", self._error))
        if self.port is None or self.skills.overview is None:
            return [line(("Reading the skills …", "muted"))] if self._slow else []
        return drawn.empty_lines(self.skills)

    @on(LineList.Moved, "#skill-list")
    def _follow_cursor(self) -> None:
        self.skills.change = 0
        self.draw_skill()

    def draw_skill(self) -> None:
        """Draw the skill under the cursor; it is read once the cursor rests."""
        if self.row is not None and self.skill is None:
            self.later(self._read)
        self.view.show(self.skill, self.skills, self._helps.lines(self.listed.value))

    def _read(self) -> None:
        row, port = self.row, self.port
        if row is None or port is None or row.path in self._loaded:
            return

        async def read() -> None:
            self._loaded[row.path] = await port.skill(row.path)
            self._helps.look(row.path, port.evaluation)
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
        elif self.skills.shown is not Part.SOURCE:
            self.skills.shown = Part.SOURCE
        elif entering or self.focused is self.listed:
            self.query_one("#query", Input).value = ""
        self.draw()
        self.listed.focus()

    # What the acts share

    def _chosen(self) -> "tuple[SkillOverviewRow, EngineSkills] | None":
        row, port = self.row, self.port
        if row is None or port is None:
            toast(self, "There is no skill under the cursor", severity="warning")
            return None
        return row, port

    # The file

    def action_edit(self) -> None:
        """Edit the file in $EDITOR; what changed is put up for review."""
        chosen = self._chosen()
        if chosen is None:
            return
        row, _ = chosen
        if row.state in WITHOUT_FILE:
            writes = f"{key_of('skills.restore')} writes ours back"
            toast(self, f"{row.name} has no file; {writes}", severity="warning")
            return
        try:
            edit_file(self.app, Path(row.path))
        except EditorError as error:
            toast(self, str(error), severity="error")
        self.reload()

    def action_check(self) -> None:
        """Read the file again and go to its first problem."""
        chosen = self._chosen()
        if chosen is None:
            return
        row, port = chosen

        async def check() -> None:
            await self.load(port, sync=True)
            checked = self.skills.row(row.path)
            message = drawn.check_message(row.name, checked)
            toast(self, message, severity="information" if checked else "warning")

        run_job(self, check, group="overview")

    def action_problem(self, by: int = 1) -> None:
        """Go to the next problem of the source, or one before."""
        if self.skills.shown is not Part.SOURCE:
            self.skills.shown = Part.SOURCE
            self.draw()
        if not self.lacks_row("skill") and not self.view.next_problem(by):
            toast(self, "No problem was found in it")

    def action_previous_problem(self) -> None:
        """Go to the problem before."""
        self.action_problem(-1)

    # Disk and memory

    def action_accept(self) -> None:
        """Review what changed on disk; approving brings it into memory."""
        chosen = self._chosen()
        if chosen is None:
            return
        row, port = chosen
        if row.waiting:
            self._review(row.waiting)
        elif row.comes_up_on_request:
            run_job(self, partial(self._offer, port, row), group="change", newest_only=False)
        else:
            toast(self, drawn.nothing_waits(row))

    async def _offer(self, port: EngineSkills, row: "SkillOverviewRow") -> None:
        """Ask about what was here before us or is shipped; nobody was asked until now."""
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
        if row is not None and row.state is SkillState.VALID:
            toast(self, f"Nothing to write back: {row.name} is on disk as we know it")
            return
        self._ask(
            "Write our version back?",
            "Write",
            f"What is on disk now stays in the history. {key_of('skills.undo')} undoes.",
            lambda port, row: port.restore(row.path),
        )

    def action_retire(self) -> None:
        """Take the skill out of use, file and memory, after asking."""
        self._ask(
            "Retire this skill?",
            "Retire",
            f"Agents are no longer given it. {key_of('skills.undo')} brings it back.",
            lambda port, row: port.retire(row.path),
        )

    def _ask(
        self,
        question: str,
        yes: str,
        note: str,
        act: "Callable[[EngineSkills, SkillOverviewRow], Awaitable[str]]",
    ) -> None:
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        chosen = self._chosen()
        if chosen is None:
            return
        row, port = chosen
        self.app.push_screen(
            ConfirmDialog(question, [drawn.skill_line(row, 60)], yes=yes, note=note),
            lambda sure: self.run_change(partial(act, port, row)) if sure else None,
        )

    def action_undo(self) -> None:
        """Take back the last decision."""
        if port := self.port:

            async def undo() -> str:
                return await port.undo() or "There is no decision to take back"

            self.run_change(undo)

    def action_source(self) -> None:
        """Show the transcript lines that taught it."""
        from synthorg_tui.tui.sessions.transcript import open_transcript

        evidence = self.view.next_evidence(self.skill)
        if evidence is None or self.desk is None:
            toast(self, "No transcript stands behind this skill", severity="warning")
        else:
            open_transcript(self, self.desk.sessions, evidence.lines, self.now)

    def action_memory(self) -> None:
        """Open the skill's memory in the Memories pane."""
        chosen, skill = self._chosen(), self.skill
        if chosen is None:
            return
        _, port = chosen
        ids = skill.memory_ids if skill is not None else ()

        async def show() -> None:
            row = await port.memory(ids[0]) if ids else None
            if row is None:
                toast(self, "No memory stands behind this skill", severity="warning")
            else:
                to_memory(self.app, row)

        run_job(self, show, group="memory")

    def action_evaluate(self) -> None:
        """Look again whether the skill helps."""
        if chosen := self._chosen():
            self._helps.look(chosen[0].path, chosen[1].evaluation, anew=True)

    def copy_chosen(self) -> None:
        """Copy the skill's file, as it is on disk, to the clipboard."""
        if self._chosen() is None:
            return
        if self.skill is None or not self.skill.text:
            toast(self, "There is no text to copy", severity="warning")
            return
        copy(self, self.skill.text)
        size = counted(len(self.skill.text.encode("utf-8", "replace")), "byte")
        toast(self, f"Sent {size} to the terminal's clipboard: the file as it is on disk")

    # Looks

    def action_sort(self) -> None:
        """Order the skills of each root by name, by use, or by state."""
        toast(self, f"Skills by {self.skills.next_sort()}")
        self.draw()

    def action_changes(self) -> None:
        """Show what the last version changed, or the source again."""
        if self.lacks_row("skill"):
            return
        comparing = self.skills.shown is Part.CHANGES
        self.skills.shown = Part.SOURCE if comparing else Part.CHANGES
        self.draw()

    def action_older(self) -> None:
        """The change before."""
        self._compare(1)

    def action_newer(self) -> None:
        """The change after."""
        self._compare(-1)

    def _compare(self, by: int) -> None:
        if not self.lacks_row("skill") and self.skill is not None:
            self.skills.turn_change(self.skill, by)
            self.draw()

    def action_view(self) -> None:
        """Source, what is known, changes: the next of them."""
        if self.lacks_row("skill"):
            return
        only_one = self.narrow or self.has_class("-zoomed")
        self.skills.shown = self.skills.shown.following(only_one=only_one)
        self.draw()

    @on(LineList.Chosen, "#skill-list")
    def action_zoom(self) -> None:
        """Give the skill the whole room, and back."""
        if self.lacks_row("skill"):
            return
        self.toggle_class("-zoomed")
        self.draw()
        if self.has_class("-zoomed"):
            self.view.focus_part(self.skills.shown)
        else:
            self.listed.focus()
