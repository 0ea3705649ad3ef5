"""Paths as people write them, and where this program stores its data."""

from pathlib import Path
from typing import Final

import platformdirs

APP_NAME: Final = "synthorg-tui"


def user_data_dir() -> Path:
    """Return the platform's standard directory for this user's application data.

    The directory need not exist yet.
    """
    return platformdirs.user_data_path(APP_NAME, appauthor=False)


def expand_home(path: str | Path) -> Path:
    """Return the path with a leading ``~`` expanded, or unchanged when there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def short_path(path: str) -> str:
    """Return the path for display, with the user's home directory abbreviated to ``~``."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
