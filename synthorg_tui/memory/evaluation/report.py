"""What a comparison of embedders found: plain data, shown as tables and written as JSON."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from synthorg_tui.core.types import FrozenModel
from synthorg_tui.memory.evaluation.metrics import (
    Interval,
    mean_interval,
    ndcg_at,
    paired_difference,
    recall_at,
    reciprocal_rank,
)
from synthorg_tui.memory.evaluation.questions import RecallTask

FEW_QUESTIONS: Final = 30
"""Questions below which figures say little: one answer more or less is a third of a tenth."""
DEPTH: Final = 20
"""Places of a ranking that are looked at."""


class RankingFigures(FrozenModel):
    """How well answers are found in a ranking; figures are means over the questions, 0 to 1."""

    recall_5: float
    recall_10: Interval
    recall_20: float
    ndcg_10: Interval
    mrr: Interval


class TaskFigures(FrozenModel):
    """The figures of the questions of one task, of all where ``task`` is ``None``.

    ``dense`` is by meaning alone, ``fused`` is what agents are given.
    """

    task: RecallTask | None
    questions: int
    dense: RankingFigures
    fused: RankingFigures


class FigureGain(FrozenModel):
    """By how much what agents are given is better than with the active embedder."""

    recall_10: Interval
    ndcg_10: Interval
    mrr: Interval


class SetFigures(FrozenModel):
    """What an embedder does on one set of questions.

    ``tasks`` has all questions first. The times are of a digest, in milliseconds. ``answered`` is
    the share of questions to which an agent is given anything, ``rejected`` that of nonsense to
    which it is given nothing. ``gain`` is missing for the active embedder.
    """

    name: str
    tasks: tuple[TaskFigures, ...]
    p50_ms: float
    p95_ms: float
    answered: float
    rejected: float
    gain: FigureGain | None = None

    @property
    def overall(self) -> TaskFigures:
        """The figures of all questions."""
        return self.tasks[0]


class EmbedderFigures(FrozenModel):
    """What an embedder takes and does; ``problem`` says why it has no figures, mostly empty.

    ``name`` describes its configuration, ``reranker`` what reorders what it finds, mostly nothing.
    ``memory`` is in bytes while both are loaded, ``None`` of a model that runs elsewhere;
    ``pairs_per_second`` is how many memories the re-ranker reads with a question.
    """

    name: str
    is_active: bool
    reranker: str = ""
    problem: str = ""
    fingerprint: str = ""
    dims: int = 0
    load_seconds: float = 0.0
    texts_per_second: float = 0.0
    pairs_per_second: float = 0.0
    memory: int | None = None
    sets: tuple[SetFigures, ...] = ()

    def of(self, name: str) -> SetFigures | None:
        """The figures on the set of this name, ``None`` where it wasn't reached."""
        return next((each for each in self.sets if each.name == name), None)


class QuestionSet(FrozenModel):
    """What was asked, and among how many memories.

    ``memories`` of ``memories_total`` and ``questions`` of ``questions_found`` were taken; of
    ``gone`` questions no answer is live any more.
    """

    name: str
    memories: int
    memories_total: int
    questions: int
    questions_found: int
    gone: int
    by_source: Mapping[str, int]
    by_task: Mapping[str, int]

    @property
    def is_small(self) -> bool:
        """Whether there are too few questions to choose by."""
        return self.questions < FEW_QUESTIONS


class ComparisonReport(FrozenModel):
    """The embedders side by side, the active one first.

    ``notes`` say what limits the figures, ``advice`` what they come to. ``is_complete`` is false
    when it was stopped before the end.
    """

    sets: tuple[QuestionSet, ...]
    embedders: tuple[EmbedderFigures, ...]
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    seconds: float = 0.0
    is_complete: bool = True


class AskedQuestion(NamedTuple):
    """A question with the ids that were found by meaning alone, and those that agents are given.

    Rankings have ``DEPTH`` places at most. ``seconds`` is how long an agent would have waited.
    """

    relevant: frozenset[str]
    task: RecallTask
    dense: tuple[str, ...]
    fused: tuple[str, ...]
    seconds: float


def task_figures(answers: Sequence[AskedQuestion]) -> tuple[TaskFigures, ...]:
    """Return the figures of all answers, then of each task that has any."""
    parts: list[tuple[RecallTask | None, list[AskedQuestion]]] = [(None, list(answers))]
    parts += [(task, [each for each in answers if each.task is task]) for task in RecallTask]
    return tuple(
        TaskFigures(
            task=task,
            questions=len(part),
            dense=_ranking([(each.dense, each.relevant) for each in part]),
            fused=_ranking([(each.fused, each.relevant) for each in part]),
        )
        for task, part in parts
        if part or task is None
    )


def gain_of(answers: Sequence[AskedQuestion], base: Sequence[AskedQuestion]) -> FigureGain:
    """Return by how much ``answers`` are better than ``base``, those to the same questions."""
    pairs = [([(each.fused, each.relevant) for each in some]) for some in (answers, base)]
    recalls, ndcgs, ranks = (
        paired_difference(*([figure(*each) for each in some] for some in pairs))
        for figure in (_recall_10, _ndcg_10, reciprocal_rank)
    )
    return FigureGain(recall_10=recalls, ndcg_10=ndcgs, mrr=ranks)


def _ranking(answers: Sequence[tuple[tuple[str, ...], frozenset[str]]]) -> RankingFigures:
    count = max(1, len(answers))
    return RankingFigures(
        recall_5=sum(recall_at(ranked, relevant, 5) for ranked, relevant in answers) / count,
        recall_10=mean_interval([_recall_10(*each) for each in answers]),
        recall_20=sum(recall_at(ranked, relevant, DEPTH) for ranked, relevant in answers) / count,
        ndcg_10=mean_interval([_ndcg_10(*each) for each in answers]),
        mrr=mean_interval([reciprocal_rank(*each) for each in answers]),
    )


_recall_10 = partial(recall_at, k=10)
_ndcg_10 = partial(ndcg_at, k=10)
