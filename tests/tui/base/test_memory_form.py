"""The form of a memory on small terminals: nothing of it is out of sight."""

from synthorg_tui.tui.base.form import MemoryForm
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle

SIZES = [(60, 20), (80, 20), (60, 16), (80, 24), (120, 40)]


async def test_a_new_memory_shows_all_entries_and_what_is_missing() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.press("a", "ctrl+s")
            await settle(pilot)
            assert isinstance(app.screen, MemoryForm)
            shown = screen_text(app)
            for part in ("Agent", "Category", "Content", "Tags, separated by spaces", "Project"):
                assert part in shown, size
            assert "Needs an agent." in shown, size
            assert app.screen.query_one("#content").size.height >= 2, size
            await pilot.press("escape")


async def test_the_chosen_category_has_its_name_at_every_width() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        category = app.screen.query_one("#category")
        category.focus()
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for name in ("procedural", "social", "working", "episodic", "semantic"):
                await pilot.press("right")
                await settle(pilot)
                row = screen_text(app).splitlines()[category.region.y]
                assert name in row, size
                assert all(glyph in row for glyph in "◌●◆▲■"), size
