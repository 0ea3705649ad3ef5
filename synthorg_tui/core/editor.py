"""A person's own editor: which command it is, and running it on a file.

Whoever draws on the terminal steps aside before; that is not known here. Nothing an agent or a
file says may choose the command: it comes from the person's environment alone.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError

_TAKES_LINE: Final = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe"}
)
"""Editors that take ``+LINE`` before the file; others would take it for a file."""
_DEFAULT: Final = "vi"


class EditorError(DomainError):
    """Raised if the editor can't be run; the message says why."""


def editor_command(
    path: Path, *, line: int = 0, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the command that opens a file in ``$VISUAL``, ``$EDITOR`` or ``vi``.

    With ``line``, from 1, the cursor starts there in editors that are known to take one. Raises
    ``EditorError`` for a command that can't be read.
    """
    named = environ.get("VISUAL") or environ.get("EDITOR") or _DEFAULT
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise EditorError(f"{named} can't be run: {error}") from error
    if not words:
        raise EditorError(f"{named!r} is no editor", remedy="Set EDITOR.")
    takes_line = line > 0 and Path(words[0]).name in _TAKES_LINE
    return [*words, *([f"+{line}"] if takes_line else []), str(path)]


def run_editor(path: Path, *, line: int = 0) -> None:
    """Open a file in the person's editor, and wait for the editor to exit.

    It starts in the file's own folder: a project's may hold settings that editors execute. Raises
    ``EditorError`` when it can't be run, or says that it failed.
    """
    command = editor_command(path, line=line)
    try:
        done = subprocess.run(command, cwd=path.absolute().parent, check=False)
    except (OSError, ValueError) as error:
        raise EditorError(f"{command[0]} can't be run: {error}") from error
    if done.returncode != 0:
        raise EditorError(f"{command[0]} ended with code {done.returncode}: nothing changed")
