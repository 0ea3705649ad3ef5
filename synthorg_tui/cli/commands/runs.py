"""``runs``: the runs of agents here, listed, shown, stopped and gone on with."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import ID, Argument, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer

if TYPE_CHECKING:
    from synthorg_tui.host.runs import RunCalls
    from synthorg_tui.runtime.models import AgentRun, RunStep

_STATUSES: Final = ("running", "parked", "interrupted", "ended")


@Command(
    "list",
    "list the runs, newest first",
    examples=("runs list", "runs list --status parked --json"),
    arguments=(
        Argument(
            "--status", choices=_STATUSES, metavar="NAME", help=f"only {', '.join(_STATUSES)}"
        ),
        limit(20, "how many, at most (default: {})", most=500),
    ),
).asks
async def list_runs(context: Context, engine: AnyEngine) -> Answer:
    """List runs, newest first."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.runtime.models import RunStatus

    status = RunStatus(context.args.status) if context.args.status else None
    return view.listed(await engine.runs.list(limit=context.args.limit, status=status))


@Command(
    "show",
    "show what a run was asked, how it stands and what it used",
    examples=("runs show 3f2a", "runs show 3f2a --steps --json"),
    arguments=(ID, Argument("--steps", action="store_true", help="each of its steps, too")),
).asks
async def show_run(context: Context, engine: AnyEngine) -> Answer:
    """Show a run, with each of its steps if wanted."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.cli.commands.run_following import calls_of

    calls = calls_of(engine)
    run = await calls.show(context.args.id)
    steps = await _steps(calls, run.id) if context.args.steps else []
    shown = {"steps": [view.step_shape(step) for step in steps]} if context.args.steps else {}
    return Answer(view.run_shape(run) | shown, [view.run_view(run), map(view.whole_step, steps)])


async def _steps(calls: "RunCalls", run_id: str) -> "list[RunStep]":
    steps: list[RunStep] = []
    while True:
        page = await calls.steps(run_id, after=len(steps))
        steps += page.steps
        if not page.steps or len(steps) >= page.last:
            return steps


@Command(
    "resume",
    "go on with a run behind its last complete step, and follow it",
    more="What it\nwaits for is shown, to decide it. It ends with the exit codes of `run`.\n"
    "An agent may go on with runs that only read.",
    examples=("runs resume 3f2a",),
    arguments=(ID,),
).runs
async def resume(context: Context) -> Answer:
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


@Command(
    "cancel",
    "stop a run for good",
    more="What it did\nstays done, and its record is kept. Only you can do that, no agent.",
    examples=("runs cancel 3f2a",),
    arguments=(ID,),
).asks
async def cancel(context: Context, engine: AnyEngine) -> Answer:
    """Stop a run for good."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.cli.commands.run_following import calls_of

    run = await calls_of(engine).cancel(context.args.id)
    return Answer(view.run_shape(run), f"{run.id}: {view.standing(run)}")


GROUP: Final = Command(
    "runs",
    about="The runs of agents here: what they were asked, what they did, and how they ended.\n"
    "An ID may be shortened to its first characters.",
    examples=("runs list", "runs show 3f2a --steps", "runs resume 3f2a", "runs cancel 3f2a"),
    commands=(list_runs, show_run, resume, cancel),
)
