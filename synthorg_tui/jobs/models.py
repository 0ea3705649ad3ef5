"""What a job is, what a run of one came to, and when the next one is due."""

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.errors import DomainError
from synthorg_tui.persistence.settings_kv import due_at

MAX_INTERRUPTED: Final = 3
"""Interrupted runs in a row after which a job waits for its interval: it may be what ends us."""

Steps: TypeAlias = Callable[[int, int], None]
"""Told how many steps are done, of how many; may be called from any thread."""

Work: TypeAlias = Callable[[Steps, threading.Event], Awaitable[str]]
"""Does a job once; stops early when the event is set, and says in words what came of it.

The words count what is in the store afterwards; they are empty when there was nothing to do. Long
work awaits ``core.pauses.pause_point`` between its steps.
"""


class RunState(StrEnum):
    """How a run stands or ended; ``NOTHING`` is a run that had nothing to do."""

    RUNNING = "running"
    DONE = "done"
    NOTHING = "nothing"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


Note: TypeAlias = Callable[[RunState, str], None]
"""Takes what came of a part of work that goes on all the time: how it ended, and the words."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Work that goes on all the time: ``keep`` does it until cancelled, and notes what came of it.

    ``idle`` says why it does nothing at present, in words that are empty when it works.
    """

    keep: Callable[[Note], Awaitable[None]]
    idle: Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Job:
    """Something that runs by itself: ``work`` at times, or a ``Watch`` all the time.

    ``title`` says in a line what it does, ``setting`` which setting decides how often; a ``Watch``
    has no ``interval``, unless it is off.
    """

    name: str
    title: str
    setting: str
    interval: ConsolidationInterval | None
    work: Work | Watch


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run on record, by its number; times are timezone-aware.

    ``progress`` of ``total`` steps were done, 0 of 0 when a job has none. ``told`` is the result or
    the reason of a failure, ``log`` what happened line by line. ``tokens`` are those that language
    models read and wrote meanwhile.
    """

    number: int
    job: str
    started_at: datetime
    ended_at: datetime | None
    state: RunState
    progress: int = 0
    total: int = 0
    told: str = ""
    tokens: int = 0
    log: str = ""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a job is that runs; ``rate`` is steps a second, 0 while unknown.

    ``seconds_left`` is ``None`` while it can't be estimated. ``waits`` tells that it stands still
    because an agent waits for an answer or another job runs.
    """

    done: int = 0
    total: int = 0
    rate: float = 0.0
    seconds_left: float | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as a person sees it; ``running`` is ``None`` unless it runs now.

    ``last`` is its latest run that ended. ``due_at`` is when it runs next, at the earliest;
    ``None`` for one that never runs, or goes on all the time and so has no ``interval``. ``idle``
    says why such a one does nothing at present.
    """

    name: str
    title: str
    setting: str
    interval: ConsolidationInterval | None
    idle: str = ""
    last: JobRun | None = None
    due_at: datetime | None = None
    running: RunProgress | None = None

    @property
    def is_off(self) -> bool:
        """Whether it never runs by itself."""
        return self.interval is ConsolidationInterval.NEVER


class JobError(DomainError):
    """A job can't be run or isn't known."""


def next_run(job: Job, ended: Sequence[JobRun], now: datetime) -> datetime | None:
    """Return when a job is due, in the past when it is overdue; ``None`` when it never is.

    ``ended`` are its latest runs, newest first. An interrupted run is made up for at once, unless
    ``MAX_INTERRUPTED`` in a row were.
    """
    if job.interval is None or isinstance(job.work, Watch):
        return None
    last = ended[0] if ended else None
    streak = ended[:MAX_INTERRUPTED]
    is_again = last is not None and last.state is RunState.INTERRUPTED
    if is_again and not (
        len(streak) == MAX_INTERRUPTED and all(run.state is RunState.INTERRUPTED for run in streak)
    ):
        last = None
    return due_at(job.interval, last.started_at if last else None, now)
