"""Lines of a tool's output: one line of a text, and the line of an error that tells most.

Titles of memories and keys of lessons are made of them, so they must stay as they are.
"""

import re
from collections.abc import Iterable

TITLE = 140
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_TOOL_ERROR = re.compile(r"</?tool_use_error>")
_TELLING = re.compile(
    r"^(?:E\s{2,}|.{0,60}\b(?:fatal|error|panic|exception)\b\s*[:(\[]|\*\* \("
    r"|\S*(?:Error|Exception):|FAILED|FAIL\b"
    r"|.{0,80}(?:not found|No such|cannot |can't |denied|refused|must |failed|invalid)"
    r"|\[[A-Z]{2,}\])",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"^(?:(?:Error: )?Exit code -?\d+|Process exited with code -?\d+|Wall time|Chunk ID|Output:"
    r"|Compiling|Generated|Getting|Running|Checking|Downloading|Installing|hint:|warning:|==>"
    r"|Software Design|Total output lines|Original token count)\b",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[A-Za-z]{3}")
_VARIABLE = re.compile(
    r"https?://[^\s'\"]+|(?:~|\.{1,2})?(?:/?[\w.@+-]+)?(?:/[\w.@+<>-]+)+/?"
    r"|\b[0-9a-f]{7,40}\b|\b\d+(?:\.\d+)*\b"
)


def one_line(text: str, limit: int = TITLE) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, cut between words."""
    text = " ".join(without_codes(text).split())
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rpartition(' ')[0] or text[: limit - 1]}…"


def headline(output: str) -> str:
    """Return the most informative line of an error output, at most 160 characters.

    Prefixes such as ``fatal:`` are removed. Empty when no line says anything.
    """
    lines = [line.strip(" \t│┃|>~^") for line in clean_output(output).splitlines()]
    lines = [line for line in lines if _LETTERS.search(line) and not _NOISE.match(line)]
    telling = next((line for line in lines if _TELLING.match(line)), None)
    best = telling or next(iter(lines), "")
    best = re.sub(r"^(?:(?:fatal|error|Error|ERROR):|E\s)\s*", "", best)
    return one_line(best, 160).rstrip(".:")


def clean_output(output: str) -> str:
    """Return ``output`` without terminal codes and error tags.

    A backslash followed by ``n`` becomes a line break, since hooks print line ends like that.
    """
    return _TOOL_ERROR.sub("", without_codes(output)).replace("\\n", "\n")


def without_codes(text: str) -> str:
    """Return ``text`` without the codes that colour a terminal or set its title."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def signature(line: str, values: Iterable[str] = ()) -> str:
    """Return an error line with everything replaced that differs each time.

    That is paths, addresses, numbers and the given ``values``; two occurrences of one error so
    compare equal.
    """
    for value in sorted(filter(None, values), key=len, reverse=True):
        line = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", "<>", line)
    return " ".join(_VARIABLE.sub("<>", line).casefold().split())
