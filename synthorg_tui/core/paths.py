"""Paths as people write them, and where this program stores its data."""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import platformdirs

APP_NAME: Final = "synthorg-tui"
_MAX_WORDS: Final = 40


def user_data_dir() -> Path:
    """Return the platform's standard directory for this user's application data.

    The directory need not exist yet.
    """
    return platformdirs.user_data_path(APP_NAME, appauthor=False)


def scratch_root() -> Path:
    """Return the folder in which runs get copies of projects to work in; it need not exist yet.

    The copy of ``/home/ada/shop`` is at ``<root>/<name>/home/ada/shop``: its path alone tells whose
    copy it is, also long after it was removed, in a transcript that is read then.
    """
    return _scratch_root(os.environ.get("HOME", ""), os.environ.get("XDG_CACHE_HOME", ""))


@lru_cache(maxsize=4)
def _scratch_root(_home: str, _cache: str) -> Path:
    return Path(os.path.realpath(platformdirs.user_cache_path(APP_NAME, appauthor=False))) / "runs"


def scratch_name(unique: str, agent_id: str = "") -> str:
    """Return the name of a copy: 12 hexadecimal digits, and the agent that its sessions are of."""
    return f"{unique}@{quote(agent_id, safe='')}" if agent_id else unique


def in_place(text: str) -> str:
    """Return a text with each path in a copy of a project as the path in the project itself.

    A path of no copy stays as it is.
    """
    root = str(scratch_root())
    return _copies(root).sub("", text) if root in text else text


def scratch_agent(path: str) -> str:
    """Return whose the sessions in a copy of a project are; empty when the path tells nobody."""
    root = str(scratch_root())
    copy = _copies(root).match(path) if path.startswith(root) else None
    return unquote(copy[1] or "") if copy else ""


@lru_cache(maxsize=4)
def _copies(root: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(root)}/[0-9a-f]{{12}}(?:@([^/\s]{{0,600}}))?(?=/)")


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


def undashed(name: str) -> Path | None:
    """Return the folder whose path has the words of a name with dashes; a path may have some, too.

    ``None`` when there is none, or the name has more words than a path.
    """
    words = name.split("-")
    return None if len(words) > _MAX_WORDS or ".." in words else _folder_named(Path("/"), words)


def _folder_named(base: Path, words: Sequence[str]) -> Path | None:
    if not words:
        return base
    for count in range(1, len(words) + 1):
        folder = base / "-".join(words[:count])
        if folder.is_dir() and (found := _folder_named(folder, words[count:])) is not None:
            return found
    return None
