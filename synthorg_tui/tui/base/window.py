"""State shared by the lists of all panes: the newest request, loaded rows, and marked rows.

It is tested without a screen: no Textual here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from synthorg_tui.memory.listing import ListedMemory

if TYPE_CHECKING:
    from synthorg_tui.organisation.models import OrgEntry

Row = TypeVar("Row", "ListedMemory", "OrgEntry")
"""What a list has a row for."""

WINDOW = 300
"""Maximum number of rows in memory."""

MARGIN = 60
"""Rows loaded above and below the visible ones, so that scrolling need not wait."""


class Latest:
    """Numbers requests, so that only the answer to the newest one is used.

    A pane makes a new request at each key press, and answers come in any order. ``ask`` returns the
    number of the request; ``answer`` says whether it is still the newest.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.answered = 0

    @property
    def waiting(self) -> bool:
        """Whether the newest request is still unanswered."""
        return self.answered != self.generation

    def ask(self) -> int:
        """Begin a new request and return its number; answers to older ones will be ignored."""
        self.generation += 1
        return self.generation

    def answer(self, generation: int) -> bool:
        """Mark the request as answered; return ``False`` if a newer one was made meanwhile."""
        if generation != self.generation:
            return False
        self.answered = generation
        return True


@dataclass(frozen=True, slots=True)
class ListWindow(Generic[Row]):
    """The loaded part of a listing: its rows from ``offset`` on, and the ``total`` of all rows."""

    rows: tuple[Row, ...] = ()
    offset: int = 0
    total: int = 0

    def get(self, index: int) -> Row | None:
        """Return the row at a position of the whole listing, or ``None`` if it isn't loaded."""
        at = index - self.offset
        return self.rows[at] if 0 <= at < len(self.rows) else None

    def index_of(self, row_id: str | None) -> int | None:
        """Return a loaded row's position in the whole listing, or ``None`` if it isn't loaded."""
        for at, row in enumerate(self.rows):
            if row.id == row_id:
                return self.offset + at
        return None

    def wanted(self, first: int, last: int) -> int | None:
        """Return the offset from which to load rows for showing rows ``first`` to ``last``.

        Returns ``None`` if enough is loaded: at least half of ``MARGIN`` rows beyond the visible
        ones.
        """
        near = MARGIN // 2
        low, high = max(first - near, 0), min(last + near, self.total - 1)
        if self.total == 0 or (low >= self.offset and high < self.offset + len(self.rows)):
            return None
        middle = (first + last) // 2
        return max(min(middle - WINDOW // 2, self.total - WINDOW), 0)


class RowWindow(ListWindow[ListedMemory]):
    """The loaded part of a listing of memories."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Marks:
    """The marked rows. Actions affect those of them that the filter shows."""

    rows: dict[str, ListedMemory] = field(default_factory=dict)

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def toggled(self, row: ListedMemory) -> Marks:
        """Return these marks with the row marked, or unmarked if it was marked."""
        rows = dict(self.rows)
        if rows.pop(row.id, None) is None:
            rows[row.id] = row
        return replace(self, rows=rows)

    def including(self, rows: Iterable[ListedMemory]) -> Marks:
        """Return these marks with the rows added."""
        return replace(self, rows={**self.rows, **{row.id: row for row in rows}})

    def without(self, memory_ids: Iterable[str]) -> Marks:
        """Return these marks without the memories of these ids."""
        gone = set(memory_ids)
        return replace(self, rows={key: row for key, row in self.rows.items() if key not in gone})

    def in_view(self, shown: Callable[[ListedMemory], bool]) -> tuple[ListedMemory, ...]:
        """Return the marked rows for which ``shown`` is true: those that are listed now."""
        return tuple(row for row in self.rows.values() if shown(row))
