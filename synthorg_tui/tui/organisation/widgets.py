"""The widgets of the Organisation pane: the list, the slider over time, and one entry in full."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.timer import Timer

from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.base.window import ListWindow
from synthorg_tui.tui.jobs import run_job
from synthorg_tui.tui.memories.detail import MAX_USES
from synthorg_tui.tui.memories.lines import waiting_line
from synthorg_tui.tui.organisation.detail import AboutEntry, change_lines, entry_lines
from synthorg_tui.tui.organisation.lines import entry_line, headings_of, time_line
from synthorg_tui.tui.organisation.state import KINDS, Entries, EntryPart
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from synthorg_tui.tui.organisation.adapter import EngineOrganisation, PromptRoom


class EntryRows(LineList):
    """The entries under a heading for each category; of a long list a window is loaded."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._entries = Entries(now)
        self.window: ListWindow[OrgEntry] = ListWindow()

    @property
    def row_count(self) -> int:
        """The number of entries in the list, loaded or not."""
        return self.window.total

    @property
    def row(self) -> OrgEntry | None:
        """The entry under the cursor; ``None`` if it isn't loaded."""
        return self.window.get(self.cursor)

    def show(
        self, entries: Entries, room: "PromptRoom | None", *, follow: str | None = None
    ) -> None:
        """Show what is listed; the cursor moves to the entry with the id ``follow``, if loaded."""
        self._entries, self.window = entries, entries.window
        self.show_under(headings_of(entries, room))
        if (at := self.window.index_of(follow)) is not None:
            self.cursor = at
        self.reveal()

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the line of an entry."""
        entry = self.window.get(index)
        if entry is None:
            return [waiting_line(width - 1)]
        replaced = entry.id in self._entries.page.superseded
        return [entry_line(entry, width - 1, now=self._now(), replaced=replaced)]


class TimeBar(LineBar, can_focus=True):
    """The slider over time: arrows go from change to change, Home to the beginning, End to now.

    It posts ``Slid``; where to is for the screen. A click goes to the place under the pointer.
    """

    BINDINGS = bindings("slider")

    @dataclass
    class Slid(Message):
        """Posted when the person moves the slider: by a step, or to a share of its length."""

        by: int = 0
        share: float | None = None

    def __init__(self, entries: Entries, *, now: Callable[[], datetime]) -> None:
        super().__init__(id="time")
        self._entries = entries
        self._now = now

    def draw(self) -> None:
        """Draw the moment that is shown."""
        width = self.size.width
        self.set_class(self._entries.at is not None, "-past")
        if width:
            shown = time_line(self._entries, width, now=self._now(), focused=self.has_focus)
            self.show(shown)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Mark the slider that has the keys."""
        super().watch_has_focus(has_focus)
        self.draw()

    def on_click(self, event: events.Click) -> None:
        """Go to the place of the slider under the pointer."""
        shown = self.lines[0].plain if self.lines else ""
        places = [at for at, character in enumerate(shown) if character in "━╸─"]
        if places and places[0] <= event.x <= places[-1]:
            length = places[-1] - places[0] + 1
            self.post_message(self.Slid(share=(event.x - places[0] + 0.5) / length))

    def action_previous(self) -> None:
        """The moment before."""
        self.post_message(self.Slid(-1))

    def action_next(self) -> None:
        """The next moment."""
        self.post_message(self.Slid(1))

    def action_first(self) -> None:
        """The first moment."""
        self.post_message(self.Slid(share=0.0))

    def action_last(self) -> None:
        """Back to now."""
        self.post_message(self.Slid(share=1.0))


class EntryDetail(LineView):
    """One entry in full; what the engine knows besides is read once the cursor rests on it."""

    def __init__(self, *, now: Callable[[], datetime], id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._read_of: tuple[str, int] | None = None
        self._about = AboutEntry()
        self._resting: Timer | None = None
        self._drawn: Callable[[], None] = lambda: None

    def forget(self) -> None:
        """Read what is known again, as something has changed."""
        self._read_of = None

    def show_entry(
        self,
        entry: OrgEntry | None,
        entries: Entries,
        port: "EngineOrganisation | None",
        room: "PromptRoom | None",
    ) -> None:
        """Show an entry as the state says, or nothing; the rest is read from ``port``."""
        self._drawn = partial(self._draw, entry, entries, room)
        if self._resting is not None:
            self._resting.stop()
        self._drawn()
        if entry is not None and port is not None and self._read_of != _version_of(entry):
            replaced_by = entries.page.superseded.get(entry.id, "")
            read = partial(self._read, entry, port, replaced_by)
            start = partial(run_job, self, read, group="about", failed=lambda _: None)
            self._resting = self.set_timer(Pane.DEBOUNCE, start)

    async def _read(self, entry: OrgEntry, port: "EngineOrganisation", replaced_by: str) -> None:
        is_fact = entry.origin is OrgOrigin.FACT
        ids = [*entry.traits.supersedes, *filter(None, (replaced_by,))]
        history = await port.history(entry.id) if is_fact else ()
        uses = await port.uses(entry, limit=MAX_USES)
        named = await port.named(ids) if ids else {}
        self._about, self._read_of = AboutEntry(history, uses, named), _version_of(entry)
        self._drawn()

    def _draw(self, entry: OrgEntry | None, entries: Entries, room: "PromptRoom | None") -> None:
        if entry is None:
            self.border_title = "Detail"
            self.show([])
            return
        is_read = self._read_of == _version_of(entry)
        about = self._about if is_read else AboutEntry()
        if entries.at is not None and about.history is not None:
            until = entries.at
            about = about._replace(history=tuple(v for v in about.history if v.at <= until))
        self.border_title = f"Detail · {KINDS[entry.category][0]}"
        if entries.shown is EntryPart.CHANGES:
            self.border_title = "Changes"
            self.show(change_lines(about.history, self._now()))
            return
        replaced_by = entries.page.superseded.get(entry.id, "")
        lines = entry_lines(
            entry,
            about,
            now=self._now(),
            replaced_by=replaced_by,
            room=room,
            is_past=entries.at is not None,
        )
        self.show(lines, top=not is_read)


def _version_of(entry: OrgEntry) -> tuple[str, int]:
    return entry.id, entry.version
