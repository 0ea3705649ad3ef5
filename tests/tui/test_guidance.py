"""What tells a person how things stand: footers, toasts, and what stands where rows would be."""

from pathlib import Path

import pytest
from textual.widgets import Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.lines import line
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.key_table import NEEDS_ROW
from synthorg_tui.tui.memories.importing import ImportScreen
from synthorg_tui.tui.widgets.bars import TopBar
from tests.disk_kit import disk_of
from tests.tui.activity.activity_fakes import FakeActivity
from tests.tui.approvals.approvals_fakes import FakeApprovals
from tests.tui.skills.skills_fakes import FakeSkills
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, fake_app, rows
from tests.tui.tui_helpers import pane, screen_text, settle, toasts, type_text, until


def footer_of(text: str) -> str:
    return text.splitlines()[-1].rstrip()


class TestFooters:
    async def test_while_something_is_written_only_keys_that_are_no_text_are_offered(self) -> None:
        app = fake_app()
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            before = footer_of(screen_text(app))
            await pilot.press("slash")
            await settle(pilot)
            assert footer_of(screen_text(app)) == " ↵ Done  esc Back  F1 Help"
            await pilot.press("enter")
            await settle(pilot)
            assert footer_of(screen_text(app)) == before

    async def test_what_is_offered_then_can_be_clicked(self) -> None:
        app = fake_app()
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await pilot.press("slash")
            await type_text(pilot, "git")
            await settle(pilot)
            await pilot.click("#keys", offset=(3, 0))
            await settle(pilot)
            assert not isinstance(app.screen.focused, Input)
            assert pane(app).listing.filter_text == "git"
            await pilot.press("slash")
            await settle(pilot)
            await pilot.click("#keys", offset=(12, 0))
            await settle(pilot)
            assert pane(app).listing.filter_text == ""

    async def test_keys_that_were_replaced_are_shown_in_footer_help_and_palette(self) -> None:
        app = fake_app(FakeDesk(rows(6)))
        app.state.keymap = {"memories.delete": "D", "memories.edit": "ctrl+e"}
        app.set_keymap(app.state.keymap)
        async with app.run_test(size=(80, 40)) as pilot:
            await settle(pilot)
            assert " ^e Edit  D Delete " in footer_of(screen_text(app))
            offered = [command.title for command in app.get_system_commands(app.screen)]
            assert "Delete (D)" in offered
            await pilot.press("question_mark")
            await settle(pilot)
            assert "D     Delete" in screen_text(app)

    async def test_without_room_for_all_keys_help_stays(self) -> None:
        app = fake_app()
        async with app.run_test(size=(80, 24)) as pilot:
            for width in (30, 50, 79):
                await pilot.resize_terminal(width, 24)
                await settle(pilot)
                shown = footer_of(screen_text(app))
                assert shown.endswith(" ? Help"), width
                assert "…" not in shown, width

    async def test_an_import_that_does_not_run_is_not_offered_to_be_stopped(self) -> None:
        app = fake_app()
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await pilot.press("i")
            await settle(pilot)
            assert footer_of(screen_text(app)) == " ␣ Choose  i Import  esc Back  ? Help"


class TestPanes:
    async def test_the_palette_goes_to_every_pane(self) -> None:
        app = fake_app()
        async with app.run_test() as pilot:
            await settle(pilot)
            found = {each.title: each for each in app.get_system_commands(app.screen)}
            found["Digest (2)"].callback()
            await settle(pilot)
            assert isinstance(app.screen, DigestScreen)

    async def test_what_another_pane_changed_is_shown_on_the_way_back(self) -> None:
        desk = FakeDesk(rows(3))
        app = fake_app(desk)
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await pilot.press("4")
            await settle(pilot)
            desk.live = {row.id: row for row in rows(5)}
            await pilot.press("1")
            await settle(pilot)
            assert "5 · newest" in screen_text(app)


class TestToasts:
    async def test_a_toast_takes_the_place_of_the_one_before(self) -> None:
        app = fake_app()
        async with app.run_test() as pilot:
            await settle(pilot)
            await pilot.press("d", "y")
            await settle(pilot)
            assert toasts(app).startswith("Deleted 1 memory")
            await pilot.press("u")
            await settle(pilot)
            assert toasts(app).startswith("Undone: deleting")

    async def test_undo_says_that_what_was_erased_does_not_come_back(self) -> None:
        desk = FakeDesk(rows(3))
        app = fake_app(desk)
        async with app.run_test() as pilot:
            await settle(pilot)
            await pilot.press("d", "y")
            await settle(pilot)
            await pilot.press("U")
            await settle(pilot)
            await pilot.press("X", "y")
            await settle(pilot)
            await pilot.press("escape")
            await settle(pilot)
            await pilot.press("u")
            await settle(pilot)
            assert toasts(app).startswith("You have changed nothing that can be undone here")
            assert len(desk.live) == 2


class TestTopBar:
    async def test_of_the_status_whole_parts_are_shown(self) -> None:
        app = fake_app(FakeDesk([]))
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await pilot.press("e")
            await settle(pilot)
            for width, shown in (
                (120, "  1,234 memories · 12 agents"),
                (97, "8 Organisation  1,234 memories"),
                (90, "8 Orga  1,234 memories · 12 agents"),
                (80, "8 Orga  1,234 memories"),
                (66, "6 8  1,234 memories · 12 agents"),
                (46, "6 8  1,234 memor…"),
            ):
                await pilot.resize_terminal(width, 24)
                await settle(pilot)
                app.screen.query_one(TopBar).tell(line(("1,234 memories · 12 agents", "muted")))
                await settle(pilot)
                first = screen_text(app).splitlines()[0].rstrip()
                assert " ".join(first.split()).endswith(" ".join(shown.split())), width

    @pytest.mark.parametrize(
        ("width", "shown"),
        [(120, "indexing 43% · 40 memories · 3 agents"), (80, "8 Orga indexing 43%")],
    )
    async def test_what_takes_a_while_stands_first_until_it_is_over(
        self, width: int, shown: str
    ) -> None:
        host = FakeHost(FakeDesk(rows(40)))
        app = MemoryDeskApp(host, now=lambda: NOW)
        async with app.run_test(size=(width, 24)) as pilot:
            await settle(pilot)
            header = first_line(app)
            host.indexes(0.43)
            await until(pilot, lambda: first_line(app).endswith(shown))
            host.indexes(None)
            await until(pilot, lambda: first_line(app) == header)

    @pytest.mark.parametrize("width", [80, 120])
    async def test_a_disk_that_is_nearly_full_is_told_below_the_header_until_there_is_room(
        self, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = disk_of(monkeypatch, free_mib=150)
        app = MemoryDeskApp(FakeHost(FakeDesk(rows(40))), data_dir=tmp_path, now=lambda: NOW)
        async with app.run_test(size=(width, 24)) as pilot:
            await settle(pilot)
            assert screen_text(app).splitlines()[1].strip() == "disk nearly full · 150 MB free"
            disk.free = None
            app.action_reopen()
            await until(pilot, lambda: "nearly full" not in screen_text(app))


def first_line(app: MemoryDeskApp) -> str:
    """The header, without the room between its parts."""
    return " ".join(screen_text(app).splitlines()[0].split())


class TestEmptyLists:
    async def test_a_cause_that_is_longer_than_a_row_is_shown_whole(self) -> None:
        cause = "the file " + "very " * 20 + "long is not a database"
        app = fake_app(error=DomainError(cause, remedy="Restore it."))
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            shown = " ".join(screen_text(app).replace("│", " ").split())
            assert cause in shown

    async def test_a_disk_that_refuses_is_told_without_the_name_of_a_class(self) -> None:
        app = fake_app(error=NotADirectoryError(20, "Not a directory", "/data/x"))
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            assert "/data/x: Not a directory" in screen_text(app)
            assert "Error" not in screen_text(app)

    async def test_where_no_sessions_are_found_the_sample_is_one_key_away(self) -> None:
        desk = FakeDesk([])
        desk.places = ()
        app = fake_app(desk)
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await pilot.press("e")
            await settle(pilot)
            await pilot.press("i")
            await settle(pilot)
            assert footer_of(screen_text(app)) == " l Sample  esc Back  ? Help"
            assert "No sessions found in the places of 15 agents" in screen_text(app)
            await pilot.press("l")
            await settle(pilot)
            assert not isinstance(app.screen, ImportScreen)
            assert "6 memories" in screen_text(app)
            await pilot.press("i")
            await settle(pilot)
            assert "Done." in screen_text(app)
            assert "Looking" not in screen_text(app)


async def test_a_key_for_a_row_says_why_it_does_nothing_where_there_is_none() -> None:
    desk = FakeDesk(rows(6))
    desk.skills, desk.approvals, desk.activity = FakeSkills(), FakeApprovals(), FakeActivity()
    app = fake_app(desk)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for context in ("digest", "skills", "approvals", "activity"):
            app.switch_mode(context)
            await settle(pilot)
            screen = app.screen
            for verb in NEEDS_ROW[context].split():
                if (context, verb) == ("digest", "zoom"):  # it zooms the empty list
                    continue
                app.clear_notifications()
                await screen.run_action(verb)
                await settle(pilot)
                assert app.screen is screen, (context, verb)
                assert toasts(app), (context, verb)
