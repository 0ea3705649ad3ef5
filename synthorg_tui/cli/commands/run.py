"""``run``: gives an agent a task, follows it step by step, and says how it ended."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, agent_id, number, path, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer

if TYPE_CHECKING:
    from synthorg_tui.runtime.models import RunRequest

_PROFILES: Final = ("read_only", "ask", "unattended")
_AMOUNT: Final = number("over 0", lambda given: 0 < given < float("inf"))
_AGENTS: Final = {"claude": "claude-code"}
"""Agents that an executor stands for, where it isn't named as they are."""
_MORE: Final = """The steps are
shown as they come, the answer at the end. Ctrl-C stops the run and keeps what it
did; again, it leaves at once. What waits for you is shown, and decided right
here if you sit at the terminal. With `--profile ask` whatever writes or executes
waits for you; `read_only` can't do either; `unattended` asks for nothing inside
the workspace, and you are asked before it starts. An agent that runs this
command may start runs that only read.

exit codes: 0 completed, 1 failed, 5 out of turns, 6 tokens, cost or time used up,
7 waits for a person, 130 stopped or broken off"""


@Command(
    "run",
    more=_MORE,
    examples=(
        'run "say what the flaky test waits for" --profile read_only',
        'run "fix the flaky test" --agent ada --executor claude --turns 20',
    ),
    arguments=(
        Argument("task", metavar="TASK", help="what to do; - reads it from standard input"),
        Argument(
            "--agent",
            type=agent_id,
            metavar="ID",
            help="whose memory it has (default: the only one of the settings)",
        ),
        Argument(
            "--executor",
            default="builtin",
            metavar="NAME",
            help="builtin (default), or an installed agent: claude, codex, opencode",
        ),
        Argument(
            "--workspace", type=path, metavar="DIR", help="where it works (default: this folder)"
        ),
        Argument(
            "--profile",
            choices=_PROFILES,
            default="ask",
            metavar="NAME",
            help=f"what it may do: {', '.join(_PROFILES)} (default: ask)",
        ),
        Argument("--model", metavar="NAME", help="another model than the executor's own"),
        Argument("--turns", type=whole(1, 1000), metavar="N", help="most answers of a model"),
        Argument("--tokens", type=whole(1), metavar="N", help="most tokens, of all answers"),
        Argument("--cost", type=_AMOUNT, metavar="N", help="most cost, as in the prices set"),
        Argument(
            "--seconds",
            type=_AMOUNT,
            metavar="N",
            help="most seconds of work, without waiting for you",
        ),
        Argument("--no-memory", action="store_true", help="give it no memory"),
        Argument("--detach", action="store_true", help="print the run's id and leave it running"),
    ),
).runs
async def run_task(context: Context) -> Answer:
    """Start a run and follow it to its end; return the exit code of how it ended."""
    from synthorg_tui.approvals.person import require_no_agent
    from synthorg_tui.cli.commands.run_following import RunFollower
    from synthorg_tui.runtime.models import RunProfile

    request = _request(context)
    if request.profile is not RunProfile.READ_ONLY:
        require_no_agent(reason=f"a run with --profile {request.profile.value} may write")
    is_unattended = request.profile is RunProfile.UNATTENDED
    if is_unattended:
        _agree(context, request)
    if context.args.detach:
        return await _detached(context, request)
    follower = RunFollower(context, agreed=is_unattended, own=is_unattended)
    return await follower.follow(lambda calls: calls.start(request))


def _request(context: Context) -> "RunRequest":
    import sys

    from synthorg_tui.runtime import RunLimits
    from synthorg_tui.runtime.models import RunProfile, RunRequest

    args = context.args
    task = (sys.stdin.read() if args.task == "-" else args.task).strip()
    if not task:
        raise UsageError("the task is empty")
    workspace = (args.workspace or Path.cwd()).absolute()
    if not workspace.is_dir():
        raise UsageError(f"there is no folder {workspace}")
    given = {name: getattr(args, name) for name in ("turns", "tokens", "cost", "seconds")}
    given = {name: most for name, most in given.items() if most is not None}
    limits = context.settings().runtime.limits.model_dump() | given
    return RunRequest(
        task=task,
        agent_id=args.agent or _default_agent(context),
        workspace=workspace,
        executor=args.executor,
        profile=RunProfile(args.profile),
        limits=RunLimits.model_validate(limits),
        model=args.model,
        memory=not args.no_memory,
    )


def _default_agent(context: Context) -> str:
    from synthorg_tui.host.runs import UNNAMED_AGENT

    executor = context.args.executor
    if executor != "builtin":
        return _AGENTS.get(executor) or str(executor)
    declared = context.settings().agents
    return str(declared[0].id) if len(declared) == 1 else UNNAMED_AGENT


def _agree(context: Context, request: "RunRequest") -> None:
    """Have the person at the terminal agree to a run that asks for nothing."""
    from synthorg_tui.cli.terminal import deciding_person

    if context.args.detach:
        raise UsageError(
            "a run that asks for nothing isn't left alone", remedy="Leave --detach out."
        )
    with deciding_person(context.settings().approvals) as terminal:
        terminal.agree(
            f"It writes and executes in {request.workspace}, and nobody is asked before. Run it?"
        )


async def _detached(context: Context, request: "RunRequest") -> Answer:
    """Start the run in the owner of the store, which is started if there is none."""
    from synthorg_tui.cli.commands import run_view as view
    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.host.opening import reach

    data_dir = context.data_dir.absolute()
    connection = await reach(data_dir, role="command", config_path=context.args.config)
    try:
        run = await RemoteEngine(connection, context.settings()).runs.start(request)
    finally:
        await connection.close()
    return Answer(
        view.run_shape(run),
        f"Started {run.id}; `synthorg-tui runs show {run.id} --steps` shows how far it is.",
    )
