"""The first key after a pause is answered at once, what follows it once the keys rest."""

import asyncio

import pytest
from test_digest_pane import ask
from tui_fakes import FakeDesk, fake_app, rows
from tui_helpers import settle

from synthorg_tui.tui.screens import digest_view
from synthorg_tui.tui.view_models.pacing import Pacing

REST = 0.12
NEVER = 3600.0


def delays(*keys: tuple[float, bool]) -> list[float]:
    """The delay of each key, given as its time and whether an answer is still due."""
    pacing = Pacing()
    return [pacing.delay(now, rest=REST, busy=busy) for now, busy in keys]


class TestPacing:
    def test_the_first_key_does_not_wait(self) -> None:
        assert delays((5.0, False)) == [0.0]

    @pytest.mark.parametrize(("gap", "delay"), [(0.119, REST), (0.12, 0.0), (9.0, 0.0)])
    def test_the_next_one_waits_unless_there_was_a_pause(self, gap: float, delay: float) -> None:
        assert delays((0.0, False), (gap, False)) == [0.0, delay]

    def test_a_pause_is_counted_from_the_last_key_and_not_from_the_first(self) -> None:
        assert delays((0.0, False), (0.1, False), (0.2, False)) == [0.0, REST, REST]

    def test_a_key_waits_while_an_answer_is_due_however_long_that_takes(self) -> None:
        assert delays((0.0, False), (9.0, True), (18.0, False)) == [0.0, REST, 0.0]


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk(rows(40))


def asked(desk: FakeDesk) -> list[str]:
    return [each.query for each in desk.digests.asked]


async def test_a_key_after_a_pause_is_asked_without_waiting(
    desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_app(desk).run_test() as pilot:
        screen = await ask(pilot, "git")
        await pilot.press("slash")
        screen.pacing = Pacing()
        monkeypatch.setattr(digest_view, "DEBOUNCE", NEVER)
        await pilot.press("s")
        await settle(pilot, rounds=20)
        assert asked(desk)[-1] == "gits"
        assert not screen.digest.waiting
        await pilot.press("t")
        await settle(pilot, rounds=20)
        assert asked(desk)[-1] == "gits"
        assert screen.digest.waiting


async def test_keys_while_one_is_answered_are_asked_together(
    desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest_view, "DEBOUNCE", 0.2)
    async with fake_app(desk).run_test() as pilot:
        screen = await ask(pilot, "git")
        await pilot.press("slash")
        screen.pacing = Pacing()
        before = len(asked(desk))
        gate = desk.digests.gate["gits"] = asyncio.Event()
        await pilot.press("s", "t", "u", "v")
        for _ in range(200):
            await pilot.pause(0.02)
            if not screen.digest.waiting:
                break
        gate.set()
        await settle(pilot)
        assert asked(desk)[before:] == ["gits", "gitstuv"]
        assert screen.digest.answer == desk.digests.answer(desk.digests.asked[-1])


async def test_a_stale_first_answer_is_not_shown(
    desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_app(desk).run_test() as pilot:
        screen = await ask(pilot, "git")
        await pilot.press("slash")
        screen.pacing = Pacing()
        monkeypatch.setattr(digest_view, "DEBOUNCE", NEVER)
        before = screen.digest.answer
        gate = desk.digests.gate["gits"] = asyncio.Event()
        await pilot.press("s", "t")
        gate.set()
        await settle(pilot, rounds=20)
        assert screen.digest.answer is before
        assert screen.digest.waiting
