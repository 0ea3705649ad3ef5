"""``jobs``: what runs by itself, when, and what came of it; running one and stopping it.

Running and stopping is a person's: an agent has no business in when the store is looked after.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer, Block, Parts, local_time
from synthorg_tui.cli.records import Json, fields, listing, shaped
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import duration

if TYPE_CHECKING:
    from synthorg_tui.jobs.models import JobRun, JobStatus, RunProgress

_CODES: Final = {"done": 0, "nothing": 0, "cancelled": 130}
"""Exit codes of runs by how they ended; 1 for the others."""


_JOB: Final = Argument("job", nargs="?", metavar="JOB", help="(default: all)")


async def _list_jobs(context: Context, engine: AnyEngine) -> Answer:
    """List all jobs."""
    jobs: Sequence[JobStatus] = await engine.jobs.list()
    return listing(
        "jobs",
        jobs,
        _job_shape,
        {
            "JOB": lambda job: job.name,
            "HOW OFTEN": lambda job: job.interval.value if job.interval else "all the time",
            "LAST RUN": lambda job: (
                f"{local_time(job.last.started_at)}  {_told(job.last)}" if job.last else "not yet"
            ),
            "NEXT": _next,
        },
        empty="Nothing runs by itself with this backend.",
    )


@Command(
    "log",
    "show the latest runs, of one job or of all",
    examples=("jobs log", "jobs log backup --limit 1 --json"),
    arguments=(_JOB, limit(20, "how many, at most (default: {})")),
).asks
async def show_log(context: Context, engine: AnyEngine) -> Answer:
    """Show the latest runs, newest first, each with what happened in it."""
    runs = await engine.jobs.runs(context.args.job, limit=context.args.limit)
    return Answer(
        {"runs": shaped(runs, _run_shape)},
        [
            (
                Parts([(local_time(run.started_at),), (run.job, "bold"), (_told(run),)]),
                Block(run.log, indent=4),
            )
            for run in runs
        ]
        or "Nothing ran yet.",
    )


@Command(
    "run",
    "run a job now and wait for it",
    more="Ctrl-C stops it; what is done is kept. Only you can do that, no agent.",
    examples=("jobs run reembedding",),
    arguments=(Argument("job", metavar="JOB", help="its name, as `jobs list` shows it"),),
).asks
async def run_job(context: Context, engine: AnyEngine) -> Answer:
    """Run a job and wait for its end; return 1 when it failed and 130 when it was stopped."""
    name = context.args.job
    with context.working() as working:
        run = await engine.jobs.run(
            name,
            progress=lambda now: working.show(f"{name}: {_progress(now)}"),
            cancel=working.requested,
        )
    code = _CODES.get(run.state, 1)
    if code == 1 and not context.wants_json:
        raise DomainError(f"{run.job} failed: {run.told}")
    return Answer(_run_shape(run), f"{run.job}: {_told(run)}", code)


@Command(
    "cancel",
    "stop a job that runs, or all",
    more="What is done is kept. Only you can do that, no agent.",
    examples=("jobs cancel", "jobs cancel backup"),
    arguments=(_JOB,),
).asks
async def cancel(context: Context, engine: AnyEngine) -> Answer:
    """Stop a job or all; return 1 when none was running."""
    stopped = await engine.jobs.cancel(context.args.job)
    return Answer(
        {"stopped": list(stopped)},
        f"Stopping {', '.join(stopped)}; what is done is kept." if stopped else "Nothing runs.",
        code=0 if stopped else 1,
    )


GROUP: Final = Command(
    "jobs",
    more="Without a command\nthey are listed. They run while the app or an owner is open.",
    examples=("jobs", "jobs run backup", "jobs log backup", "jobs cancel"),
    commands=(
        Command(
            "list",
            "list what runs by itself, with its last and its next run",
            examples=("jobs list", "jobs list --json"),
        ).asks(_list_jobs),
        show_log,
        run_job,
        cancel,
    ),
).asks(_list_jobs)


def _progress(now: "RunProgress") -> str:
    if now.waits:
        return "waits for its turn"
    share = f"{now.done:,} of {now.total:,}" if now.total else "running"
    rate = f" · {now.rate:,.1f}/s" if now.rate else ""
    left = f" · {duration(now.seconds_left)} left" if now.seconds_left is not None else ""
    return f"{share}{rate}{left}"


def _told(run: "JobRun") -> str:
    words = run.told if run.state in ("done", "nothing") else f"{run.state}: {run.told}"
    return f"{words} ({run.tokens:,} tokens)" if run.tokens else words


def _next(job: "JobStatus") -> str:
    if job.running is not None:
        now = job.running
        return f"runs now, {now.done / now.total:.0%}" if now.total else "runs now"
    if job.idle:
        return job.idle
    if job.due_at is None:
        return "–"
    return "due" if job.due_at <= datetime.now(UTC) else local_time(job.due_at)


def _job_shape(job: "JobStatus") -> Json:
    running = job.running and {
        **fields(job.running, "done total seconds_left waits"),
        "rate": round(job.running.rate, 2),
    }
    return {
        **fields(job, "job=name title setting interval idle due_at"),
        "running": running,
        "last": job.last and _run_shape(job.last),
    }


def _run_shape(run: "JobRun") -> Json:
    return {
        **fields(run, "number job state started_at ended_at done=progress total told tokens"),
        "log": run.log.split("\n") if run.log else [],
    }
