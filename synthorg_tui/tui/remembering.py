"""An app that remembers what the person left: theme, keys, order and the pane shown last.

What changes is stored a moment later, not only at the end, so that an app that is killed forgets
nothing either.
"""

from pathlib import Path
from typing import Any

from textual import events
from textual.widget import AwaitMount

from synthorg_tui.tui.jobs import InterruptibleApp, Throttle
from synthorg_tui.tui.panes import PANES
from synthorg_tui.tui.state import StateFile
from synthorg_tui.tui.themes import DARK, THEMES

SAVE_EVERY = 1.0
"""Least seconds between two writings of the preferences while the person works."""


class RememberingApp(InterruptibleApp):
    """An app with stored preferences, in ``state``; ``path`` is their file, ``None`` stores none.

    Whoever inherits adds the modes of ``PANES``.
    """

    def __init__(self, path: Path | None, **options: Any) -> None:
        super().__init__(**options)
        self._preferences = StateFile(path)
        self.state = self._preferences.state
        self._is_used = False
        self._saving = Throttle(self, self.save_state, SAVE_EVERY)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self.state.theme if self.state.theme in self.available_themes else DARK
        self.set_keymap(self.state.keymap)

    def show_first_pane(self) -> None:
        """Show the pane that needs no more than what is loaded; what is stored stays."""
        super().switch_mode(PANES[0][0])
        self.theme_changed_signal.subscribe(self, lambda _: self._saving.ask())

    def restore_pane(self) -> None:
        """Show the pane that was shown last, unless the person does something here already."""
        if not self._is_used and len(self.screen_stack) == 1:
            self.switch_mode(self.state.pane)

    def switch_mode(self, mode: str) -> AwaitMount:
        """Show a pane, which comes first at the next start."""
        self.state.pane = mode
        self._saving.ask()
        return super().switch_mode(mode)

    def save_state(self) -> None:
        """Store the preferences, if any has changed."""
        self.state.theme = self.theme
        self._preferences.save()

    async def on_event(self, event: events.Event) -> None:
        """Any key may change a preference, so each asks for a look at them."""
        if isinstance(event, events.Key | events.MouseDown | events.Paste):
            self._is_used = True
            self._saving.ask()
        await super().on_event(event)
