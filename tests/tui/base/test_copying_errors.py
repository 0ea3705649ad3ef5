"""An error that a pane shows in place of its list can be taken along as text."""

from synthorg_tui.core.errors import DomainError
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts

LOCKED = DomainError("The store is in use.\nBy [b]\x1b[31m.", remedy="Close it there.")
COPYING = {"memories": "1", "digest": "2", "skills": "3", "activity": "5", "sessions": "6"}


async def test_y_copies_cause_and_remedy_of_the_error_in_place_of_the_list() -> None:
    app = fake_app(error=LOCKED)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for name, key in COPYING.items():
            app.copy_to_clipboard("")
            await pilot.press(key)
            await settle(pilot)
            assert "y copies this" in screen_text(app), name
            await pilot.press("y")
            await settle(pilot)
            cause, remedy = app.clipboard.split("\n\n")
            assert cause.startswith("The store is in use.\nBy [b]"), name
            assert "\x1b" not in cause, name
            assert remedy == "Close it there.", name
            assert "Sent the error and its remedy" in toasts(app), name


async def test_an_error_without_a_remedy_is_copied_alone() -> None:
    app = fake_app(error=DomainError("The disk is full."))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("y")
        assert app.clipboard == "The disk is full."


async def test_once_the_list_is_shown_y_copies_the_row_again() -> None:
    app = fake_app(FakeDesk(rows(1)), error=LOCKED)
    async with app.run_test() as pilot:
        await settle(pilot)
        app._host.error = None  # type: ignore[attr-defined]
        await pilot.press("r")
        await settle(pilot)
        await pilot.press("y")
        assert app.clipboard == rows(1)[0].content


async def test_a_pane_without_that_key_does_not_name_it() -> None:
    app = fake_app(error=LOCKED)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4")
        await settle(pilot)
        assert "copies" not in screen_text(app)
