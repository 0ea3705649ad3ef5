"""What the readers make of a folder of agents' files, and of very many of them.

    python -m benchmarks.readers DIR [--megabytes 200]

Every reader is fed every file in DIR (``*.sql`` are made into databases before). With --megabytes
the sessions found are multiplied into a throw-away home, imported, cancelled half-way and resumed.
"""

import asyncio
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from benchmarks.table import Grid, Limit, Report, Row, command_line, print_report
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.ingest import reading
from synthorg_tui.ingest.discovery import TranscriptFile, collect
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.reading import FileReading, read_file

NAMES = {"opencode": "opencode.db", "goose": "sessions.db"}
"""What the program of this name calls its database."""
OUTCOMES = tuple(outcome.value for outcome in CallOutcome)
COLUMNS = ("files", "sessions", *OUTCOMES, "unknown records", "malformed")
NOBODY = "(no reader)"
WAITED = 1_800


@dataclass(slots=True)
class Tally:
    """What one reader made of the files that it recognised."""

    figures: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, done: FileReading) -> None:
        self.figures["files"] += 1
        self.figures["sessions"] += len(done.executions)
        self.figures["unknown records"] += done.unknown
        self.figures["malformed"] += done.malformed
        self.kinds.update(done.unknown_kinds)
        for each in done.executions:
            self.figures.update(call.outcome.value for call in each.execution.calls)


def with_databases(folder: Path, place: Path) -> list[Path]:
    """Make databases of the ``*.sql`` files, and return all there is to read."""
    for script in folder.rglob("*.sql"):
        made = place / script.parent.name / NAMES.get(script.stem, f"{script.stem}.db")
        made.parent.mkdir(parents=True, exist_ok=True)
        with suppress(sqlite3.Error), closing(sqlite3.connect(made)) as database:
            database.executescript(script.read_text(encoding="utf-8"))
    return [folder, place]


def fed_to_each(files: list[TranscriptFile]) -> tuple[dict[str, Tally], int]:
    """Read every file with every reader; returns the tallies, and how many files two readers read.

    A file that nobody recognises is counted under ``NOBODY``.
    """
    tallies: dict[str, Tally] = {}
    doubles = 0
    for file in files:
        readers = 0
        for reader in READERS:
            with patch.object(reading, "READERS", (reader,)):
                done = read_file(file)
            if done.reader:
                readers += 1
                tallies.setdefault(reader.name, Tally()).add(done)
        doubles += readers > 1
        if not readers:
            tallies.setdefault(NOBODY, Tally()).add(done)
    return tallies, doubles


def multiplied(files: list[TranscriptFile], home: Path, megabytes: int) -> int:
    """Write copies of sessions, each under an id of its own; returns how many sessions these are.

    A copy is as the original but for the first characters of its session's id.
    """
    sources = [(file, list(ids_in(file))) for file in files if "#" not in file.path.name]
    sources = [
        (file, ids) for file, ids in sources if len(ids) == 1 and file.path.suffix == ".jsonl"
    ]
    written = sessions = number = 0
    while sources and written < megabytes * 1_000_000:
        for file, (identity,) in sources:
            number += 1
            fresh = f"{number:08x}{identity[8:]}"
            text = file.path.read_bytes().replace(identity.encode(), fresh.encode())
            target = home / str(number % 97) / f"{number:08x}" / file.path.name
            target = target.with_name(target.name.replace(identity, fresh))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
            written += len(text)
            sessions += 1
    return sessions


def ids_in(file: TranscriptFile) -> Iterator[str]:
    """The ids of the sessions in a file, where its text has them."""
    for each in read_file(file).executions:
        identity = each.execution.session_id
        if len(identity) > 12 and identity.encode() in file.path.read_bytes():
            yield identity


def imported(home: Path, store: Path, *, cancel_at: float) -> dict[str, float]:
    """Import in a process of its own, up to this share of the bytes; returns its figures."""
    code = (
        f"from benchmarks.readers import child; child({str(home)!r}, {str(store)!r}, {cancel_at})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAITED, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def child(home: str, store: str, cancel_at: float) -> None:
    """Do one import and print its figures as JSON."""
    print(json.dumps(asyncio.run(_import(Path(home), Path(store), cancel_at))))


async def _import(home: Path, store: Path, cancel_at: float) -> dict[str, float]:
    from synthorg_tui.engine import Engine
    from synthorg_tui.ingest.service import ImportProgress
    from synthorg_tui.settings.loader import shipped_settings

    cancel, done = threading.Event(), 0

    def progress(step: ImportProgress) -> None:
        nonlocal done
        done = step.bytes_done
        if step.bytes_done >= cancel_at * step.bytes_total:
            cancel.set()

    async with Engine.open(shipped_settings(), data_dir=store) as engine:
        began = time.monotonic()
        report = await engine.imports.run(
            [home], progress=progress, cancel=cancel if cancel_at < 1 else None
        )
        seconds = time.monotonic() - began
        return {
            "seconds": seconds,
            "megabytes": done / 1_000_000,
            "sessions": report.executions,
            "memories": report.memories_added,
            "unchanged": report.unchanged,
            "stored": await engine.executions.count(),
            "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024,
        }


def in_bulk(files: list[TranscriptFile], megabytes: int, place: Path) -> list[Row]:
    """Import many megabytes, cancelled half-way and resumed; once whole, to compare."""
    home = place / "home"
    expected = multiplied(files, home, megabytes)
    first = imported(home, place / "cut", cancel_at=0.5)
    rest = imported(home, place / "cut", cancel_at=2)
    again = imported(home, place / "cut", cancel_at=2)
    whole = imported(home, place / "whole", cancel_at=2)
    cut = first["memories"] + rest["memories"]
    return [
        Row("written", whole["megabytes"], "MB", digits=1),
        Row("sessions", expected),
        Row("imported whole", whole["megabytes"] / whole["seconds"], "MB/s", digits=2),
        Row("peak resident memory, whole", whole["resident"], "MiB"),
        Row("imported before it was cancelled", first["sessions"], "sessions"),
        Row("peak resident memory, resumed", rest["resident"], "MiB"),
        Row("sessions lost", expected - rest["stored"], hold=Limit("<=", 0)),
        Row("memories lost", whole["memories"] - cut, hold=Limit("<=", 0)),
        Row("memories twice", cut - whole["memories"], hold=Limit("<=", 0)),
        Row("memories added by a third import", again["memories"], hold=Limit("<=", 0)),
    ]


def main() -> int:
    """Measure and print; 1 if a limit is missed."""
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--megabytes", type=int, default=0)
    args = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="readers-"))
    try:
        files, _ = collect(with_databases(args.folder, place / "databases"))
        tallies, doubles = fed_to_each(files)
        lines = {
            name: [float(tallies[name].figures[column]) for column in COLUMNS]
            for name in sorted(tallies)
        }
        grid = Grid("reader", COLUMNS, lines, digits=0)
        rows = [Row("files", len(files)), Row("files read by two", doubles, hold=Limit("<=", 0))]
        rows += grid.as_rows() if args.json else []
        rows += in_bulk(files, args.megabytes, place) if args.megabytes else []
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if not args.json:
        print(grid.as_table())
        for name, tally in tallies.items():
            if tally.kinds:
                print(f"unknown to {name}: {dict(tally.kinds)}")
    report = Report("readers", {"files": len(files), "megabytes": args.megabytes}, rows)
    print_report(report, as_json=args.json)
    return int(report.missed)


if __name__ == "__main__":
    sys.exit(main())
