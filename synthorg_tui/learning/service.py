"""Learning from recorded executions: one pass reads, draws lessons, proposes and words them.

In the end the policy may approve what needs no person. What a lesson is, is for ``capture`` and
``drafting``; what becomes of its item for ``proposals``. A pass can be cancelled at any time, and
what it has proposed by then stays.
"""

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.curation.models import Author, Lesson
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.captured import Captured
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.models import (
    Adopt,
    Learned,
    LearnProgress,
    LearnReport,
    LearnVerdict,
    ProgressSink,
)
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.recipes import find_recipe
from synthorg_tui.learning.wording import ProceduralMemoryProposer, WordingCancelledError
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import CompletionProvider

_log = logging.getLogger(__name__)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_MAX_BUSY = 2
"""After so many lessons in a row that the model was too busy for, the others aren't tried."""


class LearnService:
    """Draws lessons from executions and proposes them to a person.

    Args:
        executions: The recorded runs.
        proposals: Where lessons wait for a person.
        config: Says which lessons to draw, and how they are worded.
        provider: The model that words lessons; without one they stay as code wrote them.
        adopt: Called after something was proposed, to approve what needs no person.
    """

    def __init__(
        self,
        *,
        executions: ExecutionStore,
        proposals: LessonProposals,
        config: ProceduralMemoryConfig,
        provider: CompletionProvider | None = None,
        adopt: Adopt | None = None,
    ) -> None:
        self._executions = executions
        self._proposals = proposals
        self._adopt = adopt
        self._has_model = provider is not None
        self._proposer = ProceduralMemoryProposer(config, provider)
        self._strategy = create_capture_strategy(config.capture)
        self._qualities: dict[str, float | None] = {}
        self._one_at_a_time = asyncio.Lock()

    async def learn(
        self,
        *,
        since: datetime | None = None,
        word: bool = True,
        progress: ProgressSink | None = None,
        cancel: threading.Event | None = None,
    ) -> LearnReport:
        """Learn from every execution, or those that ended at or after ``since``.

        New lessons are worded by the model unless ``word`` is false. Failures of the model and runs
        that can't be understood are warnings in the report. ``cancel`` stops it early; what was
        proposed by then stays. Raises what the stores raise.
        """
        ids = await self._executions.ids()
        run = _LearnRun(progress, cancel or threading.Event())
        async with self._one_at_a_time:
            return await self._learn(run, ids, since=since, word=word and self._has_model)

    async def learn_from(
        self, ids: Sequence[str], *, cancel: threading.Event | None = None
    ) -> LearnReport:
        """Learn from the executions with these ids, without a model; otherwise as ``learn``."""
        run = _LearnRun(None, cancel or threading.Event())
        async with self._one_at_a_time:
            return await self._learn(run, ids, since=None, word=False)

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return the lessons of one run, and record its quality for comparison with other runs."""
        self._qualities[execution.id] = _quality(execution)
        return self._strategy.capture(execution)

    async def _learn(
        self, run: "_LearnRun", ids: Sequence[str], *, since: datetime | None, word: bool
    ) -> LearnReport:
        captured = await self._outstanding(_together(await self._read(run, ids, since)))
        learned: list[Learned] = []
        for capture in captured:
            if run.is_cancelled:
                break
            learned.append(await self._proposals.submit(capture.lesson))
        if word:
            learned = await self._word_all(run, captured, learned)
        await self._adopt_new(run, learned)
        return run.report(learned)

    async def _read(
        self, run: "_LearnRun", ids: Sequence[str], since: datetime | None
    ) -> list[Captured]:
        captured: list[Captured] = []
        for place, execution_id in enumerate(ids):
            if run.is_cancelled:
                break
            run.show("reading", place, len(ids))
            execution = await self._executions.get(execution_id)
            if execution is None or _is_before(execution, since):
                continue
            run.executions += 1
            try:
                captured += await asyncio.to_thread(self.capture, execution)
            except Exception as error:
                raise_fatal(error)
                _log.exception("can't learn from %s", execution_id)
                run.warnings.append(f"{execution_id} can't be understood: {type(error).__name__}")
        run.show("reading", len(ids), len(ids))
        return captured

    async def _outstanding(self, captured: Sequence[Captured]) -> list[Captured]:
        """Those that are worth a lesson next to all other runs."""
        if any(capture.quality is not None for capture in captured):
            await self._judge_others()
        return [
            capture
            for capture in captured
            if self._strategy.stands_out(capture, self._other_qualities(capture))
        ]

    async def _judge_others(self) -> None:
        for execution_id in await self._executions.ids():
            if execution_id in self._qualities:
                continue
            if execution := await self._executions.get(execution_id):
                self._qualities[execution_id] = await asyncio.to_thread(_quality, execution)

    def _other_qualities(self, capture: Captured) -> list[float]:
        own = {evidence.execution for evidence in capture.lesson.evidence}
        return [
            quality
            for execution_id, quality in self._qualities.items()
            if quality is not None and execution_id not in own
        ]

    async def _word_all(
        self, run: "_LearnRun", captured: list[Captured], learned: list[Learned]
    ) -> list[Learned]:
        """The lessons again, with the fields that the model wrote."""
        done: list[Learned] = []
        busy = 0
        for place, (capture, known) in enumerate(zip(captured, learned, strict=False)):
            run.show("wording", place, len(learned))
            if run.is_cancelled or busy >= _MAX_BUSY:
                break
            try:
                fields = await self._word(capture, run.cancel)
                done.append(replace(known, worded=fields))
                busy = 0
            except WordingCancelledError:
                break
            except CompletionError as error:
                run.warn(f"the model failed: {error.message}")
                done.append(known)
                busy = busy + 1 if error.retryable else _MAX_BUSY
            except Exception as error:
                raise_fatal(error)
                run.warn(f"the model failed unexpectedly ({type(error).__name__})")
                done.append(known)
                busy = _MAX_BUSY
        run.show("wording", len(learned), len(learned))
        return [*done, *learned[len(done) :]]

    async def _word(self, captured: Captured, cancel: threading.Event) -> tuple[str, ...]:
        """Have the model word a pending lesson that it wasn't asked for yet; the fields it wrote.

        Raises ``CompletionError`` and ``WordingCancelledError``.
        """
        lesson = await self._proposals.unworded(captured.lesson.key)
        if lesson is None:
            return ()
        worded = await self._proposer.propose(captured.payload, lesson, cancel=cancel)
        if worded is None or not await self._proposals.put_worded(worded):
            return ()
        return tuple(
            field
            for field, author in worded.authors.items()
            if author is Author.MODEL and lesson.authors.get(field) is not Author.MODEL
        )

    async def _adopt_new(self, run: "_LearnRun", learned: Iterable[Learned]) -> None:
        """Have approved what needs no person, when there is anything new."""
        new = (LearnVerdict.PROPOSED, LearnVerdict.SEEN_AGAIN)
        if self._adopt is None or not any(lesson.verdict in new for lesson in learned):
            return
        try:
            await self._adopt()
        except DomainError as error:
            run.warn(f"nothing was adopted: {error.message}")


@dataclass(slots=True)
class _LearnRun:
    """One run of learning: who watches it, whether it shall stop, and what went wrong."""

    progress: ProgressSink | None
    cancel: threading.Event
    executions: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def is_cancelled(self) -> bool:
        return self.cancel.is_set()

    def show(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(LearnProgress(stage, done, total))

    def warn(self, text: str) -> None:
        _log.warning("%s", text)
        self.warnings.append(text)

    def report(self, learned: Sequence[Learned]) -> LearnReport:
        return LearnReport(
            self.executions, tuple(learned), tuple(self.warnings), cancelled=self.is_cancelled
        )


def _together(captured: Iterable[Captured]) -> list[Captured]:
    """Each lesson once with all its evidence: as the most certain run taught it, else the first."""
    ordered = sorted(
        captured,
        key=lambda capture: (
            capture.lesson.source is Author.REPORTED,
            -capture.lesson.proposal.confidence,
            _first_seen(capture.lesson),
        ),
    )
    lessons: dict[str, Captured] = {}
    for capture in ordered:
        key = capture.lesson.key
        known = lessons.setdefault(key, capture)
        if known is not capture:
            lessons[key] = replace(known, lesson=merged(known.lesson, capture.lesson))
    return list(lessons.values())


def _quality(execution: Execution) -> float | None:
    """How good a run was as a measure for others; a reported one, which may be made up, is none."""
    recipe = None if execution.is_reported else find_recipe(execution)
    return recipe.quality if recipe else None


def _first_seen(lesson: Lesson) -> datetime:
    return min((evidence.at for evidence in lesson.evidence if evidence.at), default=_LONG_AGO)


def _is_before(execution: Execution, since: datetime | None) -> bool:
    at = execution.ended_at or execution.started_at
    return since is not None and (at is None or at < since)
