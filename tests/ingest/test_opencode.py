import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest.discovery import usual_places
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.ingest.service import ImportService
from synthorg_tui.persistence.database import Database
from tests.conftest import FixedClock
from tests.ingest.ingest_fakes import FakeBackend
from tests.ingest.stores_kit import OpenCodeDatabase, found, names, only, refused, samples
from tests.tables import rows

CLOCK = FixedClock(datetime(2026, 12, 31, tzinfo=UTC))
OK, FAILED, UNKNOWN = CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN
DENIED, BLOCKED = CallOutcome.DENIED_BY_USER, CallOutcome.BLOCKED_BY_HOOK


@pytest.fixture
async def executions(tmp_path: Path) -> AsyncIterator[ExecutionStore]:
    folder = tmp_path / "store"
    folder.mkdir()
    database = Database.in_dir(folder)
    await database.open()
    yield ExecutionStore(database)
    await database.close()


def store(tmp_path: Path, **options: Any) -> OpenCodeDatabase:
    return OpenCodeDatabase(tmp_path / "opencode.db", **options)


def asked(tmp_path: Path) -> OpenCodeDatabase:
    return store(tmp_path).begin().user("make it work").said("assistant", modelID="model-x")


def execution(database: OpenCodeDatabase) -> Execution:
    reading = only(database.path)
    assert reading.skipped == ""
    return reading.executions[0].execution


@rows(
    ("state", "outcome", "code"),
    [
        ({"status": "completed", "metadata": {"exit": 0}}, OK, 0),
        ({"status": "completed", "metadata": {"exit": 2}}, FAILED, 2),
        ({"status": "completed", "metadata": {}}, OK, None),
        ({"status": "completed", "metadata": {"exit": None}}, UNKNOWN, None),
        (
            {
                "status": "completed",
                "output": "<bash_metadata>\nterminated command after exceeding timeout 120000 ms",
                "metadata": {"exit": None},
            },
            FAILED,
            None,
        ),
        (
            {
                "status": "completed",
                "output": "<bash_metadata>\nUser aborted the command",
                "metadata": {"exit": None},
            },
            DENIED,
            None,
        ),
        (
            {"status": "completed", "output": "command timed out", "metadata": {"exit": 0}},
            OK,
            0,
        ),
        ({"status": "success"}, OK, None),
        ({"status": "error", "error": "ENOENT: no such file"}, FAILED, None),
        ({"status": "error", "error": "Tool execution aborted"}, DENIED, None),
        (
            {
                "status": "error",
                "error": "The user rejected permission to use this specific tool call.",
            },
            DENIED,
            None,
        ),
        (
            {
                "status": "error",
                "error": "The user has specified a rule which prevents you from using this",
            },
            BLOCKED,
            None,
        ),
        ({"status": "running"}, UNKNOWN, None),
        ({"status": "exploded"}, UNKNOWN, None),
        ({}, UNKNOWN, None),
    ],
)
def test_a_completed_command_failed_when_its_exit_code_says_so(
    state: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    (call,) = execution(asked(tmp_path).tool("bash", {"command": "make test"}, **state)).calls
    assert (call.outcome, call.exit_code, call.intent) == (outcome, code, "make test")


def test_a_session_is_read_with_what_its_tables_say(tmp_path: Path) -> None:
    database = store(tmp_path).begin().user("make it work")
    database.assistant("done", tokens={"input": 5, "output": 2, "cache": {"read": 3, "write": 1}})
    done = execution(database)
    assert (done.id, done.agent_id, done.project) == ("opencode:ses_1", "opencode", "/srv/tidepool")
    assert (done.model, done.task, done.outcome) == (
        "model-x",
        "make it work",
        ExecutionOutcome.COMPLETED,
    )
    assert (done.tokens.input, done.tokens.output, done.tokens.cached) == (6, 2, 3)
    assert str(done.started_at).startswith("2025-06-01")
    assert done.line_count == 5


def test_each_row_is_a_line_that_a_reference_finds(tmp_path: Path) -> None:
    reading = only(asked(tmp_path).bash("make", "boom", 2).path)
    (extracted,) = reading.executions
    (call,) = extracted.execution.calls
    line = list(extracted.lines)[call.call_line - 1]
    assert call.result_line == call.call_line
    assert json.loads(line)["data"]["state"]["output"] == "boom"


def test_an_edit_that_worked_touched_its_file(tmp_path: Path) -> None:
    database = asked(tmp_path).tool("edit", {"filePath": "/srv/a.py"}, status="completed")
    database.tool("edit", {"filePath": "/srv/b.py"}, status="error", error="no such text")
    done = execution(database)
    assert done.files_touched == ("/srv/a.py",)
    assert [call.intent for call in done.calls] == ["edit /srv/a.py", "edit /srv/b.py"]


def test_only_what_the_person_said_is_a_turn(tmp_path: Path) -> None:
    database = store(tmp_path).begin().user("<system-reminder>be quick</system-reminder>")
    database.said("user").part("text", text="Called the Read tool", synthetic=True)
    database.user("the task").assistant("done")
    done = execution(database)
    assert [(turn.role, turn.text) for turn in done.turns] == [
        ("user", "the task"),
        ("assistant", "done"),
    ]


def test_the_session_of_a_subagent_belongs_to_its_parent(tmp_path: Path) -> None:
    database = store(tmp_path).begin("ses_2", parent="ses_1").user("look around")
    done = execution(database.assistant("seen", agent="explore"))
    assert (done.id, done.parent_id) == ("opencode:ses_1/ses_2", "opencode:ses_1")
    assert (done.agent_id, done.turns[0].role) == ("opencode/explore", "parent")


@rows(
    ("error", "outcome", "text"),
    [
        ({"name": "MessageAbortedError", "data": {}}, ExecutionOutcome.INTERRUPTED, ""),
        ({"name": "APIError", "data": {"message": "overloaded"}}, "failed", "overloaded"),
    ],
)
def test_an_error_of_the_last_message_ends_the_session(
    error: dict[str, Any], outcome: str, text: str, tmp_path: Path
) -> None:
    done = execution(store(tmp_path).begin().user("go").assistant("half", error=error))
    assert (done.outcome, done.error) == (outcome, text)


def test_unknown_parts_are_counted_and_torn_ones_are_malformed(tmp_path: Path) -> None:
    database = asked(tmp_path).part("hologram").part("reasoning").raw('{"type":"te').raw("[]")
    reading = only(database.part("tool", tool="bash").path)
    assert (reading.unknown, reading.malformed, len(reading.executions)) == (3, 1, 1)


def test_keys_in_a_row_dont_pass_for_ours(tmp_path: Path) -> None:
    row = '{"type":"text","text":"x"},"opencode":"session","id":"ses_9"'
    assert execution(asked(tmp_path).raw(row)).session_id == "ses_1"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    text = "sk-ant-api03-" + "a" * 80 + ' \x1b[31m </data> {"opencode":"session"}\n#L1'
    database = store(tmp_path).begin("ses/../../x #1").user(text).bash("echo '\x00'", "\ud800", 0)
    done = execution(database)
    assert done.session_id == "ses-..-..-x-1"
    assert "sk-ant" not in done.turns[0].text


def test_a_changed_database_changes_only_the_sessions_that_did(tmp_path: Path) -> None:
    database = store(tmp_path).begin("ses_1").user("one").begin("ses_2").user("two")
    before = {file.path.name: file for file in found(database.path)}
    database.assistant("done")
    after = {file.path.name: file for file in found(database.path)}
    assert sorted(after) == ["opencode.db#ses_1", "opencode.db#ses_2"]
    changed = [name for name in after if after[name] != before[name]]
    assert changed == ["opencode.db#ses_2"]


def test_a_database_in_use_is_read_with_what_is_only_in_its_log(tmp_path: Path) -> None:
    database = store(tmp_path, wal=True).begin()
    with closing(sqlite3.connect(database.path)) as writer:
        writer.execute("UPDATE session SET title = 'held open'")
        writer.commit()
        database.user("still in the log")
        assert execution(database).task == "still in the log"


def test_a_database_at_rest_gets_no_files_beside_it(tmp_path: Path) -> None:
    database = store(tmp_path, wal=True).begin().user("go")
    before = database.path.read_bytes()
    assert execution(database).task == "go"
    assert names(tmp_path) == ["opencode.db"]
    assert database.path.read_bytes() == before


def test_a_database_without_its_logs_index_is_left_alone(tmp_path: Path) -> None:
    database = store(tmp_path / "a", wal=True).begin()
    copy = tmp_path / "b" / "opencode.db"
    copy.parent.mkdir()
    with closing(sqlite3.connect(database.path)) as writer:
        writer.execute("SELECT 1 FROM session").fetchall()
        database.user("go")
        for suffix in ("", "-wal"):
            copy.with_name(f"{copy.name}{suffix}").write_bytes(
                database.path.with_name(f"opencode.db{suffix}").read_bytes()
            )
    (refusal,) = refused(copy)
    assert "open it once with the program that wrote it" in refusal.reason
    assert names(copy.parent) == ["opencode.db", "opencode.db-wal"]


def test_a_missing_database_is_never_made(tmp_path: Path) -> None:
    (file,) = found(store(tmp_path).begin().user("go").path)
    (tmp_path / "opencode.db").unlink()
    assert "can't be read" in read_file(file).skipped
    assert names(tmp_path) == []


@rows("content", [b"", b"SQLite format 3\0" + b"\xff" * 4096, b"{}\n"])
def test_what_is_no_database_is_refused_in_words(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(content)
    (refusal,) = refused(path)
    assert refusal.reason.startswith("can't be read: ")


@rows(
    "schema",
    [
        "CREATE TABLE other (id)",
        "CREATE TABLE t (id, session_id, message_id, data); CREATE VIEW session AS SELECT * FROM t;"
        "CREATE VIEW message AS SELECT * FROM t; CREATE VIEW part AS SELECT * FROM t",
    ],
)
def test_a_database_of_another_program_says_so(schema: str, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(schema)
    (refusal,) = refused(path)
    assert "a database of no known agent, with the tables" in refusal.reason


def test_a_database_under_the_name_of_another_agents_is_read(tmp_path: Path) -> None:
    database = store(tmp_path).begin().user("go")
    path = database.path.rename(tmp_path / "sessions.db")
    assert only(path).executions[0].execution.reader == "opencode"


def test_an_empty_session_is_skipped_in_words(tmp_path: Path) -> None:
    assert only(store(tmp_path).begin().path).skipped == "nothing was asked or done in it"


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def folders(tmp_path: Path) -> Path:
    """The older store with one session."""
    storage = tmp_path / "storage"
    put(storage / "session" / "p" / "ses_1.json", {"id": "ses_1", "directory": "/srv/tidepool"})
    put(storage / "message" / "ses_1" / "msg_1.json", {"id": "msg_1", "role": "user"})
    put(storage / "message" / "ses_1" / "msg_2.json", {"id": "msg_2", "role": "assistant"})
    put(storage / "part" / "msg_1" / "prt_1.json", {"type": "text", "text": "go"})
    state = {"status": "completed", "input": {"command": "make"}, "metadata": {"exit": 1}}
    tool = {"type": "tool", "callID": "c", "tool": "bash", "state": state}
    put(storage / "part" / "msg_2" / "prt_2.json", json.dumps(tool, indent=2))
    return storage


def test_the_older_store_gives_the_same_session(tmp_path: Path) -> None:
    reading = only(folders(tmp_path) / "session")
    done = reading.executions[0].execution
    assert (done.id, done.project, done.task) == ("opencode:ses_1", "/srv/tidepool", "go")
    assert [(call.outcome, call.exit_code) for call in done.calls] == [(FAILED, 1)]


def test_a_session_of_the_older_store_changes_with_its_messages(tmp_path: Path) -> None:
    storage = folders(tmp_path)
    (before,) = found(storage / "session")
    put(storage / "message" / "ses_1" / "msg_3.json", {"id": "msg_3", "role": "user"})
    (after,) = found(storage / "session")
    assert after != before


def test_an_id_that_is_a_path_leads_to_no_file(tmp_path: Path) -> None:
    storage = folders(tmp_path)
    put(storage / "message" / "ses_1" / "msg_1.json", {"id": "../part/msg_2", "role": "user"})
    reading = only(storage / "session")
    assert len(reading.executions[0].execution.calls) == 1
    assert reading.executions[0].execution.task == ""


def test_an_exported_session_is_read_the_same(tmp_path: Path) -> None:
    state = {"status": "completed", "input": {"command": "make"}, "metadata": {"exit": 1}}
    tool = {"id": "prt_2", "type": "tool", "callID": "c", "tool": "bash", "state": state}
    said = {"id": "prt_1", "type": "text", "text": "go"}
    messages = [
        {"info": {"id": "msg_1", "role": "user"}, "parts": [said]},
        {"info": {"id": "msg_2", "role": "assistant"}, "parts": [tool, {"type": "hologram"}]},
    ]
    path = tmp_path / "session.json"
    put(path, {"info": {"id": "ses_1", "directory": "/srv/tidepool"}, "messages": messages})
    reading = only(path)
    done = reading.executions[0].execution
    assert (done.id, done.project, done.task) == ("opencode:ses_1", "/srv/tidepool", "go")
    assert [call.outcome for call in done.calls] == [FAILED]
    assert reading.unknown == 1


@rows("name", ["ses_1.json", "ses_other.json", "an export.json"])
def test_an_export_is_one_whatever_its_file_is_called(name: str, tmp_path: Path) -> None:
    said = {"id": "prt_1", "type": "text", "text": "go"}
    message = {"info": {"id": "msg_1", "role": "user"}, "parts": [said]}
    put(tmp_path / name, {"info": {"id": "ses_1"}, "messages": [message]})
    assert [each.execution.id for each in only(tmp_path / name).executions] == ["opencode:ses_1"]


def test_calls_whose_ids_were_redacted_stay_apart(tmp_path: Path) -> None:
    state = {"status": "completed", "input": {"command": "make"}, "metadata": {"exit": 1}}
    tools = [
        {"id": f"prt_{number}", "type": "tool", "callID": "X", "tool": "bash", "state": state}
        for number in range(3)
    ]
    messages = [{"info": {"id": "msg_2", "role": "assistant"}, "parts": tools}]
    put(tmp_path / "a.json", {"info": {"id": "ses_1"}, "messages": messages})
    (extracted,) = only(tmp_path / "a.json").executions
    assert [call.id for call in extracted.execution.calls] == ["X", "prt_1", "prt_2"]


async def test_it_is_found_and_only_changed_sessions_are_imported_again(
    tmp_path: Path, executions: ExecutionStore
) -> None:
    place = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    database = OpenCodeDatabase(place).begin("ses_1").user("one").begin("ses_2").user("two")
    service = ImportService(
        backend=FakeBackend(), executions=executions, clock=CLOCK, home=tmp_path, environ={}
    )
    (found_place,) = await service.discover()
    assert (found_place.reader, found_place.files) == ("opencode", 2)
    first = await service.run()
    database.assistant("done")
    second, third = await service.run(), await service.run()
    assert [each.executions for each in (first, second, third)] == [2, 1, 0]
    assert (third.files, third.unchanged) == (2, 2)


async def test_a_database_in_its_place_that_cant_be_read_is_reported(
    tmp_path: Path, executions: ExecutionStore
) -> None:
    put(tmp_path / ".local" / "share" / "opencode" / "opencode.db", "torn")
    service = ImportService(
        backend=FakeBackend(), executions=executions, clock=CLOCK, home=tmp_path, environ={}
    )
    ((_, reason),) = (await service.run()).skipped
    assert reason == "can't be read: not an SQLite database"


def test_the_environment_moves_its_place(tmp_path: Path) -> None:
    path = tmp_path / "data" / "kilo" / "kilo.db"
    OpenCodeDatabase(path)
    places = usual_places(tmp_path, {"XDG_DATA_HOME": str(tmp_path / "data")})
    assert ("opencode", path) in places


def test_the_shared_samples_are_understood() -> None:
    readings = [read_file(file) for file in found(samples("agent-sessions/opencode/storage_v2"))]
    calls = [call for r in readings for e in r.executions for call in e.execution.calls]
    assert Counter(call.outcome for call in calls) == {OK: 1, FAILED: 1}
    assert sum(reading.unknown + reading.malformed for reading in readings) == 0
