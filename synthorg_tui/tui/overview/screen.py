"""The overview: what the store holds and what came of it, as pictures over a span of time.

Blocks are made in ``blocks``; here are the span, reading, and following what changes. A picture is
one key away from its rows: enter on a row goes there.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import ScrollableContainer

from synthorg_tui.core.errors import DomainError
from synthorg_tui.figures.models import FigureSpan
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.lines import Line, keys_line, line
from synthorg_tui.tui.base.pane import ResponsiveScreen
from synthorg_tui.tui.jobs import Throttle, copy, run_job, toast
from synthorg_tui.tui.manage.adapter import StoreManagement
from synthorg_tui.tui.manage.lines import failure_lines
from synthorg_tui.tui.overview.blocks import TITLES, block_rows, span_line
from synthorg_tui.tui.overview.calendar import CalendarBlock
from synthorg_tui.tui.overview.ways import WayTo, day_way, follow
from synthorg_tui.tui.overview.widgets import FigureBlock
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

if TYPE_CHECKING:
    from synthorg_tui.figures.models import StoreFigures

LOW: Final = 38
"""Terminal height in rows below which the grid of blocks is scrolled."""
KEEP_UP_EVERY: Final = 1.0
"""Least seconds between two readings while things happen."""
LOOK_EVERY: Final = 10.0
"""Seconds between two readings while nothing is heard: another process may change the store."""


class OverviewScreen(ResponsiveScreen):
    """Figures of the whole store; ``drawn_span`` is the span of those on the screen."""

    CSS_PATH = "overview.tcss"
    BINDINGS = bindings("overview")
    HELP_CONTEXTS = ("overview", "calendar", "list", "app")
    VERTICAL_BREAKPOINTS = [(0, "-short"), (LOW, "-tall")]  # noqa: RUF012
    HEARD_AFTER: ClassVar[float] = 0.4
    """Seconds after something happened until it is read: a call is on disk a moment later."""

    def __init__(self, management: StoreManagement, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.management = management
        self.now = now
        self.span = FigureSpan.MONTH
        self.figures: StoreFigures | None = None
        self.drawn_span: FigureSpan | None = None
        self._throttle = Throttle(self, self.reload, KEEP_UP_EVERY)
        self._heard = False
        self._is_covered = False
        self._unwatch: Callable[[], None] | None = None

    def compose(self) -> ComposeResult:
        yield LineBar([span_line(None, self.span)], id="spans")
        yield LineView(id="told")
        with ScrollableContainer(id="figures", can_focus=False):
            for name in TITLES:
                yield CalendarBlock(name) if name == "calendar" else FigureBlock(name)
        yield KeyBar("overview", "app")

    def on_mount(self) -> None:
        stored = self.app.state.span  # type: ignore[attr-defined]
        self.span = FigureSpan(stored) if stored in list(FigureSpan) else FigureSpan.MONTH
        self._show_text([line((" Counting …", "muted"))])
        self.set_interval(LOOK_EVERY, self._look)
        self.reload()

    def on_unmount(self) -> None:
        if self._unwatch is not None:
            self._unwatch()

    # Reading

    def reload(self) -> None:
        """Read the figures again; the cursor stays where it is."""
        if self.is_attached:
            run_job(self, partial(self._load, self.span), group="figures", failed=self.fail)

    async def _load(self, span: FigureSpan) -> None:
        figures = await self.management.figures(span, self.now())
        if self._unwatch is None and self.is_attached:  # not before: the store may be opening
            self._unwatch = self.management.watch(self._hear)
        if span is self.span:
            self.figures = figures
            self._draw()

    def _hear(self) -> None:
        """Something happened: read it once it is on disk, and not more often than is readable."""
        if not self._heard and self.is_attached:
            self._heard = True
            self.set_timer(self.HEARD_AFTER, self._keep_up)

    def _keep_up(self) -> None:
        self._heard = False
        self._throttle.ask()

    def _look(self) -> None:
        if self.is_current:
            self.reload()

    def on_screen_suspend(self) -> None:
        """Remember that something else is on top."""
        self._is_covered = True

    def on_screen_resume(self) -> None:
        """Show what changed while another screen was on top."""
        if self._is_covered:
            self._is_covered = False
            self.reload()

    # Drawing

    def _draw(self) -> None:
        figures = self.figures
        if figures is None:
            return
        self.query_one("#spans", LineBar).show(span_line(figures, self.span))
        if figures.is_empty:
            self._show_text(_empty_lines())
        else:
            self._show_blocks(figures)
        self.drawn_span = self.span

    def _show_blocks(self, figures: "StoreFigures") -> None:
        was_hidden = not self.query_one("#figures").display
        self.query_one("#told").display = False
        self.query_one("#figures").display = True
        for block in self.query(FigureBlock):
            if isinstance(block, CalendarBlock):
                block.show_figures(figures)
            else:
                name = str(block.id)
                block.show(lambda width, name=name: block_rows(name, figures, width, self.now()))  # type: ignore[misc]
                block.fit_height(narrow=self.narrow)
        if was_hidden:
            first = "summary" if self.narrow else "memories"
            self.query_one(f"#{first}").focus()

    def _show_text(self, lines: list[Line]) -> None:
        self.query_one("#figures").display = False
        told = self.query_one("#told", LineView)
        told.display = True
        told.show(lines)
        told.focus()

    def fail(self, error: DomainError) -> None:
        """Show an error in place of the figures; with figures on the screen, beside them."""
        if self.drawn_span is not None and self.figures is not None and not self.figures.is_empty:
            toast(self, error.message, severity="error")
            return
        self._show_text([*failure_lines(error), Line(), keys_line((_key("reload"), "tries again"))])

    def on_resize(self) -> None:
        """Blocks are as high as their rows where they are stacked."""
        self.call_after_refresh(self._draw)

    # Keys

    def turn_to(self, span: FigureSpan) -> None:
        """Show another span; the present figures stay until the others are counted."""
        self.span = span
        self.app.state.span = span.value  # type: ignore[attr-defined]
        self.query_one("#spans", LineBar).show(span_line(self.figures, span))
        self.reload()

    def action_more(self) -> None:
        """A longer span."""
        self._step(1)

    def action_less(self) -> None:
        """A shorter span."""
        self._step(-1)

    def _step(self, by: int) -> None:
        spans = list(FigureSpan)
        at = min(max(spans.index(self.span) + by, 0), len(spans) - 1)
        if spans[at] is self.span:
            toast(self, f"There is no {'longer' if by > 0 else 'shorter'} span")
        else:
            self.turn_to(spans[at])

    def action_reload(self) -> None:
        """Read all figures again."""
        self.reload()

    def action_copy(self) -> None:
        """Copy the block under the cursor as text."""
        block = self.focused
        if isinstance(block, FigureBlock):
            copy(self, f"{block.border_title}\n{block.text}")
            toast(self, f"Sent {block.border_title} to the terminal's clipboard")

    def action_close(self) -> None:
        """Go back."""
        self.dismiss()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Go to the rows behind the figure under the cursor."""
        event.stop()
        block = event.list
        if isinstance(block, CalendarBlock):
            if block.day is not None:
                follow(self, day_way(block.day))
        elif isinstance(block, FigureBlock) and isinstance(way := block.value, WayTo):
            follow(self, way)


def _key(verb: str) -> str:
    return key_of(f"overview.{verb}")


def _empty_lines() -> list[Line]:
    sessions = "in Memories imports sessions: their memories and days are drawn here"
    return [
        line((" There is nothing to draw yet", "title")),
        Line(),
        keys_line((f" {key_of('memories.importing')}", sessions)),
        keys_line(
            (f" {key_of('app.connect')}", "connects an agent: its digests, hints and tokens")
        ),
    ]
