"""The screen every pane builds on: one list, what is under its cursor, and a filter.

The five panes differ in what they list, not in how: each opens before the store does, shows what
went wrong in place of its rows, says that it reads only when that takes a while, and stacks its
parts on a narrow terminal. That is here once. What is listed, which answer is the newest and how
a line looks belongs to the state and the lines of a pane, which know no widget.
"""

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import is_text
from synthorg_tui.tui.base.filters import Query, filter_line
from synthorg_tui.tui.base.lines import line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.ports import MemoryPort
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar

NARROW = 100
"""Columns below which list and detail stand one above the other."""


class Pane(Screen[None]):
    """A pane over the desk, which comes with ``attach`` once it is open.

    A pane says which list has the keys (``main_list``), draws everything from its state (``draw``)
    and reads it again (``reload``). It may be shown before there is a desk, and after opening
    failed. ``#query`` is the entry of the filter in the panes that have one.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012
    DEBOUNCE: ClassVar[float] = 0.12
    """Seconds until what is under the cursor is read, or what was typed is asked for."""
    LOADING_AFTER: ClassVar[float] = 0.15
    """Seconds until the pane says that something is being read."""

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.desk: MemoryPort | None = None
        self.panes = panes
        self.now = now
        self._error: DomainError | None = None
        self._slow = False
        self._timer: Timer | None = None

    @property
    def main_list(self) -> LineList:
        """The list that has the keys."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw everything from the state."""
        raise NotImplementedError

    def reload(self) -> None:
        """Read everything again; the cursor stays where it can."""
        raise NotImplementedError

    def renew(self) -> None:
        """Read again what others may have changed; unless a pane knows better, everything."""
        self.reload()

    def attach(self, desk: MemoryPort) -> None:
        """Take over the open store, and read it."""
        self.desk, self._error = desk, None
        self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._error = error
        self.draw()

    @property
    def narrow(self) -> bool:
        """Whether there is no room for list and detail side by side."""
        return self.app.size.width < NARROW

    @property
    def opening_status(self) -> str:
        """What the header says until the store is open."""
        return "not open" if self._error else "opening the store …"

    def filter_entry(self, hint: str) -> Iterator[Widget]:
        """The row in which the filter is typed."""
        yield Horizontal(
            LineBar([line(("/ filter ", "accent"))], id="prompt"),
            Input(id="query", compact=True, select_on_focus=False, placeholder=hint),
            id="entry",
        )

    def draw_filter(self, query: Query) -> None:
        """Draw the filter in ``#chips``: its parts, or what of it makes no sense."""
        bar = self.query_one("#chips", LineBar)
        bar.display = bool(query.chips or query.problems)
        if query.problems:
            bar.show(line(("! ", "bad"), (query.problems[0], "warn")))
        else:
            bar.show(filter_line(query, max(bar.size.width, 20)))

    def on_mount(self) -> None:
        """Start in the list; what it lists comes with the desk."""
        self.main_list.focus()
        self.draw()
        self.await_rows()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self.draw()

    def action_reload(self) -> None:
        """Read everything again, or try to open the store again."""
        if self.desk is None:
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()

    def on_screen_resume(self) -> None:
        """Show what changed while another screen was in front."""
        self.renew()

    def await_rows(self) -> None:
        """Say that something is being read, unless it is there before ``LOADING_AFTER``."""
        self._slow = False
        self.set_timer(self.LOADING_AFTER, self._show_loading)

    def _show_loading(self) -> None:
        self._slow = True
        self.draw()

    def run_change(self, act: Callable[[], Awaitable[str]]) -> None:
        """Run a change; show what it says it did, then read everything again."""

        async def run() -> None:
            toast(self, await act())
            self.reload()

        run_job(self, run, group="change", newest_only=False)

    def later(self, act: Callable[[], None]) -> None:
        """Do something once the keys rest, unless something else was asked for meanwhile."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self.DEBOUNCE, act)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is being typed, the keys that open an entry are text."""
        return not is_text(action, self.focused) and super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Filter as you type."""
        self.add_class("-entering")
        entry = self.query_one("#query", Input)
        entry.cursor_position = len(entry.value)
        self.set_focus(entry)

    @on(Input.Submitted, "#query")
    def _entered(self) -> None:
        self.remove_class("-entering")
        self.main_list.focus()
