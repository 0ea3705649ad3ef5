"""Memories that are deleted, marked, written and edited in the pane."""

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input, TextArea

from synthorg_tui.memory.listing import SortOrder
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.form import MemoryForm
from synthorg_tui.tui.memories.deleted import DeletedScreen
from synthorg_tui.tui.memories.screen import MemoriesScreen
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import pane, screen_text, settle, toasts, type_text


async def test_delete_is_confirmed_on_another_key_with_no_in_focus() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("d")
        assert isinstance(app.screen, ConfirmDialog)
        assert isinstance(app.focused, Button)
        assert app.focused.id == "no"
        await pilot.press("d")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("enter")
        await settle(pilot)
        assert len(desk.live) == 40
        await pilot.press("d", "y")
        await settle(pilot)
        assert len(desk.live) == 39


async def test_undo_brings_back_what_was_deleted() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        before = dict(desk.live)
        await pilot.press("space", "space", "d")
        assert "Delete 2 memories?" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert len(desk.live) == 38
        await pilot.press("u")
        await settle(pilot)
        assert desk.live == before


async def test_deleted_memories_can_be_restored_after_a_restart() -> None:
    desk = FakeDesk(rows(6))
    await desk.remove(["mem-00001"])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("U")
        await settle(pilot)
        assert isinstance(app.screen, DeletedScreen)
        await pilot.press("u")
        await settle(pilot)
        assert "mem-00001" in desk.live


async def test_erasing_is_asked_for_tells_what_goes_along_and_is_final() -> None:
    desk = FakeDesk(rows(6))
    desk.erased_with = ("Skill set-upstream goes, with its history and its proposals",)
    await desk.remove(["mem-00001"])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("U")
        await settle(pilot)
        await pilot.press("X")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        assert "Skill set-upstream goes" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert not desk.gone
        assert "mem-00001" not in desk.live


@pytest.mark.parametrize(("key", "blanked"), [("y", True), ("n", False)])
async def test_erasing_offers_to_blank_the_lines_of_the_transcript(key: str, blanked: bool) -> None:
    """The memory goes either way: that was confirmed before."""
    desk = FakeDesk(rows(6))
    desk.sources = ("claude-code:3f2a91c0#L11-L15",)
    await desk.remove(["mem-00001"])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("U")
        await settle(pilot)
        await pilot.press("X")
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert "Blank the transcript's lines, too?" in screen_text(app)
        assert "claude-code:3f2a91c0#L11-L15" in screen_text(app)
        assert "sessions delete" in screen_text(app)
        assert desk.gone
        await pilot.press(key)
        await settle(pilot)
        assert not desk.gone
        assert desk.blanked is blanked


async def test_marks_hidden_by_the_filter_are_left_alone() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("asterisk")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 6
        await pilot.press("slash")
        await type_text(pilot, "cat:procedural")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("d")
        assert "Delete 1 memory?" in screen_text(app)
        assert "The 5 marked ones that the filter hides are not deleted." in screen_text(app)
        assert "undoes this." in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert set(desk.gone) == {"mem-00001"}


async def test_a_range_marks_all_between() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("V", "j", "j", "j", "V")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 4


async def test_marking_all_reaches_rows_that_are_not_loaded() -> None:
    app = fake_app(FakeDesk(rows(700)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("asterisk")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 700
        await pilot.press("asterisk")
        await settle(pilot)
        assert len(pane(app).listing.marks) == 0


async def test_a_new_memory_is_written_and_taken_back() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a")
        app.screen.query_one("#agent", Input).value = "codex"
        app.screen.query_one("#content", TextArea).text = "Always run the linter."
        app.screen.query_one("#tags", Input).value = "lint habit"
        await pilot.press("ctrl+s")
        await settle(pilot)
        added = desk.live["new-6"]
        assert (added.agent_id, added.content, added.tags) == (
            "codex",
            "Always run the linter.",
            ("lint", "habit"),
        )
        await pilot.press("u")
        await settle(pilot)
        assert "new-6" not in desk.live


async def write(app: MemoryDeskApp, pilot: Pilot[None], content: str) -> None:
    await pilot.press("a")
    app.screen.query_one("#agent", Input).value = "codex"
    app.screen.query_one("#content", TextArea).text = content
    await pilot.press("ctrl+s")
    await settle(pilot)


async def test_the_cursor_goes_to_a_memory_that_was_just_written() -> None:
    app = fake_app(FakeDesk(rows(1000)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("G")
        await settle(pilot)
        await write(app, pilot, "Always run the linter.")
        row = pane(app).rows.row
        assert row is not None
        assert row.content == "Always run the linter."
        await pilot.press("j", "r")
        await settle(pilot)
        assert pane(app).rows.cursor == 1


@pytest.mark.parametrize(
    ("text", "order", "said"),
    [
        ("upgrade", "newest", "The filter hides the new memory; esc clears it"),
        ("", "oldest", "The new memory is further down: sorted by oldest"),
    ],
)
async def test_it_is_said_when_a_new_memory_is_not_in_view(
    text: str, order: SortOrder, said: str
) -> None:
    app = fake_app(FakeDesk(rows(1000)))
    async with app.run_test() as pilot:
        await settle(pilot)
        pane(app).listing.sort = order
        pane(app).set_text(text, "filter")
        await settle(pilot)
        await write(app, pilot, "Always run the linter.")
        assert said in toasts(app)


async def test_a_memory_without_content_is_not_saved() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a")
        app.screen.query_one("#agent", Input).value = "codex"
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        assert "Needs some content" in screen_text(app)


async def test_an_edit_changes_only_what_was_touched_and_undo_restores_it() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        original = desk.live["mem-00000"]
        await pilot.press("e")
        app.screen.query_one("#content", TextArea).text = "Shorter."
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert desk.live["mem-00000"].content == "Shorter."
        assert desk.live["mem-00000"].tags == original.tags
        await pilot.press("u")
        await settle(pilot)
        assert desk.live["mem-00000"].content == original.content


async def test_leaving_a_changed_form_asks_once() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("e")
        app.screen.query_one("#content", TextArea).text = "Half a thought"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MemoryForm)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)


async def test_what_was_changed_before_a_restart_is_undone_and_redone() -> None:
    desk = FakeDesk(rows(6))
    before = dict(desk.live)
    await desk.remove(["mem-00001", "mem-00002"])
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("u")
        await settle(pilot)
        assert desk.live == before
        assert toasts(app) == "Undone: deleting 2 memories · ctrl+r does it again"
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert len(desk.live) == 4
        assert toasts(app) == "Done again: deleting 2 memories · u undoes it"


async def test_with_nothing_to_undo_or_redo_it_is_said() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        for key, told in (("u", "You have changed nothing"), ("ctrl+r", "Nothing was undone")):
            await pilot.press(key)
            await settle(pilot)
            assert toasts(app).startswith(told)


async def test_what_says_nearly_the_same_is_shown_before_deleting() -> None:
    desk = FakeDesk(rows(6))
    desk.near = (rows(3)[2],)
    app = fake_app(desk)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("d")
        assert isinstance(app.screen, ConfirmDialog)
        await settle(pilot)
        assert "Says nearly the same, and stays:" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert len(desk.live) == 5


async def test_after_adding_it_is_said_what_the_new_memory_is_much_like() -> None:
    desk = FakeDesk(rows(6))
    desk.near = (rows(3)[2],)
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await write(app, pilot, "Staging can't be written to on weekends.")
        assert "Added · u takes it back" in toasts(app)
        assert "Much like: The staging database is read-only on weekends." in toasts(app)


async def test_after_adding_what_nothing_is_like_nothing_more_is_said() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await write(app, pilot, "Always run the linter.")
        assert toasts(app) == "Added · u takes it back"
