"""The screen of deleted and expired memories, which can be restored or purged."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.formatting import memories
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.lines import memory_line
from synthorg_tui.tui.memories.state import Listing
from synthorg_tui.tui.memories.view import Marker, MemoryDetail
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar
from synthorg_tui.tui.widgets.rows import MemoryList

AT_ONCE = 200
"""Memories that are restored in one change; between two of them it can be stopped."""
_MAX_NAMED = 3
_MAX_EFFECTS = 3
_HINT = "words  -words  project:  kind:  agent:  tag:  session:  since:7d"


class DeletedScreen(Pane):
    """Lists soft-deleted and expired memories; what is marked is restored or erased together."""

    BINDINGS = bindings("deleted")
    HELP_CONTEXTS = ("deleted", "list", "view", "app")
    CSS = """
    DeletedScreen {
        #removed { height: 1fr; layout: horizontal; }
        #removed > Vertical { width: 58%; height: 1fr; }
        #deleted { height: 1fr; padding: 0; }
        #removed > MemoryDetail { width: 1fr; height: 1fr; }
        #doing { dock: bottom; margin-bottom: 1; padding: 0 1; }
        &.-narrow #removed { layout: vertical; }
        &.-narrow #removed > Vertical { width: 1fr; height: 55%; }
    }
    """

    def __init__(self, desk: EngineAdapter, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__(panes=panes, now=now)
        self._desk = self.desk = desk
        self._listing = Listing(now, deleted=True)
        self._marker = Marker(
            self,
            self._listing,
            rows=lambda: self.main_list,
            drawn=self.draw,
            keys=("deleted.mark_range", "deleted.close"),
        )
        self._doing = ""
        self._stopping = False

    def compose(self) -> ComposeResult:
        """List and filter, the memory under the cursor, what runs, footer."""
        with Container(id="removed"):
            with Vertical():
                yield from self.filter_entry(_HINT)
                yield LineBar(id="chips")
                yield MemoryList(now=self.now, id="deleted")
            yield MemoryDetail(now=self.now, id="detail")
        yield LineBar(id="doing")
        yield KeyBar("deleted", "app")

    def on_mount(self) -> None:
        """Read what is deleted."""
        super().on_mount()
        self.reload()

    @property
    def main_list(self) -> MemoryList:
        """The deleted memories."""
        return self.query_one(MemoryList)

    # Listing

    def renew(self) -> None:
        """Leave the list as it is: only what is done here changes it, and reads it again."""

    def reload(self) -> None:
        """Read the rows again; the cursor stays on its memory where it can."""
        self._read(self._listing.window.offset)

    def _read(self, offset: int) -> None:
        run_job(self, partial(self._load, self._listing.ask(), offset), group="listing")

    async def _load(self, generation: int, offset: int) -> None:
        try:
            if not self._listing.facets.total:  # names of agents and projects, for the filter
                self._listing.facets = await self._desk.facets()
            page = await self._listing.page(self._desk, offset)
            if not page.entries and page.total:
                page = await self._listing.page(self._desk, 0)
        except DomainError as error:
            self._listing.clear()
            self.main_list.show(self._listing.window)
            self.tell_error(error)
            return
        if self._listing.take_page(generation, page):
            self._error, rows = None, self.main_list
            rows.show(self._listing.window, follow=rows.row.id if rows.row else None)
            self.draw()
            self._follow_cursor()

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        listing, rows = self._listing, self.main_list
        self.draw_filter(listing.query)
        rows.placeholder = self._placeholder()
        rows.show_marks(listing.marks)
        total = f"{rows.cursor + 1:,} of {listing.window.total:,}" if listing.window.rows else ""
        captions = filter(None, (listing.marked_caption, total))
        rows.set_titles(top="Deleted and expired", bottom=" · ".join(captions))
        doing = self.query_one("#doing", LineBar)
        doing.display = bool(self._doing)
        stops = "" if self._stopping else f"  {key_of('deleted.cancel')} stops"
        doing.show(line((self._doing, "accent"), (stops, "muted")))

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return [line(("✗ ", "bad"), (self._error.message, "text"))]
        if self._listing.waiting:
            return [line(("Reading …" if self._slow else "", "muted"))]
        if self._listing.text.strip():
            return [line(("The filter lists nothing that is deleted.", "muted"))]
        return [line(("Nothing is deleted.", "muted"))]

    @on(LineList.Moved, "#deleted")
    def _follow_cursor(self) -> None:
        self.query_one(MemoryDetail).show_memory(self.main_list.row, self._desk)
        self.draw()

    @on(LineList.Scrolled, "#deleted")
    def _load_more(self) -> None:
        offset = self._listing.window.wanted(*self.main_list.visible_rows)
        if offset is not None and not self._listing.waiting:
            self._read(offset)

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self._listing.filter_text = event.value
        self.draw()
        self.later(lambda: self._read(0))

    # Marks

    def action_mark(self) -> None:
        """Mark or unmark the memory under the cursor."""
        if not self.lacks_row("memory"):
            self._marker.mark()

    def action_mark_range(self) -> None:
        """Start a range, or mark all up to the cursor."""
        if not self.lacks_row("memory"):
            self._marker.mark_range(self._desk)

    def action_mark_all(self) -> None:
        """Mark all that is listed, or nothing."""
        if not self.lacks_row("memory"):
            self._marker.mark_all(self._desk)

    def _targets(self) -> tuple[ListedMemory, ...]:
        """What a key acts on; empty, and said why, where there is nothing or something runs."""
        if self._doing:
            toast(self, f"{self._doing}; {key_of('deleted.cancel')} stops it", severity="warning")
            return ()
        rows = self._listing.targets(self.main_list.row)
        if not rows:
            self.lacks_row("memory")
        return rows

    # Restoring

    @on(LineList.Chosen, "#deleted")
    def action_restore(self) -> None:
        """Restore the marked memories, or the one under the cursor."""
        rows = self._targets()
        if rows:
            work = partial(self._restore, [row.id for row in rows])
            run_job(self, work, group="change", newest_only=False)

    async def _restore(self, ids: Sequence[str]) -> None:
        """Restore portion by portion, so that much can be stopped and seen to go on."""
        self._stopping, done = False, 0
        try:
            for first in range(0, len(ids), AT_ONCE):
                if self._stopping:
                    break
                self._tell(f"Restoring {first:,} of {memories(len(ids))}")
                portion = ids[first : first + AT_ONCE]
                done += await self._desk.restore(portion)
                self._listing.marks = self._listing.marks.without(portion)
        finally:
            self._tell("")
            self.reload()
        told = f"Stopped: restored {done:,} of {memories(len(ids))}"
        toast(self, told if self._stopping else f"Restored {memories(done)}")

    def action_cancel(self) -> None:
        """Stop restoring before the next portion; what is restored stays so."""
        self._stopping = True
        self.draw()

    def _tell(self, doing: str) -> None:
        self._doing = doing
        if self.is_attached:
            self.draw()
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to stop only what is running."""
        if action == "cancel":
            return bool(self._doing) and not self._stopping
        return super().check_action(action, parameters)

    # Erasing

    def action_purge(self) -> None:
        """Delete the marked memories, or this one, permanently, after a confirmation."""
        rows = self._targets()
        if rows:
            run_job(self, partial(self._ask, rows), group="change", newest_only=False)

    async def _ask(self, rows: Sequence[ListedMemory]) -> None:
        """Say first what else is erased: a skill that was made of it goes, too."""
        ids = [row.id for row in rows]
        effects = await self._desk.erasing(ids)
        sources = await self._desk.transcripts(ids)

        def answered(yes: bool | None) -> None:
            if yes and sources:
                self._ask_lines(ids, sources)
            elif yes:
                self._begin_purge(ids, lines=False)

        what = "this memory" if len(rows) == 1 else memories(len(rows))
        named = [memory_line(row, 60, now=self.now(), marked=False) for row in rows[:_MAX_NAMED]]
        told = [line((one_line(effect), "warn")) for effect in effects[:_MAX_EFFECTS]]
        dialog = ConfirmDialog(
            f"Erase {what} for good?",
            [
                *named,
                *_more(len(rows) - len(named), "muted", "more"),
                *told,
                *_more(len(effects) - len(told), "warn", "more such effects"),
            ],
            yes="Erase",
            note="Content, vectors and history go; an import won't bring it back.",
        )
        self.app.push_screen(dialog, answered)

    def _ask_lines(self, ids: Sequence[str], sources: Sequence[str]) -> None:
        """Offer to blank what transcripts say of them; the memories go either way."""
        sessions = list(dict.fromkeys(source.partition("#")[0] for source in sources))
        named = " ".join(map(one_line, sessions[:_MAX_NAMED]))
        more = " …" if len(sessions) > _MAX_NAMED else ""
        self.app.push_screen(
            ConfirmDialog(
                "Blank the transcript's lines, too?",
                [line((one_line(source), "text")) for source in sources],
                yes="Blank",
                note="The stored transcript of its session has the text. To forget the whole "
                f"session: synthorg-tui sessions delete {named}{more}",
            ),
            lambda yes: self._begin_purge(ids, lines=bool(yes)),
        )

    def _begin_purge(self, ids: Sequence[str], *, lines: bool) -> None:
        work = partial(self._purge, ids, lines=lines)
        run_job(self, work, group="change", newest_only=False)

    async def _purge(self, ids: Sequence[str], *, lines: bool) -> None:
        self._stopping = True  # it is done whole or not at all: nothing to stop
        self._tell(f"Erasing {memories(len(ids))} …")
        try:
            count = await self._desk.purge(ids, lines=lines)
            self._listing.marks = self._listing.marks.without(ids)
        finally:
            self._tell("")
            self.reload()
        told = "Erased" if len(ids) == 1 else f"Erased {memories(count)}"
        toast(self, f"{told}, with the transcript's lines" if lines else told)

    # Leaving

    def action_back(self) -> None:
        """Leave the filter entry, or clear the filter, then return to the memories."""
        if self._marker.drop_range():
            return
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        self.main_list.focus()
        entry = self.query_one("#query", Input)
        if entry.value:
            entry.value = ""
        elif self._doing:
            self._targets()
        elif not entering:
            self.dismiss()

    def action_close(self) -> None:
        """Leave the filter, then the screen."""
        self.action_back()


def _more(count: int, role: str, what: str) -> list[Line]:
    """A line for those that there is no room for."""
    return [line((f"and {count:,} {what}", role))] if count > 0 else []
