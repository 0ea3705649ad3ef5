"""Silencing hints from the Activity pane: the dialog that asks for what, and what then happens."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.activity.adapter import EngineActivity
from synthorg_tui.tui.activity.models import MutedSubject
from synthorg_tui.tui.activity.state import muted_subjects
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.jobs import toast
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallRecord

_WORDS = {"command": "the command", "lesson": "the lesson", "project": "the project"}


async def ask_silence(pane: Pane, call: "CallRecord", port: EngineActivity) -> None:
    """Ask what of the call's hint is to be silenced, or allowed again, and have it done."""
    subjects = muted_subjects(call, await port.silenced())
    if not subjects:
        toast(pane, "This call got no hint, and nothing is silenced", severity="warning")
        return

    async def silence(chosen: MutedSubject) -> str:
        await port.set_silenced(chosen.kind, chosen.subject, not chosen.is_silent)
        return muted_note(chosen)

    pane.app.push_screen(
        SilenceDialog(subjects),
        lambda chosen: pane.run_change(partial(silence, chosen)) if chosen else None,
    )


def muted_note(each: MutedSubject) -> str:
    """Return the toast text after hints were silenced or allowed again."""
    shown = one_line(each.shown)
    if each.is_silent:
        return f"Hints about {shown} again"
    return f"No more hints about {shown} · {key_of('activity.silence')} allows them again"


def muted_line(each: MutedSubject) -> Line:
    """Render a subject in one line: what choosing it does, and what it is."""
    mark, does = ("◌", "allow again") if each.is_silent else ("●", "no hints for")
    role = "muted" if each.is_silent else "accent"
    made = line((f"{mark} ", role), (f"{does} {_WORDS.get(each.kind, each.kind)} ", "text"))
    return made.add(one_line(each.shown), "strong")


class SilenceDialog(ModalScreen[MutedSubject | None]):
    """A dialog that lists what can be silenced or allowed again, and returns the choice."""

    BINDINGS = bindings("choose")

    def __init__(self, subjects: Sequence[MutedSubject]) -> None:
        super().__init__()
        self._subjects = subjects

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = "Hints"
            box.border_subtitle = "↵ chooses · esc leaves"
            yield FixedList(id="muted")

    def on_mount(self) -> None:
        rows = self.query_one("#muted", FixedList)
        rows.styles.height = min(len(self._subjects), 12)
        rows.show(lambda _: [(each, muted_line(each)) for each in self._subjects])
        rows.focus()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        value = event.list.value if isinstance(event.list, FixedList) else None
        if isinstance(value, MutedSubject):
            self.dismiss(value)

    def action_close(self) -> None:
        """Close the dialog without a choice."""
        self.dismiss(None)
