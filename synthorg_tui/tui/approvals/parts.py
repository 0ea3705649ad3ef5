"""The screen for combining a lesson from its versions, field by field and step by step."""

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.approvals.review_lines import part_lines
from synthorg_tui.tui.approvals.wording import TITLES, Parts, Reworded, Wording
from synthorg_tui.tui.base.lines import text_lines
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.curation.review import InboxEntry


class PartsScreen(ModalScreen[Wording | None]):
    """The fields with the author of the version used, and the steps; the selected one in full.

    Returns the combined wording, or ``None``.
    """

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("parts")

    def __init__(self, entry: "InboxEntry", wording: Wording) -> None:
        super().__init__()
        self._entry = entry
        self.parts = Parts.of(entry, wording)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="parts-box") as box:
            box.border_title = "Choose parts"
            box.border_subtitle = "← → whose · ␣ keeps or drops · e rewords · ^s uses these"
            yield FixedList(id="parts")
            text = LineView(id="part")
            text.can_focus = False
            yield text

    def on_mount(self) -> None:
        self._list.focus()
        self._draw()

    @property
    def _list(self) -> FixedList:
        return self.query_one("#parts", FixedList)

    def _draw(self) -> None:
        parts = self._list
        parts.styles.height = min(len(part_lines(self.parts, 40)), 14)
        parts.show(lambda width: part_lines(self.parts, width))
        self._draw_part()

    @on(LineList.Moved, "#parts")
    def _draw_part(self) -> None:
        value, text = self._list.value, ""
        if isinstance(value, str):
            text = next(choice.text for choice in self.parts.choices if choice.name == value)
        elif isinstance(value, int):
            text = self.parts.steps[value][0]
        view = self.query_one("#part", LineView)
        view.border_title = TITLES[value] if isinstance(value, str) else "Step"
        view.show(text_lines(text))

    def _turn(self, by: int) -> None:
        value = self._list.value
        if isinstance(value, str):
            self.parts = self.parts.turned(value, by)
        elif isinstance(value, int):
            self.parts = self.parts.toggled(value)
        self._draw()

    def action_previous(self) -> None:
        """Use the previous version of the field's text."""
        self._turn(-1)

    def action_next(self) -> None:
        """Use the next version of the field's text, or include or leave out the step."""
        self._turn(1)

    def action_reword(self) -> None:
        """Write the field's text yourself, in a dialog."""
        from synthorg_tui.tui.approvals.dialogs import RewordForm

        def take(wording: Reworded | None) -> None:
            if isinstance(wording, Wording):
                self.parts = Parts.of(self._entry, wording)
                self._draw()

        self.app.push_screen(RewordForm(self.parts.wording), take)

    def action_save(self) -> None:
        """Return the combined wording."""
        self.dismiss(self.parts.wording)

    def action_close(self) -> None:
        """Close the screen and leave the wording as it was."""
        self.dismiss(None)
