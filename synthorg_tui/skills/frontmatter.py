"""The YAML between the ``---`` lines, read as leniently as is safe.

Only scalars and one level of ``metadata`` are built, from parser events: neither nesting nor
aliases can cost anything. Every value is text, as in the reference validator.
"""

import re
from dataclasses import dataclass, field
from typing import Final

import yaml

from synthorg_tui.core.yaml import HiddenCharacterError, YamlError, events, line_of
from synthorg_tui.skills.document import Finding, Severity
from synthorg_tui.skills.render import FENCE, quoted

MAX_LENGTH: Final = 32 * 1024
METADATA: Final = "metadata"

_UNQUOTED = re.compile(r"([A-Za-z][A-Za-z_-]*):[ \t]+([^\"'|>&*!%@`\[{#\s].*)")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Value:
    """A text and the 1-based line of the file on which its key stands."""

    text: str
    line: int


@dataclass
class FrontMatter:
    """The fields of a front matter, the findings made while reading it, and what follows it.

    ``body`` begins on the 1-based line ``body_line``. A file that has no readable front matter has
    no fields, and ``is_read`` is false.
    """

    values: dict[str, Value] = field(default_factory=dict)
    metadata: dict[str, Value] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    body: str = ""
    body_line: int = 1
    is_read: bool = False

    def text(self, name: str) -> str:
        """Return the value of a field, empty when it is missing."""
        value = self.values.get(name)
        return value.text if value else ""

    def line(self, name: str) -> int:
        """Return the line of a field; the first line when it is missing."""
        value = self.values.get(name)
        return value.line if value else 1

    def warn(self, line: int, message: str, remedy: str) -> None:
        """Add a warning: other readers may refuse the file."""
        self.findings.append(Finding(line, Severity.WARNING, message, remedy))

    def fail(self, line: int, message: str, remedy: str) -> None:
        """Add an error: the file can't be used."""
        self.findings.append(Finding(line, Severity.ERROR, message, remedy))


def split(text: str) -> FrontMatter:
    """Split a file into front matter and body."""
    front = FrontMatter()
    if text.startswith(_BOM):
        text = text[1:]
        front.warn(1, "the file begins with a byte order mark", "Save it as UTF-8 without BOM.")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != FENCE:
        front.fail(
            start + 1,
            "there is no front matter",
            f"Begin with a line {FENCE}, then name: and description:, then a line {FENCE}.",
        )
        front.body = "\n".join(lines)
        return front
    if start:
        front.warn(1, "empty lines come before the front matter", "Remove them.")
    end = next((n for n in range(start + 1, len(lines)) if lines[n].rstrip() == FENCE), None)
    if end is None:
        front.fail(
            start + 1, "the front matter isn't closed", f"Add a line {FENCE} after its last field."
        )
        front.body_line = len(lines)
        return front
    front.body, front.body_line = "\n".join(lines[end + 1 :]), end + 2
    _read(lines[start + 1 : end], start + 1, front)
    return front


def _read(lines: list[str], offset: int, front: FrontMatter) -> None:
    text = "\n".join(lines)
    if len(text) > MAX_LENGTH:
        front.fail(
            offset, f"the front matter is longer than {MAX_LENGTH:,} characters", "Shorten it."
        )
        return
    for number, line in enumerate(lines):
        if FENCE in line:
            front.warn(
                offset + number + 1,
                f"{FENCE} stands in the front matter; some readers end it there",
                'Write it as "-\\x2d-" in double quotes, or leave it out.',
            )
    problem = _load(text, offset, front)
    if problem is None:
        return
    mended = "\n".join(_quote_value(line) for line in lines)
    if mended != text and _load(mended, offset, front) is None:
        message = "strict readers stumble over a colon or # in this value"
        front.warn(problem.line, message, "Put the value in double quotes.")
    else:
        front.findings.append(problem)


def _quote_value(line: str) -> str:
    """Quote the value of a line that YAML would take for another mapping or a comment."""
    match = _UNQUOTED.fullmatch(line)
    if match is None or not re.search(r":(?:\s|$)|\s#", match[2]):
        return line
    return f"{match[1]}: {quoted(match[2].rstrip())}"


def _load(text: str, offset: int, front: FrontMatter) -> Finding | None:
    """Read the fields into ``front``; on an error leave it unchanged and return the error."""
    read = FrontMatter()
    try:
        _Reader(text, offset, read).document()
    except YamlError as error:
        line = offset + max(1, error.line)
        if isinstance(error, HiddenCharacterError):
            return Finding(line, Severity.ERROR, error.message, "Remove it.")
        message = f"not YAML: {error.message}"
        return Finding(line, Severity.ERROR, message, "Mend or quote this value.")
    front.values, front.metadata = read.values, read.metadata
    front.findings += read.findings
    front.is_read = True
    return None


class _Reader:
    def __init__(self, text: str, offset: int, front: FrontMatter) -> None:
        self._events = events(text)
        self._offset = offset
        self._front = front

    def document(self) -> None:
        for event in self._events:
            if isinstance(event, yaml.MappingStartEvent):
                self._check(event)
                self._map(self._front.values)
            elif isinstance(event, (yaml.ScalarEvent, yaml.SequenceStartEvent)):
                self._skip(event)
                self._front.fail(
                    self._line(event), "the front matter has no fields", "Write `name: value`."
                )
            elif isinstance(event, yaml.DocumentStartEvent) and event.explicit:
                self._front.warn(
                    self._line(event), "a second YAML document is ignored", "Remove it."
                )

    def _map(self, fields: dict[str, Value]) -> None:
        """Read the keys of a map into ``fields``; the map of metadata has fields of its own."""
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            key, line = self._key(event), self._line(event)
            value = next(self._events)
            self._check(value)
            is_metadata = key == METADATA and fields is self._front.values
            is_map = is_metadata and isinstance(value, yaml.MappingStartEvent)
            text = "" if is_map else self._text(value, key)
            if key in fields:
                self._front.warn(line, f"{key!r} is there twice", "Keep one of them.")
            fields[key] = Value(text, line)
            if is_map:
                self._map(self._front.metadata)

    def _key(self, event: yaml.Event) -> str:
        self._check(event)
        if isinstance(event, yaml.ScalarEvent):
            return str(event.value)
        self._skip(event)
        self._front.warn(self._line(event), "a field's name has to be a word", "Rename it.")
        return ""

    def _text(self, event: yaml.Event, key: str) -> str:
        if isinstance(event, yaml.ScalarEvent):
            return str(event.value)
        words = self._skip(event)
        if isinstance(event, yaml.SequenceStartEvent):
            self._front.warn(
                self._line(event), f"{key!r} is a list", "Write its items as one text."
            )
            return " ".join(words)
        self._front.warn(self._line(event), f"{key!r} has fields of its own", "Write one text.")
        return ""

    def _skip(self, event: yaml.Event) -> list[str]:
        """Skip the node that begins with ``event``; return the scalars in it."""
        words: list[str] = []
        depth = 0
        while True:
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.ScalarEvent):
                words.append(str(event.value))
            if depth <= 0:
                return words
            event = next(self._events)

    def _check(self, event: yaml.Event) -> None:
        line = self._line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            self._front.warn(line, "anchors and aliases aren't read", "Write the value itself.")
        elif getattr(event, "tag", None):
            self._front.warn(line, "types (!) aren't read", "Write the value as plain text.")
        if getattr(event, "flow_style", None) is True:
            self._front.warn(
                line, "lists and maps in brackets are refused by strict readers", "Use plain lines."
            )

    def _line(self, event: yaml.Event) -> int:
        return self._offset + line_of(event)
