"""A report of embedders for the pictures of the Models screen, and a management that gives it."""

import asyncio
import threading
from collections.abc import Callable, Sequence

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.evaluation.metrics import Interval
from synthorg_tui.memory.evaluation.questions import RecallTask
from synthorg_tui.memory.evaluation.report import (
    ComparisonReport,
    EmbedderFigures,
    FigureGain,
    QuestionSet,
    RankingFigures,
    SetFigures,
    TaskFigures,
)
from synthorg_tui.tui.models.adapter import ChosenModel
from tests.tui.manage.manage_fakes import FakeManagement

OWN = "your memories"
FILE = "conversations.json"
HOSTILE = "gguf ~/models/b\x1b[31mig\u202e.gguf"
"""A path that somebody else chose."""


def ranking(mean: float, spread: float) -> RankingFigures:
    """Figures around a mean."""
    interval = Interval(mean, mean - spread, mean + spread)
    return RankingFigures(
        recall_5=mean - 0.08, recall_10=interval, recall_20=mean, ndcg_10=interval, mrr=interval
    )


def set_figures(name: str, mean: float, gain: float | None, tasks: Sequence[int]) -> SetFigures:
    """Figures on a set of questions; ``tasks`` are how many there are of each task."""
    counts: list[tuple[RecallTask | None, int]] = [(None, sum(tasks))]
    counts += zip(RecallTask, tasks, strict=False)
    gained = None if gain is None else Interval(gain, gain - 0.015, gain + 0.015)
    return SetFigures(
        name=name,
        tasks=tuple(
            TaskFigures(
                task=task,
                questions=count,
                dense=ranking(mean - 0.12, 0.05),
                fused=ranking(mean - 0.02 * at, 0.03 + 0.01 * at),
            )
            for at, (task, count) in enumerate(counts)
            if count
        ),
        p50_ms=12.0,
        p95_ms=31.0,
        answered=0.96,
        rejected=0.94,
        gain=None if gained is None else FigureGain(recall_10=gained, ndcg_10=gained, mrr=gained),
    )


def embedder(name: str, mean: float, gain: float | None = None) -> EmbedderFigures:
    """An embedder that was tried on both sets."""
    return EmbedderFigures(
        name=name,
        is_active=gain is None,
        fingerprint=name,
        dims=384,
        load_seconds=0.4,
        texts_per_second=142.0,
        memory=153_000_000,
        sets=(
            set_figures(OWN, mean, gain, (61, 34, 17)),
            set_figures(FILE, mean, gain, (0, 0, 0, 300)),
        ),
    )


def report(*, is_complete: bool = True) -> ComparisonReport:
    """Three embedders, one of which doesn't work."""
    return ComparisonReport(
        sets=(
            QuestionSet(
                name=OWN,
                memories=2_400,
                memories_total=8_120,
                questions=112,
                questions_found=115,
                gone=3,
                by_source={"failure": 61, "approval": 34, "search": 12, "pin": 5},
                by_task={"episodic": 61, "procedural": 34, "semantic": 17},
            ),
            QuestionSet(
                name=FILE,
                memories=1_557,
                memories_total=1_557,
                questions=300,
                questions_found=653,
                gone=0,
                by_source={"file": 300},
                by_task={"dialogue": 300},
            ),
        ),
        embedders=(
            embedder("minilm", 0.748),
            embedder("gguf ~/models/e5-small.gguf", 0.801, 0.041),
            EmbedderFigures(name=HOSTILE, is_active=False, problem="it is no GGUF file"),
        ),
        notes=(f"{OWN}: a sample of 2,400 of 8,120 memories; among all of them less is found",),
        advice=(
            "This machine (2 cores, 24 GB, no GPU found) has a processor alone, for models of less "
            "than a billion parameters.",
            f"By {OWN} choose gguf ~/models/e5-small.gguf: NDCG@10 is better by +0.041 "
            "(+0.026 to +0.056) than with minilm.",
        ),
        is_complete=is_complete,
    )


class FakeModels:
    """Answers as ``ModelDesk`` does; ``held`` holds a run until it is set."""

    def __init__(self, *, tried: ComparisonReport | None = None) -> None:
        self.report = tried
        self.answer = tried or report()
        self.error: DomainError | None = None
        self.held: asyncio.Event | None = None
        self.sent_to: tuple[str, ...] = ()
        self.runs = 0
        self.listed = [ChosenModel("minilm", is_active=True)]
        if tried is not None:
            self.listed += [
                ChosenModel("gguf ~/models/e5-small.gguf", "gguf:path=~/models/e5-small.gguf"),
                ChosenModel(HOSTILE, "gguf:path=big"),
                ChosenModel("~/conversations.json", "/home/ada/conversations.json", is_file=True),
            ]

    def chosen(self) -> tuple[ChosenModel, ...]:
        return tuple(self.listed)

    def add(self, text: str) -> None:
        if self.error is not None:
            raise self.error
        self.listed.append(ChosenModel(text, text))

    def remove(self, chosen: ChosenModel) -> None:
        self.listed.remove(chosen)

    def hosts(self) -> tuple[str, ...]:
        return self.sent_to

    async def run(
        self, *, progress: Callable[[int, int, str], None], cancel: threading.Event
    ) -> ComparisonReport:
        self.runs += 1
        progress(412, 1000, "minilm: asking, your memories")
        if self.held is not None:
            await self.held.wait()
        if self.error is not None:
            raise self.error
        self.report = report(is_complete=not cancel.is_set())
        return self.report


class ModelManagement(FakeManagement):
    """A management whose models are ``fake``."""

    def __init__(self, fake: FakeModels) -> None:
        super().__init__()
        self.models = fake  # type: ignore[assignment]
