"""Where this application keeps its data and looks for its settings."""

from pathlib import Path

import platformdirs

from synthorg_tui.memory import config as memory_config

CONFIG_FILE_NAME = "company.yaml"


def default_data_dir() -> Path:
    """The platform's directory for this user's application data."""
    return Path(memory_config.default_data_dir())


def default_config_file() -> Path:
    """Where the user's settings are looked for when no file is named."""
    return platformdirs.user_config_path(memory_config.APP_NAME, appauthor=False) / CONFIG_FILE_NAME
