"""What keeps hooks from a store: told to the person once a day, and in the status line.

The notes are in the user's state directory, since a store that was moved has no place for them.
Hooks use this, so paths are text and nothing but the quick part of the standard library is loaded.
"""

import json
import os
import time

_FILE = "hooks-trouble.json"
_DAY = "%Y-%m-%d"
_LASTS = 86_400
"""Seconds after its last occurrence for which trouble is shown in the status line."""
_MAX_STORES = 20


def note(data_dir: str, reason: str, now: float) -> bool:
    """Note why the store can't be reached; return whether the person wasn't told today yet.

    ``now`` is in seconds since 1970. When the note can't be written, the answer is no: a person
    isn't told the same at every prompt.
    """
    notes = _read()
    day = time.strftime(_DAY, time.localtime(now))
    known = notes.pop(data_dir, ("", "", 0.0))
    notes[data_dir] = (reason, day, now)
    return _write(dict(list(notes.items())[-_MAX_STORES:])) and known[1] != day


def over(data_dir: str) -> None:
    """Forget the trouble with a store, which was reached; costs one look when there is none."""
    if os.path.exists(_path()) and (notes := _read()).pop(data_dir, None) is not None:
        _write(notes)


def current(now: float) -> list[str]:
    """Return what is noted of the last day, one line for each store."""
    return [told(reason) for reason, _, at in _read().values() if now - at < _LASTS]


def told(reason: str) -> str:
    """Return the line that the person is shown."""
    return f"synthorg-tui gives your agent no memories: {reason}"


def last_words(log: str) -> str:
    """Return the last line of an owner's log, which is the error of the one started last."""
    try:
        with open(log, "rb") as file:
            lines = file.read().decode("utf-8", "replace").strip().split("\n")
    except OSError:
        return "the store can't be opened"
    return lines[-1].removeprefix("error: ")


def state_file(name: str) -> str:
    """Return the path of a file in the user's state directory, which need not exist yet."""
    root = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(root, "synthorg-tui", name)


def _path() -> str:
    return state_file(_FILE)


def _read() -> dict[str, tuple[str, str, float]]:
    """Reason, day on which the person was told, and time of the last occurrence, by store."""
    try:
        with open(_path(), encoding="utf-8") as file:
            notes = json.load(file)
        return {
            str(store): (str(reason), str(day), float(at))
            for store, (reason, day, at) in notes.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):  # none, or somebody else's
        return {}


def _write(notes: dict[str, tuple[str, str, float]]) -> bool:
    path = _path()
    fresh = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump(notes, file)
        os.replace(fresh, path)
    except OSError:
        return False
    return True
