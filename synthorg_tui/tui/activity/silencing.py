"""Silencing hints from the Activity pane: the dialog that asks for what, and what then happens."""

from functools import partial
from typing import TYPE_CHECKING

from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.activity.adapter import EngineActivity
from synthorg_tui.tui.activity.models import MutedSubject
from synthorg_tui.tui.activity.state import muted_subjects
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.base.pane import Pane
from synthorg_tui.tui.jobs import toast

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

    def answered(chosen: object) -> None:
        if isinstance(chosen, MutedSubject):
            pane.run_change(partial(silence, chosen))

    rows: list[tuple[object, Line]] = [(each, muted_line(each)) for each in subjects]
    pane.app.push_screen(
        ChoiceDialog("Hints", "↵ chooses · esc leaves", lambda _width: rows), answered
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
