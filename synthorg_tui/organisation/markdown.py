"""Blocks of Markdown as text: sentences with their lines, items without marks, code as it is.

What people call Markdown in rule files also has other bullets and tags that stand alone; both are
made what a parser takes for lists and headings. What the texts mean is for ``rule_text``.
"""

import re
from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from synthorg_tui.core.text import compiled
from synthorg_tui.organisation.directives import Force, force_of

_SENTENCE_END: Final = (
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)[.!?\u3002]+[\"'`)*_\]]*"
    r"(?:\s+(?=[A-Z0-9`\"'*_\[(\u00c0-\u9fff])|(?<=\u3002)|$)"
)
_HTML: Final = frozenset(
    re.findall(
        r"\w+",
        "a abbr b blockquote br center code dd details div dl dt em font h1 h2 h3 h4 h5 h6 hr"
        " i img kbd li ol p picture pre s small source span strong sub summary sup table tbody"
        " td th thead tr u ul video",
    )
)


def blocks_of(text: str) -> Sequence[SyntaxTreeNode]:
    """Parse a text and return its blocks; their lines are those of the text."""
    lines = _prepared(text.split("\n"))
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    return SyntaxTreeNode(tokens).children


def _prepared(lines: Sequence[str]) -> list[str]:
    """The lines with other bullets as dashes, and with tags that stand alone as headings."""
    code = fenced(lines)
    return [line if at in code else _unmarked(line) for at, line in enumerate(lines)]


def fenced(lines: Sequence[str]) -> frozenset[int]:
    """Return which lines are code between fences, or fences themselves; the first line is 0."""
    found: list[int] = []
    fence = ""
    for number, line in enumerate(lines):
        mark = compiled(r"\s*(`{3,}|~{3,})").match(line)
        if fence or mark:
            found.append(number)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
    return frozenset(found)


def _unmarked(line: str) -> str:
    tag = compiled(r"\s*<(/?)([A-Za-z][\w-]*)(?:\s[^<>]*)?>\s*").fullmatch(line)
    if tag:
        name = tag[2].replace("_", " ").replace("-", " ")
        return "" if tag[1] or tag[2].lower() in _HTML else f"###### {name}"
    return compiled(r"^(\s*)[\u2022\u00b7\u25aa\u25cf\u2023]\s+").sub(r"\1- ", line)


def sentences_of(text: str, line: int) -> list[tuple[str, int]]:
    """Cut a paragraph into sentences, each with its line; code and emphasis stay whole."""
    masked = compiled(r"`+[^`]*`+|\([^()]*\)").sub(lambda found: "x" * len(found[0]), text)
    masked = compiled(r"\n(?=[A-Z*`][^\n]*\S)").sub(
        lambda found: "\u3002" if _breaks(text, found.start()) else "\n", masked
    )
    cuts = [match.end() for match in compiled(_SENTENCE_END).finditer(masked)]
    found = []
    start = counted = 0
    for end in [*cuts, len(text)]:
        part = text[start:end]
        if part.strip():
            begins = start + len(part) - len(part.lstrip())
            line += text.count("\n", counted, begins)
            counted = begins
            found.append((" ".join(part.split()), line))
        start = max(start, end)
    return found or [("", line)]


def _breaks(text: str, position: int) -> bool:
    """Whether a new line begins a new instruction, in text that isn't wrapped."""
    ended = text[:position].rpartition("\n")[2]
    begun = text[position + 1 :].partition("\n")[0]
    return len(ended) < 60 and force_of(begun) is not Force.NONE and begun[:1].isupper()


def first_line(text: str) -> str:
    """Return a text up to its first line break."""
    return text.partition("\n")[0]


def text_of(node: SyntaxTreeNode) -> str:
    """The text of a paragraph or heading with its line breaks, without comments."""
    inline = next((child for child in node.children if child.type == "inline"), None)
    return compiled(r"(?s)<!--.*?-->").sub("", inline.content) if inline else ""


def line_of_text(node: SyntaxTreeNode) -> str:
    """Return the text of a paragraph or heading on one line."""
    return " ".join(text_of(node).split())


def code_of(node: SyntaxTreeNode) -> str:
    """Return a code block between fences that nothing in it can close."""
    mark = "`" * max(3, 1 + max(map(len, compiled("`+").findall(node.content)), default=0))
    return f"{mark}{node.info}\n{node.content.rstrip()}\n{mark}"


def rendered(node: SyntaxTreeNode) -> str:
    """The Markdown of an item without its mark, each paragraph on one line."""
    parts: list[str] = []
    for child in node.children:
        if child.type == "paragraph":
            parts.append(line_of_text(child))
        elif child.type in ("bullet_list", "ordered_list"):
            marks = (
                f"{n}." if child.type == "ordered_list" else "-"
                for n in range(1, len(child.children) + 1)
            )
            parts += [
                _indented(f"{m} {rendered(i)}") for m, i in zip(marks, child.children, strict=False)
            ]
        elif child.type in ("fence", "code_block"):
            parts.append(code_of(child))
        else:
            parts += [line_of_text(each) for each in child.walk() if each.type == "paragraph"]
    return "\n".join(part for part in parts if part)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))


def line_number(node: SyntaxTreeNode) -> int:
    """Return the line on which a block begins, counted from 1."""
    return (node.map[0] if node.map else 0) + 1
