"""Lines of a tool's output: one line of a text, and the line of an error that tells most.

Titles of memories and keys of lessons are made of them, so they must stay as they are.
"""

import re
from collections.abc import Iterable

from synthorg_tui.core.languages import error_in_english

TITLE = 140
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_TOOL_ERROR = re.compile(r"</?tool_use_error>")
_NOISE = re.compile(
    r"^(?:(?:(?:Error: )?Exit code -?\d+|Process exited with code -?\d+|Wall time|Chunk ID"
    r"|Compiling|Generated|Getting|Running|Checking|Downloading|Installing|Watching"
    r"|Software Design|Total output lines|Original token count)\b"
    r"|(?:-: )?Output:?\s*$|Output:|hint:|==>|(?:\[[\w:./-]+\] )?\$ |> |\(no output\)"
    r"|\[(?:STARTED|COMPLETED|SKIPPED|INFO|DEBUG)\]|[=-]+ (?:RUN|PAUSE|CONT|NAME)\b"
    r"|\[?(?:\d{4}[-/]\d\d[-/]\d\d[ T])?\d\d:\d\d:\d\d|\d+\s+(?:\d+\s+)?[│|]|[>\s]*\d+\s*[│|])"
    r"|\.{2,}\s*(?:done)?\s*$|\b(?:INFO|DEBUG|TRACE)\b|^\S+@\d+\.\d+\.\S+ \S+$"
    r"|^(?:throw|const|let|var|if|return|import|export|function)\b.*[;{(]$|^/[/*]"
)
"""Lines that are none of the program's own: headers, echoed commands, progress, logs, source."""
_WEAK = re.compile(
    r"exit(?:ed)?(?: with)?(?: exit)? (?:code|status) \d|\bELIFECYCLE\b|\bERROR task failed\b"
    r"|^(?:error: )?(?:found )?\d+ (?:tests? )?(?:errors?|fail(?:ed|ures?)?)\W*$"
    r"|^\W*FAIL(?:ED)?\W*$"
    r"|\bFailed (?:Tests|Suites)\b|failed to push some refs|Could not read from remote repository"
    r"|^(?:Tests?|Test Files|Test Suites):?\s+\d|\bwarn(?:ing)?\b\W",
    re.IGNORECASE,
)
"""Lines that say that something failed and not what, and warnings."""
_TELLING = re.compile(
    r"^(?:E\s{2,}|.{0,60}\b(?:fatal|error|panic|exception)\b\s*[:(\[]|\*\* \("
    r"|[^\s:]*(?:Error|Exception)\b.{0,60}:|FAILED\b|\(fail\)|--- FAIL|.{0,80}(?:not found|No such"
    r"|cannot |can't |could not |denied|refused|must |failed|invalid|unknown |unexpected"
    r"|unrecogni[sz]ed|not permitted|timed out|undefined(?:: | [a-z]))"
    r"|(?:! )?\[(?:remote )?rejected\]|\[(?:ERROR|FAILED|FATAL)\]"
    r"|[\w./@-]+\.\w{1,5}[:(]\d+[:,)\d]*:?\s)",
    re.IGNORECASE,
)
"""Lines that name an error: by its word, by what was wrong, or by the place in a file."""
_MARKED = re.compile(r"^\s*[✗×✖✘\u2a2f❌]\s+(?=\S)")
_LEAD = re.compile(
    r"^(?:(?:(?:ba|z|da)?sh|\(eval\))(?::(?: line )? ?\d+)?: |(?:fatal|error|ERROR|Error):\s*"
    r"|E\s+)+"
)
_LETTERS = re.compile(r"[^\W\d_]{3}")
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
    """Return the line of an error output by which a person would call it, at most 160 characters.

    Prefixes such as ``fatal:`` are removed. Empty when no line says anything.
    """
    best = telling_line(own_lines(output))
    return one_line(_LEAD.sub("", _MARKED.sub("", best)), 160).rstrip(".:━ ")


def own_lines(output: str) -> list[str]:
    """Return the lines of an output that its program said: no header, echo, progress or source."""
    lines = clean_output(output).splitlines()
    return [
        line.strip(" \t│┃|>~^")
        for line in lines
        if _LETTERS.search(line) and not _NOISE.search(line.strip())
    ]


def telling_line(lines: Iterable[str]) -> str:
    """Return the first of the lines that names an error, else the first that says most of it."""
    return min(lines, key=_rank, default="")


def is_telling(line: str) -> bool:
    """Tell whether a line names an error rather than only that there was one."""
    return _rank(line) == 0


def _rank(line: str) -> int:
    line = error_in_english(line)
    if _WEAK.search(line):
        return 2
    return 0 if _MARKED.match(line) or _TELLING.match(line) else 1


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
