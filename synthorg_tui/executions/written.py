"""The lines of text that a call put into files, and those it took out, out of its transcript line.

Tools name their arguments in many ways, so what isn't called the old text is taken for new. Only
whole lines are compared, without the space around them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_OLD: Final = re.compile(r"(?i)(?:old|search|find|original|before)")
"""Starts of the names of arguments that hold what was there before."""
_WHOLE: Final = re.compile(r"(?i)(?:content|contents|file_?text|text|code)")
"""Names of arguments that hold a whole file, where there is no old text."""
_PATCH: Final = re.compile(r"^(?:\*\*\* Begin Patch|@@ |--- \S)", re.MULTILINE)
_FILE: Final = re.compile(r"(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(.+)")
_BLOCK: Final = re.compile(
    r"^(?:-{5,}|<{5,}) ?SEARCH.*?\n(?P<old>.*?)^={5,}.*?\n(?P<new>.*?)^(?:\+{5,}|>{5,}) ?REPLACE",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Lines that a call added and removed; ``is_whole`` when it wrote the file as a whole.

    A line that was there before and after is in neither, except in a file written as a whole.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    is_whole: bool = False


def written_in(line: str, path: str) -> ChangedLines:
    """Return what the call in a transcript's line wrote into the file of this name."""
    old: set[str] = set()
    new: set[str] = set()
    is_whole = False
    is_changed = False
    for name, text in _texts("", line):
        if _PATCH.search(text):
            removed, added = _of_patch(text, path)
            is_changed = True
        elif blocks := list(_BLOCK.finditer(text)):
            removed = [part for block in blocks for part in block["old"].splitlines()]
            added = [part for block in blocks for part in block["new"].splitlines()]
            is_changed = True
        elif _OLD.match(name):
            removed, added = text.splitlines(), []
            is_changed = True
        else:
            removed, added = [], text.splitlines()
            is_whole = is_whole or _WHOLE.fullmatch(name) is not None
        old.update(part.strip() for part in removed)
        new.update(part.strip() for part in added)
    return ChangedLines(frozenset(new - old), frozenset(old - new), is_whole and not is_changed)


def _of_patch(text: str, path: str) -> tuple[list[str], list[str]]:
    """Removed and added lines of a patch, as far as they are of this file."""
    removed: list[str] = []
    added: list[str] = []
    is_ours = True
    for line in text.splitlines():
        if found := _FILE.match(line):
            name = found[1].strip()
            is_ours = path.endswith(name) or name.endswith(path)
        elif is_ours and line.startswith("+"):
            added.append(line[1:])
        elif is_ours and line.startswith("-") and not line.startswith("--- "):
            removed.append(line[1:])
    return removed, added


def _texts(name: str, value: object) -> Iterator[tuple[str, str]]:
    """All texts in a value with the name of the member that each is in, also in JSON in JSON."""
    waiting: list[tuple[str, object]] = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            inner = _parsed(value)
            if inner is None:
                yield name, value
            else:
                waiting.append((name, inner))
        elif isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(name, each) for each in value]


def _parsed(text: str) -> object:
    if text[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
