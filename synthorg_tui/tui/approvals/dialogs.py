"""Where a review leads: a time to snooze until, a form to reword it, the memory it is about.

The texts of the form's entries are worked out in ``wording``.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import TextArea

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.approvals.state import NO_MEMORY, snooze_choices
from synthorg_tui.tui.approvals.wording import (
    TITLES,
    Reworded,
    Wording,
    entries_of,
    from_entries,
    problems,
)
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.lines import Line, beside, line
from synthorg_tui.tui.base.pane import to_memory
from synthorg_tui.tui.jobs import toast
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.curation.review import Review

NOT_TAKEN: Final = "Not used yet. esc again gives it up, ^s uses it."


def show_subject(screen: Screen[None], review: "Review", otherwise: str = NO_MEMORY) -> None:
    """Go to the memory that an item would change, or say ``otherwise`` when there is none."""
    if review.replaces:
        to_memory(screen.app, review.replaces[0])
    else:
        toast(screen, otherwise, severity="warning")


def snooze_dialog(now: datetime) -> ChoiceDialog:
    """Return the dialog of the times to snooze until, which returns the chosen one."""

    def rows(width: int) -> list[tuple[object, Line]]:
        return [
            (
                at,
                beside(
                    line((f"  {label}", "text")), line((f"{at:%a %d %b %H:%M}", "muted")), width
                ),
            )
            for label, at in snooze_choices(now)
        ]

    dialog = ChoiceDialog("Snooze until", "↵ chooses · esc leaves", rows)
    dialog.add_class("snoozing")
    return dialog


class RewordForm(ModalScreen[Reworded | None]):
    """A form for the fields of a lesson, or for the one text that an agent wants to store.

    Returns the new wording, or ``None``. A field the person doesn't edit keeps its exact text,
    including characters that can't be shown.
    """

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("lesson")

    def __init__(self, wording: Reworded) -> None:
        super().__init__()
        self._before = wording
        self._entries = entries_of(wording)
        self._warned = False

    def compose(self) -> ComposeResult:
        is_lesson = isinstance(self._before, Wording)
        with Vertical(classes="dialog", id="lesson" if is_lesson else "reworded") as box:
            box.border_title = "Reword the lesson" if is_lesson else "Reword what would be stored"
            box.border_subtitle = "^s uses it · esc cancels"
            for name, text in self._entries.items():
                entry = TextArea(text, id=name, tab_behavior="focus", compact=True)
                if is_lesson:
                    with Horizontal(classes="field", id=f"field-{name}"):
                        yield LineBar([line((TITLES[name], "muted"))])
                        yield entry
                else:
                    yield entry
            yield LineBar(id="note")

    def on_mount(self) -> None:
        self.query(TextArea).first().focus()

    @property
    def wording(self) -> Reworded:
        """Return the wording that the entries hold."""
        entries = {name: self.query_one(f"#{name}", TextArea).text for name in self._entries}
        return from_entries(entries, self._before)

    def action_save(self) -> None:
        """Return the wording if it is valid; otherwise show what is wrong."""
        wording = self.wording
        if wrong := problems(wording):
            self.query_one("#note", LineBar).show(line(("! ", "bad"), (f"{wrong[0]}.", "warn")))
            return
        self.dismiss(wording)

    def action_close(self) -> None:
        """Close the form; unsaved text is discarded only at the second press."""
        if self.wording != self._before and not self._warned:
            self._warned = True
            self.query_one("#note", LineBar).show(line(("! ", "warn"), (NOT_TAKEN, "text")))
            return
        self.dismiss(None)
