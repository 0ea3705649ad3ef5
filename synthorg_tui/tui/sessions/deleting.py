"""The question before a session is deleted: alone, or with what was made of it."""

from collections.abc import Sequence
from enum import StrEnum

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Button

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line, one_line, wrap
from synthorg_tui.tui.widgets.line_view import LineBar

_WIDTH = 62
_MAX_TOLD = 8


class SessionFate(StrEnum):
    """What is to be deleted: the session alone, or also what was made of it."""

    ALONE = "alone"
    WITH_ALL = "with all"


class DeleteSessionDialog(ModalScreen[SessionFate | None]):
    """Asks what to delete; *No* has the focus. Returns ``None`` for nothing.

    ``told`` is what was made of the session; if nothing was, only one answer deletes. ``others``
    is the number of subagents' sessions that go along.
    """

    BINDINGS = bindings("deleting")
    HELP_CONTEXTS = ("deleting",)

    def __init__(self, session: Line, told: Sequence[str], *, others: int) -> None:
        super().__init__()
        self._session = session
        self._told = tuple(told)
        self._others = others

    def compose(self) -> ComposeResult:
        """The session, what was made of it, the answers."""
        lines = self._lines()
        body = LineBar([line(("Delete this session for good?", "strong")), Line(), *lines])
        body.styles.height = len(lines) + 2
        with Vertical(classes="dialog"):
            yield body
            with Vertical(id="buttons"):
                yield Button("No, keep (n)", id="no", compact=True)
                if self._told:
                    yield Button("Keep these (k)", id="keep", variant="warning", compact=True)
                yes = "Delete all (y)" if self._told else "Delete (y)"
                yield Button(yes, id="yes", variant="error", compact=True)

    def _lines(self) -> list[Line]:
        lines = [Line([("  ", "text"), *self._session.spans])]
        if self._others:
            lines.append(line((f"  with {self._others:,} of its subagents", "text")))
        if self._told:
            lines += [Line(), line(("Made of it:", "muted"))]
            lines += [line((f"  {one_line(told)}", "warn")) for told in self._told[:_MAX_TOLD]]
            if len(self._told) > _MAX_TOLD:
                lines.append(line((f"  and {len(self._told) - _MAX_TOLD:,} more", "muted")))
        note = line(
            ("It can't be brought back, and an import won't read it again. ", "muted"),
            ("The file that the agent's program wrote isn't touched.", "muted"),
        )
        width = min(_WIDTH, int(self.app.size.width * 0.96) - 6)
        return [*lines, Line(), *wrap(note, width)]

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        answers = {"keep": self.action_keep, "yes": self.action_yes}
        answers.get(event.button.id or "", self.action_no)()

    def action_yes(self) -> None:
        """Delete the session with what was made of it."""
        self.dismiss(SessionFate.WITH_ALL)

    def action_keep(self) -> None:
        """Delete the session and keep what was made of it."""
        if self._told:
            self.dismiss(SessionFate.ALONE)

    def action_no(self) -> None:
        """Delete nothing."""
        self.dismiss(None)
