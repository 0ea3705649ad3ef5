"""Adds a table to TOML and takes it out again, as text; all else stays as it is."""

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from synthorg_tui.connect.errors import ClientConfigError


def parsed(text: str) -> dict[str, Any]:
    """The document's values; raises ``ClientConfigError`` when it is no TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ClientConfigError(
            f"this is no valid TOML: {error}", remedy="Correct the file first; it wasn't touched."
        ) from None


def has_table(text: str, path: Sequence[str]) -> bool:
    """Whether something stands at the path."""
    inner: Any = parsed(text)
    for key in path:
        if not isinstance(inner, dict) or key not in inner:
            return False
        inner = inner[key]
    return True


def with_table(text: str, path: Sequence[str], values: Mapping[str, str | Sequence[str]]) -> str:
    """With a table at the end; the path must be free, and made of bare keys.

    Raises ``ClientConfigError`` when the text is no TOML or takes no table there.
    """
    expected = copy.deepcopy(parsed(text))
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ClientConfigError(f"{key} is no table")
    inner[path[-1]] = {
        key: value if isinstance(value, str) else list(value) for key, value in values.items()
    }
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]", *(f"{key} = {_value(each)}" for key, each in values.items())]
    gap = newline if text.strip() else ""
    end = "" if not text or text.endswith("\n") else newline
    added = text + end + gap + newline.join(lines) + newline
    if not _says(added, expected):
        raise _unsafe()
    return added


def without_table(text: str, path: Sequence[str]) -> str:
    """Without the table at the path and those inside it, which must be there."""
    expected = copy.deepcopy(parsed(text))
    inner = expected
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    lines = text.splitlines(keepends=True)
    names = r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)
    ours = re.compile(rf"[ \t]*\[[ \t]*{names}[ \t]*[\].]")
    for start, line in enumerate(lines):
        # What looks like our table may stand in a text: the values tell.
        if ours.match(line) and _says(left := _without_lines(lines, start, ours), expected):
            return left
    raise _unsafe()


def _without_lines(lines: Sequence[str], start: int, ours: re.Pattern[str]) -> str:
    """Without the tables from ``start`` on that are ours; comments at their end stay."""
    end = start
    for number in range(start, len(lines)):
        told = lines[number].strip()
        if told.startswith("[") and not ours.match(lines[number]):
            break
        if told and not told.startswith("#"):
            end = number + 1
    is_apart = start > 0 and not lines[start - 1].strip()
    return "".join([*lines[: start - 1 if is_apart else start], *lines[end:]])


def _says(text: str, expected: Mapping[str, Any]) -> bool:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    # A table that was there only to hold ours isn't missed.
    return _filled(found) == _filled(expected)


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value != {}}


def _unsafe() -> ClientConfigError:
    return ClientConfigError(
        "it is written in a way that can't be changed safely",
        remedy="Change it by hand; it wasn't touched.",
    )


def _value(value: str | Sequence[str]) -> str:
    # A JSON string is a TOML string, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
