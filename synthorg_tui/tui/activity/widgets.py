"""The lists of the Activity pane: the log of calls, and the memories that a call names."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.activity.lines import call_line, call_lines
from synthorg_tui.tui.activity.state import Activity
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.memories.lines import memory_line
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord


class CallList(LineList):
    """Calls, newest first; at the top the cursor stays on the newest, else on its call."""

    def __init__(
        self, activity: Activity, *, now: Callable[[], datetime], id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._activity = activity
        self._now = now
        self._rows: tuple[CallRecord, ...] = ()

    def show(self, *, roomy: bool) -> None:
        """Show what is listed now."""
        height = 2 if roomy else 1
        follow = self.call.number if self.call and self.cursor else None
        shown, first = self.is_cursor_in_view, self.visible_rows[0]
        top, is_same = self._at(first), height == self.row_height
        self.row_height = height
        self._rows = self._activity.rows
        self.changed()
        if (at := self._index(follow)) is not None:
            self.cursor = at
        if is_same and top is not None and (now := self._index(top.number)) is not None:
            self.shift(now - first)
        if shown:
            self.reveal()

    @property
    def row_count(self) -> int:
        """Calls listed."""
        return len(self._rows)

    @property
    def call(self) -> "CallRecord | None":
        """The one under the cursor."""
        return self._at(self.cursor)

    @property
    def newer(self) -> int:
        """How many calls are above the part in view."""
        return self.visible_rows[0] if self._rows else 0

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The call."""
        call = self._rows[index]
        if self.row_height == 1:
            return [call_line(call, width - 1, self._now())]
        return call_lines(call, width - 1, self._now())

    def _at(self, index: int) -> "CallRecord | None":
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def _index(self, number: int | None) -> int | None:
        return next((at for at, call in enumerate(self._rows) if call.number == number), None)


class MemoryDialog(ModalScreen[ListedMemory | None]):
    """The memories, a line each; gives the chosen one."""

    BINDINGS = bindings("choose")

    def __init__(self, rows: Sequence[ListedMemory], *, now: Callable[[], datetime]) -> None:
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
        if isinstance(value, ListedMemory):
            self.dismiss(value)

    def action_close(self) -> None:
        """None of them."""
        self.dismiss(None)
