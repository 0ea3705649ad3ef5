"""The base class of the panes: a list, the details of the row under its cursor, and a filter.

The panes differ in what they list, not in how. Each can be shown before the store is open, shows an
error in place of its rows, reports that it is reading only when that takes long, and stacks its
parts on a narrow terminal. This is implemented here once. Rows, pending requests and rendering
belong to the state and the lines of a pane, which use no widgets.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from textual import on
from textual.app import App
from textual.containers import Horizontal
from textual.events import Key
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import is_text, key_of
from synthorg_tui.tui.base.filters import Query, completed, filter_line
from synthorg_tui.tui.base.lines import Line, keys_line, line
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import copy, run_job, toast
from synthorg_tui.tui.key_table import NEEDS_ROW
from synthorg_tui.tui.panes import PANES, Panes
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

_FOR_LISTS = ("filter", "task")
"""Actions whose key looks for something in a text while the text has the keys."""
_ENTRIES = {
    "filter": ("/ filter ", ""),
    "search": ("s search ", "what you want to know, in your words"),
}
NARROW = 100
"""Terminal width in columns below which the detail is placed under the list, not beside it."""


class ResponsiveScreen(Screen[None]):
    """A screen with the CSS class ``-narrow`` or ``-wide``, by the width of the terminal.

    It has the class before it has widgets. Textual adds it at the first resize, when all widgets
    have styles already, and computes them again.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012

    @property
    def narrow(self) -> bool:
        """Whether the terminal is too narrow for list and detail side by side."""
        return self.app.size.width < NARROW

    def on_compose(self) -> None:
        self.add_class("-narrow" if self.narrow else "-wide")


class Pane(ResponsiveScreen):
    """The base class of the panes; ``attach`` hands them the open engine, called the desk.

    A subclass names the list with the focus (``main_list``), draws from its state (``draw``) and
    reads the data again (``reload``). A pane may be shown before ``attach`` was called, and after
    opening failed. In panes with a filter its input has the id ``query``.
    """

    AUTO_FOCUS = ""  # ``on_mount`` focuses the main list, whatever comes first
    HELP_CONTEXTS: ClassVar[tuple[str, ...]] = ("",)
    """The contexts of the keys that work here, the pane's own first."""
    DEBOUNCE: ClassVar[float] = 0.12
    """Seconds without a key press until the selected row is read, or the typed text is searched."""
    LOADING_AFTER: ClassVar[float] = 0.15
    """Seconds of reading until the pane says that it is reading."""
    FILTER_HINT: ClassVar[str] = ""
    """Placeholder of the filter's input in a pane that also searches."""

    def __init__(self, *, panes: Panes, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.desk: EngineAdapter | None = None
        self.panes = panes
        self.now = now
        self._error: DomainError | None = None
        self._slow = False
        self._timer: Timer | None = None
        self.entering = "filter"
        """What the input is for: ``filter`` or ``search``."""

    @property
    def main_list(self) -> LineList:
        """The list that has the focus at first."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the whole pane from its state."""
        raise NotImplementedError

    def reload(self) -> None:
        """Read all data again; the cursor stays on its row if that still exists."""
        raise NotImplementedError

    def renew(self) -> None:
        """Read again what another process may have changed; by default, all data."""
        self.reload()

    def attach(self, desk: EngineAdapter) -> None:
        """Take over the open store, and read it."""
        self.desk, self._error = desk, None
        self.reload()

    def tell_error(self, error: DomainError) -> None:
        """Show cause and remedy in place of the list."""
        self._error = error
        self.draw()

    def copyable(self, lines: list[Line]) -> list[Line]:
        """Return the lines of the error, with the key that copies it in the last of them."""
        keys = keys_line((key_of(f"{self.HELP_CONTEXTS[0]}.copy"), "copies this"))
        return [*lines[:-1], Line([*lines[-1].spans, *keys.spans])]

    def action_copy(self) -> None:
        """Copy the error that is shown in place of the list, or what the pane copies."""
        if self._error is None:
            self.copy_chosen()
            return
        told = (self._error.message, self._error.remedy)
        copy(self, safe_text("\n\n".join(filter(None, told)), multiline=True))
        toast(self, "Sent the error and its remedy to the terminal's clipboard")

    def copy_chosen(self) -> None:
        """Copy what the pane copies of the row under its cursor; by default, nothing."""

    def offers(self, method: str) -> bool:
        """Return whether the footer offers an action: not one on a row while none is listed."""
        verbs = NEEDS_ROW.get(self.HELP_CONTEXTS[0], "").split()
        if method not in verbs:
            return True
        return self.is_mounted and self.main_list.selectable(self.main_list.cursor)

    def lacks_row(self, what: str) -> bool:
        """Return whether no row is under the cursor of the list, and say so: no key is silent."""
        lacks = not self.main_list.selectable(self.main_list.cursor)
        if lacks:
            toast(self, f"There is no {what} under the cursor", severity="warning")
        return lacks

    def show_memory(self, row: ListedMemory) -> None:
        """Put the cursor on a memory; only the pane that lists them can."""

    @property
    def opening_status(self) -> str:
        """Return the status that the header shows until the store is open."""
        return "not open" if self._error else "opening the store …"

    def filter_entry(self, hint: str) -> Iterator[Widget]:
        """Yield the widgets of the filter row; ``hint`` is the placeholder of its input."""
        yield Horizontal(
            LineBar([line(("/ filter ", "accent"))], id="prompt"),
            Input(id="query", compact=True, select_on_focus=False, placeholder=hint),
            id="entry",
        )

    def draw_filter(self, query: Query) -> None:
        """Show the parts of the filter as chips, or the problems found in it."""
        bar = self.query_one("#chips", LineBar)
        bar.display = bool(query.chips or query.problems)
        if query.problems:
            bar.show(line(("! ", "bad"), (query.problems[0], "warn")))
        else:
            bar.show(filter_line(query))

    def on_mount(self) -> None:
        self.main_list.focus()
        self.await_rows()

    def on_resize(self) -> None:
        self.draw()

    def action_reload(self) -> None:
        """Read all data again, or try to open the store again if that failed."""
        if self.desk is None:
            self.app.call_later(self.app.run_action, "reopen")
        else:
            self.reload()

    def on_screen_suspend(self) -> None:
        """Take toasts along that were about what is covered now."""
        self.app.clear_notifications()

    def on_screen_resume(self) -> None:
        """Show what changed while another screen was on top."""
        self.renew()

    def await_rows(self) -> None:
        """Show that the pane is reading if that takes more than ``LOADING_AFTER`` seconds."""
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
        """Call ``act`` after a short time without key presses; a further call replaces this one."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self.DEBOUNCE, act)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what opens an entry while the person types, and the filter while a text has the
        keys: there the same key looks for something in the text.
        """
        is_for_text = action in _FOR_LISTS and isinstance(self.focused, LineView)
        if is_for_text or is_text(action, self.focused):
            return False
        return super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Show the filter input and focus it; rows are filtered while the person types."""
        self.add_class("-entering")
        entry = self.query_one("#query", Input)
        entry.cursor_position = len(entry.value)
        self.set_focus(entry)

    @property
    def completions(self) -> Mapping[str, Sequence[str]]:
        """What each operator of the filter can take, which tab completes; empty without any."""
        return {}

    def enter(self, kind: str, text: str) -> None:
        """Show the input for a filter or a search with a text in it, and focus it."""
        self.entering = kind
        prompt, hint = _ENTRIES[kind]
        self.query_one("#prompt", LineBar).show(line((prompt, "accent")))
        entry = self.query_one("#query", Input)
        with entry.prevent(Input.Changed):
            entry.value = text
        entry.placeholder = hint or self.FILTER_HINT
        Pane.action_filter(self)

    def on_key(self, event: Key) -> None:
        """From the filter entry, down leads into the list, and tab completes operators."""
        entry = self.focused
        if not isinstance(entry, Input) or entry.id != "query":
            return
        if event.key == "down":
            event.stop()
            self._entered()
        elif event.key == "tab" and self.completions:
            event.stop()
            entry.value = completed(entry.value, self.completions)
            entry.cursor_position = len(entry.value)

    @on(Input.Submitted, "#query")
    def _entered(self) -> None:
        self.remove_class("-entering")
        self.main_list.focus()


def to_memory(app: App[Any], row: ListedMemory) -> None:
    """Go to the Memories pane and put its cursor on a memory."""
    app.switch_mode(PANES[0][0])
    if isinstance(app.screen, Pane):
        app.screen.show_memory(row)
