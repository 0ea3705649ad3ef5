"""Open a text in the person's own editor while the app is suspended."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported


class EditorError(Exception):
    """Raised if the editor can't be run; the message says why."""


def edit_text(app: App[None], text: str) -> str:
    """Open the text in ``$VISUAL``, ``$EDITOR`` or ``vi`` and return it as saved there.

    The app is suspended until the editor exits.

    Raises:
        EditorError: The editor could not be run.
    """
    with tempfile.TemporaryDirectory(prefix="synthorg-") as folder:
        path = Path(folder) / "memory.md"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        edit_file(app, path)
        edited = path.read_text(encoding="utf-8", errors="replace")
    return edited if text.endswith("\n") else edited.removesuffix("\n")


def edit_file(app: App[None], path: Path) -> None:
    """Open the file in the person's editor, and wait for the editor to exit.

    Raises:
        EditorError: The editor could not be run.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with app.suspend():
            done = subprocess.run([*shlex.split(command), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise EditorError(f"{command} can't be run: {error}") from error
    except SuspendNotSupported as error:
        raise EditorError("This terminal can't step aside for an editor") from error
    if done.returncode != 0:
        raise EditorError(f"{command} ended with code {done.returncode}: nothing changed")
