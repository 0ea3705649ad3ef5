"""The screen of deleted and expired memories, which can be restored or purged."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import BrowseFilter, ListedMemory
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.lines import line, one_line
from synthorg_tui.tui.base.window import WINDOW, RowWindow
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.lines import memory_line
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import MemoryList


class DeletedScreen(Screen[bool]):
    """The list of soft-deleted and expired memories; returns ``True`` if one was restored."""

    BINDINGS = bindings("deleted")
    HELP_CONTEXTS = ("deleted", "list", "app")

    def __init__(self, desk: MemoryPort, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._desk = desk
        self._now = now
        self._restored = False

    def compose(self) -> ComposeResult:
        rows = MemoryList(now=self._now, id="deleted")
        rows.border_title = "Deleted and expired"
        rows.placeholder = [line(("Nothing is deleted.", "muted"))]
        yield rows
        yield KeyBar("deleted", "app")

    def on_mount(self) -> None:
        self.query_one(MemoryList).focus()
        self._reload()

    def _reload(self) -> None:
        run_job(self, self._load, group="listing")

    async def _load(self) -> None:
        rows = self.query_one(MemoryList)
        try:
            what = BrowseFilter(deleted=True)
            page = await self._desk.browse(what, sort="newest", offset=0, limit=WINDOW)
        except DomainError as error:
            rows.placeholder = [line(("✗ ", "bad"), (error.message, "text"))]
            rows.changed()
            return
        shown = len(page.entries)
        window = RowWindow(page.entries, 0, shown)
        rows.border_subtitle = (
            f"{shown:,} of {page.total:,}" if shown < page.total else f"{shown:,}"
        )
        rows.show(window, scored=False, follow=rows.row.id if rows.row else None)

    def on_line_list_chosen(self, _event: LineList.Chosen) -> None:
        self.action_restore()

    def action_restore(self) -> None:
        """Restore the memory under the cursor."""
        row = self.query_one(MemoryList).row
        if row is not None:
            run_job(self, partial(self._restore, row.id), group="change", newest_only=False)

    async def _restore(self, memory_id: str) -> None:
        await self._desk.restore([memory_id])
        self._restored = True
        toast(self, "Restored")
        self._reload()

    def action_purge(self) -> None:
        """Delete the memory under the cursor permanently, after a confirmation."""
        row = self.query_one(MemoryList).row
        if row is not None:
            run_job(self, partial(self._ask, row), group="change", newest_only=False)

    async def _ask(self, row: ListedMemory) -> None:
        """Say first what else is erased: a skill that was made of it goes, too."""
        effects = await self._desk.erasing([row.id])
        sources = await self._desk.transcripts([row.id])

        def answered(yes: bool | None) -> None:
            if yes and sources:
                self._ask_lines(row, sources)
            elif yes:
                self._begin_purge(row, lines=False)

        self.app.push_screen(
            ConfirmDialog(
                "Erase this memory for good?",
                [
                    memory_line(row, 60, now=self._now(), marked=False),
                    *(line((one_line(effect), "warn")) for effect in effects),
                ],
                yes="Erase",
                note="Content, vectors and history go; an import won't bring it back.",
            ),
            answered,
        )

    def _ask_lines(self, row: ListedMemory, sources: Sequence[str]) -> None:
        """Offer to blank what the session's transcript says of it; the memory goes either way."""
        sessions = dict.fromkeys(source.partition("#")[0] for source in sources)
        self.app.push_screen(
            ConfirmDialog(
                "Blank the transcript's lines, too?",
                [line((one_line(source), "text")) for source in sources],
                yes="Blank",
                note="The stored transcript of its session has the text. To forget the whole "
                f"session: synthorg-tui sessions delete {' '.join(map(one_line, sessions))}",
            ),
            lambda yes: self._begin_purge(row, lines=bool(yes)),
        )

    def _begin_purge(self, row: ListedMemory, *, lines: bool) -> None:
        work = partial(self._purge, row.id, lines=lines)
        run_job(self, work, group="change", newest_only=False)

    async def _purge(self, memory_id: str, *, lines: bool) -> None:
        await self._desk.purge([memory_id], lines=lines)
        toast(self, "Erased, with the transcript's lines" if lines else "Erased")
        self._reload()

    def action_close(self) -> None:
        """Return to the memories."""
        self.dismiss(self._restored)
