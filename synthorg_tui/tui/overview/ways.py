"""The ways from the overview to the rows behind a figure: a pane with a filter, or a screen."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from textual.screen import Screen
from textual.widgets import Input

from synthorg_tui.core.text import has_hidden
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.panes import PANES

if TYPE_CHECKING:
    from synthorg_tui.tui.app import MemoryDeskApp
    from synthorg_tui.tui.approvals.screen import ApprovalsScreen

_MODES: Final = frozenset(mode for mode, _, _ in PANES)


@dataclass(frozen=True, slots=True)
class WayTo:
    """Where the rows behind a figure are.

    ``place`` is a pane or one of the screens about the whole, ``text`` the pane's filter; of
    Approvals it is the view, of Skills the name of the skill.
    """

    place: str
    text: str = ""


def memories_way(since: date | None, operator: str = "", value: str = "") -> WayTo | None:
    """Return the way to live memories since a day, of one project or kind.

    There is none to a value that a filter can't name.
    """
    if '"' in value or has_hidden(value) or "\n" in value or (operator and not value):
        return None
    parts = (f'{operator}"{value}"' if operator else "", f"since:{since}" if since else "")
    return WayTo("memories", " ".join(filter(None, parts)))


def day_way(day: date) -> WayTo:
    """Return the way to the sessions of one day."""
    return WayTo("sessions", f"since:{day} until:{day + timedelta(days=1)}")


def calls_way(kind: str, name: str = "") -> WayTo:
    """Return the way to agents' calls of a kind; ``name`` is looked for in the stored record."""
    return WayTo("activity", f"{name} kind:{kind}".strip())


def follow(screen: Screen[Any], way: WayTo) -> None:
    """Leave the overview for a pane, or open another screen over it."""
    app: MemoryDeskApp = screen.app  # type: ignore[assignment]
    if way.place not in _MODES:
        app.action_manage(way.place)
        return

    async def go() -> None:
        if app.maker.desk is None:
            toast(app, "The store isn't open yet", severity="warning")
            return
        screen.dismiss()
        await app.switch_mode(way.place)
        _filter(app, way)

    run_job(app, go, group="overview")


def _filter(app: "MemoryDeskApp", way: WayTo) -> None:
    """Set the filter of the pane that is shown now; without a text it stays as it is."""
    if not way.text:
        return
    match way.place:
        case "memories":
            app.maker.memories.show_filter(way.text)
        case "skills":
            app.maker.show_skill(way.text)
        case "approvals":
            _turn(app, way.text)
        case _:
            app.screen.query_one("#query", Input).value = way.text


def _turn(app: "MemoryDeskApp", view: str) -> None:
    from synthorg_tui.tui.approvals.state import VIEWS

    pane: ApprovalsScreen = app.screen  # type: ignore[assignment]
    for _ in VIEWS:
        if pane.inbox.view != view:
            pane.action_view()
