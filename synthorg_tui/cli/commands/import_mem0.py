"""``import mem0``: bring over the memories of an existing Mem0 store, with their history."""

from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import Answer, Lines, Parts, View
from synthorg_tui.cli.records import Json, fields, pairs
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.ingest.mem0 import Mem0Report


def _view(report: "Mem0Report") -> View:
    would = "would be " if report.dry_run else ""
    counts = (
        (report.updated, "changed there since the last import"),
        (report.versions, "former texts in the history"),
        (report.redactions, "redacted secrets"),
        (report.deleted, "deleted there: left out"),
        (report.unreadable, "rows that can't be read"),
    )
    return (
        Parts(
            [
                (f"{counted(report.memories, 'memory', 'memories')} there",),
                (f"{report.added:,} {would}added", "bold"),
                (f"{report.known:,} known already",),
            ]
        ),
        Lines(f"{count:,} {words}" for count, words in counts if count),
        Lines(f"  {agent}  {count:,}" for agent, count in sorted(report.agents.items())),
    )


def is_meant(paths: list[Path]) -> bool:
    """Return whether an import is of a Mem0 store; a file of that name is ``./mem0``."""
    return len(paths) > 0 and str(paths[0]) == "mem0"


async def run(context: Context) -> int:
    """Import a Mem0 store once; a second import adds only what is new there."""
    import asyncio

    from synthorg_tui.core.clock import SystemClock
    from synthorg_tui.ingest.mem0 import Mem0Import, read_store
    from synthorg_tui.memory.capabilities import LOCAL, Feature
    from synthorg_tui.memory.extensions import BatchStore

    args = context.args
    if len(args.paths) != 2:
        raise UsageError("name the folder of the Mem0 store: synthorg-tui import mem0 PATH")
    path = args.paths[1]
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    backend = context.settings().memory.backend
    if backend != LOCAL:
        raise Feature.IMPORTS.refused_by(backend)
    source = await asyncio.to_thread(read_store, path, args.history)
    async with context.engine(is_long=True) as engine:
        if not isinstance(engine.memory, BatchStore):
            raise Feature.IMPORTS.refused_by(backend)
        service = Mem0Import(engine.memory, engine.desk, SystemClock(), args.agent)
        with context.working() as job:
            report = await service.run(
                source,
                dry_run=args.dry_run,
                progress=lambda r: job.show(
                    f"{r.added + r.known:,} of {counted(r.memories, 'memory', 'memories')}"
                ),
                cancel=job.requested,
            )
    context.print(Answer(_json(report), _view(report)))
    context.warn_skipped(report.skipped)
    if not report.cancelled:
        return 0
    context.console.error("cancelled; what is done is kept", "Import again to go on.")
    return CANCELLED


def _json(report: "Mem0Report") -> Json:
    return {
        **fields(report, "dry_run memories added updated known versions deleted unreadable"),
        "redactions": report.redactions,
        "agents": dict(sorted(report.agents.items())),
        "skipped": pairs(report.skipped, "id", "reason"),
    }
