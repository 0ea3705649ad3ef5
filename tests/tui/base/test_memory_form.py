"""The form of a memory on small terminals: nothing of it is out of sight."""

import pytest

from synthorg_tui.tui.base.form import MemoryForm
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle

SIZES = [(60, 20), (80, 20), (60, 16), (80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_a_new_memory_shows_all_entries_and_what_is_missing(size: tuple[int, int]) -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("a", "ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        shown = screen_text(app)
        for part in ("Agent", "Category", "Content", "Tags, separated by spaces", "Project"):
            assert part in shown
        assert "Needs an agent." in shown
        assert app.screen.query_one("#content").size.height >= 2


@pytest.mark.parametrize("size", SIZES)
async def test_the_chosen_category_has_its_name_at_every_width(size: tuple[int, int]) -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        app.screen.query_one("#category").focus()
        for name in ("procedural", "social", "working", "episodic", "semantic"):
            await pilot.press("right")
            await settle(pilot)
            row = screen_text(app).splitlines()[app.screen.query_one("#category").region.y]
            assert name in row
            assert all(glyph in row for glyph in "◌●◆▲■")
