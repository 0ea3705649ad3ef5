"""Lines of the Models screen: the embedders as a table, and what the figures of one come to.

Pure functions of a report; no Textual, and nothing of the engine at start.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.text import counted
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.lines import Line, keys_line, line, one_line
from synthorg_tui.tui.models.adapter import ChosenModel

if TYPE_CHECKING:
    from synthorg_tui.memory.evaluation.report import (
        ComparisonReport,
        EmbedderFigures,
        QuestionSet,
        SetFigures,
    )

WIDE: Final = 100
"""Columns from which on a row has what an embedder takes, too."""
_FIGURE: Final = 11
_LABEL: Final = 22
_MEGABYTE: Final = 1_000_000


def model_rows(
    chosen: Sequence[ChosenModel], report: "ComparisonReport | None", shown: str, width: int
) -> list[tuple[object, Line]]:
    """Return the rows of what is tried, with the figures on the set of questions in view."""
    heads = ("R@10", "NDCG@10", "MRR", "GAIN")
    more = ("NONSENSE", "SLOWEST", "MEMORY") if width >= WIDE else ()
    room = max(12, width - 1 - (len(heads) + len(more)) * (_FIGURE + 1))
    head = line(("Embedder".ljust(room), "muted"))
    for name in (*heads, *more):
        head.add(f" {name:>{_FIGURE}}", "muted")
    rows: list[tuple[object, Line]] = [(None, head)]
    known = {each.name: each for each in report.embedders} if report is not None else {}
    for each in chosen:
        figures = None if each.is_file else known.get(each.name)
        rows.append((each, _row(each, figures, shown, room, bool(more))))
    return rows


def _row(
    chosen: ChosenModel, figures: "EmbedderFigures | None", shown: str, room: int, wide: bool
) -> Line:
    mark = ("● ", "good") if chosen.is_active else ("  ", "text")
    row = line(mark, (one_line(chosen.name), "strong" if chosen.is_active else "text")).fit(room)
    if chosen.is_file:
        return row.add("  conversations that are asked about", "muted")
    if figures is None:
        return row.add("  not tried yet", "faint")
    if figures.problem:
        return row.add(f"  {one_line(figures.problem)}", "bad")
    of_set = figures.of(shown)
    if of_set is None:
        return row.add("  not reached", "faint")
    return _with_figures(row, figures, of_set, wide)


def _with_figures(row: Line, figures: "EmbedderFigures", of_set: "SetFigures", wide: bool) -> Line:
    from synthorg_tui.memory.evaluation.wording import spread

    given = of_set.overall.fused
    for interval in (given.recall_10, given.ndcg_10, given.mrr):
        row.add(f" {spread(interval):>{_FIGURE}}", "text")
    text, role = _gain(of_set)
    row.add(f" {text:>{_FIGURE}}", role)
    if wide:
        memory = figures.memory
        taken = "elsewhere" if memory is None else f"{memory / _MEGABYTE:,.0f} MB"
        for cell in (f"{of_set.rejected:.0%}", f"{of_set.p95_ms:,.0f} ms", taken):
            row.add(f" {cell:>{_FIGURE}}", "muted")
    return row


def _gain(of_set: "SetFigures") -> tuple[str, str]:
    """The gain on the active embedder, in words where it may be noise."""
    if of_set.gain is None:
        return "active", "muted"
    gain = of_set.gain.ndcg_10
    if not gain.excludes_zero:
        return f"{gain.mean:+.3f} ~", "muted"
    return f"{gain.mean:+.3f}", "good" if gain.mean > 0 else "bad"


def report_lines(report: "ComparisonReport", shown: str, chosen: ChosenModel | None) -> list[Line]:
    """Return what was asked, the advice, and the figures of the embedder under the cursor."""
    asked = next((each for each in report.sets if each.name == shown), None)
    figures = next((e for e in report.embedders if chosen and e.name == chosen.name), None)
    of_set = figures.of(shown) if figures is not None else None
    compared: list[Line] = []
    if figures is not None and of_set is not None and asked is not None and asked.questions:
        compared = [Line(), *_figure_lines(figures, of_set)]
    stopped = line(("It was stopped: what has no figures wasn't tried.", "warn"))
    return [
        *(_set_lines(report, asked) if asked is not None else []),
        *([] if report.is_complete else [Line(), stopped]),
        *_sentences("What to do", report.advice, "text"),
        *compared,
        *_sentences("What limits the figures", report.notes, "muted"),
        Line(),
        *_legend(),
    ]


def _sentences(title: str, sentences: Sequence[str], role: str) -> list[Line]:
    """Sentences under a title; nothing without any."""
    told = [_hanging(sentence, role) for sentence in sentences]
    return [Line(), line((title, "title")), *told] if told else []


def _set_lines(report: "ComparisonReport", asked: "QuestionSet") -> list[Line]:
    from synthorg_tui.memory.evaluation.wording import set_words

    title = line((one_line(asked.name), "title"))
    if len(report.sets) > 1:
        at = [each.name for each in report.sets].index(asked.name) + 1
        title.add(f"  {at} of {len(report.sets)}; ", "muted")
        title.add(key_of("models.view"), "accent").add(" shows the next", "muted")
    lines = [title, _hanging(set_words(asked), "text")]
    if not asked.questions:
        lines.append(_hanging(_NO_QUESTIONS, "warn"))
    return lines


_NO_QUESTIONS: Final = (
    "Nothing was recorded yet that could be asked. Questions come from saved scenarios, from "
    "searches of agents whose hit they opened, from failures that were put right, from approved "
    "lessons, and from pins."
)


def _figure_lines(figures: "EmbedderFigures", of_set: "SetFigures") -> list[Line]:
    from synthorg_tui.memory.evaluation import wording

    head = "".join(f"{name:>{_FIGURE + 1}}" for name in ("R@10", "NDCG@10", "MRR", "BY MEANING"))
    tasks = [
        line((f"{name}, {task.questions:,}".ljust(_LABEL), "text"), (spreads, "text"))
        for task in of_set.tasks
        for name in [task.task.value if task.task is not None else "all"]
        for given in [
            (task.fused.recall_10, task.fused.ndcg_10, task.fused.mrr, task.dense.recall_10)
        ]
        for spreads in ["".join(f" {wording.spread(each):>{_FIGURE}}" for each in given)]
    ]
    reordered = f"; {figures.pairs_per_second:,.0f} memories a second reordered"
    taken = (
        f"a digest takes {of_set.p50_ms:,.0f} ms, one in twenty {of_set.p95_ms:,.0f} ms; "
        f"{figures.texts_per_second:,.0f} texts a second, loaded in {figures.load_seconds:.1f} s"
        f"{reordered if figures.reranker else ''}"
    )
    silent = (
        f"something is given for {of_set.answered:.0%} of the questions, nothing for "
        f"{of_set.rejected:.0%} of nonsense"
    )
    gain = f"NDCG@10 {wording.gain_words(of_set)} on the active one" if of_set.gain else ""
    return [
        line((one_line(figures.name), "title")),
        line((" " * _LABEL, "text"), (head, "muted")),
        *tasks,
        *(_hanging(told, "muted") for told in (taken, silent, gain) if told),
    ]


def _legend() -> list[Line]:
    from synthorg_tui.memory.evaluation.wording import LEGEND

    return [_hanging(f"{LEGEND} ~ stands for that.", "faint")]


def _hanging(text: str, role: str) -> Line:
    return line((f"  {text}", role), hang=2)


def untried_lines(chosen: Sequence[ChosenModel]) -> list[Line]:
    """Return what trying would do, before anything was tried."""
    models = sum(not each.is_file for each in chosen)
    return [
        line(("Nothing was tried yet", "title")),
        _hanging(
            "Every embedder gets a sample of your memories in its own place, and is asked what "
            "was recorded: saved scenarios and pins, searches of agents whose hit they opened, "
            "failures that were put right, approved lessons. Your store isn't touched.",
            "text",
        ),
        Line(),
        keys_line((f" {key_of('models.run')}", f"tries {counted(models, 'embedder')}; minutes")),
        keys_line((f" {key_of('models.add')}", "adds one, a re-ranker, or a LoCoMo file")),
    ]


def plain_report(report: "ComparisonReport") -> str:
    """Return the tables of a report as text, for the clipboard."""
    from synthorg_tui.memory.evaluation import wording

    parts: list[str] = []
    for asked in report.sets:
        rows = [row.cells for row in wording.found_rows(report, asked.name)]
        parts += [f"{asked.name}: {wording.set_words(asked)}", *_tabbed(wording.FOUND_HEADER, rows)]
    parts += _tabbed(wording.TAKEN_HEADER, wording.taken_rows(report))
    return "\n".join([*parts, *report.advice, *report.notes])


def _tabbed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["\t".join(cells) for cells in (header, *rows)]
