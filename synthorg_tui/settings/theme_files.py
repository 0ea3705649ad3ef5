"""Reads the themes that a person wrote: ``themes/*.yaml`` beside the settings file.

Each file holds the colours of one theme. A wrong one is described and left out, so that no file
keeps the app or a command from going on. What draws with the colours is the app's business.
"""

import json
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.text import safe_text
from synthorg_tui.settings.document import Document, read_document

MAX_FILES: Final = 100
"""Most files that are read of a folder."""
COLOURS: Final[tuple[str, ...]] = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
"""The fields of a theme that are colours; all but the first may be left out."""
_FIELDS: Final = ("name", "dark", *COLOURS)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_COLOUR: Final = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_MAX_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """A theme as it was written: ``colours`` maps fields to ``#rgb`` or ``#rrggbb``."""

    path: Path
    name: str
    dark: bool
    colours: dict[str, str]


class ThemeFiles(NamedTuple):
    """What a folder of themes holds; ``problems`` has a line for each thing that is wrong."""

    themes: tuple[ThemeFile, ...]
    problems: tuple[str, ...]


def read_themes(folder: Path) -> ThemeFiles:
    """Read the themes in a folder by the names of their files; without the folder there are none.

    Of two with one name the first holds.
    """
    themes: dict[str, ThemeFile] = {}
    problems: list[str] = []
    try:
        paths = sorted(islice(folder.glob("*.yaml"), MAX_FILES))
    except OSError as error:
        return ThemeFiles((), (f"{folder}: can't be read: {error.strerror or error}",))
    for path in paths:
        theme, wrong = _read(path)
        if theme is not None and theme.name in themes:
            wrong = [f"{path}: name: {theme.name} is the name of {themes[theme.name].path.name}"]
        elif theme is not None:
            themes[theme.name] = theme
        problems += wrong
    return ThemeFiles(tuple(themes.values()), tuple(map(safe_text, problems)))


def _read(path: Path) -> tuple[ThemeFile | None, list[str]]:
    """The theme in a file, or what is wrong with it."""
    if not path.is_file():  # reading a pipe would wait for ever
        return None, [f"{path}: not a file"]
    try:
        document = read_document(path)
    except ConfigError as error:
        return None, [error.message]
    values = {"name": path.stem, "dark": True, **document.data}
    wrong = [*_wrong(path, document, values)]
    if wrong:
        return None, wrong
    colours = {name: str(values[name]) for name in COLOURS if name in values}
    return ThemeFile(path, str(values["name"]), values["dark"] is True, colours), []


def _wrong(path: Path, document: Document, values: dict[str, object]) -> list[str]:
    """A line for each field that isn't allowed: file and line, field, value and what is."""
    found = []
    for name in dict.fromkeys((*values, "primary")):
        if allowed := _allowed(name, values.get(name)):
            line = document.lines.get((name,))
            where = f"{path}:{line}" if line else str(path)
            shown = json.dumps(values.get(name), ensure_ascii=False, default=str)[:_MAX_SHOWN]
            found.append(f"{where}: {name[:_MAX_SHOWN]}: {shown} isn't allowed; {allowed}")
    return found


def _allowed(name: str, value: object) -> str:
    """What a field may be, if its value is something else; else an empty text."""
    if name not in _FIELDS:
        return f"the fields are {', '.join(_FIELDS)}"
    if name == "dark":
        return "" if isinstance(value, bool) else "true or false is"
    if name == "name":
        fits = isinstance(value, str) and _NAME.fullmatch(value)
        return "" if fits else "up to 40 small letters, digits and hyphens are"
    fits = isinstance(value, str) and _COLOUR.fullmatch(value)
    return "" if fits else 'a colour in quotes is, such as "#7aa2f7"'
