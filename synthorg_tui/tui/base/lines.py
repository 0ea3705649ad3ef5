"""Lines of styled text, from which every widget draws.

A text is made safe when it is added to a line: control characters, which could act on the terminal,
become visible. Nothing reaches the screen by another way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text

ROLES = (
    "text",
    "muted",
    "faint",
    "strong",
    "title",
    "accent",
    "good",
    "warn",
    "bad",
    "match",
    "found",
    "here",
    "track",
    *(f"cat-{category.value}" for category in MemoryCategory),
)
"""The style roles a span may have; the theme defines the colour of each."""

_BLANKS = re.compile(r"[ \t\r\n]+")
ELLIPSIS = "…"


@dataclass(slots=True)
class Line:
    """A line of (text, role) spans; control characters in texts are replaced as they are added.

    ``hang`` is the indentation, in cells, of the further rows when the line is wrapped. ``fill`` is
    the role of a rule that is drawn from the end of the line to the edge. ``edge`` are spans that
    stand at the beginning of the further rows, in their indentation. A line that is ``cut`` is
    never wrapped.
    """

    spans: list[tuple[str, str]] = field(default_factory=list)
    hang: int = 0
    fill: str = ""
    edge: tuple[tuple[str, str], ...] = ()
    cut: bool = False

    def add(self, text: str, role: str = "text") -> Line:
        """Append a span and return this line.

        Newlines and control characters become visible glyphs.
        """
        if text:
            self.spans.append((safe_text(text), role))
        return self

    def extend(self, other: Line) -> Line:
        """Append the spans of another line and return this line."""
        self.spans.extend(other.spans)
        return self

    def continued(self) -> Line:
        """Return the beginning of a further row: the indentation, with what is at its edge."""
        row = Line(hang=self.hang, edge=self.edge)
        if self.hang:
            row.spans = [*self.edge]
            row.spans.append((" " * (self.hang - row.width), "text"))
        return row

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self.spans)

    @property
    def width(self) -> int:
        """The width in terminal cells."""
        return sum(cell_len(text) for text, _ in self.spans)

    def fit(self, width: int, role: str = "text") -> Line:
        """Return the line cut with an ellipsis or padded with spaces to ``width`` cells."""
        total = self.width
        if total <= width:
            return Line([*self.spans, (" " * (width - total), role)]) if total < width else self
        room = max(width - 1, 0)
        cut: list[tuple[str, str]] = []
        for text, span_role in self.spans:
            size = cell_len(text)
            if size >= room:
                cut.append((set_cell_size(text, room), span_role))
                break
            cut.append((text, span_role))
            room -= size
        if width > 0:
            cut.append((ELLIPSIS, "faint"))
        return Line(cut)


def line(*spans: tuple[str, str], hang: int = 0) -> Line:
    """Return a line of the given (text, role) spans; further rows are indented by ``hang``."""
    styled = Line(hang=hang)
    for text, role in spans:
        styled.add(text, role)
    return styled


def fact(label: str, value: str, role: str = "text", *, cells: int = 12) -> Line:
    """Return a labelled value; further rows of a wrapped value are indented below it."""
    return line((label.ljust(cells), "muted"), (value, role), hang=cells)


def facts(*rows: tuple[str, ...], cells: int = 12) -> list[Line]:
    """Return a line for each (label, value) or (label, value, role) that has a value."""
    return [fact(*row, cells=cells) for row in rows if row[1]]


def rule(title: str, note: str = "") -> Line:
    """Return a section's title with a rule to the edge."""
    heading = line((title + " ", "title"), (f"{note} " if note else "", "faint"))
    heading.fill = "track"
    return heading


def section(title: str, lines: Iterable[Line], note: str = "") -> list[Line]:
    """Return lines under a blank line and their title, with a rule to the edge."""
    return [Line(), rule(title, note), *lines]


def text_lines(text: str, role: str = "text") -> list[Line]:
    """Split a text into lines; tabs become four spaces."""
    shown = safe_text(text, multiline=True).replace("\t", "    ")
    return [Line([(part, role)] if part else []) for part in shown.split("\n")]


def one_line(text: str) -> str:
    """Return the text in one line: each run of spaces and line breaks becomes one space."""
    return _BLANKS.sub(" ", text).strip()


def beside(left: Line, right: Line, width: int) -> Line:
    """Return a line with ``left`` and, ending at ``width`` cells, ``right``.

    ``left`` is cut to fit.
    """
    if right.width + 1 >= width:
        return left.fit(width)
    return Line([*left.fit(width - right.width - 1).spans, (" ", "text"), *right.spans])


def bar(share: float, width: int, role: str = "accent") -> Line:
    """A thin bar filled to ``share`` in [0, 1], in half-cell steps."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    full, half = divmod(halves, 2)
    return line(("━" * full + "╸" * half, role), ("─" * (width - full - half), "track"))


def keys_line(*pairs: tuple[str, str]) -> Line:
    """Render pairs of a key and its effect in one line."""
    shown = Line()
    for key, does in pairs:
        shown.add(key, "accent").add(f" {does}   ", "muted")
    return shown


def error_lines(title: str, error: DomainError, keys: Line | None = None) -> list[Line]:
    """Render an error's cause and remedy under ``title``, which says what could not be shown.

    ``keys`` lists keys that help; by default that is ``r``, which tries again.
    """
    lines = [line(("✗ ", "bad"), (title, "strong")), Line(), *text_lines(error.message)]
    if error.remedy:
        lines += [Line(), line(("→ ", "accent"), (error.remedy, "text"))]
    return [*lines, Line(), keys or keys_line(("r", "tries again"))]


_WORDS = re.compile(r" +|[^ ]+")


def wrap(source: Line, width: int) -> list[Line]:
    """Break the line into rows of at most ``width`` cells, at spaces where possible."""
    if source.width <= width:
        rest = width - source.width if source.fill else 0
        return [Line([*source.spans, ("─" * rest, source.fill)])] if rest else [source]
    if source.cut:
        return [source.fit(width)]
    hang = source.hang if source.hang * 2 < width else 0
    rows, row, used = [], Line(), 0
    for text, role in source.spans:
        for word in _WORDS.findall(text):
            for piece in _pieces(word, width - hang):
                size = cell_len(piece)
                if used + size > width:
                    rows.append(row)
                    row, used = (source.continued() if hang else Line()), hang
                    if piece.isspace():
                        continue
                row.spans.append((piece, role))
                used += size
    rows.append(row)
    return rows


def _pieces(word: str, width: int) -> Iterable[str]:
    if cell_len(word) <= width:
        yield word
        return
    start, used = 0, 0
    for at, character in enumerate(word):
        size = cell_len(character)
        if used + size > width and at > start:
            yield word[start:at]
            start, used = at, 0
        used += size
    yield word[start:]


def plain(lines: Iterable[Line]) -> str:
    """Return the lines as plain text, separated by newlines."""
    return "\n".join(part.plain for part in lines)
