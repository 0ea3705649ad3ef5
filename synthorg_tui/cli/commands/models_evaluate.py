"""``models evaluate``: tries embedders side by side on the memories that are here."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Argument, path, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import BLANK, Answer, Block, Line, Note, Parts, Table, View
from synthorg_tui.cli.records import Json, fields, shaped

if TYPE_CHECKING:
    from synthorg_tui.memory.evaluation.comparing import ComparisonPlan
    from synthorg_tui.memory.evaluation.metrics import Interval
    from synthorg_tui.memory.evaluation.report import (
        ComparisonReport,
        RankingFigures,
        SetFigures,
    )


_RANKED = ("recall_10", "ndcg_10", "mrr")


def _bound(name: str, most: int, usual: int, told: str) -> Argument:
    return Argument(
        name, type=whole(1, most), default=usual, metavar="N", help=f"{told} (default {usual})"
    )


@Command(
    "evaluate",
    "try embedding models and re-rankers side by side on your memories",
    more="It asks what was recorded:\nscenarios, searches whose hit was opened, failures that "
    "were put right, approved\nlessons and pins. Your store isn't touched.",
    examples=(
        "models evaluate",
        "models evaluate --embedder gguf:path=~/models/some.gguf,pooling=cls",
        "models evaluate --reranker onnx:path=~/models/cross/model.onnx",
        "models evaluate --locomo conversations.json --only-files --json",
    ),
    arguments=(
        Argument(
            "--embedder",
            action="append",
            default=[],
            metavar="NAME",
            help="another one, besides the active and the bundled: its type, and fields after a "
            "colon",
        ),
        Argument(
            "--reranker",
            action="append",
            default=[],
            metavar="NAME",
            help="what reorders the findings of the active one, as onnx:path=FILE",
        ),
        Argument(
            "--locomo",
            action="append",
            default=[],
            type=path,
            metavar="FILE",
            help="ask about the conversations of this file, too",
        ),
        Argument("--only-files", action="store_true", help="leave your own memories out of it"),
        _bound("--limit", 10_000, 300, "questions at most of each place"),
        _bound("--memories", 100_000, 5_000, "memories at most"),
        _bound("--minutes", 1_440, 10, "to embed with one model; fewer memories then"),
    ),
).runs
async def evaluate(context: Context) -> Answer:
    """Compare embedders; returns 1 when one doesn't work, ``CANCELLED`` when stopped, else 0."""
    plan = _plan(context)
    _ask_before_sending(plan)
    async with context.engine() as engine:
        with context.working() as job:
            report = await engine.comparison.run(
                plan,
                progress=lambda done, total, told: job.show(f"{done / total:.0%} {told}"),
                cancel=job.requested,
            )
    code = int(any(each.problem for each in report.embedders)) if report.is_complete else CANCELLED
    return Answer(
        {
            "complete": report.is_complete,
            "seconds": round(report.seconds, 1),
            "sets": [each.model_dump(mode="json") for each in report.sets],
            "embedders": [
                {
                    **fields(each, "name active=is_active reranker problem fingerprint dims"),
                    "load_seconds": round(each.load_seconds, 2),
                    "texts_per_second": round(each.texts_per_second, 1),
                    "pairs_per_second": round(each.pairs_per_second, 1),
                    "memory_bytes": each.memory,
                    "sets": shaped(each.sets, _set_shape),
                }
                for each in report.embedders
            ],
            **fields(report, "notes advice"),
        },
        _view(report),
        code,
    )


def _view(report: "ComparisonReport") -> View:
    """The tables of a report, what limits them, and what they come to."""
    from synthorg_tui.memory.evaluation import wording

    stopped = "It was stopped: what isn't in the tables wasn't tried."
    return (
        [
            (
                Line(f"{asked.name}: {wording.set_words(asked)}", "bold"),
                bool(rows and asked.questions)
                and Table(wording.FOUND_HEADER, [row.cells for row in rows]),
                BLANK,
            )
            for asked in report.sets
            for rows in [wording.found_rows(report, asked.name)]
        ],
        Table(wording.TAKEN_HEADER, wording.taken_rows(report)),
        [Parts([("FAIL", "red"), (problem,)]) for problem in wording.problems(report)],
        BLANK,
        map(Block, report.advice),
        Note(*report.notes),
        any(asked.questions for asked in report.sets) and Note(wording.LEGEND),
        not report.is_complete and Note(stopped),
    )


def _plan(context: Context) -> "ComparisonPlan":
    from synthorg_tui.memory.evaluation.comparing import ComparisonPlan
    from synthorg_tui.memory.evaluation.contenders import parse_embedder, parse_reranker

    args = context.args
    if args.only_files and not args.locomo:
        raise UsageError("there is nothing to ask about", remedy="Add --locomo FILE.")
    for named in args.embedder:
        parse_embedder(named)
    for named in args.reranker:
        parse_reranker(named)
    return ComparisonPlan(
        embedders=tuple(args.embedder),
        rerankers=tuple(args.reranker),
        files=tuple(file.absolute() for file in args.locomo),
        with_own=not args.only_files,
        questions=args.limit,
        memories=args.memories,
        minutes=args.minutes,
    )


def _ask_before_sending(plan: "ComparisonPlan") -> None:
    """Have the person agree at the terminal before memories leave this machine."""
    from synthorg_tui.cli.terminal import controlling_terminal
    from synthorg_tui.memory.evaluation.contenders import parse_embedder, sends_to

    named = map(parse_embedder, plan.embedders)
    hosts = sorted({host for config in named if (host := sends_to(config))})
    if hosts and plan.with_own:
        with controlling_terminal() as terminal:
            terminal.agree(f"Send up to {plan.memories:,} of your memories to {', '.join(hosts)}?")


def _set_shape(figures: "SetFigures") -> Json:
    gain = figures.gain
    return {
        "name": figures.name,
        "p50_ms": round(figures.p50_ms, 1),
        "p95_ms": round(figures.p95_ms, 1),
        "answered": round(figures.answered, 4),
        "nonsense_rejected": round(figures.rejected, 4),
        "gain": gain and {name: _interval(getattr(gain, name)) for name in _RANKED},
        "tasks": [
            {
                "task": task.task.value if task.task is not None else "all",
                "questions": task.questions,
                "given": _ranking_shape(task.fused),
                "by_meaning": _ranking_shape(task.dense),
            }
            for task in figures.tasks
        ],
    }


def _ranking_shape(figures: "RankingFigures") -> Json:
    return {
        "recall_5": round(figures.recall_5, 4),
        **{name: _interval(getattr(figures, name)) for name in _RANKED},
        "recall_20": round(figures.recall_20, 4),
    }


def _interval(interval: "Interval") -> Json:
    return {name: round(getattr(interval, name), 4) for name in ("mean", "low", "high")}
