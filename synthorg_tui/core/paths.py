"""Paths as people write them."""

from pathlib import Path


def expand_home(path: str | Path) -> Path:
    """The path with a leading ``~`` expanded; left as it is when there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
