"""The figures of a store over a span of time, as plain data that crosses the wire.

A ``Series`` has a count for each bucket of the scale, the oldest first. Names of projects, agents,
models and lessons are somebody else's text: whoever shows one makes it safe.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


class FigureSpan(StrEnum):
    """How far back the figures go."""

    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"
    YEAR = "1y"
    ALL = "all"

    @property
    def words(self) -> str:
        """The span for people."""
        return _SPAN_WORDS[self]


_SPAN_WORDS = {
    FigureSpan.WEEK: "7 days",
    FigureSpan.MONTH: "30 days",
    FigureSpan.QUARTER: "13 weeks",
    FigureSpan.YEAR: "12 months",
    FigureSpan.ALL: "all time",
}


class BucketUnit(StrEnum):
    """The length of a bucket; weeks begin on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class TimeScale:
    """The buckets of a span: ``starts`` are the first days of each, in the asker's time zone.

    What is older than the first bucket counts into it where the span is all time, and isn't counted
    elsewhere; what is dated after today counts into the last one.
    """

    span: FigureSpan
    unit: BucketUnit
    starts: tuple[date, ...]

    @property
    def since(self) -> date | None:
        """The first day that counts; ``None`` for all time."""
        return None if self.span is FigureSpan.ALL else self.starts[0]


@dataclass(frozen=True, slots=True)
class Series:
    """Counts over time of what has one name; an empty name is that of none."""

    name: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The sum over the span."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """Memories that are live now, by when what they tell happened.

    ``live`` and ``archived`` are of any time; the series are of live ones within the span, projects
    (paths) and kinds with the most first.
    """

    live: int
    archived: int
    added: Series
    projects: tuple[Series, ...]
    kinds: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class DigestFigures:
    """Digests that agents asked for: with memories, without any, and those that failed.

    ``p50`` and ``p95`` are milliseconds to answer, ``tokens`` what all of them held together.
    """

    hits: Series
    misses: Series
    failed: Series
    p50: float
    p95: float
    tokens: int

    @property
    def total(self) -> int:
        """The number of digests."""
        return self.hits.total + self.misses.total + self.failed.total


@dataclass(frozen=True, slots=True)
class HintOutcome:
    """What became of the calls that were given a lesson as a hint, at one moment.

    ``clean`` are those whose session ran what the lesson is about without its failure, ``again``
    those in which it failed after the hint. In ``earlier`` it had failed before, and only the first
    failure is on record. Of ``unknown`` no session was imported that ran it.
    """

    how: str
    clean: int
    again: int
    earlier: int
    unknown: int

    @property
    def given(self) -> int:
        """The number of hints."""
        return self.clean + self.again + self.earlier + self.unknown


@dataclass(frozen=True, slots=True)
class HintFigures:
    """Hints before a call and after one that failed, and what became of those from lessons."""

    before: Series
    after: Series
    outcomes: tuple[HintOutcome, ...]


@dataclass(frozen=True, slots=True)
class LessonFigures:
    """A skill in force: how often agents were given it within the span, and its failure since.

    The numbers of sessions are of any time since its approval, as of the last look at them:
    ``had`` of those that ran what it is about were given it before a failure, ``lacked`` weren't.
    """

    name: str
    path: str
    given: Series
    had: int
    had_failed: int
    lacked: int
    lacked_failed: int


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What one language model was used for by one agent, empty for the program itself.

    ``tokens`` has those read and written in each bucket; ``cost`` is in the currency of the prices.
    """

    model: str
    agent: str
    answers: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float
    tokens: Series


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Language models with the most tokens first, and the tokens that agents were given."""

    uses: tuple[ModelUse, ...]
    given: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class ApprovalFigures:
    """Items that wait now or are snoozed, and those proposed and decided within the span."""

    waiting: int
    snoozed: int
    proposed: Series
    approved: Series
    rejected: Series


@dataclass(frozen=True, slots=True)
class ActivityDay:
    """A day with sessions, by when they ended; ``calls`` are those of their agents' tools."""

    day: date
    sessions: int
    calls: int


@dataclass(frozen=True, slots=True)
class JobFigures:
    """A job: how its latest runs ended, the newest last, and why it does nothing at present."""

    name: str
    states: tuple[str, ...]
    ended_at: datetime | None = None
    told: str = ""
    idle: str = ""
    is_off: bool = False
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """Bytes on disk; ``free`` is ``None`` where the system doesn't say."""

    database: int
    index: int
    backups: int
    backup_count: int
    newest_backup: datetime | None
    free: int | None


@dataclass(frozen=True, slots=True)
class HealthMark:
    """One quick check; ``screen`` names the screen with the rest of it."""

    name: str
    ok: bool
    told: str
    screen: str = "doctor"


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """All figures of a store at one moment; ``days`` are of the last 53 weeks in any span."""

    scale: TimeScale
    made_at: datetime
    memories: MemoryFigures
    digests: DigestFigures
    hints: HintFigures
    lessons: tuple[LessonFigures, ...]
    models: ModelFigures
    approvals: ApprovalFigures
    days: tuple[ActivityDay, ...] = ()
    jobs: tuple[JobFigures, ...] = ()
    sizes: SizeFigures = field(default_factory=lambda: SizeFigures(0, 0, 0, 0, None, None))
    health: tuple[HealthMark, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever stored, asked or done."""
        return not (
            self.memories.live
            or self.memories.archived
            or self.digests.total
            or self.days
            or self.approvals.waiting
            or self.approvals.proposed.total
        )
