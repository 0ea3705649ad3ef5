"""The settings screen: every value with its source, and the file in the person's editor."""

from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import ensure_private_dir
from synthorg_tui.tui.actions import bindings, is_text
from synthorg_tui.tui.base.editor import EditorError, edit_file
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.lines import setting_line, setting_lines, settings_among
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.settings.listing import ListedSetting


class SettingsScreen(ManageScreen):
    """Lists the settings; changes are made in the file, which is checked afterwards."""

    BINDINGS = bindings("settings")
    CONTEXT = "settings"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "Setting"
    CHOICES = "Settings"

    settings: "tuple[ListedSetting, ...]" = ()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Horizontal(
            LineBar([line(("/ filter ", "accent"))], id="prompt"),
            Input(id="query", compact=True, placeholder="words in name, value or source"),
            id="entry",
        )

    async def load(self) -> None:
        self.settings = await self.management.settings()
        self._list()

    def _list(self) -> None:
        words = self.query_one("#query", Input).value.casefold().split()
        found = settings_among(self.settings, words)

        def draw(width: int) -> list[tuple[object, Line]]:
            return [(setting, setting_line(setting, width)) for setting in found]

        self.choices.placeholder = [line(("No setting has these words.", "muted"))]
        self.choices.show(draw)
        shown, waiting = f"{len(found)} of {len(self.settings)}", self._waiting()
        restart = f" · {counted(waiting, 'change')} after a restart (↻)" if waiting else ""
        self.choices.set_titles(bottom=shown + restart)
        self._show()

    def _show(self) -> None:
        setting = cast("ListedSetting | None", self.choices.value)
        self.say(setting_lines(setting) if setting is not None else [])

    def on_line_list_moved(self) -> None:
        """Show the setting under the cursor."""
        if self.choices.value is not None:  # else there may be an error
            self._show()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Open the file to change the setting."""
        event.stop()
        self.action_edit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what a key would type."""
        return not is_text(action, self.focused) and super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Filter while the person types."""
        self.add_class("-entering")
        self.query_one("#query", Input).focus()

    @on(Input.Changed, "#query")
    def _typed(self) -> None:
        self._list()

    @on(Input.Submitted, "#query")
    def _entered(self) -> None:
        self._leave_entry()

    def _leave_entry(self) -> None:
        self.remove_class("-entering")
        self.choices.focus()

    def action_close(self) -> None:
        """Leave the filter, then the screen."""
        entry = self.query_one("#query", Input)
        if entry.has_focus or entry.value:
            entry.value = ""
            self._leave_entry()
        else:
            super().action_close()

    def action_edit(self) -> None:
        """Open the settings file in the person's editor, then check it."""
        from synthorg_tui.approvals.person import require_no_agent

        try:
            require_no_agent()
            path = self.management.settings_file()
            ensure_private_dir(path.parent)
            edit_file(self.app, path)
        except EditorError as error:
            toast(self, str(error), severity="error")
        except DomainError as error:
            self.fail(error)
        else:
            self.action_check()

    def action_check(self) -> None:
        """Read the file again and say what is wrong with it, or what changes."""
        run_job(self, partial(self._check), group="load", failed=self.fail)

    async def _check(self) -> None:
        await self.load()
        if not self._waiting():
            toast(self, f"{self.management.settings_file()}: no problem was found")

    def _waiting(self) -> int:
        return sum(setting.waits for setting in self.settings)
