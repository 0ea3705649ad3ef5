"""The interface state stored in ``ui.json``.

The file only holds preferences and may be deleted at any time: a value that is missing or invalid
is replaced by its default. Nothing of the store belongs here.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from synthorg_tui.core.files import PRIVATE_FILE, write_atomically
from synthorg_tui.memory.listing import SORT_ORDERS, SortOrder
from synthorg_tui.tui.panes import PANES
from synthorg_tui.tui.themes import DARK

VERSION = 1
FILE_NAME = "ui.json"
MIN_SPLIT, MAX_SPLIT = 30, 75
_MAX_BYTES = 100_000


@dataclass(slots=True)
class UiState:
    """The stored preferences, such as theme and order.

    ``split`` is the share of the list in percent, ``pane`` the mode of the pane shown last,
    ``span`` how far back the overview goes.
    """

    pane: str = PANES[0][0]
    theme: str = DARK
    sort: SortOrder = "newest"
    split: int = 62
    facets: bool = True
    span: str = "30d"
    keymap: dict[str, str] = field(default_factory=dict)


def load_state(path: Path | None) -> UiState:
    """Read the stored preferences; missing or invalid ones have their default values."""
    state = UiState()
    try:
        if path is None or path.stat().st_size > _MAX_BYTES:
            return state
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return state
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        return state
    for name in (known.name for known in fields(UiState)):
        if name in stored and _sensible(name, stored[name]):
            setattr(state, name, stored[name])
    return state


class StateFile:
    """The file of the preferences, written only when they differ from what it holds."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.state = load_state(path)
        self._stored = replace(self.state)

    def save(self) -> None:
        """Write the preferences if any of them has changed since they were read or written."""
        if self.state != self._stored:
            self._stored = replace(self.state)
            save_state(self._path, self.state)


def keymap_of(app: object) -> Mapping[str, str]:
    """Return the keys the person chose, by action id; empty for an app without ``UiState``."""
    state = getattr(app, "state", None)
    return state.keymap if isinstance(state, UiState) else {}


def save_state(path: Path | None, state: UiState) -> None:
    """Write the preferences atomically; an error of the file system is ignored."""
    if path is None or not path.parent.is_dir():
        return
    text = json.dumps({"version": VERSION, **asdict(state)}, indent=2) + "\n"
    with suppress(OSError):
        write_atomically(path, text.encode(), mode=PRIVATE_FILE, durable=False)


def _sensible(name: str, value: object) -> bool:
    if name == "sort":
        return value in SORT_ORDERS
    if name == "split":
        return type(value) is int and MIN_SPLIT <= value <= MAX_SPLIT
    if name == "pane":
        return any(value == mode for mode, _, _ in PANES)
    if name == "facets":
        return isinstance(value, bool)
    if name == "keymap":
        return isinstance(value, dict) and all(
            isinstance(part, str) and part for pair in value.items() for part in pair
        )
    return isinstance(value, str) and len(value) < 1000
