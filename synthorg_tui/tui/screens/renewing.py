"""The Memories pane as far as it keeps up with what agents and commands change."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from synthorg_tui.tui.jobs import start
from synthorg_tui.tui.live import Soon
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.ports import MemoryShelf
from synthorg_tui.tui.screens.browse import BrowseScreen
from synthorg_tui.tui.state import UiState
from synthorg_tui.tui.view_models.window import WINDOW

KEEP_UP_AFTER = 0.7
"""Seconds until changes that others made are shown: so often at most is the store read."""


class RenewingScreen(BrowseScreen):
    """Reads the store again when others changed it; cursor and scroll stay on their memories."""

    def __init__(self, *, state: UiState, now: Callable[[], datetime], panes: Panes) -> None:
        super().__init__(state=state, now=now, panes=panes)
        self._soon = Soon(self, self._renew, KEEP_UP_AFTER)

    def keep_up(self) -> None:
        """The store changed: show it soon, with cursor and scroll where they are."""
        self._soon.ask()

    def on_screen_resume(self) -> None:
        """Show what changed meanwhile, also in the other panes."""
        self._renew()

    def _renew(self) -> None:
        if self.shelf is not None and self.is_current:
            start(self, partial(self._read_again, self.shelf, self.listing.generation), group="new")

    async def _read_again(self, shelf: MemoryShelf, generation: int) -> None:
        listing, page = self.listing, None
        facets = await shelf.facets()
        if not listing.searching:
            middle = self.rows.cursor if self.rows.is_cursor_in_view else self.rows.visible_rows[0]
            page = await shelf.page(
                listing.query.criteria,
                sort=listing.sort,
                offset=max(middle - WINDOW // 2, 0),
                limit=WINDOW,
            )
        listing.facets = facets
        if page is None:  # a search stays as it was answered
            self._draw()
        elif listing.take_page(generation, page):
            before = self.rows.row
            self.rows.renew(listing.window)
            if self.rows.row != before:
                self.forget_history()
            self._draw()
            self._follow_cursor()
        else:
            self.keep_up()
