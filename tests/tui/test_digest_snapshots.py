"""Pictures of the Digest pane; each docstring says what must be visible and unclipped."""

from textual.pilot import Pilot
from textual.widgets import Input

from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.digest.screen import DigestScreen
from tests.tui.digest.digest_fakes import former_memory, told
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle

TASK = "the git push of a branch with no index rebuilt"


def compare(
    snap_compare: Compare, app: MemoryDeskApp, size: Size, *keys: str, task: str = TASK
) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, DigestScreen)
        screen.digest.agent_id = "codex"
        if task:
            screen.query_one("#task", Input).value = task
            await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)

    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_empty(snap_compare: Compare) -> None:
    """What the pane is for, and the keys that write the task and choose the agent."""
    app = fake_app()
    assert compare(snap_compare, app, SIZES, task="")


def test_full(snap_compare: Compare) -> None:
    """The budget bar with its cut, candidates in and out, why, and the text with its ruler."""
    assert compare(snap_compare, fake_app(), SIZES, "j")


def test_degraded(snap_compare: Compare) -> None:
    """A line says what was missing; the rest is as ever."""
    desk = FakeDesk(rows(40))
    desk.digests.degraded = "keyword search is not available; only meaning was compared"
    assert compare(snap_compare, fake_app(desk), SIZES)


@EACH_SIZE
def test_former(snap_compare: Compare, size: Size) -> None:
    """Below those left out, a labelled group of what is no longer given; why the last one isn't."""
    desk = FakeDesk(rows(40))
    desk.digests.former = tuple(map(former_memory, rows(2)))
    assert compare(snap_compare, fake_app(desk), size, "end")


def test_organisation(snap_compare: Compare) -> None:
    """Policies in one row with their tokens, a fact, then memories; one policy without room."""
    desk = FakeDesk(rows(40))
    desk.digests.organisation = (
        told("All code is reviewed before it is merged."),
        told("Never push to main."),
        told("Measure before and after each change.", Verdict.OVER_BUDGET),
        told("Branches are named after their issue.", category="convention"),
    )
    assert compare(snap_compare, fake_app(desk), SIZES)


def clustered() -> FakeDesk:
    """A desk of which each line of an answer stands for three others."""
    desk = FakeDesk(rows(40))
    ids = [row.id for row in rows(40) if row.agent_id == "codex"]
    desk.digests.clusters = {key: (tuple(ids[5:8]), "seen 4 times, last on 12 Feb") for key in ids}
    return desk


def test_a_line_that_stands_for_others(snap_compare: Compare) -> None:
    """×4 before the text; how often it was seen and when last, with the key that lists them."""
    assert compare(snap_compare, fake_app(clustered()), SIZES)


def test_what_a_line_stands_for(snap_compare: Compare) -> None:
    """A dialog with the three others, and how often they were seen in its title."""
    assert compare(snap_compare, fake_app(clustered()), SIZES, "t")


def test_over_budget(snap_compare: Compare) -> None:
    """What didn't fit beyond the cut of the bar, how many tokens it lacks, the key that helps."""
    assert compare(snap_compare, fake_app(), SIZES, *["minus"] * 9, "j")


def test_changes(snap_compare: Compare) -> None:
    """The excluded memory by glyph and word; what left the text with a minus before it."""
    assert compare(snap_compare, fake_app(), SIZES, "x", "c")


def test_options(snap_compare: Compare) -> None:
    """Every option with its value, the changed one with a dot, beside the text."""
    assert compare(snap_compare, fake_app(), SIZES, "O", "j", "right")


@EACH_SIZE
def test_scenarios(snap_compare: Compare, size: Size) -> None:
    """The scenario that ran with how it went, what it asks, and the keys."""
    assert compare(snap_compare, fake_app(), size, "ctrl+s", "enter", "S", "r")
