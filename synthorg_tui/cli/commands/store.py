"""Commands about the store as a whole: ``doctor``, ``reindex``, ``serve``, backups."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command, path, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.output import ProgressLine
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context


def add(commands: Subparsers) -> None:
    """Add the parsers of the five commands about the store as a whole to ``commands``."""
    parser = add_command(
        commands,
        "doctor",
        run_doctor,
        COMMANDS["doctor"].summary,
        more="Exits with 1 when something is wrong.",
        examples=("doctor", "doctor --fix"),
    )
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired")
    add_command(
        commands,
        "reindex",
        run_reindex,
        COMMANDS["reindex"].summary,
        more="Nothing is lost: it is made from the database.",
    )
    _add_serve(commands)
    _add_backups(commands)


def _add_serve(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "serve",
        run_serve,
        COMMANDS["serve"].summary,
        more="Ctrl-C ends it; opening the app takes the store over.",
        examples=("serve",),
    )
    parser.add_argument(
        "--until-idle",
        nargs="?",
        type=whole(0, 86_400),
        const=5,
        metavar="SECONDS",
        help="leave when nobody has been connected for so long (default 5)",
    )


def _add_backups(commands: Subparsers) -> None:
    parser = add_command(
        commands, "backup", run_backup, COMMANDS["backup"].summary, examples=("backup",)
    )
    parser.add_argument(
        "target", nargs="?", type=path, metavar="FILE", help="(default: backups/ in the data dir)"
    )
    parser = add_command(
        commands,
        "restore",
        run_restore,
        COMMANDS["restore"].summary,
        more="The present database is set aside, not deleted.",
        examples=("restore", "restore ~/desk-backup.duckdb"),
    )
    parser.add_argument(
        "backup", nargs="?", type=path, metavar="FILE", help="(default: the newest backup)"
    )


async def run_doctor(context: "Context") -> int:
    """Check the store; return 1 when a problem remains that was not repaired, else 0."""
    async with context.engine() as engine:
        report = await engine.maintenance.doctor(fix=context.args.fix)
    if context.wants_json:
        checks = [
            {"name": check.name, "ok": check.ok, "detail": check.detail} for check in report.checks
        ]
        context.console.json({"ok": report.ok, "checks": checks})
    else:
        width = max((len(check.name) for check in report.checks), default=0)
        for check in report.checks:
            mark = ("ok  ", "green") if check.ok else ("FAIL", "red")
            context.console.parts([mark, (check.name.ljust(width), "bold"), (check.detail,)])
        if not report.ok and not context.args.fix:
            context.console.note("`synthorg-tui doctor --fix` repairs what can be repaired")
    return 0 if report.ok else 1


async def run_reindex(context: "Context") -> int:
    """Rebuild the search index from the database."""
    from synthorg_tui.cli.context import cancelled_by_signal

    line = ProgressLine(context.console)
    async with context.own_engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, line:
            count = await engine.maintenance.reindex(
                progress=lambda done, total: line.update(f"{done:,} of {total:,} memories"),
                cancel=cancellation.requested,
            )
    return context.print_result(
        {"reindexed": count}, f"Indexed {counted(count, 'memory', 'memories')}."
    )


async def run_serve(context: "Context") -> int:
    """Own the store and answer other processes, until Ctrl-C or until an app asks for the store.

    With ``--until-idle`` it also ends when no client has been connected for that many seconds.
    """
    from synthorg_tui.cli.context import cancelled_by_signal
    from synthorg_tui.host.headless import serve

    def announce(_: object) -> None:
        context.console.note(f"serving {context.data_dir}; Ctrl-C ends it")

    with cancelled_by_signal(context.console) as cancellation:
        await serve(
            context.settings(),
            data_dir=context.data_dir,
            stop=cancellation.stop,
            until_idle=context.args.until_idle,
            on_ready=announce,
        )
        if cancellation.stop.is_set() and not cancellation.requested.is_set():
            context.console.note("the app asked for the store and has it now")
    return 0


async def run_backup(context: "Context") -> int:
    """Copy the database to a file, also while it is in use."""
    async with context.engine() as engine:
        copy = await engine.maintenance.backup(context.args.target)
    return context.print_result({"path": str(copy)}, f"Backed up to {copy}")


async def run_restore(context: "Context") -> int:
    """Replace the database by a backup; refused where an agent runs it."""
    from synthorg_tui.approvals.person import require_no_agent
    from synthorg_tui.memory.store.maintenance import restore_backup

    require_no_agent()
    restored = restore_backup(context.data_dir, context.args.backup)
    return context.print_result({"path": str(restored)}, f"Restored {restored}")
