"""Lines of the jobs screen: a row for each job, and what is known of one."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, counted, duration, moment
from synthorg_tui.tui.base.lines import Line, bar, fact, line, one_line

if TYPE_CHECKING:
    from synthorg_tui.jobs.models import JobRun, JobStatus, RunProgress

_NAME_CELLS: Final = 15
_LAST_CELLS: Final = 18
_BAR_CELLS: Final = 10
_MARKS: Final = {
    "running": ("▸ ", "accent"),
    "done": ("✓ ", "good"),
    "nothing": ("✓ ", "faint"),
    "failed": ("✗ ", "bad"),
    "cancelled": ("– ", "warn"),
    "interrupted": ("! ", "warn"),
}
_NEVER_RAN: Final = ("· ", "faint")
_STATES: Final = {
    "done": "done",
    "nothing": "nothing to do",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
}
_fact = partial(fact, cells=11)
NO_JOBS: Final = (
    line(("No jobs", "title")),
    Line(),
    line(("Another backend than the local one has nothing that runs by itself", "muted")),
)


def heading_line() -> Line:
    """The titles of the columns."""
    titles = f"  {'Job':<{_NAME_CELLS}}{'Last run':<{_LAST_CELLS}}Next run"
    return line((titles, "muted"))


def job_line(job: "JobStatus", now: datetime) -> Line:
    """One job: its state, and its last and next run, or how far it is."""
    name = (f"{job.name:<{_NAME_CELLS}}", "strong")
    if job.running is not None:
        row = line(_MARKS["running"], name)
        return row.extend(_progress(job.running))
    last = job.last
    mark = _MARKS[last.state] if last is not None else _NEVER_RAN
    told = _last(last, now)
    role = "bad" if last is not None and last.state == "failed" else "text"
    return line(mark, name, (f"{told:<{_LAST_CELLS}}", role), (_next(job, now), "muted"))


def _last(run: "JobRun | None", now: datetime) -> str:
    if run is None:
        return "not yet"
    age = ago(run.started_at, now)
    when = "just now" if age == "now" else f"{age} ago"
    is_plain = run.state in ("done", "nothing")
    return when if is_plain else f"{_STATES[run.state]} {age}"


def _next(job: "JobStatus", now: datetime) -> str:
    if job.interval is None:
        return "not now" if job.idle else "as it comes"
    if job.due_at is None:
        return "never"
    left = (job.due_at - now).total_seconds()
    return "now" if left <= 0 else f"in {_span(left)}"


def _span(seconds: float) -> str:
    hours = round(seconds / 3600)
    if seconds < 3600:
        return duration(seconds)
    return f"{hours} h" if hours < 48 else counted(round(hours / 24), "day")


def _progress(now: "RunProgress") -> Line:
    shown = Line()
    if now.total:
        share = now.done / now.total
        shown.extend(bar(share, _BAR_CELLS)).add(f" {share:>4.0%}", "text")
    if now.waits:
        return shown.add(" waits" if now.total else "waits for its turn", "muted")
    if now.rate:
        shown.add(f" {now.rate:,.0f}/s" if now.rate >= 1 else f" {now.rate:.2f}/s", "muted")
    if now.seconds_left is not None:
        shown.add(f" · {duration(now.seconds_left)} left", "muted")
    return shown if now.total else shown.add("running", "accent")


def detail_lines(job: "JobStatus", runs: "Sequence[JobRun]", now: datetime) -> list[Line]:
    """What a job does and when, and its latest runs, newest first."""
    plans = f"{key_of('app.consolidation')} lists what it planned and did, and undoes it"
    shown = [
        row
        for place, run in enumerate(runs)
        for whole in [run.state == "failed" or (place == 0 and run.state != "nothing")]
        for row in _run_lines(run, now, whole=whole)
    ]
    return [
        line((job.name, "title")),
        line((f"{job.title}.", "text")),
        Line(),
        _fact("how often", f"{_often(job)} · {job.setting}"),
        *_now(job, now),
        *([_fact("plans", plans)] if job.name == "consolidation" else []),
        Line(),
        line(("Latest runs", "title")),
        *(shown or [line(("It hasn't run yet.", "muted"))]),
    ]


def _now(job: "JobStatus", now: datetime) -> list[Line]:
    """What a job does now, or when it runs next."""
    if job.running is not None:
        steps = f"{job.running.done:,} of {job.running.total:,} " if job.running.total else ""
        return [_fact("now", steps).extend(_progress(job.running))]
    if job.interval is None:
        return [_fact("now", job.idle or "goes on all the time")]
    if job.due_at is None:
        return []
    return [_fact("next run", f"{moment(job.due_at, now)[:16]} · {_next(job, now)}")]


def _often(job: "JobStatus") -> str:
    if job.interval is None:
        return "all the time"
    named = {ConsolidationInterval.NEVER: "never by itself"}
    return named.get(job.interval, job.interval.value)


def _run_lines(run: "JobRun", now: datetime, *, whole: bool) -> list[Line]:
    """A run; ``whole`` adds what happened in it, line by line."""
    head = line(_MARKS[run.state], (moment(run.started_at, now), "text"))
    if run.state == "running":
        return [head.add(" · running", "accent")]
    spent = ((run.ended_at or run.started_at) - run.started_at).total_seconds()
    if run.state != "nothing":
        head.add(f" · {_STATES[run.state]} in {duration(spent)}", "muted")
    if run.tokens:
        head.add(f" · {run.tokens:,} tokens", "warn")
    told = line(
        ("  ", "text"), (one_line(run.told), "bad" if run.state == "failed" else "text"), hang=2
    )
    lines = [head, told]
    if whole:
        lines += [line((each, "faint")) for each in run.log.split("\n") if each]
    return lines
