"""``runs``: the runs of agents here, listed, shown, stopped and gone on with."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, whole
from synthorg_tui.cli.commands import COMMANDS

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.host.runs import RunCalls
    from synthorg_tui.runtime.models import AgentRun, RunStep

_STATUSES: Final = ("running", "parked", "interrupted", "ended")
_MAX_LISTED: Final = 20


def add(commands: Subparsers) -> None:
    """Add the parser of ``runs`` to ``commands``."""
    actions = add_group(
        commands,
        "runs",
        COMMANDS["runs"].summary,
        "The runs of agents here: what they were asked, what they did, and how they ended.\n"
        "An ID may be shortened to its first characters.",
        examples=("runs list", "runs show 3f2a --steps", "runs resume 3f2a", "runs cancel 3f2a"),
    )
    listing = add_command(
        actions,
        "list",
        run_list,
        "list the runs, newest first",
        examples=("runs list", "runs list --status parked --json"),
    )
    listing.add_argument(
        "--status", choices=_STATUSES, metavar="NAME", help=f"only {', '.join(_STATUSES)}"
    )
    listing.add_argument(
        "--limit",
        type=whole(1, 500),
        default=_MAX_LISTED,
        metavar="N",
        help=f"how many, at most (default: {_MAX_LISTED})",
    )
    showing = add_command(
        actions,
        "show",
        run_show,
        "show what a run was asked, how it stands and what it used",
        examples=("runs show 3f2a", "runs show 3f2a --steps --json"),
    )
    showing.add_argument("id", metavar="ID")
    showing.add_argument("--steps", action="store_true", help="each of its steps, too")
    _add_acting(actions)


def _add_acting(actions: Subparsers) -> None:
    resuming = add_command(
        actions,
        "resume",
        run_resume,
        "go on with a run behind its last complete step, and follow it",
        more="What it\nwaits for is shown, to decide it. It ends with the exit codes of `run`.\n"
        "An agent may go on with runs that only read.",
        examples=("runs resume 3f2a",),
    )
    resuming.add_argument("id", metavar="ID")
    cancelling = add_command(
        actions,
        "cancel",
        run_cancel,
        "stop a run for good",
        more="What it did\nstays done, and its record is kept. Only you can do that, no agent.",
        examples=("runs cancel 3f2a",),
    )
    cancelling.add_argument("id", metavar="ID")


async def run_list(context: "Context") -> int:
    """List runs, newest first."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.runtime.models import RunStatus

    args = context.args
    status = RunStatus(args.status) if args.status else None
    async with context.engine() as engine:
        runs = await engine.runs.list(limit=args.limit, status=status)
    if context.wants_json:
        context.console.json({"runs": [view.run_shape(run) for run in runs]})
    else:
        view.show_runs(context.console, runs)
    return 0


async def run_show(context: "Context") -> int:
    """Show a run, with each of its steps if wanted."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.cli.commands.run_following import calls_of

    async with context.engine() as engine:
        calls = calls_of(engine)
        run = await calls.show(context.args.id)
        steps = await _steps(calls, run.id) if context.args.steps else []
    if context.wants_json:
        shape = view.run_shape(run)
        if context.args.steps:
            shape |= {"steps": [view.step_shape(step) for step in steps]}
        context.console.json(shape)
        return 0
    view.show_run(context.console, run)
    for step in steps:
        view.show_whole_step(context.console, step)
    return 0


async def _steps(calls: "RunCalls", run_id: str) -> "list[RunStep]":
    steps: list[RunStep] = []
    while True:
        page = await calls.steps(run_id, after=len(steps))
        steps += page.steps
        if not page.steps or len(steps) >= page.last:
            return steps


async def run_resume(context: "Context") -> int:
    """Go on with a run and follow it; return the exit code of how it ended."""
    from synthorg_tui.approvals.person import require_no_agent
    from synthorg_tui.cli.commands.run_following import RunFollower, calls_of
    from synthorg_tui.cli.terminal import controlling_terminal
    from synthorg_tui.core.errors import DomainError
    from synthorg_tui.runtime.models import RunProfile, RunStatus

    async with context.engine() as engine:
        run = await calls_of(engine).show(context.args.id)
    profile = run.request.profile
    if profile is not RunProfile.READ_ONLY:
        require_no_agent()
    is_unattended = profile is RunProfile.UNATTENDED
    if is_unattended:
        with controlling_terminal() as terminal:
            terminal.agree(f"It asks for nothing in {run.request.workspace}. Go on with it?")

    async def begin(calls: "RunCalls") -> "AgentRun":
        try:
            return await calls.resume(run.id)
        except DomainError:
            if run.status is not RunStatus.PARKED:
                raise
            return run  # it waits for a decision, which is taken now if somebody is here

    follower = RunFollower(context, agreed=is_unattended, own=is_unattended)
    return await follower.follow(begin)


async def run_cancel(context: "Context") -> int:
    """Stop a run for good."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.cli.commands.run_following import calls_of

    async with context.engine() as engine:
        run = await calls_of(engine).cancel(context.args.id)
    return context.print_result(view.run_shape(run), f"{run.id}: {view.standing(run)}")
