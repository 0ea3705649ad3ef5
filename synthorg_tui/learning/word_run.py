"""One run of wording: pending lessons are shown to a model, until what a run may cost is spent.

A lesson is asked about once. What isn't reached in time, or is cancelled, keeps code's words and
is asked about by the next run.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.text import counted
from synthorg_tui.curation.models import Lesson
from synthorg_tui.learning.models import Learned, LearnRun
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.proposer import WordingCancelledError
from synthorg_tui.learning.wording import ProceduralMemoryProposer, worded_fields
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import CompletionProvider

_MAX_BUSY = 2
"""After so many lessons in a row that the model was too busy for, the others aren't tried."""


class LessonWording:
    """Words pending lessons with a model, within the seconds and tokens of one run.

    Args:
        proposals: Where the lessons wait.
        config: What one lesson and one run may cost.
        provider: The model.
    """

    def __init__(
        self,
        proposals: LessonProposals,
        config: ProceduralMemoryConfig,
        provider: CompletionProvider | None,
    ) -> None:
        self._proposals = proposals
        self._config = config
        self._proposer = ProceduralMemoryProposer(config, provider)

    async def word_all(
        self, run: LearnRun, lessons: Sequence[Lesson], learned: Sequence[Learned]
    ) -> list[Learned]:
        """Return the lessons again, with what the model wrote; failures are warnings of the run."""
        done: list[Learned] = []
        spent = _Spent(self._config)
        busy = 0
        for place, (lesson, known) in enumerate(zip(lessons, learned, strict=False)):
            run.show("wording", place, len(learned))
            if run.is_cancelled or busy >= _MAX_BUSY:
                break
            if spent.why:
                run.tell(
                    f"{counted(len(learned) - place, 'lesson')} left to the next run: {spent.why}"
                )
                break
            try:
                done.append(await self._word(lesson.key, known, run, spent))
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

    async def _word(self, key: str, known: Learned, run: LearnRun, spent: "_Spent") -> Learned:
        """Have the model word a pending lesson that it wasn't asked about yet.

        Raises ``CompletionError`` and ``WordingCancelledError``.
        """
        lesson = await self._proposals.unworded(key)
        if lesson is None:
            return known
        worded = await self._proposer.propose(lesson, cancel=run.cancel, seconds=spent.seconds_left)
        if worded is None:
            return known
        spent.tokens += worded.took.tokens
        if not worded.took.is_complete and spent.seconds_left <= 0:
            return known  # the run ended it, not the lesson
        if not await self._proposals.put_worded(worded.lesson):
            return known
        return replace(
            known,
            worded=tuple(worded_fields(worded.lesson, lesson)),
            refused=tuple(worded.lesson.refused.values()),
            seconds=round(worded.took.seconds, 1),
        )


class _Spent:
    """What a run has cost so far, against what it may."""

    def __init__(self, config: ProceduralMemoryConfig) -> None:
        self._config = config
        self._ends = time.monotonic() + config.run_seconds
        self.tokens = 0

    @property
    def seconds_left(self) -> float:
        return self._ends - time.monotonic()

    @property
    def why(self) -> str:
        """Why no further lesson is begun; empty while one may be."""
        if self.seconds_left <= 0:
            return f"a run may take {self._config.run_seconds:g} seconds"
        is_over = self.tokens >= self._config.run_tokens
        return f"a run may take {self._config.run_tokens:,} tokens" if is_over else ""
