"""Open a text in the person's own editor while the app is suspended."""

import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported

from synthorg_tui.core.editor import EditorError, run_editor

__all__ = ["EditorError", "edit_file", "edit_text"]


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


def edit_file(app: App[None], path: Path, *, line: int = 0) -> None:
    """Open the file in the person's editor, at a line if it takes one, and wait for it to exit.

    Raises:
        EditorError: The editor could not be run.
    """
    try:
        with app.suspend():
            run_editor(path, line=line)
    except SuspendNotSupported as error:
        raise EditorError("This terminal can't step aside for an editor") from error
