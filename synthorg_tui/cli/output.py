"""Printing for people: aligned, coloured on a terminal, and safe whatever the text holds.

Everything that a command prints goes through ``Console``, which makes text safe; no command writes
to a stream itself, but the digest, which is printed byte for byte. Lines are the same on a terminal
and in a pipe, but for colours. Rich, with which the app measures text as well, is asked only about
text that isn't ASCII: loading it takes longer than most answers.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Concatenate,
    Final,
    NamedTuple,
    ParamSpec,
    Self,
    TextIO,
    TypeAlias,
)

from synthorg_tui.core.text import safe_text

if TYPE_CHECKING:
    from datetime import datetime

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_FALLBACK_SIZE: Final = (100, 24)
_MIN_WIDTH: Final = 20
_ELLIPSIS: Final = "…"
_REDRAW_SECONDS: Final = 0.1
_PLAIN_SECONDS: Final = 5.0
_CLEAR_LINE: Final = "\r\x1b[2K"


P = ParamSpec("P")
View: TypeAlias = "Callable[[Console], View] | Iterable[View] | str | bool | None"
"""What a person is shown, as data: a line of text, a part such as ``Table``, or several in order.

Nothing is printed for what is empty or false. A function is called with the console and returns a
view, for what depends on the terminal's width.
"""


class Answer(NamedTuple):
    """The result of a command: JSON for a program, a view for a person, and the exit code.

    ``note`` is a remark beside it.
    """

    json: object
    text: View
    code: int = 0
    note: str = ""


class Console:
    """Prints results to the stream ``out`` and everything else to ``err``.

    All text is made safe here, that is, without control characters that act on a terminal; callers
    pass it as it is.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out, self.err = out, err
        for stream in (out, err):
            if stream in (sys.stdout, sys.stderr) and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    @property
    def width(self) -> int:
        """Width of the terminal in columns; 100 without a terminal."""
        import shutil

        return shutil.get_terminal_size(_FALLBACK_SIZE).columns

    def style(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        """Return ``text`` made safe, with colour codes if the stream is a terminal with colours."""
        text = safe_text(text, multiline=True)
        if not text or not styles or not _shows_colour(stream or self.out):
            return text
        codes = ";".join(_STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: str) -> None:
        """Print one line to ``out``, in the given styles, such as ``bold`` or ``red``."""
        print(self.style(text, *styles), file=self.out)

    def lines(self, texts: Iterable[str], *styles: str) -> None:
        """Print a line for each of the texts that isn't empty."""
        for text in filter(None, texts):
            self.line(text, *styles)

    def parts(self, parts: Iterable[tuple[str, ...]], *, separator: str = "  ") -> None:
        """Print a line of differently styled parts, each a text and its styles."""
        styled = [self.style(text, *styles) for text, *styles in parts if text]
        print(separator.join(styled), file=self.out)

    def block(self, text: str, *, indent: int = 0, max_lines: int | None = None) -> None:
        """Print text wrapped to the terminal's width, and at most ``max_lines`` lines of it.

        Each line is indented by ``indent`` spaces.
        """
        lines = wrap(text, self.width - indent)
        if max_lines is not None and len(lines) > max_lines:
            lines = [*lines[: max_lines - 1], f"{lines[max_lines - 1].rstrip()} {_ELLIPSIS}"]
        for line in lines:
            print(f"{' ' * indent}{line}".rstrip(), file=self.out)

    def diff(self, lines: Iterable[str]) -> None:
        """Print a unified diff."""
        styles = {"+": "green", "-": "red", "@": "cyan"}
        for line in lines:
            self.line(line, *filter(None, [styles.get(line[:1])]))

    def facts(self, facts: Iterable[tuple[str, str]], *, label_width: int = 11) -> None:
        """Print pairs of label and value, one a line; pairs with an empty value are left out."""
        for label, value in facts:
            if value:
                self.parts([(label.ljust(label_width), "dim"), (value,)])

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str = ""
    ) -> None:
        """Print rows in aligned columns; the last column is cut at the terminal's width.

        With no rows, ``empty`` is printed if it is given.
        """
        if empty and not rows:
            self.line(empty)
            return
        cells = [[safe_text(" ".join(cell.split())) for cell in row] for row in (header, *rows)]
        widths = [max(cell_width(row[i]) for row in cells) for i in range(len(header) - 1)]
        room = max(_MIN_WIDTH, self.width - sum(widths) - 2 * len(widths))
        for number, row in enumerate(cells):
            fixed = [
                cell + " " * (width - cell_width(cell))
                for cell, width in zip(row, widths, strict=False)
            ]
            text = "  ".join([*fixed, cut(row[-1], room)]).rstrip()
            self.line(text, *(() if number else ("dim",)))

    def answer(self, answer: Answer, *, as_json: bool) -> int:
        """Print the result of a command for a program or for a person; return its exit code."""
        if as_json:
            self.json(answer.json)
            return answer.code
        self.show(answer.text)
        self.note(answer.note)
        return answer.code

    def show(self, view: View) -> None:
        """Print a view."""
        if callable(view):
            self.show(view(self))
        elif isinstance(view, str):
            self.lines([view])
        elif view and view is not True:
            for part in view:
                self.show(part)

    def json(self, value: object, *, indent: int | None = 2) -> None:
        """Print JSON in ASCII, so that no control character in it can act on a terminal."""
        import json

        text = json.dumps(value, indent=indent, allow_nan=False)
        print(text.replace("\x7f", "\\u007f"), file=self.out, flush=True)

    def exact(self, text: str) -> None:
        """Write the text unchanged; only if ``out`` is a terminal is it made safe."""
        if self.out.isatty():
            self.line(text)
            return
        self.out.flush()
        buffer = getattr(self.out, "buffer", None)
        if buffer is None:
            self.out.write(text)
        else:
            buffer.write(text.encode("utf-8", "replace"))
            buffer.flush()

    def note(self, *texts: str) -> None:
        """Print remarks to ``err``, beside the result; empty ones are left out."""
        for text in filter(None, texts):
            print(self.style(text, "dim", stream=self.err), file=self.err, flush=True)

    def warning(self, *texts: str) -> None:
        """Print warnings to ``err``; empty ones are left out."""
        label = self.style("warning:", "yellow", stream=self.err)
        for text in filter(None, texts):
            print(label, safe_text(text), file=self.err, flush=True)

    def error(self, cause: str, remedy: str = "") -> None:
        """Print an error and its remedy to ``err``; ``cause`` may have one line for each cause."""
        label = self.style("error:", "red", stream=self.err)
        for line in cause.splitlines() or [""]:
            text = _with_remedy(line, remedy) if line == cause else line
            print(label, safe_text(text), file=self.err)
        if remedy and "\n" in cause:
            print(safe_text(remedy), file=self.err)
        self.err.flush()

    def ask(self, question: str) -> str:
        """Print the question to ``err`` and return the line typed; empty at the end of input."""
        print(self.style(question, "bold", stream=self.err), end=" ", file=self.err, flush=True)
        return sys.stdin.readline().strip()


def _part(print_it: Callable[Concatenate[Console, P], None]) -> Callable[P, View]:
    """Return a function whose arguments are printed later, when the view is shown."""
    return lambda *args, **kwargs: lambda console: print_it(console, *args, **kwargs)


Line = _part(Console.line)
BLANK = Line()
Lines = _part(Console.lines)
Parts = _part(Console.parts)
Block = _part(Console.block)
Diff = _part(Console.diff)
Facts = _part(Console.facts)
Table = _part(Console.table)
Note = _part(Console.note)
Warn = _part(Console.warning)


class ProgressLine:
    """Shows the progress of a long job on stderr, inside a ``with``.

    On a terminal one line is overwritten, and cleared at the end; elsewhere a plain line is printed
    now and then. ``update`` may be called from any thread and as often as there is progress.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_drawn_over = console.err.isatty()
        self._shown_at = 0.0 if self._is_drawn_over else time.monotonic()
        self._is_dirty = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_dirty:
            print(_CLEAR_LINE, end="", file=self._console.err, flush=True)

    def update(self, text: str) -> None:
        """Show ``text``, unless the last text was shown only a moment ago."""
        now = time.monotonic()
        if now - self._shown_at < (_REDRAW_SECONDS if self._is_drawn_over else _PLAIN_SECONDS):
            return
        self._shown_at = now
        if not self._is_drawn_over:
            self._console.note(text)
            return
        line = self._console.style(cut(text, self._console.width - 1), stream=self._console.err)
        print(f"{_CLEAR_LINE}{line}", end="", file=self._console.err, flush=True)
        self._is_dirty = True


def cell_width(text: str) -> int:
    """Return the width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, room: int) -> str:
    """Return the text as one line of at most ``room`` terminal columns, shortened if needed."""
    text = " ".join(text.split())
    if cell_width(text) <= room:
        return text
    if text.isascii():
        return text[: room - 1].rstrip() + _ELLIPSIS
    from rich.cells import set_cell_size

    return set_cell_size(text, room - 1).rstrip() + _ELLIPSIS


def wrap(text: str, width: int) -> list[str]:
    """Return the text, made safe, as lines of at most ``width`` columns, with its blank lines."""
    import textwrap

    width = max(_MIN_WIDTH, width)
    lines: list[str] = []
    for line in safe_text(text.expandtabs(4), multiline=True).splitlines():
        if cell_width(line) == len(line):
            lines += textwrap.wrap(line, width, replace_whitespace=False) or [""]
        else:
            lines += _wrapped_by_cells(line, width)
    return lines


def _wrapped_by_cells(line: str, width: int) -> list[str]:
    """A line with characters that take two columns or none, which textwrap would miscount."""
    from rich.console import Console as Measure
    from rich.text import Text

    return [part.plain.rstrip() for part in Text(line).wrap(Measure(), width)]


def local_time(moment: "datetime | None") -> str:
    """Return a time as ``2026-01-31 14:05`` in this machine's zone; for ``None`` an empty text."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""


def _with_remedy(cause: str, remedy: str) -> str:
    if not remedy:
        return cause
    return f"{cause} {remedy}" if cause.endswith((".", "!", "?")) else f"{cause}. {remedy}"


def _shows_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
