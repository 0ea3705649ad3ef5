"""``overview``: the figures of the whole store over a span of time, as the screen draws them.

Pictures are made of characters that say the same without colours; ``--json`` has the numbers.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import BLANK, Answer, Line, Parts, Table, View, local_time
from synthorg_tui.cli.records import plain
from synthorg_tui.figures.models import FigureSpan

if TYPE_CHECKING:
    from synthorg_tui.figures.models import Series, StoreFigures

_CELLS: Final = 24
"""Cells of a picture over time."""
_MAX_LISTED: Final = 12
"""Projects, lessons, models and agents that are listed; ``--json`` has all."""


_SPANS: Final = [span.value for span in FigureSpan]


@Command(
    "overview",
    more="What the app's Overview draws, printed; days are those of this machine's zone.",
    examples=("overview", "overview --since 1y", "overview --since all --json"),
    arguments=(
        Argument(
            "--since",
            choices=_SPANS,
            default=FigureSpan.MONTH.value,
            metavar="SPAN",
            help=f"{', '.join(_SPANS)} (default: {FigureSpan.MONTH})",
        ),
    ),
).asks
async def overview(context: Context, engine: AnyEngine) -> Answer:
    """Print the figures."""
    now = datetime.now().astimezone()
    figures = await engine.figures.read(FigureSpan(context.args.since), now)
    return Answer(plain(asdict(figures)), _view(figures))


def _view(figures: "StoreFigures") -> View:
    from synthorg_tui.figures.wording import activity_words, span_words, topics

    unit = figures.scale.unit
    return (
        Line(f"Overview of {span_words(figures.scale)}; a column is a {unit}.", "bold"),
        BLANK,
        Parts([("Activity ".ljust(10), "cyan"), (activity_words(figures),)], separator=" "),
        [
            Parts([(topic.title.ljust(10), "cyan"), (drawn, "dim"), (topic.words,)], separator=" ")
            for topic in topics(figures)
            for drawn in [_drawn(topic.counts) if any(topic.counts) else ""]
        ],
        _memories(figures),
        _lessons(figures),
        _models(figures),
        _state(figures),
    )


def _drawn(counts: Sequence[int]) -> str:
    from synthorg_tui.figures.drawing import columns

    return columns(counts, min(len(counts), _CELLS))[0]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> View:
    more = f"and {len(rows) - _MAX_LISTED:,} more; --json has all"
    return bool(rows) and (
        BLANK,
        Table(header, rows[:_MAX_LISTED]),
        len(rows) > _MAX_LISTED and Line(more, "dim"),
    )


def _memories(figures: "StoreFigures") -> View:
    from synthorg_tui.core.projects import project_names

    found = figures.memories
    named = project_names([series.name for series in found.projects if series.name])
    projects = [
        (named.get(series.name, "of no project"), *_over_time(series)) for series in found.projects
    ]
    kinds = [(series.name, *_over_time(series)) for series in found.kinds]
    return (
        _table(("project", "memories", "over time"), projects),
        _table(("kind", "memories", "over time"), kinds),
    )


def _lessons(figures: "StoreFigures") -> View:
    from synthorg_tui.figures.wording import failure_words, outcome_words

    given = [outcome for outcome in figures.hints.outcomes if outcome.given]
    lessons = [
        (each.name, *_over_time(each.given), failure_words(each)) for each in figures.lessons
    ]
    return (
        bool(given) and (BLANK, [f"Lessons as hints: {outcome_words(each)}" for each in given]),
        _table(("skill", "given", "over time", "its failure in sessions since"), lessons),
    )


def _models(figures: "StoreFigures") -> View:
    from synthorg_tui.figures.wording import money

    uses = [
        (
            use.model,
            use.agent or "the program",
            f"{use.answers:,}",
            f"{use.prompt_tokens:,}",
            f"{use.completion_tokens:,}",
            money(use.cost),
            _drawn(use.tokens.counts),
        )
        for use in figures.models.uses
    ]
    given = [(series.name, *_over_time(series)) for series in figures.models.given]
    return (
        _table(("model", "for", "answers", "read", "written", "cost", "tokens over time"), uses),
        _table(("agent", "tokens given", "over time"), given),
    )


def _state(figures: "StoreFigures") -> View:
    health = [("ok" if mark.ok else "look", mark.name, mark.told) for mark in figures.health]
    jobs = [
        (
            job.name,
            "running" if job.is_running else (*job.states, "off" if job.is_off else "–")[-1],
            local_time(job.ended_at) or "–",
            job.idle or job.told,
        )
        for job in figures.jobs
    ]
    return (
        _table(("health", "of", "what was found"), health),
        _table(("job", "last run", "ended", "what came of it"), jobs),
    )


def _over_time(series: "Series", total: str = "") -> tuple[str, str]:
    return total or f"{series.total:,}", _drawn(series.counts)
