"""Checks arguments that a model wrote against the JSON schema of a tool.

Schemas are the program's own or those of tools that it was given. The keywords that such schemas
use are supported, others are ignored. Problems are described without values of the arguments.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from synthorg_tui.core.text import safe_text, truncate

_MAX_DEPTH: Final = 20
_MAX_PROBLEMS: Final = 5
_MAX_NAME: Final = 64
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SIZES: Final = (
    ("minLength", "maxLength", str, "characters"),
    ("minItems", "maxItems", list, "items"),
)


def argument_problems(arguments: object, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is wrong with arguments, at most a handful; empty when they fit the schema."""
    found = _problems(arguments, schema, schema.get("$defs", {}), "", 0)
    return tuple(problem for _, problem in zip(range(_MAX_PROBLEMS), found, strict=False))


def _problems(
    value: object, schema: Mapping[str, Any], named: Mapping[str, Any], place: str, depth: int
) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        yield f"{place or 'the arguments'}: nested too deeply"
        return
    schema = named.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    kinds = schema.get("type")
    if not _is_kind(value, kinds):
        wanted = " or ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)
        yield f"{place or 'the arguments'} must be of type {wanted}"
        return
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed is not None and value not in allowed:
        yield f"{place} must be one of {', '.join(map(repr, allowed))}"
    yield from _bounds(value, schema, place)
    if isinstance(value, Mapping):
        yield from _members(value, schema, named, place, depth)
    elif isinstance(value, list | tuple) and isinstance(schema.get("items"), Mapping):
        for at, each in enumerate(value):
            yield from _problems(each, schema["items"], named, f"{place}[{at}]", depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and all(any(_problems(value, one, named, place, depth + 1)) for one in choices):
        yield f"{place or 'the arguments'} fits none of the forms it may have"


def _members(
    value: Mapping[str, Any],
    schema: Mapping[str, Any],
    named: Mapping[str, Any],
    place: str,
    depth: int,
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_joined(place, name)} is missing"
    for name, each in value.items():
        if isinstance(properties.get(name), Mapping):
            yield from _problems(each, properties[name], named, _joined(place, name), depth + 1)
        elif schema.get("additionalProperties") is False:
            known = ", ".join(properties) or "none"
            yield f"there is no argument {_joined(place, name)!r}; there are: {known}"


def _bounds(value: object, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    for least, most, kind, unit in _SIZES:
        if isinstance(value, kind):
            count = len(value)
            if count < schema.get(least, 0):
                yield f"{place} must have at least {schema[least]:,} {unit}"
            if count > schema.get(most, count):
                yield f"{place} must have at most {schema[most]:,} {unit}, not {count:,}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            yield f"{place} must be at least {schema['minimum']}"
        if value > schema.get("maximum", value):
            yield f"{place} must be at most {schema['maximum']}"


def _is_kind(value: object, kinds: object) -> bool:
    if kinds is None:
        return True
    names = [kinds] if isinstance(kinds, str) else list(kinds if isinstance(kinds, list) else ())
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _KINDS.get(name, (object,))) for name in names)


def _joined(place: str, name: object) -> str:
    shown = truncate(safe_text(str(name)), _MAX_NAME, "…")
    return f"{place}.{shown}" if place else shown
