"""What lists need to stay honest: the newest answer only, a window, marks on rows in view.

Shared by the states of all panes, which are tested without a screen: no Textual here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from synthorg_tui.memory.listing import ListedMemory

WINDOW = 300
"""Most rows held at a time."""

MARGIN = 60
"""Rows kept loaded beyond what is on screen, so that scrolling finds them there."""


class Latest:
    """Numbers the questions of a state, so that it takes the answer to the newest one only.

    A pane asks anew with each key, and answers come in any order. ``ask`` gives the number that
    the answer is then taken with.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.answered = 0

    @property
    def waiting(self) -> bool:
        """Whether the newest question has no answer yet."""
        return self.answered != self.generation

    def ask(self) -> int:
        """Ask a new question: answers to older ones are dropped."""
        self.generation += 1
        return self.generation

    def answer(self, generation: int) -> bool:
        """Count a question as answered; ``False`` when a newer one was asked meanwhile."""
        if generation != self.generation:
            return False
        self.answered = generation
        return True


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Rows from ``offset`` on, of ``total`` in the listing."""

    rows: tuple[ListedMemory, ...] = ()
    offset: int = 0
    total: int = 0

    def get(self, index: int) -> ListedMemory | None:
        """The row at a position of the listing, when it is loaded."""
        at = index - self.offset
        return self.rows[at] if 0 <= at < len(self.rows) else None

    def index_of(self, memory_id: str | None) -> int | None:
        """Where in the listing a loaded row is."""
        for at, row in enumerate(self.rows):
            if row.id == memory_id:
                return self.offset + at
        return None

    def wanted(self, first: int, last: int) -> int | None:
        """The offset to load for showing rows ``first`` to ``last``; ``None`` when they are there.

        Loads early: as soon as fewer than half of ``MARGIN`` rows lie beyond the view.
        """
        near = MARGIN // 2
        low, high = max(first - near, 0), min(last + near, self.total - 1)
        if self.total == 0 or (low >= self.offset and high < self.offset + len(self.rows)):
            return None
        middle = (first + last) // 2
        return max(min(middle - WINDOW // 2, self.total - WINDOW), 0)

    @property
    def caption(self) -> str:
        """Honest totals: ``12``, or ``300 of 12,345``."""
        if len(self.rows) < self.total:
            return f"{self.offset + 1:,}–{self.offset + len(self.rows):,} of {self.total:,}"
        return f"{self.total:,}"


@dataclass(frozen=True, slots=True)
class Marks:
    """Marked rows. Those the filter hides stay marked and are never acted on."""

    rows: dict[str, ListedMemory] = field(default_factory=dict)

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def toggled(self, row: ListedMemory) -> Marks:
        """With the row marked, or not when it was."""
        rows = dict(self.rows)
        if rows.pop(row.id, None) is None:
            rows[row.id] = row
        return replace(self, rows=rows)

    def including(self, rows: Iterable[ListedMemory]) -> Marks:
        """With the rows marked too."""
        return replace(self, rows={**self.rows, **{row.id: row for row in rows}})

    def without(self, memory_ids: Iterable[str]) -> Marks:
        """With these no longer marked."""
        gone = set(memory_ids)
        return replace(self, rows={key: row for key, row in self.rows.items() if key not in gone})

    def in_view(self, shown: Callable[[ListedMemory], bool]) -> tuple[ListedMemory, ...]:
        """The marked rows that the present view lists."""
        return tuple(row for row in self.rows.values() if shown(row))
