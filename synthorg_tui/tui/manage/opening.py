"""Opens the screens about the whole, from any pane.

The modules of the screens are loaded when they are asked for; the app only knows their names.
"""

import importlib
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.suggester import Suggester
from textual.widgets import Input

from synthorg_tui.core.paths import expand_home
from synthorg_tui.tui.base.dialogs import PromptDialog
from synthorg_tui.tui.jobs import toast
from synthorg_tui.tui.manage.adapter import StoreManagement
from synthorg_tui.tui.memories.screen import MemoriesScreen

SCREENS: Final = {
    "doctor": "DoctorScreen",
    "backups": "BackupsScreen",
    "jobs": "JobsScreen",
    "projects": "ProjectsScreen",
    "consolidation": "ConsolidationScreen",
    "connecting": "ConnectScreen",
    "agents": "AgentsScreen",
    "settings": "SettingsScreen",
    "overview": "OverviewScreen",
    "runs": "RunsScreen",
    "models": "ModelsScreen",
    "fine_tune": "FineTuneScreen",
}
"""The screens: module in this room and class."""
ROOMS: Final = {name: f"{name}.screen" for name in ("overview", "runs", "models", "fine_tune")}
"""The modules of the screens that have a room of their own."""


def open_screen(
    app: App[Any], name: str, management: StoreManagement, now: Callable[[], datetime]
) -> None:
    """Open the screen of this name, one of ``SCREENS``."""
    place = ROOMS.get(name, f"manage.{name}")
    module = importlib.import_module(f"synthorg_tui.tui.{place}")
    app.push_screen(getattr(module, SCREENS[name])(management, now))


def open_project(
    app: App[Any], project: str, management: StoreManagement, now: Callable[[], datetime]
) -> None:
    """Open the page of the project in this folder."""
    from synthorg_tui.tui.manage.projects import ProjectScreen

    app.push_screen(ProjectScreen(management, now, project))


def ask_for_path(app: App[Any], memories: MemoriesScreen) -> None:
    """Ask for a file or folder, and import the transcripts there in the background."""
    if memories.desk is None:
        toast(app, "The store isn't open yet", severity="warning")
        return
    app.push_screen(PathDialog(), partial(_import, app, memories))


def _import(app: App[Any], memories: MemoriesScreen, answer: str | None) -> None:
    if answer is None:
        return
    path = expand_home(answer)
    if path.exists():
        memories.run_import([path])
    else:
        toast(app, f"There is no file or folder {path}", severity="error")


class PathDialog(PromptDialog):
    """A prompt for a path, which offers the rest of a name that exists."""

    def __init__(self) -> None:
        hint = "A folder or file of transcripts · → completes · esc leaves"
        super().__init__("Import from which path?", "~/", hint=hint)

    def on_mount(self) -> None:
        entry = self.query_one("#answer", Input)
        entry.select_on_focus = False
        entry.suggester = PathSuggester()


class PathSuggester(Suggester):
    """Offers the first file or folder that begins as what is written."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        head, slash, begun = value.rpartition("/")
        names = _names(expand_home(head + slash or "."))
        found = next((name for name in names if name.startswith(begun) and name != begun), None)
        return f"{head}{slash}{found}" if found else None


def _names(folder: Path) -> Iterable[str]:
    """The names in a folder, those of folders first and with a slash, hidden ones last."""
    try:
        entries = [(path.name, path.is_dir()) for path in folder.iterdir()]
    except OSError:
        return ()
    entries.sort(key=lambda entry: (entry[0].startswith("."), not entry[1], entry[0]))
    return [name + "/" * is_folder for name, is_folder in entries]
