"""Explains what is wrong with a setting and what is allowed, by the schema of the models.

What is allowed is never written down here: it is read from the models, so that it stays true.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from synthorg_tui.settings.document import SettingPath

_SHOWN_CHARS: Final = 60
_SECRET_ENDINGS: Final = ("key", "password", "secret", "token")
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
    """Explains pydantic's validation errors of one model, by the model's JSON schema."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._schema = model.model_json_schema()

    def path(self, error: ErrorDetails) -> SettingPath:
        """Return the path of the setting that an error is about, as the person wrote it.

        Pydantic's own location also has the tags of union members; they are left out.
        """
        if error["type"] == "extra_forbidden":  # it is in no schema
            return (*self._walk(error["loc"][:-1])[0], error["loc"][-1])
        path, _ = self._walk(error["loc"])
        return (*path, "type") if error["type"] == "union_tag_invalid" else path

    def reason(self, error: ErrorDetails) -> str:
        """Return a text that says what is wrong and what is allowed, without the setting's name."""
        if error["type"] == "extra_forbidden":
            return _unknown(error["loc"][-1], self._walk(error["loc"][:-1])[1])
        path, _ = self._walk(error["loc"])
        if error["type"] == "union_tag_invalid":
            tag, tags = error["ctx"]["tag"], error["ctx"]["expected_tags"]
            return f"{show(path, tag)} is not allowed; allowed: one of {tags.replace(chr(39), '')}"
        allowed = self.allowed(error["loc"])
        if error["type"] == "missing":
            return f"is required; allowed: {allowed}" if allowed else "is required"
        value = error["input"]
        if error["type"] == "value_error":
            cause = str(error["ctx"]["error"])
            return cause if isinstance(value, dict | list) else f"{show(path, value)}: {cause}"
        if error["type"] == "string_type" and not isinstance(value, dict | list | None):
            return f"{show(path, value)} is not text; put it in quotes"
        return f"{show(path, value)} is not allowed; allowed: {allowed or error['msg']}"

    def allowed(self, path: SettingPath) -> str:
        """Return what is allowed for the setting at ``path``; empty when anything is."""
        _, nodes = self._walk(path)
        return " or ".join(filter(None, dict.fromkeys(map(_describe, nodes))))

    def choices(self, path: SettingPath) -> tuple[str, ...]:
        """Return the values that a setting can have, as they are written; empty for too many."""
        found: list[str] = []
        for node in self._walk(path)[1]:
            if "enum" in node or "const" in node:
                found += [str(value) for value in node.get("enum", [node.get("const")])]
            elif node.get("type") == "boolean":
                found += ["true", "false"]
            elif node.get("type") == "null":
                found += ["null"]
            else:
                return ()
        return tuple(found)

    def _walk(self, loc: SettingPath) -> tuple[SettingPath, list[Schema]]:
        """The part of ``loc`` that names settings, and the schemas at its end."""
        path: SettingPath = ()
        nodes = list(self._variants(self._schema))
        for part in loc:
            inner = [schema for node in nodes for schema in self._step(node, part)]
            if inner:
                path, nodes = (*path, part), inner
            else:  # the tag of a union member rather than a setting
                nodes = [
                    node for node in nodes if _properties(node).get("type", {}).get("const") == part
                ] or nodes
        return path, nodes

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


def is_secret(path: SettingPath) -> bool:
    """Return whether a setting's name says that its value is a secret."""
    return any(str(part).lower().endswith(_SECRET_ENDINGS) for part in path)


def show(path: SettingPath, value: object) -> str:
    """Return a value as text for printing: short, on one line, and hidden if it is a secret.

    The name of the setting decides whether its value is a secret.
    """
    if is_secret(path):
        return "(hidden)"
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 3]}..."


def _unknown(name: str | int, nodes: Iterable[Schema]) -> str:
    names = sorted({known for node in nodes for known in _properties(node)})
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown setting{hint}; allowed: {', '.join(names) or 'nothing'}"


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
