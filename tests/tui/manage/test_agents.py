"""The agents screen: what it shows at both sizes, and changing rights and settings."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.core.enums import MemoryLevel, SeniorityLevel
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.settings.roster import AgentFacts
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.manage import agents as agents_screen
from tests.tui.manage.manage_fakes import FakeManagement
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts

SCOPES = tuple(ProceduralMemoryScope)
ADA = AgentFacts(
    "ada",
    "Developer",
    "Platform",
    MemoryLevel.PROJECT,
    declared=True,
    memories=1_482,
    seniority=SeniorityLevel.SENIOR,
    sessions=31,
    last_seen=NOW - timedelta(hours=2),
    own_settings=("retrieval.max_memories = 5", "self_editing.allow_core_writes = false"),
    reach=dict(
        zip(SCOPES, [("ada",), ("ada", "bob"), ("ada",), ("ada", "bob", "cyd")], strict=True)
    ),
)
BOB = AgentFacts(
    "bob",
    "Developer",
    None,
    MemoryLevel.SESSION,
    declared=True,
    memories=20_000,
    seniority=SeniorityLevel.MID,
    is_full=True,
    sessions=2,
    last_seen=NOW - timedelta(days=40),
    paused=True,
    read_only=True,
    waits=True,
    reach=ADA.reach,
)
CYD = AgentFacts(
    "cyd",
    None,
    None,
    MemoryLevel.PROJECT,
    declared=False,
    memories=0,
    read_only=True,
    reach=ADA.reach,
)


@pytest.fixture(autouse=True)
def _a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)


def app_with(management: FakeManagement) -> MemoryDeskApp:
    app = fake_app(FakeDesk(rows(6)), management=management)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return app


async def opened(pilot: Pilot[None], *keys: str) -> None:
    await settle(pilot)
    for key in ("9", *keys):
        await pilot.press(key)
        await settle(pilot)


def compare(snap_compare: Compare, size: Size, management: FakeManagement, *keys: str) -> bool:
    return snap_compare(
        app_with(management), terminal_size=size, run_before=lambda pilot: opened(pilot, *keys)
    )


def test_no_agents(snap_compare: Compare) -> None:
    """That there are no agents, and where they come from."""
    assert compare(snap_compare, SIZES, FakeManagement())


def test_an_agent_with_settings_of_its_own(snap_compare: Compare) -> None:
    """Three agents, of which bob is paused and cyd reads only; of ada place, memory, rights, both
    own settings, and whom its lessons reach in each scope."""
    assert compare(snap_compare, SIZES, FakeManagement(agents=(ADA, BOB, CYD)))


def test_a_paused_and_full_agent_whose_settings_wait(snap_compare: Compare) -> None:
    """Of bob: holds from the next start on, full, paused and reading only."""
    assert compare(snap_compare, SIZES, FakeManagement(agents=(ADA, BOB, CYD)), "j")


def test_agents_that_cannot_be_read(snap_compare: Compare) -> None:
    """Why the agents can't be read."""
    management = FakeManagement(agents=(ADA,))
    management.error = ConfigError("/etc/synthorg/company.yaml:4: agents[0].role: is required")
    assert compare(snap_compare, SIZES, management)


async def test_an_agent_is_paused_after_asking_and_goes_on_at_once() -> None:
    management = FakeManagement(agents=(ADA,))
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "P")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        await settle(pilot)
        assert management.asked == []
        await pilot.press("P", "y")
        await settle(pilot)
        assert "every call is refused" in " ".join(screen_text(app).split())
        await pilot.press("P")
        await settle(pilot)
    assert management.asked == ["ada paused=True read_only=None", "ada paused=False read_only=None"]


async def test_an_agents_writes_are_refused_and_allowed_again() -> None:
    management = FakeManagement(agents=(ADA,))
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "W", "y")
        assert "its writes are refused" in screen_text(app)
        await pilot.press("W")
        await settle(pilot)
        assert "ada may write" in toasts(app)


async def test_its_memories_are_listed_in_their_pane() -> None:
    app = app_with(FakeManagement(agents=(ADA,)))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "m")
        assert "agent:ada" in screen_text(app)


def writes(monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[str]:
    """Have the editor save these texts, one after the other; returns what it was opened with."""
    seen, left = list[str](), list(texts)

    def edit(_app: object, text: str) -> str:
        seen.append(text)
        return left.pop(0)

    monkeypatch.setattr(agents_screen, "edit_text", edit)
    return seen


async def test_an_entry_is_written_once_its_change_was_shown_and_agreed_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    management = FakeManagement(agents=(ADA,))
    management.file = tmp_path / "company.yaml"
    before = "# Mine.\nagents:\n  - id: ada\n    role: Developer\n"
    management.file.write_text(before)
    text = "- id: ada\n  role: Lead\n  retrieval: {max_memories: 5}\n"
    seen = writes(monkeypatch, text, text)
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "E")
        assert seen == ["- id: ada\n  role: Developer\n"]
        assert "-    role: Developer" in screen_text(app)
        assert "+    role: Lead" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        assert management.file.read_text() == before
        await pilot.press("E", "y")
        await settle(pilot)
        assert "holds from the next start on" in toasts(app)
    assert management.file.read_text().startswith("# Mine.\nagents:\n  - id: ada\n    role: Lead\n")


async def test_a_wrong_entry_is_told_and_offered_again_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    management = FakeManagement(agents=(replace(ADA, own_settings=()),))
    management.file = tmp_path / "company.yaml"
    wrong = "- id: ada\n  retrieval: {max_memories: 101}\n"
    seen = writes(monkeypatch, wrong, wrong)
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, "E")
        assert "from 1 to 100" in " ".join(screen_text(app).split())
        assert "goes on where you were" in toasts(app)
        await pilot.press("E")
        await settle(pilot)
    assert seen[1] == wrong
    assert not management.file.exists()


async def test_where_an_agent_runs_the_app_no_entry_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    management = FakeManagement(agents=(ADA,))
    management.file = tmp_path / "company.yaml"
    seen = writes(monkeypatch, "- id: ada\n  role: Lead\n")
    app = app_with(management)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        monkeypatch.setenv("CLAUDECODE", "1")
        await pilot.press("E")
        await settle(pilot)
    assert seen == []
    assert not management.file.exists()
