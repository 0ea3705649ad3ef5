"""Learning on the real store, the real queue and the sessions that we have."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.approvals.person import Person
from synthorg_tui.approvals.queue import ApprovalQueue, payload_hash
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.curation.inbox import lesson_of
from synthorg_tui.curation.models import Author, Lesson, LessonKind
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.learning.models import LearnReport, LearnVerdict
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.service import LearnService
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.conftest import FixedClock

SESSIONS = ("258c7280-ae70-4798-800f-63464d01a85d", "fa812bfe-b295-4cca-9c2f-fdf01028cb46")


class Desk:
    """A database with the stores that learning works on."""

    def __init__(self, database: StoreDatabase) -> None:
        self.database = database
        self.executions = ExecutionStore(database)
        self.queue = ApprovalQueue(database, clock=FixedClock())
        self.learning = LearnService(
            executions=self.executions,
            proposals=LessonProposals(self.queue, clock=FixedClock(), min_confidence=0.5),
            config=ProceduralMemoryConfig(),
        )

    async def read(self, folder: Path) -> None:
        """Keep the executions of all transcripts in a folder."""
        for file in find_transcripts(folder):
            if isinstance(file, TranscriptFile):
                reading = read_file(file)
                for each in reading.executions:
                    await self.executions.save(each.execution, each.lines, reading.mark)

    async def lessons(self) -> list[Lesson]:
        """Everything in the queue, the most often seen first."""
        lessons = [lesson_of(item) for item in await self.queue.list(snoozed=True)]
        found = [each for each in lessons if each is not None]
        return sorted(found, key=lambda each: (-each.recurrence, each.key))


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[Desk]:
    database = Database.in_dir(directory)
    await database.open()
    try:
        yield Desk(database)
    finally:
        await database.close()


Learnt = tuple[Path, LearnReport]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory, shared_dir: Path) -> Learnt:
    """A store that has learnt from the real sessions, and what that told."""
    directory = tmp_path_factory.mktemp("learnt")

    async def learn() -> LearnReport:
        async with opened(directory) as desk:
            await desk.read(shared_dir / "data" / "transcripts")
            return await desk.learning.learn()

    return directory, asyncio.run(learn())


@pytest.fixture
async def desk(tmp_path: Path, learnt: Learnt) -> AsyncIterator[Desk]:
    """A copy of that store."""
    shutil.copytree(learnt[0], tmp_path, dirs_exist_ok=True)
    async with opened(tmp_path) as desk:
        yield desk


async def test_real_sessions_teach_the_push_without_upstream_seen_in_both(
    desk: Desk, learnt: Learnt
) -> None:
    report = learnt[1]
    assert report.count(LearnVerdict.PROPOSED) == len(report.lessons)
    kinds = Counter(lesson.kind for lesson in await desk.lessons())
    assert kinds[LessonKind.HABIT] == 1
    assert kinds.total() <= 6 + 1
    lessons = await desk.lessons()
    push = lessons[0]
    assert push.recurrence == 2
    assert {each.execution.split(":")[1] for each in push.evidence} == set(SESSIONS)
    assert push.proposal.name == "git-push-no-upstream"
    assert "`git push --set-upstream origin <branch>`" in push.proposal.action
    assert "spotter" not in push.proposal.model_dump_json()
    for each in push.evidence:
        assert "no upstream branch" in each.error
        assert each.resolved_by.startswith("git push --set-upstream origin spotter-")


async def test_no_lesson_of_real_sessions_is_drawn_from_what_was_no_failure(
    desk: Desk,
) -> None:
    lessons = await desk.lessons()
    assert lessons
    kinds = {LessonKind.FAILURE, LessonKind.FILE, LessonKind.GATE}
    calls = [lesson for lesson in lessons if lesson.kind in kinds]
    for kind, each in ((lesson.kind, each) for lesson in calls for each in lesson.evidence):
        ref = SourceRef.parse(each.lines)
        assert ref is not None
        execution = await desk.executions.get(each.execution)
        assert execution is not None
        (call,) = [call for call in execution.calls if call.call_line == ref.first_line]
        is_gate = kind is LessonKind.GATE
        assert call.outcome is (CallOutcome.BLOCKED_BY_HOOK if is_gate else CallOutcome.FAILED)
        assert await desk.executions.excerpt(ref) is not None


async def test_learning_again_changes_nothing(desk: Desk) -> None:
    before = await desk.queue.list()
    report = await desk.learning.learn()
    assert {each.verdict for each in report.lessons} == {LearnVerdict.KNOWN}
    assert await desk.queue.list() == before


async def test_a_rejected_lesson_never_comes_back(desk: Desk) -> None:
    item = (await desk.queue.list())[0]
    await desk.database.write(
        lambda db: desk.queue.decide_in(
            db,
            item.id,
            status=ApprovalStatus.REJECTED,
            person=Person("terminal"),
            reason="obvious",
            payload_hash=payload_hash(item),
        )
    )
    report = await desk.learning.learn()
    (rejected,) = [each for each in report.lessons if each.verdict is LearnVerdict.REJECTED]
    assert rejected.item_id == item.id
    known = await desk.queue.get(item.id)
    assert known is not None
    assert known.status is ApprovalStatus.REJECTED


async def test_without_a_model_everything_was_written_by_code(desk: Desk) -> None:
    for lesson in await desk.lessons():
        assert set(lesson.authors.values()) == {Author.EVIDENCE}
        assert lesson.proposal == lesson.grounded
