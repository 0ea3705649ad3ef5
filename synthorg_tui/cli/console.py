"""Printing for people: aligned, coloured on a terminal, and safe whatever the text holds."""

import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, TextIO

from synthorg_tui.core.text import safe_text

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_FALLBACK_SIZE: Final = (100, 24)
_ELLIPSIS: Final = "…"


class Console:
    """Results go to ``out``, everything else to ``err``.

    Text is made safe here and nowhere else: no caller has to remember it.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        for stream in (out, err):
            if stream in (sys.stdout, sys.stderr) and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    @property
    def width(self) -> int:
        """Columns of the terminal, 100 where there is none."""
        return shutil.get_terminal_size(_FALLBACK_SIZE).columns

    def style(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        """``text`` made safe, in colour where the stream shows it."""
        text = safe_text(text, multiline=True)
        if not text or not styles or not _shows_colour(stream or self.out):
            return text
        codes = ";".join(_STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: str) -> None:
        """Print a line of a result."""
        print(self.style(text, *styles), file=self.out)

    def parts(self, parts: Iterable[tuple[str, ...]], *, separator: str = "  ") -> None:
        """Print a line of differently styled parts, each a text and its styles."""
        shown = [self.style(text, *styles) for text, *styles in parts if text]
        print(separator.join(shown), file=self.out)

    def block(self, text: str, *, indent: int = 0, max_lines: int | None = None) -> None:
        """Print text wrapped to the terminal, at most ``max_lines`` of it."""
        lines = wrap(text, self.width - indent)
        if max_lines is not None and len(lines) > max_lines:
            lines = [*lines[: max_lines - 1], f"{lines[max_lines - 1].rstrip()} {_ELLIPSIS}"]
        for line in lines:
            print(f"{' ' * indent}{line}".rstrip(), file=self.out)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print columns; the last one is cut at the terminal's width."""
        cells = [[safe_text(" ".join(cell.split())) for cell in row] for row in (header, *rows)]
        widths = [max(cell_width(row[i]) for row in cells) for i in range(len(header) - 1)]
        room = max(20, self.width - sum(widths) - 2 * len(widths))
        for number, row in enumerate(cells):
            fixed = [_pad(cell, width) for cell, width in zip(row, widths, strict=False)]
            text = "  ".join([*fixed, cut(row[-1], room)]).rstrip()
            self.line(text, *(() if number else ("dim",)))

    def json(self, value: object, *, indent: int | None = 2) -> None:
        """Print JSON in ASCII, so that no text in it can act on a terminal."""
        text = json.dumps(value, indent=indent, allow_nan=False)
        print(text.replace("\x7f", "\\u007f"), file=self.out, flush=True)

    def note(self, text: str) -> None:
        """Say something beside the result."""
        print(self.style(text, "dim", stream=self.err), file=self.err, flush=True)

    def warning(self, text: str) -> None:
        """Say that something is not as it should be."""
        label = self.style("warning:", "yellow", stream=self.err)
        print(label, safe_text(text), file=self.err, flush=True)

    def error(self, cause: str, remedy: str = "") -> None:
        """Say what went wrong and what to do; several causes stand on lines of their own."""
        label = self.style("error:", "red", stream=self.err)
        for line in cause.splitlines() or [""]:
            text = f"{line}{_join(line, remedy)}" if line == cause else line
            print(label, safe_text(text), file=self.err)
        if remedy and "\n" in cause:
            print(safe_text(remedy), file=self.err)
        self.err.flush()

    def ask(self, question: str) -> str:
        """A typed answer, empty at the end of input."""
        print(self.style(question, "bold", stream=self.err), end=" ", file=self.err, flush=True)
        return sys.stdin.readline().strip()


def cell_width(text: str) -> int:
    """Terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def cut(text: str, room: int) -> str:
    """The text on one line of at most ``room`` columns."""
    text = " ".join(text.split())
    if cell_width(text) <= room:
        return text
    while cell_width(text) > room - 1:
        text = text[: max(0, min(len(text) - 1, room - 1))]
    return text.rstrip() + _ELLIPSIS


def wrap(text: str, width: int) -> list[str]:
    """The text, made safe, in lines of at most ``width`` columns; blank lines are kept."""
    lines: list[str] = []
    for line in safe_text(text.expandtabs(4), multiline=True).splitlines():
        lines += textwrap.wrap(line, max(20, width), replace_whitespace=False) or [""]
    return lines


def local_time(moment: datetime | None) -> str:
    """A time as a person reads it, in the machine's zone."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""


def plural(count: int, one: str, many: str = "") -> str:
    """``1 memory``, ``2 memories``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_width(text))


def _join(cause: str, remedy: str) -> str:
    if not remedy:
        return ""
    return f" {remedy}" if cause.endswith((".", "!", "?")) else f". {remedy}"


def _shows_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
