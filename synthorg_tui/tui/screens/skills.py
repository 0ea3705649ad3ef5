"""The Skills pane: what can be done with the skills on disk."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from textual import on

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.editor import EditorError, edit_file
from synthorg_tui.tui.jobs import say, start
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.screens.skills_view import SHOWN, SkillsView
from synthorg_tui.tui.skills_ports import SkillRow, SkillsDesk
from synthorg_tui.tui.view_models.clockwork import counted
from synthorg_tui.tui.view_models.skills_lines import skill_line
from synthorg_tui.tui.widgets.inked import LineView
from synthorg_tui.tui.widgets.line_list import LineList


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
            say(self, "There is no skill under the cursor", severity="warning")
            return None
        return row, port

    def _do(self, act: Callable[[], Awaitable[str]]) -> None:
        """Run a change; tell what it did, then read the roots again."""

        async def run() -> None:
            say(self, await act())
            self.reload()

        start(self, run, group="change", newest_only=False)

    # The file

    def action_edit(self) -> None:
        """Edit the file in $EDITOR; what changed is put up for review."""
        found = self._chosen()
        if found is not None and found[0].state in ("gone", "retired"):
            say(self, f"{found[0].name} has no file; w writes ours back", severity="warning")
        elif found is not None:
            try:
                edit_file(self.app, Path(found[0].path))
            except EditorError as error:
                say(self, str(error), severity="error")
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
                say(self, f"{row.name} is gone from disk", severity="warning")
            elif count:
                say(
                    self, f"{row.name} has {counted(count, 'problem')}: n goes from one to the next"
                )
            else:
                say(self, f"{row.name} is valid")

        start(self, check, group="shelf")

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
            say(self, "No problem was found in it")

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
            start(self, partial(self._offer, port, row), group="change", newest_only=False)
        else:
            agree = row.state not in ("changed", "new", "gone")
            why = "disk and memory agree" if agree else "what is on disk was decided before"
            say(self, f"Nothing about {row.name} waits: {why}")

    async def _offer(self, port: SkillsDesk, row: SkillRow) -> None:
        """Nobody was asked about what was here before us: ask now."""
        if item_id := await port.offer(row.path):
            self._review(item_id)
        else:
            say(self, f"Nothing about {row.name} waits any more")
            self.reload()

    def _review(self, item_id: str) -> None:
        from synthorg_tui.tui.screens.approvals_review import ReviewScreen

        if self.desk is None:
            return
        self.app.push_screen(
            ReviewScreen(
                self.desk,
                [item_id],
                panes=self.panes,
                pane="Skills",
                now=self.now,
                monotonic=self._monotonic,
            )
        )

    def action_restore(self) -> None:
        """Write our version back over the one on disk, after asking."""
        row = self.row
        if row is not None and row.state == "valid":
            say(self, f"Nothing to write back: {row.name} is on disk as we know it")
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
        from synthorg_tui.tui.screens.dialogs import ConfirmDialog

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
        from synthorg_tui.tui.screens.source import SourceScreen

        skill, desk = self.skill, self.desk
        if skill is None or desk is None or not skill.taught_by:
            say(self, "No transcript stands behind this skill", severity="warning")
            return
        self._taught = (self._taught + 1) % len(skill.taught_by)
        self.app.push_screen(SourceScreen(desk, skill.taught_by[self._taught].source))

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
