"""Choosing one of the memories that a call names."""

from collections.abc import Callable, Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.ports import MemoryRow
from synthorg_tui.tui.view_models.rows import memory_line
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList


class MemoryDialog(ModalScreen[MemoryRow | None]):
    """The memories, a line each; gives the chosen one."""

    BINDINGS = bindings("choose")

    def __init__(self, rows: Sequence[MemoryRow], *, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._rows = rows
        self._now = now

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(classes="dialog") as box:
            box.border_title = "Which memory"
            box.border_subtitle = "↵ chooses · esc leaves"
            yield FixedList(id="named")

    def on_mount(self) -> None:
        """As many lines as memories, up to what fits."""
        rows, now = self.query_one("#named", FixedList), self._now()
        rows.styles.height = min(len(self._rows), 16)
        rows.show(
            lambda width: [
                (row, memory_line(row, width, now=now, marked=False)) for row in self._rows
            ]
        )
        rows.focus()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """The memory under the cursor."""
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, MemoryRow):
            self.dismiss(value)

    def action_close(self) -> None:
        """None of them."""
        self.dismiss(None)
