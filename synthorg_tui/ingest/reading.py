"""Reads one transcript file: picks its reader from its records, runs it, extracts memories."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path

from synthorg_tui.executions.models import Execution, slug
from synthorg_tui.executions.store import FileMark
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.extract.memories import extract
from synthorg_tui.ingest.readers.base import ReadExecution, Reading, TranscriptReader
from synthorg_tui.ingest.readers.claude_code import AGENT, ClaudeCodeReader, subagent_types
from synthorg_tui.ingest.readers.codex import CodexReader
from synthorg_tui.ingest.readers.generic import GenericReader
from synthorg_tui.ingest.records import ReadMeter, Record, TranscriptLines
from synthorg_tui.memory.extensions import MemoryDraft

READERS: tuple[TranscriptReader, ...] = (ClaudeCodeReader(), CodexReader(), GenericReader())
_SNIFFED = 25
"""How many records may come before the first that tells whose transcript it is."""


@dataclass(slots=True)
class ExtractedExecution:
    """An execution, its redacted lines, and the memories found in it."""

    execution: Execution
    lines: list[str]
    drafts: tuple[MemoryDraft, ...]


@dataclass(slots=True)
class FileReading:
    """Everything an import needs to know of one file."""

    mark: FileMark
    executions: list[ExtractedExecution] = field(default_factory=list)
    malformed: int = 0
    unknown: int = 0
    redactions: int = 0
    skipped: str = ""


def read_file(
    file: TranscriptFile, meter: ReadMeter | None = None, *, reporter: str = ""
) -> FileReading:
    """Read, redact and extract; problems of the file are in ``skipped``, never raised.

    With ``reporter`` the file holds what that agent reports of itself, in our own format.
    """
    lines = TranscriptLines(file.path, meter or ReadMeter())
    try:
        reading = _read(lines, (GenericReader(reporter),) if reporter else READERS)
    except (OSError, ValueError, RecursionError) as error:
        reading = Reading(skipped=f"can't be read: {getattr(error, 'strerror', None) or error}")
    executions = [
        _extracted(read, file.path, reported=bool(reporter)) for read in reading.executions
    ]
    return FileReading(
        mark=FileMark(str(file.path), file.size, file.mtime_ns, lines.digest),
        executions=executions,
        malformed=lines.malformed,
        unknown=reading.unknown_records,
        redactions=lines.tally.total,
        skipped=reading.skipped,
    )


def _read(lines: TranscriptLines, readers: Sequence[TranscriptReader]) -> Reading:
    records = lines.records()
    seen: list[tuple[int, Record]] = []
    for number, record in records:
        seen.append((number, record))
        reader = next((each for each in readers if each.recognises(record)), None)
        if reader is not None:
            return reader.read(lines, chain(seen, records))
        if len(seen) >= _SNIFFED:
            break
    empty = not any(lines.kept)
    return Reading(skipped="empty" if empty else "not a transcript of a known agent")


def _extracted(read: ReadExecution, path: Path, *, reported: bool) -> ExtractedExecution:
    execution = _named(read.execution, path)
    drafts = extract(execution, reported=reported)
    return ExtractedExecution(execution, list(read.lines), drafts)


def _named(execution: Execution, path: Path) -> Execution:
    """A subagent with its type in its name, when the session that started it still tells."""
    if execution.reader != ClaudeCodeReader.name or execution.parent_id is None:
        return execution
    agent = execution.id.rpartition("/")[2]
    kind = slug(_declared_types(path).get(agent, ""))
    return execution.model_copy(update={"agent_id": f"{AGENT}/{kind}"}) if kind else execution


def _declared_types(path: Path) -> dict[str, str]:
    folder = path.parent.parent if path.parent.name == "subagents" else path.parent
    parent = folder.with_suffix(".jsonl") if path.parent.name == "subagents" else None
    if parent is None or not parent.is_file() or parent.is_symlink():
        return {}
    stat = parent.stat()
    return _types_in(parent, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _types_in(parent: Path, _size: int, _mtime_ns: int) -> dict[str, str]:
    """Kept for as long as the file is the same: a session may have hundreds of subagents."""
    try:
        return subagent_types(_mentioning_agents(parent))
    except (OSError, ValueError, RecursionError):
        return {}


def _mentioning_agents(path: Path) -> Iterator[Record]:
    """Records that may name a subagent; the rest isn't even decoded."""
    with path.open("rb") as stream:
        for raw in stream:
            if b'"subagent_type"' in raw or b'"agentId"' in raw:
                try:
                    record = json.loads(raw)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record
