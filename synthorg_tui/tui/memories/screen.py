"""The Memories pane as far as it keeps up with what agents and commands change.

The Memories pane: what can be done with memories on top of looking at them.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.editor import EditorError, edit_text
from synthorg_tui.tui.base.formatting import memories
from synthorg_tui.tui.base.window import WINDOW, Marks
from synthorg_tui.tui.jobs import Throttle, copy, error_toast, run_job, toast
from synthorg_tui.tui.memories.browse import BrowseScreen
from synthorg_tui.tui.memories.export import default_name, render
from synthorg_tui.tui.memories.lines import memory_line
from synthorg_tui.tui.memories.state import page_around
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.ports import Change, Draft, MemoryDesk, MemoryRow, MemoryShelf
from synthorg_tui.tui.state import UiState

if TYPE_CHECKING:
    from synthorg_tui.tui.memories.welcome import WelcomeScreen


KEEP_UP_AFTER = 0.7
"""Seconds until changes that others made are shown: so often at most is the store read."""


class RenewingScreen(BrowseScreen):
    """Reads the store again when others changed it; cursor and scroll stay on their memories."""

    def __init__(self, *, state: UiState, now: Callable[[], datetime], panes: Panes) -> None:
        super().__init__(state=state, now=now, panes=panes)
        self._soon = Throttle(self, self._renew, KEEP_UP_AFTER)

    def keep_up(self) -> None:
        """The store changed: show it soon, with cursor and scroll where they are."""
        self._soon.ask()

    def on_screen_resume(self) -> None:
        """Show what changed meanwhile, also in the other panes."""
        self._renew()

    def _renew(self) -> None:
        if self.shelf is not None and self.is_current:
            run_job(
                self, partial(self._read_again, self.shelf, self.listing.generation), group="new"
            )

    async def _read_again(self, shelf: MemoryShelf, generation: int) -> None:
        listing, page = self.listing, None
        facets = await shelf.facets()
        if not listing.searching:
            middle = self.rows.cursor if self.rows.is_cursor_in_view else self.rows.visible_rows[0]
            page = await shelf.page(
                listing.query.criteria,
                sort=listing.sort,
                offset=max(middle - WINDOW // 2, 0),
                limit=WINDOW,
            )
        listing.facets = facets
        if page is None:  # a search stays as it was answered
            self._draw()
        elif listing.take_page(generation, page):
            before = self.rows.row
            self.rows.renew(listing.window)
            if self.rows.row != before:
                self.forget_history()
            self._draw()
            self._follow_cursor()
        else:
            self.keep_up()


MAX_MARKED = 3000
"""Most memories that one key marks."""


class MemoriesScreen(RenewingScreen):
    """Marks, writes, edits, deletes, restores, copies and exports memories."""

    BINDINGS = bindings("memories")
    HELP_CONTEXTS = ("memories", "list", "app")

    def __init__(
        self,
        *,
        state: UiState,
        now: Callable[[], datetime],
        panes: Panes,
    ) -> None:
        super().__init__(state=state, now=now, panes=panes)
        self._undo: list[Callable[[], Awaitable[str]]] = []
        self._unsaved: dict[str, str] = {}
        self._range_from: int | None = None
        self._offer: WelcomeScreen | None = None

    def _ready(self) -> MemoryDesk | None:
        if self.desk is None:
            why = "The store is not open" if self.shelf is None else "Not loaded yet: try again"
            toast(self, why, severity="warning")
        return self.desk

    def _do(
        self,
        act: Callable[[], Awaitable[str]],
        failed: Callable[[DomainError], None] | None = None,
    ) -> None:
        """Run a change; tell what it did, then read the store again."""

        async def run() -> None:
            self._changed(await act())

        run_job(self, run, group="change", newest_only=False, failed=failed)

    def _changed(self, said: str | None) -> None:
        if said:
            self.forget_history()
            toast(self, said)
            self.reload()

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the memory under the cursor, and go on."""
        if self.rows.row is not None:
            self._set_marks(self.listing.marks.toggled(self.rows.row))
            self.rows.action_down()

    def action_mark_range(self) -> None:
        """The first press remembers the row, the second marks all between."""
        if self._range_from is None:
            self._range_from = self.rows.cursor
            toast(self, "Range starts here; v again marks up to the cursor, esc drops it")
            return
        first, last = sorted((self._range_from, self.rows.cursor))
        self._range_from = None
        self._mark_rows(first, last - first + 1)

    def action_mark_all(self) -> None:
        """Mark all in view; when all are marked, none."""
        in_view = self.listing.marks.in_view(self.listing.shows)
        if in_view and len(in_view) >= min(self.listing.window.total, MAX_MARKED):
            self._set_marks(self.listing.marks.without(row.id for row in in_view))
            return
        self._mark_rows(0, self.listing.window.total)

    def _mark_rows(self, first: int, count: int) -> None:
        wanted = min(count, MAX_MARKED)

        async def mark() -> None:
            rows = await self._rows(first, wanted)
            self._set_marks(self.listing.marks.including(rows))
            if count > wanted:
                toast(self, f"Marked the first {wanted:,}: no key marks more", severity="warning")

        run_job(self, mark, group="marks")

    async def _rows(self, first: int, count: int) -> list[MemoryRow]:
        """Rows of the present view by position, loaded or not."""
        listing = self.listing
        if listing.searching or self.shelf is None:
            return list(listing.window.rows[first : first + count])
        found: list[MemoryRow] = []
        while len(found) < count:
            limit = min(WINDOW, count - len(found))
            what, offset = listing.query.criteria, first + len(found)
            page = await self.shelf.page(what, sort=listing.sort, offset=offset, limit=limit)
            if not page.rows:
                break
            found.extend(page.rows)
        return found

    def _set_marks(self, marks: Marks) -> None:
        self.listing.marks = marks
        self._draw_list()

    # Writing

    def action_add(self) -> None:
        """Write a new memory."""
        from synthorg_tui.tui.base.form import MemoryForm, Written

        desk = self._ready()
        if desk is None:
            return

        async def add(new: Written) -> str:
            draft = Draft(new.agent_id, new.category, new.content or "", new.tags)
            memory_id = await desk.add(draft)

            async def take_back() -> str:
                await desk.remove([memory_id])
                return "Took back the new memory"

            self._undo.append(take_back)
            return "Added · u takes it back"

        agents = [agent for agent, _ in self.listing.facets.agents]
        self.app.push_screen(MemoryForm(None, agents, add), self._changed)

    def action_edit(self) -> None:
        """Edit in a form."""
        from synthorg_tui.tui.base.form import MemoryForm, Written

        row, desk = self.rows.row, self._ready()
        if row is None or desk is None:
            return

        async def edit(written: Written) -> str:
            return await self._edit(desk, row, written.change(row))

        self.app.push_screen(MemoryForm(row, (), edit), self._changed)

    def action_edit_outside(self) -> None:
        """Edit the content in $EDITOR; a text that can't be stored is there the next time."""
        row, desk = self.rows.row, self._ready()
        if row is None or desk is None:
            return
        try:
            text = edit_text(self.app, self._unsaved.get(row.id, row.content))
        except EditorError as error:
            toast(self, str(error), severity="error")
            return
        self._unsaved.pop(row.id, None)
        if not text.strip():
            toast(self, "The text was empty: nothing changed", severity="warning")
        elif text != row.content:
            self._save_outside(desk, row, text)

    def _save_outside(self, desk: MemoryDesk, row: MemoryRow, text: str) -> None:
        self._unsaved[row.id] = text

        async def edit() -> str:
            said = await self._edit(desk, row, Change(content=text))
            self._unsaved.pop(row.id, None)
            return said

        def failed(error: DomainError) -> None:
            remedy = f"{error.remedy} E goes on where you were.".strip()
            error_toast(self, DomainError(error.message, remedy=remedy))

        self._do(edit, failed)

    async def _edit(self, desk: MemoryDesk, row: MemoryRow, change: Change) -> str:
        """Make a change that can be taken back; returns what it did, if anything."""
        if change == Change():
            return ""
        back = Change(
            row.content if change.content is not None else None,
            row.category if change.category is not None else None,
            row.tags if change.tags is not None else None,
        )

        async def take_back() -> str:
            await desk.edit(row.id, back)
            return "Took the edit back"

        await desk.edit(row.id, change)
        self._undo.append(take_back)
        return "Saved · u takes it back"

    # Deleting

    def action_delete(self) -> None:
        """Delete the marked memories in view, or the one under the cursor, after asking."""
        from synthorg_tui.tui.base.dialogs import ConfirmDialog

        rows = self.listing.targets(self.rows.row)
        if not rows or self._ready() is None:
            return
        listed = [memory_line(row, 60, now=self.now(), marked=False) for row in rows]
        hidden = len(self.listing.marks) - len(rows)
        note = f"{hidden:,} marked but hidden by the filter stay. " if hidden > 0 else ""
        self.app.push_screen(
            ConfirmDialog(
                f"Delete {memories(len(rows))}?",
                listed,
                yes="Delete",
                note=note + "u brings them back.",
            ),
            lambda yes: self._delete(rows) if yes else None,
        )

    def _delete(self, rows: Sequence[MemoryRow]) -> None:
        desk, ids = self.desk, [row.id for row in rows]
        if desk is None:
            return

        async def delete() -> str:
            count = await desk.remove(ids)
            self.listing.marks = self.listing.marks.without(ids)
            self._undo.append(restore)
            return f"Deleted {memories(count)} · u brings back"

        async def restore() -> str:
            count = await desk.restore(ids)
            return f"Restored {memories(count)}" if count else "Nothing of it is left to restore"

        self._do(delete)

    def action_undo(self) -> None:
        """Take back the last change of this run; without one, list what was deleted before."""
        if not self._undo:
            self.action_deleted()
            return
        self._do(self._undo.pop())

    def action_deleted(self) -> None:
        """List what was deleted."""
        from synthorg_tui.tui.memories.deleted import DeletedScreen

        desk = self._ready()
        if desk is not None:
            self.app.push_screen(DeletedScreen(desk, self.now), lambda _changed: self.reload())

    # Taking out

    def action_copy(self) -> None:
        """Copy contents to the clipboard."""
        rows = self.listing.targets(self.rows.row)
        if rows:
            copy(self, "\n\n".join(row.content for row in rows))
            toast(self, f"Copied {memories(len(rows))}")

    def action_export(self) -> None:
        """Write the marked memories, or all in view, to a file."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        if self._ready() is None or not self.listing.window.total:
            return
        marked = self.listing.marks.in_view(self.listing.shows)
        count = len(marked) or self.listing.window.total

        def export(name: str) -> Awaitable[str]:
            return self._export(Path(name).expanduser(), marked)

        question, name = f"Export {memories(count)} to", default_name(self.now())
        hint = ".json or .md · enter writes · esc cancels"
        dialog = PromptDialog(question, str(Path.cwd() / name), hint=hint, save=export)
        self.app.push_screen(dialog, self._changed)

    async def _export(self, path: Path, marked: Sequence[MemoryRow]) -> str:
        rows = marked or await self._rows(0, self.listing.window.total)
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(render(rows, path.name))
        except FileExistsError as error:
            raise DomainError(f"{path} exists.", remedy="Choose another name.") from error
        except OSError as error:
            raise DomainError(f"{path} can't be written: {error.strerror}.") from error
        return f"Wrote {memories(len(rows))} to {path}"

    # Elsewhere

    def show_memory(self, row: MemoryRow) -> None:
        """Put the cursor on a memory, whatever was filtered or searched for."""
        desk, listing = self.desk, self.listing
        if desk is None:
            return
        listing.search_text = listing.filter_text = self.state.filter = ""
        listing.sort = self.state.sort = "newest"
        self.remove_class("-entering", "-zoomed")
        generation = listing.ask()

        async def show() -> None:
            page = await page_around(desk, row)
            if page is None:
                toast(self, "This memory is no longer in the store", severity="warning")
                self.reload(top=True)
            elif listing.take_page(generation, page):
                self.rows.show(listing.window, scored=False, follow=row.id)
                self.rows.focus()
                self._draw()
                self._follow_cursor()

        run_job(self, show, group="listing")

    def action_source(self) -> None:
        """Show the transcript lines the memory came from."""
        from synthorg_tui.tui.memories.source import SourceScreen

        row, desk = self.rows.row, self._ready()
        if row is None or desk is None:
            return
        if not row.source:
            toast(self, "This memory names no source: it was written by hand", severity="warning")
            return
        self.app.push_screen(SourceScreen(desk, row.source))

    def action_importing(self, *, run_job: bool = False, sample: bool = False) -> None:
        """Import transcripts."""
        from synthorg_tui.tui.memories.importing import ImportScreen

        desk = self._ready()
        if desk is not None:
            screen = ImportScreen(desk, run_job=run_job, sample=sample)
            self.app.push_screen(screen, lambda _changed: self.reload(top=True))

    def action_reload(self) -> None:
        """Read the store again, or try to open it again."""
        if self.desk is None and (self.shelf is None or self._error is not None):
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()

    def action_back(self) -> None:
        """Drop a started range, or close what is open."""
        if self._range_from is not None:
            self._range_from = None
            toast(self, "Range dropped")
            return
        super().action_back()

    def _show(self) -> None:
        super()._show()
        if not self.listing.facets.total and not self.listing.text and not self.state.welcomed:
            self._welcome()

    def _welcome(self) -> None:
        from synthorg_tui.tui.memories.welcome import WelcomeScreen

        if self.desk is None:
            return
        self.state.welcomed = True

        def chosen(beginning: str | None) -> None:
            self._offer = None
            if beginning in ("import", "sample"):
                self.action_importing(run_job=True, sample=beginning == "sample")

        self._offer = WelcomeScreen(self.desk)
        self.app.push_screen(self._offer, chosen)

    def _renew(self) -> None:
        if self._offer is None:
            super()._renew()
        elif self._offer.is_current:
            run_job(self, partial(self._withdraw, self._offer), group="new")

    async def _withdraw(self, offer: "WelcomeScreen") -> None:
        """Ways to begin are of no use once something is there: agents and commands write, too."""
        if self.shelf is not None and (await self.shelf.facets()).total:
            offer.dismiss("empty")
