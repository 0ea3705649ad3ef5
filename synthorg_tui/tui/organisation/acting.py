"""The keys of the Organisation pane that change entries, and those that lead elsewhere.

What is listed and drawn is the screen's, which inherits from this. A key that does nothing says
why: in the past nothing is written, and what isn't a fact is changed where it lives.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.editor import EditorError, edit_file, edit_text
from synthorg_tui.tui.base.formatting import moment
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.jobs import copy, error_toast, run_job, toast
from synthorg_tui.tui.organisation.adapter import EngineOrganisation, EntryText
from synthorg_tui.tui.organisation.detail import read_only_why
from synthorg_tui.tui.organisation.lines import confirm_lines
from synthorg_tui.tui.organisation.state import Entries

WRITES: Final = ("add", "edit", "edit_outside", "retract", "revive", "undo")
"""The actions that change something, which the past has none of."""
_SLIDING: Final = ("older", "newer", "day_earlier", "day_later", "week_earlier", "week_later")


class EntryActions(Pane):
    """A pane over entries, with what a person does with the one under the cursor."""

    entries: Entries

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.entries = Entries(self.now)
        self._unsaved: dict[str, str] = {}
        self._sought: OrgEntry | None = None

    @property
    def entry(self) -> OrgEntry | None:
        """The entry under the cursor."""
        raise NotImplementedError

    @property
    def port(self) -> EngineOrganisation | None:
        """What the organisation knows, once the store is open."""
        return self.desk.organisation if self.desk is not None else None

    def offers(self, method: str) -> bool:
        """Return whether the footer offers an action: the slider only where there is a past."""
        return super().offers(method) and (method not in _SLIDING or bool(self.entries.moments))

    def dims(self, method: str) -> bool:
        """Return whether the footer dims an action: nothing is written in the past."""
        return self.entries.at is not None and method in WRITES

    # What the acts share

    def _writable(self) -> EngineOrganisation | None:
        """What to write with, unless the past is shown, which is said then."""
        if self.entries.at is not None:
            then = moment(self.entries.at, self.now())
            back = f"{key_of('organisation.back')} goes back to now, where it can be changed"
            toast(self, f"This is how it was: {then}. {back}", severity="warning")
            return None
        if self.port is None:
            toast(self, "The store is not open", severity="warning")
        return self.port

    def _chosen(self) -> tuple[EngineOrganisation, OrgEntry] | None:
        """The fact under the cursor and what changes it; else it is said why there is none."""
        port, entry = self._writable(), self.entry
        if port is None:
            return None
        if entry is None:
            toast(self, "There is no entry under the cursor", severity="warning")
        elif entry.origin is not OrgOrigin.FACT:
            toast(self, read_only_why(entry), severity="warning")
        else:
            return port, entry
        return None

    def _changed(self, message: str | None) -> None:
        if message:
            toast(self, message)
            self.reload()

    def _act(
        self,
        act: Callable[[], Awaitable[OrgEntry]],
        done: Callable[[OrgEntry], str],
        failed: Callable[[DomainError], None] | None = None,
    ) -> None:
        """Run a change, show what it did, and go to what it was about."""

        async def run() -> None:
            self._sought = await act()
            self._changed(done(self._sought))

        run_job(self, run, group="change", newest_only=False, failed=failed)

    # Writing

    def action_add(self) -> None:
        """Write a new entry."""
        from synthorg_tui.tui.organisation.form import EntryForm

        port = self._writable()
        if port is None:
            return

        async def add(new: EntryText) -> str:
            self._sought = await port.add(new)
            return f"Added · {key_of('organisation.undo')} takes it back"

        self.app.push_screen(EntryForm(None, add), self._changed)

    def action_edit(self) -> None:
        """Write a new version in a form."""
        from synthorg_tui.tui.organisation.form import EntryForm

        chosen = self._chosen()
        if chosen is None:
            return
        port, entry = chosen

        async def edit(new: EntryText) -> str:
            if new == text_of(entry):
                return "Nothing was changed"
            self._sought = await port.edit(entry, new)
            return _saved(self._sought)

        self.app.push_screen(EntryForm(entry, edit), self._changed)

    def action_edit_outside(self) -> None:
        """Write a new version in $EDITOR; a text that can't be stored is there the next time."""
        chosen = self._chosen()
        if chosen is None:
            return
        port, entry = chosen
        try:
            text = edit_text(self.app, self._unsaved.get(entry.id, entry.content))
        except EditorError as error:
            toast(self, str(error), severity="error")
            return
        if not text.strip() or text == entry.content:
            self._unsaved.pop(entry.id, None)
            toast(self, "Nothing was changed" if text.strip() else "The text was empty")
            return
        self._unsaved[entry.id] = text

        def done(saved: OrgEntry) -> str:
            self._unsaved.pop(entry.id, None)
            return _saved(saved)

        def failed(error: DomainError) -> None:
            goes_on = f"{key_of('organisation.edit_outside')} goes on where you were."
            error_toast(self, DomainError(error.message, remedy=f"{error.remedy} {goes_on}"))

        new = replace(text_of(entry), content=text)
        self._act(lambda: port.edit(entry, new), done, failed)

    def action_retract(self) -> None:
        """Take the entry out of force, after asking."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        chosen = self._chosen()
        if chosen is None:
            return
        port, entry = chosen
        if entry.retracted_at is not None:
            back = f"{key_of('organisation.revive')} puts it in force again"
            toast(self, f"It is retracted already: {back}", severity="warning")
            return
        undo = f"{key_of('organisation.undo')} undoes this."
        dialog = ConfirmDialog(
            "Retract this entry?",
            confirm_lines([entry], self.now()),
            yes="Retract",
            note=f"No agent is told it any more; its history is kept. {undo}",
        )

        def done(_: OrgEntry) -> str:
            return f"Retracted · {key_of('organisation.undo')} puts it in force again"

        def answered(sure: bool | None) -> None:
            if sure:
                self._act(lambda: port.retract(entry.id), done)

        self.app.push_screen(dialog, answered)

    def action_revive(self) -> None:
        """Put a retracted entry in force again."""
        chosen = self._chosen()
        if chosen is None:
            return
        port, entry = chosen
        if entry.retracted_at is None:
            takes = f"{key_of('organisation.retract')} takes it out"
            toast(self, f"It is in force: {takes}", severity="warning")
            return

        def done(revived: OrgEntry) -> str:
            undo = f"{key_of('organisation.undo')} takes it out"
            return f"In force again, as version {revived.version} · {undo}"

        self._act(lambda: port.revive(entry.id), done)

    def action_undo(self) -> None:
        """Take back the person's last change."""
        port = self._writable()
        if port is None:
            return

        async def undo() -> None:
            told, self._sought = await port.undo()
            self._changed(told)

        run_job(self, undo, group="change", newest_only=False)

    # Elsewhere

    def action_memory(self) -> None:
        """Go to where an entry lives that is only listed here."""
        entry, port = self.entry, self.port
        maker = self.app.maker  # type: ignore[attr-defined]
        if entry is None or port is None:
            self.lacks_row("entry")
        elif entry.origin is OrgOrigin.SETTINGS:
            self.app.call_later(self.app.run_action, "manage('settings')")
        elif entry.origin is OrgOrigin.SKILL:
            maker.show_skill(entry.id)
        elif entry.origin is OrgOrigin.SHARED:
            run_job(self, partial(self._show_memory, port, entry), group="memory")
        else:
            toast(self, f"It lives here: {key_of('organisation.edit')} edits it")

    async def _show_memory(self, port: EngineOrganisation, entry: OrgEntry) -> None:
        row = await port.memory(entry.id)
        if row is None:
            toast(self, "This memory is no longer in the store", severity="warning")
        else:
            self.app.maker.show_memory(row)  # type: ignore[attr-defined]

    def action_source(self) -> None:
        """Open the file that the entry was read from, at its line."""
        entry = self.entry
        if entry is None:
            self.lacks_row("entry")
            return
        if not entry.traits.source:
            toast(self, "It names no file: it was written here", severity="warning")
            return
        name, _, at = entry.traits.source.partition("#L")
        path = Path(entry.traits.project or Path.home()) / name
        if not path.is_file():
            toast(self, f"{path} is no file any more", severity="warning")
            return
        try:
            edit_file(self.app, path, line=int(at) if at.isascii() and at.isdigit() else 0)
        except EditorError as error:
            toast(self, str(error), severity="error")

    def action_known(self) -> None:
        """Show what is known of the entry's project."""
        if not self.lacks_row("entry") and self.entry is not None:
            self.app.maker.show_project(self.entry.traits.project)  # type: ignore[attr-defined]

    def copy_chosen(self) -> None:
        """Copy the text of the entry."""
        if not self.lacks_row("entry") and self.entry is not None:
            copy(self, self.entry.content)
            toast(self, "Sent the text of the entry to the terminal's clipboard")


def text_of(entry: OrgEntry) -> EntryText:
    """Return what a person can write of an entry, as it is."""
    traits = entry.traits
    return EntryText(entry.category, entry.content, traits.project, traits.others)


def _saved(entry: OrgEntry) -> str:
    return f"Saved version {entry.version} · {key_of('organisation.undo')} takes it back"
