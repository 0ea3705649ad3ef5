"""``move``: copies the whole store to a server or back into the data directory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import YES, Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Lines, Note, View
from synthorg_tui.cli.records import fields
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.persistence.config import PersistenceConfig
    from synthorg_tui.persistence.moving import MovePlan, MoveReport, MoveStep, NamedStore

_POSTGRES: Final = "postgres"
_LOCAL: Final = "local"
_MOVED: Final = "the store is being moved, and what changes now would stay behind"


@Command(
    "move",
    more="The store it comes\nfrom stays as it is, and in use until you change the settings: "
    "it prints how.\nStopped or killed, the same command goes on where it was; at the end "
    "every row\nis compared on both sides. The target has to be empty, or of the same move.",
    examples=(
        "move --to postgres --url-env STORE_URL --dry-run",
        "move --to postgres --url-env STORE_URL",
        "move --to local",
    ),
    arguments=(
        Argument(
            "--to", choices=(_POSTGRES, _LOCAL), required=True, help="where the store is to be"
        ),
        Argument(
            "--url-env",
            metavar="NAME",
            help="the environment variable with the server's address (default: the settings')",
        ),
        Argument("--dry-run", action="store_true", help="only say what it would copy"),
        YES,
    ),
).runs
async def move(context: Context) -> Answer:
    """Copy the store, compare both, and say which settings make it the one that is used."""
    from synthorg_tui.persistence.moving import StoreMove

    async with _stores(context, _server(context)) as (source, target):
        plan = await StoreMove(source, target).plan()
        if context.args.dry_run:
            return _planned(source, target, plan)
        rows, again = counted(plan.total, "row"), ", going on with it" if plan.is_continued else ""
        context.confirm(f"Copy {rows} from {source.name} to {target.name}{again}?")
        with context.working() as job:
            copying = StoreMove(
                source,
                target,
                progress=lambda step: job.show(_told(step)),
                cancel=job.requested,
            )
            report = await copying.run()
    return _moved(context, source, target, report)


def _server(context: Context) -> "PersistenceConfig":
    """The settings of the server; raises ``UsageError`` where nothing names one."""
    from synthorg_tui.persistence.config import PersistenceConfig

    configured, name = context.settings().persistence, context.args.url_env
    if name:
        return PersistenceConfig(backend=_POSTGRES, url_env=name)
    if configured.backend != _POSTGRES:
        raise UsageError(
            "no server is named",
            remedy="Name the environment variable with its address: --url-env NAME.",
        )
    return configured


@asynccontextmanager
async def _stores(
    context: Context, server: "PersistenceConfig"
) -> "AsyncIterator[tuple[NamedStore, NamedStore]]":
    """Both stores, open, with the data directory owned: from where, and to where."""
    import platform
    from contextlib import AsyncExitStack
    from tempfile import TemporaryDirectory

    from synthorg_tui.core.errors import DomainError
    from synthorg_tui.host.opening import lock_of, reads_served
    from synthorg_tui.persistence import DATABASE_FILE
    from synthorg_tui.persistence.lock import store_database
    from synthorg_tui.persistence.moving import NamedStore

    to_server, directory = context.args.to == _POSTGRES, context.data_dir.absolute()
    has_file = (directory / DATABASE_FILE).is_file()
    if to_server and not has_file:
        raise DomainError(f"there is no store in {directory}", remedy="Nothing is to be moved.")
    there = store_database(directory, server)
    async with AsyncExitStack() as stack:
        stack.enter_context(await lock_of(directory))
        folder = directory
        if not has_file and context.args.dry_run:  # to look at what isn't there makes nothing
            folder = type(directory)(stack.enter_context(TemporaryDirectory()))
        here = store_database(folder, None)
        for database in (here, there):
            await database.open()
            stack.push_async_callback(database.close)
        configured, source = context.settings().persistence, here if to_server else there
        if not configured.is_postgres if to_server else configured == server:
            serving = reads_served(context.settings(), source, data_dir=directory, why=_MOVED)
            await stack.enter_async_context(serving)
        from synthorg_tui.persistence.postgres.link import place_of  # it may not be installed

        both = (
            NamedStore(f"{platform.node()}:{directory}", here),
            NamedStore(place_of(server.address()), there),
        )
        yield both if to_server else (both[1], both[0])


def _told(step: "MoveStep") -> str:
    return (
        f"{step.done:,} of {step.total:,} rows "
        f"{'compared' if step.is_comparing else 'copied'} ({step.table})"
    )


def _planned(source: "NamedStore", target: "NamedStore", plan: "MovePlan") -> Answer:
    there = f" {plan.present:,} are there already." if plan.is_continued else ""
    return Answer(
        {"from": source.name, "to": target.name, **fields(plan, "rows present is_continued")},
        f"{counted(plan.total, 'row')} would be copied from {source.name} to {target.name}.{there}",
    )


def _moved(
    context: Context, source: "NamedStore", target: "NamedStore", report: "MoveReport"
) -> Answer:
    lines = _settings_for(context)
    return Answer(
        {
            "from": source.name,
            "to": target.name,
            **fields(report, "rows copied redone"),
            "settings": lines,
        },
        [
            f"{counted(sum(report.rows.values()), 'row')} are the same in {source.name} and "
            f"{target.name} ({report.copied:,} copied).",
            bool(report.redone)
            and Note(f"changed meanwhile, copied anew: {', '.join(report.redone)}"),
            _settings_view(context, lines)
            if lines
            else "The settings name it already: it is used from the next start on.",
        ],
    )


def _settings_view(context: Context, lines: list[str]) -> View:
    from synthorg_tui.settings.environment import config_file, default_config_file

    file = config_file(context.args.config) or default_config_file()
    return (
        f"To use it, set in {file}, in place of its section persistence:",
        Lines(f"    {line}" for line in lines),
        Note("Until then the store it came from is in use, and goes on changing."),
    )


def _settings_for(context: Context) -> list[str]:
    """The lines that make the target the store in use; none where the settings say so already."""
    configured = context.settings().persistence
    if context.args.to == _LOCAL:
        return [] if configured.backend != _POSTGRES else ["persistence:", "  backend: duckdb"]
    if configured.backend == _POSTGRES:
        return []
    return ["persistence:", f"  backend: {_POSTGRES}", f"  url_env: {context.args.url_env}"]
