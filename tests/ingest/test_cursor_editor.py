"""The chats of Cursor's editor: read from its database, which stays as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.ingest.discovery import looked_for
from synthorg_tui.ingest.readers import READERS
from synthorg_tui.ingest.reading import read_file
from tests.ingest.agent_kit import SESSIONS, AgentSession
from tests.ingest.stores_kit import (
    CursorDatabase,
    GooseDatabase,
    OpenCodeDatabase,
    found,
    names,
    only,
    refused,
)
from tests.tables import rows

FAILED, OK = CallOutcome.FAILED, CallOutcome.OK
UNKNOWN, DENIED = CallOutcome.UNKNOWN, CallOutcome.DENIED_BY_USER


@pytest.fixture
def chats(tmp_path: Path) -> CursorDatabase:
    return CursorDatabase(tmp_path / ".config/Cursor/User/globalStorage/state.vscdb")


def test_a_chat_is_read_whole(chats: CursorDatabase) -> None:
    chats.story()
    reading = only(chats.path)
    (extracted,) = reading.executions
    done = extracted.execution
    assert (done.id, done.agent_id, done.project) == (
        "cursor_editor:chat-1",
        "cursor",
        "/srv/tidepool",
    )
    assert (done.outcome, done.model) == (ExecutionOutcome.COMPLETED, "model-x")
    turns = [(turn.role, turn.text) for turn in done.turns]
    assert turns == [("user", "Make it build."), ("assistant", "It builds.")]
    calls = [(call.intent, call.outcome, call.exit_code) for call in done.calls]
    assert calls == [("make", FAILED, 2), ("make", OK, 0)]
    assert len(done.recoveries) == 1
    assert (reading.malformed, reading.unknown, reading.skipped) == (0, 0, "")
    lines = list(extracted.lines)
    assert all("make" in lines[call.call_line - 1] for call in done.calls)


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"status": "completed"}, OK),
        ({"status": "completed", "result": {"output": "", "exitCodeV2": 1}}, FAILED),
        ({"status": "error"}, FAILED),
        ({"status": "cancelled"}, UNKNOWN),
        ({"status": "loading"}, UNKNOWN),
        ({"status": "cancelled", "userDecision": "rejected"}, DENIED),
        ({"status": "completed", "result": {"rejected": True}}, DENIED),
    ],
)
def test_a_call_ends_as_it_tells(
    chats: CursorDatabase, told: dict[str, Any], outcome: CallOutcome
) -> None:
    chats.begin().ask("go").tool("edit_file", {"target_file": "a.py"}, **told)
    (extracted,) = only(chats.path).executions
    (call,) = extracted.execution.calls
    assert call.outcome is outcome
    assert extracted.execution.files_touched == (("a.py",) if outcome is OK else ())


def test_an_older_chat_has_its_messages_in_it(chats: CursorDatabase) -> None:
    said = [
        {"type": 1, "bubbleId": "a", "text": "go"},
        {"type": 2, "bubbleId": "b", "text": "done"},
    ]
    chats.begin(conversation=said)
    (extracted,) = only(chats.path).executions
    assert [turn.text for turn in extracted.execution.turns] == ["go", "done"]


def test_a_large_chat_is_read_to_its_end(chats: CursorDatabase) -> None:
    chats.begin().ask("go")
    for number in range(120):
        chats.shell(f"make part-{number}", "x" * 2_000, number % 2)
    (extracted,) = only(chats.path).executions
    assert [call.outcome for call in extracted.execution.calls] == [OK, FAILED] * 60


def test_unknown_messages_are_counted_and_a_torn_one_is_malformed(chats: CursorDatabase) -> None:
    chats.story().bubble(7, text="hologram").ask("more")
    chats.put("bubbleId:chat-1:b-0006", '{"type": 1, "te')
    reading = only(chats.path)
    assert (reading.unknown_kinds, reading.malformed) == ({"message.7": 1}, 1)
    assert len(reading.executions[0].execution.calls) == 2


def test_empty_chats_and_databases_of_projects_without_any_are_no_sessions(
    chats: CursorDatabase, tmp_path: Path
) -> None:
    chats.begin("empty")
    other = tmp_path / "other" / "state.vscdb"
    other.parent.mkdir()
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
    assert found(chats.path, other) == []
    assert refused(chats.path, other) == []


def test_another_database_of_that_name_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a)")
    (refusal,) = refused(path)
    assert refusal.reason == "can't be read: a database of no known agent, with the tables t"
    path.write_bytes(b"torn")
    (refusal,) = refused(path)
    assert refusal.reason == "can't be read: not an SQLite database"


def test_it_is_found_and_nothing_is_written_beside_it(tmp_path: Path) -> None:
    path = tmp_path / ".config/Cursor/User/globalStorage/state.vscdb"
    CursorDatabase(path, wal=True).story()
    before = names(path.parent), path.read_bytes()
    (place,) = [at for at in looked_for(tmp_path, {}) if at.files]
    assert (place.reader, place.files) == ("cursor_editor", 1)
    only(path)
    assert (names(path.parent), path.read_bytes()) == before
    missing = tmp_path / "none" / "state.vscdb"
    assert [refusal.path for refusal in refused(missing)] == [missing]
    assert not missing.parent.exists()


def test_secrets_in_a_chat_are_redacted(chats: CursorDatabase) -> None:
    secret = "ghp_" + "a1B2" * 9
    chats.begin().ask(f"use {secret}").shell("make", secret, 1)
    reading = only(chats.path)
    (extracted,) = reading.executions
    assert secret not in extracted.execution.model_dump_json()
    assert not any(secret in line for line in extracted.lines)


def test_only_a_chat_that_went_on_is_another(chats: CursorDatabase) -> None:
    chats.story().begin("chat-2").ask("two")
    before = found(chats.path)
    chats.say("done")
    assert [one == two for one, two in zip(before, found(chats.path), strict=True)] == [True, False]


STORES = {
    "cursor_editor": lambda home: CursorDatabase(home / "state.vscdb").story().path,
    "goose": lambda home: GooseDatabase(home / "sessions.db").begin().say("user", "go").path,
    "opencode": lambda home: OpenCodeDatabase(home / "opencode.db").begin().user("go").path,
}


@rows("reader", READERS, ids=lambda reader: str(reader.name))
@rows("store", STORES)
def test_a_reader_fed_the_database_of_another_says_so(
    reader: object, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hasattr(reader, "name")
    monkeypatch.setattr("synthorg_tui.ingest.reading.READERS", (reader,))
    (file,) = found(STORES[store](tmp_path))
    says_so = read_file(file).skipped == "not a transcript of a known agent"
    assert says_so is (reader.name != store)


@rows("kind", SESSIONS, ids=lambda kind: str(kind.reader))
def test_this_reader_fed_the_file_of_another_says_so(
    kind: type[AgentSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reader,) = [each for each in READERS if each.name == "cursor_editor"]
    monkeypatch.setattr("synthorg_tui.ingest.reading.READERS", (reader,))
    (file,) = found(kind().story().write(tmp_path / "a.jsonl"))
    assert read_file(file).skipped == "not a transcript of a known agent"
