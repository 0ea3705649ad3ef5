"""Versions of a memory: listed with what each changed, restored, and that undone."""

from textual.pilot import Pilot

from synthorg_tui.memory.listing import ChangeKind, MemoryRevision
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.engine_adapter import Change
from synthorg_tui.tui.memories.versions import VersionsScreen, version_lines, versions_of
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts

KEY = "mem-00000"


async def edited_twice() -> tuple[FakeDesk, str]:
    """A desk whose first memory has three versions; the text of the first."""
    desk = FakeDesk(rows(3))
    first = desk.live[KEY].content
    await desk.edit(KEY, Change(content="second"))
    await desk.edit(KEY, Change(content="third"))
    return desk, first


async def opened(pilot: Pilot[None], *keys: str) -> MemoryDeskApp:
    """Open the versions of the memory under the cursor, then press keys."""
    app = pilot.app
    assert isinstance(app, MemoryDeskApp)
    await settle(pilot)
    for key in ("H", *keys):
        await pilot.press(key)
        await settle(pilot)
    return app


async def test_versions_are_listed_newest_first_with_what_each_changed() -> None:
    desk, _ = await edited_twice()
    async with fake_app(desk).run_test(size=(100, 30)) as pilot:
        app = await opened(pilot)
        assert isinstance(app.screen, VersionsScreen)
        assert "present version" in screen_text(app)
        assert "- second" in screen_text(app)
        assert "+ third" in screen_text(app)
        await pilot.press("j")
        await settle(pilot)
        assert "+ second" in screen_text(app)
        assert "+ third" not in screen_text(app)


async def test_an_older_version_is_restored_after_asking_and_undone() -> None:
    desk, first = await edited_twice()
    async with fake_app(desk).run_test(size=(100, 30)) as pilot:
        app = await opened(pilot, "G", "R")
        assert isinstance(app.screen, ConfirmDialog)
        assert "- third" in screen_text(app)
        assert desk.live[KEY].content == "third"
        await pilot.press("y")
        await settle(pilot)
        assert desk.live[KEY].content == first
        assert toasts(app) == "Restored · u takes it back"
        await pilot.press("u")
        await settle(pilot)
        assert desk.live[KEY].content == "third"


async def test_enter_asks_too_and_no_leaves_the_memory_as_it_is() -> None:
    desk, _ = await edited_twice()
    async with fake_app(desk).run_test(size=(100, 30)) as pilot:
        app = await opened(pilot, "j", "enter")
        assert "Restore this version?" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        assert desk.live[KEY].content == "third"


async def test_the_present_version_is_not_restored_over_itself() -> None:
    desk, _ = await edited_twice()
    async with fake_app(desk).run_test(size=(100, 30)) as pilot:
        app = await opened(pilot, "R")
        assert isinstance(app.screen, VersionsScreen)
        assert "present version" in toasts(app)


async def test_undo_takes_back_only_what_was_restored_here() -> None:
    desk, _ = await edited_twice()
    async with fake_app(desk).run_test(size=(100, 30)) as pilot:
        app = await opened(pilot, "u")
        assert desk.live[KEY].content == "third"
        assert "Nothing was restored here" in toasts(app)


async def test_the_memory_is_shown_as_restored_once_the_versions_are_left() -> None:
    desk, _ = await edited_twice()
    async with fake_app(desk).run_test(size=(100, 30)) as pilot:
        app = await opened(pilot, "j", "R", "y", "H")
        assert not isinstance(app.screen, VersionsScreen)
        assert "second" in screen_text(app)
        assert "third" not in screen_text(app).partition("History")[0]


def revision(number: int, kind: ChangeKind, **after: object) -> MemoryRevision:
    return MemoryRevision(number, KEY, NOW, "ada (tui)", kind, {}, dict(after))


def test_deleting_and_restoring_make_no_version() -> None:
    history = (
        revision(4, ChangeKind.RESTORED),
        revision(3, ChangeKind.DELETED),
        revision(2, ChangeKind.EDITED, tags=["git"]),
        revision(1, ChangeKind.ADDED, content="first"),
    )
    newest, oldest = versions_of(history)
    assert (newest.revision.revision, newest.is_present, newest.text) == (2, True, "first")
    assert (oldest.revision.revision, oldest.is_present) == (1, False)


def test_a_version_whose_text_was_erased_says_so() -> None:
    (version,) = versions_of((revision(1, ChangeKind.ADDED),))
    assert "Its text was erased." in plain(version_lines(version))
