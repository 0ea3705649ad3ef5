"""The palette finds actions by their description, and what the store holds."""

from dataclasses import replace

from textual.pilot import Pilot

from synthorg_tui.tui.memories.importing import ImportScreen
from synthorg_tui.tui.palette import MAX_FOUND
from synthorg_tui.tui.skills.screen import SkillsScreen
from tests.patience import until
from tests.tui.skills.skills_fakes import FakeSkills, skill_rows
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, type_text


async def find(pilot: Pilot[None], words: str, shown: str) -> None:
    """Type ``words`` into the palette, and wait until ``shown`` is among what it found."""
    await pilot.press("ctrl+p")
    await type_text(pilot, words)
    await until(lambda: shown in screen_text(pilot.app), lambda: screen_text(pilot.app))


async def choose(pilot: Pilot[None]) -> None:
    await pilot.press("enter")
    await settle(pilot)


async def test_an_action_is_found_by_words_of_its_description() -> None:
    app = fake_app(FakeDesk(rows(6)))
    async with app.run_test() as pilot:
        await settle(pilot)
        await find(pilot, "agents transcripts", "Import (i)")
        await choose(pilot)
        assert isinstance(app.screen, ImportScreen)


async def test_a_memory_is_found_and_gone_to() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    wanted = next(row for row in desk.live.values() if "Migration" in row.content)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("2")
        await find(pilot, "migration", "memory   Migration 0042")
        await choose(pilot)
        await until(lambda: app.maker.memories.rows.row == wanted)


async def test_a_skill_is_found_and_gone_to() -> None:
    desk = FakeDesk(rows(1))
    desk.skills = FakeSkills(skill_rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        await find(pilot, "rebuild-index", "skill    rebuild-index")
        await choose(pilot)
        assert isinstance(app.screen, SkillsScreen)


async def test_a_session_is_found_by_project_and_agent_and_listed_once() -> None:
    desk = FakeDesk(rows(3))
    row = next(iter(desk.live.values()))
    desk.live[row.id] = replace(row, content="Push shop codex", tags=("session",))
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await find(pilot, "shop codex", "session  Upgrade the HTTP client")
        assert "memory   " not in screen_text(app)


async def test_at_most_ten_of_a_kind_are_listed() -> None:
    app = fake_app(FakeDesk(rows(200)))
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        await find(pilot, "case", "memory ")
        assert screen_text(app).count("memory   ") == MAX_FOUND
