"""Commands about the store as a whole: ``doctor``, ``reindex``, ``serve``, backups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import YES, Argument, path, storable_path, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import DeclinedError
from synthorg_tui.cli.output import Answer, Note, Parts, View, Warn, local_time
from synthorg_tui.cli.records import Json, fields, pairs, shaped
from synthorg_tui.core.errors import DamagedLogError, DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted, safe_text

if TYPE_CHECKING:
    from synthorg_tui.curation.secrets import SecretReport
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.store.doctor import DoctorReport
    from synthorg_tui.persistence.backups import Backup
    from synthorg_tui.persistence.integrity import RowsRead


@Command(
    "doctor",
    more="Exits with 1 when something is wrong.",
    examples=("doctor", "doctor --fix", "doctor --secrets"),
    arguments=(
        Argument("--fix", action="store_true", help="repair what can be repaired"),
        Argument("--yes", action="store_true", help="don't ask before a log is set aside"),
        Argument(
            "--secrets",
            action="store_true",
            help="look for secrets in all that is stored; with --fix redact them",
        ),
        Argument(
            "--take-retention",
            action="store_true",
            help="have the settings' retention hold for the store, for all programs on it",
        ),
    ),
).runs
async def doctor(context: Context) -> Answer:
    """Check the store; return 1 when a problem remains that was not repaired, else 0."""
    args = context.args
    if args.secrets:
        return await (_redact_secrets if args.fix else _find_secrets)(context)
    if args.take_retention:
        async with context.engine() as engine:
            context.console.note(f"retention: {await engine.maintenance.take_retention()}")
    try:
        report = await _examined(context)
    except DamagedLogError:
        if not args.fix:
            raise
        await _do_without_log(context)
        report = await _examined(context)
    if context.wants_json:
        context.console.show(_older_hooks(context))
    width = max((len(check.name) for check in report.checks), default=0)
    marks = {True: ("ok  ", "green"), False: ("FAIL", "red")}
    return Answer(
        {"ok": report.ok, "checks": shaped(report.checks, "name ok detail")},
        [
            [
                Parts([marks[check.ok], (check.name.ljust(width), "bold"), (check.detail,)])
                for check in report.checks
            ],
            not (report.ok or args.fix)
            and Note("`synthorg-tui doctor --fix` repairs what can be repaired"),
            lambda _: _older_hooks(context),
        ],
        code=0 if report.ok else 1,
    )


def _older_hooks(context: Context) -> View:
    """Name the settings of Claude Code that lack hooks which this version has."""
    from synthorg_tui.connect.changes import ClientInstaller
    from synthorg_tui.connect.clients import CLIENTS, here
    from synthorg_tui.connect.errors import ClientConfigError

    try:
        installer = ClientInstaller(context.data_dir.absolute(), here())
        older = installer.older_hooks(CLIENTS["claude-code"])
    except ClientConfigError:  # `connect` and `disconnect` tell of damaged records
        return ""
    return Note(
        *(
            f"{safe_text(short_path(record.path))} has hooks of an earlier version, without "
            f"{' and '.join(events)}; `synthorg-tui connect claude-code --{record.scope}` adds them"
            for record, events in older.items()
        )
    )


async def _examined(context: Context) -> "DoctorReport":
    from synthorg_tui.memory.store.doctor import with_sessions

    async with context.engine() as engine:
        with context.working() as job:
            report = await engine.maintenance.doctor(
                fix=context.args.fix,
                progress=lambda read: job.show(_rows(read)),
                cancel=job.requested,
            )
        return await with_sessions(report, engine.executions)


def _rows(read: "RowsRead") -> str:
    return f"{read.done:,} of {read.total:,} rows read"


async def _do_without_log(context: Context) -> None:
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


async def _find_secrets(context: Context) -> Answer:
    """What kinds of secrets are stored where; the exit code is 1 when there are any."""
    async with context.engine() as engine:
        report = await engine.secrets.search()
    note = "`synthorg-tui doctor --secrets --fix` redacts them everywhere" if report.tables else ""
    return Answer(_secrets_shape(report), _secrets_view(report), int(bool(report.tables)), note)


async def _redact_secrets(context: Context) -> Answer:
    """Redact what is stored, once a person typed so; return 1 when something is left to do."""
    from synthorg_tui.cli.terminal import controlling_terminal

    with controlling_terminal() as terminal:
        async with context.own_engine() as engine:
            report = await engine.secrets.search()
            if report.tables:
                context.console.note(*_found(report))
                secrets = counted(report.total, "secret")
                if terminal.ask(f"Redact {secrets} for good, everywhere? Type redact:") != "redact":
                    raise DeclinedError("nothing was changed")
                report = await engine.secrets.redact(actor=context.actor)
    code = 1 if report.left or report.pending else 0
    return Answer(_secrets_shape(report), _secrets_view(report), code)


def _secrets_view(report: "SecretReport") -> View:
    """Kinds and numbers by table, never a secret, and what is left to do."""
    done = "Redacted, except what is named below." if report.left else "Redacted."
    return (
        _found(report) or "No secrets found in what is stored.",
        bool(report.redacted) and done,
        Warn(*(f"{what} stays: {why}" for what, why in report.left), *report.pending),
    )


def _found(report: "SecretReport") -> list[str]:
    return [
        f"{table.table}: {', '.join(f'{kind} ×{count}' for kind, count in table.kinds.items())}"
        for table in report.tables
    ]


def _secrets_shape(report: "SecretReport") -> Json:
    return {
        **fields(report, "secrets=total redacted"),
        "tables": shaped(report.tables, "table kinds"),
        "left": pairs(report.left, "what", "reason"),
        "pending": list(report.pending),
    }


@Command("reindex", is_long=True, more="Nothing is lost: it is made from the database.").owns
async def reindex(context: Context, engine: "Engine") -> Answer:
    """Rebuild the search index from the database."""
    with context.working() as job:
        count = await engine.maintenance.reindex(
            progress=lambda done, total: job.show(f"{done:,} of {total:,} memories"),
            cancel=job.requested,
        )
    return Answer({"reindexed": count}, f"Indexed {counted(count, 'memory', 'memories')}.")


@Command(
    "serve",
    more="Ctrl-C ends it; opening the app takes the store over.",
    examples=("serve",),
    arguments=(
        Argument(
            "--until-idle",
            nargs="?",
            type=whole(0, 86_400),
            const=5,
            metavar="SECONDS",
            help="leave when nobody has been connected for so long (default 5)",
        ),
    ),
).runs
async def serve_store(context: Context) -> int:
    """Own the store and answer other processes, until Ctrl-C or until an app asks for the store.

    With ``--until-idle`` it also ends when no client has been connected for that many seconds.
    """
    from synthorg_tui.host.headless import serve

    with context.working() as job:
        await serve(
            context.settings(),
            data_dir=context.data_dir,
            stop=job.stop,
            until_idle=context.args.until_idle,
            on_ready=lambda _: context.console.note(f"serving {context.data_dir}; Ctrl-C ends it"),
        )
        if job.stop.is_set() and not job.requested.is_set():
            context.console.note("the app asked for the store and has it now")
    return 0


@Command(
    "backup",
    examples=("backup",),
    arguments=(
        Argument(
            "target",
            nargs="?",
            type=storable_path,
            metavar="FILE",
            help="(default: backups/ in the data dir)",
        ),
    ),
).asks
async def backup(context: Context, engine: AnyEngine) -> Answer:
    """Copy the database to a file, also while it is in use, and read the copy whole."""
    with context.working() as job:
        copy = await engine.maintenance.backup(
            context.args.target,
            progress=lambda read: job.show(_rows(read)),
            cancel=job.requested,
        )
    return Answer({"path": str(copy)}, f"Backed up to {copy}")


@Command(
    "restore",
    more="It is read whole\nfirst. The present database is set aside, not deleted.",
    examples=("restore", "restore --list", "restore ~/desk-backup.duckdb"),
    arguments=(
        Argument(
            "backup",
            nargs="?",
            type=path,
            metavar="FILE",
            help="(default: the newest, after asking)",
        ),
        Argument("--list", action="store_true", help="list the backups, restore nothing"),
        YES,
    ),
).runs
async def restore(context: Context) -> Answer:
    """Replace the database by a backup, or list the backups; an agent may only list them."""
    from synthorg_tui.host import opening
    from synthorg_tui.persistence.backups import backups_in, newest_backup

    if context.args.list:
        return _listed(backups_in(context.data_dir))
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
    with context.working() as job:
        await opening.restore(
            context.settings(),
            context.data_dir,
            chosen,
            progress=lambda read: job.show(_rows(read)),
            cancel=job.requested,
        )
    return Answer({"path": str(chosen)}, f"Restored {chosen}")


def _listed(backups: "Sequence[Backup]") -> Answer:
    return Answer(
        {"backups": shaped(backups, "path made_at bytes=size daily=is_daily")},
        [
            f"{local_time(each.made_at)} {each.size / 1e6:10,.1f} MB  "
            f"{'daily' if each.is_daily else '':5}  {each.path}"
            for each in backups
        ]
        or "No backups yet. `synthorg-tui backup` makes one.",
    )
