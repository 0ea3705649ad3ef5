"""The Activity pane, driven by keys over agents in memory."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.activity.models import ActivityEvent
from synthorg_tui.tui.activity.screen import ActivityScreen
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.skills.screen import SkillsScreen
from tests.tui.activity.activity_fakes import AGENTS, DIGEST, FakeActivity, call_of, calls, hinted
from tests.tui.skills.skills_fakes import FakeSkills, skill_rows
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

WIDE = (120, 40)


def desk_with(count: int = 12) -> FakeDesk:
    desk = FakeDesk(rows(12))
    desk.activity = FakeActivity(calls(count), AGENTS)
    return desk


def fresh(at: int) -> ListedMemory:
    """A memory that an agent has just written."""
    row = replace(rows(1)[0], id=f"new-{at}", content=f"Fresh lesson {at}")
    return replace(row, created_at=NOW - timedelta(seconds=at))


async def open_pane(pilot: Pilot[None], *, at: str = "") -> ActivityScreen:
    """Open the pane with the cursor on the newest call of that name."""
    await settle(pilot)
    await pilot.press("5")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ActivityScreen)
    for _ in range(12):
        call = screen.log_list.call
        if not at or (call is not None and call.name == at):
            break
        await pilot.press("j")
    await settle(pilot)
    return screen


async def test_who_is_connected_and_what_may_be_done_is_listed() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot)
        shown = screen_text(app)
        for part in ("◉ claude-code", "Claude Code 2.1.4  shop", "17×", "○ reviewer ‖ paused"):
            assert part in shown
        assert "2 connected" in shown


async def test_a_call_appears_as_it_happens() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_pane(pilot)
        desk.activity.tell(ActivityEvent("call", 2, call_of(13)))
        await settle(pilot)
        assert screen.log_list.call == call_of(13)
        assert "search_memory" in screen_text(app)
        assert screen.activity.caption == "13"


async def test_the_cursor_stays_on_its_call_while_others_come() -> None:
    desk = desk_with(60)
    app = fake_app(desk)
    async with app.run_test() as pilot:
        screen = await open_pane(pilot)
        await pilot.press(*"G")
        await settle(pilot)
        before, top = screen.log_list.call, screen.log_list.scroll_offset.y
        for number in (61, 62, 63):
            desk.activity.tell(ActivityEvent("call", 2, call_of(number)))
        await settle(pilot)
        assert screen.log_list.call == before
        assert screen.log_list.scroll_offset.y == top + 3
        assert "newer" in str(screen.log_list.border_subtitle)


async def test_a_digest_is_shown_byte_for_byte_with_its_explanation() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="digest")
        shown = screen_text(app)
        for part in DIGEST.splitlines():
            assert part[:40] in shown
        assert f"{len(DIGEST)} bytes" in shown
        for part in ("58 of 1,500 tokens", "✓ in", "≈ too similar", "says nearly the same"):
            assert part in shown
        await pilot.press("y")
        await settle(pilot)
        assert app.clipboard == DIGEST


async def test_on_a_narrow_terminal_a_key_shows_why() -> None:
    app = fake_app(desk_with())
    async with app.run_test() as pilot:
        await open_pane(pilot, at="digest")
        assert "v says why" in screen_text(app)
        await pilot.press("v")
        await settle(pilot)
        assert "58 of 1,500 tokens" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert "58 of 1,500 tokens" not in screen_text(app)


@pytest.mark.parametrize(("key", "word"), [("P", "paused"), ("W", "read-only")])
async def test_an_agent_is_restricted_after_asking_and_let_go_on(key: str, word: str) -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_pane(pilot)
        who = screen.log_list.call.agent_id if screen.log_list.call else ""
        await pilot.press(key)
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press(key, "enter")
        await settle(pilot)
        assert isinstance(app.screen, ActivityScreen)
        assert f"{who} ‖ {word}" not in screen_text(app)
        await pilot.press(key, "y")
        await settle(pilot)
        assert f"{who} ‖ {word}" in screen_text(app)
        assert who in toasts(app)
        await pilot.press(key)
        await settle(pilot)
        assert f"{who} ‖ {word}" not in screen_text(app)


async def test_an_agent_that_is_away_is_let_go_on_from_the_list_of_agents() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_pane(pilot)
        screen.agent_list.focus()
        await pilot.press("G", "P")
        await settle(pilot)
        assert not desk.activity.there[-1].paused


async def test_disconnecting_asks_first() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_pane(pilot)
        screen.agent_list.focus()
        await pilot.press("X")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("enter")
        await settle(pilot)
        assert not desk.activity.ended
        await pilot.press("X", "y")
        await settle(pilot)
        assert desk.activity.ended == [1]
        assert "1 connected" in screen_text(app)


async def test_a_write_is_taken_back_after_asking_and_brought_back() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="archival_memory_write")
        assert "u takes it back" in screen_text(app)
        await pilot.press("u")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("y")
        await settle(pilot)
        assert "mem-00003" in desk.activity.gone
        assert "u brings it back" in screen_text(app)
        await pilot.press("u")
        await settle(pilot)
        assert "mem-00003" not in desk.activity.gone


async def test_what_an_agent_deleted_is_brought_back_without_asking() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="synthorg_memory_delete_entry")
        await pilot.press("u")
        await settle(pilot)
        assert "mem-00005" not in desk.activity.gone
        await pilot.press("u")
        await settle(pilot)
        assert "nothing of this call left" in toasts(app)


@pytest.mark.parametrize("at", ["archival_memory_write", "search_memory"])
async def test_without_anything_to_take_back_that_is_told(at: str) -> None:
    desk = desk_with()
    desk.activity.erased.add("mem-00003")
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at=at)
        await pilot.press("u")
        await settle(pilot)
        assert "nothing" in toasts(app)
        assert not desk.activity.gone - {"mem-00005"}


async def test_the_filter_narrows_in_place_and_asks_the_record_for_older_calls() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_pane(pilot)
        await pilot.press("slash")
        await type_text(pilot, "agent:codex flaky")
        await settle(pilot)
        assert desk.activity.asked[-1] == ("codex", "flaky")
        assert {each.name for each in screen.activity.rows} == {"search_memory"}
        await pilot.press("escape")
        await settle(pilot)
        assert screen.activity.caption == "12"


async def test_one_key_lists_only_the_agent_of_the_call_and_all_again() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_pane(pilot)
        await pilot.press("j", "at")
        await settle(pilot)
        assert len({each.agent_id for each in screen.activity.rows}) == 1
        await pilot.press("at")
        await settle(pilot)
        assert screen.activity.caption == "12"


async def test_a_memory_of_the_call_is_shown_in_the_memories_pane() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="digest")
        desk.activity.gone.discard("mem-00001")
        desk.live["mem-00001"] = (await desk.activity.memories(call_of(6)))[0].row
        await pilot.press("m")
        await settle(pilot)
        assert isinstance(app.screen, MemoriesScreen)
        assert app.screen.rows.row is not None
        assert app.screen.rows.row.id == "mem-00001"


async def test_of_several_memories_one_is_chosen() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        two = ("mem-00001", "mem-00002")
        desk.activity.made[0] = call_of(12)._replace(memory_ids=two)
        await open_pane(pilot, at="digest")
        await pilot.press("m")
        await settle(pilot)
        assert isinstance(app.screen, ChoiceDialog)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, ActivityScreen)


async def test_the_skill_that_was_read_is_shown_in_the_skills_pane() -> None:
    desk = desk_with()
    desk.skills = FakeSkills(skill_rows(7))
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="read_skill")
        await pilot.press("m")
        await settle(pilot)
        assert isinstance(app.screen, SkillsScreen)
        assert app.screen.row is not None
        assert app.screen.row.name == "set-upstream-first-push"


async def test_the_header_counts_agents_and_writes_until_somebody_looks() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        desk.activity.tell(ActivityEvent("call", 2, call_of(14)))
        desk.activity.tell(ActivityEvent("call", 2, call_of(15)))
        await settle(pilot)
        assert "5 Activity◉2+1" in header(app)
        await open_pane(pilot)
        assert "5 Activity◉2 6" in header(app)


def header(app: MemoryDeskApp) -> str:
    """The first line, with counts beside their titles whether there is room between or not."""
    first = " ".join(screen_text(app).splitlines()[0].split())
    return first.replace(" ◉", "◉").replace(" +", "+")


async def test_before_agents_can_connect_that_is_told_and_then_no_more() -> None:
    desk = desk_with(0)
    desk.activity.there, desk.activity.is_open = [], False
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot)
        assert "Agents can connect in a moment" in screen_text(app)
        desk.activity.is_open = True
        desk.activity.tell(ActivityEvent("agents", 0))
        await settle(pilot)
        assert "No agent is connected." in screen_text(app)
        assert "No agent has called yet" in screen_text(app)


async def test_loading_and_errors_are_told() -> None:
    desk = desk_with()
    desk.activity.gate = asyncio.Event()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("5")
        await settle(pilot, held=1)
        assert "Reading the calls …" in screen_text(app)
        desk.activity.gate.set()
        desk.activity.error = DomainError("The record can't be read.", remedy="Try doctor.")
        await settle(pilot)
        await pilot.press("r")
        await settle(pilot)
        assert "The record can't be read." in screen_text(app)
        desk.activity.error = None
        await pilot.press("r")
        await settle(pilot)
        assert "search_memory" in screen_text(app)


async def test_what_an_agent_says_is_shown_as_safe_text() -> None:
    desk = desk_with(1)
    hostile = "\x1b[2J[@click=app.quit]x[/y]\u202e"
    one = call_of(1)
    desk.activity.made = [one._replace(reply=hostile, name=hostile, arguments=hostile)]
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot)
        shown = screen_text(app)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "[@click=app.quit]x[/y]" in shown


async def test_the_memories_pane_shows_what_was_written_with_cursor_and_scroll_kept() -> None:
    desk = FakeDesk(rows(400))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, MemoriesScreen)
        await pilot.press(*["ctrl+d"] * 6)
        await settle(pilot)
        before, top = screen.rows.row, screen.rows.scroll_offset.y
        assert top > 0
        desk.live = {f"new-{at}": fresh(at) for at in range(3)} | desk.live
        desk.activity.tell(ActivityEvent("changed", 1))
        await settle(pilot)
        assert screen.rows.row == before
        assert screen.rows.scroll_offset.y == top + 3
        assert "403 memories" in screen_text(app)


async def test_at_the_top_of_the_memories_what_was_written_is_seen() -> None:
    desk = FakeDesk(rows(40))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        desk.live = {"new-0": fresh(0)} | desk.live
        desk.activity.tell(ActivityEvent("changed", 1))
        await settle(pilot)
        assert "Fresh lesson 0" in screen_text(app)
        assert isinstance(app.screen, MemoriesScreen)
        assert app.screen.rows.cursor == 1


async def test_what_is_written_while_another_pane_is_open_is_there_on_return() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await open_pane(pilot)
        desk.live = {"new-0": fresh(0)} | desk.live
        desk.activity.tell(ActivityEvent("changed", 1))
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot)
        assert "Fresh lesson 0" in screen_text(app)


async def test_what_fails_once_the_desk_is_open_is_told_as_safe_text() -> None:
    app = fake_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        host = app._host
        assert isinstance(host, FakeHost)
        host.failed(DomainError("Agents can't connect: [b]\x1b[31m.", remedy="Close it."))
        await settle(pilot)
        assert toasts(app) == "Agents can't connect: [b]␛[31m. Close it."


def hinting_desk() -> FakeDesk:
    desk = FakeDesk(rows(12))
    desk.activity = FakeActivity([hinted(), *calls(4)], AGENTS)
    return desk


async def test_a_hint_is_shown_with_its_reason_and_its_lesson() -> None:
    app = fake_app(hinting_desk())
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="before_action")
        shown = screen_text(app)
        for part in ("※ hint", "git push", "exact command form", "git-push-no-upstream"):
            assert part in shown


async def test_a_hint_is_silenced_and_allowed_again() -> None:
    desk = hinting_desk()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot, at="before_action")
        for downs, silenced in (
            (0, ("command", "git push")),
            (1, ("lesson", "/data/skills/git-push-no-upstream/SKILL.md")),
            (2, ("project", "/home/ada/shop")),
        ):
            for after in ([silenced], []):
                await pilot.press("M")
                await settle(pilot)
                assert isinstance(app.screen, ChoiceDialog)
                await pilot.press(*["j"] * downs, "enter")
                await settle(pilot)
                assert desk.activity.silent == after


async def test_what_is_silent_is_listed_for_other_calls_too() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_pane(pilot)
        await pilot.press("M")
        await settle(pilot)
        assert "nothing is silenced" in toasts(app)
        desk.activity.silent.append(("command", "npm test"))
        await pilot.press("M")
        await settle(pilot)
        assert "allow again the command npm test" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert desk.activity.silent == [("command", "npm test")]
