"""The Sessions pane: what is listed, what it says of a session, and what can be done with one."""

import asyncio
from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.activity.models import ActivityEvent
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import PromptDialog
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.sessions.adapter import MadeOfSession
from synthorg_tui.tui.sessions.deleting import DeleteSessionDialog
from synthorg_tui.tui.sessions.screen import SessionsScreen
from synthorg_tui.tui.sessions.transcript import TranscriptView
from tests.tui.sessions.sessions_fakes import FakeSessions, session, sessions
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import draw, pane, screen_text, settle, toasts, type_text, until


def desk_with(count: int = 5) -> FakeDesk:
    desk = FakeDesk(rows(6))
    desk.sessions = FakeSessions(sessions(count))
    return desk


async def open_pane(pilot: Pilot[None]) -> SessionsScreen:
    await settle(pilot)
    await pilot.press("6")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


async def test_sessions_are_listed_by_day_with_what_is_known_of_the_one_under_the_cursor() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        shown = screen_text(app)
        assert "Today ──" in shown
        assert "Yesterday ──" in shown
        assert "✗ Push the branch retries" in shown
        assert "3 memories" in shown
        assert "y copies the command" in shown
        assert "5 sessions" in shown


async def test_project_and_agent_stand_only_where_they_change() -> None:
    app = fake_app(desk_with(2))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_pane(pilot)
        listed = screen.sessions.rows
        assert [(row.project, row.agent) for row in listed] == [("shop", "claude-code"), ("", "")]


async def test_subagents_are_folded_under_the_session_that_started_them() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        assert "▸2" in screen_text(app)
        assert "Find callers" not in screen_text(app)
        await pilot.press("space")
        await settle(pilot)
        assert "↳ ✓ Find callers" in screen_text(app)
        await pilot.press("space")
        await settle(pilot)
        assert "Find callers" not in screen_text(app)


async def test_a_filter_lists_as_one_types_and_says_how_many_of_all() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("slash")
        await type_text(pilot, "project:desk is:completed")
        await settle(pilot)
        assert "Rebuild the index" in screen_text(app)
        assert "1 of 5 · newest" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert "5 · newest" in screen_text(app)


async def test_nothing_that_matches_says_how_many_are_hidden() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("slash")
        await type_text(pilot, "zebra")
        await settle(pilot)
        assert "7 sessions hidden by the filter." in screen_text(app)


async def test_the_order_by_size_has_no_days_and_keeps_the_cursor_on_its_session() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_pane(pilot)
        before = screen.session
        await pilot.press("o")
        await settle(pilot)
        assert screen.session == before
        sizes = [row.session.size for row in screen.sessions.rows]
        assert sizes == sorted(sizes, reverse=True)
        assert "Today ──" not in screen_text(app)


async def test_enter_reads_it_and_escape_comes_back() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert app.screen_stack[-1].query(TranscriptView)
        assert "Push the branch retries." in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, SessionsScreen)


@pytest.mark.parametrize("key", ["y"])
async def test_a_key_copies_the_command_that_resumes_it(key: str) -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        await open_pane(pilot)
        await pilot.press(key)
        await settle(pilot)
        assert app.clipboard == "cd /home/ada/shop && claude --resume 3f2a"


async def test_what_cant_be_resumed_says_why() -> None:
    desk = desk_with()
    made = MadeOfSession(resume_problem="claude has deleted its own file of this session")
    desk.sessions.made = {each.id: made for each in desk.sessions.stored}
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert "has deleted its own file" in toasts(app)
        assert not app.clipboard


async def answer(pilot: Pilot[None], key: str) -> None:
    await open_pane(pilot)
    await pilot.press("d")
    await settle(pilot)
    assert isinstance(pilot.app.screen, DeleteSessionDialog)
    assert "skill set-upstream-first-push" in screen_text(pilot.app)
    await pilot.press(key)
    await settle(pilot)


@pytest.mark.parametrize(("key", "keep"), [("y", False), ("k", True)])
async def test_deleting_takes_along_what_was_made_of_it_or_keeps_it(key: str, keep: bool) -> None:
    desk = desk_with()
    first = desk.sessions.stored[0].id
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await answer(pilot, key)
        assert desk.sessions.deleted == [(first, keep)]
        assert "Deleted 1 session" in toasts(app)


async def test_no_keeps_everything() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("n", "escape", "enter"):
            await answer(pilot, key)
            assert not desk.sessions.deleted, key


async def test_of_what_nothing_was_made_there_is_nothing_to_keep() -> None:
    desk = desk_with()
    desk.sessions.made = {each.id: MadeOfSession() for each in desk.sessions.stored}
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("d")
        await settle(pilot)
        assert [button.id for button in app.screen.query(Button)] == ["no", "yes"]
        await pilot.press("k")
        await settle(pilot)
        assert isinstance(app.screen, DeleteSessionDialog)


async def test_m_lists_the_memories_drawn_from_it_and_escape_lists_all_again() -> None:
    desk = desk_with()
    for each in list(desk.live.values())[2:4]:
        desk.live[each.id] = replace(each, source=f"{desk.sessions.stored[0].id}#L3-L4")
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("m")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        assert len(pane(app).listing.window.rows) == 2
        assert "session 3f2a0000" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert len(pane(app).listing.window.rows) == 6


async def test_without_memories_m_says_so() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("m")
        await settle(pilot)
        assert "No memory was drawn from this session" in toasts(app)


async def test_export_asks_where_to() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, PromptDialog)
        app.screen.query_one("#answer", Input).value = "/tmp/one.md"
        await pilot.press("enter")
        await settle(pilot)
        assert [str(path) for _, path in desk.sessions.exported] == ["/tmp/one.md"]
        assert "Wrote it to one.md" in toasts(app)


async def test_a_store_without_sessions_says_how_they_come() -> None:
    desk = desk_with(0)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        assert "No sessions yet" in screen_text(app)
        await pilot.press("d", "x", "y", "m", "enter")
        await settle(pilot)
        assert "There is no session under the cursor" in toasts(app)
        await pilot.press("i")
        await settle(pilot)
        assert "Where sessions were found" in screen_text(app)


async def test_an_error_is_told_with_its_remedy_and_r_tries_again() -> None:
    desk = desk_with()
    desk.sessions.error = DomainError("The store can't be read.", remedy="Run doctor.")
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        assert "The store can't be read." in screen_text(app)
        assert "Run doctor." in screen_text(app)
        desk.sessions.error = None
        await pilot.press("r")
        await settle(pilot)
        assert "Push the branch retries" in screen_text(app)


async def test_while_the_list_is_read_the_pane_says_so() -> None:
    desk = desk_with()
    desk.sessions.gate = asyncio.Event()
    app: MemoryDeskApp = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("6")
        await settle(pilot, held=2)
        assert "Reading the sessions" in screen_text(app)
        desk.sessions.gate.set()
        await settle(pilot)
        assert "Push the branch retries" in screen_text(app)


async def test_what_is_imported_meanwhile_appears_and_the_cursor_stays_on_its_session() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_pane(pilot)
        await pilot.press("j")
        before = screen.session
        desk.sessions.stored.insert(0, session(0, id="codex:new", title="Written just now"))
        desk.activity.tell(ActivityEvent("changed", 0, None))
        await until(pilot, lambda: "Written just now" in screen_text(app))
        assert screen.session == before


async def test_of_thousands_only_the_visible_ones_are_drawn() -> None:
    app = fake_app(desk_with(5000))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_pane(pilot)
        drawn: list[int] = []
        make = screen.rows.row_lines

        def count(index: int, width: int) -> object:
            drawn.append(index)
            return make(index, width)

        screen.rows.row_lines = count  # type: ignore[method-assign, assignment]
        for key in ("G", "k", "ctrl+u"):
            await pilot.press(key)
            await settle(pilot)
            draw(app)
        assert screen.rows.row_count == 5000
        assert 0 < len(set(drawn)) < 150


@pytest.mark.parametrize(
    ("width", "named"),
    [(80, "4 Appr●12 5 Acti◉2 6 Sessions 8 Orga 5"), (60, "4 ●12 5 ◉2 6 Sessions 8")],
)
async def test_the_header_has_room_for_all_panes(width: int, named: str) -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=(width, 24)) as pilot:
        screen = await open_pane(pilot)
        screen.panes.waiting, screen.panes.agents = 12, (2, 0)
        await settle(pilot)
        header = " ".join(screen_text(app).split("\n")[0].split())
        assert named in header
