"""What came of approved lessons: times given, and the same failure in the sessions since."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.curation.applications import Applications
from synthorg_tui.curation.effects import EffectWeek, LessonEffect, spark
from synthorg_tui.curation.models import LessonKind
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.learning.effects import LessonEffects
from synthorg_tui.memory.strategies.service import Use, UseKind
from tests.conftest import FixedClock
from tests.curation.review_kit import Office, lesson, office
from tests.memory.store.store_kit import AGENT
from tests.tables import rows

FAILED = "fatal: The current branch has no upstream branch."
HOUR = timedelta(hours=1)


@dataclass
class Sessions:
    """An office in which sessions happen after a lesson was approved."""

    desk: Office
    clock: FixedClock
    memory_id: str = ""
    count: int = 0
    told: list[tuple[int, int]] = field(default_factory=list)

    async def happens(
        self, *commands: tuple[str, str], agent: str = AGENT, part: str = "", name: str = ""
    ) -> str:
        """Store a session of commands, each with the error it failed with; return its name."""
        self.count += 1
        name, now = name or f"s{self.count}", self.clock.now()
        calls = tuple(
            ToolCall(
                id=f"c{at}",
                tool="Bash",
                intent=command,
                arguments=command,
                outcome=CallOutcome.FAILED if error else CallOutcome.OK,
                output=error,
                at=now,
                call_line=at,
            )
            for at, (command, error) in enumerate(commands, start=1)
        )
        execution = Execution(
            id=f"claude_code:{name}{part}",
            reader="claude_code",
            session_id=name,
            agent_id=agent,
            project="/work/shop",
            started_at=now,
            ended_at=now,
            calls=calls,
        )
        store = ExecutionStore(self.desk.backend.core.database)
        mark = FileMark(f"/{name}{part}", 1, self.count, str(self.count))
        await store.save(execution, PackedLines(map(str, calls)), mark)
        return name

    async def given(self, session: str, how: UseKind = UseKind.DIGEST) -> None:
        log = Applications(self.desk.backend.core.database)
        use = Use(how, AGENT, "/work/shop", session)
        assert await log.applied([self.memory_id], self.clock.now(), use) == 1

    async def effect(self) -> LessonEffect:
        """The effect of the one lesson there is."""
        self.told.clear()
        effects = LessonEffects(self.desk.backend.core.database, self.desk.ledger, self.clock)
        (effect,) = (await effects.all(lambda *at: self.told.append(at))).values()
        return effect


@pytest.fixture
async def since(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Sessions]:
    async with office(tmp_path, clock=clock) as desk:
        sessions = Sessions(desk, clock)
        await sessions.happens(("git push", FAILED))
        clock.advance(hours=1)
        sessions.memory_id = await desk.approve(await desk.propose(lesson()))
        clock.advance(hours=1)
        yield sessions


async def test_what_failed_before_the_approval_does_not_count(since: Sessions) -> None:
    effect = await since.effect()
    assert effect == LessonEffect(
        ways=tuple((way.value, 0) for way in UseKind), is_recognised=True, weeks=(EffectWeek(),)
    )
    assert effect.failure_words == "no session since has run what it is about"


async def test_sessions_are_told_apart_by_whether_they_had_it(since: Sessions) -> None:
    for _ in range(2):
        await since.given(await since.happens(("git push origin main", "")))
    had = await since.happens(("ls", ""))
    await since.given(had)
    since.clock.advance(hours=1)
    await since.happens(("git push", FAILED), name=had)
    await since.happens(("git push", FAILED))
    await since.happens(("git push", ""))
    await since.happens(("make test", "no rule to make target"))
    effect = await since.effect()
    assert (effect.had, effect.had_failed) == (3, 1)
    assert (effect.lacked, effect.lacked_failed) == (2, 1)
    assert effect.failure_words == (
        "the failure came again in 1 of 3 sessions that had it, 1 of 2 without"
    )
    assert effect.given == 3


async def test_given_after_the_failure_it_was_not_had_before(since: Sessions) -> None:
    session = await since.happens(("git push", FAILED))
    since.clock.advance(hours=1)
    await since.given(session, UseKind.AFTER)
    effect = await since.effect()
    assert (effect.had, effect.lacked, effect.lacked_failed) == (0, 1, 1)
    assert effect.given_words == "1 after a failure"
    assert effect.failure_words == "the failure came again in 1 of 1 session without it"


async def test_another_error_of_the_same_command_is_not_its_failure(since: Sessions) -> None:
    await since.happens(("git push", "error: failed to push some refs to 'origin'"))
    effect = await since.effect()
    assert (effect.lacked, effect.lacked_failed) == (1, 0)
    assert effect.failure_words == "the failure wasn't seen again in 1 session"


async def test_sessions_of_another_agent_do_not_count_for_an_agents_own(since: Sessions) -> None:
    await since.happens(("git push", FAILED), agent="bob")
    assert (await since.effect()).lacked == 0


async def test_a_subagent_works_in_the_session_of_its_parent(since: Sessions) -> None:
    name = await since.happens(("git push", ""))
    await since.happens(("git push", FAILED), name=name, part="/a1")
    effect = await since.effect()
    assert (effect.lacked, effect.lacked_failed) == (1, 1)


async def test_each_session_is_looked_at_once_until_it_goes_on(since: Sessions) -> None:
    name = await since.happens(("git push", ""))
    await since.happens(("git push", FAILED))
    before = await since.effect()
    assert since.told == [(2, 2)]
    assert await since.effect() == before
    assert since.told == []
    await since.happens(("git push", ""), ("git push", FAILED), name=name)
    assert (await since.effect()).lacked_failed == 2
    assert since.told == [(1, 1)]


async def test_weeks_are_counted_back_from_now(since: Sessions) -> None:
    await since.given("elsewhere")
    await since.happens(("git push", FAILED))
    since.clock.advance(days=14)
    await since.given("here")
    await since.given("here")
    effect = await since.effect()
    assert effect.weeks == (EffectWeek(1, 1), EffectWeek(), EffectWeek(2, 0))
    assert effect.lines_over_time == (("given", "▅·█"), ("failed", "█··"))


async def test_of_a_forgotten_session_no_result_stays(since: Sessions) -> None:
    name = await since.happens(("git push", FAILED))
    await since.effect()
    await since.desk.parts.sessions.purge([f"claude_code:{name}"], actor="person")
    left = await since.desk.backend.core.database.read(
        lambda db: db.execute("SELECT execution_id FROM lesson_runs").fetchall()
    )
    assert left == []


async def test_a_lesson_of_what_went_well_has_no_failure_to_recognise(since: Sessions) -> None:
    what = lesson("tests", kind=LessonKind.SUCCESS, discovery="Run the tests with make test.")
    await since.desk.approve(await since.desk.propose(what))
    effects = LessonEffects(since.desk.backend.core.database, since.desk.ledger, since.clock)
    told = {effect.failure_words for effect in (await effects.all()).values()}
    assert "its failure can't be recognised in sessions" in told


@rows(
    ("given", "had", "lacked", "is_no_rarer"),
    [
        (10, (3, 1), (9, 3), True),
        (9, (3, 1), (9, 3), False),
        (10, (2, 2), (9, 3), False),
        (10, (3, 1), (9, 4), False),
        (10, (3, 0), (9, 0), False),
        (10, (3, 1), (2, 0), False),
    ],
)
def test_what_is_no_rarer_with_a_lesson_needs_enough_sessions(
    given: int, had: tuple[int, int], lacked: tuple[int, int], is_no_rarer: bool
) -> None:
    effect = LessonEffect((("digest", given),), True, *had, *lacked)
    assert effect.is_no_rarer_with_it is is_no_rarer


def test_a_line_of_bars_is_drawn_to_its_highest_value() -> None:
    assert spark([0, 1, 4, 8]) == "·▂▅█"
    assert spark([]) == ""
