"""What each picture of the overview says, in one line of words with exact numbers and units.

The screen shows the words beside the picture, and the command prints them: whoever can't see a
picture misses nothing. Numbers only; names of projects, agents and models stay with who draws them.
"""

from dataclasses import dataclass

from synthorg_tui.core.text import counted, size
from synthorg_tui.figures.models import (
    ActivityDay,
    FigureSpan,
    HintOutcome,
    LessonFigures,
    StoreFigures,
    TimeScale,
)

_MOMENTS = {"before": "before a call", "after": "after a failure"}


@dataclass(frozen=True, slots=True)
class FigureTopic:
    """A topic of the overview: what it says in words, and its counts over time, none without."""

    key: str
    title: str
    words: str
    counts: tuple[int, ...] = ()


def topics(figures: StoreFigures) -> tuple[FigureTopic, ...]:
    """Return all topics in the order in which they are shown."""
    digests, hints = figures.digests, figures.hints
    hinted = tuple(sum(pair) for pair in zip(hints.before.counts, hints.after.counts, strict=True))
    decided = tuple(
        sum(pair)
        for pair in zip(
            figures.approvals.approved.counts, figures.approvals.rejected.counts, strict=True
        )
    )
    tokens = _added([use.tokens.counts for use in figures.models.uses], figures.scale)
    lessons = _added([lesson.given.counts for lesson in figures.lessons], figures.scale)
    return (
        FigureTopic("memories", "Memories", memory_words(figures), figures.memories.added.counts),
        FigureTopic("digests", "Digests", digest_words(figures), digests.hits.counts),
        FigureTopic("hints", "Hints", hint_words(figures), hinted),
        FigureTopic("lessons", "Lessons", lesson_words(figures), lessons),
        FigureTopic("models", "Models", model_words(figures), tokens),
        FigureTopic("approvals", "Approvals", approval_words(figures), decided),
        FigureTopic("health", "Health", health_words(figures)),
        FigureTopic("sizes", "Sizes", size_words(figures)),
        FigureTopic("jobs", "Jobs", job_words(figures)),
    )


def _added(rows: list[tuple[int, ...]], scale: TimeScale) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True))) if rows else (0,) * len(scale.starts)


def span_words(scale: TimeScale) -> str:
    """Return the span with its first day: ``30 days, since 4 Nov 2026``."""
    day = scale.starts[0]
    return f"{scale.span.words}, since {day.day} {day:%b %Y}"


def share(part: int, whole: int) -> str:
    """Return a part in percent; without a whole, a dash. Only all of it is 100 %."""
    if not whole:
        return "–"
    percent = round(100 * part / whole)
    if part not in (0, whole):
        percent = min(max(percent, 1), 99)
    return f"{percent} %"


def short_count(count: float) -> str:
    """Return a number in at most five characters: ``812``, ``1.4k``, ``23M``."""
    for unit in ("", "k", "M", "G"):
        if count < 999.5 or unit == "G":
            return f"{count:.1f}{unit}" if unit and count < 9.95 else f"{count:.0f}{unit}"
        count /= 1000
    raise AssertionError("unreachable")


def money(cost: float) -> str:
    """Return a cost in the currency of the prices, to the hundredth or to its first digit."""
    if 0 < cost < 0.01:
        return "under 0.01"
    return f"{cost:,.2f}"


def memory_words(figures: StoreFigures) -> str:
    """Return how many memories there are, and how many are of the span."""
    found = figures.memories
    archived = f" · {found.archived:,} archived" if found.archived else ""
    span = figures.scale.span
    new = "" if span is FigureSpan.ALL else f" · {found.added.total:,} in {span.words}"
    return f"{found.live:,} live{new}{archived}"


def digest_words(figures: StoreFigures) -> str:
    """Return how many digests were asked for, and how many had memories."""
    found = figures.digests
    if not found.total:
        return "none was asked for"
    failed = f", {found.failed.total:,} failed" if found.failed.total else ""
    hits = share(found.hits.total, found.total)
    return f"{found.total:,} asked · {hits} had memories, {found.misses.total:,} none{failed}"


def digest_cost_words(figures: StoreFigures) -> str:
    """Return how long digests took, and how long they were."""
    found = figures.digests
    answered = found.hits.total + found.misses.total
    each = round(found.tokens / answered) if answered else 0
    return f"{found.p50:.0f} ms, 95 % in {found.p95:.0f} ms · {each:,} tokens each"


def hint_words(figures: StoreFigures) -> str:
    """Return how many hints were given at which moment."""
    found = figures.hints
    if not found.before.total + found.after.total:
        return "none was given"
    return f"{found.before.total:,} before a call · {found.after.total:,} after a failure"


def outcome_words(outcome: HintOutcome) -> str:
    """Return what became of the calls with a lesson as a hint."""
    return (
        f"{outcome.given:,} {_MOMENTS[outcome.how]}: {outcome.clean:,} without failure · "
        f"{outcome.again:,} failed after · {outcome.earlier:,} had failed · "
        f"{outcome.unknown:,} not known"
    )


def lesson_words(figures: StoreFigures) -> str:
    """Return how many skills are in force, and how often their failure came again."""
    lessons = figures.lessons
    if not lessons:
        return "no skill is in force"
    had, failed = sum(each.had for each in lessons), sum(each.had_failed for each in lessons)
    given = sum(each.given.total for each in lessons)
    again = f" · failed again in {failed:,} of {counted(had, 'session')}" if had else ""
    return f"{len(lessons):,} in force, given {given:,}×{again}"


def failure_words(lesson: LessonFigures) -> str:
    """Return in how many sessions a lesson's failure came again, with it and without."""
    if not lesson.had + lesson.lacked:
        return "not run since"
    with_it = f"{lesson.had_failed:,}/{lesson.had:,} with"
    return f"{with_it}, {lesson.lacked_failed:,}/{lesson.lacked:,} without"


def model_words(figures: StoreFigures) -> str:
    """Return what language models were used for, and what agents were given."""
    uses, given = figures.models.uses, sum(each.total for each in figures.models.given)
    handed = f"{given:,} given to agents"
    if not uses:
        return f"no model answered · {given:,} tokens given to agents"
    tokens = sum(use.tokens.total for use in uses)
    answers = sum(use.answers for use in uses)
    cost = f", cost {money(total)}" if (total := sum(use.cost for use in uses)) else ""
    return f"{tokens:,} tokens, {counted(answers, 'answer')}{cost} · {handed}"


def approval_words(figures: StoreFigures) -> str:
    """Return what waits and what was decided."""
    found = figures.approvals
    wait = "waits" if found.waiting == 1 else "wait"
    snoozed = f", {found.snoozed:,} snoozed" if found.snoozed else ""
    return (
        f"{found.waiting:,} {wait}{snoozed} · {found.approved.total:,} approved, "
        f"{found.rejected.total:,} rejected"
    )


def health_words(figures: StoreFigures) -> str:
    """Return what isn't in order, or that all is."""
    wrong = [mark for mark in figures.health if not mark.ok]
    if not wrong:
        return "all quick checks are in order"
    return f"{len(wrong)} of {len(figures.health)} to look at: {'; '.join(m.name for m in wrong)}"


def size_words(figures: StoreFigures) -> str:
    """Return what the store takes on disk."""
    found = figures.sizes
    return (
        f"database {size(found.database)} · index {size(found.index)} · "
        f"{counted(found.backup_count, 'backup')} {size(found.backups)}"
    )


def job_words(figures: StoreFigures) -> str:
    """Return how many jobs there are, run, and failed last."""
    on = [job for job in figures.jobs if not job.is_off]
    running = sum(job.is_running for job in on)
    failed = sum(job.states[-1:] == ("failed",) for job in figures.jobs)
    runs = f" · {running:,} running" if running else ""
    return f"{counted(len(on), 'job')}{runs} · {f'{failed:,} failed' if failed else 'none failed'}"


def activity_words(figures: StoreFigures) -> str:
    """Return how much agents did in the weeks of the calendar, and on which day the most."""
    days = figures.days
    if not days:
        return "no session in a year"
    sessions, calls = sum(day.sessions for day in days), sum(day.calls for day in days)
    most = max(days, key=lambda each: (each.calls, each.sessions))
    return (
        f"{counted(sessions, 'session')}, {counted(calls, 'call')} in a year · "
        f"most on {most.day.day} {most.day:%b %Y}: {counted(most.calls, 'call')}"
    )


def day_counts(day: ActivityDay) -> str:
    """Return the numbers of one day."""
    return f"{counted(day.sessions, 'session')}, {counted(day.calls, 'call')}"
