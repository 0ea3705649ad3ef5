"""Reads the environment: which settings file is in force, and variables that set single settings.

``SYNTHORG_CONFIG`` names a file, variables such as ``SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES=30``
override settings. No model of the settings is loaded here: the app asks before its first frame
whether anything is set at all.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.paths import APP_NAME, expand_home
from synthorg_tui.settings.document import (
    Document,
    SettingPath,
    parse_value,
    read_document,
)

CONFIG_FILE_NAME: Final = "company.yaml"
CONFIG_FILE_VARIABLE: Final = "SYNTHORG_CONFIG"
PREFIX: Final = "SYNTHORG__"
_SEPARATOR: Final = "__"


@dataclass(frozen=True, slots=True)
class Layers:
    """What was given in a file and by variables, before defaults and what is kept in the store.

    ``asked`` is the path that was asked for, ``source`` the file that was read; ``given`` has the
    values of both, ``variables`` the name of the variable that set each path. ``kept`` are the
    settings in which a value that is kept in the store was taken instead.
    """

    asked: Path | None
    source: Path | None
    document: Document
    given: dict[str, object]
    variables: dict[SettingPath, str]
    kept: frozenset[str] = frozenset()


def default_config_file() -> Path:
    """Return the path of the user's settings file, used if it exists and no other is named."""
    return platformdirs.user_config_path(APP_NAME, appauthor=False) / CONFIG_FILE_NAME


def themes_folder(path: Path | None = None, *, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the themes that a person wrote: ``themes`` beside the settings file.

    Neither of the two need exist.
    """
    named = path or environ.get(CONFIG_FILE_VARIABLE)
    return (expand_home(named) if named else default_config_file()).parent / "themes"


def config_file(
    path: Path | None = None, *, environ: Mapping[str, str] = os.environ
) -> Path | None:
    """Return the settings file in force; ``None`` when there is none.

    That is ``path``, else the file named by ``SYNTHORG_CONFIG``, else the user's own. Raises
    ``ConfigError`` when ``path`` or the variable names a file that doesn't exist.
    """
    variable = environ.get(CONFIG_FILE_VARIABLE)
    if path is None and not variable:
        usual = default_config_file()
        return usual if usual.is_file() else None
    named = expand_home(path or variable or "")
    if not named.is_file():
        origin = "--config" if path else CONFIG_FILE_VARIABLE
        raise ConfigError(f"{named}: no such file (named by {origin})")
    return named


def is_anything_set(path: Path | None = None, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether there is a settings file, or a variable that sets something.

    If not, the shipped defaults hold. Raises ``ConfigError`` as ``config_file`` does.
    """
    variables = (name for name in environ if name.startswith(PREFIX) and environ[name].strip())
    return config_file(path, environ=environ) is not None or any(variables)


def read_layers(path: Path | None, environ: Mapping[str, str]) -> Layers:
    """Read the file in force, chosen as by ``config_file``, and the variables.

    Raises ``ConfigError`` for a file that can't be read and for a variable that is none of ours.
    """
    source = config_file(path, environ=environ)
    document = read_document(source) if source is not None else Document({})
    given, variables = apply_environment(document.data, environ)
    return Layers(path, source, document, given, variables)


def apply_environment(
    data: dict[str, object], environ: Mapping[str, str]
) -> tuple[dict[str, object], dict[SettingPath, str]]:
    """Return ``data`` with the variables applied, and the name of the variable that set each path.

    Raises ``ConfigError`` for a name without a path, for a value that is no YAML, and for a path
    that leads through a list or a plain value.
    """
    origins: dict[SettingPath, str] = {}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or not environ[name].strip():
            continue
        path = tuple(name.removeprefix(PREFIX).lower().split(_SEPARATOR))
        if not all(path):
            raise ConfigError(f"{name}: not a setting; write SYNTHORG__SECTION__FIELD")
        data = _set(data, path, parse_value(environ[name], name), name)
        origins[path] = name
    return data, origins


def _set(
    data: dict[str, object], path: tuple[str, ...], value: object, name: str
) -> dict[str, object]:
    head, *rest = path
    if not rest:
        return {**data, head: value}
    inner = data.get(head)
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        kind = "a list, set it whole" if isinstance(inner, list) else "not a section"
        raise ConfigError(f"{name}: {head} is {kind}")
    return {**data, head: _set(inner, tuple(rest), value, name)}
