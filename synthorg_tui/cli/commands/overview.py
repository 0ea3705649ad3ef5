"""``overview``: the figures of the whole store over a span of time, as the screen draws them.

Pictures are made of characters that say the same without colours; ``--json`` has the numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer, Console, local_time
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
    return Answer(_shape(asdict(figures)), lambda console: _show(console, figures))


def _shape(value: Any) -> Any:
    """Dates as ISO 8601; the rest is plain already."""
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shape(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _show(console: Console, figures: "StoreFigures") -> None:
    from synthorg_tui.figures.wording import activity_words, span_words, topics

    unit = figures.scale.unit
    console.line(f"Overview of {span_words(figures.scale)}; a column is a {unit}.", "bold")
    console.line()
    console.parts([("Activity ".ljust(10), "cyan"), (activity_words(figures),)], separator=" ")
    for topic in topics(figures):
        drawn = _drawn(topic.counts) if any(topic.counts) else ""
        parts = [(topic.title.ljust(10), "cyan"), (drawn, "dim"), (topic.words,)]
        console.parts(parts, separator=" ")
    _print_memories(console, figures)
    _print_lessons(console, figures)
    _print_models(console, figures)
    _print_state(console, figures)


def _drawn(counts: Sequence[int]) -> str:
    from synthorg_tui.figures.drawing import columns

    return columns(counts, min(len(counts), _CELLS))[0]


def _table(console: Console, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    listed = list(rows)
    if listed:
        console.line()
        console.table(header, listed[:_MAX_LISTED])
        if len(listed) > _MAX_LISTED:
            console.line(f"and {len(listed) - _MAX_LISTED:,} more; --json has all", "dim")


def _over_time(series: "Series", total: str = "") -> tuple[str, str]:
    return total or f"{series.total:,}", _drawn(series.counts)


def _print_memories(console: Console, figures: "StoreFigures") -> None:
    from synthorg_tui.core.projects import project_names

    found = figures.memories
    named = project_names([series.name for series in found.projects if series.name])
    projects = [
        (named.get(series.name, "of no project"), *_over_time(series)) for series in found.projects
    ]
    _table(console, ("project", "memories", "over time"), projects)
    kinds = [(series.name, *_over_time(series)) for series in found.kinds]
    _table(console, ("kind", "memories", "over time"), kinds)


def _print_lessons(console: Console, figures: "StoreFigures") -> None:
    from synthorg_tui.figures.wording import failure_words, outcome_words

    given = [outcome for outcome in figures.hints.outcomes if outcome.given]
    if given:
        console.line()
    for outcome in given:
        console.line(f"Lessons as hints: {outcome_words(outcome)}")
    lessons = [
        (each.name, *_over_time(each.given), failure_words(each)) for each in figures.lessons
    ]
    _table(console, ("skill", "given", "over time", "its failure in sessions since"), lessons)


def _print_models(console: Console, figures: "StoreFigures") -> None:
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
    _table(
        console, ("model", "for", "answers", "read", "written", "cost", "tokens over time"), uses
    )
    given = [(series.name, *_over_time(series)) for series in figures.models.given]
    _table(console, ("agent", "tokens given", "over time"), given)


def _print_state(console: Console, figures: "StoreFigures") -> None:
    rows = [("ok" if mark.ok else "look", mark.name, mark.told) for mark in figures.health]
    _table(console, ("health", "of", "what was found"), rows)
    jobs = [
        (
            job.name,
            "running" if job.is_running else (*job.states, "off" if job.is_off else "–")[-1],
            local_time(job.ended_at) or "–",
            job.idle or job.told,
        )
        for job in figures.jobs
    ]
    _table(console, ("job", "last run", "ended", "what came of it"), jobs)
