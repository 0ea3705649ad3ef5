import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import FileReading, read_file
from synthorg_tui.ingest.records import TranscriptLines
from tests.ingest.transcript_kit import ClaudeTranscript, CodexTranscript

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(
    (
        *("type", "payload", "message", "content", "sessionId", "format", "uuid", "timestamp"),
        *("input", "name", "id", "role", "call_id", "output", "toolUseResult", "session"),
        *("agent", "calls", "turns", "tool", "text", "attachment", "usage", "data"),
    )
)
VALUES = st.sampled_from(
    (
        *("user", "assistant", "progress", "response_item", "session_meta", "message"),
        *("synthorg-execution", "function_call", "function_call_output", "queue-operation"),
        *("tool_use", "tool_result", "text", "attachment", "s"),
    )
)
RECORDS = st.dictionaries(
    KEYS, st.one_of(VALUES, JSON, st.dictionaries(KEYS, st.one_of(VALUES, JSON))), max_size=8
)


def read_bytes(tmp_path: Path, data: bytes) -> FileReading:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    return read_file(TranscriptFile(path, len(data), 0))


def records(tmp_path: Path, data: bytes) -> TranscriptLines:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    lines = TranscriptLines(path)
    list(lines.records())
    return lines


def test_lines_are_numbered_as_they_stand_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a":1}\n\nnonsense\r\n{"b":2}\r\n')
    lines = TranscriptLines(path)
    assert [number for number, _ in lines.records()] == [1, 4]
    assert len(lines.redacted) == 4


def test_a_broken_line_is_malformed_and_a_blank_one_is_not(tmp_path: Path) -> None:
    assert records(tmp_path, b'{"a":1}\n\n{"b":\n[1]\n').malformed == 2


def test_a_torn_last_line_is_left_for_later(tmp_path: Path) -> None:
    lines = records(tmp_path, b'{"a":1}\n{"b":"hal')
    assert (lines.malformed, lines.torn, len(lines.redacted)) == (0, True, 1)


def test_a_last_line_without_a_line_end_counts_when_it_is_complete(tmp_path: Path) -> None:
    lines = records(tmp_path, b'{"a":1}\n{"b":2}')
    assert (lines.torn, len(lines.redacted)) == (False, 2)


def test_invalid_utf8_and_lone_surrogates_can_be_stored(tmp_path: Path) -> None:
    lines = records(tmp_path, b'{"a":"\xff\xfe"}\n{"b":"\\ud800 \\u0000"}\n')
    assert lines.malformed == 0
    assert "\x00" not in "".join(lines.redacted)
    "".join(lines.redacted).encode()


def test_a_deeply_nested_line_is_malformed_not_fatal(tmp_path: Path) -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    assert records(tmp_path, deep + b'\n{"b":2}\n').malformed == 1


def test_a_line_of_megabytes_is_read_and_its_evidence_cut(tmp_path: Path) -> None:
    lines = records(tmp_path, json.dumps({"a": "x y " * 1_000_000}).encode() + b"\n")
    assert lines.malformed == 0
    assert len(lines.redacted.last) < 100_000


@given(data=st.binary(max_size=300))
def test_garbage_never_raises(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    read_bytes(tmp_path_factory.mktemp("garbage"), data)


@given(lines=st.lists(RECORDS, max_size=6))
def test_records_of_any_shape_never_raise(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, object]]
) -> None:
    starts: list[dict[str, object]] = [
        {"type": "user", "sessionId": "s"},
        {"type": "session_meta", "payload": {"id": "s"}},
        {"format": "synthorg-execution", "session": "s", "agent": "a"},
    ]
    for start in starts:
        data = "".join(json.dumps(line) + "\n" for line in [start, *lines])
        read_bytes(tmp_path_factory.mktemp("shapes"), data.encode())


@given(cut=st.integers(min_value=0, max_value=2_000))
@settings(max_examples=30, deadline=None)
def test_a_file_cut_anywhere_has_no_malformed_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    for transcript in (
        ClaudeTranscript().user("the täsk").bash("make", "ok").say("Done."),
        CodexTranscript().message("user", "the täsk").run("make", "Exit code: 0\nOutput:\n"),
    ):
        data = "".join(f"{line}\n" for line in transcript.lines).encode()
        assert read_bytes(tmp_path_factory.mktemp("cut"), data[:cut]).malformed == 0


def test_a_file_of_no_known_agent_is_skipped_with_a_reason(tmp_path: Path) -> None:
    assert "not a transcript" in read_bytes(tmp_path, b'{"hello": "world"}\n').skipped


def test_an_empty_file_is_skipped_with_a_reason(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"").skipped == "empty"
