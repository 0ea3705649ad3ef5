"""One action that a key can start, as plain data; the registry of all is ``actions``."""

from collections.abc import Mapping
from dataclasses import dataclass

from synthorg_tui.tui.key_table import without_screen


@dataclass(frozen=True, slots=True)
class Action:
    """An action that a key can start, with its keys and its texts.

    ``id`` is ``<context>.<action method>``; ``keys`` are Textual key names, comma-separated;
    ``shown`` is how the key is written for people; ``footer`` lists it in the footer. An action
    with ``opens_entry`` runs before the next key is handled, so that whoever types on at once
    writes into the entry it opens. ``does`` is the Textual action if that is not the method named
    in the id.
    """

    id: str
    keys: str
    shown: str
    label: str
    help: str
    footer: bool = False
    palette: bool = True
    opens_entry: bool = False
    does: str = ""

    @property
    def context(self) -> str:
        """The part of the id before the dot: the screen or widget where the action is available."""
        return self.id.partition(".")[0]

    @property
    def method(self) -> str:
        """The Textual action to run, without the prefix ``action_``."""
        return self.does or self.id.partition(".")[2]

    @property
    def command(self) -> str:
        """The command that does the same without a screen; empty where there is none."""
        return without_screen(self.context, self.id.partition(".")[2])[0]

    @property
    def screen_only(self) -> str:
        """Why no command does the same, empty where one does."""
        return without_screen(self.context, self.id.partition(".")[2])[1]

    def key(self, keymap: Mapping[str, str]) -> str:
        """Return the label of the action's first key.

        ``keymap`` maps action ids to the keys a person chose instead of the default ones.
        """
        keys = keymap.get(self.id)
        if not keys:
            return self.shown
        from textual.keys import format_key

        return format_key(keys.split(",")[0].strip()).replace("ctrl+", "^")
