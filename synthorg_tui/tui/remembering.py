"""An app that remembers what the person left: theme, keys, order and the pane shown last.

What changes is stored a moment later, not only at the end, so that an app that is killed forgets
nothing either.
"""

from pathlib import Path
from typing import Any

from textual import events
from textual.command import CommandPalette
from textual.theme import Theme, ThemeProvider
from textual.widget import AwaitMount

from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.jobs import InterruptibleApp, Throttle
from synthorg_tui.tui.panes import PANES
from synthorg_tui.tui.state import StateFile
from synthorg_tui.tui.themes import DARK, THEMES, ParsedStyles, theme_of

SAVE_EVERY = 1.0
"""Least seconds between two writings of the preferences while the person works."""
MAX_TOLD = 2
"""Most problems of themes that a toast lists."""


class RememberingApp(InterruptibleApp):
    """An app with stored preferences, in ``state``; ``path`` is their file, ``None`` stores none.

    ``themes`` is the folder of the person's own themes, which is read at the start only if the
    theme in use may be one of them. Whoever inherits adds the modes of ``PANES``. The first is
    shown first: it needs no more than what is loaded.
    """

    DEFAULT_MODE = PANES[0][0]
    _computed: tuple[Theme, dict[str, str]] | None = None
    """The theme whose CSS variables were asked for last, and these variables."""

    def __init__(self, path: Path | None, themes: Path | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._preferences = StateFile(path)
        self.state = self._preferences.state
        self._is_used = False
        self._saving = Throttle(self, self.save_state, SAVE_EVERY)
        for theme in THEMES:
            self.register_theme(theme)
        self._themes = themes
        self._own: set[str] = set()
        self._wrong_themes: list[str] = []
        if self.state.theme not in self.available_themes:
            self._read_themes()
        self.theme = self.state.theme if self.state.theme in self.available_themes else DARK
        self.stylesheet = ParsedStyles(variables=self.get_css_variables())
        self.set_keymap(self.state.keymap)

    def get_css_variables(self) -> dict[str, str]:
        """Compute the variables of a theme once: Textual asks again for the styles of a screen."""
        theme = self.current_theme
        if self._computed is None or self._computed[0] is not theme:
            self._computed = (theme, super().get_css_variables())
        return self._computed[1]

    def follow_preferences(self) -> None:
        """Store a theme that is chosen, and tell what was wrong with those of the person."""
        self.theme_changed_signal.subscribe(self, lambda _: self._saving.ask())
        self.call_after_refresh(self._tell_wrong_themes)

    def search_themes(self) -> None:
        """List the themes, with the person's own as they are on disk now.

        The list would cover what is told of wrong ones, so that comes when it closes.
        """
        self._read_themes()
        themes = CommandPalette(providers=[ThemeProvider], placeholder="Search for themes…")
        self.push_screen(themes, lambda _: self._tell_wrong_themes())

    def _read_themes(self) -> None:
        if self._themes is None or not self._themes.is_dir():
            return
        from synthorg_tui.settings.theme_files import read_themes

        files, problems = read_themes(self._themes)
        self._wrong_themes = list(problems)
        for file in files:
            if file.name in self.available_themes and file.name not in self._own:
                self._wrong_themes.append(f"{file.path}: name: {file.name} is a theme already")
                continue
            self._own.add(file.name)
            self.register_theme(theme_of(file))

    def _tell_wrong_themes(self) -> None:
        told, self._wrong_themes = self._wrong_themes, []
        if told:
            more = f"\nand {len(told) - MAX_TOLD} more" if len(told) > MAX_TOLD else ""
            text = "\n".join(told[:MAX_TOLD])
            notice = f"{text}{more}\nsynthorg-tui config check lists what is wrong with themes"
            self.notify(safe_text(notice, multiline=True), severity="warning", markup=False)

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
