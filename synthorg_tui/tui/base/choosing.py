"""The dialog in which a person chooses one of a few things.

It is apart from the other dialogs, since the lists that it needs know memories.
"""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

MAX_ROWS = 16
"""Lines of the list that are in view at once."""


class ChoiceDialog(ModalScreen[object]):
    """A dialog with a list, of which the value of the chosen line is returned; ``None`` for none.

    ``make`` returns the (value, line) pairs for a width; ``hint`` names the keys. The cursor begins
    at the value ``chosen``; ``empty`` is said where the list has no line.
    """

    BINDINGS = bindings("choose")

    def __init__(
        self,
        title: str,
        hint: str,
        make: Callable[[int], list[tuple[object, Line]]],
        *,
        chosen: object = None,
        empty: str = "Nothing of it is there any more.",
    ) -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._make = make
        self._chosen = chosen
        self._empty = empty

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = self._title
            box.border_subtitle = self._hint
            yield FixedList(id="choice")

    def on_mount(self) -> None:
        choice = self.query_one("#choice", FixedList)
        choice.placeholder = [line((self._empty, "muted"))]
        choice.show(self._make)
        choice.styles.height = min(max(choice.row_count, 1), MAX_ROWS)
        values = [choice.value_at(at) for at in range(choice.row_count)]
        if self._chosen is not None and self._chosen in values:
            choice.move_to(values.index(self._chosen))
        choice.focus()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Close the dialog with what is under the cursor."""
        event.stop()
        self.dismiss(self.query_one("#choice", FixedList).value)

    def action_close(self) -> None:
        """Close the dialog and choose nothing."""
        self.dismiss(None)
