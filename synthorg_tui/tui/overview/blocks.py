"""The lines of the overview's blocks: pictures with exact numbers beside them, and their ways.

Nothing here knows widgets. A picture never stands alone: its block says in words what it says, and
it is told by height, length or density, so that it reads without colours.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from synthorg_tui.core.projects import project_names
from synthorg_tui.core.text import has_hidden, size
from synthorg_tui.figures import wording
from synthorg_tui.figures.drawing import LABEL_CELLS, SHADES, columns, month_labels, stacked
from synthorg_tui.figures.models import FigureSpan
from synthorg_tui.memory.listing import owner_words
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago
from synthorg_tui.tui.base.lines import Line, beside, line, one_line, wrap
from synthorg_tui.tui.overview.ways import WayTo, calls_way, memories_way

if TYPE_CHECKING:
    from synthorg_tui.figures.drawing import CalendarRow
    from synthorg_tui.figures.models import HintOutcome, JobFigures, ModelUse, Series, StoreFigures

Rows: TypeAlias = list[tuple[object, Line]]
"""Lines with the way that each leads; those without one are passed over by the cursor."""

_NAME_CELLS: Final = 16
_TOTAL_CELLS: Final = 7
_LESSON_CELLS: Final = 13
"""Least room for a lesson's name and how often it was given."""
_PICTURE_ROWS: Final = 2
_MAX_ROWS: Final = 20
_PARTS: Final = "█▓▒░"
_STATES: Final = {
    "done": ("✓", "good"),
    "nothing": ("·", "faint"),
    "failed": ("✗", "bad"),
    "cancelled": ("–", "warn"),
    "interrupted": ("!", "warn"),
}
_SHADE_ROLES: Final = ("track", "muted", "accent", "accent", "strong")
TITLES: Final = {
    "summary": "In short",
    "calendar": "Activity",
    "memories": "Memories by project",
    "kinds": "Memories by kind",
    "digests": "Digests",
    "hints": "Hints",
    "lessons": "Lessons",
    "models": "Tokens",
    "approvals": "Approvals",
    "health": "Health and sizes",
    "jobs": "Jobs",
}
"""The blocks in their order, with their titles."""


def span_line(figures: "StoreFigures | None", span: FigureSpan) -> Line:
    """The spans, the present one in brackets, and when it begins."""
    spans = [
        (f"[{each}]", "strong") if each is span else (f" {each} ", "muted") for each in FigureSpan
    ]
    shown = line((" Overview  ", "title"), *spans)
    if figures is not None and figures.scale.span is span:
        shown.add(f"  {wording.span_words(figures.scale)}", "text")
        shown.add(f" · by {figures.scale.unit}", "muted")
    return shown


def block_rows(name: str, figures: "StoreFigures", width: int, now: datetime) -> Rows:
    """Return the lines of a block, by its name in ``TITLES``; not those of the calendar."""
    makers = {
        "summary": summary_rows,
        "memories": project_rows,
        "kinds": kind_rows,
        "digests": digest_rows,
        "hints": hint_rows,
        "lessons": lesson_rows,
        "models": model_rows,
        "approvals": approval_rows,
        "health": health_rows,
    }
    if name == "jobs":
        return job_rows(figures, width, now)
    return makers[name](figures, width)


def words_rows(words: str, width: int, way: WayTo | None) -> Rows:
    """A block's sentence in as many rows as it takes; the cursor stands on the first."""
    first, *others = wrap(line((words, "strong")), max(width - 1, 1))
    return [(way, first), *((None, each) for each in others)]


def picture(counts: Sequence[int], width: int, role: str) -> Rows:
    """Columns of two rows over the block's width."""
    return [(None, line((row, role))) for row in columns(counts, width - 1, _PICTURE_ROWS)]


def count_row(name: str, counts: Sequence[int], total: str, width: int, role: str) -> Line:
    """A name, its counts over time as small columns, and the total at the right."""
    room = min(max(width * 2 // 5, 8), _NAME_CELLS if width < 60 else 2 * _NAME_CELLS)
    cells = max(width - room - max(_TOTAL_CELLS, len(total)) - 3, 0)
    small = columns(counts, cells)[0] if cells > 3 else ""
    left = line((one_line(name), "text")).fit(room).extend(line((f" {small}", role)))
    return beside(left, line((total, "strong")), width - 1)


def summary_rows(figures: "StoreFigures", width: int) -> Rows:
    """A row for each topic: its columns and its words."""
    ways: dict[str, WayTo | None] = {
        "memories": memories_way(figures.scale.since),
        "digests": calls_way("digest", "digest"),
        "hints": calls_way("hint"),
        "lessons": WayTo("skills"),
        "models": WayTo("activity"),
        "approvals": WayTo("approvals", "waiting"),
        "health": WayTo("doctor"),
        "sizes": WayTo("backups"),
        "jobs": WayTo("jobs"),
    }
    cells = 12 if width >= 60 else 0
    return [
        (
            ways[topic.key],
            line(
                (f"{topic.title:<10}", "title"),
                (f"{small:<{cells}} ", "accent"),
                (topic.words, "text"),
            ),
        )
        for topic in wording.topics(figures)
        for small in [columns(topic.counts, cells)[0] if topic.counts and cells else ""]
    ]


def project_rows(figures: "StoreFigures", width: int) -> Rows:
    """The live memories over time, and the projects with the most."""
    found, since = figures.memories, figures.scale.since
    named = project_names([series.name for series in found.projects if series.name])
    return [
        *words_rows(wording.memory_words(figures), width, memories_way(since)),
        *picture(found.added.counts, width, "accent"),
        *(
            (
                memories_way(since, "project:", series.name),
                _series_line(named.get(series.name, "of no project"), series, width, "accent"),
            )
            for series in found.projects[:_MAX_ROWS]
        ),
        *_more(len(found.projects)),
    ]


def _series_line(name: str, series: "Series", width: int, role: str) -> Line:
    return count_row(name, series.counts, f"{series.total:,}", width, role)


def _more(count: int) -> Rows:
    if count <= _MAX_ROWS:
        return []
    return [(None, line((f"and {count - _MAX_ROWS:,} more", "faint")))]


def kind_rows(figures: "StoreFigures", width: int) -> Rows:
    """The kinds of live memories over time."""
    since, total, kinds = figures.scale.since, figures.memories.added.total, figures.memories.kinds
    words = f"{len(kinds)} kinds in the span" if kinds else "none in the span"
    return [
        *words_rows(words, width, memories_way(since)),
        *(
            (
                memories_way(since, "kind:", series.name),
                count_row(
                    series.name,
                    series.counts,
                    f"{series.total:,} {wording.share(series.total, total):>5}",
                    width,
                    "cat-semantic",
                ),
            )
            for series in kinds
        ),
    ]


def digest_rows(figures: "StoreFigures", width: int) -> Rows:
    """Digests with memories and without, and what they took."""
    found, way = figures.digests, calls_way("digest", "digest")
    rows = words_rows(wording.digest_words(figures), width, way)
    if not found.total:
        return [*rows, _hint(f"{key_of('app.connect')} connects an agent, which asks for them")]
    kinds = (
        ("with memories", found.hits, "good"),
        ("nothing fitted", found.misses, "warn"),
        ("failed", found.failed, "bad"),
    )
    return [
        *rows,
        *picture(found.hits.counts, width, "good"),
        *((way, _series_line(name, series, width, role)) for name, series, role in kinds),
        _hint(wording.digest_cost_words(figures)),
    ]


def _hint(words: str) -> tuple[object, Line]:
    return None, line((words, "muted"))


def hint_rows(figures: "StoreFigures", width: int) -> Rows:
    """Hints before and after calls, and what became of those from lessons."""
    found = figures.hints
    rows = words_rows(wording.hint_words(figures), width, calls_way("hint"))
    if not found.before.total + found.after.total + sum(each.given for each in found.outcomes):
        return [*rows, _hint("approved lessons come up at calls")]
    moments = (
        ("before a call", found.before, "before_action"),
        ("after a failure", found.after, "after_failure"),
    )
    return [
        *rows,
        *(
            (calls_way("hint", call), _series_line(name, series, width, "accent"))
            for name, series, call in moments
        ),
        *(row for each in found.outcomes if each.given for row in _outcome_rows(each, width)),
    ]


def _outcome_rows(outcome: "HintOutcome", width: int) -> Rows:
    """What became of hints as a bar of four parts, and what each part is."""
    parts = (
        (outcome.clean, "without failure", "good"),
        (outcome.again, "failed after", "bad"),
        (outcome.earlier, "had failed", "warn"),
        (outcome.unknown, "not known", "muted"),
    )
    cells = stacked(tuple(count for count, _, _ in parts), width - 1)
    drawn, legend = Line(), Line()
    for (count, name, role), mark, room in zip(parts, _PARTS, cells, strict=True):
        drawn.add(mark * room, role)
        if count:
            whole = f"{mark} {count:,} {name}".replace(" ", "\u00a0")  # so that it isn't broken
            legend.add(whole, role).add("  ")
    told = line((f"lessons {outcome.how} {outcome.given:,} calls:", "text"))
    return [(None, told), (None, drawn), *((None, each) for each in wrap(legend, width - 1))]


def lesson_rows(figures: "StoreFigures", width: int) -> Rows:
    """The skills in force: when they were given, and whether their failure came again."""
    rows = words_rows(wording.lesson_words(figures), width, WayTo("skills"))
    shown = [(each, wording.failure_words(each)) for each in figures.lessons[:_MAX_ROWS]]
    if not shown:
        return [*rows, _hint(f"{key_of('app.approvals')} has the lessons that wait for you")]
    room = max(width - max(len(told) for _, told in shown) - 3, _LESSON_CELLS)
    return [
        *rows,
        *(
            (
                WayTo("skills", each.name),
                count_row(
                    each.name, each.given.counts, f"{each.given.total:,}×", room, "cat-procedural"
                ).add(f" {told}", "warn" if each.had_failed else "muted"),
            )
            for each, told in shown
        ),
        *_more(len(figures.lessons)),
    ]


def model_rows(figures: "StoreFigures", width: int) -> Rows:
    """Language models with tokens and cost, and what agents were given."""
    found = figures.models
    none = _hint(f"{key_of('app.settings')}: providers.completion names one")
    for_whom = [(use.agent or "the program", use) for use in found.uses]
    return [
        *words_rows(wording.model_words(figures), width, WayTo("activity")),
        *([] if found.uses else [none]),
        *_use_rows([(use.model, use) for use in found.uses], width, lambda _: WayTo("settings")),
        *(
            [_title("answered for, in tokens"), *_use_rows(for_whom, width, calls_way_of)]
            if any(use.agent for use in found.uses)
            else []
        ),
        *([_title("given to agents, in tokens")] if found.given else []),
        *(
            (
                calls_way_of(series.name),
                count_row(
                    owner_words(series.name),
                    series.counts,
                    wording.short_count(series.total),
                    width,
                    "cat-social",
                ),
            )
            for series in found.given[:_MAX_ROWS]
        ),
    ]


def _title(words: str) -> tuple[object, Line]:
    return None, line((words, "title"))


def _use_rows(
    uses: "Sequence[tuple[str, ModelUse]]", width: int, way: Callable[[str], WayTo]
) -> Rows:
    """Tokens and cost by the names that uses are given, those with the most first."""
    by_name: dict[str, list[ModelUse]] = {}
    for name, use in uses:
        by_name.setdefault(name, []).append(use)
    summed = [
        (name, tuple(map(sum, zip(*(use.tokens.counts for use in found), strict=True))), cost)
        for name, found in by_name.items()
        for cost in [sum(use.cost for use in found)]
    ]
    return [
        (way(name), count_row(name, counts, f"{total}{money}", width, "cat-episodic"))
        for name, counts, cost in sorted(summed, key=lambda row: -sum(row[1]))[:_MAX_ROWS]
        for total in [wording.short_count(sum(counts))]
        for money in [f" {wording.money(cost)}" if cost else ""]
    ]


def calls_way_of(agent: str) -> WayTo:
    """Return the way to an agent's calls."""
    can_be_named = '"' not in agent and one_line(agent) == agent and not has_hidden(agent)
    return WayTo("activity", f'agent:"{agent}"' if can_be_named else "")


def approval_rows(figures: "StoreFigures", width: int) -> Rows:
    """What waits, and what was proposed and decided over time."""
    found = figures.approvals
    views = (
        ("proposed", found.proposed, "accent", "waiting"),
        ("approved", found.approved, "good", "approved"),
        ("rejected", found.rejected, "bad", "rejected"),
    )
    return [
        *words_rows(wording.approval_words(figures), width, WayTo("approvals", "waiting")),
        *(
            (WayTo("approvals", view), _series_line(name, series, width, role))
            for name, series, role, view in views
        ),
    ]


def health_rows(figures: "StoreFigures", width: int) -> Rows:
    """The quick checks, and what takes room on disk."""
    sizes = figures.sizes
    named = (
        ("database", sizes.database, "doctor"),
        ("index", sizes.index, "doctor"),
        (f"backups ({sizes.backup_count:,})", sizes.backups, "backups"),
    )
    most, room = max(count for _, count, _ in named), max(width - 28, 4)
    signs = {True: ("✓ ", "good"), False: ("! ", "warn")}
    return [
        *(
            (
                WayTo(mark.screen),
                line(signs[mark.ok], (f"{mark.name:<8} ", "strong"), (one_line(mark.told), "text")),
            )
            for mark in figures.health
        ),
        *(
            (
                WayTo(place),
                beside(
                    line((f"{name:<14}", "text"), (f"{full:<{room}} ", "cat-episodic")),
                    line((size(count), "strong")),
                    width - 1,
                ),
            )
            for name, count, place in named
            for full in ["█" * (max(round(count * room / most), 1) if count and most else 0)]
        ),
    ]


def job_rows(figures: "StoreFigures", width: int, now: datetime) -> Rows:
    """The jobs, each with how its latest runs ended, the newest at the right."""
    return [
        *words_rows(wording.job_words(figures), width, WayTo("jobs")),
        *((WayTo("jobs"), _job_line(job, width, now)) for job in figures.jobs),
    ]


def _job_line(job: "JobFigures", width: int, now: datetime) -> Line:
    room = min(max(width // 3, 8), _NAME_CELLS)
    space, told = " " if job.states else "", "off" if job.is_off else job.idle
    when = ago(job.ended_at, now) if job.ended_at is not None else ""
    shown = line((job.name, "faint" if job.is_off else "text")).fit(room).add(" ")
    ends = [_STATES.get(state, ("?", "muted")) for state in job.states]
    runs = [(f"{space}▸ runs now", "accent")] if job.is_running else []
    idle = [(f"{space}{told}", "muted")] if told else []
    return beside(shown.extend(line(*ends, *runs, *idle)), line((when, "muted")), width - 1)


def calendar_lines(words: str, rows: "Sequence[CalendarRow]", each: int, here: date | None) -> Rows:
    """The weeks as columns of days, denser with more calls; ``here`` is under the cursor."""
    first, weeks = rows[0].days[0][0], len(rows[0].days)
    months = " " * LABEL_CELLS + month_labels(first, weeks, each)
    made: Rows = [(None, line((words, "strong"))), (None, line((months, "muted")))]
    for weekday, row in enumerate(rows):
        shown = line((f"{row.label:<{LABEL_CELLS}}", "muted"))
        for day, shade in row.days:
            cell = SHADES[shade] * each if shade else f"{SHADES[0]:<{each}}"
            shown.add(cell, "here" if day == here else _SHADE_ROLES[shade])
        made.append((weekday, shown))
    return made
