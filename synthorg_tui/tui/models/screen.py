"""The Models screen: embedders in a table, tried on recorded questions, and what that comes to.

It changes no setting: which embedder is in use is decided in the settings, by what is seen here.
"""

from functools import partial
from typing import TYPE_CHECKING, cast

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.dialogs import ConfirmDialog, PromptDialog
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.jobs import copy, error_toast, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.models import lines as drawn
from synthorg_tui.tui.models.adapter import ChosenModel, ModelDesk

if TYPE_CHECKING:
    from synthorg_tui.tui.widgets.line_list import LineList

_HINT = "gguf:path=FILE · reranker onnx:path=FILE · a LoCoMo file"


class ModelsScreen(ManageScreen):
    """Lists what is tried with its figures; the text is about the one under the cursor."""

    CSS_PATH = "models.tcss"
    BINDINGS = bindings("models")
    CONTEXT = "models"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "Figures"
    CHOICES = "Embedding models"

    _chosen: tuple[ChosenModel, ...] = ()
    _set = ""

    @property
    def desk(self) -> ModelDesk:
        """What is tried, and the latest report."""
        return self.management.models

    async def load(self) -> None:
        self._chosen = self.desk.chosen()
        report = self.desk.report
        names = [each.name for each in report.sets] if report is not None else []
        if self._set not in names:
            self._set = names[0] if names else ""
        self.choices.show(self._rows)
        self._show()

    def _rows(self, width: int) -> list[tuple[object, Line]]:
        return drawn.model_rows(self._chosen, self.desk.report, self._set, width)

    def _show(self) -> None:
        report = self.desk.report
        if report is None:
            self.say(drawn.untried_lines(self._chosen))
        else:
            self.say(drawn.report_lines(report, self._set, self._under_cursor()))
        self.refresh_bindings()

    def _under_cursor(self) -> ChosenModel | None:
        return cast("ChosenModel | None", self.choices.value)

    def on_line_list_moved(self) -> None:
        """Show the figures of what is under the cursor."""
        self._show()

    def on_line_list_chosen(self, event: "LineList.Chosen") -> None:
        """Go to the text."""
        event.stop()
        self.text.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what can be done now."""
        report = self.desk.report if self.is_attached else None
        if action == "copy":
            return report is not None
        if action == "view":
            return report is not None and len(report.sets) > 1
        return super().check_action(action, parameters)

    # Trying

    def action_run(self) -> None:
        """Try what is listed; asks before memories leave this machine."""
        try:
            hosts = self.desk.hosts()
        except DomainError as error:
            error_toast(self, error)
            return
        if not hosts or self.doing:
            self._begin()
            return
        listed = [line((host, "warn")) for host in hosts]
        dialog = ConfirmDialog(
            "Send memories to these machines?",
            listed,
            yes="Send",
            note="An embedder that runs elsewhere is given every text that is tried.",
        )
        self.app.push_screen(dialog, lambda yes: self._begin() if yes else None)

    def _begin(self) -> None:
        self.begin("Evaluating", self._run)

    async def _run(self) -> None:
        def told(done: int, total: int, what: str) -> None:
            self.post_message(self.Told(f"{done / max(1, total):.0%} {what}"))

        report = await self.desk.run(progress=told, cancel=self.cancel)
        if not report.is_complete:
            toast(self, "Stopped; what was tried is shown")
        await self.load()

    def action_add(self) -> None:
        """Ask for another embedder, a re-ranker, or a file of conversations."""
        dialog = PromptDialog(
            "Try which embedder, re-ranker or file?", "", hint=_HINT, save=self._add
        )
        self.app.push_screen(dialog, partial(self._added))

    async def _add(self, text: str) -> str:
        self.desk.add(text)
        return text

    def _added(self, answer: str | None) -> None:
        if answer is not None:
            self._chosen = self.desk.chosen()
            self.choices.remake()
            self._show()

    def action_delete(self) -> None:
        """Take what is under the cursor out of the list."""
        chosen = self._under_cursor()
        if chosen is None or not chosen.named:
            toast(self, "The active and the bundled one are always tried", severity="warning")
            return
        self.desk.remove(chosen)
        self._added("")

    def action_view(self) -> None:
        """Show the next set of questions."""
        report = self.desk.report
        if report is not None:
            names = [each.name for each in report.sets]
            self._set = names[(names.index(self._set) + 1) % len(names)]
            self.choices.remake()
            self._show()

    def action_copy(self) -> None:
        """Copy the tables as text."""
        if self.desk.report is not None:
            copy(self, drawn.plain_report(self.desk.report))
            toast(self, "Sent the tables to the terminal's clipboard")
