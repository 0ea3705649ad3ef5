"""What the app says at its opening: loosened settings, approval off, what happened meanwhile."""

from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from synthorg_tui.approvals.models import ApprovalEventKind, DecisionRefusedError
from synthorg_tui.approvals.trail import TrailEntry
from synthorg_tui.engine import Engine
from synthorg_tui.settings import environment
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.safety import Loosened
from synthorg_tui.tui import safety
from synthorg_tui.tui.safety import EngineSafety, LoosenedDialog, News, TrailScreen
from tests.approvals.approval_kit import item
from tests.patience import PATIENCE
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, until

ASKED = Loosened("approvals.allow_cli", False, True)
NEWS = News(6, "2 skills adopted by a setting, 1 decision at a terminal, 3 refused", 41)
ENTRY = TrailEntry(
    41,
    "lesson-1",
    "Push with -u\x1b[2J",
    NOW - timedelta(hours=2),
    ApprovalEventKind.APPROVED,
    "policy (memory.procedural.require_approval)",
    "",
)


def desk(**said: object) -> FakeDesk:
    made = FakeDesk(rows(3))
    for name, value in said.items():
        setattr(made.safety, name, value)
    return made


async def opened(pilot: Pilot[None]) -> None:
    await settle(pilot)
    await until(pilot, lambda: "mem" in screen_text(pilot.app).lower())


class TestQuestion:
    async def ask(self, pilot: Pilot[None]) -> LoosenedDialog:
        await until(pilot, lambda: isinstance(pilot.app.screen, LoosenedDialog))
        assert isinstance(pilot.app.screen, LoosenedDialog)
        return pilot.app.screen

    async def test_it_names_setting_values_and_file_and_no_has_the_focus(self) -> None:
        async with fake_app(desk(asked=(ASKED,))).run_test(size=(80, 24)) as pilot:
            dialog = await self.ask(pilot)
            await settle(pilot)
            text = screen_text(pilot.app)
            assert "approvals.allow_cli  false → true" in text
            assert "company.yaml" in text
            assert dialog.focused is not None
            assert dialog.focused.id == "no"

    async def test_a_key_typed_before_it_could_be_read_answers_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(safety, "READ_FIRST", PATIENCE)
        made = desk(asked=(ASKED,))
        async with fake_app(made).run_test() as pilot:
            dialog = await self.ask(pilot)
            for key in ("y", "enter", "n", "escape"):
                await pilot.press(key)
                await settle(pilot)
                assert pilot.app.screen is dialog, key
                assert made.safety.taken == [], key

    @pytest.mark.parametrize(("key", "taken"), [("y", [ASKED]), ("enter", []), ("escape", [])])
    async def test_only_yes_takes_it(
        self, key: str, taken: list[Loosened], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(safety, "READ_FIRST", 0.01)
        made = desk(asked=(ASKED,))
        async with fake_app(made).run_test() as pilot:
            dialog = await self.ask(pilot)
            await settle(pilot)
            await pilot.press(key)
            await settle(pilot)
            assert pilot.app.screen is not dialog
            assert made.safety.taken == taken

    async def test_nothing_is_asked_when_nothing_was_loosened(self) -> None:
        async with fake_app(desk()).run_test() as pilot:
            await opened(pilot)
            assert not isinstance(pilot.app.screen, LoosenedDialog)


class TestBadges:
    async def test_they_are_in_every_panes_header(self) -> None:
        made = desk(shown=("commands may approve", "approval off"))
        async with fake_app(made).run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "approval off" in screen_text(pilot.app))
            for width in (80, 120):
                await pilot.resize_terminal(width, 24)
                for key in "2345":
                    await pilot.press(key)
                    await settle(pilot)
                    head = screen_text(pilot.app).splitlines()[:2]
                    assert "4 Appr" in head[0], (width, key)
                    assert "commands may approve · approval off" in head[1], (width, key)

    async def test_without_any_the_header_is_one_line(self) -> None:
        async with fake_app(desk()).run_test() as pilot:
            await opened(pilot)
            assert pilot.app.screen.query_one("#top").size.height == 1


class TestNews:
    async def test_it_says_in_numbers_what_happened_and_where_it_is_listed(self) -> None:
        async with fake_app(desk(new=NEWS)).run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "T lists" in screen_text(pilot.app))
            assert "6 decided while you were away: T lists" in screen_text(pilot.app)
            assert toasts(pilot.app) == f"While you were away: {NEWS.text}. T lists them."

    async def test_the_list_counts_as_told_and_shows_unsafe_text_safely(self) -> None:
        made = desk(new=NEWS, entries=(ENTRY,))
        async with fake_app(made).run_test(size=(100, 24)) as pilot:
            await until(pilot, lambda: "T lists" in screen_text(pilot.app))
            await pilot.press("T")
            await until(pilot, lambda: isinstance(pilot.app.screen, TrailScreen))
            await settle(pilot)
            text = screen_text(pilot.app)
            assert "adopted" in text
            assert "by the setting" in text
            assert "\x1b" not in text
            assert made.safety.told_up_to == NEWS.last
            await pilot.press("escape")
            await settle(pilot)
            assert "T lists" not in screen_text(pilot.app).splitlines()[1]

    async def test_leaving_counts_as_told_and_being_killed_does_not(self) -> None:
        made = desk(new=NEWS)
        async with fake_app(made).run_test() as pilot:
            await until(pilot, lambda: "T lists" in screen_text(pilot.app))
            assert made.safety.told_up_to == 0  # as it is for whoever is killed now
            await pilot.app.run_action("quit")  # a pressed key waits until all is drawn
            await until(pilot, lambda: made.safety.told_up_to == NEWS.last)

    async def test_without_news_nothing_is_said_and_the_list_says_so(self) -> None:
        made = desk()
        async with fake_app(made).run_test() as pilot:
            await opened(pilot)
            assert "away" not in screen_text(pilot.app)
            await pilot.press("T")
            await until(pilot, lambda: "Nothing was decided" in screen_text(pilot.app))
            assert made.safety.told_up_to == 0


class TestBehindIt:
    async def test_where_an_agent_runs_the_app_nothing_is_asked_taken_or_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = tmp_path / "company.yaml"
        own.write_text("approvals: {allow_cli: false}", encoding="utf-8")
        monkeypatch.setattr(environment, "default_config_file", lambda: own)
        data = tmp_path / "data"
        async with Engine.open(load_settings(environ={}), data_dir=data) as engine:
            await engine.approvals.add(item())
            await engine.approvals.refused("lesson-1", actor="command line", reason="no terminal")
        own.unlink()
        async with Engine.open(load_settings(environ={}), data_dir=data) as engine:
            said = EngineSafety(engine)
            asked = await said.loosened()
            assert asked == (ASKED,)
            assert (await said.news()).text == "1 refused"
            with monkeypatch.context() as patch:
                patch.setenv("CLAUDECODE", "1")
                assert await said.loosened() == ()
                with pytest.raises(DecisionRefusedError):
                    await said.take(asked)
                await said.told((await said.news()).last)
            assert (await said.news()).count == 1
            await said.take(asked)
            await said.told((await said.news()).last)
            assert await said.loosened() == ()
            assert await said.news() == News()
            assert engine.settings.approvals.allow_cli is False  # until the next start
        async with Engine.open(load_settings(environ={}), data_dir=data) as engine:
            assert engine.settings.approvals.allow_cli is True
