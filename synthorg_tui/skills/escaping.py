"""Text in the body of a SKILL.md: what would break its structure is escaped, and comes back.

The escapes are markdown's own, so that the file reads well: character references (``&#x1B;``)
for what is invisible or at the edge of a text, a backslash before what would start a heading.
"""

import re
from collections.abc import Iterator, Sequence

from synthorg_tui.core.text import has_hidden, safe_text

EDGES = " \t\n"
"""What a reader strips around a text."""

_AMPERSAND = re.compile(r"&(?=amp;|#[0-9]{1,7};|#x[0-9A-Fa-f]{1,6};)")
_REFERENCE = re.compile(r"&(?:amp|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_HEADING = re.compile(r"(#{1,2})(?:[ \t]+(.*))?")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_STARTS = re.compile(r"\\*(?:#{1,2}(?:[ \t]|$)|```|~~~)")
_ESCAPED = re.compile(r"\\+(?:#{1,2}(?:[ \t]|$)|```|~~~)")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE = 0x10FFFF


def encode_inline(text: str) -> str:
    """The text on one line."""
    return _encode(text).replace("\n", "&#xA;")


def encode_block(text: str) -> str:
    """The text as lines below a heading, none of which is taken for another heading."""
    lines = _encode(text).split("\n")
    fenced, is_open = _fenced(lines)
    return "\n".join(
        f"\\{line}" if _needs_escape(line, in_code and not is_open, is_open) else line
        for line, in_code in zip(lines, fenced, strict=True)
    )


def encode_item(marker: str, text: str) -> str:
    """The text as an item of a list, its further lines indented below the first."""
    indent = " " * (len(marker) + 1)
    first, *more = _encode(text).split("\n")
    return "\n".join([f"{marker} {first}", *(f"{indent}{line}" if line else "" for line in more)])


def decode(text: str) -> str:
    """What ``encode_inline`` and ``encode_item`` were given, edges stripped."""
    return _REFERENCE.sub(_character, text.strip(EDGES))


def decode_block(text: str) -> str:
    """What ``encode_block`` was given, edges stripped."""
    lines = text.strip(EDGES).split("\n")
    return decode("\n".join(line[1:] if _ESCAPED.match(line) else line for line in lines))


def hide_nothing(text: str) -> str:
    """The text with each invisible character as a character reference; other text as it is."""
    return "".join(_visibly(text)) if has_hidden(text) else text


def is_plain(text: str) -> bool:
    """Whether nothing in the text is invisible; an emoji may have its selector."""
    if not has_hidden(text):
        return True
    return all(shown == each for shown, each in zip(_visibly(text), text, strict=True))


def headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Index, level (1 or 2) and title of each heading outside fenced code."""
    fenced, _ = _fenced(lines)
    for index, (line, in_code) in enumerate(zip(lines, fenced, strict=True)):
        match = None if in_code else _HEADING.fullmatch(line)
        if match:
            yield index, len(match[1]), match[2] or ""


def _encode(text: str) -> str:
    text = hide_nothing(_AMPERSAND.sub("&amp;", text))
    if text and text[-1] in EDGES:
        text = text[:-1] + _reference(text[-1])
    if text and text[0] in EDGES:
        text = _reference(text[0]) + text[1:]
    return text


def _visibly(text: str) -> Iterator[str]:
    previous = ""
    for character in text:
        yield _visible(character, previous)
        previous = character


def _visible(character: str, previous: str) -> str:
    if safe_text(character, multiline=True) == character:
        return character
    if previous and safe_text(previous + character) == previous:
        return character  # an emoji's own selector
    return _reference(character)


def _reference(character: str) -> str:
    return f"&#x{ord(character):X};"


def _character(match: re.Match[str]) -> str:
    if match[1] is None and match[2] is None:
        return "&"
    code = int(match[1]) if match[1] else int(match[2], 16)
    return match[0] if code > _LAST_CODE or code in _SURROGATES else chr(code)


def _needs_escape(line: str, in_code: bool, fence_is_open: bool) -> bool:
    if not _STARTS.match(line):
        return False
    if line.startswith("#"):
        return not in_code
    return line.startswith("\\") or fence_is_open


def _fenced(lines: Sequence[str]) -> tuple[list[bool], bool]:
    """Whether each line is code between fences, and whether the last fence was never closed."""
    flags = []
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence and match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        elif not fence and match and not ("`" in match[1] and "`" in match[2]):
            fence = match[1]
        flags.append(bool(fence))
    return flags, bool(fence)
