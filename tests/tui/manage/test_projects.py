"""The project screens, driven by keys over pages in memory."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.jobs.models import RunProgress
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.lines import plain
from synthorg_tui.tui.manage.jobs import JobsScreen
from synthorg_tui.tui.manage.project_lines import certainty_words, known_lines, page_text
from synthorg_tui.tui.manage.projects import ProjectScreen, ProjectsScreen
from synthorg_tui.tui.sessions.transcript import TranscriptScreen
from tests.tui.manage.manage_fakes import FakeManagement, known, person_page, project_page
from tests.tui.tui_fakes import NOW, FakeDesk, FakeHost, Seconds, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text, until


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def app_with(management: FakeManagement, desk: FakeDesk | None = None) -> MemoryDeskApp:
    return fake_app(desk or FakeDesk(rows(6)), management=management)


@pytest.mark.parametrize(
    ("certainty", "word"),
    [(0.75, "sure"), (0.74, "likely"), (0.5, "likely"), (0.49, "perhaps"), (0.29, "hardly known")],
)
def test_certainty_is_told_in_a_word(certainty: float, word: str) -> None:
    assert certainty_words(certainty) == word


def test_hostile_text_of_a_line_is_one_harmless_line() -> None:
    shown = replace(known(0), text="run \x1b[31mthis\nand that")
    page = replace(project_page(), lines=(shown,))
    for drawn in (known_lines(shown, NOW), page_text(page, NOW)):
        assert "\x1b" not in plain(drawn)
        assert "this and that" in plain(drawn)


async def test_a_page_is_opened_and_a_line_leads_to_its_place_in_the_session_and_back() -> None:
    app = app_with(FakeManagement(pages=(person_page(), project_page())))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("7")
        await settle(pilot)
        assert isinstance(app.screen, ProjectsScreen)
        assert "Small commits" in screen_text(app), "the page of the person is first"
        await pilot.press("j", "enter")
        await settle(pilot)
        page = app.screen
        assert isinstance(page, ProjectScreen)
        assert "17 of 22 runs passed" in screen_text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, TranscriptScreen), "the only place is shown at once"
        await pilot.press("escape")
        assert app.screen is page
        await pilot.press("j", "enter")
        await settle(pilot)
        assert "lines 3 to 9" in screen_text(app), "of two places one is chosen"
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, TranscriptScreen)
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert isinstance(app.screen, ProjectsScreen)


async def test_a_line_is_edited_and_deleted_as_the_memory_it_is() -> None:
    desk = FakeDesk(rows(6))
    app = app_with(FakeManagement(pages=(project_page(),)), desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("7", "enter")
        await settle(pilot)
        await pilot.press("e")
        await settle(pilot)
        await type_text(pilot, "!")
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert desk.live["mem-00000"].content.startswith("!")
        await pilot.press("d", "y")
        await settle(pilot)
        assert "mem-00000" not in desk.live
        await pilot.press("u")
        await settle(pilot)
        assert "mem-00000" in desk.live


async def test_a_refresh_tells_how_far_it_is_and_can_be_stopped() -> None:
    management = FakeManagement(pages=(project_page(),))
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("7")
        await settle(pilot)
        assert "2 sessions not looked at yet" in screen_text(app)
        management.gate = asyncio.Event()
        await pilot.press("r")
        await until(pilot, lambda: "1 of 2 sessions" in screen_text(app))
        await pilot.press("c")
        management.gate.set()
        await until(pilot, lambda: "stopped" in toasts(app))


async def test_a_page_is_copied_and_written_as_markdown(tmp_path: Path) -> None:
    page = project_page()
    app = app_with(FakeManagement(pages=(page,)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("7", "y")
        await settle(pilot)
        assert app.clipboard == page.markdown()
        for told in ("Wrote the page of shop", "exists"):
            await pilot.press("ctrl+s")
            await settle(pilot)
            app.screen.query_one("#answer").value = str(tmp_path / "shop.md")  # type: ignore[attr-defined]
            await pilot.press("enter")
            await settle(pilot)
            assert told in toasts(app) + screen_text(app)
        assert (tmp_path / "shop.md").read_text("utf-8") == page.markdown()


async def test_a_memory_leads_to_the_page_of_its_project() -> None:
    made = rows(6)
    made[0] = replace(made[0], project="/home/ada/shop")
    app = app_with(FakeManagement(pages=(project_page(),)), FakeDesk(made))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("K")
        await settle(pilot)
        assert isinstance(app.screen, ProjectScreen)
        assert "Project: shop" in screen_text(app)
        await pilot.press("escape", "j", "K")
        await settle(pilot)
        assert "It is of no project" in toasts(app)


async def test_the_running_job_in_the_header_leads_to_the_jobs() -> None:
    host = FakeHost(FakeDesk(rows(6)), management=FakeManagement())
    app = MemoryDeskApp(host, now=lambda: NOW, monotonic=Seconds())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        host.works(("backup", RunProgress(1, 4, 1.0, 3.0)))
        await until(pilot, lambda: "backup 25%" in screen_text(app))
        at = screen_text(app).split("\n")[0].index("backup 25%")
        await pilot.click("#top", offset=(at - 1, 0))
        await settle(pilot)
        assert not isinstance(app.screen, JobsScreen), "beside it nothing happens"
        await pilot.click("#top", offset=(at + 2, 0))
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)


async def test_a_project_is_merged_after_it_is_shown_what_moves_and_undone() -> None:
    other = replace(project_page(), name="newname", project="/srv/newname")
    management = FakeManagement(pages=(project_page(), other))
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("7")
        await until(pilot, lambda: isinstance(app.screen, ProjectsScreen))
        await settle(pilot)
        await pilot.press("J")
        await settle(pilot)
        assert "Becomes part of" in screen_text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert "becomes part of /srv/newname: 4 memories" in screen_text(app)
        assert not any(asked.startswith("merge") for asked in management.asked)
        await pilot.press("y")
        await settle(pilot)
        assert any(asked.startswith("merge") for asked in management.asked)
        await pilot.press("u")
        await settle(pilot)
        assert "undo" in management.asked
