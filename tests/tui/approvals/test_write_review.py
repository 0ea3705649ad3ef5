"""The review of what an agent wants kept: exactly its text, and the same keys as for a lesson."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.review import Review, SubjectKind
from synthorg_tui.tui.approvals import rewording as approvals_rewording
from synthorg_tui.tui.approvals.dialogs import RewordForm
from synthorg_tui.tui.approvals.review import ReviewScreen
from tests.tui.approvals.approvals_fakes import FakeApprovals, approval_rows, memory_of, written
from tests.tui.test_text_safety import EVIL, assert_inert
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, toasts, type_text

PORT = "Staging's database listens on port 6543."
WIDE = (120, 40)


def desk_with(text: str = PORT, **fields: Any) -> FakeDesk:
    desk = FakeDesk(rows(6))
    desk.approvals = FakeApprovals([written(text, **fields), *approval_rows(2)])
    return desk


async def open_review(pilot: Pilot[None]) -> ReviewScreen:
    await settle(pilot)
    await pilot.press("4")
    await settle(pilot)
    await pilot.press("enter")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


@pytest.mark.parametrize("size", [(80, 40), WIDE])
async def test_who_wants_what_kept_where_when_and_what_was_taken_out(size: tuple[int, int]) -> None:
    app = fake_app(desk_with(f"{PORT}\nIts password is [REDACTED:x]."))
    async with app.run_test(size=size) as pilot:
        await open_review(pilot)
        shown = screen_text(app)
        for told in (
            "+ write",
            "claude-code 2.1",
            "/home/ada/work/shop",
            PORT,
            "semantic, private",
            "x ×1",
            "written",
            "#origin:agent",
        ):
            assert told in shown


async def test_it_counts_among_what_waits() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "Approvals●3" in screen_text(app).replace(" ●", "●")


async def test_it_is_approved_as_shown() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_review(pilot)
        await pilot.press("a")
        await settle(pilot)
        assert desk.approvals.decided == [("write-0000", "approved", None)]


async def test_it_is_reworded_then_approved() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_review(pilot)
        await pilot.press("e")
        await settle(pilot)
        app.screen.query_one("#text", TextArea).text = "It listens on 6544."
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert app.screen is screen
        shown = screen_text(app)
        assert f"- {PORT}" in shown
        assert "+ It listens on 6544." in shown
        assert not desk.approvals.decided
        await pilot.press("a")
        await settle(pilot)
        assert desk.approvals.decided == [("write-0000", "approved", "It listens on 6544.")]


async def test_an_empty_text_is_not_taken_over_and_leaving_asks_once() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_review(pilot)
        await pilot.press("e")
        await settle(pilot)
        app.screen.query_one("#text", TextArea).text = " "
        for key in ("ctrl+s", "escape"):
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, RewordForm), key
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen is screen
        assert screen.shown.draft is None


@pytest.mark.parametrize(("typed", "draft"), [(None, None), ("Now safe.", "Now safe.")])
async def test_in_the_editor_a_text_left_alone_stays_exactly_as_it_was(
    monkeypatch: pytest.MonkeyPatch, typed: str | None, draft: str | None
) -> None:
    seen: list[str] = []

    def edit(_app: object, text: str) -> str:
        seen.append(text)
        return text if typed is None else typed

    monkeypatch.setattr(approvals_rewording, "edit_text", edit)
    app = fake_app(desk_with("Port\u202e 6543\x1b[31m"))
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_review(pilot)
        await pilot.press("E")
        await settle(pilot)
        assert screen.shown.draft == draft
    assert "\x1b" not in seen[0]
    assert "\u202e" not in seen[0]


async def test_it_has_no_parts() -> None:
    app = fake_app(desk_with())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_review(pilot)
        await pilot.press("f")
        await settle(pilot)
        assert app.screen is screen
        assert "one part" in toasts(app)


async def test_changed_behind_the_review_it_is_refused_and_the_change_shown() -> None:
    desk = desk_with()
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_review(pilot)
        desk.approvals.rows["write-0000"] = written("Drop the staging database.")
        await pilot.press("a")
        await settle(pilot)
        shown = screen_text(app)
        assert not desk.approvals.decided
        assert f"- {PORT}" in shown
        assert "+ Drop the staging database." in shown


async def test_a_deletion_shows_the_memory_in_full() -> None:
    reasons = {"mem-1": "wrong"}
    payload = PrunePayload(agent_id="claude-code", memory_ids=("mem-1",), reasons=reasons)
    row = replace(written("Delete: Staging"), kind=SubjectKind.DELETE, subject=payload)
    desk = FakeDesk(rows(6))

    class Deleting(FakeApprovals):
        def sheet(self, item_id: str) -> Review:
            lines = (f"-{PORT}", "-It runs on the second machine.")
            removed = (memory_of(PORT, "mem-1"),)
            return replace(super().sheet(item_id), diff=lines, replaces=removed)

    desk.approvals = Deleting([row])
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_review(pilot)
        shown = screen_text(app)
        assert "(wrong)" in shown
        assert "-It runs on the second machine." in shown


@pytest.mark.parametrize("key", ["e", "a"])
async def test_hostile_text_is_safe_text_everywhere(key: str) -> None:
    evil = {"category": EVIL, "source": EVIL, "project": EVIL, "tags": (EVIL,)}
    desk = desk_with(f"{EVIL} [REDACTED:{EVIL}]", **evil)
    app = fake_app(desk)
    async with app.run_test(size=WIDE) as pilot:
        await open_review(pilot)
        assert_inert(app)
        await pilot.press(key)
        await settle(pilot)
        assert_inert(app)
        if key == "e":
            await type_text(pilot, "x")
            await pilot.press("ctrl+s")
            await settle(pilot)
            assert_inert(app)
