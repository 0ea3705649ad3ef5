"""``import``, ``watch`` and ``demo``."""

import tempfile
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli import shapes
from synthorg_tui.cli.commands.search import show_results
from synthorg_tui.cli.console import Console, plural
from synthorg_tui.cli.context import Context, UsageError, cancelled_by_signal
from synthorg_tui.cli.progress import ImportLine
from synthorg_tui.memory.models import MemoryQuery

if TYPE_CHECKING:
    from synthorg_tui.ingest.service import ImportReport

CANCELLED = 130
_REASONS_SHOWN = 20
_DEMO_QUERY = "push a branch that has no upstream"


async def run_import(context: Context) -> int:
    """Import the given transcripts, or those found in the usual places."""
    paths = _paths(context)
    async with context.engine() as engine:
        line = ImportLine(context.console)
        with cancelled_by_signal(context.console) as cancellation, line:
            report = await engine.imports.run(paths, progress=line, cancel=cancellation.requested)
    if context.wants_json:
        context.console.json(shapes.report(report))
    else:
        _show_report(context.console, report)
    _show_skipped(context.console, report)
    if not report.files and paths is None:
        context.console.note("Nothing in the usual places; name a file or folder to import.")
    if report.cancelled:
        context.console.error("cancelled; what is done is kept", "Import again to go on.")
        return CANCELLED
    return 0


async def run_watch(context: Context) -> int:
    """Import again and again until Ctrl-C; one line for each import that brought something."""
    paths = _paths(context)
    async with context.own_engine() as engine:
        context.console.note("watching; Ctrl-C ends it")
        with cancelled_by_signal(context.console) as cancellation:
            async for report in engine.imports.watch(paths, stop=cancellation.stop):
                if context.wants_json:
                    context.console.json(shapes.report(report), indent=None)
                elif report.executions:
                    _show_report(context.console, report)
                _show_skipped(context.console, report)
    return CANCELLED


async def run_demo(context: Context) -> int:
    """Import the sample into a store of its own and search it, with the default settings."""
    from synthorg_tui.engine import Engine
    from synthorg_tui.settings.loader import shipped_settings

    console = context.console
    settings = context.settings() if context.args.config else shipped_settings()
    sample = as_file(files("synthorg_tui.ingest").joinpath("sample"))
    with _demo_directory(context.args.data_dir) as data_dir, sample as folder:
        async with Engine.open(settings, data_dir=Path(data_dir)) as engine:
            console.note("importing the sample")
            report = await engine.imports.run([folder])
            result = await engine.desk.find(MemoryQuery(text=_DEMO_QUERY, limit=3))
            resolver = shapes.SourceResolver(engine.executions)
            sources = [await resolver.resolve(hit.source) for hit in result.hits]
    if context.wants_json:
        hits = [shapes.hit(h, s) for h, s in zip(result.hits, sources, strict=True)]
        console.json({"import": shapes.report(report), "query": _DEMO_QUERY, "results": hits})
    else:
        _show_report(console, report)
        console.line()
        console.line(f'synthorg-tui search "{_DEMO_QUERY}"', "bold")
        console.line()
        show_results(console, result, sources)
        console.note("Next: `synthorg-tui import` for your own sessions, `synthorg-tui` to browse.")
    return 0


def _demo_directory(given: Path | None) -> AbstractContextManager[str]:
    if given is not None:
        return nullcontext(str(given))
    return tempfile.TemporaryDirectory(prefix="synthorg-demo-")


def _paths(context: Context) -> list[Path] | None:
    for path in context.args.paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    return context.args.paths or None


def _show_report(console: Console, report: "ImportReport") -> None:
    if report.files and report.unchanged == report.files:
        console.line(f"{plural(report.files, 'file')}, nothing new.")
        return
    changed = [plural(report.memories_added, "memory", "memories") + " added"]
    if report.memories_updated:
        changed.append(f"{report.memories_updated:,} updated")
    if report.memories_skipped:
        changed.append(f"{report.memories_skipped:,} known already or skipped")
    read = f"{plural(report.executions, 'session')} in {plural(report.files, 'file')}"
    console.parts([(read,), (", ".join(changed), "bold")])
    calls = [
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in shapes.calls(report.calls).items()
        if count
    ]
    if calls:
        console.line(f"tool calls: {', '.join(calls)}")
    for count, one, many in (
        (report.recoveries, "recovered failure", ""),
        (report.redactions, "redacted secret", ""),
        (report.malformed_lines, "malformed line", ""),
        (report.unknown_records, "record of unknown type", "records of unknown type"),
    ):
        if count:
            console.line(plural(count, one, many))
    if report.lessons_proposed:
        proposed = plural(report.lessons_proposed, "lesson")
        console.line(f"{proposed} proposed; `synthorg-tui proposals list` shows them")


def _show_skipped(console: Console, report: "ImportReport") -> None:
    for name, reason in report.skipped[:_REASONS_SHOWN]:
        console.warning(f"skipped {name}: {reason}")
    if len(report.skipped) > _REASONS_SHOWN:
        console.note(f"and {len(report.skipped) - _REASONS_SHOWN} more")
