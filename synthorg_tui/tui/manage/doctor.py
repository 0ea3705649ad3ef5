"""The doctor screen: what this process takes, and whether the store is whole."""

from functools import partial
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.lines import line
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.lines import facts_lines, failure_lines, report_lines

if TYPE_CHECKING:
    from synthorg_tui.tui.base.lines import Line


class DoctorScreen(ManageScreen):
    """Examines the store at once; ``f`` repairs what can be repaired, after asking."""

    BINDINGS = bindings("doctor")
    CONTEXT = "doctor"
    HELP_CONTEXTS = (CONTEXT, "view", "app")
    TITLE_OF_TEXT = "Doctor"

    async def load(self) -> None:
        self.say([*self._facts(), line(("Reading the whole store …", "muted"))])
        self.action_again()

    def _facts(self) -> "list[Line]":
        try:
            return facts_lines(self.management.facts())
        except DomainError:  # the store isn't open here, which the report says
            return []

    def fail(self, error: DomainError) -> None:
        """Show why the store couldn't be examined."""
        self.say([*self._facts(), *failure_lines(error)])

    def action_again(self) -> None:
        """Examine the store again."""
        self.begin("Reading", partial(self._examine, fix=False))

    def action_repair(self) -> None:
        """Repair what can be repaired, once the person agreed."""
        touched = [
            line(("the search index is brought up to the memories", "text")),
            line(("memories without a vector are embedded", "text")),
            line(("files that others can read are closed to them", "text")),
            line(("what was purged is written out of the files", "text")),
        ]
        repair = partial(self.begin, "Repairing", partial(self._examine, fix=True))
        dialog = ConfirmDialog("Repair what can be repaired?", touched, yes="Repair")
        self.app.push_screen(dialog, lambda yes: repair() if yes else None)

    async def _examine(self, *, fix: bool) -> None:
        report = await self.management.doctor(fix=fix, progress=self.told, cancel=self.cancel)
        self.say([*self._facts(), *report_lines(report, was_fixed=fix)])
