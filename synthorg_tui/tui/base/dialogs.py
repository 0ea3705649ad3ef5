"""Small dialogs: a confirmation, a prompt for one line, and the help with all keys."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input
from textual.widgets.button import ButtonVariant

from synthorg_tui.tui.actions import bindings, key_of, of
from synthorg_tui.tui.base.lines import Line, line, wrap
from synthorg_tui.tui.base.saving import Saving
from synthorg_tui.tui.key_table import CONTEXTS
from synthorg_tui.tui.state import keymap_of
from synthorg_tui.tui.widgets.line_view import LineBar, LineView

_MAX_LISTED = 8
_WIDTH = 62
"""Inner width of a dialog in columns; less on a narrow terminal."""


class _Answer(Button):
    """A button that shows by a mark, not by colour alone, that Enter presses it."""

    def __init__(self, text: str, *, id: str, variant: ButtonVariant = "default") -> None:
        super().__init__(f"  {text}", id=id, variant=variant, compact=True)
        self._text = text

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.label = f"{'▸' if has_focus else ' '} {self._text}"


class ConfirmDialog(ModalScreen[bool]):
    """A dialog that asks for a confirmation and lists what is affected; *No* has the focus.

    Returns ``True`` for *Yes*.
    """

    BINDINGS = bindings("confirm")

    def __init__(self, question: str, touched: Sequence[Line], *, yes: str, note: str = "") -> None:
        super().__init__()
        self._question = question
        self._touched = touched
        self._yes = yes
        self._note = note

    def compose(self) -> ComposeResult:
        listed = [Line([("  ", "text"), *row.spans]) for row in self._touched[:_MAX_LISTED]]
        if len(self._touched) > _MAX_LISTED:
            listed.append(line((f"    and {len(self._touched) - _MAX_LISTED:,} more", "muted")))
        if self._note:
            note = line((f"    {self._note}", "muted"))
            note.hang = 4
            listed += [Line(), *wrap(note, min(_WIDTH, int(self.app.size.width * 0.96) - 6))]
        body = LineBar([line((self._question, "strong")), Line(), *listed], id="question")
        body.styles.height = len(listed) + 2
        with Vertical(id="dialog", classes="dialog"):
            yield body
            with Vertical(id="buttons"):
                yield _Answer(f"No, keep ({key_of('confirm.no')})", id="no")
                yield _Answer(f"{self._yes} ({key_of('confirm.yes')})", id="yes", variant="error")

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_yes(self) -> None:
        """Close the dialog and confirm."""
        self.dismiss(True)

    def action_no(self) -> None:
        """Close the dialog without confirming."""
        self.dismiss(False)


async def _as_written(answer: str) -> str:
    return answer


class PromptDialog(ModalScreen[str | None]):
    """A dialog that asks for one line of text.

    Returns the text, or ``None`` if the person cancels. With ``save`` it stores the text first,
    stays open if that fails, and returns what ``save`` returned.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(
        self,
        question: str,
        value: str,
        *,
        hint: str = "",
        save: Callable[[str], Awaitable[str]] = _as_written,
    ) -> None:
        super().__init__()
        self._save = save
        self._saving = Saving(self, note="#hint", key="↵")
        self._question = question
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield LineBar([line((self._question, "strong"))])
            yield Input(self._value, compact=True, id="answer")
            yield LineBar([line((self._hint, "muted"))], id="hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Save or return the text, unless it is blank."""
        if answer := event.value.strip():
            self._saving.begin(lambda: self._save(answer))
        else:
            self.query_one("#hint", LineBar).show_whole(
                line(("! ", "bad"), ("Nothing is written yet · esc leaves", "warn"))
            )

    def on_screen_resume(self) -> None:
        """Close the dialog if the text was saved while another screen covered it."""
        self._saving.finish()

    def action_cancel(self) -> None:
        """Close the dialog without an answer."""
        if not self._saving.is_busy:
            self.dismiss(None)


class HelpScreen(ModalScreen[None]):
    """A dialog that lists all keys that work on the screen below, by group."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q", "dismiss", "Close")
    ]

    def __init__(self, contexts: Sequence[str]) -> None:
        super().__init__()
        self._contexts = contexts

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="help") as box:
            box.border_title = "Keys"
            box.border_subtitle = "esc closes"
            yield LineView(self._lines(), id="help-text")

    def _lines(self) -> list[Line]:
        lines: list[Line] = []
        for context in self._contexts:
            lines.append(line((CONTEXTS[context], "title")))
            for action in of(context):
                key = action.key(keymap_of(self.app))
                keys = line((f"  {key:<6}", "accent"), (f"{action.label:<11}", "strong"))
                keys.hang = keys.width
                lines.append(keys.add(action.help, "muted"))
            lines.append(Line())
        return lines
