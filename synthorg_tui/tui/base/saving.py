"""Saving from a form or a prompt, which stays open until the data are stored.

Until then the typed text is the person's only copy, so an error is shown in the open dialog, with
the text still there. Which values a form has, and what is saved, isn't known here.
"""

from collections.abc import Awaitable, Callable

from textual.screen import ModalScreen
from textual.widget import Widget

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.base.lines import line
from synthorg_tui.tui.jobs import run_job
from synthorg_tui.tui.widgets.line_view import LineBar


class Saving:
    """Runs the ``save`` of a modal screen, then dismisses the screen with the result.

    ``note`` is the selector of the bar that shows progress and errors, ``key`` the key that saves.
    The screen calls ``finish`` when it is shown again: a screen that is covered can't be dismissed.
    """

    def __init__(self, screen: ModalScreen[str | None], *, note: str, key: str) -> None:
        self._screen = screen
        self._note = note
        self._key = key
        self._saved: str | None = None
        self._focused: Widget | None = None
        self.is_busy = False

    def begin(self, save: Callable[[], Awaitable[str]]) -> None:
        """Run ``save`` unless it is running already; the inputs are disabled unless it fails."""
        if self.is_busy:
            return
        self.is_busy = True
        self._focused = self._screen.focused
        self._enable(False)
        self._bar.show_whole(line(("Saving …", "muted")))

        async def run() -> None:
            self._saved = await save()
            self.finish()

        run_job(self._screen, run, group="save", newest_only=False, failed=self._failed)

    def finish(self) -> None:
        """Dismiss the screen if saving succeeded and no other screen covers it."""
        if self._saved is not None and self._screen.is_active:
            saved, self._saved = self._saved, None
            self._screen.dismiss(saved)

    def _failed(self, error: DomainError) -> None:
        """Give the entries back, and say what went wrong and what to do."""
        self.is_busy = False
        self._enable(True)
        if self._focused is not None:
            self._screen.set_focus(self._focused)
        remedy = error.remedy.rstrip(".")
        again = f"{remedy}, then {self._key} again." if remedy else f"{self._key} tries again."
        message = safe_text(f"{error.message} {again}")
        self._bar.show_whole(line(("! ", "bad"), (message, "warn")))

    def _enable(self, on: bool) -> None:
        for widget in self._screen.query(Widget):
            if widget.can_focus:
                widget.disabled = not on

    @property
    def _bar(self) -> LineBar:
        return self._screen.query_one(self._note, LineBar)
