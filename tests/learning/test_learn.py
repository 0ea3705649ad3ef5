"""Learning: what becomes of a lesson that is new, waits, or was decided."""

import threading
from collections.abc import Mapping
from datetime import timedelta

import pytest

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    RiskLevel,
)
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.inbox import item_id, lesson_of
from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import FileMark
from synthorg_tui.learning.models import Learned, LearnProgress, LearnVerdict
from synthorg_tui.learning.service import LearnService
from synthorg_tui.memory.config import CaptureConfig, ProceduralMemoryConfig
from synthorg_tui.providers.completion.protocol import CompletionProvider
from tests.conftest import FixedClock
from tests.learning.lesson_kit import START, KeptRuns, Run
from tests.scripted import BUSY, REFUSED, ScriptedProvider

BETTER = "Run `git push -u origin <branch>`, where `<branch>` is the name of your branch."


class FakeQueue:
    """Items by id; only what learning may do."""

    def __init__(self) -> None:
        self.items: dict[str, ApprovalItem] = {}
        self.revisions = 0

    async def add(self, item: ApprovalItem) -> None:
        if item.id in self.items:
            raise ApprovalConflictError("there already")
        self.items[item.id] = item

    async def get(self, item_id: str) -> ApprovalItem | None:
        return self.items.get(item_id)

    async def list(
        self,
        *,
        status: ApprovalStatus | None = None,
        action_type: str | None = None,
        snoozed: bool = False,
    ) -> tuple[ApprovalItem, ...]:
        return tuple(self.items.values())

    async def save(self, item: ApprovalItem) -> ApprovalItem | None:
        self.items[item.id] = item
        return item

    async def revise(
        self,
        item_id: str,
        *,
        actor: str,
        payload: str | None = None,
        metadata: Mapping[str, str] | None = None,
        title: str | None = None,
        description: str | None = None,
    ) -> ApprovalItem:
        item = self.items[item_id]
        if item.status is not ApprovalStatus.PENDING:
            raise ApprovalConflictError("not pending")
        given = {
            "payload": payload,
            "metadata": metadata,
            "title": title,
            "description": description,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        self.items[item_id] = item.model_copy(update=changes)
        self.revisions += 1
        return self.items[item_id]


class FakeLedger:
    """Adopted skills that count what is seen again."""

    def __init__(self, *, knows: bool = True) -> None:
        self.knows = knows
        self.seen: list[Lesson] = []

    async def seen_again(self, lesson: Lesson) -> bool:
        self.seen.append(lesson)
        return self.knows


class Bench:
    """A service with fakes around it."""

    def __init__(
        self,
        provider: CompletionProvider | None = None,
        *,
        ledger: FakeLedger | None = None,
        config: ProceduralMemoryConfig | None = None,
    ) -> None:
        self.queue, self.executions = FakeQueue(), KeptRuns()
        self.adopted = 0
        self.adoption_fails = False
        self.service = LearnService(
            queue=self.queue,
            executions=self.executions,
            config=config or ProceduralMemoryConfig(),
            clock=FixedClock(),
            provider=provider,
            sink=ledger,
            adopt=self.adopt,
        )

    async def adopt(self) -> None:
        self.adopted += 1
        if self.adoption_fails:
            raise DomainError("disk full")

    async def keep(self, *executions: Execution) -> None:
        for each in executions:
            await self.executions.save(each, (), FileMark(each.id, 0, 0, ""))

    async def learn(self, *executions: Execution) -> tuple[Learned, ...]:
        await self.keep(*executions)
        return (await self.service.learn()).lessons

    @property
    def item(self) -> ApprovalItem:
        (item,) = self.queue.items.values()
        return item

    @property
    def lesson(self) -> Lesson:
        lesson = lesson_of(self.item)
        assert lesson is not None
        return lesson

    def decide(self, status: ApprovalStatus) -> None:
        item = self.item
        self.queue.items[item.id] = item.model_copy(update={"status": status})


def push(session: str = "s1", *, option: str = "-u") -> Execution:
    error = "fatal: The current branch retry-fetch has no upstream branch."
    run = Run(session).bash("git push", error, code=128)
    return run.bash(f"git push {option} origin retry-fetch", "ok").done()


async def test_a_new_lesson_waits_for_a_person() -> None:
    bench = Bench()
    (learned,) = await bench.learn(push())
    assert learned.verdict is LearnVerdict.PROPOSED
    assert bench.item.status is ApprovalStatus.PENDING
    assert bench.item.action_type == "procedural:lesson"
    assert bench.item.id == learned.item_id == item_id(bench.lesson.key)
    assert bench.item.metadata["recurrence"] == "1"
    assert bench.item.risk_level is RiskLevel.LOW


async def test_a_lesson_that_overrides_something_is_risky() -> None:
    bench = Bench()
    await bench.learn(push(option="--no-verify"))
    assert bench.item.risk_level is RiskLevel.HIGH


async def test_the_same_mistake_in_two_runs_is_one_item_with_both() -> None:
    bench = Bench()
    (learned,) = await bench.learn(push("s1"), push("s2"))
    assert learned.recurrence == 2
    assert {each.execution for each in bench.lesson.evidence} == {
        "claude_code:s1",
        "claude_code:s2",
    }


async def test_a_waiting_lesson_seen_again_gains_evidence() -> None:
    bench = Bench()
    (first,) = await bench.learn(push("s1"))
    (again,) = await bench.learn(push("s2"))
    assert (first.verdict, again.verdict) == (LearnVerdict.PROPOSED, LearnVerdict.SEEN_AGAIN)
    assert again.confidence > first.confidence
    assert bench.item.metadata["recurrence"] == "2"


async def test_nothing_new_changes_nothing() -> None:
    bench = Bench()
    await bench.learn(push())
    before = bench.item
    (again,) = await bench.learn()
    assert again.verdict is LearnVerdict.KNOWN
    assert bench.item is before


async def test_a_rejected_lesson_is_left_alone_whatever_comes() -> None:
    bench = Bench()
    await bench.learn(push("s1"))
    bench.decide(ApprovalStatus.REJECTED)
    before = bench.item
    (again,) = await bench.learn(push("s2"))
    assert again.verdict is LearnVerdict.REJECTED
    assert bench.item is before


@pytest.mark.parametrize(
    ("knows", "verdict"), [(True, LearnVerdict.ADOPTED), (False, LearnVerdict.KNOWN)]
)
async def test_an_adopted_lesson_seen_again_is_told_to_the_ledger(
    knows: bool, verdict: LearnVerdict
) -> None:
    ledger = FakeLedger(knows=knows)
    bench = Bench(ledger=ledger)
    await bench.learn(push("s1"))
    bench.decide(ApprovalStatus.APPROVED)
    (again,) = await bench.learn(push("s2"))
    assert again.verdict is verdict
    assert ledger.seen[0].recurrence == 2


async def test_an_expired_lesson_waits_again_only_with_new_evidence() -> None:
    bench = Bench()
    await bench.learn(push("s1"))
    bench.decide(ApprovalStatus.EXPIRED)
    (same,) = await bench.learn()
    assert (same.verdict, bench.item.status) == (LearnVerdict.KNOWN, ApprovalStatus.EXPIRED)
    (again,) = await bench.learn(push("s2"))
    assert (again.verdict, bench.item.status) == (LearnVerdict.SEEN_AGAIN, ApprovalStatus.PENDING)


@pytest.mark.parametrize(
    ("least", "verdict"), [(0.7, LearnVerdict.PROPOSED), (0.71, LearnVerdict.UNCERTAIN)]
)
async def test_an_uncertain_lesson_is_not_proposed(least: float, verdict: LearnVerdict) -> None:
    bench = Bench(config=ProceduralMemoryConfig(min_confidence=least))
    (learned,) = await bench.learn(push())
    assert learned.verdict is verdict
    assert len(bench.queue.items) == (verdict is LearnVerdict.PROPOSED)


async def test_an_unremarkable_run_gives_no_proposal() -> None:
    bench = Bench()
    assert await bench.learn(Run().look().bash("make", "ok").done()) == ()
    assert bench.queue.items == {}


async def test_only_runs_that_ended_since_then_are_looked_at() -> None:
    bench = Bench()
    await bench.keep(push())
    ended = START + timedelta(hours=1)
    assert (await bench.service.learn(since=ended + timedelta(seconds=1))).executions == 0
    assert (await bench.service.learn(since=ended)).executions == 1


async def test_what_was_imported_is_learnt_without_the_model() -> None:
    provider = ScriptedProvider()
    bench = Bench(provider)
    await bench.keep(push("s1"), push("s2"))
    report = await bench.service.learn_from(["claude_code:s1", "gone"])
    assert (report.executions, report.count(LearnVerdict.PROPOSED)) == (1, 1)
    assert provider.asked == []


async def test_a_better_wording_is_kept_in_the_item_and_asked_for_once() -> None:
    provider = ScriptedProvider("", "", BETTER, "")
    bench = Bench(provider)
    (learned,) = await bench.learn(push())
    assert learned.worded == ("action",)
    assert bench.lesson.proposal.action == BETTER
    assert bench.lesson.authors["action"] is Author.MODEL
    await bench.learn()
    assert len(provider.asked) == 4


@pytest.mark.parametrize("error", [REFUSED, BUSY, OSError("gone"), ValueError("?")])
async def test_a_failing_model_is_a_warning_and_the_lesson_stays(error: Exception) -> None:
    bench = Bench(ScriptedProvider(error))
    await bench.keep(push())
    report = await bench.service.learn()
    assert report.count(LearnVerdict.PROPOSED) == 1
    assert len(report.warnings) == 1
    assert set(bench.lesson.authors.values()) == {Author.EVIDENCE}


async def test_a_model_that_refuses_is_not_asked_again_in_the_same_run() -> None:
    provider = ScriptedProvider(REFUSED)
    bench = Bench(provider)
    other = Run("s2").bash("npm run build", "sh: 1: vite: not found", code=127)
    await bench.keep(push("s1"), other.bash("npm install").bash("npm run build", "ok").done())
    report = await bench.service.learn()
    assert len(report.lessons) == 2
    assert len(provider.asked) == 1


async def test_a_run_that_can_not_be_understood_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    broken = push("s0")
    real = bench.service.capture

    def capture(execution: Execution) -> object:
        if execution.id == broken.id:
            raise RuntimeError("odd")
        return real(execution)

    monkeypatch.setattr(bench.service, "capture", capture)
    await bench.keep(broken, push("s1"))
    report = await bench.service.learn()
    assert report.count(LearnVerdict.PROPOSED) == 1
    assert report.warnings == ("claude_code:s0 can't be understood: RuntimeError",)


async def test_learning_can_be_cancelled_and_keeps_what_it_found() -> None:
    bench, cancel = Bench(), threading.Event()
    await bench.keep(push("s1"), push("s2"))
    seen: list[LearnProgress] = []

    def progress(step: LearnProgress) -> None:
        seen.append(step)
        if step.done == 1:
            cancel.set()

    report = await bench.service.learn(progress=progress, cancel=cancel)
    assert report.cancelled
    assert report.executions <= 2
    assert seen[0] == LearnProgress("reading", 0, 2)


async def test_what_needs_no_person_is_adopted_after_something_was_proposed() -> None:
    bench = Bench()
    await bench.learn(push("s1"))
    await bench.learn()
    assert bench.adopted == 1


async def test_failing_to_adopt_is_a_warning() -> None:
    bench = Bench()
    bench.adoption_fails = True
    await bench.keep(push())
    report = await bench.service.learn()
    assert report.warnings == ("nothing was adopted: disk full",)


async def test_a_success_is_compared_with_all_other_runs() -> None:
    config = ProceduralMemoryConfig(capture=CaptureConfig(success_quality_percentile=50.0))
    bench = Bench(config=config)
    plain = [Run(f"p{n}").bash("ruff check", "ok").bash("pytest", "ok").done() for n in range(3)]
    best = Run("best").bash("ruff check", "ok").bash("pytest", "ok").bash("git push", "ok").done()
    await bench.keep(*plain, best)
    report = await bench.service.learn_from([best.id])
    assert report.count(LearnVerdict.PROPOSED) == 1
    assert bench.lesson.task_id == best.id
