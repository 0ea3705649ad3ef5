"""Learning: what becomes of a lesson that is new, waits, or was decided."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus, RiskLevel
from synthorg_tui.approvals.person import Person
from synthorg_tui.approvals.queue import ApprovalQueue, payload_hash
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.inbox import item_id, lesson_of
from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.learning.evidence import LessonEvidence
from synthorg_tui.learning.models import Learned, LearnProgress, LearnVerdict
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.service import LearnService
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
    TokenUsage,
)
from synthorg_tui.providers.models import ChatMessage
from tests.conftest import FixedClock
from tests.curation.review_kit import office
from tests.learning.lesson_kit import START, Run
from tests.scripted import BUSY, REFUSED, ScriptedProvider

EXPIRES = timedelta(days=90)


class Bench:
    """The service over a database."""

    def __init__(
        self,
        database: StoreDatabase,
        provider: CompletionProvider | None = None,
        *,
        evidence: LessonEvidence | None = None,
        config: ProceduralMemoryConfig | None = None,
    ) -> None:
        config = config or ProceduralMemoryConfig()
        self.database, self.clock = database, FixedClock()
        self.queue = ApprovalQueue(database, clock=self.clock, expire_after=EXPIRES)
        self.executions = ExecutionStore(database)
        self.adopted = 0
        self.adoption_fails = False
        self.proposals = LessonProposals(
            self.queue,
            clock=self.clock,
            min_confidence=config.min_confidence,
            evidence=evidence,
        )
        self.serve(provider, config=config)

    def serve(
        self,
        provider: CompletionProvider | None,
        *,
        config: ProceduralMemoryConfig | None = None,
        unasked: str = "",
    ) -> None:
        """Start the service anew over the same store."""
        self.service = LearnService(
            executions=self.executions,
            proposals=self.proposals,
            config=config or ProceduralMemoryConfig(),
            provider=provider,
            adopt=self.adopt,
            unasked=unasked,
        )

    async def adopt(self) -> None:
        self.adopted += 1
        if self.adoption_fails:
            raise DomainError("disk full")

    async def record(self, *executions: Execution) -> None:
        for execution in executions:
            await self.executions.save(execution, PackedLines(), FileMark(execution.id, 0, 0, ""))

    async def learn(self, *executions: Execution) -> tuple[Learned, ...]:
        await self.record(*executions)
        return (await self.service.learn()).lessons

    async def item(self) -> ApprovalItem:
        (item,) = await self.queue.list(snoozed=True)
        return item

    async def lesson(self) -> Lesson:
        lesson = lesson_of(await self.item())
        assert lesson is not None
        return lesson

    async def decide(self, status: ApprovalStatus) -> None:
        item = await self.item()
        await self.database.write(
            lambda db: self.queue.decide_in(
                db,
                item.id,
                status=status,
                person=Person("terminal"),
                reason="r",
                payload_hash=payload_hash(item),
            )
        )


MakeBench = Callable[..., Bench]


@pytest.fixture
async def make_bench(tmp_path: Path) -> AsyncIterator[MakeBench]:
    database = Database.in_dir(tmp_path)
    await database.open()
    yield lambda *given, **named: Bench(database, *given, **named)
    await database.close()


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    return make_bench()


def push(session: str = "s1", *, option: str = "-u") -> Execution:
    error = "fatal: The current branch retry-fetch has no upstream branch."
    run = Run(session).bash("git push", error, code=128)
    return run.bash(f"git push {option} origin retry-fetch", "ok").done()


async def test_a_new_lesson_waits_for_a_person(bench: Bench) -> None:
    (learned,) = await bench.learn(push())
    assert learned.verdict is LearnVerdict.PROPOSED
    assert (await bench.item()).status is ApprovalStatus.PENDING
    assert (await bench.item()).action_type == "procedural:lesson"
    assert (await bench.item()).id == learned.item_id == item_id((await bench.lesson()).key)
    assert (await bench.item()).metadata["recurrence"] == "1"
    assert (await bench.item()).risk_level is RiskLevel.LOW


async def test_a_lesson_that_overrides_something_is_risky(bench: Bench) -> None:
    managed = "error: externally-managed-environment\nhint: pass --break-system-packages"
    run = Run().bash("pip install tides", managed, code=1)
    await bench.learn(run.bash("pip install --break-system-packages tides").done())
    assert (await bench.item()).risk_level is RiskLevel.HIGH


async def test_the_same_mistake_in_two_runs_is_one_item_with_both(bench: Bench) -> None:
    (learned,) = await bench.learn(push("s1"), push("s2"))
    assert learned.recurrence == 2
    assert {each.execution for each in (await bench.lesson()).evidence} == {
        "claude_code:s1",
        "claude_code:s2",
    }


async def test_a_waiting_lesson_seen_again_gains_evidence(bench: Bench) -> None:
    (first,) = await bench.learn(push("s1"))
    (again,) = await bench.learn(push("s2"))
    assert (first.verdict, again.verdict) == (LearnVerdict.PROPOSED, LearnVerdict.SEEN_AGAIN)
    assert again.confidence > first.confidence
    assert (await bench.item()).metadata["recurrence"] == "2"


async def test_nothing_new_changes_nothing(bench: Bench) -> None:
    await bench.learn(push())
    before = await bench.item()
    (again,) = await bench.learn()
    assert again.verdict is LearnVerdict.KNOWN
    assert await bench.item() == before


async def test_a_rejected_lesson_is_left_alone_whatever_comes(bench: Bench) -> None:
    await bench.learn(push("s1"))
    await bench.decide(ApprovalStatus.REJECTED)
    before = await bench.item()
    (again,) = await bench.learn(push("s2"))
    assert again.verdict is LearnVerdict.REJECTED
    assert await bench.item() == before


async def test_an_adopted_lesson_seen_again_gives_its_evidence_to_the_skill(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as desk:
        bench = Bench(desk.backend.core.database, evidence=desk.parts.evidence)
        (proposed,) = await bench.learn(push("s1"))
        await desk.approve(proposed.item_id)
        (again,) = await bench.learn(push("s2"))
        (skill,) = await desk.ledger.active()
    assert again.verdict is LearnVerdict.ADOPTED
    assert skill.recurrence == 2


async def test_an_approved_lesson_without_a_skill_is_known(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        bench = Bench(desk.backend.core.database, evidence=desk.parts.evidence)
        await bench.learn(push("s1"))
        await bench.decide(ApprovalStatus.APPROVED)
        (again,) = await bench.learn(push("s2"))
        assert await desk.ledger.active() == ()
    assert again.verdict is LearnVerdict.KNOWN


async def test_an_expired_lesson_waits_again_only_with_new_evidence(bench: Bench) -> None:
    await bench.learn(push("s1"))
    bench.clock.advance(days=EXPIRES.days + 1)
    (same,) = await bench.learn()
    assert (same.verdict, (await bench.item()).status) == (
        LearnVerdict.KNOWN,
        ApprovalStatus.EXPIRED,
    )
    (again,) = await bench.learn(push("s2"))
    assert (again.verdict, (await bench.item()).status) == (
        LearnVerdict.SEEN_AGAIN,
        ApprovalStatus.PENDING,
    )


@pytest.mark.parametrize(
    ("least", "verdict"), [(0.7, LearnVerdict.PROPOSED), (0.71, LearnVerdict.UNCERTAIN)]
)
async def test_an_uncertain_lesson_is_not_proposed(
    make_bench: MakeBench, least: float, verdict: LearnVerdict
) -> None:
    bench = make_bench(config=ProceduralMemoryConfig(min_confidence=least))
    (learned,) = await bench.learn(push())
    assert learned.verdict is verdict
    assert len(await bench.queue.list()) == (verdict is LearnVerdict.PROPOSED)


async def test_an_unremarkable_run_gives_no_proposal(bench: Bench) -> None:
    assert await bench.learn(Run().look().bash("make", "ok").done()) == ()
    assert await bench.queue.list() == ()


async def test_only_runs_that_ended_since_then_are_looked_at(bench: Bench) -> None:
    await bench.record(push())
    ended = START + timedelta(hours=1)
    assert (await bench.service.learn(since=ended + timedelta(seconds=1))).executions == 0
    assert (await bench.service.learn(since=ended)).executions == 1


async def test_what_was_imported_is_learnt_without_the_model(make_bench: MakeBench) -> None:
    provider = ScriptedProvider()
    bench = make_bench(provider)
    await bench.record(build("s1"), push("s2"))
    report = await bench.service.learn_from(["claude_code:s1", "gone"])
    assert (report.executions, report.count(LearnVerdict.PROPOSED)) == (1, 1)
    assert provider.asked == []


WHY = "`npm run build` needs `vite`, which was not there."
ANSWER = json.dumps({"reasoning": "The packages were missing.", "why": WHY})


def build(session: str = "s1") -> Execution:
    """A run of whose lesson code can't say the cause."""
    run = Run(session).bash("npm run build", "sh: 1: vite: not found", code=127)
    return run.bash("npm install").bash("npm run build", "ok").done()


async def test_the_models_words_are_kept_in_the_item_and_asked_for_once(
    make_bench: MakeBench,
) -> None:
    provider = ScriptedProvider(ANSWER)
    bench = make_bench(provider)
    (learned,) = await bench.learn(build())
    lesson = await bench.lesson()
    assert lesson.suggested is not None
    assert lesson.suggested.rationale == lesson.proposal.rationale == WHY
    assert learned.worded == ("rationale",)
    assert {f for f, author in lesson.authors.items() if author is Author.MODEL} == {"rationale"}
    await bench.learn()
    assert len(provider.asked) == 1


async def test_what_is_refused_of_a_models_words_is_told(make_bench: MakeBench) -> None:
    bench = make_bench(ScriptedProvider('{"why": "It needs `yarn install` because of vite."}'))
    (learned,) = await bench.learn(build())
    assert learned.worded == ()
    assert learned.refused == ("why has `yarn install`, which the evidence doesn't",)


async def test_a_lesson_that_needs_no_model_costs_none(make_bench: MakeBench) -> None:
    provider = ScriptedProvider()
    (learned,) = await make_bench(provider).learn(push())
    assert (learned.worded, learned.refused, learned.seconds) == ((), (), 0.0)
    assert provider.asked == []


async def test_evidence_that_comes_while_the_model_writes_is_not_lost(
    make_bench: MakeBench,
) -> None:
    bench = make_bench()

    class Interrupted(ScriptedProvider):
        async def complete(
            self, messages: Sequence[ChatMessage], options: CompletionOptions
        ) -> Completion:
            await bench.proposals.submit(bench.service.capture(build("s2"))[0])
            return await super().complete(messages, options)

    bench.serve(Interrupted(ANSWER))
    await bench.learn(build("s1"))
    lesson = await bench.lesson()
    assert lesson.recurrence == 2
    assert lesson.suggested is not None
    assert lesson.proposal.confidence == lesson.grounded.confidence


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"run_seconds": 1e-6}, "1 lesson left to the next run: a run may take 1e-06 seconds"),
        ({"run_tokens": 1}, "1 lesson left to the next run: a run may take 1 tokens"),
    ],
)
async def test_what_a_run_may_cost_is_kept_and_the_rest_is_asked_by_the_next(
    make_bench: MakeBench, limits: dict[str, float], why: str
) -> None:
    class Counting(ScriptedProvider):
        async def complete(
            self, messages: Sequence[ChatMessage], options: CompletionOptions
        ) -> Completion:
            answer = await super().complete(messages, options)
            return answer.model_copy(update={"usage": TokenUsage(completion_tokens=9)})

    provider = Counting(ANSWER, ANSWER)
    config = ProceduralMemoryConfig()
    bench = make_bench(provider, config=config.model_copy(update=limits))
    other = Run("s2").bash("make docs", "sphinx-build: not found", code=127)
    await bench.record(build("s1"), other.bash("make setup").bash("make docs", "ok").done())
    report = await bench.service.learn()
    asked = len(provider.asked)
    assert asked == ("run_tokens" in limits)
    assert report.notes == (why.replace("1 lesson ", "2 lessons ") if not asked else why,)
    bench.serve(provider)
    assert (await bench.service.learn()).notes == ()
    assert len(provider.asked) == 2


async def test_a_model_that_is_too_small_is_not_asked_and_the_report_says_so(
    make_bench: MakeBench,
) -> None:
    provider = ScriptedProvider()
    bench = make_bench(provider)
    bench.serve(provider, unasked="tiny is too small to word lessons")
    await bench.record(build())
    report = await bench.service.learn()
    assert provider.asked == []
    assert report.notes == ("tiny is too small to word lessons",)
    assert (await bench.service.learn(word=False)).notes == ()


@pytest.mark.parametrize("error", [REFUSED, BUSY, OSError("gone"), ValueError("?")])
async def test_a_failing_model_is_a_warning_and_the_lesson_stays(
    make_bench: MakeBench, error: Exception
) -> None:
    bench = make_bench(ScriptedProvider(error))
    await bench.record(build())
    report = await bench.service.learn()
    assert report.count(LearnVerdict.PROPOSED) == 1
    assert len(report.warnings) == 1
    assert set((await bench.lesson()).authors.values()) == {Author.EVIDENCE}


async def test_a_model_that_refuses_is_not_asked_again_in_the_same_run(
    make_bench: MakeBench,
) -> None:
    provider = ScriptedProvider(REFUSED)
    bench = make_bench(provider)
    other = Run("s2").bash("make docs", "sphinx-build: not found", code=127)
    await bench.record(build("s1"), other.bash("make setup").bash("make docs", "ok").done())
    report = await bench.service.learn()
    assert len(report.lessons) == 2
    assert len(provider.asked) == 1


async def test_a_run_that_can_not_be_understood_is_a_warning(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = push("s0")
    real = bench.service.capture

    def capture(execution: Execution) -> object:
        if execution.id == broken.id:
            raise RuntimeError("odd")
        return real(execution)

    monkeypatch.setattr(bench.service, "capture", capture)
    await bench.record(broken, push("s1"))
    report = await bench.service.learn()
    assert report.count(LearnVerdict.PROPOSED) == 1
    assert report.warnings == ("claude_code:s0 can't be understood: RuntimeError",)


async def test_learning_can_be_cancelled_and_keeps_what_it_found(bench: Bench) -> None:
    cancel = threading.Event()
    await bench.record(push("s1"), push("s2"))
    seen: list[LearnProgress] = []

    def progress(step: LearnProgress) -> None:
        seen.append(step)
        if step.done == 1:
            cancel.set()

    report = await bench.service.learn(progress=progress, cancel=cancel)
    assert report.cancelled
    assert report.executions <= 2
    assert seen[0] == LearnProgress("reading", 0, 2)


async def test_what_needs_no_person_is_adopted_after_something_was_proposed(bench: Bench) -> None:
    await bench.learn(push("s1"))
    await bench.learn()
    assert bench.adopted == 1


async def test_failing_to_adopt_is_a_warning(bench: Bench) -> None:
    bench.adoption_fails = True
    await bench.record(push())
    report = await bench.service.learn()
    assert report.warnings == ("nothing was adopted: disk full",)


async def test_how_work_was_checked_is_a_lesson_once_two_sessions_did_so(bench: Bench) -> None:
    first, again = (
        Run(f"p{n}").bash("ruff check", "ok").bash("pytest", "ok").bash("git push").done()
        for n in range(2)
    )
    await bench.record(first)
    assert (await bench.service.learn()).count(LearnVerdict.PROPOSED) == 0
    await bench.record(again)
    report = await bench.service.learn_from([again.id])
    assert report.count(LearnVerdict.PROPOSED) == 1
