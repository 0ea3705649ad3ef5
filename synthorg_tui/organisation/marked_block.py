"""The marked block in a Markdown file of somebody else: found, put in, replaced, taken out.

All on bytes, so that what isn't ours stays byte for byte, whatever its line ends. A marker counts
where it is a whole line from its first column and stands in no code block: a file may well write
about it. So nothing that a policy says can end the block, since its lines stand in a list. What is
published where is in ``publishing``; only text is known here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from synthorg_tui.core.errors import DomainError

BEGIN: Final = b"<!-- synthorg-tui:policies:begin -->"
END: Final = b"<!-- synthorg-tui:policies:end -->"
_BOM: Final = b"\xef\xbb\xbf"
_FENCE = re.compile(
    rb"(?P<lists>(?:[ ]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<indent> *)(?P<fence>`{3,}|~{3,})"
    rb"(?P<rest>.*)",
    re.DOTALL,
)
_MAX_INDENT: Final = 3
"""Blanks before a fence or marker; more of them make a line of code."""


class DamagedBlockError(DomainError):
    """The markers in a file don't make one whole block; ``line`` is the one to look at, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(
            f"line {line}: {problem}",
            remedy="Leave one begin marker with one end marker below it, or delete both lines.",
        )
        self.line = line


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """The block in a file's bytes: from its first byte to the one after its last line."""

    start: int
    stop: int
    content: bytes

    @property
    def bytes(self) -> bytes:
        """The block with both markers, as it stands in the file."""
        return self.content[self.start : self.stop]

    @property
    def text(self) -> str:
        """The block with line ends of one kind, to be compared with what was written."""
        return self.bytes.decode("utf-8", "backslashreplace").replace("\r\n", "\n").rstrip("\n")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    start: int
    stop: int
    text: bytes


@dataclass(slots=True)
class _Fences:
    """Follows the fenced code blocks of a file, line by line; ``opened`` is where one began."""

    opened: int | None = None
    _mark: bytes = b""
    _inside: int = 0

    def follow(self, line: _Line) -> bool:
        """Take the next line; return whether it is in a code block or a fence of one."""
        if self.opened is not None:
            blank = len(line.text) - len(line.text.lstrip(b" "))
            if not line.text.strip() or blank >= self._inside:
                text = line.text.strip()
                if len(text) >= len(self._mark) and not text.strip(self._mark[:1]):
                    self.opened = None
                return True
            self.opened = None  # the item of the list that it stood in has ended
        found = _FENCE.match(line.text)
        if found is None or len(found["indent"]) > _MAX_INDENT:
            return False
        if found["fence"][:1] == b"`" and b"`" in found["rest"]:
            return False
        self.opened, self._mark = line.start, found["fence"]
        self._inside = len(found["lists"]) if found["lists"] else 0
        return True


def find_block(content: bytes) -> MarkedBlock | None:
    """Return the block in a file, or ``None`` when there is none.

    Raises ``DamagedBlockError`` when markers are doubled, alone, in the wrong order or indented.
    """
    found: list[tuple[_Line, _Line]] = []
    begun: _Line | None = None
    fences = _Fences()
    for line in _lines(content):
        is_in_code = begun is None and fences.follow(line)
        marker = line.text.rstrip()
        if is_in_code or marker.lstrip() not in (BEGIN, END):
            continue
        if marker.startswith((b" ", b"\t")):
            if begun is None and not marker.startswith((b"    ", b"\t")):
                raise DamagedBlockError(line.number, "a marker of ours has blanks before it")
        elif marker == BEGIN:
            if begun is not None:
                raise DamagedBlockError(
                    line.number, f"a second begin marker inside the block of line {begun.number}"
                )
            begun = line
        elif begun is None:
            raise DamagedBlockError(line.number, "an end marker without a begin marker before it")
        else:
            found.append((begun, line))
            begun = None
    if begun is not None:
        raise DamagedBlockError(begun.number, "a begin marker without an end marker after it")
    if len(found) > 1:
        raise DamagedBlockError(found[1][0].number, "a second block of ours")
    return MarkedBlock(found[0][0].start, found[0][1].stop, content) if found else None


def with_block(content: bytes, block: str) -> bytes:
    """Return the file with this block: in place of the one that is there, else after its end.

    In a file whose last code block is never closed it stands before that: it would be code there.
    ``block`` has both markers and no last line end; it is given the line ends of the file. Raises
    ``DamagedBlockError``.
    """
    known = find_block(content)
    if known is not None:
        ending = _line_end(_without(known))
        new = _encoded(block, ending)
        closed = known.bytes.endswith(b"\n") or known.stop < len(content)
        new = new if closed else new.removesuffix(ending)
        return content[: known.start] + new + content[known.stop :]
    ending = _line_end(content)
    place = _place(content)
    lead = ending if content[len(_bom(content)) : place] else b""
    return content[:place] + lead + _encoded(block, ending) + content[place:]


def without_block(content: bytes) -> bytes:
    """Return the file without the block and the line end that came with it: its own bytes alone.

    A file without a block is returned as it is. Raises ``DamagedBlockError``.
    """
    known = find_block(content)
    return content if known is None else _without(known)


def enclosed(lines: str) -> str:
    """Return these lines as a block, with its markers and the line that says whose it is."""
    said = "Written by `synthorg-tui org publish`, which replaces what is changed in here."
    away = "`synthorg-tui org publish --remove` takes it out."
    return f"{BEGIN.decode()}\n<!-- {said} {away} -->\n\n{lines.strip()}\n\n{END.decode()}"


def _without(block: MarkedBlock) -> bytes:
    before = block.content[: block.start]
    if len(before) > len(_bom(before)):
        ending = b"\r\n" if block.bytes.split(b"\n", 1)[0].endswith(b"\r") else b"\n"
        before = before.removesuffix(ending if before.endswith(ending) else b"\n")
    return before + block.content[block.stop :]


def _lines(content: bytes) -> Iterator[_Line]:
    start = len(_bom(content))
    for number, line in enumerate(content[start:].split(b"\n"), 1):
        stop = min(start + len(line) + 1, len(content))
        yield _Line(number, start, stop, line.removesuffix(b"\r"))
        start = stop


def _bom(content: bytes) -> bytes:
    return _BOM if content.startswith(_BOM) else b""


def _line_end(content: bytes) -> bytes:
    """The line end that most lines of a file have."""
    windows = content.count(b"\r\n")
    return b"\r\n" if windows > content.count(b"\n") - windows else b"\n"


def _place(content: bytes) -> int:
    """Where a new block belongs: the end, or before a code block that isn't closed."""
    fences = _Fences()
    for line in _lines(content):
        fences.follow(line)
    return len(content) if fences.opened is None else fences.opened


def _encoded(block: str, ending: bytes) -> bytes:
    return block.encode("utf-8", "replace").replace(b"\n", ending) + ending
