"""A key is asked at once and the question before it given up; slow ones wait for the keys."""

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.scenarios import Question
from synthorg_tui.memory.strategies.service import Injection
from synthorg_tui.tui.digest import state as paced
from synthorg_tui.tui.digest.screen import DigestScreen
from synthorg_tui.tui.digest.state import QUICK, REST, Pacing
from tests.tui.digest.digest_fakes import injection
from tests.tui.digest.test_digest_pane import ask
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle, type_text, until

NEVER = 3600.0


def after(*seconds: float) -> Pacing:
    """Questions that were answered after so long, one after the other."""
    pacing, now = Pacing(), 100.0
    for taken in seconds:
        pacing.asked(now)
        pacing.answered(now + taken)
        now += 60
    return pacing


class TestPacing:
    def test_the_first_key_does_not_wait(self) -> None:
        assert Pacing().delay(5.0) == 0.0

    @pytest.mark.parametrize(("taken", "delay"), [(QUICK, 0.0), (QUICK + 0.01, REST)])
    def test_a_key_waits_when_the_answer_before_it_was_slow(
        self, taken: float, delay: float
    ) -> None:
        assert after(taken).delay(1_000.0) == delay

    def test_only_the_last_answer_counts(self) -> None:
        assert after(9.0, 0.1).delay(1_000.0) == 0.0
        assert after(0.1, 9.0).delay(1_000.0) == REST

    @pytest.mark.parametrize(("under_way", "delay"), [(QUICK, 0.0), (QUICK + 0.01, REST)])
    def test_a_question_given_up_was_slow_if_it_was_long_under_way(
        self, under_way: float, delay: float
    ) -> None:
        pacing = Pacing()
        pacing.asked(0.0)
        assert pacing.delay(under_way) == delay

    @given(st.lists(st.floats(0.001, QUICK * 0.99), min_size=1, max_size=30))
    def test_keys_that_give_up_young_questions_never_wait(self, gaps: list[float]) -> None:
        pacing, now = Pacing(), 0.0
        for gap in gaps:
            pacing.asked(now)
            now += gap
            assert pacing.delay(now) == 0.0

    def test_after_giving_up_a_slow_one_keys_wait_until_a_quick_answer(self) -> None:
        pacing = Pacing()
        pacing.asked(0.0)
        assert [pacing.delay(9.0), pacing.delay(9.1)] == [REST, REST]
        pacing.asked(10.0)
        pacing.answered(10.1)
        assert pacing.delay(11.0) == 0.0


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk(rows(40))


def asked(desk: FakeDesk) -> list[str]:
    return [each.query for each in desk.digests.asked]


async def typing(pilot: Pilot[None]) -> DigestScreen:
    """``git`` is asked and answered, and the keys go on from there."""
    screen = await ask(pilot, "git")
    await pilot.press("slash")
    screen.pacing = Pacing()
    return screen


def held(desk: FakeDesk, queries: Iterable[str]) -> list[asyncio.Event]:
    """Hold back the answers to these questions."""
    gates = desk.digests.gate
    gates.update({query: asyncio.Event() for query in queries})
    return [gates[query] for query in queries]


async def test_each_key_is_asked_at_once_though_the_one_before_has_no_answer(
    desk: FakeDesk,
) -> None:
    async with fake_app(desk).run_test() as pilot:
        screen = await typing(pilot)
        held(desk, ["gits", "gitst"])
        await pilot.press("s", "t", "u")
        await settle(pilot)
        assert asked(desk)[-3:] == ["gits", "gitst", "gitstu"]
        assert screen.digest.answer == desk.digests.answer(desk.digests.asked[-1])
        assert not screen.digest.waiting


async def test_the_last_of_a_burst_is_answered(desk: FakeDesk) -> None:
    async with fake_app(desk).run_test(size=(120, 40)) as pilot:
        screen = await typing(pilot)
        await type_text(pilot, " push of a branch")
        await settle(pilot)
        assert asked(desk)[-1] == "git push of a branch"
        assert screen.digest.answer == desk.digests.answer(desk.digests.asked[-1])
        assert "in · " in screen_text(pilot.app)


async def test_a_question_given_up_is_cancelled(desk: FakeDesk) -> None:
    async with fake_app(desk).run_test() as pilot:
        await typing(pilot)
        (gate,) = held(desk, ["gits"])
        await pilot.press("s", "t")
        await settle(pilot)
        working = [each for each in pilot.app.workers if each.is_running]
        assert not gate.is_set()
        assert not working


async def test_an_older_answer_that_comes_in_spite_of_that_is_not_shown(
    desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (late,) = held(desk, ["never asked"])
    answer = desk.digests.digest

    async def stubborn(question: Question) -> Injection:
        try:
            return await answer(question)
        except asyncio.CancelledError:
            await late.wait()
            return injection(desk.digests.answer(question))

    monkeypatch.setattr(desk.digests, "digest", stubborn)
    async with fake_app(desk).run_test() as pilot:
        screen = await typing(pilot)
        held(desk, ["gits"])
        await pilot.press("s", "t")
        await settle(pilot, held=1)
        newest = screen.digest.answer
        late.set()
        await settle(pilot)
        assert screen.digest.answer is newest
        assert newest == desk.digests.answer(desk.digests.asked[-1])


async def test_a_question_that_fails_does_not_stop_the_next(desk: FakeDesk) -> None:
    async with fake_app(desk).run_test() as pilot:
        screen = await typing(pilot)
        desk.digests.error = DomainError("The index is gone", remedy="Reindex")
        await pilot.press("s")
        await settle(pilot)
        assert "The index is gone" in screen_text(pilot.app)
        desk.digests.error = None
        await pilot.press("t")
        await settle(pilot)
        assert screen.digest.answer == desk.digests.answer(desk.digests.asked[-1])
        assert "The index is gone" not in screen_text(pilot.app)


async def test_where_answers_are_slow_keys_are_asked_together_once_they_rest(
    desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced, "REST", NEVER)
    async with fake_app(desk).run_test() as pilot:
        screen = await typing(pilot)
        screen.pacing = after(9.0)
        await pilot.press("s", "t")
        assert asked(desk)[-1] == "git"
        assert screen.digest.waiting
        monkeypatch.setattr(paced, "REST", 0.05)
        await pilot.press("u")
        await until(pilot, lambda: not screen.digest.waiting)
        assert asked(desk)[-2:] == ["git", "gitstu"]
        assert screen.digest.answer == desk.digests.answer(desk.digests.asked[-1])


async def test_a_slow_question_is_given_up_at_the_key_and_not_only_when_keys_rest(
    desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paced, "REST", NEVER)
    async with fake_app(desk).run_test() as pilot:
        screen = await typing(pilot)
        held(desk, ["gits"])
        await pilot.press("s")
        screen.pacing = after(9.0)
        await pilot.press("t")
        await settle(pilot)
        assert asked(desk)[-1] == "gits"
        assert screen.digest.waiting
        assert not [each for each in pilot.app.workers if each.is_running]
