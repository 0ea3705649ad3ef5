"""Adds a table to TOML text and removes it again; all else stays as it is, byte for byte.

The text is parsed with the standard library before and after each edit; a change that can't be
made with certainty is refused. Decision 0021 says why no library is used for editing.
"""

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from synthorg_tui.connect.errors import ClientConfigError


def parsed(text: str) -> dict[str, Any]:
    """Return the document's values; raises ``ClientConfigError`` when it is not valid TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ClientConfigError(
            f"this is no valid TOML: {error}", remedy="Correct the file first; it wasn't touched."
        ) from None


def has_table(text: str, path: Sequence[str]) -> bool:
    """Return whether there is a table, or any other value, at the path."""
    inner: Any = parsed(text)
    for key in path:
        if not isinstance(inner, dict) or key not in inner:
            return False
        inner = inner[key]
    return True


def with_table(text: str, path: Sequence[str], values: Mapping[str, str | Sequence[str]]) -> str:
    """Return the text with a table appended; there must be no value at the path yet.

    The keys of the path must need no quotes. Raises ``ClientConfigError`` when the text is not
    valid TOML, or when a table can't be added there.
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
    lines = [f"[{'.'.join(path)}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    gap = newline if text.strip() else ""
    end = "" if not text or text.endswith("\n") else newline
    edited = text + end + gap + newline.join(lines) + newline
    if not _means(edited, expected):
        raise _unsafe()
    return edited


def without_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at the path and the tables inside it.

    The table must exist. Raises ``ClientConfigError`` when it can't be removed with certainty.
    """
    expected = copy.deepcopy(parsed(text))
    inner = expected
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    lines = text.splitlines(keepends=True)
    names = r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)
    header = re.compile(rf"[ \t]*\[[ \t]*{names}[ \t]*[\].]")
    for start, line in enumerate(lines):
        # What looks like the header may stand in a string: the values tell.
        if header.match(line):
            edited = _without_lines(lines, start, header)
            if _means(edited, expected):
                return edited
    raise _unsafe()


def _without_lines(lines: Sequence[str], start: int, header: re.Pattern[str]) -> str:
    """Without the tables from ``start`` on that have this header; comments at their end stay."""
    end = start
    for number in range(start, len(lines)):
        content = lines[number].strip()
        if content.startswith("[") and not header.match(lines[number]):
            break
        if content and not content.startswith("#"):
            end = number + 1
    is_apart = start > 0 and not lines[start - 1].strip()
    return "".join([*lines[: start - 1 if is_apart else start], *lines[end:]])


def _means(text: str, expected: Mapping[str, Any]) -> bool:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    # A table that was there only to hold ours isn't missed.
    return _filled(values) == _filled(expected)


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value != {}}


def _unsafe() -> ClientConfigError:
    return ClientConfigError(
        "it is written in a way that can't be changed safely",
        remedy="Change it by hand; it wasn't touched.",
    )


def _toml(value: str | Sequence[str]) -> str:
    # A JSON string is a TOML string, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
