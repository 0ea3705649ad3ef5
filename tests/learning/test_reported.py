"""What an agent reported of itself is marked as such, and makes no lesson more certain."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalItem, RiskLevel
from synthorg_tui.approvals.proposals import asked_by
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.curation.inbox import ACTOR
from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES, Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.drafting import certainty_of_lesson, merged, mistake_lesson
from synthorg_tui.learning.lessons import REPORTED_CERTAINTY
from synthorg_tui.learning.mistakes import find_mistakes
from synthorg_tui.learning.models import LearnReport
from synthorg_tui.learning.promotion import EvolutionService
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.service import LearnService
from synthorg_tui.memory.config import CaptureConfig, CompanyMemoryConfig, ProceduralMemoryConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.conftest import FixedClock
from tests.learning.lesson_kit import BRANCH, START, Run
from tests.tables import rows

ERROR = f"fatal: The current branch {BRANCH} has no upstream branch.\n"
RECIPE = ("pytest -q", "mypy src", "git commit -m x")


def pushed(
    session: str,
    *,
    reported: bool = False,
    agent: str = "ada",
    fix: str = "git push -u origin",
    error: str = ERROR,
) -> Execution:
    run = Run(session, agent=agent).bash("git push", error, code=128)
    return as_reported(run.bash(f"{fix} {BRANCH}").done(), reported)


def checked(
    session: str,
    *,
    reported: bool = False,
    agent: str = "ada",
    commands: tuple[str, ...] = RECIPE,
) -> Execution:
    run = Run(session, agent=agent).edit("src/a.py")
    for command in commands:
        run.bash(command)
    return as_reported(run.done(), reported)


def as_reported(execution: Execution, reported: bool) -> Execution:
    update = {"id": f"generic:{execution.session_id}", "reader": "generic", "reported": True}
    return execution.model_copy(update=update) if reported else execution


def taught(execution: Execution) -> Lesson:
    (found,) = find_mistakes(execution)
    return mistake_lesson(execution, found)


RECORDED, REPORTED = taught(pushed("s1")), taught(pushed("s1", reported=True))


class TestOneLesson:
    def test_it_is_marked_in_its_evidence_and_as_the_author(self) -> None:
        assert set(REPORTED.authors.values()) == {Author.REPORTED}
        assert [seen.reported for seen in REPORTED.evidence] == [True]
        assert REPORTED.evidence[0].note == "reported by the agent itself, not recorded"
        assert (REPORTED.source, REPORTED.recurrence) == (Author.REPORTED, 0)
        assert set(RECORDED.authors.values()) == {Author.EVIDENCE}
        assert [seen.note for seen in RECORDED.evidence] == [""]
        assert (RECORDED.source, RECORDED.recurrence) == (Author.EVIDENCE, 1)

    def test_it_is_never_more_certain_than_a_recorded_one(self) -> None:
        assert REPORTED.proposal.confidence == REPORTED.grounded.confidence == REPORTED_CERTAINTY
        assert RECORDED.proposal.confidence > REPORTED_CERTAINTY

    def test_how_checks_passed_is_marked_and_bounded_too(self) -> None:
        capture = create_capture_strategy(CaptureConfig(type="success"))
        (reported,) = capture.capture(checked("s1", reported=True))
        assert reported.source is Author.REPORTED
        assert reported.proposal.confidence <= REPORTED_CERTAINTY

    @rows("over", [0, 1])
    def test_of_one_report_so_many_lessons_are_drawn(self, over: int) -> None:
        count = MAX_REPORTED_RECOVERIES + over
        run = Run()
        for number in range(count):
            run.bash(f"cargo sub{number}", f"error: no target t{number}", code=2)
            run.bash(f"cargo sub{number} --target t{number}")
        capture = create_capture_strategy(CaptureConfig())
        assert len(capture.capture(as_reported(run.done(), True))) == MAX_REPORTED_RECOVERIES
        assert len(capture.capture(run.done())) == count

    def test_reports_stored_before_there_was_a_mark_are_known_by_their_file(self) -> None:
        old = pushed("s1").model_copy(update={"reader": "generic"})
        report = f"/home/ada/.synthorg/reports/{'0a' * 16}.jsonl"
        assert old.model_copy(update={"source_path": report}).is_reported
        for other in ("/home/ada/reports/build.jsonl", f"/home/ada/logs/{'0a' * 16}.jsonl", ""):
            assert not old.model_copy(update={"source_path": other}).is_reported
        by_client = old.model_copy(update={"source_path": report, "reader": "codex"})
        assert not by_client.is_reported


class TestTogether:
    def test_a_hundred_reports_add_nothing_to_what_one_says(self) -> None:
        known = REPORTED
        for number in range(100):
            known = merged(known, taught(pushed(f"r{number}", reported=True)))
        assert known.proposal.confidence == known.grounded.confidence == REPORTED_CERTAINTY
        assert (known.recurrence, known.source) == (0, Author.REPORTED)
        assert len(known.evidence) == 5

    def test_reports_make_no_recorded_lesson_more_certain(self) -> None:
        together = merged(RECORDED, taught(pushed("r1", reported=True)))
        assert together.proposal == RECORDED.proposal
        assert (together.recurrence, len(together.evidence)) == (1, 2)
        assert set(together.authors.values()) == {Author.EVIDENCE}

    def test_the_first_recorded_run_takes_the_words_of_reports_over(self) -> None:
        told = taught(pushed("r1", reported=True, fix="git push --verbose -u origin"))
        together = merged(told, RECORDED)
        assert together.proposal == RECORDED.proposal
        assert together.authors == RECORDED.authors
        assert [seen.reported for seen in together.evidence] == [True, False]
        assert together.recurrence == 1

    def test_with_reports_between_recorded_runs_count_as_without(self) -> None:
        runs = [pushed("s1"), pushed("r1", reported=True), pushed("s2"), pushed("s3")]
        together = RECORDED
        for run in runs[1:]:
            together = merged(together, taught(run))
        once = RECORDED.proposal.confidence
        assert together.proposal.confidence == certainty_of_lesson(once, 3)

    def test_evidence_that_was_stored_unmarked_gets_its_mark_and_loses_its_weight(self) -> None:
        seen = REPORTED.evidence[0].model_copy(update={"reported": False})
        unmarked = RECORDED.model_copy(update={"evidence": (seen,)})
        together = merged(unmarked, REPORTED)
        assert [each.reported for each in together.evidence] == [True]
        assert set(together.authors.values()) == {Author.REPORTED}
        assert together.proposal.confidence == REPORTED_CERTAINTY
        assert merged(together, REPORTED) is together


class Desk:
    def __init__(self, database: StoreDatabase) -> None:
        self.clock = FixedClock(START + timedelta(days=1))
        self.executions = ExecutionStore(database)
        self.queue = ApprovalQueue(database, clock=self.clock)

    async def learn(self, *runs: Execution) -> LearnReport:
        for run in runs:
            await self.executions.save(run, PackedLines(), FileMark(run.id, 1, 1, "d"))
        service = LearnService(
            executions=self.executions,
            proposals=LessonProposals(self.queue, clock=self.clock),
            config=ProceduralMemoryConfig(),
        )
        return await service.learn()

    async def only(self) -> ApprovalItem:
        (item,) = await self.queue.list()
        return item

    async def active(self) -> tuple[()]:
        return ()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield Desk(database)
    await database.close()


class TestInTheQueue:
    async def test_the_agent_itself_asks_for_a_lesson_that_it_reported(self, desk: Desk) -> None:
        await desk.learn(pushed("r1", reported=True))
        assert (await desk.only()).requested_by == asked_by("ada")

    async def test_once_it_was_recorded_the_item_is_that_of_the_record(self, desk: Desk) -> None:
        await desk.learn(pushed("r1", reported=True))
        told = await desk.only()
        await desk.learn(
            pushed("s1", fix="git push --skip-hooks -u origin", error=f"{ERROR}hint: --skip-hooks")
        )
        item = await desk.only()
        assert (told.risk_level, item.risk_level) == (RiskLevel.LOW, RiskLevel.HIGH)
        assert item.id == told.id
        assert item.requested_by == ACTOR
        assert "--skip-hooks" in item.payload
        assert item.metadata["recurrence"] == "1"

    async def test_reported_runs_are_no_measure_for_others(self, desk: Desk) -> None:
        """However many of the best runs it makes up, another's good run still stands out."""
        made_up = [checked(f"r{n}", reported=True) for n in range(30)]
        plainer = [checked(f"p{n}", commands=RECIPE[:2]) for n in range(3)]
        report = await desk.learn(*made_up, *plainer, checked("s1", agent="bob"))
        items = [await desk.queue.get(lesson.item_id) for lesson in report.lessons]
        assert "bob" in {item.metadata["agent"] for item in items if item}

    @pytest.mark.parametrize("reported", [True, False])
    async def test_reports_under_many_names_promote_nothing(
        self, desk: Desk, reported: bool
    ) -> None:
        for agent in ("ada", "bob", "cyd", "dan", "eve"):
            await desk.learn(pushed(f"{agent}-1", agent=agent, reported=reported))
        evolution = EvolutionService(
            config=CompanyMemoryConfig.model_validate(
                {"procedural": {"evolver": {"enabled": True}}}
            ),
            executions=desk.executions,
            skills=desk,
            queue=desk.queue,
            clock=desk.clock,
        )
        assert bool((await evolution.run()).proposed) is not reported
