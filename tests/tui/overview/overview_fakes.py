"""Figures for the pictures of the overview, and a management that answers with them."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from synthorg_tui.core.errors import DomainError
from synthorg_tui.figures.models import (
    ActivityDay,
    ApprovalFigures,
    DigestFigures,
    FigureSpan,
    HealthMark,
    HintFigures,
    HintOutcome,
    JobFigures,
    LessonFigures,
    MemoryFigures,
    ModelFigures,
    ModelUse,
    Series,
    SizeFigures,
    StoreFigures,
)
from synthorg_tui.figures.scale import CALENDAR_WEEKS, scale_of
from tests.tui.manage.manage_fakes import FakeManagement

HOSTILE = "till\x1b[31m\u202e\nred"
"""A name that somebody else chose."""


def _wave(count: int, most: int, salt: int) -> tuple[int, ...]:
    """Counts that rise and fall, and are sometimes nothing."""
    return tuple(max((at * 7 + salt * 5) % 11 * most // 10 - most // 9, 0) for at in range(count))


def empty_figures(now: datetime, span: FigureSpan = FigureSpan.MONTH) -> StoreFigures:
    """The figures of a store in which nothing happened yet."""
    scale = scale_of(span, now, now)
    none = Series("", (0,) * len(scale.starts))
    return StoreFigures(
        scale=scale,
        made_at=now,
        memories=MemoryFigures(0, 0, none, (), ()),
        digests=DigestFigures(none, none, none, 0.0, 0.0, 0),
        hints=HintFigures(none, none, ()),
        lessons=(),
        models=ModelFigures((), ()),
        approvals=ApprovalFigures(0, 0, none, none, none),
    )


def full_figures(now: datetime, span: FigureSpan = FigureSpan.MONTH) -> StoreFigures:
    """The figures of a store that is in use."""
    scale = scale_of(span, now, now - timedelta(days=700))
    many = len(scale.starts)

    def series(name: str, most: int, salt: int = 0) -> Series:
        return Series(name, _wave(many, most, salt))

    projects = (("/home/ada/shop", 40), (f"/home/ada/{HOSTILE}", 22), ("/srv/yard", 9), ("", 4))
    kinds = (("task", 30), ("commit", 18), ("session", 12), ("recovery", 7), ("lesson", 2))
    lessons = (
        LessonFigures("push-with-upstream", "a", series("a", 9), 5, 1, 6, 4),
        LessonFigures("make-fmt-before-commit", "b", series("b", 6, 2), 8, 0, 3, 1),
        LessonFigures("read-the-lock-file", "c", series("c", 2, 3), 0, 0, 0, 0),
    )
    uses = (
        ModelUse("gpt-small", "", 61, 48_200, 9_120, 71.0, 0.0312, series("m", 9_000)),
        ModelUse("gpt-large", "claude-code", 12, 31_000, 4_400, 40.0, 1.25, series("n", 4_000, 2)),
    )
    by_kind = tuple(series(name, most, at) for at, (name, most) in enumerate(kinds))
    added = tuple(sum(each.counts[at] for each in by_kind) for at in range(many))
    return StoreFigures(
        scale=scale,
        made_at=now,
        memories=MemoryFigures(
            live=12_345,
            archived=210,
            added=Series("added", added),
            projects=tuple(series(name, most, at) for at, (name, most) in enumerate(projects)),
            kinds=by_kind,
        ),
        digests=DigestFigures(
            series("hits", 20), series("misses", 5, 3), series("failed", 1, 4), 84.0, 212.0, 88_000
        ),
        hints=HintFigures(
            series("before", 8, 1),
            series("after", 4, 2),
            (HintOutcome("before", 24, 3, 5, 11), HintOutcome("after", 9, 0, 7, 2)),
        ),
        lessons=lessons,
        models=ModelFigures(uses, (series("claude-code", 9_000, 1), series("codex", 3_000, 5))),
        approvals=ApprovalFigures(3, 1, series("p", 4), series("a", 3, 1), series("r", 1, 2)),
        days=_days(now),
        jobs=_jobs(now),
        sizes=SizeFigures(
            41_300_000, 88_100_000, 120_400_000, 7, now - timedelta(hours=9), 79_000_000_000
        ),
        health=(
            HealthMark("vectors", False, "12 memories without one"),
            HealthMark("jobs", False, "backup failed", "jobs"),
            HealthMark(
                "watches", True, "rules idle: no rules were imported from files yet", "jobs"
            ),
            HealthMark("disk", True, "79.0 GB free"),
            HealthMark("backups", True, "7", "backups"),
        ),
    )


def _days(now: datetime) -> tuple[ActivityDay, ...]:
    days = []
    for back in range(7 * (CALENDAR_WEEKS - 1), -1, -1):
        day = now.date() - timedelta(days=back)
        calls = (back * 37) % 101 - 20 - 30 * (day.weekday() > 4)
        if calls > 0 and back % 90 > 12:
            days.append(ActivityDay(day, 1 + calls // 30, calls * 3))
    return tuple(days)


def _jobs(now: datetime) -> tuple[JobFigures, ...]:
    ended = now - timedelta(hours=2)
    return (
        JobFigures("imports", ("done", "done", "done"), ended, "3 sessions"),
        JobFigures("backup", ("done", "done", "interrupted", "done", "failed"), ended, "disk full"),
        JobFigures("reembedding", ("nothing",), ended, is_running=True),
        JobFigures("rules", (), idle="no rules were imported from files yet"),
        JobFigures("sessions", (), is_off=True),
    )


class FigureManagement(FakeManagement):
    """Answers with ``answer``, made for a span; ``hear`` is what the screen listens with."""

    def __init__(self, answer: Callable[[datetime, FigureSpan], StoreFigures]) -> None:
        super().__init__()
        self.answer = answer
        self.read: list[FigureSpan] = []
        self.hear: Callable[[], None] | None = None
        self.held: asyncio.Event | None = None
        self.figure_error: DomainError | None = None

    async def figures(self, span: FigureSpan, now: datetime) -> StoreFigures:
        self.read.append(span)
        if self.held is not None:
            await self.held.wait()
        if self.figure_error is not None:
            raise self.figure_error
        return self.answer(now, span)

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        if self.figure_error is not None:
            raise self.figure_error
        self.hear = listener

        def end() -> None:
            self.hear = None

        return end


def with_another_digest(now: datetime, span: FigureSpan) -> StoreFigures:
    """The full figures after one more digest was asked for today."""
    figures = full_figures(now, span)
    *before, today = figures.digests.hits.counts
    hits = Series("hits", (*before, today + 1))
    return replace(figures, digests=replace(figures.digests, hits=hits))
