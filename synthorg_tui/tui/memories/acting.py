"""The keys of the Memories pane that act on memories: marks, changes, copies and exports.

What is listed, filtered and drawn is the screen's, which inherits from this. Dialogs and the
changes they lead to are in ``dialogs``.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.tui.base.formatting import memories
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.engine_adapter import EngineAdapter, MemoryReader
from synthorg_tui.tui.jobs import copy, toast
from synthorg_tui.tui.memories.state import Listing
from synthorg_tui.tui.memories.view import Marker, MemoriesBody
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import MemoryList

if TYPE_CHECKING:
    from synthorg_tui.tui.memories.dialogs import MemoryDialogs


class MemoryActions(Pane):
    """A pane over a listing, with the actions on memories that are marked or under the cursor.

    A key that needs a memory says why there is none.
    """

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__(panes=panes, now=now)
        self.reader: MemoryReader | None = None
        self.listing = Listing(now)
        self._marker = Marker(
            self, self.listing, rows=lambda: self.rows, drawn=lambda: self.body.draw_list()
        )
        self._added: str | None = None

    @cached_property
    def _dialogs(self) -> "MemoryDialogs":
        from synthorg_tui.tui.memories.dialogs import MemoryDialogs

        return MemoryDialogs(
            self,
            self.listing,
            ready=self._ready,
            reload_top=partial(self.reload, top=True),
            more=self.keep_up,
            added=self._go_to_added,
        )

    def reload(self, *, facets: bool = True, top: bool = False) -> None:
        """Ask for what the view lists; the cursor stays on its memory where it can."""
        raise NotImplementedError

    def keep_up(self) -> None:
        """Show soon what was added or changed, with cursor and scroll where they are."""
        raise NotImplementedError

    @property
    def body(self) -> MemoriesBody:
        """What is drawn between header and footer."""
        return self.query_one(MemoriesBody)

    @property
    def rows(self) -> MemoryList:
        """The list of memories."""
        return self.body.rows

    @property
    def main_list(self) -> LineList:
        """The memories."""
        return self.rows

    def _go_to_added(self, memory_id: str) -> None:
        """Once it is read, put the cursor on a memory that was written just now."""
        self._added = memory_id

    def _follow_added(self) -> str | None:
        added, self._added = self._added, None
        if added is None or self.listing.window.index_of(added) is not None:
            return added
        if self.listing.text.strip():
            toast(self, "The filter hides the new memory; esc clears it", severity="warning")
        else:
            toast(self, f"The new memory is further down: sorted by {self.listing.sort}")
        return None

    # Marks

    def _has_row(self) -> bool:
        """Whether a memory is under the cursor; if not, it is said why."""
        if self.rows.row is None and self.reader is not None:
            toast(self, self.listing.why_empty, severity="warning")
        return self.rows.row is not None

    def action_mark(self) -> None:
        if self._has_row():
            self._marker.mark()

    def action_mark_range(self) -> None:
        if self._has_row():
            self._marker.mark_range(self.reader)

    def action_mark_all(self) -> None:
        if self._has_row():
            self._marker.mark_all(self.reader)

    # Changes

    def _ready(self) -> EngineAdapter | None:
        if self.desk is None:
            why = "The store is not open" if self.reader is None else "Not loaded yet: try again"
            toast(self, why, severity="warning")
        return self.desk

    def action_add(self) -> None:
        self._dialogs.add()

    def action_edit(self) -> None:
        if self._has_row():
            self._dialogs.edit()

    def action_edit_outside(self) -> None:
        if self._has_row():
            self._dialogs.edit_outside()

    def action_delete(self) -> None:
        if self._has_row():
            self._dialogs.delete()

    def action_archive(self) -> None:
        if self._has_row():
            self._dialogs.archive()

    def action_restore(self) -> None:
        if self._has_row():
            self._dialogs.restore()

    def action_publish(self) -> None:
        if self._has_row():
            self._dialogs.publish()

    def action_undo(self) -> None:
        self._dialogs.undo()

    def action_redo(self) -> None:
        self._dialogs.redo()

    def action_deleted(self) -> None:
        self._dialogs.show_deleted()

    def action_versions(self) -> None:
        if self._has_row():
            self._dialogs.show_versions()

    def action_export(self) -> None:
        if self._has_row():
            self._dialogs.export()

    def action_source(self) -> None:
        if self._has_row():
            self._dialogs.show_source()

    def action_known(self) -> None:
        """Show what is known of the memory's project."""
        row = self.rows.row
        if self._has_row() and row is not None:
            self.app.maker.show_project(row.project)  # type: ignore[attr-defined]

    def action_importing(self) -> None:
        self._dialogs.show_import()

    def run_import(self, paths: Sequence[Path]) -> None:
        """Import files and folders in the background."""
        self._dialogs.run_import(paths)

    def copy_chosen(self) -> None:
        rows = self.listing.targets(self.rows.row)
        if rows or self._has_row():
            copy(self, "\n\n".join(row.content for row in rows))
            toast(self, f"Sent {memories(len(rows))} to the terminal's clipboard")
