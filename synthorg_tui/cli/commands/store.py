"""Commands about the store as a whole: ``doctor``, ``reindex``, ``serve``, backups."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command, path, storable_path, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.output import ProgressLine, local_time
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted, safe_text

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.curation.secrets import SecretReport
    from synthorg_tui.memory.store.doctor import DoctorReport
    from synthorg_tui.persistence.integrity import RowsRead


def add(commands: Subparsers) -> None:
    """Add the parsers of the five commands about the store as a whole to ``commands``."""
    parser = add_command(
        commands,
        "doctor",
        run_doctor,
        COMMANDS["doctor"].summary,
        more="Exits with 1 when something is wrong.",
        examples=("doctor", "doctor --fix", "doctor --secrets"),
    )
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired")
    parser.add_argument("--yes", action="store_true", help="don't ask before a log is set aside")
    parser.add_argument(
        "--secrets",
        action="store_true",
        help="look for secrets in all that is stored; with --fix redact them",
    )
    parser.add_argument(
        "--take-retention",
        action="store_true",
        help="have the settings' retention hold for the store, for all programs on it",
    )
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
        "target",
        nargs="?",
        type=storable_path,
        metavar="FILE",
        help="(default: backups/ in the data dir)",
    )
    parser = add_command(
        commands,
        "restore",
        run_restore,
        COMMANDS["restore"].summary,
        more="It is read whole\nfirst. The present database is set aside, not deleted.",
        examples=("restore", "restore --list", "restore ~/desk-backup.duckdb"),
    )
    parser.add_argument(
        "backup", nargs="?", type=path, metavar="FILE", help="(default: the newest, after asking)"
    )
    parser.add_argument("--list", action="store_true", help="list the backups, restore nothing")
    parser.add_argument("--yes", action="store_true", help="don't ask")


async def run_doctor(context: "Context") -> int:
    """Check the store; return 1 when a problem remains that was not repaired, else 0."""
    from synthorg_tui.core.errors import DamagedLogError

    if context.args.secrets:
        return await (_redact_secrets if context.args.fix else _find_secrets)(context)
    if context.args.take_retention:
        await _take_retention(context)
    try:
        report = await _examined(context)
    except DamagedLogError:
        if not context.args.fix:
            raise
        await _do_without_log(context)
        report = await _examined(context)
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
    _tell_older_hooks(context)
    return 0 if report.ok else 1


async def _take_retention(context: "Context") -> None:
    """Have the settings' rules hold for the store; refused where an agent runs the command."""
    async with context.engine() as engine:
        context.console.note(f"retention: {await engine.maintenance.take_retention()}")


def _tell_older_hooks(context: "Context") -> None:
    """Name the settings of Claude Code that lack hooks which this version has."""
    from synthorg_tui.connect.changes import ClientInstaller
    from synthorg_tui.connect.clients import CLIENTS, here
    from synthorg_tui.connect.errors import ClientConfigError

    try:
        installer = ClientInstaller(context.data_dir.absolute(), here())
        older = installer.older_hooks(CLIENTS["claude-code"])
    except ClientConfigError:  # `connect` and `disconnect` tell of damaged records
        return
    for record, events in older.items():
        context.console.note(
            f"{safe_text(short_path(record.path))} has hooks of an earlier version, without "
            f"{' and '.join(events)}; `synthorg-tui connect claude-code --{record.scope}` adds them"
        )


async def _examined(context: "Context") -> "DoctorReport":
    from synthorg_tui.cli.context import cancelled_by_signal
    from synthorg_tui.memory.store.doctor import with_sessions

    line = ProgressLine(context.console)
    async with context.engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, line:
            report = await engine.maintenance.doctor(
                fix=context.args.fix,
                progress=lambda read: line.update(_rows(read)),
                cancel=cancellation.requested,
            )
        return await with_sessions(report, engine.executions)


def _rows(read: "RowsRead") -> str:
    return f"{read.done:,} of {read.total:,} rows read"


async def _do_without_log(context: "Context") -> None:
    """Set the damaged log aside, once the person knows what is lost with it."""
    import asyncio
    from datetime import UTC, datetime

    from synthorg_tui.persistence import DATABASE_FILE
    from synthorg_tui.persistence.backups import set_log_aside

    written = (context.data_dir / DATABASE_FILE).stat().st_mtime
    context.console.warning(
        "the log beside the database is damaged; what it has before the damage stays, and at most "
        f"what changed since {local_time(datetime.fromtimestamp(written, UTC))} is lost"
    )
    context.confirm("Set the log aside (it is kept)?")
    aside = await asyncio.to_thread(set_log_aside, context.data_dir)
    context.console.note(f"the log is now {aside}")


async def _find_secrets(context: "Context") -> int:
    """Print what kinds of secrets are stored where; return 1 when there are any."""
    async with context.engine() as engine:
        report = await engine.secrets.search()
    _print_secrets(context, report)
    if report.tables and not context.wants_json:
        context.console.note("`synthorg-tui doctor --secrets --fix` redacts them everywhere")
    return 1 if report.tables else 0


async def _redact_secrets(context: "Context") -> int:
    """Redact what is stored, once a person typed so; return 1 when something is left to do."""
    from synthorg_tui.cli.errors import DeclinedError
    from synthorg_tui.cli.terminal import controlling_terminal

    with controlling_terminal() as terminal:
        async with context.own_engine() as engine:
            report = await engine.secrets.search()
            if report.tables:
                _print_secrets(context, report, to_note=True)
                secrets = counted(report.total, "secret")
                question = f"Redact {secrets} for good, everywhere? Type redact:"
                if terminal.ask(question) != "redact":
                    raise DeclinedError("nothing was changed")
                report = await engine.secrets.redact(actor=context.actor)
    _print_secrets(context, report)
    return 1 if report.left or report.pending else 0


def _print_secrets(context: "Context", report: "SecretReport", *, to_note: bool = False) -> None:
    """Print kinds and numbers by table, never a secret; ``to_note`` keeps standard output free."""
    if context.wants_json and not to_note:
        context.console.json(
            {
                "secrets": report.total,
                "redacted": report.redacted,
                "tables": [{"table": t.table, "kinds": dict(t.kinds)} for t in report.tables],
                "left": [{"what": what, "reason": why} for what, why in report.left],
                "pending": list(report.pending),
            }
        )
        return
    tell = context.console.note if to_note else context.console.line
    if not report.tables:
        tell("No secrets found in what is stored.")
    for table in report.tables:
        kinds = ", ".join(f"{kind} ×{count}" for kind, count in table.kinds.items())
        tell(f"{table.table}: {kinds}")
    if report.redacted:
        tell("Redacted, except what is named below." if report.left else "Redacted.")
    if not to_note:
        for what, why in report.left:
            context.console.warning(f"{what} stays: {why}")
        for pending in report.pending:
            context.console.warning(pending)


async def run_reindex(context: "Context") -> int:
    """Rebuild the search index from the database."""
    from synthorg_tui.cli.context import cancelled_by_signal

    line = ProgressLine(context.console)
    async with context.own_engine(is_long=True) as engine:
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
    """Copy the database to a file, also while it is in use, and read the copy whole."""
    from synthorg_tui.cli.context import cancelled_by_signal

    line = ProgressLine(context.console)
    async with context.engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, line:
            copy = await engine.maintenance.backup(
                context.args.target,
                progress=lambda read: line.update(_rows(read)),
                cancel=cancellation.requested,
            )
    return context.print_result({"path": str(copy)}, f"Backed up to {copy}")


async def run_restore(context: "Context") -> int:
    """Replace the database by a backup, or list the backups; an agent may only list them."""
    from synthorg_tui.cli.context import cancelled_by_signal
    from synthorg_tui.host.opening import restore
    from synthorg_tui.persistence.backups import newest_backup

    if context.args.list:
        return _list_backups(context)
    if context.settings().persistence.is_postgres:
        raise DomainError(
            "the store is on a PostgreSQL server, which a backup of a file can't replace",
            remedy="Restore it with pg_restore, or move it here first.",
        )
    chosen = context.args.backup
    if chosen is None:
        newest = newest_backup(context.data_dir)
        context.confirm(f"Restore {newest.path.name}, made {local_time(newest.made_at)}?")
        chosen = newest.path
    line = ProgressLine(context.console)
    with cancelled_by_signal(context.console) as cancellation, line:
        await restore(
            context.settings(),
            context.data_dir,
            chosen,
            progress=lambda read: line.update(_rows(read)),
            cancel=cancellation.requested,
        )
    return context.print_result({"path": str(chosen)}, f"Restored {chosen}")


def _list_backups(context: "Context") -> int:
    from synthorg_tui.persistence.backups import backups_in

    backups = backups_in(context.data_dir)
    if context.wants_json:
        listed = [
            {
                "path": str(backup.path),
                "made_at": backup.made_at.isoformat(),
                "bytes": backup.size,
                "daily": backup.is_daily,
            }
            for backup in backups
        ]
        context.console.json({"backups": listed})
    for backup in backups if not context.wants_json else ():
        shown = safe_text(str(backup.path))
        daily = "daily" if backup.is_daily else "     "
        size = f"{backup.size / 1e6:10,.1f} MB"
        context.console.line(f"{local_time(backup.made_at)} {size}  {daily}  {shown}")
    if not backups and not context.wants_json:
        context.console.line("No backups yet. `synthorg-tui backup` makes one.")
    return 0
