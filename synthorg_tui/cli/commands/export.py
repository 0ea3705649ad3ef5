"""``export``: the memories as Markdown files, and all tables as Parquet or CSV."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command, add_group, path
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import ProgressLine
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from synthorg_tui.cli.context import Context
    from synthorg_tui.memory.consolidation.wiki_export import WikiExport


def add(commands: Subparsers) -> None:
    """Add the parsers of ``export`` to ``commands``."""
    actions = add_group(
        commands,
        "export",
        COMMANDS["export"].summary,
        examples=("export wiki", "export data --to desk --format csv"),
    )
    _add_data(actions)
    parser = add_command(
        actions,
        "wiki",
        run_wiki,
        "write the memories as Markdown files",
        more="raw/ has\nwhat happened, wiki/ what was made of it or is known, index.md a list\n"
        "of both. The folder is made anew as a whole: what is no longer a memory leaves it.\n"
        "Sensitive memories are left out, and files that no export wrote are left alone.",
        examples=("export wiki", "export wiki --to notes/memory --agent claude-code --json"),
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        type=path,
        help="the folder; otherwise memory.consolidation.wiki_export.export_root",
    )
    parser.add_argument(
        "--agent", action="append", default=[], metavar="ID", help="only its memories (repeatable)"
    )


def _add_data(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "data",
        run_data,
        "write memories and operational data as Parquet or CSV",
        more="One\nfile a table: memories, tasks, cost_records, audit_entries and so on, all of\n"
        "them unless some are named. The folder is new, empty, or that of an earlier\n"
        "export, which is replaced. Texts are as stored; only you may read the files.",
        examples=("export data --to desk", "export data --to desk --format csv tasks memories"),
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these tables")
    parser.add_argument("--to", metavar="DIR", type=path, required=True, help="the folder")
    parser.add_argument(
        "--format", choices=("parquet", "csv"), default="parquet", help="(default parquet)"
    )


async def run_data(context: "Context") -> int:
    """Write the tables to a folder, also while the store is in use."""
    from synthorg_tui.cli.context import cancelled_by_signal
    from synthorg_tui.persistence.export import TABLES, ExportFormat

    tables = tuple(context.args.tables)
    if unknown := sorted(set(tables) - set(TABLES)):
        raise UsageError(
            f"there is no table {unknown[0]!r}", remedy=f"There are: {', '.join(TABLES)}."
        )
    line = ProgressLine(context.console)
    async with context.engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, line:
            done = await engine.maintenance.export(
                context.args.to,
                format=ExportFormat(context.args.format),
                tables=tables,
                progress=lambda done, total: line.update(f"{done:,} of {total:,} rows"),
                cancel=cancellation.requested,
            )
    if context.wants_json:
        shape = {"path": str(done.path), "format": done.format.value, "tables": dict(done.rows)}
        context.console.json(shape)
        return 0
    total = counted(sum(done.rows.values()), "row")
    context.console.line(f"Wrote {total} to {_shown(done.path)}", "bold")
    for name, rows in done.rows.items():
        context.console.line(f"{rows:>9,}  {name}")
    return 0


async def run_wiki(context: "Context") -> int:
    """Write the folder; returns 1 when a file couldn't be written."""
    from synthorg_tui.memory.consolidation.wiki_export import export_memories, export_root

    config = context.settings().memory.consolidation.wiki_export
    root = context.args.to or export_root(config, context.data_dir)
    agents = tuple(context.args.agent)
    async with context.engine() as engine:
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
    if context.wants_json:
        shape = asdict(done) | {"root": str(done.root), "failed": list(done.failed)}
        context.console.json(shape)
    else:
        _show(context, done)
    return 1 if done.failed else 0


def _show(context: "Context", done: "WikiExport") -> None:
    console = context.console
    files = counted(done.raw + done.wiki + done.projects, "memory", "memories")
    console.line(f"Wrote {files} to {_shown(done.root)}", "bold")
    for count, what in (
        (done.raw, "raw: what happened"),
        (done.wiki, "wiki: what was made of it or is known"),
        (done.projects, "projects"),
    ):
        if count:
            console.line(f"{count:>7,}  {what}")
    for count, what in (
        (done.removed, "of an earlier export are gone"),
        (done.withheld, "are sensitive and left out"),
        (done.omitted, "are beyond max_entries_per_view or in a view that is off"),
    ):
        if count:
            console.line(f"{count:>7,}  {what}", "dim")
    for name in done.failed:
        console.warning(f"{name} couldn't be written")


def _shown(root: "Path") -> str:
    from synthorg_tui.core.paths import short_path

    return short_path(str(root))
