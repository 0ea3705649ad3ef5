"""Paths as people write them, and where this program stores its data."""

from pathlib import Path
from typing import Final

import platformdirs

APP_NAME: Final = "synthorg-tui"


def user_data_dir() -> Path:
    """The platform's directory for this user's application data."""
    return platformdirs.user_data_path(APP_NAME, appauthor=False)


def expand_home(path: str | Path) -> Path:
    """The path with a leading ``~`` expanded; left as it is when there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def short_path(path: str) -> str:
    """A path with the home directory as ``~``."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
