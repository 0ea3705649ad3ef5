"""A text wrapped to a width, where only what is in view has to be wrapped.

How many rows a line takes is known once it was measured; until then it counts as one row. A text of
a hundred thousand lines is so shown at once, and measured in portions that block nobody. It works
without widgets: the view decides what is measured when.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from synthorg_tui.tui.base.lines import Line, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_PIECE: Final = 2_000
"""Characters of a line that are wrapped together; what is longer continues on a new row."""
PORTION: Final = 24_000
"""Characters that are measured at once."""
_LEAST: Final = 20
"""Characters that a line counts as at least in a portion."""
_MAX_CACHED: Final = 1_000
_BREAK_WITHIN: Final = 200


class TextPlace(NamedTuple):
    """A row of a text: the number of its piece, and which row of that piece it is."""

    piece: int
    part: int


class WrappedText:
    """Lines wrapped to ``width`` cells; a width of 0 leaves each as one row.

    Lines longer than ``MAX_PIECE`` are divided into pieces. ``row_count`` is an estimate until all
    of them are measured. ``size`` is the number of characters.
    """

    def __init__(self, lines: Sequence[Line] = (), width: int = 0) -> None:
        self.width = width
        self.pieces: list[Line] = []
        self._firsts: list[int] = []
        self.size = 0
        for line in lines:
            self._firsts.append(len(self.pieces))
            size = _length(line)
            self.pieces.extend(pieces_of(line) if size > MAX_PIECE else (line,))
            self.size += size
        self._heights = [1] * len(self.pieces)
        self._known = bytearray(len(self.pieces))
        self._starts: list[int] | None = None
        self.next_unmeasured = 0  # the piece the next portion begins with
        self._rows: dict[int, list[Line]] = {}

    @property
    def row_count(self) -> int:
        """The number of rows, as far as it is known."""
        return self.starts[-1]

    @property
    def is_measured(self) -> bool:
        """Whether every piece is measured."""
        return self.next_unmeasured >= len(self.pieces)

    @property
    def starts(self) -> list[int]:
        """The first row of each piece, and after the last piece the number of rows."""
        if self._starts is None:
            self._starts = list(accumulate(self._heights, initial=0))
        return self._starts

    def place(self, row: int) -> TextPlace:
        """Return where a row is; one after the end is in the last piece."""
        piece = min(bisect_right(self.starts, row) - 1, max(len(self.pieces) - 1, 0))
        return TextPlace(piece, max(row - self.starts[piece], 0))

    def row_of(self, place: TextPlace) -> int:
        """Return the present row of a place, which moves as pieces before it are measured."""
        if not self.pieces:
            return 0
        return self.starts[place.piece] + min(place.part, self._heights[place.piece] - 1)

    def first_piece(self, index: int) -> int:
        """Return the number of the first piece of a line, which is given by its index."""
        return self._firsts[index]

    def line_of(self, piece: int) -> int:
        """Return the index of the line that a piece belongs to."""
        return max(bisect_right(self._firsts, piece) - 1, 0)

    def rows(self, piece: int) -> list[Line]:
        """Return the rows of a piece."""
        if piece not in self._rows:
            if len(self._rows) >= _MAX_CACHED:
                self._rows.clear()
            self._rows[piece] = self._wrapped(piece)
        return self._rows[piece]

    def row(self, row: int) -> Line | None:
        """Return a row, or ``None`` after the end."""
        if not 0 <= row < self.row_count:
            return None
        piece, part = self.place(row)
        rows = self.rows(piece)
        return rows[part] if part < len(rows) else None

    def measure_around(self, piece: int, rows: int) -> bool:
        """Measure so many rows before a piece, and twice as many from it on.

        Returns whether the number of rows changed.
        """
        changed = False
        forth = range(max(piece, 0), len(self.pieces))
        back = range(min(piece, len(self.pieces)) - 1, -1, -1)
        for pieces, wanted in ((forth, 2 * rows), (back, rows)):
            for each in pieces:
                if wanted <= 0:
                    break
                changed |= self._measure(each)
                wanted -= self._heights[each]
        return changed

    def measure_portion(self) -> bool:
        """Measure the next pieces, about ``PORTION`` characters; return what ``measure`` does."""
        piece, left, changed = self.next_unmeasured, PORTION, False
        while piece < len(self.pieces) and left > 0:
            left -= max(_length(self.pieces[piece]), _LEAST)
            changed |= self._measure(piece)
            piece += 1
        self.next_unmeasured = piece
        return changed

    def _measure(self, piece: int) -> bool:
        if self._known[piece]:
            return False
        self._known[piece] = 1
        height = 1 if self._fits(piece) else len(self._wrapped(piece))
        if height == 1:
            return False
        self._heights[piece] = height
        self._starts = None
        return True

    def _fits(self, piece: int) -> bool:
        return self.width <= 0 or _cells(self.pieces[piece]) <= self.width

    def _wrapped(self, piece: int) -> list[Line]:
        source = self.pieces[piece]
        return wrap(source, self.width) if self.width > 0 else [source]


def _length(line: Line) -> int:
    length = 0
    for text, _ in line.spans:
        length += len(text)
    return length


def _cells(line: Line) -> int:
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in line.spans)


def pieces_of(line: Line) -> Iterator[Line]:
    """Divide a line into pieces of at most ``MAX_PIECE`` characters, at blanks where possible."""
    piece, room = Line(hang=line.hang, edge=line.edge), MAX_PIECE
    for text, role in line.spans:
        at = 0
        while len(text) - at > room:
            end = _break(text, at, at + room)
            piece.spans.append((text[at:end], role))
            yield piece
            piece, room, at = line.continued(), MAX_PIECE, end
        if at < len(text):
            piece.spans.append((text[at:], role))
            room -= len(text) - at
    yield piece


def _break(text: str, start: int, end: int) -> int:
    """Where to divide before ``end``: after a blank, if one is near."""
    blank = text.rfind(" ", max(start, end - _BREAK_WITHIN), end)
    return blank + 1 if blank > start else end
