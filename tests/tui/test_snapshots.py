"""Pictures of the screens; each docstring says what must be visible and unclipped."""

import asyncio

from textual.pilot import Pilot

from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.tui.app import MemoryDeskApp
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, in_sessions, rows
from tests.tui.tui_helpers import settle, type_text


def compare(
    snap_compare: Compare,
    app: MemoryDeskApp,
    size: Size,
    *keys: str,
    text: str = "",
    held: int = 0,
) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot, held=held)
        for key in keys:
            await pilot.press(key)
            await settle(pilot, held=held)
        if text:
            await type_text(pilot, text)
            await settle(pilot, held=held)

    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_full(snap_compare: Compare) -> None:
    """A heading for the day, letters of kinds, agents where they change; two marked; 12,345."""
    app = fake_app(FakeDesk(rows(12_345)))
    assert compare(snap_compare, app, SIZES, "j", "space", "space")


def test_empty(snap_compare: Compare) -> None:
    """'No memories yet' and the keys that import or write one."""
    app = fake_app(FakeDesk([]))
    assert compare(snap_compare, app, SIZES, "e")


def test_loading(snap_compare: Compare) -> None:
    """'Reading the store' in the list, 'opening the store' at the top, all keys below."""
    assert compare(snap_compare, fake_app(gate=asyncio.Event()), SIZES, held=1)


def test_error(snap_compare: Compare) -> None:
    """The cause with the owner's pid, the remedy after an arrow, and the key to try again."""
    error = StoreLockedError(
        "The store is in use by process 4711.",
        owner_pid=4711,
        remedy="Close that process, or name another folder with --data-dir.",
    )
    assert compare(snap_compare, fake_app(error=error), SIZES)


def test_filter(snap_compare: Compare) -> None:
    """The text being typed, a chip for each part, and why 'since:7x' is left out."""
    text = "cat:epi agent:cod since:7x time"
    assert compare(snap_compare, fake_app(), SIZES, "slash", text=text)


def test_search(snap_compare: Compare) -> None:
    """Each result with a bar, and below it the sentence that matched with its words marked."""
    assert compare(snap_compare, fake_app(), SIZES, "s", *"git", "space", *"push", "enter")


def test_sessions(snap_compare: Compare) -> None:
    """Headings by day and session; titles alone in the rows; the kind as a word in the detail."""
    app = fake_app(FakeDesk(in_sessions(40)))
    assert compare(snap_compare, app, SIZES, "j", "j")


def test_groups(snap_compare: Compare) -> None:
    """Projects, kinds and agents with their numbers under the filter; the chosen one is marked."""
    app = fake_app(FakeDesk(in_sessions(40)))
    assert compare(snap_compare, app, SIZES, "t", "slash", *"kind:commit", "enter")


def test_nothing_relevant(snap_compare: Compare) -> None:
    """'Nothing relevant', the words searched for, and the way back."""
    assert compare(snap_compare, fake_app(), SIZES, "s", *"zebra", "enter")


def test_confirm(snap_compare: Compare) -> None:
    """What is about to be deleted, 'No' in focus, 'Delete' on another key."""
    assert compare(snap_compare, fake_app(), SIZES, "space", "space", "d")


def test_form(snap_compare: Compare) -> None:
    """Category, content and tags of the memory, and how to save."""
    assert compare(snap_compare, fake_app(), SIZES, "e")


def test_source(snap_compare: Compare) -> None:
    """Numbered transcript lines with a bar beside the five referred to."""
    assert compare(snap_compare, fake_app(), SIZES, "p")


def test_help(snap_compare: Compare) -> None:
    """Keys by group with what they do; long texts hang under their column."""
    assert compare(snap_compare, fake_app(), SIZES, "question_mark")


def test_import_places(snap_compare: Compare) -> None:
    """Both places chosen, with files and sizes at the right edge."""
    assert compare(snap_compare, fake_app(), SIZES, "i")


@EACH_SIZE
def test_import_progress(snap_compare: Compare, size: Size) -> None:
    """A half-filled bar, counts, rate and what is left."""
    desk = FakeDesk(rows(6))
    desk.import_gate = asyncio.Event()
    assert compare(snap_compare, fake_app(desk), size, "i", "i", "i", held=1)


def test_import_report(snap_compare: Compare) -> None:
    """What came of it, and the file left out with the reason."""
    desk = FakeDesk(rows(6))
    desk.skipped = (("/home/ada/.codex/sessions/broken.jsonl", "not readable"),)
    assert compare(snap_compare, fake_app(desk), SIZES, "i", "i", "i")


def test_first_run(snap_compare: Compare) -> None:
    """Three ways to begin, with how much was found."""
    assert compare(snap_compare, fake_app(FakeDesk([])), SIZES)


def test_light_theme(snap_compare: Compare) -> None:
    """The same pane, dark on light, every glyph still to be told apart."""
    app = fake_app()
    app.theme = "desk-light"
    assert compare(snap_compare, app, (120, 40), "j")
