"""Where settings are looked for; loads no model of them."""

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.paths import APP_NAME, expand_home
from synthorg_tui.settings.environment import CONFIG_FILE_VARIABLE, PREFIX

CONFIG_FILE_NAME = "company.yaml"


def default_config_file() -> Path:
    """Where the user's settings are looked for when no file is named."""
    return platformdirs.user_config_path(APP_NAME, appauthor=False) / CONFIG_FILE_NAME


def config_file(
    path: Path | None = None, *, environ: Mapping[str, str] = os.environ
) -> Path | None:
    """The settings file in force; ``None`` when there is none.

    Raises ``ConfigError`` when a file was named that doesn't exist.
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
    """Whether a file or a variable sets anything; if not, the shipped defaults hold.

    Raises ``ConfigError`` when a file was named that doesn't exist.
    """
    variables = (name for name in environ if name.startswith(PREFIX) and environ[name].strip())
    return config_file(path, environ=environ) is not None or any(variables)
