"""The markdown below the front matter: our sections, or somebody else's text as it stands."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synthorg_tui.skills import escaping

_ITEM = re.compile(r"(\d{1,4}[.)]|[-*+])(?: (.*)|$)")
_CONDITION, _ACTION, _RATIONALE = "Condition", "Action", "Rationale"
_STEPS, _EVIDENCE = "Execution steps", "Evidence"
_KNOWN = {name.lower(): name for name in (_CONDITION, _ACTION, _RATIONALE, _STEPS, _EVIDENCE)}
NOTES = "## Notes"
"""Stands above text that is in none of our sections and has no heading of its own."""


@dataclass(frozen=True, slots=True)
class Body:
    """The parts of a body; ``rest`` is what is in none of our sections, as it stands."""

    heading: str = ""
    condition: str = ""
    action: str = ""
    rationale: str = ""
    steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    rest: str = ""

    @property
    def has_sections(self) -> bool:
        """Whether it says more than ``rest``."""
        return any(
            (self.heading, self.condition, self.action, self.rationale, self.steps, self.evidence)
        )


def render_body(body: Body) -> str:
    """The markdown of a body, without a newline at its end."""
    blocks = [f"# {escaping.encode_inline(body.heading)}"] if body.heading else []
    for title, text in (
        (_CONDITION, body.condition),
        (_ACTION, body.action),
        (_RATIONALE, body.rationale),
    ):
        if text:
            blocks += [f"## {title}", escaping.encode_block(text)]
    if body.steps:
        numbered = [escaping.encode_item(f"{n}.", step) for n, step in enumerate(body.steps, 1)]
        blocks += [f"## {_STEPS}", "\n".join(numbered)]
    if body.evidence:
        listed = [escaping.encode_item("-", each) for each in body.evidence]
        blocks += [f"## {_EVIDENCE}", "\n".join(listed)]
    if body.rest:
        blocks.append(body.rest)
    return "\n\n".join(blocks)


def parse_body(text: str) -> Body:
    """The parts of a body; one that doesn't begin as ours do is all ``rest``."""
    lines = text.split("\n")
    marks = [*escaping.headings(lines), (len(lines), 0, "")]
    starts = [index for index, _, _ in marks]
    if "\n".join(lines[: starts[0]]).strip(escaping.EDGES) or len(marks) == 1:
        return _foreign(text)
    found: dict[str, str] = {}
    rest = ""
    for number, (index, level, title) in enumerate(marks[:-1]):
        content = "\n".join(lines[index + 1 : starts[number + 1]])
        name = _section(level, title, content, is_first=number == 0)
        if name is None or name in found:
            rest = "\n".join(lines[index:])
            break
        found[name] = escaping.decode(title) if level == 1 else content
    return _ours(found, rest) if found else _foreign(text)


def with_heading(rest: str) -> str:
    """Text that may follow our sections: it begins with a heading."""
    first = next((line for line in rest.split("\n") if line.strip(escaping.EDGES)), "")
    return rest if any(escaping.headings([first])) else f"{NOTES}\n\n{rest}"


def _section(level: int, title: str, content: str, *, is_first: bool) -> str | None:
    if level == 1:
        is_heading = is_first and title and not content.strip(escaping.EDGES)
        return "heading" if is_heading else None
    return _KNOWN.get(title.strip(escaping.EDGES).lower())


def _ours(found: dict[str, str], rest: str) -> Body:
    return Body(
        heading=found.get("heading", ""),
        condition=escaping.decode_block(found.get(_CONDITION, "")),
        action=escaping.decode_block(found.get(_ACTION, "")),
        rationale=escaping.decode_block(found.get(_RATIONALE, "")),
        steps=tuple(_items(found.get(_STEPS, ""))),
        evidence=tuple(_items(found.get(_EVIDENCE, ""))),
        rest=_trim(rest),
    )


def _foreign(text: str) -> Body:
    return Body(rest=_trim(text))


def _trim(text: str) -> str:
    """The text without blank lines before and after it."""
    lines = text.split("\n")
    while lines and not lines[0].strip(escaping.EDGES):
        lines.pop(0)
    while lines and not lines[-1].strip(escaping.EDGES):
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
    text = escaping.decode("\n".join(lines))
    if text:
        yield text


def _without_indent(line: str, indent: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(spaces, indent) :]
