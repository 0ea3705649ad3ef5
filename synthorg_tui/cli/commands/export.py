"""``export``: the memories as Markdown files, and all tables as Parquet or CSV."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Line, Lines, ProgressLine, View, Warn
from synthorg_tui.cli.records import fields, plain
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.memory.consolidation.wiki_export import WikiExport


@Command(
    "data",
    "write memories and operational data as Parquet or CSV",
    more="One\nfile a table: memories, tasks, cost_records, audit_entries and so on, all of\n"
    "them unless some are named. The folder is new, empty, or that of an earlier\n"
    "export, which is replaced. Texts are as stored; only you may read the files.",
    examples=("export data --to desk", "export data --to desk --format csv tasks memories"),
    arguments=(
        Argument("tables", nargs="*", metavar="TABLE", help="only these tables"),
        Argument("--to", metavar="DIR", type=path, required=True, help="the folder"),
        Argument(
            "--format", choices=("parquet", "csv"), default="parquet", help="(default parquet)"
        ),
    ),
).runs
async def export_data(context: Context) -> Answer:
    """Write the tables to a folder, also while the store is in use."""
    from synthorg_tui.persistence.export import TABLES, ExportFormat

    if unknown := sorted(set(context.args.tables) - set(TABLES)):
        raise UsageError(
            f"there is no table {unknown[0]!r}", remedy=f"There are: {', '.join(TABLES)}."
        )
    async with context.engine() as engine:
        with context.working() as job:
            done = await engine.maintenance.export(
                context.args.to,
                format=ExportFormat(context.args.format),
                tables=tuple(context.args.tables),
                progress=lambda done, total: job.show(f"{done:,} of {total:,} rows"),
                cancel=job.requested,
            )
    total = counted(sum(done.rows.values()), "row")
    head = Line(f"Wrote {total} to {short_path(str(done.path))}", "bold")
    rows = [f"{rows:>9,}  {name}" for name, rows in done.rows.items()]
    return Answer(fields(done, "path format tables=rows"), [head, rows])


def _view(done: "WikiExport") -> View:
    files = counted(done.raw + done.wiki + done.projects, "memory", "memories")
    written = (
        (done.raw, "raw: what happened"),
        (done.wiki, "wiki: what was made of it or is known"),
        (done.projects, "projects"),
    )
    others = (
        (done.removed, "of an earlier export are gone"),
        (done.withheld, "are sensitive and left out"),
        (done.omitted, "are beyond max_entries_per_view or in a view that is off"),
    )
    return (
        Line(f"Wrote {files} to {short_path(str(done.root))}", "bold"),
        Lines(f"{count:>7,}  {what}" for count, what in written if count),
        Lines((f"{count:>7,}  {what}" for count, what in others if count), "dim"),
        Warn(*(f"{name} couldn't be written" for name in done.failed)),
    )


@Command(
    "wiki",
    "write the memories as Markdown files",
    more="raw/ has\nwhat happened, wiki/ what was made of it or is known, index.md a list\n"
    "of both. The folder is made anew as a whole: what is no longer a memory leaves it.\n"
    "Sensitive memories are left out, and files that no export wrote are left alone.",
    examples=("export wiki", "export wiki --to notes/memory --agent claude-code --json"),
    arguments=(
        Argument(
            "--to",
            metavar="DIR",
            type=path,
            help="the folder; otherwise memory.consolidation.wiki_export.export_root",
        ),
        Argument(
            "--agent",
            action="append",
            default=[],
            metavar="ID",
            help="only its memories (repeatable)",
        ),
    ),
).asks
async def export_wiki(context: Context, engine: AnyEngine) -> Answer:
    """Write the folder; returns 1 when a file couldn't be written."""
    from synthorg_tui.memory.consolidation.wiki_export import export_memories, export_root

    config = context.settings().memory.consolidation.wiki_export
    root = context.args.to or export_root(config, context.data_dir)
    agents = tuple(context.args.agent)
    known = {agent.id for agent in await engine.agents() if agent.memories}
    if unknown := sorted(set(agents) - known):
        reason = f"no agent {unknown[0]!r} has memories"
        raise UsageError(reason, remedy="See `synthorg-tui agents`.")
    with ProgressLine(context.console) as line:
        done = await export_memories(
            root.absolute(),
            config,
            engine.desk.browse,
            agents=agents,
            pages={} if agents else dict(await engine.knowledge.pages()),
            progress=lambda read, total: line.update(f"{read:,} of {total:,} memories"),
        )
    code = 1 if done.failed else 0
    return Answer(plain(asdict(done)), _view(done), code)


GROUP: Final = Command(
    "export",
    examples=("export wiki", "export data --to desk --format csv"),
    commands=(export_data, export_wiki),
)
