"""The base of the screens about the whole: a list or none, a text, and one job at a time."""

import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.message import Message

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import ResponsiveScreen
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.manage.adapter import StoreManagement
from synthorg_tui.tui.manage.lines import failure_lines
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.persistence.integrity import RowsRead


class ManageScreen(ResponsiveScreen):
    """A screen with a list (``CHOICES`` is its title, empty for none) and a text beside it.

    ``CONTEXT`` names its actions, of which it has the bindings. A subclass reads in ``load``. Jobs
    run one at a time; ``c`` stops the one that runs.
    """

    CSS_PATH = "manage.tcss"
    CONTEXT: ClassVar[str] = ""
    HELP_CONTEXTS: ClassVar[tuple[str, ...]] = ()
    TITLE_OF_TEXT: ClassVar[str] = ""
    CHOICES: ClassVar[str] = ""

    @dataclass
    class Told(Message):
        """Posted with the progress of a job, from whichever thread it runs in."""

        text: str

        def can_replace(self, message: Message) -> bool:
            """Return whether an older message may be dropped: only the newest is drawn."""
            return isinstance(message, ManageScreen.Told)

    def __init__(self, management: StoreManagement, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.management = management
        self.now = now
        self.cancel = threading.Event()
        self.doing = ""

    def compose(self) -> ComposeResult:
        if self.CHOICES:
            choices = FixedList(id="managed")
            choices.border_title = self.CHOICES
            choices.placeholder = [line(("Looking …", "muted"))]
            yield choices
        text = LineView(id="text")
        text.border_title = self.TITLE_OF_TEXT
        yield text
        yield LineBar(id="doing")
        yield KeyBar(self.CONTEXT, "app")

    def on_mount(self) -> None:
        (self.choices if self.CHOICES else self.text).focus()
        self.query_one("#doing").display = False
        run_job(self, self.load, group="load", failed=self.fail)

    async def load(self) -> None:
        """Read what the screen shows."""
        raise NotImplementedError

    @property
    def choices(self) -> FixedList:
        """The list."""
        return self.query_one("#managed", FixedList)

    @property
    def text(self) -> LineView:
        """The text."""
        return self.query_one("#text", LineView)

    def say(self, lines: Iterable[Line]) -> None:
        """Show these lines as the text."""
        self.text.show(lines)

    def fail(self, error: DomainError) -> None:
        """Show an error as the text."""
        if self.CHOICES and not self.choices.row_count:
            self.choices.placeholder = [line(("It couldn't be read.", "muted"))]
            self.choices.changed()
        self.say(failure_lines(error))

    def begin(self, doing: str, job: Callable[[], Awaitable[None]]) -> None:
        """Run a job and say so until it is done; refused while another one runs."""
        if self.doing:
            toast(self, f"{self.doing} is running; c stops it", severity="warning")
            return
        self.cancel.clear()
        self._show_doing(doing)

        async def run() -> None:
            try:
                await job()
            finally:
                if self.is_attached:
                    self._show_doing("")

        run_job(self, run, group="work", newest_only=False, failed=self.fail)

    def told(self, read: "RowsRead") -> None:
        """Show how far a job is that reads all rows; may be called from any thread."""
        self.post_message(self.Told(f"{read.done:,} of {read.total:,} rows read"))

    def on_manage_screen_told(self, message: Told) -> None:
        """Draw the progress."""
        if self.doing:
            self._draw_doing(message.text)

    def _show_doing(self, doing: str) -> None:
        self.doing = doing
        self.query_one("#doing").display = bool(doing)
        self._draw_doing("")
        self.refresh_bindings()

    def _draw_doing(self, progress: str) -> None:
        shown = line((f" {self.doing} … ", "accent"), (progress, "muted"))
        self.query_one("#doing", LineBar).show(shown)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to stop only what is running."""
        if action == "cancel":
            return bool(self.doing)
        return super().check_action(action, parameters)

    def action_cancel(self) -> None:
        """Stop the job that runs; what is done is kept."""
        self.cancel.set()
        toast(self, "Stopping; what is done is kept")

    def action_close(self) -> None:
        """Go back, unless a job is running."""
        if self.doing:
            toast(self, f"{self.doing} is running; c stops it", severity="warning")
        else:
            self.dismiss()
