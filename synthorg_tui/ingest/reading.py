"""Reading a transcript file in one pass: its executions, and the memories drawn from them.

The first records decide which reader understands the file; what that gives is redacted already,
and memories are drawn from it at once, in the thread that reads. Nothing here stores anything.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, Self

from synthorg_tui.core.process_setup import be_gentle
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.executions.models import Execution, slug
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import FileMark
from synthorg_tui.ingest.discovery import TranscriptFile, source_of
from synthorg_tui.ingest.extract.memories import EXTRACTION, extract
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.readers.base import ReadExecution, Reading, TranscriptReader
from synthorg_tui.ingest.readers.claude_code import (
    AGENT,
    ClaudeCodeReader,
    Declared,
    declared_subagents,
)
from synthorg_tui.ingest.readers.generic import GenericReader
from synthorg_tui.ingest.records import Record, TranscriptLines
from synthorg_tui.ingest.sources import NotWorthReadingError, ReadMeter, bounded_lines
from synthorg_tui.memory.extensions import MemoryDraft

_log = logging.getLogger(__name__)
_SNIFFED = 25
"""How many records may come before the first that shows whose transcript it is."""
NO_RECORDS: Final = "empty"
LONGER_COPY: Final = "a longer copy of this session is imported"
COPY: Final = "all of it is in another session that is imported"
EXPECTED: Final = frozenset(
    {
        NO_RECORDS,
        "the agent's own summary of a session, not work",
        "the agent's own session, not work",
        "nothing was asked or done in it",
        "it goes on in the .jsonl file of the same name",
        LONGER_COPY,
        COPY,
    }
)
"""Why a file is left out that nobody misses: there is nothing to be done about it."""


@dataclass(slots=True)
class ExtractedExecution:
    """An execution, its redacted lines, and drafts of the memories found in it."""

    execution: Execution
    lines: PackedLines
    drafts: tuple[MemoryDraft, ...]


@dataclass(slots=True)
class FileReading:
    """The result of reading one file.

    ``malformed`` is the number of lines that hold no record, ``unknown`` that of records the reader
    doesn't know, ``redactions`` that of replaced secrets, ``left_out`` that of messages and calls
    beyond what one execution may have. ``skipped`` says why the file wasn't understood, empty when
    it was; ``is_hopeless`` that reading it again would only cost the same time. ``unknown_kinds``
    has the unknown records by what they call themselves, ``reader`` is the name of who read it.
    """

    mark: FileMark
    executions: list[ExtractedExecution] = field(default_factory=list)
    malformed: int = 0
    unknown: int = 0
    redactions: int = 0
    left_out: int = 0
    skipped: str = ""
    is_hopeless: bool = False
    unknown_kinds: dict[str, int] = field(default_factory=dict)
    reader: str = ""


class ReadAhead:
    """Reads the next file in a thread while the present one is being stored.

    For each file, ``take`` it, and then ``start`` the next; the end of the context waits for the
    thread, before which everything else goes. ``reporter`` is as for ``read_file``.
    """

    def __init__(self, cancel: threading.Event, *, reporter: str = "") -> None:
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="transcripts", initializer=be_gentle
        )
        self._cancel = cancel
        self._reporter = reporter
        self._meter = ReadMeter(stop=cancel)
        self._waiting: tuple[TranscriptFile, asyncio.Future[FileReading]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    @property
    def bytes_read(self) -> int:
        """The number of (decompressed) bytes read of the file that was started last."""
        return self._meter.bytes

    def start(self, file: TranscriptFile | None) -> None:
        """Begin to read a file in the thread; with ``None`` nothing is read ahead."""
        if file is None:
            self._waiting = None
            return
        self._meter = ReadMeter(stop=self._cancel)
        loop = asyncio.get_running_loop()
        self._waiting = (
            file,
            loop.run_in_executor(self._thread, _read_safely, file, self._meter, self._reporter),
        )

    def take(self, file: TranscriptFile) -> "asyncio.Future[FileReading]":
        """Return a future with the reading of ``file``; starts it now unless it was started."""
        if self._waiting is None or self._waiting[0] is not file:
            self.start(file)
        assert self._waiting is not None
        return self._waiting[1]

    async def finish(self) -> None:
        """Wait for a reading that was started but not taken; it stops soon when cancelled."""
        if self._waiting is not None:
            await self._waiting[1]


def _read_safely(file: TranscriptFile, meter: ReadMeter, reporter: str) -> FileReading:
    """The reading of a file; one that our readers choke on must not stop the others."""
    try:
        return read_file(file, meter, reporter=reporter)
    except Exception as error:
        _log.exception("can't understand %s", file.path)
        mark = FileMark(str(file.path), file.size, file.mtime_ns, "")
        return FileReading(mark, skipped=f"can't be understood: {type(error).__name__}")


def read_file(
    file: TranscriptFile, meter: ReadMeter | None = None, *, reporter: str = ""
) -> FileReading:
    """Read a transcript file, redact it, and extract memories from it.

    Problems of the file are not raised but described in ``skipped``. ``meter`` shows the progress
    and can stop the reading. With ``reporter`` the file holds what the agent with this id reports
    of itself, in our own format.
    """
    lines = TranscriptLines(file.path, meter or ReadMeter(), source_of(file.path))
    is_hopeless = False
    try:
        reading = _read(lines, (GenericReader(reporter),) if reporter else READERS)
    except (OSError, ValueError, RecursionError) as error:
        reading = Reading(skipped=f"can't be read: {getattr(error, 'strerror', None) or error}")
    except NotWorthReadingError as error:
        reading, is_hopeless = Reading(skipped=error.message), True
    executions = [
        _extracted(read, file.path, reported=bool(reporter)) for read in reading.executions
    ]
    return FileReading(
        mark=FileMark(str(file.path), file.size, file.mtime_ns, f"{EXTRACTION}:{lines.digest}"),
        executions=executions,
        malformed=lines.malformed,
        unknown=reading.unknown.total(),
        unknown_kinds=dict(reading.unknown),
        reader=reading.reader,
        redactions=lines.tally.total,
        left_out=reading.left_out,
        skipped=reading.skipped,
        is_hopeless=is_hopeless,
    )


def _read(lines: TranscriptLines, readers: Sequence[TranscriptReader]) -> Reading:
    records = lines.records()
    seen: list[tuple[int, Record]] = []
    for number, record in records:
        seen.append((number, record))
        reader = next((one for one in readers if one.recognises(record)), None)
        if reader is not None:
            reading = replace(reader.read(lines, chain(seen, records)), reader=reader.name)
            if (count := reading.unknown.total()) and not reading.executions:
                shapes = counted(count, "record has", "records have")
                told = f"looks like {reader.name}; {shapes} a shape that isn't known"
                reading = replace(reading, skipped=told)
            return reading
        if len(seen) >= _SNIFFED:
            break
    unknown = "not a transcript of a known agent"
    return Reading(skipped=unknown if lines.redacted.has_text else NO_RECORDS)


def _extracted(read: ReadExecution, path: Path, *, reported: bool) -> ExtractedExecution:
    execution = _named(read.execution, path)
    drafts = extract(execution, reported=reported)
    return ExtractedExecution(execution, read.lines, drafts)


def _named(execution: Execution, path: Path) -> Execution:
    """A subagent as it was declared, when the session that started it is still there."""
    if execution.reader != ClaudeCodeReader.name or execution.parent_id is None:
        return execution
    agent = execution.id.rpartition("/")[2]
    told = _declared(path).get(agent, Declared("", ""))
    kind, about = slug(told.kind), safe_text(redact_text(told.about, RedactionTally()))
    update = (
        {"agent_id": f"{execution.agent_id.rpartition('/')[0] or AGENT}/{kind}"} if kind else {}
    )
    if about and not execution.summary:
        update["summary"] = about
    return execution.model_copy(update=update)


def _declared(path: Path) -> dict[str, Declared]:
    folder = path.parent.parent if path.parent.name == "subagents" else path.parent
    parent = folder.with_suffix(".jsonl") if path.parent.name == "subagents" else None
    if parent is None or not parent.is_file() or parent.is_symlink():
        return {}
    stat = parent.stat()
    return _declared_in(parent, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _declared_in(parent: Path, _size: int, _mtime_ns: int) -> dict[str, Declared]:
    """Cached for as long as the file is the same: a session may have hundreds of subagents."""
    try:
        return declared_subagents(_mentioning_agents(parent))
    except (OSError, ValueError, RecursionError):
        return {}


def _mentioning_agents(path: Path) -> Iterator[Record]:
    """Records that may name a subagent; the rest isn't even decoded."""
    with path.open("rb") as stream:
        for raw in bounded_lines(stream):
            if b'"subagent_type"' in raw or b'"agentId"' in raw:
                try:
                    record = json.loads(raw)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record
