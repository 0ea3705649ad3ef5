"""The list of the Approvals pane: items under their headings, with marks."""

from collections.abc import Callable
from datetime import datetime
from itertools import groupby

from synthorg_tui.tui.approvals_ports import ApprovalRow
from synthorg_tui.tui.view_models.approvals import Inbox
from synthorg_tui.tui.view_models.approvals_lines import heading_line, row_line, row_lines
from synthorg_tui.tui.view_models.ink import Line
from synthorg_tui.tui.widgets.line_list import LineList


class ApprovalList(LineList):
    """What the inbox lists; with room, each item takes a second line."""

    def __init__(self, inbox: Inbox, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._inbox = inbox
        self._now = now
        self._rows: list[ApprovalRow | tuple[str, int]] = []

    def show(self, *, roomy: bool) -> None:
        """Show the rows of the inbox; the cursor stays on its item, or where that one was."""
        following = self.item.id if self.item else None
        self.row_height = 2 if roomy else 1
        self._rows = []
        for name, group in groupby(self._inbox.rows, key=self._inbox.group_of):
            listed = list(group)
            self._rows += [(name, len(listed))] if name else []
            self._rows += listed
        self.changed()
        found = [at for at, each in enumerate(self._rows) if _id(each) == following]
        self.move_to(found[0] if found else self.cursor)

    @property
    def row_count(self) -> int:
        """Items and headings."""
        return len(self._rows)

    @property
    def item(self) -> ApprovalRow | None:
        """The one under the cursor."""
        each = self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None
        return each if isinstance(each, ApprovalRow) else None

    def selectable(self, index: int) -> bool:
        """Headings are passed over."""
        return 0 <= index < len(self._rows) and isinstance(self._rows[index], ApprovalRow)

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The item, or the heading."""
        each = self._rows[index]
        if isinstance(each, tuple):
            return [Line(), heading_line(each[0], each[1], width)][-self.row_height :]
        draw = row_lines if self.row_height > 1 else _single
        return draw(
            each,
            width - 1,
            now=self._now(),
            marked=each.id in self._inbox.marked,
            seen=each.id in self._inbox.reviewed,
        )


def _single(row: ApprovalRow, width: int, *, now: datetime, marked: bool, seen: bool) -> list[Line]:
    return [row_line(row, width, now=now, marked=marked, seen=seen)]


def _id(each: object) -> str | None:
    return each.id if isinstance(each, ApprovalRow) else None
