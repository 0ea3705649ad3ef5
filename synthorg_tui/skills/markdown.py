"""The markdown body of a SKILL.md, written and read back without loss.

A body of this program has the sections Condition, Action, Rationale, Check, Execution steps and
Evidence; any other body is left as it stands. Text in a section comes from transcripts: whatever
would start a heading, a list or a fence, and every invisible character, is escaped, and decoded on
reading.
The YAML above the body is ``frontmatter``'s.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from synthorg_tui.core.text import has_hidden, safe_text
from synthorg_tui.skills.document import SkillDocument

_ITEM = re.compile(r"(\d{1,4}[.)]|[-*+])(?: (.*)|$)")
_TEXTS = ("Condition", "Action", "Rationale", "Check")
_STEPS, _EVIDENCE = "Execution steps", "Evidence"
_KNOWN = {
    **{title.lower(): title.lower() for title in _TEXTS},
    _STEPS.lower(): "steps",
    _EVIDENCE.lower(): "evidence",
}
"""The fields of a document by the titles of their sections, in lower case."""
NOTES = "## Notes"
"""Heading for further text that has none of its own."""


def render_body(document: SkillDocument) -> str:
    """Render the markdown of a document's sections and body, without a newline at its end."""
    blocks = [f"# {encode_inline(document.heading)}"] if document.heading else []
    for title in _TEXTS:
        if text := getattr(document, title.lower()):
            blocks += [f"## {title}", encode_block(text)]
    if document.steps:
        numbered = [encode_item(f"{n}.", step) for n, step in enumerate(document.steps, 1)]
        blocks += [f"## {_STEPS}", "\n".join(numbered)]
    if document.evidence:
        listed = [encode_item("-", reference) for reference in document.evidence]
        blocks += [f"## {_EVIDENCE}", "\n".join(listed)]
    if document.body:
        blocks.append(document.body)
    return "\n\n".join(blocks)


def with_body(document: SkillDocument, text: str) -> SkillDocument:
    """Return the document with the sections of a markdown text, and what follows them as its body.

    A text that begins unlike a rendered one is all body.
    """
    lines = text.split("\n")
    marks = [*headings(lines), (len(lines), 0, "")]
    is_ours = not "\n".join(lines[: marks[0][0]]).strip(EDGES)
    sections: dict[str, str] = {}
    rest = "" if is_ours else text
    for number, (index, level, title) in enumerate(marks[:-1] if is_ours else ()):
        content = "\n".join(lines[index + 1 : marks[number + 1][0]])
        name = _section(level, title, content, is_first=number == 0)
        if name is None or name in sections:
            rest = "\n".join(lines[index:])
            break
        sections[name] = decode(title) if level == 1 else content
    texts: dict[str, Any] = {
        title.lower(): decode_block(sections.get(title.lower(), "")) for title in _TEXTS
    }
    return dataclasses.replace(
        document,
        **texts,
        heading=sections.get("heading", ""),
        steps=tuple(_items(sections.get("steps", ""))),
        evidence=tuple(_items(sections.get("evidence", ""))),
        body=_trim(rest),
    )


def with_heading(rest: str) -> str:
    """Give further text the heading that lets it follow the sections, unless it has one."""
    first = next((line for line in rest.split("\n") if line.strip(EDGES)), "")
    return rest if any(headings([first])) else f"{NOTES}\n\n{rest}"


def _section(level: int, title: str, content: str, *, is_first: bool) -> str | None:
    if level == 1:
        is_heading = is_first and title and not content.strip(EDGES)
        return "heading" if is_heading else None
    return _KNOWN.get(title.strip(EDGES).lower())


def _trim(text: str) -> str:
    """The text without blank lines before and after it."""
    lines = text.split("\n")
    while lines and not lines[0].strip(EDGES):
        lines.pop(0)
    while lines and not lines[-1].strip(EDGES):
        lines.pop()
    return "\n".join(lines)


def _items(text: str) -> Iterator[str]:
    """The items of a list; text before the first one is an item of its own."""
    lines: list[str] = []
    indent = 0
    for line in text.split("\n"):
        match = _ITEM.match(line)
        if match:
            yield from _item(lines)
            lines, indent = [match[2] or ""], len(match[1]) + 1
        else:
            lines.append(_without_indent(line, indent))
    yield from _item(lines)


def _item(lines: Sequence[str]) -> Iterator[str]:
    text = decode("\n".join(lines))
    if text:
        yield text


def _without_indent(line: str, indent: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(spaces, indent) :]


EDGES = " \t\n"
"""White space that is stripped around a text when it is read."""

_AMPERSAND = re.compile(r"&(?=amp;|#[0-9]{1,7};|#x[0-9A-Fa-f]{1,6};)")
_REFERENCE = re.compile(r"&(?:amp|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_HEADING = re.compile(r"(#{1,2})(?:[ \t]+(.*))?")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_STARTS = re.compile(r"\\*(?:#{1,2}(?:[ \t]|$)|```|~~~)")
_ESCAPED = re.compile(r"\\+(?:#{1,2}(?:[ \t]|$)|```|~~~)")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE = 0x10FFFF


def encode_inline(text: str) -> str:
    """Escape a text for one line."""
    return _encode(text).replace("\n", "&#xA;")


def encode_block(text: str) -> str:
    """Escape a text for the lines below a heading, so that none reads as another heading."""
    lines = _encode(text).split("\n")
    fenced, is_open = _fenced(lines)
    return "\n".join(
        f"\\{line}" if _needs_escape(line, in_code and not is_open, is_open) else line
        for line, in_code in zip(lines, fenced, strict=True)
    )


def encode_item(marker: str, text: str) -> str:
    """Escape a text as one item of a list, further lines indented below the first."""
    indent = " " * (len(marker) + 1)
    first, *more = _encode(text).split("\n")
    return "\n".join([f"{marker} {first}", *(f"{indent}{line}" if line else "" for line in more)])


def decode(text: str) -> str:
    """Reverse ``encode_inline`` and ``encode_item``; white space at the edges is lost."""
    return _REFERENCE.sub(_character, text.strip(EDGES))


def decode_block(text: str) -> str:
    """Reverse ``encode_block``; white space at the edges is lost."""
    lines = text.strip(EDGES).split("\n")
    return decode("\n".join(line[1:] if _ESCAPED.match(line) else line for line in lines))


def hide_nothing(text: str) -> str:
    """Replace each invisible character by its character reference."""
    return "".join(_visibly(text)) if has_hidden(text) else text


def is_plain(text: str) -> bool:
    """Whether a text has no invisible character; an emoji may have its selector."""
    if not has_hidden(text):
        return True
    return all(shown == plain for shown, plain in zip(_visibly(text), text, strict=True))


def headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield index, level (1 or 2) and title of each heading outside fenced code."""
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
