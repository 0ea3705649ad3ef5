"""Small questions of a review: until when, and how a lesson is to read."""

from datetime import datetime
from typing import Final

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.approvals.ports import FIELDS, STEPS, Wording
from synthorg_tui.tui.approvals.review_lines import TITLES
from synthorg_tui.tui.approvals.state import snooze_choices
from synthorg_tui.tui.approvals.wording import note_text, problems, shown, steps_of, steps_text
from synthorg_tui.tui.base.lines import Line, beside, line
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar
from synthorg_tui.tui.widgets.rows import FixedList

NOT_TAKEN: Final = "Not taken over. esc again gives it up, ^s takes it."


class SnoozeDialog(ModalScreen[datetime | None]):
    """A few times to choose from; gives the chosen one."""

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("choose")

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self._choices = snooze_choices(now)

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(classes="dialog", id="snooze-box") as box:
            box.border_title = "Snooze until"
            box.border_subtitle = "↵ chooses · esc leaves"
            yield FixedList(id="snooze")

    def on_mount(self) -> None:
        """Start at the nearest time."""
        times = self.query_one("#snooze", FixedList)
        times.styles.height = len(self._choices)
        times.show(self._lines)
        times.focus()

    def _lines(self, width: int) -> list[tuple[object, Line]]:
        return [
            (
                at,
                beside(
                    line((f"  {label}", "text")), line((f"{at:%a %d %b %H:%M}", "muted")), width
                ),
            )
            for label, at in self._choices
        ]

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """The time under the cursor."""
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, datetime):
            self.dismiss(value)

    def action_close(self) -> None:
        """Not snoozed."""
        self.dismiss(None)


class LessonForm(ModalScreen[Wording | None]):
    """The fields of a lesson to reword; a field left alone stays exactly as it was."""

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("lesson")

    def __init__(self, wording: Wording) -> None:
        super().__init__()
        self._before = wording
        self._shown = {name: shown(wording.text(name)) for name in FIELDS}
        self._shown[STEPS] = steps_text(wording.steps)
        self._warned = False

    def compose(self) -> ComposeResult:
        """A labelled entry for each field."""
        with Vertical(classes="dialog", id="lesson") as box:
            box.border_title = "Reword the lesson"
            box.border_subtitle = "^s takes it over · esc cancels"
            for name in (*FIELDS, STEPS):
                with Horizontal(classes="field", id=f"field-{name}"):
                    yield LineBar([line((TITLES[name], "muted"))])
                    yield TextArea(self._shown[name], id=name, tab_behavior="focus", compact=True)
            yield LineBar(id="note")

    def on_mount(self) -> None:
        """Start at the top."""
        self.query_one(f"#{FIELDS[0]}", TextArea).focus()

    @property
    def wording(self) -> Wording:
        """What the entries hold."""
        now = {name: self.query_one(f"#{name}", TextArea).text for name in (*FIELDS, STEPS)}
        fields = {
            name: self._before.text(name) if now[name] == self._shown[name] else now[name].strip()
            for name in FIELDS
        }
        same = now[STEPS] == self._shown[STEPS]
        steps = self._before.steps if same else steps_of(now[STEPS], self._before.steps)
        return Wording(**fields, steps=steps)

    def action_save(self) -> None:
        """Give back the wording, when it is complete."""
        wording = self.wording
        if found := problems(wording):
            self._tell(line(("! ", "bad"), (f"{found[0]}.", "warn")))
            return
        self.dismiss(wording)

    def action_close(self) -> None:
        """Leave; what was written is only given up at the second press."""
        if self.wording != self._before and not self._warned:
            self._warned = True
            self._tell(line(("! ", "warn"), (NOT_TAKEN, "text")))
            return
        self.dismiss(None)

    def _tell(self, note: Line) -> None:
        self.query_one("#note", LineBar).show(note)


class NoteForm(ModalScreen[str | None]):
    """The text of a note to reword; left alone it stays exactly as it was."""

    CSS_PATH = "approvals.tcss"
    BINDINGS = bindings("lesson")

    def __init__(self, text: str) -> None:
        super().__init__()
        self._before = text
        self._warned = False

    def compose(self) -> ComposeResult:
        """One entry."""
        with Vertical(classes="dialog", id="reworded") as box:
            box.border_title = "Reword what would be kept"
            box.border_subtitle = "^s takes it over · esc cancels"
            yield TextArea(shown(self._before), id="text", tab_behavior="focus", compact=True)
            yield LineBar(id="note")

    def on_mount(self) -> None:
        """Start in the text."""
        self.query_one("#text", TextArea).focus()

    @property
    def text(self) -> str:
        """What the entry holds."""
        return note_text(self.query_one("#text", TextArea).text, self._before)

    def action_save(self) -> None:
        """Give back the text, when it does."""
        if found := problems(self.text):
            self._tell(line(("! ", "bad"), (f"{found[0]}.", "warn")))
            return
        self.dismiss(self.text)

    def action_close(self) -> None:
        """Leave; what was written is only given up at the second press."""
        if self.text != self._before and not self._warned:
            self._warned = True
            self._tell(line(("! ", "warn"), (NOT_TAKEN, "text")))
            return
        self.dismiss(None)

    def _tell(self, note: Line) -> None:
        self.query_one("#note", LineBar).show(note)
