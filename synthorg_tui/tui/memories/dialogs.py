"""What a person does with memories in another screen: forms, questions, the editor, an import.

The Memories pane starts each of these with a key. Here is what is asked, and which change follows
from the answer; the change itself and its undo are in ``changes``, the screens in their own files.
Nothing of filters, cursor or marks belongs here.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.editor import EditorError, edit_text
from synthorg_tui.tui.base.formatting import memories
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.engine_adapter import Draft, EngineAdapter, MemoryReader
from synthorg_tui.tui.jobs import error_toast, run_job, toast
from synthorg_tui.tui.memories.changes import Act, PersonChanges, default_name, write_file
from synthorg_tui.tui.memories.import_run import ImportRun
from synthorg_tui.tui.memories.lines import memory_line
from synthorg_tui.tui.memories.state import Listing
from synthorg_tui.tui.memories.view import MemoriesBody
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.tui.base.dialogs import ConfirmDialog
    from synthorg_tui.tui.memories.welcome import WelcomeScreen


_TITLE = 70
MAX_NEAR = 3
"""Memories that say nearly the same, shown before one is deleted."""


class MemoryDialogs:
    """Opens the dialogs of a pane over a listing, and makes the changes they are answered with.

    ``ready`` gives the open store, or says why there is none; ``reload_top`` reads the listing
    from its first row, where what was imported appears, ``more`` soon and where it is;
    ``added`` is told the id of a new memory.
    """

    def __init__(
        self,
        pane: Pane,
        listing: Listing,
        *,
        ready: Callable[[], EngineAdapter | None],
        reload_top: Callable[[], None],
        more: Callable[[], None],
        added: Callable[[str], None],
    ) -> None:
        self._pane = pane
        self._listing = listing
        self._ready = ready
        self._reload_top = reload_top
        self._added = added
        self._changes = PersonChanges()
        self.importing = ImportRun(pane, more)
        self.welcome: WelcomeScreen | None = None

    @property
    def _row(self) -> ListedMemory | None:
        return self._pane.query_one(MemoriesBody).rows.row

    def _chosen(self) -> tuple[EngineAdapter, ListedMemory] | None:
        """The memory under the cursor and what to change it with, once both are there."""
        row, desk = self._row, self._ready()
        return (desk, row) if row is not None and desk is not None else None

    def _editable(self) -> tuple[EngineAdapter, ListedMemory] | None:
        """The same, but for an archived memory, which stays as it is until it is live again."""
        chosen = self._chosen()
        if chosen is not None and chosen[1].archived_at is not None:
            why = f"It is archived: {key_of('memories.restore')} makes it live, then edit it"
            toast(self._pane, why, severity="warning")
            return None
        return chosen

    def _do(self, act: Act, failed: Callable[[DomainError], None] | None = None) -> None:
        """Run a change; show what it did, then read the store again."""

        async def run() -> None:
            self._changes.final = self._listing.facets.final
            self._changed(await act())

        run_job(self._pane, run, group="change", newest_only=False, failed=failed)

    def _changed(self, message: str | None) -> None:
        if message:
            self._pane.query_one(MemoriesBody).detail.forget_history()
            toast(self._pane, message)
            self._pane.reload()

    # Changes

    def add(self) -> None:
        """Write a new memory."""
        from synthorg_tui.tui.base.form import MemoryForm, Written

        desk = self._ready()
        if desk is None:
            return

        added = list[str]()

        async def add(new: Written) -> str:
            draft = Draft(new.agent_id, new.category, new.content or "", new.tags, new.project)
            return await self._changes.add(desk, draft, added.append)

        def written(message: str | None) -> None:
            for memory_id in added:
                self._added(memory_id)
            self._changed(message)
            for memory_id in added:
                work = partial(self._tell_near, desk, memory_id, message or "")
                run_job(self._pane, work, group="near", failed=lambda _: None)

        agents = self._listing.facets.named_agents
        self._pane.app.push_screen(MemoryForm(None, agents, add), written)

    async def _tell_near(self, desk: EngineAdapter, memory_id: str, message: str) -> None:
        """Say besides what the new memory is much like, once that is found."""
        found = await desk.similar(memory_id)
        if found:
            title = one_line(found[0].content[: 4 * _TITLE])[:_TITLE]
            toast(self._pane, f"{message} · Much like: {title}", severity="warning")

    def edit(self) -> None:
        """Edit the memory under the cursor in a form."""
        from synthorg_tui.tui.base.form import MemoryForm, Written

        chosen = self._editable()
        if chosen is None:
            return
        desk, row = chosen

        async def edit(written: Written) -> str:
            return await self._changes.edit(desk, row, written.change(row))

        self._pane.app.push_screen(MemoryForm(row, (), edit), self._changed)

    def edit_outside(self) -> None:
        """Edit the content in $EDITOR; a text that can't be stored is there the next time."""
        chosen = self._editable()
        if chosen is None:
            return
        desk, row = chosen
        try:
            text = edit_text(self._pane.app, self._changes.text_of(row))
        except EditorError as error:
            toast(self._pane, str(error), severity="error")
            return

        def failed(error: DomainError) -> None:
            goes_on = f"{key_of('memories.edit_outside')} goes on where you were."
            remedy = f"{error.remedy} {goes_on}".strip()
            error_toast(self._pane, DomainError(error.message, remedy=remedy))

        if text.strip():
            self._do(lambda: self._changes.edit_content(desk, row, text), failed)
        else:
            self._changes.forget_text(row)
            toast(self._pane, "The text was empty: nothing changed", severity="warning")

    def delete(self) -> None:
        """Delete the marked memories in view, or the one under the cursor, after asking."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        listing, desk = self._listing, self._ready()
        rows = listing.targets(self._row)
        if not rows or desk is None:
            return
        listed = [memory_line(row, 60, now=self._pane.now(), marked=False) for row in rows]
        hidden = len(listing.marks) - len(rows)
        stay = f"The {hidden:,} marked ones that the filter hides are not deleted. "
        undo = f"{key_of('memories.undo')} undoes this."
        if listing.facets.final:
            undo = "They are gone for good: this backend restores nothing."
        note = (stay if hidden > 0 else "") + undo
        ids = [row.id for row in rows]

        async def delete() -> str:
            message = await self._changes.delete(desk, ids)
            listing.marks = listing.marks.without(ids)
            return message

        dialog = ConfirmDialog(f"Delete {memories(len(rows))}?", listed, yes="Delete", note=note)
        self._pane.app.push_screen(dialog, lambda yes: self._do(delete) if yes else None)
        if len(rows) == 1:
            work = partial(self._show_near, dialog, desk, rows[0])
            begin = partial(run_job, self._pane, work, group="near", failed=lambda _: None)
            dialog.call_after_refresh(begin)

    async def _show_near(
        self, dialog: "ConfirmDialog", desk: EngineAdapter, row: ListedMemory
    ) -> None:
        """Add to the question what says nearly the same, once it is found."""
        found = await desk.similar(row.id)
        if not (found and dialog.is_current):
            return
        now = self._pane.now()
        near = [memory_line(hit, 60, now=now, marked=False) for hit in found[:MAX_NEAR]]
        bar = LineBar([line(("Says nearly the same, and stays:", "muted")), *near, Line()])
        bar.styles.height = len(near) + 2
        await dialog.query_one("#dialog").mount(bar, before="#buttons")

    def archive(self) -> None:
        """Archive the marked memories in view that are live, or the one under the cursor."""
        self._move(archived=False)

    def restore(self) -> None:
        """Make live again what is archived of the marked ones, or the one under the cursor."""
        self._move(archived=True)

    def _move(self, *, archived: bool) -> None:
        """Move into the archive, or with ``archived`` out of it; either can be undone."""
        listing, desk = self._listing, self._ready()
        rows = listing.targets(self._row)
        ids = [row.id for row in rows if (row.archived_at is not None) is archived]
        if not rows or desk is None:
            return
        if not ids:
            live = f"It is live: {key_of('memories.archive')} archives it"
            there = f"It is archived already: {key_of('memories.restore')} makes it live again"
            toast(self._pane, live if archived else there, severity="warning")
            return
        move = self._changes.restore if archived else self._changes.archive

        async def act() -> str:
            message = await move(desk, ids)
            listing.marks = listing.marks.without(ids)
            return message

        self._do(act)

    def publish(self) -> None:
        """Publish the marked memories, or the one under the cursor, to all agents.

        Where all of them are published copies they are withdrawn; either can be undone.
        """
        listing, desk = self._listing, self._ready()
        rows = listing.targets(self._row)
        if not rows or desk is None:
            return
        if any(row.archived_at is not None for row in rows):
            why = f"What is archived is given to nobody: {key_of('memories.restore')} makes it live"
            toast(self._pane, why, severity="warning")
            return
        shared = [row.id for row in rows if row.shared]
        private = [row.id for row in rows if not row.shared]

        async def act() -> str:
            if private:
                return await self._changes.publish(desk, private)
            return await self._changes.retract(desk, shared)

        self._do(act)

    def undo(self) -> None:
        """Undo the person's last change, also one of an earlier run."""
        self._step(undoes=True)

    def redo(self) -> None:
        """Make the change again that was undone last."""
        self._step(undoes=False)

    def _step(self, *, undoes: bool) -> None:
        desk = self._ready()
        if desk is None:
            return

        async def step() -> str:
            message = await self._changes.step(desk, undoes=undoes)
            if not message:
                nothing = (
                    "You have changed nothing that can be undone here: decisions are undone in "
                    f"Approvals, {key_of('memories.deleted')} lists what is deleted"
                )
                toast(self._pane, nothing if undoes else "Nothing was undone that can be redone")
            return message

        self._do(step)

    def export(self) -> None:
        """Write the marked memories, or all in view, to a file."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        listing, desk = self._listing, self._ready()
        total, marked = listing.window.total, listing.marked
        if desk is None or not total:
            return

        async def export(name: str) -> str:
            return write_file(name, marked or await listing.rows(desk))

        question = f"Export {memories(len(marked) or total)} to"
        path = Path.cwd() / default_name(self._pane.now())
        hint = ".json or .md · enter writes · esc cancels"
        dialog = PromptDialog(question, str(path), hint=hint, save=export)
        self._pane.app.push_screen(dialog, self._changed)

    # Other screens

    def show_deleted(self) -> None:
        """List what was deleted lately, to bring it back."""
        from synthorg_tui.tui.memories.deleted import DeletedScreen

        desk = self._ready()
        if desk is not None:
            screen = DeletedScreen(desk, panes=self._pane.panes, now=self._pane.now)
            self._pane.app.push_screen(screen, lambda _: self._pane.reload())

    def show_versions(self) -> None:
        """List what the memory under the cursor was before, to restore a version of it."""
        from synthorg_tui.tui.memories.versions import VersionsScreen

        chosen = self._chosen()
        if chosen is not None:
            screen = VersionsScreen(*chosen, self._pane.now)
            self._pane.app.push_screen(screen, self._versions_left)

    def _versions_left(self, has_changed: bool | None) -> None:
        if has_changed:
            self._pane.query_one(MemoriesBody).detail.forget_history()
            self._pane.reload()

    def show_source(self) -> None:
        """Show the transcript lines the memory came from."""
        from synthorg_tui.tui.sessions.transcript import TranscriptScreen

        chosen = self._chosen()
        if chosen is None:
            return
        desk, row = chosen
        if row.source:
            zone = self._pane.now().tzinfo
            self._pane.app.push_screen(TranscriptScreen(desk.sessions, row.source, zone=zone))
        else:
            why = "This memory names no source: it was written by hand"
            toast(self._pane, why, severity="warning")

    def show_import(self, *, starts: bool = False) -> None:
        """Show what can be imported, or the import that runs; one that ``starts`` asks nothing."""
        from synthorg_tui.tui.memories.importing import ImportScreen

        desk = self._ready()
        if desk is not None:
            screen = ImportScreen(desk, self.importing, starts=starts)
            self._pane.app.push_screen(screen, lambda _: self._reload_top())

    def run_import(self, paths: Sequence[Path] | None) -> None:
        """Import files and folders in the background, or with ``None`` the sample."""
        desk = self._ready()
        if desk is not None:
            self.importing.start(desk, paths)

    # The first run

    def show_welcome(self, desk: EngineAdapter) -> None:
        """Offer the ways to begin."""
        from synthorg_tui.tui.memories.welcome import WelcomeScreen

        def chosen(beginning: str | None) -> None:
            self.welcome = None
            if beginning == "import":
                self.show_import(starts=True)
            elif beginning == "sample":
                self.run_import(None)

        self.welcome = WelcomeScreen(desk)
        self._pane.app.push_screen(self.welcome, chosen)

    async def withdraw_welcome(self, reader: MemoryReader) -> None:
        """Ways to begin are of no use once something is there: agents and commands write, too."""
        if (await reader.facets()).total and self.welcome is not None:
            self.welcome.dismiss("empty")
