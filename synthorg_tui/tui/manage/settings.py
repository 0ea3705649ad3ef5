"""The settings screen: every value with its source, changed in place or in the person's file."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.core.files import ensure_private_dir
from synthorg_tui.tui.actions import bindings, is_text
from synthorg_tui.tui.base.editor import EditorError, edit_file
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.jobs import Recount, run_job, toast
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.setting_lines import (
    change_lines,
    setting_lines,
    setting_rows,
    settings_among,
    told,
    verdict_line,
)
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.settings.changes import SettingChange
    from synthorg_tui.settings.kept import SettingTrial
    from synthorg_tui.settings.listing import ListedSetting
    from synthorg_tui.settings.switches import Switch

_TOGGLE = ("true", "false")


class SettingsScreen(ManageScreen):
    """Lists the settings by section; changes one in place, undoes that, or opens the file."""

    BINDINGS = bindings("settings")
    CONTEXT = "settings"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "Setting"
    CHOICES = "Settings"

    settings: "tuple[ListedSetting, ...]" = ()
    _switches: "tuple[tuple[Switch, bool], ...]" = ()
    _trial: "SettingTrial | None" = None
    _edited: "ListedSetting | None" = None

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Horizontal(
            LineBar([line(("/ filter ", "accent"))], id="prompt"),
            Input(id="query", compact=True, placeholder="words in name, value or source"),
            id="entry",
        )
        yield Horizontal(
            LineBar([], id="value-prompt"),
            Input(id="value", compact=True, select_on_focus=False),
            id="value-entry",
        )

    async def load(self) -> None:
        self.settings = await self.management.kept.listed()
        self._switches = await self.management.kept.switches()
        self._list()

    def _list(self) -> None:
        words = self.query_one("#query", Input).value.casefold().split()
        self.choices.placeholder = [line(("No setting has these words.", "muted"))]
        self.choices.show(lambda width: setting_rows(self.settings, words, width, self._switches))
        found, waiting = len(settings_among(self.settings, words)), self._waiting()
        kept = sum(setting.is_kept for setting in self.settings)
        titles = [f"{found} of {len(self.settings)}"]
        titles += [f"{kept} changed ◆"] if kept else []
        titles += [f"{waiting} after a restart ↻"] if waiting else []
        self.choices.set_titles(bottom=" · ".join(titles))
        self._show()

    @property
    def setting(self) -> "ListedSetting | None":
        """The setting under the cursor."""
        return cast("ListedSetting | None", self.choices.value)

    def _show(self) -> None:
        self.say(setting_lines(self.setting) if self.setting is not None else [])
        self.refresh_bindings()

    def on_line_list_moved(self) -> None:
        """Show the setting under the cursor."""
        if self.setting is not None:  # else there may be an error
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what a key would type, and what has nothing to put back."""
        if action == "reset":
            return self.setting is not None and self.setting.is_kept and not self._is_writing
        return not is_text(action, self.focused) and super().check_action(action, parameters)

    @property
    def _is_writing(self) -> bool:
        return isinstance(self.focused, Input)

    # Changing

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Change the setting: turn it, choose a value, or write one."""
        event.stop()
        setting = self.setting
        if setting is None:
            return
        if setting.fixed:
            toast(self, f"{setting.path}: {setting.fixed}", severity="warning")
        elif setting.choices == _TOGGLE:
            self._act(partial(self._change, setting, _TOGGLE[setting.written == "true"]))
        elif setting.choices:
            self._choose(setting)
        else:
            run_job(self, partial(self._write, setting), group="write", failed=self._refuse)

    def _choose(self, setting: "ListedSetting") -> None:
        from synthorg_tui.tui.base.choosing import ChoiceDialog

        def make(_width: int) -> list[tuple[object, Line]]:
            return [(value, line((value, "text"))) for value in setting.choices]

        def chosen(value: object) -> None:
            if value is not None:
                self._act(partial(self._change, setting, str(value)))

        hint = "↵ takes it · esc leaves"
        dialog = ChoiceDialog(setting.path, hint, make, chosen=setting.written)
        self.app.push_screen(dialog, chosen)

    async def _write(self, setting: "ListedSetting") -> None:
        """Open the entry for a value, which is checked as it is written."""
        self._trial, self._edited = await self.management.kept.trial(), setting
        prompt = line((f"{setting.path.rpartition('.')[2]} = ", "accent"))
        bar = self.query_one("#value-prompt", LineBar)
        bar.show(prompt)
        bar.styles.width = prompt.width
        self.add_class("-writing")
        entry = self.query_one("#value", Input)
        entry.value = setting.written
        entry.cursor_position = len(entry.value)
        entry.focus()
        self._check_value()

    def _problem(self) -> str:
        """What is wrong with the written value; empty when it can be taken."""
        if self._trial is None or self._edited is None:
            return ""
        try:
            self._trial.parsed(self._edited.path, self.query_one("#value", Input).value)
        except ConfigError as error:
            return error.message
        return ""

    @on(Input.Changed, "#value")
    def _check_value(self) -> None:
        if self._edited is not None:
            self.say(setting_lines(self._edited, verdict_line(self._problem())))

    @on(Input.Submitted, "#value")
    def _take_value(self) -> None:
        setting, written = self._edited, self.query_one("#value", Input).value
        if setting is None or self._problem():
            return  # what is wrong stands beside it
        seen = self._trial.said(setting.path) if self._trial is not None else None
        self._act(partial(self._change, setting, written, seen))

    def _leave_value(self) -> None:
        self._trial = self._edited = None
        self.remove_class("-writing")
        self.choices.focus()
        self._show()

    async def _change(
        self, setting: "ListedSetting", written: str, seen: str | None = None
    ) -> "SettingChange":
        return await self.management.kept.change(setting.path, written, seen)

    def action_reset(self) -> None:
        """Forget what was changed: the file holds again, or the default."""
        if (setting := self.setting) is not None and setting.is_kept:
            self._act(partial(self.management.kept.reset, setting.path))

    def action_undo(self) -> None:
        """Undo the last change, also one of an earlier run."""
        self._act(self.management.kept.undo)

    def action_redo(self) -> None:
        """Make the change again that was undone last."""
        self._act(self.management.kept.redo)

    def _act(self, act: "Callable[[], Awaitable[SettingChange]]") -> None:
        run_job(self, partial(self._do, act), group="act", newest_only=False, failed=self._refuse)

    async def _do(self, act: "Callable[[], Awaitable[SettingChange]]") -> None:
        change = await act()
        if self._edited is not None:
            self._leave_value()
        await self.load()
        self.post_message(Recount())
        if change.takes == "agreement":
            await self._ask(change)
        else:
            holds = change.takes != "overruled"
            toast(self, told(change), severity="information" if holds else "warning")

    async def _ask(self, change: "SettingChange") -> None:
        """Ask for the yes that a looser safety setting needs; without it nothing changes."""
        from synthorg_tui.tui.safety import LoosenedDialog

        asked = tuple(
            found for found in await self.management.kept.asks() if found.path == change.path
        )

        async def agree() -> None:
            await self.management.kept.agree(asked)
            await self.load()
            self.post_message(Recount())
            toast(self, f"{change.path}: {change.after}; you agreed to it")

        def answered(sure: bool | None) -> None:
            if sure:
                run_job(self, agree, group="act", newest_only=False, failed=self._refuse)
            else:
                self.action_undo()

        self.app.push_screen(LoosenedDialog(asked, "What you changed here"), answered)

    def _refuse(self, error: DomainError) -> None:
        """Say why something wasn't done; the list stays as it was."""
        remedy = f" {error.remedy}" if error.remedy else ""
        toast(self, f"{one_line(error.message)}.{remedy}", severity="error")
        if (setting := self._edited) is not None:  # the file may say something else now
            run_job(self, partial(self._look_again, setting), group="write", failed=self.fail)

    async def _look_again(self, setting: "ListedSetting") -> None:
        self._trial = await self.management.kept.trial()
        await self.load()
        self._edited = next((it for it in self.settings if it.path == setting.path), setting)
        self._check_value()

    def action_versions(self) -> None:
        """List who changed which setting, and when."""

        async def show() -> None:
            self.say(change_lines(await self.management.kept.changes(), self.now()))

        run_job(self, show, group="changes", failed=self.fail)

    # Filtering

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
        """Leave what is written, the filter, then the screen."""
        entry = self.query_one("#query", Input)
        if self._edited is not None:
            self._leave_value()
        elif entry.has_focus or entry.value:
            entry.value = ""
            self._leave_entry()
        else:
            super().action_close()

    # The file

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
        """Read the file again, let it hold where it can, and say what is wrong with it."""
        run_job(self, partial(self._check), group="load", failed=self.fail)

    async def _check(self) -> None:
        await self.management.kept.refresh()
        await self.load()
        self.post_message(Recount())
        if not self._waiting():
            toast(self, f"{self.management.settings_file()}: no problem was found")

    def _waiting(self) -> int:
        return sum(setting.waits for setting in self.settings)
