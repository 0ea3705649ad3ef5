import json
from pathlib import Path

import pytest

from synthorg_tui.ingest import sources
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts, source_of
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.ingest.sources import ReadMeter, document_items, file_lines
from tests.tables import rows


def lines(path: Path, text: str) -> list[object]:
    path.write_text(text)
    return [json.loads(line) for line in document_items(path, ReadMeter())]


@rows(
    ("document", "items"),
    [
        (
            {"id": 1, "messages": [{"a": 2}, {"a": 3}]},
            [{"id": 1}, {"messages": {"a": 2}}, {"messages": {"a": 3}}],
        ),
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 2}]),
        ({"tags": ["x"], "none": []}, [{"tags": ["x"], "none": []}]),
        ("text", []),
    ],
)
def test_a_document_is_taken_apart_into_a_head_and_a_line_an_item(
    tmp_path: Path, document: object, items: list[object]
) -> None:
    assert lines(tmp_path / "a.json", json.dumps(document, indent=2)) == items


def test_a_document_that_grows_keeps_the_numbers_of_its_lines(tmp_path: Path) -> None:
    before = lines(tmp_path / "a.json", '{"messages": [{"a": 1}]}')
    after = lines(tmp_path / "a.json", '{"messages": [{"a": 1}, {"a": 2}]}')
    assert after[: len(before)] == before


@rows("text", ["", '{"messages": [{"a"', "\x00", "[" * 200_000])
def test_a_document_that_isnt_whole_is_told_and_read_again(tmp_path: Path, text: str) -> None:
    path = tmp_path / "session-1.json"
    path.write_text(text)
    reading = read_file(TranscriptFile(path, 0, 0))
    assert reading.skipped == "can't be read: no complete JSON document"
    assert not reading.is_hopeless


@rows(("over", "is_hopeless"), [(0, False), (1, True)])
def test_a_document_may_be_as_large_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: int, is_hopeless: bool
) -> None:
    path = tmp_path / "session-1.json"
    path.write_text('{"messages": [{"a": 1}]}')
    monkeypatch.setattr(sources, "MAX_DOCUMENT", path.stat().st_size - over)
    assert read_file(TranscriptFile(path, 0, 0)).is_hopeless is is_hopeless


def test_reading_a_document_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    meter = ReadMeter()
    meter.stop.set()
    with pytest.raises(InterruptedError):
        list(document_items(path, meter))


def test_a_files_name_tells_the_source_of_its_lines() -> None:
    assert source_of(Path("a.jsonl")) is file_lines
    assert source_of(Path("session-1.json")) is document_items
    assert source_of(Path("named-on-the-command-line.json")) is document_items


def test_other_documents_of_a_folder_are_no_transcripts(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "session-1.json").write_text("{}")
    assert [item.path.name for item in find_transcripts(tmp_path)] == ["session-1.json"]
