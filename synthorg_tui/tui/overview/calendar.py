"""The calendar of the overview: a year of days, of which one is under the cursor."""

from datetime import date, timedelta

from textual.events import Blur, Focus

from synthorg_tui.figures.drawing import LABEL_CELLS, calendar_rows
from synthorg_tui.figures.models import ActivityDay, StoreFigures
from synthorg_tui.figures.scale import CALENDAR_WEEKS
from synthorg_tui.figures.wording import activity_words, day_counts
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.overview.blocks import Rows, calendar_lines
from synthorg_tui.tui.overview.widgets import FigureBlock

_HEADINGS = 2
"""Lines over the days: the words, and the months."""


class CalendarBlock(FigureBlock):
    """Days as cells; up and down go through the weekdays, left and right through the weeks."""

    BINDINGS = bindings("calendar")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._figures: StoreFigures | None = None
        self._back = 0
        """How many weeks before the present one the cursor is."""

    def show_figures(self, figures: StoreFigures) -> None:
        """Draw the days; at first the cursor is on the present one."""
        is_first, self._figures = self._figures is None, figures
        self.show(self._rows)
        if is_first:
            self.move_to(_HEADINGS + self.today.weekday())

    @property
    def today(self) -> date:
        """The last day of the calendar."""
        assert self._figures is not None
        return self._figures.made_at.date()

    @property
    def day(self) -> date | None:
        """The day under the cursor; ``None`` where the calendar has no such day yet."""
        if self._figures is None:
            return None
        monday = self.today - timedelta(days=self.today.weekday(), weeks=self._back)
        day = monday + timedelta(days=max(self.cursor - _HEADINGS, 0))
        return day if day <= self.today else None

    def _rows(self, width: int) -> Rows:
        figures = self._figures
        if figures is None:
            return []
        each = 2 if width >= 2 * CALENDAR_WEEKS + LABEL_CELLS else 1
        weeks = max(min((width - LABEL_CELLS) // each, CALENDAR_WEEKS), 1)
        self._back = min(self._back, weeks - 1)
        rows = calendar_rows(figures.days, self.today, weeks)
        here = self.day if self.has_focus else None
        return calendar_lines(self._words(figures, here), rows, each, here)

    def _words(self, figures: StoreFigures, here: date | None) -> str:
        if here is None:
            return activity_words(figures)
        days = {each.day: each for each in figures.days}
        told = day_counts(days.get(here, ActivityDay(here, 0, 0)))
        return f"{here:%A} {here.day} {here:%B %Y}: {told} · ↵ lists them"

    def watch_cursor(self, old: int, new: int) -> None:
        """Say what the day under the cursor has."""
        super().watch_cursor(old, new)
        self._again()

    def on_focus(self, event: Focus) -> None:
        """Mark the day under the cursor."""
        self._again()

    def on_blur(self, event: Blur) -> None:
        """Mark no day."""
        self._again()

    def _again(self) -> None:
        if self._figures is not None and self.is_mounted:
            self.show(self._rows)

    def action_previous(self) -> None:
        """A week back."""
        self._back = min(self._back + 1, CALENDAR_WEEKS - 1)
        self._again()

    def action_next(self) -> None:
        """A week on."""
        self._back = max(self._back - 1, 0)
        self._again()
