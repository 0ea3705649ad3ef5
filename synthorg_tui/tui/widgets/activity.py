"""The log of calls."""

from collections.abc import Callable
from datetime import datetime

from synthorg_tui.tui.activity_ports import Call
from synthorg_tui.tui.view_models.activity import Activity
from synthorg_tui.tui.view_models.activity_lines import call_line, call_lines
from synthorg_tui.tui.view_models.ink import Line
from synthorg_tui.tui.widgets.line_list import LineList


class CallList(LineList):
    """Calls, newest first; at the top the cursor stays on the newest, else on its call."""

    def __init__(
        self, activity: Activity, *, now: Callable[[], datetime], id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._activity = activity
        self._now = now
        self._rows: tuple[Call, ...] = ()

    def show(self, *, roomy: bool) -> None:
        """Show what is listed now."""
        height = 2 if roomy else 1
        follow = self.call.number if self.call and self.cursor else None
        shown, top = self.is_cursor_in_view, self._at(self.visible_rows[0])
        was, same = self.visible_rows[0], height == self.row_height
        self.row_height = height
        self._rows = self._activity.rows
        self.changed()
        if (at := self._index(follow)) is not None:
            self.cursor = at
        if same and top is not None and (now := self._index(top.number)) is not None:
            self.shift(now - was)
        if shown:
            self.reveal()

    @property
    def row_count(self) -> int:
        """Calls listed."""
        return len(self._rows)

    @property
    def call(self) -> Call | None:
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

    def _at(self, index: int) -> Call | None:
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def _index(self, number: int | None) -> int | None:
        return next((at for at, each in enumerate(self._rows) if each.number == number), None)
