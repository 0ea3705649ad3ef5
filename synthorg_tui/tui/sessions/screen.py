"""The Sessions pane: what agents did, by day, and what was made of it.

The screen reads, asks and passes on. What is listed belongs to ``state``, how it looks to
``lines``; a session is read in the ``transcript``.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.formatting import counted, size
from synthorg_tui.tui.base.headings import Headings, day_heading
from synthorg_tui.tui.base.lines import Line, error_lines, line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import Recount, Throttle, copy, run_job, toast
from synthorg_tui.tui.panes import SESSIONS, Panes
from synthorg_tui.tui.sessions import lines as drawn
from synthorg_tui.tui.sessions.adapter import EngineSessions, MadeOfSession
from synthorg_tui.tui.sessions.deleting import DeleteSessionDialog, SessionFate
from synthorg_tui.tui.sessions.state import SessionRow, Sessions
from synthorg_tui.tui.widgets.bars import KeyBar, TopBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from synthorg_tui.executions.sessions import StoredSession
    from synthorg_tui.tui.activity.models import ActivityEvent

KEEP_UP_AFTER = 0.7
"""Seconds between two readings of the list for what is imported meanwhile."""
_HINT = "words  -words  agent:  project:  since:7d  until:  is:failed"


class SessionRows(LineList):
    """The list of sessions under the headings of their days."""

    def __init__(self, sessions: Sessions, *, now: Callable[[], datetime]) -> None:
        super().__init__(id="session-list")
        self._sessions = sessions
        self._now = now

    @property
    def row_count(self) -> int:
        """The number of sessions, those of unfolded subagents included."""
        return len(self._sessions.rows)

    @property
    def row(self) -> SessionRow | None:
        """The row under the cursor; ``None`` when nothing is listed."""
        return self._sessions.rows[self.cursor] if self.selectable(self.cursor) else None

    def show(self) -> None:
        """Draw the rows under their days after the sessions were arranged."""
        now = self._now()
        days = [(at, (day_heading(day, now),)) for at, day in self._sessions.days]
        self.show_under(Headings(days))

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the line of a session."""
        row = self._sessions.rows[index]
        unfolded = self._sessions.is_unfolded(row.session.id)
        return [drawn.session_line(row, width - 1, unfolded=unfolded)]


class SessionsScreen(Pane):
    """Lists what agents did; reads, copies the command that resumes, exports and deletes it."""

    CSS_PATH = "sessions.tcss"
    BINDINGS = bindings("sessions")
    HELP_CONTEXTS = ("sessions", "list", "app")

    def __init__(
        self,
        *,
        panes: Panes,
        now: Callable[[], datetime],
        show_memories: Callable[[str], None],
        show_import: Callable[[], None],
    ) -> None:
        super().__init__(panes=panes, now=now)
        self.sessions = Sessions(now)
        self._show_memories = show_memories
        self._show_import = show_import
        self._made: dict[str, MadeOfSession] = {}
        self._outdated: set[str] = set()
        self._shown = ""
        self._keeping_up = Throttle(self, self._keep_up, KEEP_UP_AFTER)

    def compose(self) -> ComposeResult:
        """Header, the list above or beside what is known of a session, footer."""
        yield TopBar(self.panes, SESSIONS)
        with Horizontal(id="sessions-body"):
            with Vertical(id="session-side"):
                yield from self.filter_entry(_HINT)
                yield LineBar(id="chips")
                listed = SessionRows(self.sessions, now=self.now)
                listed.border_title = SESSIONS
                yield listed
            view = LineView(id="session")
            view.border_title = "Session"
            yield view
        yield KeyBar("sessions", "app")

    @property
    def rows(self) -> SessionRows:
        """The list of sessions."""
        return self.query_one(SessionRows)

    @property
    def main_list(self) -> LineList:
        """The list of sessions."""
        return self.rows

    @property
    def session(self) -> "StoredSession | None":
        """The session under the cursor."""
        return self.rows.row.session if self.rows.row else None

    # Loading

    @property
    def port(self) -> EngineSessions | None:
        """The stored sessions, once the store is open."""
        return self.desk.sessions if self.desk is not None else None

    def attach(self, desk: EngineAdapter) -> None:
        """Take over the open store: read the list, and hear of what is imported."""
        desk.activity.listen(self._hear)
        super().attach(desk)

    def _hear(self, event: "ActivityEvent") -> None:
        if event.topic == "changed":
            self._keeping_up.ask()

    def _keep_up(self) -> None:
        if self.is_current:
            self.renew()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self.sessions.loaded = None
        self.sessions.arrange()
        super().tell_error(error)

    def reload(self) -> None:
        """Read the list again; the cursor stays on its session if that is still there."""
        if self.port is not None:
            self.await_rows()
            run_job(self, partial(self._load, self.port), group="sessions")

    async def _load(self, port: EngineSessions) -> None:
        generation = self.sessions.latest.ask()
        try:
            sessions = await port.list()
        except DomainError as error:
            if self.sessions.latest.answer(generation):
                self.tell_error(error)
            return
        following = self.session.id if self.session else None
        if self.sessions.take(generation, sessions):
            self._error = None
            self._outdated = set(self._made)
            self._show_rows(following)

    def _show_rows(self, following: str | None) -> None:
        """Draw the rows, with the cursor on a session if it is listed."""
        rows, at = self.rows, self.sessions.index_of(following)
        rows.show()
        rows.move_to(rows.cursor if at is None else at)
        self.draw()

    # Drawing

    def draw(self) -> None:
        """Draw everything from the state."""
        if not self.is_mounted:
            return
        is_bare = not self.sessions.rows
        body = self.query_one("#sessions-body")
        body.styles.layout = "vertical" if self.narrow else "horizontal"
        self.query_one("#session-side").display = not self.has_class("-zoomed")
        self.query_one("#session").display = not is_bare
        self.set_class(is_bare, "-bare")
        self.rows.placeholder = self._placeholder()
        self.rows.border_subtitle = self.sessions.caption
        self.rows.show()
        self.draw_filter(self.sessions.filter)
        self.query_one(TopBar).tell(line((self._status(), "muted")))
        self.draw_session()

    def _status(self) -> str:
        if self.port is None:
            return self.opening_status
        held = self.sessions.held
        if not held:
            return ""
        taken = size(sum(each.size for each in held))
        return f"{counted(self.sessions.own, 'session')} · {taken}"

    def _placeholder(self) -> list[Line]:
        if self._error is not None:
            return self.copyable(error_lines("The sessions can't be shown", self._error))
        if self.port is None or self.sessions.loaded is None:
            return [line(("Reading the sessions …", "muted"))] if self._slow else []
        return drawn.empty_lines(self.sessions)

    @on(LineList.Moved, "#session-list")
    def draw_session(self) -> None:
        """Draw what is known of the session under the cursor; the rest is read when it rests."""
        view, row, session = self.query_one("#session", LineView), self.rows.row, self.session
        if row is None or session is None:
            view.show([])
            return
        made = self._made.get(session.id)
        parts = row.parts
        view.show(drawn.session_lines(session, made, parts=parts, now=self.now()), top=made is None)
        view.border_subtitle = "↵ reads it"
        if made is None:
            self.later(self._read_made)

    def _read_made(self) -> None:
        session, port = self.session, self.port
        if session is None or port is None:
            return

        async def read() -> None:
            self._made[session.id] = await port.made_of(session)
            self._outdated.discard(session.id)
            self.draw_session()

        run_job(self, read, group="made")

    # Filter and order

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        following = self.session.id if self.session else None
        self.sessions.filter_text = event.value
        self.sessions.arrange()
        self._show_rows(following)

    def action_sort(self) -> None:
        """The next order: newest first, largest first."""
        following = self.session.id if self.session else None
        order = self.sessions.next_sort()
        self._show_rows(following)
        toast(self, "Largest first" if order == "size" else "Newest first")

    def action_fold(self) -> None:
        """List the subagents of a session under it, or fold them."""
        session = self._chosen()
        if session is None:
            return
        if self.sessions.turn(session.id):
            self._show_rows(session.id)
        else:
            toast(self, "It started no subagents")

    def action_back(self) -> None:
        """Close the zoom, the entry, then the filter."""
        entering = self.has_class("-entering")
        self.remove_class("-entering")
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif entering or self.focused is self.rows:
            self.query_one("#query", Input).value = ""
        self.draw()
        self.rows.focus()

    def action_zoom(self) -> None:
        """Give what is known of the session the whole room, and back."""
        if self.session is not None:
            self.toggle_class("-zoomed")
            self.draw()
            (self.query_one("#session") if self.has_class("-zoomed") else self.rows).focus()

    # What can be done with a session

    def _chosen(self) -> "StoredSession | None":
        if self.session is None:
            toast(self, "There is no session under the cursor", severity="warning")
        return self.session

    @on(LineList.Chosen, "#session-list")
    def action_read(self) -> None:
        """Read the session as a conversation."""
        from synthorg_tui.tui.sessions.transcript import open_transcript

        session, port = self._chosen(), self.port
        if session is not None and port is not None:
            open_transcript(self, port, session.id, self.now)

    def copy_chosen(self) -> None:
        """Copy the command that resumes the session in its agent's own program."""
        session, port = self._chosen(), self.port
        if session is None or port is None:
            return

        async def take() -> None:
            made = self._made.get(session.id) or await port.made_of(session)
            if made.resume:
                copy(self, made.resume)
                toast(self, f"Sent to the terminal's clipboard: {made.resume}")
            else:
                toast(self, made.resume_problem, severity="warning")

        run_job(self, take, group="copy")

    def action_known(self) -> None:
        """Show what is known of the session's project."""
        if (session := self._chosen()) is not None:
            self.app.maker.show_project(session.project)  # type: ignore[attr-defined]

    def action_memories(self) -> None:
        """List the memories of the session, in the Memories pane."""
        session, desk = self._chosen(), self.desk
        if session is None or desk is None:
            return

        async def show() -> None:
            what = BrowseFilter(sessions=(session.id,))
            if (await desk.browse(what, sort="newest", offset=0, limit=1)).total:
                self._show_memories(session.id)
            else:
                toast(self, "No memory was drawn from this session, or all are deleted")

        run_job(self, show, group="memory")

    def action_export(self) -> None:
        """Write the session to a file, as Markdown or as its stored lines."""
        from synthorg_tui.tui.base.dialogs import PromptDialog

        session, port = self._chosen(), self.port
        if session is None or port is None:
            return

        async def export(name: str) -> str:
            return await port.export(session, Path(name))

        name = "".join(c if c.isalnum() or c in "._-" else "-" for c in session.id)[:60]
        hint = ".md to read, .jsonl for its lines · enter writes · esc cancels"
        question = "Write this session, with secrets redacted, to"
        self.app.push_screen(
            PromptDialog(question, str(Path.cwd() / f"{name}.md"), hint=hint, save=export),
            lambda told: toast(self, told) if told else None,
        )

    def action_delete(self) -> None:
        """Delete the session for good, alone or with what was made of it, after asking."""
        session, port = self._chosen(), self.port
        if session is not None and port is not None:
            run_job(self, partial(self._ask, port, session), group="change", newest_only=False)

    async def _ask(self, port: EngineSessions, session: "StoredSession") -> None:
        made = await port.made_of(session)

        def answered(fate: SessionFate | None) -> None:
            if fate is not None:
                keep = fate is SessionFate.ALONE
                self.run_change(partial(self._delete, port, session, keep_memories=keep))

        shown = drawn.deleted_line(session, 58)
        dialog = DeleteSessionDialog(shown, made.told, others=made.others)
        self.app.push_screen(dialog, answered)

    async def _delete(
        self, port: EngineSessions, session: "StoredSession", *, keep_memories: bool
    ) -> str:
        told = await port.delete(session.id, keep_memories=keep_memories)
        self.post_message(Recount())
        return told

    def action_importing(self) -> None:
        """Import the sessions of this machine."""
        self._show_import()
