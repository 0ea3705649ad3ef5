"""``import``, ``watch`` and ``demo``: import transcripts once, continuously, or from a sample."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Subparsers, add_command, path
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.search import hits_json, show_results, sources_of
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import Console, ProgressLine
from synthorg_tui.core.text import counted, duration

if TYPE_CHECKING:
    import argparse

    from synthorg_tui.cli.context import Context
    from synthorg_tui.ingest.service import ImportProgress, ImportReport

_REASONS_SHOWN = 20
_MEGABYTE = 1_000_000
_DEMO_QUERY = "push a branch that has no upstream"


def add(commands: Subparsers) -> None:
    """Add the parsers of ``import``, ``watch`` and ``demo`` to ``commands``."""
    parser = add_command(
        commands,
        "import",
        run_import,
        COMMANDS["import"].summary,
        more="Importing again adds only what is new.\nCtrl-C stops and keeps what is done.",
        examples=("import", "import ~/.claude/projects/my-project", "import --json session.jsonl"),
    )
    _add_paths(parser)
    parser = add_command(
        commands,
        "watch",
        run_watch,
        COMMANDS["watch"].summary,
        more="Ctrl-C ends it.",
        examples=("watch", "watch ~/.codex/sessions"),
    )
    _add_paths(parser)
    add_command(
        commands,
        "demo",
        run_demo,
        COMMANDS["demo"].summary,
        more="It uses a temporary\ndirectory unless --data-dir names one.",
        examples=("demo", "demo --data-dir /tmp/desk"),
    )


def _add_paths(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        type=path,
        metavar="PATH",
        help="files or folders (default: the usual places of the known coding agents)",
    )


async def run_import(context: "Context") -> int:
    """Import the given transcripts, or those found in the usual places."""
    from synthorg_tui.cli.context import cancelled_by_signal

    paths = _paths(context)
    async with context.engine() as engine:
        line = ProgressLine(context.console)
        with cancelled_by_signal(context.console) as cancellation, line:
            report = await engine.imports.run(
                paths,
                progress=lambda step: line.update(describe(step)),
                cancel=cancellation.requested,
            )
    if context.wants_json:
        context.console.json(shapes.import_report(report))
    else:
        _show_report(context.console, report)
    _show_skipped(context.console, report)
    if not report.files and paths is None:
        context.console.note("Nothing in the usual places; name a file or folder to import.")
    if report.cancelled:
        context.console.error("cancelled; what is done is kept", "Import again to go on.")
        return CANCELLED
    return 0


async def run_watch(context: "Context") -> int:
    """Import repeatedly until Ctrl-C; prints a line for each import that added something."""
    from synthorg_tui.cli.context import cancelled_by_signal

    paths = _paths(context)
    async with context.own_engine() as engine:
        context.console.note("watching; Ctrl-C ends it")
        with cancelled_by_signal(context.console) as cancellation:
            async for report in engine.imports.watch(paths, stop=cancellation.stop):
                if context.wants_json:
                    context.console.json(shapes.import_report(report), indent=None)
                elif report.executions:
                    _show_report(context.console, report)
                _show_skipped(context.console, report)
    return CANCELLED


async def run_demo(context: "Context") -> int:
    """Import the sample transcripts into a separate store and search it, with default settings."""
    from importlib.resources import as_file, files

    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.models import MemoryQuery
    from synthorg_tui.settings.loader import shipped_settings

    console = context.console
    settings = context.settings() if context.args.config else shipped_settings()
    sample = as_file(files("synthorg_tui.ingest").joinpath("sample"))
    with _demo_directory(context.args.data_dir) as data_dir, sample as folder:
        async with Engine.open(settings, data_dir=Path(data_dir)) as engine:
            console.note("importing the sample")
            report = await engine.imports.run([folder])
            result = await engine.desk.find(MemoryQuery(text=_DEMO_QUERY, limit=3))
            sources = await sources_of(result, engine.executions)
    if context.wants_json:
        hits = hits_json(result, sources)
        console.json(
            {"import": shapes.import_report(report), "query": _DEMO_QUERY, "results": hits}
        )
    else:
        _show_report(console, report)
        console.line()
        console.line(f'synthorg-tui search "{_DEMO_QUERY}"', "bold")
        console.line()
        show_results(console, result, sources, _DEMO_QUERY)
        console.note("Next: `synthorg-tui import` for your own sessions, `synthorg-tui` to browse.")
    return 0


def _demo_directory(given: Path | None) -> AbstractContextManager[str]:
    if given is not None:
        return nullcontext(str(given))
    import tempfile

    return tempfile.TemporaryDirectory(prefix="synthorg-demo-")


def _paths(context: "Context") -> list[Path] | None:
    for given in context.args.paths:
        if not given.exists():
            raise UsageError(f"{given}: no such file or folder")
    return context.args.paths or None


def describe(step: "ImportProgress") -> str:
    """Return an import's progress as one line of text.

    ``3 of 20 files · 12.3 of 40.0 MB · 1.1 MB/s · 25 s left · 140 memories · name``
    """
    left = f"{duration(step.seconds_left)} left" if step.seconds_left is not None else ""
    parts = (
        f"{step.files_done:,} of {counted(step.files_total, 'file')}",
        f"{step.bytes_done / _MEGABYTE:.1f} of {step.bytes_total / _MEGABYTE:.1f} MB",
        f"{step.bytes_per_second / _MEGABYTE:.1f} MB/s",
        left,
        counted(step.memories_added, "memory", "memories"),
        step.current,
    )
    return " · ".join(part for part in parts if part)


def _show_report(console: Console, report: "ImportReport") -> None:
    if report.files and report.unchanged == report.files:
        console.line(f"{counted(report.files, 'file')}, nothing new.")
        return
    changed = [counted(report.memories_added, "memory", "memories") + " added"]
    if report.memories_updated:
        changed.append(f"{report.memories_updated:,} updated")
    if report.memories_skipped:
        changed.append(f"{report.memories_skipped:,} known already or skipped")
    read = f"{counted(report.executions, 'session')} in {counted(report.files, 'file')}"
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
            console.line(counted(count, one, many))
    if report.memories_refused:
        refused = counted(report.memories_refused, "memory was", "memories were")
        console.warning(
            f"{refused} not stored: {', '.join(report.full_agents)} can have no more. "
            "Delete some, or raise memory.options.max_memories_per_agent."
        )
    if report.lessons_proposed:
        proposed = counted(report.lessons_proposed, "lesson")
        console.line(f"{proposed} proposed; `synthorg-tui proposals list` shows them")


def _show_skipped(console: Console, report: "ImportReport") -> None:
    for name, reason in report.skipped[:_REASONS_SHOWN]:
        console.warning(f"skipped {name}: {reason}")
    if len(report.skipped) > _REASONS_SHOWN:
        console.note(f"and {len(report.skipped) - _REASONS_SHOWN} more")
