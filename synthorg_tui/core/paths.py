"""Paths as people write them, and where this program stores its data."""

import re
from pathlib import Path
from typing import Final

import platformdirs

APP_NAME: Final = "synthorg-tui"
_HIDDEN_DIRECTORY = re.compile(r"(?P<root>.+?)/\.(?:claude/|git/|codex/)?worktrees/[^/]+")
_SIBLING = re.compile(r"(?P<above>.*/)?(?P<name>[^/]+)[-._]worktrees?/[^/]+")


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


def repository_of(project: str) -> str:
    """Return the folder of the repository that a project's folder belongs to, as far as it tells.

    A worktree in a hidden folder of its repository belongs to that, one in ``<name>-worktrees`` to
    ``<name>`` beside it. Any other folder is its own repository.
    """
    path = project.replace("\\", "/").rstrip("/") or "/"
    if match := _HIDDEN_DIRECTORY.fullmatch(path):
        return match["root"]
    match = _SIBLING.fullmatch(path)
    return f"{match['above'] or ''}{match['name']}" if match else path
