"""Lines of a tool's output: one line of a text, and the line of an error that tells most.

Titles of memories and keys of lessons are made of them, so they must stay as they are.
"""

import re
from collections.abc import Iterable

from synthorg_tui.core.languages import error_in_english
from synthorg_tui.executions.call_words import CALLS

TITLE = 140


def one_line(text: str, limit: int = TITLE) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, cut between words."""
    text = " ".join(without_codes(text).split())
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rpartition(' ')[0] or text[: limit - 1]}…"


def headline(output: str) -> str:
    """Return the line of an error output by which a person would call it, at most 160 characters.

    Prefixes such as ``fatal:`` are removed. Empty when no line says anything.
    """
    best = telling_line(own_lines(output))
    return one_line(CALLS["lead"].sub("", CALLS["marked"].sub("", best)), 160).rstrip(".:━ ")


def own_lines(output: str) -> list[str]:
    """Return the lines of an output that its program said: no header, echo, progress or source."""
    lines = clean_output(output).splitlines()
    return [
        line.strip(" \t│┃|>~^")
        for line in lines
        if CALLS["letters"].search(line) and not CALLS["noise"].search(line.strip())
    ]


def telling_line(lines: Iterable[str]) -> str:
    """Return the first of the lines that names an error, else the first that says most of it."""
    return min(lines, key=_rank, default="")


def is_telling(line: str) -> bool:
    """Tell whether a line names an error rather than only that there was one."""
    return _rank(line) == 0


def _rank(line: str) -> int:
    line = error_in_english(line)
    if CALLS["weak"].search(line):
        return 2
    return 0 if CALLS["marked"].match(line) or CALLS["telling"].match(line) else 1


def clean_output(output: str) -> str:
    """Return ``output`` without terminal codes and error tags.

    A backslash followed by ``n`` becomes a line break, since hooks print line ends like that.
    """
    return CALLS["tool_error"].sub("", without_codes(output)).replace("\\n", "\n")


def without_codes(text: str) -> str:
    """Return ``text`` without the codes that colour a terminal or set its title."""
    return CALLS["ansi"].sub("", text) if "\x1b" in text else text


def signature(line: str, values: Iterable[str] = ()) -> str:
    """Return an error line with everything replaced that differs each time.

    That is paths, addresses, numbers and the given ``values``; two occurrences of one error so
    compare equal.
    """
    for value in sorted(filter(None, values), key=len, reverse=True):
        line = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", "<>", line)
    return " ".join(CALLS["variable"].sub("<>", line).casefold().split())
