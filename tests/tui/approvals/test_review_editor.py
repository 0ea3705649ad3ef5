"""Deciding on several items in $EDITOR: the saved file is the decision."""

import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.pilot import Pilot

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from tests.tui.approvals.approvals_fakes import FakeApprovals
from tests.tui.approvals.test_approvals_pane import desk_with, open_pane
from tests.tui.tui_fakes import fake_app
from tests.tui.tui_helpers import screen_text, settle, toasts

Editor = Callable[[str], None]
FIRST, SECOND = "lesson-0000", "lesson-0001"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Set a program as $EDITOR: Python that has the file's ``text`` and may change it."""
    script = tmp_path / "editor.py"
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-S", str(script)]))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(FakeApprovals, "sheet_folder", tmp_path / "review")
    monkeypatch.setattr(MemoryDeskApp, "suspend", lambda _app: nullcontext())

    def does(change: str) -> None:
        script.write_text(
            "import re, sys\n"
            "text = open(sys.argv[-1]).read()\n"
            f"open({str(tmp_path / 'seen')!r}, 'w').write(text)\n"
            f"{change}\n"
            "open(sys.argv[-1], 'w').write(text)\n"
        )

    return does


def without(item_id: str) -> str:
    return f"text = re.sub(r'=== {item_id} .*?(?==== |\\Z)', '', text, flags=re.S)"


async def edit_first_two(pilot: Pilot[None]) -> None:
    await open_pane(pilot)
    await pilot.press("space", "space", "E")
    await settle(pilot)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_saved_is_decided_once_the_summary_is_confirmed(
    editor: Editor, size: tuple[int, int], tmp_path: Path
) -> None:
    desk = desk_with(6)
    queue = desk.approvals
    assert isinstance(queue, FakeApprovals)
    editor(without(SECOND) + "; text = text.replace('[ACTION]\\n', '[ACTION]\\nAlways: ', 1)")
    app = fake_app(desk)
    async with app.run_test(size=size) as pilot:
        await edit_first_two(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        shown = " ".join(screen_text(app).split())
        assert "Decide on 2 items: 1 reworded, 1 rejected?" in shown
        assert queue.decided == []
        await pilot.press("y")
        await settle(pilot)
        assert [(item, status) for item, status, _ in queue.decided] == [
            (FIRST, "approved"),
            (SECOND, "rejected"),
        ]
        reworded = queue.decided[0][2]
        assert reworded.action.startswith("Always: ")  # type: ignore[attr-defined]
        assert "Decided on 2 items" in toasts(app)
    assert "deleted   it is rejected" in (tmp_path / "seen").read_text()


async def test_with_nothing_saved_nothing_is_decided(editor: Editor) -> None:
    editor("sys.exit(0)")
    desk = desk_with(6)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await edit_first_two(pilot)
        assert "Nothing was saved: nothing was decided" in toasts(app)
        assert desk.approvals.decided == []


async def test_without_marks_it_asks_before_all_are_opened(editor: Editor, tmp_path: Path) -> None:
    editor("pass")
    app = fake_app(desk_with(3))
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pane(pilot)
        await pilot.press("E")
        await settle(pilot)
        assert "Open 3 items in $EDITOR?" in screen_text(app)
        assert not (tmp_path / "seen").exists()
        await pilot.press("y")
        await settle(pilot)
        assert "Decide on 3 items: 3 approved?" in screen_text(app)


async def test_a_file_that_cannot_be_read_is_opened_again_with_nothing_lost(
    editor: Editor, tmp_path: Path
) -> None:
    editor("text = text.replace('decision: approve', 'decision: perhaps', 1)")
    desk = desk_with(6)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await edit_first_two(pilot)
        assert "perhaps is none of approve, reject and later" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        assert "E goes on where you were" in toasts(app)
        assert "proposals.md" in toasts(app)
        (left,) = (tmp_path / "review").iterdir()
        assert left.stat().st_mode & 0o077 == left.parent.stat().st_mode & 0o077 == 0
        editor("text = text.replace('perhaps', 'reject')")
        await pilot.press("E")
        await settle(pilot)
        assert "decision: perhaps" in (tmp_path / "seen").read_text()
        assert "1 approved, 1 rejected" in screen_text(app)
        await pilot.press("y")
        await settle(pilot)
        assert len(desk.approvals.decided) == 2
        assert not left.parent.exists()


async def test_what_was_left_goes_when_the_app_quits_and_what_a_killed_one_left_with_the_next(
    editor: Editor, tmp_path: Path
) -> None:
    left = tmp_path / "review"
    left.mkdir()
    (left / ".proposals.md.swp").touch()
    editor("text = text.replace('decision: approve', 'decision: perhaps', 1)")
    app = fake_app(desk_with(6))
    async with app.run_test(size=(80, 24)) as pilot:
        await edit_first_two(pilot)
        await pilot.press("n")
        await settle(pilot)
        assert [path.name for path in left.iterdir()] == ["proposals.md"]
    assert not left.exists()


async def test_what_changed_while_the_editor_was_open_stays_and_is_said(editor: Editor) -> None:
    editor("pass")
    desk = desk_with(6)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await edit_first_two(pilot)
        desk.approvals.rewrite(FIRST, "Something else")
        await pilot.press("y")
        await settle(pilot)
        assert [item for item, _, _ in desk.approvals.decided] == [SECOND]
        assert "it changed since you read it" in toasts(app)


async def test_an_agents_app_opens_no_editor(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor("pass")
    desk = desk_with(6)
    refused: list[tuple[str, ...]] = []

    async def refuse(ids: object) -> None:
        refused.append(tuple(ids))  # type: ignore[arg-type]
        raise DecisionRefusedError("a coding agent runs this")

    monkeypatch.setattr(desk.approvals, "may_decide", refuse)
    app = fake_app(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await edit_first_two(pilot)
        assert refused == [(FIRST, SECOND)]
        assert not (tmp_path / "seen").exists()
        assert "a coding agent runs this" in toasts(app)
