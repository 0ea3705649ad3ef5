"""Turning validation errors into lines that say where, what, and what is allowed."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from synthorg_tui.settings.document import SettingPath

_SHOWN_CHARS: Final = 60
_SECRET_WORDS: Final = ("api_key", "password", "secret", "token")
_NAMES: Final = {
    "boolean": "true or false",
    "null": "null",
    "string": "text",
    "array": "a list",
    "integer": "whole number",
    "number": "number",
}

Schema = Mapping[str, Any]


class Explainer:
    """Explains errors of one model by its JSON schema."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._schema = model.model_json_schema()

    def path(self, error: ErrorDetails) -> SettingPath:
        """The setting that an error is about, without the tags of union members."""
        kept: SettingPath = ()
        for part in error["loc"]:
            if any(True for _ in self._nodes((*kept, part))) or part == error["loc"][-1]:
                kept = (*kept, part)
        return kept

    def reason(self, error: ErrorDetails) -> str:
        """What is wrong and what is allowed."""
        path = self.path(error)
        if error["type"] == "extra_forbidden":
            return self._unknown(path)
        allowed = self._allowed(path)
        if error["type"] == "missing":
            return f"is required; allowed: {allowed}" if allowed else "is required"
        value = error["input"]
        if error["type"] == "value_error":
            cause = str(error["ctx"]["error"])
            return cause if isinstance(value, dict | list) else f"{show(path, value)}: {cause}"
        if error["type"] == "string_type" and not isinstance(value, dict | list | None):
            return f"{show(path, value)} is not text; put it in quotes"
        return f"{show(path, value)} is not allowed; allowed: {allowed or error['msg']}"

    def _unknown(self, path: SettingPath) -> str:
        names = sorted({name for node in self._nodes(path[:-1]) for name in _properties(node)})
        close = difflib.get_close_matches(str(path[-1]), names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return f"unknown setting{hint}; allowed: {', '.join(names) or 'nothing'}"

    def _allowed(self, path: SettingPath) -> str:
        texts = dict.fromkeys(_describe(node) for node in self._nodes(path))
        return " or ".join(text for text in texts if text)

    def _nodes(self, path: SettingPath) -> Iterator[Schema]:
        nodes = list(self._variants(self._schema))
        for part in path:
            nodes = [inner for node in nodes for inner in self._step(node, part)]
        yield from nodes

    def _step(self, node: Schema, part: str | int) -> Iterator[Schema]:
        if isinstance(part, int):
            inner = node.get("items")
        else:
            inner = _properties(node).get(part, node.get("additionalProperties"))
        if isinstance(inner, Mapping):
            yield from self._variants(inner)

    def _variants(self, node: Schema) -> Iterator[Schema]:
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            yield from self._variants(self._schema["$defs"][name])
            return
        members = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if members is None:
            yield node
            return
        for member in members:
            yield from self._variants(member)


def show(path: SettingPath, value: object) -> str:
    """A value as it may be printed: short, on one line, and hidden when it is a secret."""
    if any(word in str(part).lower() for part in path for word in _SECRET_WORDS):
        return "(hidden)"
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 3]}..."


def _properties(node: Schema) -> Mapping[str, Any]:
    properties = node.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _describe(node: Schema) -> str:
    if "enum" in node:
        return "one of " + ", ".join(str(value) for value in node["enum"])
    if "const" in node:
        return str(node["const"])
    if "properties" in node:
        return f"a section with {', '.join(node['properties'])}"
    kind = node.get("type", "")
    return f"{_NAMES.get(kind, kind)}{_range(node)}"


def _range(node: Schema) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    for name, word in (
        ("minimum", "of at least"),
        ("maximum", "of at most"),
        ("exclusiveMinimum", "above"),
        ("exclusiveMaximum", "below"),
    ):
        if name in node:
            return f" {word} {node[name]:g}"
    return ""
