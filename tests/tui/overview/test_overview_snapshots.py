"""Pictures of the overview; each docstring says what must be visible."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.overview import screen as overview
from synthorg_tui.tui.overview.screen import OverviewScreen
from tests.tui.overview.overview_fakes import (
    FigureManagement,
    empty_figures,
    full_figures,
    with_another_digest,
)
from tests.tui.pictures import EACH_SIZE, SIZES, Compare, Size
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OverviewScreen, "HEARD_AFTER", 0.001)
    monkeypatch.setattr(overview, "KEEP_UP_EVERY", 0.001)


def compare(
    snap_compare: Compare,
    size: Size,
    management: FigureManagement,
    *keys: str,
    theme: str = "",
    then: Callable[[], None] = lambda: None,
) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in ("0", *keys):
            await pilot.press(key)
            await settle(pilot)
        then()
        await settle(pilot)

    app = fake_app(FakeDesk(rows(6)), management=management)
    if theme:
        app.theme = theme
    app.set_reactive(type(app).app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


@EACH_SIZE
def test_the_overview(snap_compare: Compare, size: Size) -> None:
    """The span in brackets with its first day. Wide: the calendar over nine blocks, each with its
    sentence, columns and exact numbers. Narrow: a line in short for every topic, then the calendar,
    the rest below."""
    assert compare(snap_compare, size, FigureManagement(full_figures))


def test_an_empty_overview(snap_compare: Compare) -> None:
    """That there is nothing to draw yet, and the two keys that change that."""
    assert compare(snap_compare, SIZES, FigureManagement(empty_figures))


@EACH_SIZE
def test_an_overview_after_a_digest(snap_compare: Compare, size: Size) -> None:
    """One digest more than before: in the sentence, in the total and in the last column; the rest
    and the cursor as they were."""
    management = FigureManagement(full_figures)

    def happens() -> None:
        management.answer = with_another_digest
        assert management.hear is not None
        management.hear()

    assert compare(snap_compare, size, management, then=happens)


def test_an_overview_that_cannot_be_read(snap_compare: Compare) -> None:
    """The cause, what to do, and the key that tries again; no block."""
    management = FigureManagement(full_figures)
    management.figure_error = DomainError("The store is damaged.", remedy="F4 examines it.")
    assert compare(snap_compare, SIZES, management)


@EACH_SIZE
def test_a_day_under_the_cursor(snap_compare: Compare, size: tuple[int, int]) -> None:
    """The day before, marked in the calendar, and what it had in words over it."""
    to_it = ("tab", "up") if size[0] < 100 else ("shift+tab", "up")
    assert compare(snap_compare, size, FigureManagement(full_figures), *to_it)


def test_a_year_in_a_narrow_terminal_further_down(snap_compare: Compare) -> None:
    """Twelve months, a column each; the blocks of hints, lessons and tokens."""
    keys = ("plus", "plus", *["tab"] * 5)
    assert compare(snap_compare, (80, 24), FigureManagement(full_figures), *keys)


def test_a_light_overview(snap_compare: Compare) -> None:
    """The same as dark on light; every picture to be told from its background."""
    management = FigureManagement(full_figures)
    assert compare(snap_compare, (120, 40), management, theme="desk-light")
