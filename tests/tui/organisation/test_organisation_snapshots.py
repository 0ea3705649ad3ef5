"""Pictures of the Organisation pane; each docstring says what must be visible and unclipped."""

from textual.pilot import Pilot

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.organisation.adapter import RefusedWrite
from synthorg_tui.tui.themes import LIGHT
from tests.tui.organisation.organisation_fakes import NOW, FakeOrganisation, knowledge
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle


def compare(
    snap_compare: Compare, port: FakeOrganisation, size: Size, *keys: str, theme: str = ""
) -> bool:
    desk = FakeDesk(rows(6))
    desk.organisation = port

    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        if theme:
            pilot.app.theme = theme
        for key in ("8", *keys):
            await pilot.press(key)
            await settle(pilot)

    app = fake_app(desk)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_empty(snap_compare: Compare) -> None:
    """What the pane is for, the four categories by their glyphs, and two ways to begin."""
    assert compare(snap_compare, FakeOrganisation(), SIZES)


def test_full(snap_compare: Compare) -> None:
    """Headings, marks, where, by whom, age and version; an ADR in full with what it replaces."""
    assert compare(snap_compare, FakeOrganisation(knowledge()), SIZES, *"jjj")


def test_full_in_the_light(snap_compare: Compare) -> None:
    """The same on a light ground."""
    port = FakeOrganisation(knowledge())
    assert compare(snap_compare, port, SIZES, *"jjj", theme=LIGHT)


@EACH_SIZE
def test_past(snap_compare: Compare, size: Size) -> None:
    """The moment, the slider, how many changes; the keys that write are dimmed, and say why."""
    keys = ("left_square_bracket", "left_square_bracket", "j", "e")
    assert compare(snap_compare, FakeOrganisation(knowledge()), size, *keys)


@EACH_SIZE
def test_refused(snap_compare: Compare, size: Size) -> None:
    """The form with the text still there, and why it wasn't written."""
    port = FakeOrganisation(knowledge())
    denied = "Write access denied: human cannot write to category 'core_policy'"
    port.refusal = DomainError(denied)
    keys = ("a", *"Review", "space", *"first", "ctrl+s")
    assert compare(snap_compare, port, size, *keys)


def test_refused_writes_of_agents(snap_compare: Compare) -> None:
    """Who wanted what written, when, and why it wasn't."""
    port = FakeOrganisation(knowledge())
    why = "Write access denied: agent intern (junior) cannot write to category 'adr'"
    port.turned_down = (RefusedWrite(NOW, "intern", "Use TOML.", why),)
    assert compare(snap_compare, port, SIZES, "v", "v")


def test_failed(snap_compare: Compare) -> None:
    """Cause, remedy, and the keys that try again and copy."""
    port = FakeOrganisation(knowledge())
    port.error = DomainError("The database can't be read.", remedy="Run synthorg-tui doctor.")
    assert compare(snap_compare, port, SIZES)


def test_changes(snap_compare: Compare) -> None:
    """Each version with what it changed, newest first."""
    assert compare(snap_compare, FakeOrganisation(knowledge()), SIZES, "j", "c")
