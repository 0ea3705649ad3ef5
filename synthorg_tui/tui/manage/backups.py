"""The backups screen: which there are, making one, and going back to one."""

from functools import partial
from typing import TYPE_CHECKING, cast

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.dialogs import PromptDialog
from synthorg_tui.tui.base.formatting import moment
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.lines import backup_line
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.persistence.backups import Backup

_WORD = "restore"
_NONE = (
    line(("No backups yet", "title")),
    Line(),
    line(("a", "accent"), (" makes one now; the app makes one each day", "muted")),
)


class BackupsScreen(ManageScreen):
    """Lists the backups. Restoring one closes the store, replaces it, and opens it again."""

    BINDINGS = bindings("backups")
    CONTEXT = "backups"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "What a restore does"
    CHOICES = "Backups"

    async def load(self) -> None:
        backups = await self.management.backups()
        self.choices.placeholder = list(_NONE)
        self.choices.show(
            lambda _width: [(each, backup_line(each, self.now())) for each in backups]
        )
        self._explain()

    def _explain(self) -> None:
        text = (
            " puts the backup under the cursor in place of the store. It is read whole first. "
            "The present database is set aside beside it, not deleted. Agents and commands must "
            "have left."
        )
        self.say([line(("enter", "accent"), (text, "text"))])

    def action_create(self) -> None:
        """Back up the store now."""
        self.begin("Backing up", self._create)

    async def _create(self) -> None:
        path = await self.management.back_up(progress=self.told, cancel=self.cancel)
        await self.load()
        self.say([line(("✓ ", "good"), (f"Backed up to {path}", "text"))])

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Ask about the backup under the cursor."""
        event.stop()
        self.action_restore()

    def action_restore(self) -> None:
        """Ask for the typed word, then restore the backup under the cursor."""
        backup = cast("Backup | None", self.choices.value)
        if backup is None:
            toast(self, "There is no backup to restore", severity="warning")
        elif not self.doing:
            run_job(self, partial(self._ask, backup), group="ask", failed=self.fail)

    async def _ask(self, backup: "Backup") -> None:
        self.management.require_alone()
        when = moment(backup.made_at, self.now())
        question = f"Replace the store by {one_line(backup.path.name)}?"
        hint = f"made {when} · type {_WORD}, or esc leaves"
        self.app.push_screen(PromptDialog(question, "", hint=hint), partial(self._answered, backup))

    def _answered(self, backup: "Backup", answer: str | None) -> None:
        if answer == _WORD:
            self.begin("Restoring", partial(self._restore, backup))
        elif answer is not None:
            toast(self, f"Nothing was changed: that wasn't {_WORD!r}", severity="warning")

    async def _restore(self, backup: "Backup") -> None:
        try:
            path = await self.management.restore(
                backup.path, progress=self.told, cancel=self.cancel
            )
        finally:
            await self.app.run_action("reopen")
        await self.load()
        self.say([line(("✓ ", "good"), (f"Restored {path}", "text"))])
