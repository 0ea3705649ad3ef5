"""Every reader's records become conversations: each line in one entry, every text safe."""

from pathlib import Path

import pytest

from synthorg_tui.core.text import has_hidden
from synthorg_tui.executions.conversation import EntryKind, conversation_of
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts
from synthorg_tui.ingest.reading import read_file
from tests.ingest.agent_kit import ANSWER, SESSIONS, TASK, AgentSession
from tests.ingest.test_reader_contract import only, read, written
from tests.soak import points
from tests.tables import rows

LARGE = points(400_000, 2**40)
"""Bytes of a real session that only `make soak` reads."""


@rows("kind", SESSIONS, ids=lambda kind: str(kind.reader))
def test_a_session_of_every_agent_is_a_conversation(
    kind: type[AgentSession], tmp_path: Path
) -> None:
    told = conversation_of(only(read(written(tmp_path, kind().story()))))
    said = [each for each in told.entries if each.kind is not EntryKind.FOLDED]
    assert [(each.kind.value, each.body) for each in said if each.kind is not EntryKind.CALL] == [
        ("said", TASK),
        ("answered", ANSWER),
    ]
    failed, worked = (each for each in said if each.kind is EntryKind.CALL)
    assert failed.told.startswith("failed, exit code 2: ")
    assert worked.told == "ok"
    assert failed.head.partition(" ")[2].startswith("make")


@pytest.mark.soak
def test_real_sessions_are_conversations_that_leave_no_line_out(shared_dir: Path) -> None:
    found = find_transcripts(shared_dir / "data")
    files = [each for each in found if isinstance(each, TranscriptFile)]
    for file in (each for each in files if each.path.stat().st_size < LARGE):
        for extracted in read_file(file).executions:
            told = conversation_of(extracted.execution)
            lines = list(extracted.lines)
            assert told.line_count == len(lines)
            for line in range(1, told.line_count + 1):
                entry = told.entries[told.entry_at(line)]
                assert entry.first_line <= line <= entry.last_line, (file.path, line)
            for entry in told.entries:
                first, last = entry.body_ref
                numbered = [(n, lines[n - 1]) for n in range(first, last + 1)]
                texts = (entry.head, entry.body, entry.told, entry.full_body(numbered))
                assert not any(map(has_hidden, texts)), (file.path, first)
                assert "\n" not in entry.head
