"""Lessons that several sessions make certain: what a person says again, commands used again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.curation.models import LessonKind
from synthorg_tui.executions.models import Execution
from synthorg_tui.learning.models import LearnVerdict
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.learning.lesson_kit import Run
from tests.learning.test_corrections import talk
from tests.learning.test_learn import Bench

PASSING = "don't touch the exports of src/config.ts"
RULE = "always use pnpm instead of npm"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield database
    await database.close()


def checked(session: str) -> Execution:
    return Run(session).bash("make check", "ok").done()


async def test_a_wish_said_in_passing_is_proposed_when_it_is_said_again(
    database: StoreDatabase,
) -> None:
    bench = Bench(database)
    assert await bench.learn(talk("+ src/a.py", PASSING, session="s1")) == ()
    await bench.record(talk("+ src/b.py", PASSING, session="s2", days=1))
    (again,) = (await Bench(database).service.learn_from(["claude_code:s2"])).lessons

    assert again.verdict is LearnVerdict.PROPOSED
    assert again.recurrence == 2


async def test_the_same_wish_in_other_words_adds_to_what_waits(database: StoreDatabase) -> None:
    bench = Bench(database)
    await bench.learn(talk("$ npm i", RULE, session="s1"))
    before = await bench.lesson()
    await bench.record(talk("$ npm i", "Please use pnpm, not npm!", session="s2", days=1))
    (again,) = (await Bench(database).service.learn_from(["claude_code:s2"])).lessons

    assert again.verdict is LearnVerdict.SEEN_AGAIN
    assert (await bench.lesson()).key == before.key
    assert again.confidence > before.proposal.confidence


async def test_what_a_person_rejected_is_not_proposed_in_other_words(
    database: StoreDatabase,
) -> None:
    bench = Bench(database)
    await bench.learn(talk("$ npm i", RULE, session="s1"))
    await bench.decide(ApprovalStatus.REJECTED)
    await bench.record(talk("$ npm i", "Please use pnpm, not npm!", session="s2", days=1))
    (again,) = (await bench.service.learn_from(["claude_code:s2"])).lessons

    assert again.verdict is LearnVerdict.REJECTED


async def test_a_command_of_two_sessions_is_a_habit_however_they_are_read(
    database: StoreDatabase,
) -> None:
    bench = Bench(database)
    assert await bench.learn(checked("s1")) == ()
    await bench.record(checked("s2"))
    (learned,) = (await Bench(database).service.learn_from(["claude_code:s2"])).lessons

    assert learned.verdict is LearnVerdict.PROPOSED
    assert (await bench.lesson()).kind is LessonKind.HABIT
    assert "2 of 2, in 2 sessions" in (await bench.lesson()).proposal.rationale


async def test_counts_of_a_habit_that_waits_rise_with_another_session(
    database: StoreDatabase,
) -> None:
    bench = Bench(database)
    run = Run("s1").bash("make check").bash("make check").bash("make check")
    await bench.learn(run.done())
    await bench.record(checked("s2"))
    (again,) = (await Bench(database).service.learn_from(["claude_code:s2"])).lessons

    assert again.verdict is LearnVerdict.SEEN_AGAIN
    assert "4 of 4, in 2 sessions" in (await bench.lesson()).proposal.rationale


async def test_learning_again_brings_nothing_new(database: StoreDatabase) -> None:
    bench = Bench(database)
    runs = [talk("$ make check", RULE, session="s1"), checked("s2"), checked("s3")]
    first = await bench.learn(*runs)
    again = await Bench(database).service.learn()

    assert {one.verdict for one in first} == {LearnVerdict.PROPOSED}
    assert {one.verdict for one in again.lessons} == {LearnVerdict.KNOWN}


async def test_a_forgotten_session_says_nothing_any_more(database: StoreDatabase) -> None:
    bench = Bench(database)
    await bench.learn(talk("+ src/a.py", PASSING, session="s1"))
    await database.write(lambda db: db.execute("DELETE FROM executions WHERE id LIKE '%s1'"))

    assert await bench.learn(talk("+ src/b.py", PASSING, session="s2", days=1)) == ()
