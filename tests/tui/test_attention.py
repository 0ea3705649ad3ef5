"""A person who looks elsewhere is called when something has come to wait."""

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.activity.models import ActivityEvent
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.attention import desktop_notification, terminal_notification
from tests.tui.approvals.approvals_fakes import FakeApprovals, approval_rows
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, until


async def rung(
    monkeypatch: pytest.MonkeyPatch, *, looks: bool, call_by: str = "bell", new: int = 3
) -> int:
    """How often the bell rang while so many items more came to wait."""
    rings = 0

    def ring(_: MemoryDeskApp) -> None:
        nonlocal rings
        rings += 1

    monkeypatch.setattr(MemoryDeskApp, "bell", ring)
    desk = FakeDesk(rows(6))
    desk.approvals = FakeApprovals(approval_rows(2))
    desk.approvals.call_by = call_by
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "●2" in screen_text(app)
        app.app_focus = looks
        desk.approvals.rows = FakeApprovals(approval_rows(2 + new)).rows
        desk.approvals.changed()
        await until(pilot, lambda: f"●{2 + new}" in screen_text(app))
        await settle(pilot)
    return rings


async def test_the_bell_rings_once_when_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await rung(monkeypatch, looks=False) == 1


async def test_nothing_rings_for_a_person_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await rung(monkeypatch, looks=True) == 0


async def test_nothing_rings_when_fewer_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await rung(monkeypatch, looks=False, new=-1) == 0


async def test_it_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await rung(monkeypatch, looks=False, call_by="off") == 0


async def test_where_nothing_else_can_be_shown_a_notification_is_the_bell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("TERM_PROGRAM", "VTE_VERSION", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert await rung(monkeypatch, looks=False, call_by="notification") == 1


@pytest.mark.parametrize(
    ("environ", "sequence"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;synthorg: 2 items\x07"),
        ({"TERM": "xterm-kitty"}, "\x1b]9;synthorg: 2 items\x07"),
        ({"TERM": "rxvt-unicode"}, "\x1b]777;notify;synthorg;2 items\x07"),
        ({"TERM": "xterm", "VTE_VERSION": "7600"}, "\x1b]777;notify;synthorg;2 items\x07"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, ""),
        ({"TERM": "xterm"}, ""),
    ],
)
def test_each_terminal_has_its_sequence(environ: dict[str, str], sequence: str) -> None:
    assert terminal_notification("synthorg: 2 items", environ) == sequence


def test_without_a_desktop_nothing_is_shown() -> None:
    assert not desktop_notification("synthorg: 2 items", {})


async def test_what_keeps_sessions_from_coming_in_is_told() -> None:
    desk = FakeDesk(rows(6))
    app = fake_app(desk)
    async with app.run_test() as pilot:
        await settle(pilot)
        error = DomainError(
            "New sessions can't be imported: the disk is full.", remedy="Free some."
        )
        desk.activity.tell(ActivityEvent("failed", 0, error=error))
        await settle(pilot)
        assert "the disk is full. Free some." in toasts(app)
