"""A comparison of embedders in words and cells, the same on the command line and on the screen.

A figure never stands without its spread, and the kind of memory it is about is named as memories
are, with LMEB's name for it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from synthorg_tui.core.text import counted
from synthorg_tui.memory.evaluation.metrics import Interval
from synthorg_tui.memory.evaluation.questions import RecallTask
from synthorg_tui.memory.evaluation.report import (
    ComparisonReport,
    EmbedderFigures,
    QuestionSet,
    SetFigures,
    TaskFigures,
)

FOUND_HEADER: Final = ("EMBEDDER", "R@10", "NDCG@10", "MRR", "BY MEANING", "GAIN", "NONSENSE")
TAKEN_HEADER: Final = ("EMBEDDER", "DIGEST", "SLOWEST", "TEXTS/S", "LOADED IN", "MEMORY")
LEGEND: Final = (
    "R@10: share of the answers among the first ten memories that an agent is given; NDCG@10 and "
    "MRR: how far up they are; ± half of the 95 % interval. BY MEANING: R@10 of the embedder "
    "alone. GAIN: of NDCG@10 on the active one, with its interval; one with 0 in it may be noise. "
    "NONSENSE: share for which agents are given nothing."
)
_SOURCES: Final = {
    "scenario": "from scenarios",
    "search": "from searches whose hit was opened",
    "failure": "from failures and what helped",
    "approval": "from approved lessons",
    "pin": "from pins",
    "file": "from the file",
}
_MEGABYTE: Final = 1_000_000


class FoundRow(NamedTuple):
    """A row of what was found: its cells, and whether it is of the active embedder."""

    cells: tuple[str, ...]
    is_active: bool = False


def set_words(asked: QuestionSet) -> str:
    """What was asked, and among what, as a sentence."""
    sources = ", ".join(
        f"{count:,} {_SOURCES.get(source, source)}" for source, count in asked.by_source.items()
    )
    sample = f" of {asked.memories_total:,}" if asked.memories < asked.memories_total else ""
    said = f"{counted(asked.questions, 'question')} among {asked.memories:,}{sample} memories"
    return f"{said}: {sources}" if sources else said


def found_rows(report: ComparisonReport, name: str) -> list[FoundRow]:
    """The rows of one set of questions: each embedder, and below it each kind of memory."""
    rows = []
    for each in report.embedders:
        figures = each.of(name)
        if figures is None:
            continue
        label = f"{each.name} (active)" if each.is_active else each.name
        ranked, nonsense = _ranking_cells(figures.overall), f"{figures.rejected:.0%}"
        cells = (label, *ranked, gain_words(figures), nonsense)
        rows.append(FoundRow(cells, each.is_active))
        tasks = figures.tasks[1:]
        if len(tasks) > 1:
            rows += [FoundRow(_task_cells(task), each.is_active) for task in tasks]
    return rows


def taken_rows(report: ComparisonReport) -> list[tuple[str, ...]]:
    """What each embedder takes; its problem instead, where it doesn't work."""
    return [_taken(each) for each in report.embedders]


def problems(report: ComparisonReport) -> list[str]:
    """Why embedders have no figures, a sentence each."""
    return [f"{each.name}: {each.problem}" for each in report.embedders if each.problem]


def share(value: float) -> str:
    """A figure between 0 and 1 as it is written: ``.748``, ``1.00``."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1.00"


def spread(interval: Interval) -> str:
    """A mean with half of its interval: ``.748 ±.045``."""
    return f"{share(interval.mean)} ±{share(interval.spread)}"


def gain_words(figures: SetFigures) -> str:
    """The gain on the active embedder with its interval; a dash for that one itself."""
    if figures.gain is None:
        return "-"
    gain = figures.gain.ndcg_10
    noise = "" if gain.excludes_zero else " noise"
    return f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}){noise}"


def _task_cells(figures: TaskFigures) -> tuple[str, ...]:
    task = figures.task.value if figures.task is not None else ""
    social = " (social)" if figures.task is RecallTask.DIALOGUE else ""
    return (f"  {task}{social}, {figures.questions:,}", *_ranking_cells(figures), "", "")


def _ranking_cells(figures: TaskFigures) -> Sequence[str]:
    given = figures.fused
    return (
        spread(given.recall_10),
        spread(given.ndcg_10),
        spread(given.mrr),
        spread(figures.dense.recall_10),
    )


def _taken(each: EmbedderFigures) -> tuple[str, ...]:
    if not each.texts_per_second:
        return (each.name, "doesn't work", "", "", "", "")
    waited = each.sets[0] if each.sets else None
    pairs = f" ({each.pairs_per_second:,.0f} reordered)" if each.reranker else ""
    return (
        each.name,
        f"{waited.p50_ms:,.0f} ms" if waited else "",
        f"{waited.p95_ms:,.0f} ms" if waited else "",
        f"{each.texts_per_second:,.0f}{pairs}",
        f"{each.load_seconds:.1f} s",
        "elsewhere" if each.memory is None else f"{each.memory / _MEGABYTE:,.0f} MB",
    )
