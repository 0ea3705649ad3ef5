"""``jobs``: what runs by itself, when, and what came of it; running one and stopping it.

Running and stopping is a person's: an agent has no business in when the store is looked after.
"""

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.output import ProgressLine, local_time
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import duration

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.jobs.models import JobRun, JobStatus, RunProgress

_CODES: Final = {"done": 0, "nothing": 0, "cancelled": 130}
"""Exit codes of runs by how they ended; 1 for the others."""
_MAX_LISTED: Final = 20


def add(commands: Subparsers) -> None:
    """Add the parser of ``jobs`` to ``commands``; without a subcommand it lists them."""
    parser = add_command(
        commands,
        "jobs",
        run_list,
        COMMANDS["jobs"].summary,
        more="Without a command\nthey are listed. They run while the app or an owner is open.",
        examples=("jobs", "jobs run backup", "jobs log backup", "jobs cancel"),
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_command(
        actions,
        "list",
        run_list,
        "list what runs by itself, with its last and its next run",
        examples=("jobs list", "jobs list --json"),
    )
    logs = add_command(
        actions,
        "log",
        run_log,
        "show the latest runs, of one job or of all",
        examples=("jobs log", "jobs log backup --limit 1 --json"),
    )
    logs.add_argument("job", nargs="?", metavar="JOB", help="(default: all)")
    logs.add_argument(
        "--limit",
        type=whole(1, 1000),
        default=_MAX_LISTED,
        metavar="N",
        help=f"how many, at most (default: {_MAX_LISTED})",
    )
    _add_acting(actions)


def _add_acting(actions: Subparsers) -> None:
    running = add_command(
        actions,
        "run",
        run_run,
        "run a job now and wait for it",
        more="Ctrl-C stops it; what is done is kept. Only you can do that, no agent.",
        examples=("jobs run reembedding",),
    )
    running.add_argument("job", metavar="JOB", help="its name, as `jobs list` shows it")
    stopping = add_command(
        actions,
        "cancel",
        run_cancel,
        "stop a job that runs, or all",
        more="What is done is kept. Only you can do that, no agent.",
        examples=("jobs cancel", "jobs cancel backup"),
    )
    stopping.add_argument("job", nargs="?", metavar="JOB", help="(default: all)")


async def run_list(context: "Context") -> int:
    """List all jobs."""
    async with context.engine() as engine:
        jobs = await engine.jobs.list()
    if context.wants_json:
        context.console.json({"jobs": [_job_shape(job) for job in jobs]})
        return 0
    if not jobs:
        context.console.line("Nothing runs by itself with this backend.")
        return 0
    rows = [
        (
            job.name,
            ("all the time" if job.interval is None else job.interval.value),
            _last(job.last),
            _next(job),
        )
        for job in jobs
    ]
    context.console.table(("JOB", "HOW OFTEN", "LAST RUN", "NEXT"), rows)
    return 0


async def run_run(context: "Context") -> int:
    """Run a job and wait for its end; return 1 when it failed and 130 when it was stopped."""
    from synthorg_tui.cli.context import cancelled_by_signal

    line = ProgressLine(context.console)
    async with context.engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, line:
            run = await engine.jobs.run(
                context.args.job,
                progress=partial(_show, line, context.args.job),
                cancel=cancellation.requested,
            )
    code = _CODES.get(run.state, 1)
    if code == 1 and not context.wants_json:
        context.console.error(f"{run.job} failed: {run.told}")
        return code
    context.print_result(_run_shape(run), f"{run.job}: {_told(run)}")
    return code


async def run_cancel(context: "Context") -> int:
    """Stop a job or all; return 1 when none was running."""
    async with context.engine() as engine:
        stopped = await engine.jobs.cancel(context.args.job)
    told = f"Stopping {', '.join(stopped)}; what is done is kept." if stopped else "Nothing runs."
    context.print_result({"stopped": list(stopped)}, told)
    return 0 if stopped else 1


async def run_log(context: "Context") -> int:
    """Show the latest runs, newest first, each with what happened in it."""
    async with context.engine() as engine:
        runs = await engine.jobs.runs(context.args.job, limit=context.args.limit)
    if context.wants_json:
        context.console.json({"runs": [_run_shape(run) for run in runs]})
        return 0
    if not runs:
        context.console.line("Nothing ran yet.")
    for run in runs:
        when = local_time(run.started_at)
        context.console.parts([(when,), (run.job, "bold"), (_told(run),)])
        context.console.block(run.log, indent=4)
    return 0


def _show(line: ProgressLine, name: str, now: "RunProgress") -> None:
    if now.waits:
        line.update(f"{name}: waits for its turn")
        return
    share = f"{now.done:,} of {now.total:,}" if now.total else "running"
    rate = f" · {now.rate:,.1f}/s" if now.rate else ""
    left = f" · {duration(now.seconds_left)} left" if now.seconds_left is not None else ""
    line.update(f"{name}: {share}{rate}{left}")


def _last(run: "JobRun | None") -> str:
    return f"{local_time(run.started_at)}  {_told(run)}" if run is not None else "not yet"


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
    running = job.running
    return {
        "job": job.name,
        "title": job.title,
        "setting": job.setting,
        "interval": job.interval.value if job.interval is not None else None,
        "idle": job.idle,
        "due_at": job.due_at.isoformat() if job.due_at is not None else None,
        "running": {
            "done": running.done,
            "total": running.total,
            "rate": round(running.rate, 2),
            "seconds_left": running.seconds_left,
            "waits": running.waits,
        }
        if running is not None
        else None,
        "last": _run_shape(job.last) if job.last is not None else None,
    }


def _run_shape(run: "JobRun") -> Json:
    return {
        "number": run.number,
        "job": run.job,
        "state": run.state.value,
        "started_at": run.started_at.isoformat(),
        "ended_at": run.ended_at.isoformat() if run.ended_at is not None else None,
        "done": run.progress,
        "total": run.total,
        "told": run.told,
        "tokens": run.tokens,
        "log": run.log.split("\n") if run.log else [],
    }
