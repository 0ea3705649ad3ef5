"""The transcript of a session, drawn to be read: one screen for every place that leads to one.

What is said is in whole, a call is one line, and enter unfolds what stands behind it, which is read
from the store then. A session that goes on is followed.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.projects import project_name
from synthorg_tui.executions.conversation import Conversation, Entry, EntryKind
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, error_lines, line, one_line
from synthorg_tui.tui.base.matches import NO_MATCH
from synthorg_tui.tui.base.wrapped import TextPlace
from synthorg_tui.tui.jobs import copy, run_job, toast
from synthorg_tui.tui.sessions.adapter import EngineSessions
from synthorg_tui.tui.sessions.conversation_lines import TranscriptText
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

    from synthorg_tui.executions.sessions import StoredSession


class TranscriptView(LineView):
    """A conversation with a cursor on one of its lines; it is drawn from a ``TranscriptText``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"transcript--cursor", "transcript--blurred"}
    DEFAULT_CSS = """
    TranscriptView {
        padding: 0;
        & > .transcript--cursor { background: $primary 20%; }
        & > .transcript--blurred { background: $foreground 8%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = "Transcript"
        self.transcript: TranscriptText | None = None
        self.cursor = 0

    def show_transcript(self, transcript: TranscriptText, entry: int) -> None:
        """Show a conversation from this entry on."""
        self.transcript = transcript
        self.show(transcript.lines, top=False)
        self.go_to(entry)

    def redraw(self) -> None:
        """Draw the conversation again after entries were unfolded; the view stays where it is."""
        if self.transcript is None:
            return
        entry, above = self.entry_number, self._first_row(self.cursor) - self.scroll_offset.y
        part = self.cursor - self.transcript.line_of(entry)
        self.show(self.transcript.lines, top=False)
        last = self.transcript.starts[entry + 1] - 1 if self.lines else 0
        self.cursor = min(self.transcript.line_of(entry) + max(part, 0), last)
        self._measure_around(self.text.first_piece(self.cursor) if self.lines else 0)
        self.scroll_to(y=max(self._first_row(self.cursor) - above, 0), animate=False)
        self._moved()

    @property
    def entry_number(self) -> int:
        """The number of the entry under the cursor."""
        return self.transcript.entry_of(self.cursor) if self.transcript else 0

    @property
    def entry(self) -> Entry | None:
        """The entry under the cursor."""
        return self.transcript.entry(self.entry_number) if self.transcript else None

    @property
    def is_at_end(self) -> bool:
        """Whether the cursor is on the last entry."""
        last = len(self.transcript.conversation.entries) - 1 if self.transcript else 0
        return self.entry_number >= last

    def go_to(self, entry: int) -> None:
        """Put the cursor on an entry, a few rows below the top."""
        if self.transcript is not None and self.lines:
            self.cursor = self.transcript.line_of(entry)
            self.reveal(self.cursor)
            self._moved()

    # The cursor

    def _first_row(self, index: int) -> int:
        if not self.lines:
            return 0
        return self.text.row_of(TextPlace(self.text.first_piece(index), 0))

    def _after_row(self, index: int) -> int:
        """The row after the last one of a line."""
        return self._first_row(index + 1) if index + 1 < len(self.lines) else self.text.row_count

    def _index_at(self, row: int) -> int:
        return self.text.line_of(self.text.place(min(max(row, 0), self.text.row_count - 1)).piece)

    def line_at(self, y: int, width: int) -> tuple[Line, Style | None]:
        """Return a row; those of the line under the cursor have its background."""
        row, _ = super().line_at(y, width)
        at = y + self.scroll_offset.y
        if not self.lines or at >= self.text.row_count or self._index_at(at) != self.cursor:
            return row, None
        name = "transcript--cursor" if self.has_focus else "transcript--blurred"
        return row, self.component(name)

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.refresh()

    def _move_to(self, index: int, step: int = 1) -> None:
        """Put the cursor on a line, or on the next one in this direction that isn't empty."""
        if not self.lines:
            return
        last = len(self.lines) - 1
        index = min(max(index, 0), last)
        while 0 < index < last and not self.lines[index].spans:
            index += step
        self.cursor = index
        self._measure_around(self.text.first_piece(index))
        top, height = self.scroll_offset.y, max(self.scrollable_content_region.height, 1)
        first, after = self._first_row(index), self._after_row(index)
        if first < top or after - first >= height:
            self.scroll_to(y=first, animate=False)
        elif after > top + height:
            self.scroll_to(y=after - height, animate=False)
        self._moved()

    def _moved(self) -> None:
        entry = self.entry
        if entry is not None and self.transcript is not None:
            count = self.transcript.conversation.line_count
            self.set_titles(bottom=f"line {entry.first_line:,} of {count:,}")
        self.refresh()

    def _scroll_within(self, by: int) -> bool:
        """Scroll by a row if the line under the cursor goes on beyond the view."""
        if not self.lines:
            return True
        top, height = self.scroll_offset.y, max(self.scrollable_content_region.height, 1)
        below = self._after_row(self.cursor) > top + height
        above = self._first_row(self.cursor) < top
        goes_on = below if by > 0 else above
        if goes_on:
            self.scroll_relative(y=by, animate=False)
        return goes_on

    def action_down(self) -> None:
        """Move the cursor one line down."""
        if not self._scroll_within(1):
            self._move_to(self.cursor + 1)

    def action_up(self) -> None:
        """Move the cursor one line up."""
        if not self._scroll_within(-1):
            self._move_to(self.cursor - 1, -1)

    def action_first(self) -> None:
        """Move the cursor to the beginning."""
        self._move_to(0)

    def action_last(self) -> None:
        """Move the cursor to the end."""
        super().action_last()
        self._move_to(len(self.lines) - 1, -1)

    def action_half_down(self) -> None:
        """Move the cursor half a page down."""
        self._turn_page(1)

    def action_half_up(self) -> None:
        """Move the cursor half a page up."""
        self._turn_page(-1)

    def _turn_page(self, direction: int) -> None:
        if not self.lines:
            return
        by = direction * max(self.size.height // 2, 1)
        target = self._index_at(self._first_row(self.cursor) + by)
        self._move_to(self.cursor + direction if target == self.cursor else target, direction)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the clicked line; a click where it is unfolds or folds."""
        row = self.line_under(event)
        if not 0 <= row < self.text.row_count:
            return
        index = self._index_at(row)
        if index == self.cursor:
            self.app.call_later(self.screen.run_action, "unfold")
        else:
            self._move_to(index)

    # Searching

    @property
    def searched_from(self) -> int:
        """The piece from which on the first match is looked for: that of the cursor."""
        return self.text.first_piece(self.cursor) if self.lines else 0

    @property
    def match_caption(self) -> str:
        """Which match one is at; folded output isn't looked through."""
        caption = self.matches.caption
        folded = self.transcript is not None and not self.transcript.all_unfolded
        return f"{NO_MATCH}, z unfolds all" if caption == NO_MATCH and folded else caption

    def show_piece(self, piece: int, at: int = 0) -> None:
        """Put the cursor on the line of a match."""
        self.cursor = self.text.line_of(piece)
        super().show_piece(piece, at)
        self._moved()


class TranscriptScreen(Screen[None]):
    """A session as a conversation; with ``ref`` lines the view starts there and marks them.

    ``ref`` is the id of a session, or the source of a memory: ``<session id>#L12-L30``.
    """

    BINDINGS = bindings("source")
    HELP_CONTEXTS = ("source", "view", "app")
    FOLLOW_EVERY: ClassVar[float] = 2.0
    """Seconds between two looks whether the session has gone on."""

    def __init__(self, port: EngineSessions, ref: str, *, zone: "tzinfo | None" = None) -> None:
        super().__init__()
        self._port = port
        self._ref = ref
        self._zone = zone
        self.session_id = ref.partition("#")[0]

    def compose(self) -> ComposeResult:
        """Where one is, the conversation, the keys."""
        yield LineBar(id="where")
        yield TranscriptView(id="lines")
        yield KeyBar("source", "app")

    @property
    def view(self) -> TranscriptView:
        """The conversation."""
        return self.query_one(TranscriptView)

    @property
    def named(self) -> tuple[int, int] | None:
        """The first and the last line that is referred to."""
        first, _, last = self._ref.partition("#L")[2].partition("-L")
        if not first.isdecimal():
            return None
        return int(first), int(last) if last.isdecimal() else int(first)

    def on_mount(self) -> None:
        self._draw_place()
        self.view.show([line(("Reading the session …", "muted"))])
        self.view.focus()
        run_job(self, self._load, group="transcript", failed=self._fail)
        self.set_interval(self.FOLLOW_EVERY, self._follow)

    def _fail(self, error: DomainError) -> None:
        self.view.show(error_lines("The session can't be read", error))

    def _draw_place(self, session: "StoredSession | None" = None) -> None:
        where = Line()
        if self.named:
            where.add(f" ┃ lines {self.named[0]:,}–{self.named[1]:,} ", "warn")
        if session is None:
            where.add(f" {one_line(self.session_id)}", "muted")
        else:
            names = filter(None, (session.agent_id, project_name(session.project or "")))
            where.add(f" {one_line(' · '.join(names))}  ", "muted")
            where.add(one_line(session.title), "title")
        self.query_one("#where", LineBar).show(where)

    async def _read(self) -> TranscriptText | None:
        conversation: Conversation | None = await self._port.conversation(self.session_id)
        if conversation is None:
            return None
        make = partial(TranscriptText, conversation, named=self.named, zone=self._zone)
        return await asyncio.to_thread(make)

    async def _load(self) -> None:
        transcript = await self._read()
        if transcript is None:
            gone = line(("This session isn't in the store: it was deleted or never read.", "warn"))
            self.view.show([gone])
        elif not transcript.lines:
            self.view.show([line(("Nothing was said in this session.", "muted"))])
        else:
            self.view.show_transcript(transcript, transcript.first_named)
            self._draw_place(await self._port.find(self.session_id))

    # Going on

    def _follow(self) -> None:
        if self.is_current and self.view.transcript is not None:
            run_job(self, self.look_again, group="transcript", failed=lambda _error: None)

    async def look_again(self) -> None:
        """Show what came since the session was read; who is at its end stays there."""
        shown = self.view.transcript
        if shown is None or not await self._port.has_grown(shown.conversation):
            return
        transcript = await self._read()
        if transcript is None:
            return
        at_end = self.view.is_at_end
        transcript.take_over(shown)
        self.view.transcript = transcript
        self.view.redraw()
        if at_end:
            self.view.action_last()

    # Unfolding

    def action_unfold(self) -> None:
        """Unfold the call or the records under the cursor, or fold them."""
        view, transcript = self.view, self.view.transcript
        entry, number = view.entry, view.entry_number
        if transcript is None or entry is None:
            return
        if transcript.is_unfolded(number):
            transcript.fold(number)
            view.redraw()
        elif entry.kind in (EntryKind.CALL, EntryKind.FOLDED) or entry.is_cut:
            run_job(self, partial(self._unfold, transcript, number, entry), group="body")
        else:
            toast(self, "It is shown in whole")

    async def _unfold(self, transcript: TranscriptText, number: int, entry: Entry) -> None:
        body = await self._port.body(self.session_id, entry)
        if transcript is self.view.transcript:
            transcript.unfold(number, body)
            self.view.redraw()

    def action_unfold_all(self) -> None:
        """Unfold every call, or fold everything."""
        if transcript := self.view.transcript:
            run_job(self, partial(self._turn_all, transcript), group="unfold")

    async def _turn_all(self, transcript: TranscriptText) -> None:
        await asyncio.to_thread(transcript.turn_all, unfolded=not transcript.all_unfolded)
        self.view.redraw()

    def action_raw(self) -> None:
        """Show the lines of the entry under the cursor as they are in the file."""
        view, transcript = self.view, self.view.transcript
        entry, number = view.entry, view.entry_number
        if transcript is None or entry is None:
            return

        async def show() -> None:
            transcript.unfold(number, await self._port.raw(self.session_id, entry))
            view.redraw()

        run_job(self, show, group="body")

    # Elsewhere

    def action_jump(self) -> None:
        """Go back to the lines that are referred to."""
        if self.named is None:
            toast(self, "No lines are referred to: this is the whole session")
        elif transcript := self.view.transcript:
            self.view.go_to(transcript.first_named)

    def action_failure(self) -> None:
        """Go to the next call that failed."""
        if transcript := self.view.transcript:
            failed = transcript.failure_after(self.view.entry_number)
            if failed is None:
                toast(self, "No call failed in this session")
            else:
                self.view.go_to(failed)

    def action_copy(self) -> None:
        """Copy the entry under the cursor to the clipboard."""
        entry = self.view.entry
        if entry is None:
            return

        async def take() -> None:
            text = await self._port.body(self.session_id, entry)
            copy(self, text or entry.head)
            toast(self, "Copied what is under the cursor")

        run_job(self, take, group="copy")

    def action_close(self) -> None:
        """Go back to where one came from."""
        self.dismiss(None)


def open_transcript(
    over: Screen[Any], port: EngineSessions, ref: str, now: "Callable[[], datetime]"
) -> None:
    """Show a session, or the lines that ``ref`` names, over a screen; esc leads back to it."""
    over.app.push_screen(TranscriptScreen(port, ref, zone=now().tzinfo))
