"""The contract of all readers: the same session in each agent's format, whole and damaged."""

import json
import re
from itertools import islice
from pathlib import Path

import pytest

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import (
    TranscriptFile,
    collect,
    find_transcripts,
    usual_places,
)
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.reading import FileReading, read_file
from synthorg_tui.ingest.sources import file_lines
from tests import REPO
from tests.ingest.agent_kit import ANSWER, SESSIONS, TASK, AgentSession
from tests.tables import rows

READ = {
    "agent-sessions/claude": "claude_code",
    "agent-sessions/codex": "codex",
    "agent-sessions/copilot": "copilot",
    "agent-sessions/cursor": "cursor",
    "agent-sessions/kimi": "kimi",
    "agent-sessions/gemini": "gemini",
    "agent-sessions/openclaw": "pi",
    "agent-sessions/pi": "pi",
    "agent-sessions/qwen": "qwen",
    "deja-vu/claude-code": "claude_code",
    "deja-vu/codex": "codex",
    "deja-vu/copilot": "copilot",
    "deja-vu/cursor": "cursor",
    "deja-vu/gemini": "gemini",
    "deja-vu/goose": "goose",
    "deja-vu/omp": "pi",
    "deja-vu/openclaw": "pi",
    "deja-vu/pi": "pi",
    "deja-vu/qwen": "qwen",
    "pi": "pi",
}
"""Which reader reads the samples of a folder."""

every_format = rows("kind", SESSIONS, ids=lambda kind: str(kind.reader))


def read(path: Path) -> FileReading:
    return read_file(TranscriptFile(path, path.stat().st_size, 0))


def written(tmp_path: Path, session: AgentSession, text: str | None = None) -> Path:
    path = tmp_path / Path(session.file or "a.jsonl").name
    path.write_text(session.text() if text is None else text)
    return path


def only(reading: FileReading) -> Execution:
    (extracted,) = reading.executions
    return extracted.execution


def test_every_reader_of_lines_has_a_session_here() -> None:
    of_lines = {reader.name for reader in READERS if file_lines in reader.files.values()}
    assert of_lines == {kind.reader for kind in SESSIONS}


@every_format
def test_a_session_is_read_whole(kind: type[AgentSession], tmp_path: Path) -> None:
    reading = read(written(tmp_path, kind().story()))
    done = only(reading)
    assert (done.reader, done.outcome) == (kind.reader, ExecutionOutcome.COMPLETED)
    assert [(turn.role, turn.text) for turn in done.turns] == [
        ("user", TASK),
        ("assistant", ANSWER),
    ]
    assert [(call.intent, call.outcome) for call in done.calls] == [
        ("make", CallOutcome.FAILED),
        ("make", CallOutcome.OK),
    ]
    assert (done.calls[0].exit_code, len(done.recoveries)) == (2, 1)
    assert "no rule" in done.calls[0].output
    assert (reading.malformed, reading.unknown, reading.skipped) == (0, 0, "")


@every_format
def test_lines_of_a_session_hold_what_they_are_named_for(
    kind: type[AgentSession], tmp_path: Path
) -> None:
    (extracted,) = read(written(tmp_path, kind().story())).executions
    lines = list(extracted.lines)
    assert extracted.execution.line_count == len(lines)
    for turn in extracted.execution.turns:
        assert turn.text in lines[turn.first_line - 1]
    for call in extracted.execution.calls:
        assert "make" in lines[call.call_line - 1]
        assert call.result_line is not None
        assert re.search("no rule|done", lines[call.result_line - 1])


@every_format
def test_a_long_session_is_read_to_its_end(kind: type[AgentSession], tmp_path: Path) -> None:
    session = kind().ask(TASK)
    for number in range(400):
        session.run(f"make part-{number}", "x" * 2_000, number % 2)
    done = only(read(written(tmp_path, session.answer(ANSWER))))
    assert [call.outcome for call in done.calls] == [CallOutcome.OK, CallOutcome.FAILED] * 200
    assert done.turns[-1].text == ANSWER


@every_format
def test_a_record_of_an_unknown_kind_is_counted_and_read_past(
    kind: type[AgentSession], tmp_path: Path
) -> None:
    session = kind().story()
    text = session.text() + f"{json.dumps(kind.drift)}\n"
    reading = read(written(tmp_path, session, text))
    assert (reading.unknown, reading.malformed) == (1, 0)
    assert len(only(reading).calls) == 2


@every_format
def test_a_torn_last_line_is_left_for_the_next_import(
    kind: type[AgentSession], tmp_path: Path
) -> None:
    session = kind().story()
    text = session.text()
    reading = read(written(tmp_path, session, f'{text}{{"type": "us'))
    assert (len(only(reading).calls), reading.malformed) == (2, 0)


@every_format
def test_a_broken_line_in_between_is_counted(kind: type[AgentSession], tmp_path: Path) -> None:
    session = kind().story()
    reading = read(written(tmp_path, session, session.text() + "{broken\n"))
    assert (reading.malformed, len(only(reading).calls)) == (1, 2)


@every_format
def test_an_empty_file_says_so(kind: type[AgentSession], tmp_path: Path) -> None:
    reading = read(written(tmp_path, kind(), ""))
    assert (reading.executions, reading.skipped) == ([], "empty")


@every_format
def test_hostile_text_is_stored_as_text(kind: type[AgentSession], tmp_path: Path) -> None:
    hostile = "\x1b]0;x\x07 \u202e \ud800 \x00 <data source='memory'>a memory</data> end"
    session = kind().ask(f"Say {hostile}").run("make", hostile, 2).answer(hostile)
    done = only(read(written(tmp_path, session)))
    everything = done.model_dump_json()
    assert "a memory" not in everything.partition('"turns"')[2].partition('"arguments"')[0]
    assert "\x00" not in done.turns[0].text
    assert done.turns[0].text.encode().startswith(b"Say ")


@every_format
def test_values_of_other_types_than_expected_dont_end_the_reading(
    kind: type[AgentSession], tmp_path: Path
) -> None:
    session = kind().story()
    records = [json.loads(line) for line in session.text().splitlines()]
    odd: list[object] = [None, 7, True, [], [[]], {}, "x" * 50, [1, {"a": {}}]]
    first, last = records[0], records[-1]
    twisted = [
        {**record, key: value}
        for record in (last, *islice(records, 1, 4))
        for key in record
        for value in odd
    ]
    text = "".join(f"{json.dumps(each)}\n" for each in (first, *twisted, *records))
    assert read(written(tmp_path, session, text)).malformed == 0


@every_format
def test_secrets_dont_get_past_the_reader(kind: type[AgentSession], tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    session = kind().ask(f"Use {secret}").run(f"curl -H {secret}", secret, 1).answer(secret)
    reading = read(written(tmp_path, session))
    (extracted,) = reading.executions
    assert secret not in extracted.execution.model_dump_json()
    assert not any(secret in line for line in extracted.lines)
    assert reading.redactions > 0


@every_format
def test_no_reader_takes_the_records_of_another(kind: type[AgentSession], tmp_path: Path) -> None:
    lines = kind().story().text().splitlines()
    owners = {
        reader.name for reader in READERS for line in lines if reader.recognises(json.loads(line))
    }
    assert owners == {kind.reader}


@rows("reader", READERS, ids=lambda reader: str(reader.name))
@every_format
def test_a_reader_fed_the_file_of_another_finds_nothing_in_it(
    reader: object, kind: type[AgentSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hasattr(reader, "name")
    monkeypatch.setattr("synthorg_tui.ingest.reading.READERS", (reader,))
    reading = read(written(tmp_path, kind().story()))
    says_so = reading.skipped == "not a transcript of a known agent"
    assert says_so is (reader.name != kind.reader)


@rows("kind", [kind for kind in SESSIONS if kind.file], ids=lambda kind: str(kind.reader))
def test_a_session_in_its_usual_place_is_found(kind: type[AgentSession], tmp_path: Path) -> None:
    """The tools that write the other formats are told where to."""
    path = kind().story().write(tmp_path / kind.file)
    places = [place for name, place in usual_places(tmp_path, {}) if name == kind.reader]
    found = [item for place in places if place.exists() for item in find_transcripts(place)]
    assert [item.path for item in found] == [path]


@rows(
    ("variable", "reader", "place"),
    [
        ("CLAUDE_CONFIG_DIR", "claude_code", "projects"),
        ("CODEX_HOME", "codex", "sessions"),
        ("COPILOT_HOME", "copilot", "session-state"),
        ("CURSOR_CONFIG_DIR", "cursor", "projects"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/tmp"),
        ("GOOSE_PATH_ROOT", "goose", "data/sessions"),
        ("CLINE_SESSION_DATA_DIR", "cline", "."),
        ("MSWEA_GLOBAL_CONFIG_DIR", "swe_agent", "."),
        ("PI_CODING_AGENT_DIR", "pi", "sessions"),
        ("PI_CODING_AGENT_SESSION_DIR", "pi", "."),
        ("QWEN_HOME", "qwen", "projects"),
        ("QWEN_RUNTIME_DIR", "qwen", "projects"),
    ],
)
def test_the_environment_moves_the_place(
    variable: str, reader: str, place: str, tmp_path: Path
) -> None:
    moved = usual_places(tmp_path, {variable: "/elsewhere"})
    assert (reader, Path("/elsewhere") / place) in moved


def test_every_agent_has_its_row_in_the_table() -> None:
    table = (REPO / "docs" / "readers.md").read_text()
    missing = [reader.name for reader in READERS if f"(`{reader.name}`)" not in table]
    assert missing == []


def test_the_table_says_with_what_each_reader_was_verified() -> None:
    rows = (REPO / "docs" / "readers.md").read_text().splitlines()
    named = {
        reader.name: reader.verified in map(str.strip, row.split("|"))
        for reader in READERS
        for row in rows
        if f"(`{reader.name}`)" in row and row.startswith("|")
    }
    assert [name for name, is_said in named.items() if not is_said] == []


def test_every_sample_is_read_by_its_reader_or_says_why_not(shared_dir: Path) -> None:
    root = shared_dir / "data" / "agents"
    if not root.is_dir():
        pytest.skip("no samples of agents there")
    for folder, name in READ.items():
        for path in sorted((root / folder).rglob("*.json*")):
            reading = read(path)
            readers = {each.execution.reader for each in reading.executions}
            assert readers == {name} if readers else reading.skipped, path


def test_no_sample_is_taken_by_two_readers(
    shared_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shared_dir / "data" / "agents"
    if not root.is_dir():
        pytest.skip("no samples of agents there")
    small = [file for file in collect([root])[0] if file.size < 300_000]
    takers: dict[Path, list[str]] = {file.path: [] for file in small}
    for reader in READERS:
        monkeypatch.setattr("synthorg_tui.ingest.reading.READERS", (reader,))
        for file in small:
            reading = read_file(file)
            assert reading.reader or reading.skipped, file.path
            takers[file.path] += [reading.reader] if reading.reader else []
    assert {path: names for path, names in takers.items() if len(names) > 1} == {}


@rows(
    ("sample", "outcomes", "unknown"),
    [
        (
            "pi/before-compaction.jsonl",
            {"ok": 436, "failed": 10, "denied_by_user": 2, "unknown": 6},
            0,
        ),
        ("agent-sessions/copilot/small.jsonl", {"ok": 1, "failed": 2}, 0),
        ("agent-sessions/cursor/schema_drift.jsonl", {}, 3),
        ("agent-sessions/gemini/large.json", {"ok": 1, "failed": 1}, 0),
        ("agent-sessions/gemini/jsonl_v040.jsonl", {"ok": 1}, 0),
    ],
)
def test_calls_of_a_sample_end_as_it_tells(
    sample: str, outcomes: dict[str, int], unknown: int, shared_dir: Path
) -> None:
    path = shared_dir / "data" / "agents" / sample
    if not path.is_file():
        pytest.skip("no samples of agents there")
    reading = read(path)
    calls = [call for each in reading.executions for call in each.execution.calls]
    told = {name: sum(call.outcome == name for call in calls) for name in outcomes}
    assert (told, sum(told.values()), reading.unknown) == (outcomes, len(calls), unknown)
