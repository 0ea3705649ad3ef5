"""Reads settings from YAML, with the line number of each, so that errors can name it.

The YAML library is loaded only when there is a file to read: most stores have none.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.core.errors import ConfigError

MAX_BYTES: Final = 256 * 1024

SettingPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed settings; ``lines`` maps the path of each setting to its 1-based line."""

    data: dict[str, object]
    lines: dict[SettingPath, int] = field(default_factory=dict)


def dotted(path: SettingPath) -> str:
    """Return a setting's path as it is written for people, such as ``agents[0].level``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_document(path: Path) -> Document:
    """Read the settings in a YAML file.

    Raises ``ConfigError``, which names the file and the line.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror or error}") from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES // 1024} KiB; not read")
    return parse_document(text, str(path))


def parse_document(text: str, name: str) -> Document:
    """Parse YAML text as settings; an empty text gives none.

    Raises ``ConfigError``, whose message calls the text ``name``.
    """
    data, lines = _loaded(text, name)
    if data is None:
        return Document({})
    if not isinstance(data, dict):
        raise ConfigError(f"{name}:1: settings must be a mapping like 'memory: ...'")
    return Document(data, lines)


def parse_value(text: str, name: str) -> object:
    """Parse a single YAML value, such as ``30``, ``true``, ``null``, ``daily`` or ``[a, b]``.

    Raises ``ConfigError``, whose message calls the text ``name``.
    """
    return _loaded(text, name)[0]


def _loaded(text: str, name: str) -> tuple[object, dict[SettingPath, int]]:
    from synthorg_tui.core.yaml import YamlError, load

    try:
        return load(text)
    except YamlError as error:
        where = f"{name}:{error.line}" if error.line else name
        raise ConfigError(f"{where}: {error.message}") from error
