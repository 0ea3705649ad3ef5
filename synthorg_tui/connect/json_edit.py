"""Edits JSON as text: comments, order, spacing and all other entries stay as they are.

A scanner finds the position of each value; an edit inserts or cuts there. The result is parsed
again and compared with the intended value.
"""

import copy
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from synthorg_tui.connect.errors import ClientConfigError

_BLANK: Final = " \t\r\n"
_BOM: Final = "\ufeff"
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*[\s\S]*?\*/)*")
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MAX_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A parsed value with its position in the text; ``members`` are those of an object or array.

    ``start`` and ``end`` are indexes of characters, as in a slice.
    """

    start: int
    end: int
    value: Any
    members: tuple["Member", ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object (``key`` is a text) or of an array (``key`` is its index).

    ``start`` is the position in the text where the member begins, in an object with its key.
    """

    key: str | int
    start: int
    node: Node


class JsonText:
    """An immutable JSON document; each edit returns a new one. An empty text is an empty object.

    Args:
        text: The document; a byte order mark at its start is left in place.
        lenient: Whether to accept comments and trailing commas.

    Raises ``ClientConfigError`` when the text is not a valid document.
    """

    def __init__(self, text: str, *, lenient: bool) -> None:
        mark = _BOM if text.startswith(_BOM) else ""
        self.text = text if text.removeprefix(_BOM).strip(_BLANK) else f"{mark}{{}}\n"
        self._lenient = lenient
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._scanner = _Scanner(self.text, lenient=lenient)
        self.root = self._scanner.document()

    def find(self, path: Sequence[str | int]) -> Node | None:
        """Return the value at a path of keys and indexes, or ``None`` when there is none.

        Raises ``ClientConfigError`` for a key that occurs twice.
        """
        node = self.root
        for key in path:
            members = [member for member in node.members if member.key == key]
            if len(members) > 1:
                raise ClientConfigError(f"the key {key!r} occurs twice", remedy="Remove one.")
            if not members:
                return None
            node = members[0].node
        return node

    def put(self, path: Sequence[str], value: Any) -> "JsonText":
        """Return the document with the value set at the path; missing objects are created.

        Raises ``ClientConfigError`` when the path leads through a value that is no object.
        """
        depth = self._depth(path)
        node = self.find(path)
        expected, container = self._copied(path[:-1])
        container[path[-1]] = value
        if node is not None:
            rendered = self._rendered(value, self._margin(node.start))
            return self._edited(
                self.text[: node.start] + rendered + self.text[node.end :], expected
            )
        parent = self.find(path[:depth])
        assert parent is not None
        for key in reversed(path[depth + 1 :]):
            value = {key: value}
        return self._edited(self._with_member(parent, path[depth], value), expected)

    def append(self, path: Sequence[str], value: Any) -> "JsonText":
        """Return the document with the value appended to the array at the path.

        A missing array is created; raises ``ClientConfigError`` when the value there is no array.
        """
        node = self.find(path)
        if node is None:
            return self.put(path, [value])
        if not isinstance(node.value, list):
            raise ClientConfigError(f"{'.'.join(path)} is no array")
        expected, container = self._copied(path)
        container.append(value)
        return self._edited(self._with_member(node, None, value), expected)

    def remove(self, path: Sequence[str | int]) -> "JsonText":
        """Return the document without the value at the path, which must exist."""
        parent = self.find(path[:-1])
        assert parent is not None
        index = [member.key for member in parent.members].index(path[-1])
        expected, container = self._copied(path[:-1])
        del container[path[-1]]
        return self._edited(self._without_member(parent, index), expected)

    def _copied(self, path: Sequence[str | int]) -> tuple[Any, Any]:
        """A copy of the document's value, and the container in it that the path leads to.

        Missing objects on the way are created in the copy.
        """
        copied = container = copy.deepcopy(self.root.value)
        for key in path:
            if isinstance(container, dict):
                container.setdefault(key, {})
            container = container[key]
        return copied, container

    def _depth(self, path: Sequence[str]) -> int:
        """How much of the path is there already; all on the way must be objects."""
        for depth in range(len(path)):
            node = self.find(path[:depth])
            if node is None:
                return depth - 1
            if not isinstance(node.value, dict):
                raise ClientConfigError(f"{'.'.join(path[:depth]) or 'the file'} is no object")
        return len(path) - 1

    def _with_member(self, parent: Node, key: str | None, value: Any) -> str:
        text, close = self.text, parent.end - 1
        inside = text[parent.start + 1 : close]
        end = parent.start + 1 + len(inside.rstrip(_BLANK))
        label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        margin = self._margin(parent.start)
        if not parent.members:
            indent = margin + self._unit()
            piece = self._newline + indent + label + self._rendered(value, indent)
            return text[:end] + piece + self._newline + margin + text[close:]
        last = parent.members[-1]
        comma = self._comma_after(last.node.end)
        head = text[: last.node.end] + ("," if comma is None else "") + text[last.node.end : end]
        tail = ("" if comma is None else ",") + text[end:]
        if "\n" not in inside:
            return f"{head} {label}{json.dumps(value, ensure_ascii=False)}{tail}"
        starts_line = not text[self._line(last.start) : last.start].strip(_BLANK)
        indent = self._margin(last.start) if starts_line else margin + self._unit()
        return head + self._newline + indent + label + self._rendered(value, indent) + tail

    def _without_member(self, parent: Node, index: int) -> str:
        text, member = self.text, parent.members[index]
        comma = self._comma_after(member.node.end)
        after = text[member.node.end if comma is None else comma + 1 :]
        start = len(text[: member.start].rstrip(_BLANK))
        if (
            "\n" not in after[: len(after) - len(after.lstrip(_BLANK))]
            and "//" in text[self._line(start) : start]
        ):
            start = member.start  # the following text must not get into a comment
        before = text[:start]
        if index == len(parent.members) - 1 and comma is None and index > 0:
            separator = self._comma_after(parent.members[index - 1].node.end)
            assert separator is not None
            before = text[:separator] + text[separator + 1 : start]
        if len(parent.members) == 1 and before == text[: parent.start + 1]:
            after = after.lstrip(_BLANK)
        return before + after

    def _comma_after(self, end: int) -> int | None:
        at = self._scanner.skip(end)
        return at if self.text[at] == "," else None

    def _rendered(self, value: Any, indent: str) -> str:
        rendered = json.dumps(value, indent=self._unit(), ensure_ascii=False)
        return rendered.replace("\n", self._newline + indent)

    def _line(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _margin(self, at: int) -> str:
        """The white space at the start of the line that ``at`` is on."""
        line = self.text[self._line(at) : at].removeprefix(_BOM)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        """What one level is indented by."""
        first = self.root.members[0].start if self.root.members else 0
        return self._margin(first) or "  "

    def _edited(self, text: str, expected: Any) -> "JsonText":
        edited = JsonText(text, lenient=self._lenient)
        if edited.root.value != expected:
            raise ClientConfigError("it is written in a way that can't be changed safely")
        return edited


class _Scanner:
    def __init__(self, text: str, *, lenient: bool) -> None:
        self._text = text
        self._lenient = lenient
        self._trivia = _TRIVIA if lenient else _SPACE

    def document(self) -> Node:
        node = self._node(self.skip(1 if self._text.startswith(_BOM) else 0), 0)
        end = self.skip(node.end)
        if end != len(self._text):
            self._wrong(end)
        return node

    def skip(self, at: int) -> int:
        """Return the position of the next character that is no space or comment."""
        trivia = self._trivia.match(self._text, at)
        return trivia.end() if trivia else at

    def _node(self, at: int, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise ClientConfigError(f"values are nested more than {_MAX_DEPTH} deep")
        first = self._text[at : at + 1]
        if first == "{":
            members, end = self._members(at, depth, "}")
            return Node(at, end, {member.key: member.node.value for member in members}, members)
        if first == "[":
            members, end = self._members(at, depth, "]")
            return Node(at, end, [member.node.value for member in members], members)
        return self._leaf(at, _STRING if first == '"' else _SCALAR)

    def _leaf(self, at: int, pattern: re.Pattern[str]) -> Node:
        leaf = pattern.match(self._text, at)
        if leaf is None:
            self._wrong(at)
        try:
            return Node(at, leaf.end(), json.loads(leaf[0]))
        except ValueError:
            self._wrong(at)

    def _members(self, start: int, depth: int, close: str) -> tuple[tuple[Member, ...], int]:
        members: list[Member] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != close:
            key: str | int = len(members)
            key_at = at
            if close == "}":
                key, at = self._key(at)
            node = self._node(at, depth + 1)
            members.append(Member(key, key_at, node))
            at = self.skip(node.end)
            if self._text[at : at + 1] == ",":
                comma, at = at, self.skip(at + 1)
                if self._text[at : at + 1] == close and not self._lenient:
                    self._wrong(comma)
            elif self._text[at : at + 1] != close:
                self._wrong(at)
        return tuple(members), at + 1

    def _key(self, at: int) -> tuple[str, int]:
        """A key, and where its value stands."""
        node = self._leaf(at, _STRING)
        colon = self.skip(node.end)
        if self._text[colon : colon + 1] != ":":
            self._wrong(colon)
        return node.value, self.skip(colon + 1)

    def _wrong(self, at: int) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        kind = "JSON with comments" if self._lenient else "JSON"
        raise ClientConfigError(
            f"line {line}, column {column}: this is no valid {kind}",
            remedy="Correct the file first; it wasn't touched.",
        )
