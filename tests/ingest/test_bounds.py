"""How much of a transcript is read: memory, lines and expansion are bounded, and it is told."""

import os
import tracemalloc
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest import records, sources
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.readers import base, generic
from synthorg_tui.ingest.reading import FileReading, read_file
from synthorg_tui.ingest.service import ImportService
from synthorg_tui.persistence.database import Database
from tests.conftest import FixedClock
from tests.ingest.ingest_fakes import FakeBackend
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.tables import rows

RECORD = b'{"type":"user","sessionId":"s","message":{"content":"the task"}}\n'


@pytest.fixture
async def executions(tmp_path: Path) -> AsyncIterator[ExecutionStore]:
    folder = tmp_path / "store"
    folder.mkdir()
    database = Database.in_dir(folder)
    await database.open()
    yield ExecutionStore(database)
    await database.close()


def importer(executions: ExecutionStore) -> ImportService:
    return ImportService(
        backend=FakeBackend(),
        executions=executions,
        clock=FixedClock(datetime(2026, 12, 31, tzinfo=UTC)),
        environ={},
    )


def bomb(path: Path, content: bytes, times: int) -> Path:
    """An archive that expands to ``content``, ``times`` over, and is nearly nothing on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as archive:
        for _ in range(times):
            archive.write(content)
    return path


def read(path: Path) -> FileReading:
    return read_file(TranscriptFile(path, path.stat().st_size, 0))


@rows("content", [b"\n", b"{}\n", b"\0"])
def test_an_archive_that_expands_more_than_a_transcript_can_is_refused_unread(
    tmp_path: Path, content: bytes
) -> None:
    path = bomb(tmp_path / "a.jsonl.zst", content * (1 << 20), 100)
    reading = read(path)
    assert reading.skipped == "it expands to more than 200 times its size"
    assert reading.is_hopeless
    assert reading.malformed == 0


def test_an_archive_that_expands_as_a_transcript_does_is_read(tmp_path: Path) -> None:
    path = bomb(tmp_path / "a.jsonl.zst", RECORD + os.urandom(2_000).hex().encode() + b"\n", 3)
    reading = read(path)
    assert reading.skipped == ""
    assert len(reading.executions[0].execution.turns) == 3


async def test_a_refused_file_is_told_at_every_import_and_read_again_once_it_changes(
    executions: ExecutionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bomb(tmp_path / "t" / "a.jsonl.zst", b"\n" * (1 << 20), 10)
    service = importer(executions)
    first = await service.run([path])
    monkeypatch.setattr(sources, "open_transcript", None)  # reading it would fail in other words
    second = await service.run([path])
    assert first.skipped == second.skipped
    assert second.unchanged == 1
    monkeypatch.undo()
    bomb(path, RECORD, 1)
    third = await service.run([path])
    assert (third.executions, third.skipped) == (1, ())
    assert (await executions.marks())[str(path)].refusal == ""


@rows(("limit", "reason"), [(3, ""), (2, "it has more than 2 lines")])
def test_a_file_with_too_many_lines_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, reason: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(RECORD + b"\n{}\n")
    monkeypatch.setattr(records, "MAX_LINES", limit)
    assert read(path).skipped == reason


def test_the_rest_of_a_line_that_is_too_long_is_read_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines after it have the numbers that they have in the file."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(RECORD + b'{"a": "' + b"x" * 5_000 + b'"}\n' + RECORD)
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 1_000)
    reading = read(path)
    assert reading.malformed == 1
    turns = reading.executions[0].execution.turns
    assert [turn.first_line for turn in turns] == [1, 3]


def test_a_long_line_of_a_parent_session_is_no_more_in_memory_than_of_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "s" / "subagents" / "agent-a1.jsonl"
    ClaudeTranscript().user("look").add("user", agentId="a1").write(child)
    (tmp_path / "s.jsonl").write_bytes(b'{"agentId": "' + b"x" * 20_000_000 + b'"}\n')
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 100_000)
    tracemalloc.start()
    reading = read(child)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reading.skipped == ""
    assert peak < 10_000_000


def long_session(path: Path, calls: int) -> Path:
    transcript = ClaudeTranscript().user("the task")
    for number in range(calls):
        transcript.bash(f"make {number}", f"{number} " * 2_000)
    return transcript.write(path)


def test_messages_and_calls_beyond_what_an_execution_may_have_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MAX_EVENTS", 3)
    reading = read(long_session(tmp_path / "a.jsonl", 4))
    execution = reading.executions[0].execution
    assert (len(execution.turns), len(execution.calls), reading.left_out) == (1, 2, 2)


def test_texts_of_a_very_long_execution_get_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MAX_TEXT", 3_000)
    outputs = [
        len(call.output)
        for call in read(long_session(tmp_path / "a.jsonl", 3)).executions[0].execution.calls
    ]
    assert outputs[0] > 2_000
    assert outputs[1] > 2_000
    assert outputs[2] <= 200


async def test_what_is_left_out_is_told_beside_what_was_imported(
    executions: ExecutionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MAX_EVENTS", 3)
    path = long_session(tmp_path / "t" / "a.jsonl", 4)
    report = await importer(executions).run([path])
    assert report.executions == 1
    assert [(name, why.split(" beyond")[0]) for name, why in report.skipped] == [
        (str(path), "2 messages and calls")
    ]


@rows(("limit", "hopeless"), [(400, False), (100, True)])
def test_a_large_file_of_our_own_format_asks_to_be_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, hopeless: bool
) -> None:
    monkeypatch.setattr(generic, "MAX_FILE", limit)
    path = tmp_path / "a.jsonl"
    path.write_text('{"format":"synthorg-execution","session":"a","agent":"b","task":"c"}\n' * 3)
    reading = read(path)
    assert reading.is_hopeless is hopeless
    assert ("split it" in reading.skipped) is hopeless
