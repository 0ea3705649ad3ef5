"""``import``, ``watch`` and ``demo``: import transcripts once, continuously, or from a sample."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Argument, ArgumentGroup, path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import import_mem0
from synthorg_tui.cli.commands.search import hits_json, results_view, sources_of
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import BLANK, Answer, Line, Lines, Parts, View, Warn
from synthorg_tui.core.text import counted, duration

if TYPE_CHECKING:
    import asyncio

    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.ingest.service import ImportProgress, ImportReport

_LOOK_EVERY = 0.5
"""Seconds between two looks whether the owner of the store, or the person, has ended it."""
_MEGABYTE = 1_000_000
_DEMO_QUERY = "push a branch that has no upstream"


_PATHS: Final = Argument(
    "paths",
    nargs="*",
    type=path,
    metavar="PATH",
    help="files or folders (default: the usual places of the known coding agents)",
)


@Command(
    "import",
    more="Importing again adds only what is new.\nCtrl-C stops and keeps what is done.",
    examples=(
        "import",
        "import ~/.claude/projects/my-project",
        "import --json session.jsonl",
        "import mem0 ~/.mem0 --dry-run",
    ),
    arguments=(
        _PATHS,
        ArgumentGroup(
            Argument("--dry-run", action="store_true", help="only say what would be imported"),
            Argument("--agent", metavar="ID", help="whose all of its memories are to be"),
            Argument("--history", type=path, metavar="FILE", help="its history.db, if elsewhere"),
            title="only with `import mem0 PATH`, for a store of Mem0",
        ),
    ),
).runs
async def import_transcripts(context: Context) -> int:
    """Import the given transcripts, or those found in the usual places."""
    import asyncio

    from synthorg_tui.approvals.person import require_no_agent

    if import_mem0.is_meant(context.args.paths):
        if not context.args.dry_run:
            require_no_agent(reason="a Mem0 store may hold memories of any agent")
        return await import_mem0.run(context)
    if context.args.dry_run or context.args.agent or context.args.history:
        raise UsageError("--dry-run, --agent and --history are for `import mem0 PATH`")
    paths = _paths(context)
    async with context.engine(is_long=True) as engine:
        # In a thread: loading the readers takes long enough to keep a hook waiting.
        imports = await asyncio.to_thread(getattr, engine, "imports")
        with context.working() as job:
            report = await imports.run(
                paths, progress=lambda step: job.show(describe(step)), cancel=job.requested
            )
    context.print(Answer(shapes.import_report(report), _report_view(report)))
    _show_skipped(context, report)
    if not report.files and paths is None:
        context.console.note("Nothing in the usual places; name a file or folder to import.")
    if not report.cancelled:
        return int(_is_nothing_read(report) and paths is not None)
    context.console.error("cancelled; what is done is kept", "Import again to go on.")
    return CANCELLED


@Command(
    "watch",
    more="Ctrl-C ends it.",
    examples=("watch", "watch ~/.codex/sessions"),
    arguments=(_PATHS,),
).runs
async def watch_transcripts(context: Context) -> int:
    """Import repeatedly until Ctrl-C; prints a line for each import that added something.

    Where the process that has the store open does so by itself, what it imports is shown.
    """
    import asyncio

    from synthorg_tui.host.client import RemoteEngine

    paths = _paths(context)
    events: asyncio.Queue[tuple[str, object]] = asyncio.Queue()
    hear = lambda topic, data: events.put_nowait((topic, data))  # noqa: E731
    async with context.engine(on_event=hear, is_long=True) as engine:
        owner = engine if paths is None and isinstance(engine, RemoteEngine) else None
        with context.working() as job:
            if owner is not None and (await owner.following.status()).follows:
                reports = _followed(context, owner, events, job.stop)
            else:
                context.console.note("watching; Ctrl-C ends it")
                reports = _watched(engine, paths, job.stop)
            async for report in reports:
                if context.wants_json:
                    context.console.json(shapes.import_report(report), indent=None)
                else:
                    context.console.show(_report_view(report))
                _show_skipped(context, report)
    return CANCELLED


@Command(
    "demo",
    more="It uses a temporary\ndirectory unless --data-dir names one.",
    examples=("demo", "demo --data-dir /tmp/desk"),
).runs
async def demo(context: Context) -> Answer:
    """Import the sample transcripts into a separate store and search it, with default settings."""
    from importlib.resources import as_file, files

    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.models import MemoryQuery
    from synthorg_tui.settings.loader import shipped_settings

    settings = context.settings() if context.args.config else shipped_settings()
    sample = as_file(files("synthorg_tui.ingest").joinpath("sample"))
    with _demo_directory(context.args.data_dir) as data_dir, sample as folder:
        async with Engine.open(settings, data_dir=Path(data_dir)) as engine:
            context.console.note("importing the sample")
            report = await engine.imports.run([folder])
            result = await engine.desk.find(MemoryQuery(text=_DEMO_QUERY, limit=3))
            sources = await sources_of(result, engine.executions)
    command = Line(f'synthorg-tui search "{_DEMO_QUERY}"', "bold")
    found = results_view(result, sources, _DEMO_QUERY)
    return Answer(
        {
            "import": shapes.import_report(report),
            "query": _DEMO_QUERY,
            "results": hits_json(result, sources),
        },
        [_report_view(report), BLANK, command, BLANK, found],
        note="Next: `synthorg-tui import` for your own sessions, `synthorg-tui` to browse.",
    )


def _report_view(report: "ImportReport") -> View:
    if report.files and report.unchanged == report.files:
        return f"{counted(report.files, 'file')}, nothing new."
    changed = (
        f"{counted(report.memories_added, 'memory', 'memories')} added",
        f"{report.memories_updated:,} updated" if report.memories_updated else "",
        f"{report.memories_skipped:,} known already or skipped" if report.memories_skipped else "",
    )
    read = f"{counted(report.executions, 'session')} in {counted(report.files, 'file')}"
    calls = [
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in shapes.calls(report.calls).items()
        if count
    ]
    found = (
        (report.recoveries, "recovered failure", ""),
        (report.redactions, "redacted secret", ""),
        (report.malformed_lines, "malformed line", ""),
        (report.unknown_records, "record of unknown type", "records of unknown type"),
    )
    refused = counted(report.memories_refused, "memory was", "memories were")
    full = (
        f"{refused} not stored: {', '.join(report.full_agents)} can have no more. "
        "Delete some, or raise memory.options.max_memories_per_agent."
    )
    lessons = counted(report.lessons_proposed, "lesson")
    return (
        Parts([(read,), (", ".join(filter(None, changed)), "bold")]),
        bool(calls) and f"tool calls: {', '.join(calls)}",
        Lines(counted(*each) for each in found if each[0]),
        report.memories_refused > 0 and Warn(full),
        report.lessons_proposed > 0
        and f"{lessons} proposed; `synthorg-tui proposals list` shows them",
    )


async def _watched(
    engine: AnyEngine, paths: "list[Path] | None", stop: "asyncio.Event"
) -> "AsyncIterator[ImportReport]":
    """Watch here; the imports are done where the store is open."""
    import os

    from synthorg_tui.ingest.discovery import usual_places
    from synthorg_tui.ingest.following import watch

    def places() -> list[Path]:
        return paths or [place for _, place in usual_places(Path.home(), os.environ)]

    async for report in watch(engine.imports, places, stop=stop):
        yield report


async def _followed(
    context: Context,
    engine: "RemoteEngine",
    events: "asyncio.Queue[tuple[str, object]]",
    stop: "asyncio.Event",
) -> "AsyncIterator[ImportReport]":
    """Show what the owner of the store imports by itself, until ``stop`` or until it has left."""
    import asyncio

    from pydantic import TypeAdapter

    from synthorg_tui.host.errors import OwnerGoneError
    from synthorg_tui.host.owner import FOLLOWED
    from synthorg_tui.ingest.service import ImportReport

    owner = "the app" if engine.owner.kind == "app" else "the owner of the store"
    context.console.note(
        f"{owner} (process {engine.owner.pid}) imports by itself already; "
        "what comes in is shown here. Ctrl-C ends it"
    )
    while not stop.is_set():
        try:
            topic, data = await asyncio.wait_for(events.get(), _LOOK_EVERY)
        except TimeoutError:
            if engine.is_gone:
                raise OwnerGoneError(
                    f"{owner} has ended.", remedy="`synthorg-tui watch` again imports what comes."
                ) from None
            continue
        if topic == FOLLOWED:
            yield TypeAdapter(ImportReport).validate_python(data)


def _demo_directory(given: Path | None) -> AbstractContextManager[str]:
    if given is not None:
        return nullcontext(str(given))
    import tempfile

    return tempfile.TemporaryDirectory(prefix="synthorg-demo-")


def _paths(context: Context) -> list[Path] | None:
    for given in context.args.paths:
        if not given.exists():
            raise UsageError(f"{given}: no such file or folder")
    return context.args.paths or None


def _is_nothing_read(report: "ImportReport") -> bool:
    """Tell whether nothing of what was named could be read, now or before."""
    from synthorg_tui.ingest.reading import EXPECTED

    missed = any(why not in EXPECTED for _, why in report.skipped)
    return missed and not report.executions and not report.unchanged


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


def _show_skipped(context: Context, report: "ImportReport") -> None:
    """Say what was left out; what is expected is only counted, where nobody reads JSON."""
    from synthorg_tui.ingest.reading import EXPECTED

    expected = [] if context.wants_json else [why for _, why in report.skipped if why in EXPECTED]
    skipped = [each for each in report.skipped if each[1] not in expected]
    context.warn_skipped(skipped)
    counts = Counter(expected)
    context.console.note(
        *(f"{counted(counts[why], 'file')} left out: {why}" for why in dict.fromkeys(expected))
    )
