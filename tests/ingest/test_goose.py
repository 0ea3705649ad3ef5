import json
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from tests.ingest.stores_kit import GooseDatabase, found, only, request, response, samples, worked
from tests.tables import rows

OK, FAILED, UNKNOWN = CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN
DENIED, BLOCKED = CallOutcome.DENIED_BY_USER, CallOutcome.BLOCKED_BY_HOOK


def asked(tmp_path: Path) -> GooseDatabase:
    return GooseDatabase(tmp_path / "sessions.db").begin().say("user", "make it work")


def execution(database: GooseDatabase) -> Execution:
    reading = only(database.path)
    assert reading.skipped == ""
    return reading.executions[0].execution


@rows(
    ("result", "outcome", "code"),
    [
        (worked("fine"), OK, None),
        (worked("boom", error=True), FAILED, None),
        (worked("boom\nCommand exited with code 2"), FAILED, 2),
        (worked("all good, exit code: 0"), OK, 0),
        ({"status": "error", "error": "no such tool"}, FAILED, None),
        ({"status": "success", "value": [{"type": "text", "text": "of old"}]}, OK, None),
        (worked("The user has declined to run this tool. DO NOT try again"), DENIED, None),
        (
            {"status": "error", "error": "Interrupted by the user to make a correction"},
            DENIED,
            None,
        ),
        (worked("Let the user know the tool call was skipped in goose chat mode."), BLOCKED, None),
        ({"status": "pending"}, UNKNOWN, None),
        ({}, UNKNOWN, None),
    ],
)
def test_a_result_says_how_its_call_ended(
    result: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    database = asked(tmp_path).call("developer__shell", result, command="make test")
    (call,) = execution(database).calls
    assert (call.outcome, call.exit_code, call.intent) == (outcome, code, "make test")


def test_an_exit_code_in_a_file_that_was_read_is_only_text(tmp_path: Path) -> None:
    database = asked(tmp_path).call("fetch", worked("exit code: 3"), url="http://x")
    assert execution(database).calls[0].outcome is OK


def test_a_session_is_read_with_what_its_table_says(tmp_path: Path) -> None:
    done = execution(asked(tmp_path).say("assistant", "done"))
    assert (done.id, done.agent_id, done.project) == (
        "goose:20250601_1",
        "goose",
        "/srv/tidepool",
    )
    assert (done.model, done.task, done.outcome) == (
        "model-x",
        "make it work",
        ExecutionOutcome.COMPLETED,
    )
    assert (done.tokens.input, done.tokens.output, done.line_count) == (120, 16, 3)
    assert str(done.started_at).startswith("2025-06-01")


@rows(
    ("command", "intent", "touched"),
    [
        ("write", "write a.py", ("a.py",)),
        ("str_replace", "edit a.py", ("a.py",)),
        ("view", "read a.py", ()),
        ("undo_edit", "developer__text_editor", ()),
    ],
)
def test_the_editors_command_says_what_it_did(
    command: str, intent: str, touched: tuple[str, ...], tmp_path: Path
) -> None:
    database = asked(tmp_path)
    database.call("developer__text_editor", worked("ok"), command=command, path="a.py")
    done = execution(database)
    assert (done.calls[0].intent, done.files_touched) == (intent, touched)


def test_what_only_the_agent_sees_was_said_by_nobody(tmp_path: Path) -> None:
    database = asked(tmp_path).say("user", "a summary", '{"userVisible": false}')
    assert [turn.text for turn in execution(database).turns] == ["make it work"]


def test_a_parent_speaks_to_a_subagent(tmp_path: Path) -> None:
    database = GooseDatabase(tmp_path / "sessions.db").begin(kind="sub_agent")
    done = execution(database.say("user", "look around").say("assistant", "seen"))
    assert (done.agent_id, done.turns[0].role) == ("goose/subagent", "parent")


def test_the_agents_own_session_is_no_work(tmp_path: Path) -> None:
    database = GooseDatabase(tmp_path / "sessions.db").begin(kind="hidden").say("user", "x")
    assert only(database.path).skipped == "the agent's own session, not work"


def test_unknown_blocks_are_counted_and_torn_rows_are_malformed(tmp_path: Path) -> None:
    database = asked(tmp_path).raw("user", '[{"type":"hologram"}]').raw("user", '[{"type":"te')
    reading = only(database.raw("umpire", "[]").raw("assistant", "{}").path)
    assert (reading.unknown, reading.malformed, len(reading.executions)) == (2, 1, 1)


def test_a_changed_database_changes_only_the_sessions_that_did(tmp_path: Path) -> None:
    database = asked(tmp_path).begin("20250601_2").say("user", "two")
    before = {file.path.name: file for file in found(database.path)}
    database.say("assistant", "done")
    after = {file.path.name: file for file in found(database.path)}
    assert [name for name in after if after[name] != before[name]] == ["sessions.db#20250601_2"]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    text = "sk-ant-api03-" + "a" * 80 + ' \x1b[31m {"goose":"session","id":"other"}'
    done = execution(GooseDatabase(tmp_path / "sessions.db").begin("a/b #1").say("user", text))
    assert done.session_id == "a-b-1"
    assert "sk-ant" not in done.turns[0].text


def older(tmp_path: Path, *records: dict[str, Any], tail: str = "") -> Path:
    path = tmp_path / "20250601_7.jsonl"
    head = {"description": "A session", "working_dir": "/srv/tidepool", "message_count": 2}
    path.write_text("".join(json.dumps(each) + "\n" for each in (head, *records)) + tail)
    return path


def message(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "created": 1_748_768_400, "content": list(blocks)}


def test_an_older_file_is_a_session_named_after_it(tmp_path: Path) -> None:
    call = request("c", "developer__shell", {"command": "make"})
    said = {"type": "text", "text": "go"}
    answer = message("user", response("c", worked("boom", error=True)))
    path = older(tmp_path, message("user", said), message("assistant", call), answer)
    done = only(path).executions[0].execution
    assert (done.id, done.project, done.task) == ("goose:20250601_7", "/srv/tidepool", "go")
    assert [call.outcome for call in done.calls] == [FAILED]


def test_the_torn_line_of_an_older_file_is_left_for_the_next_import(tmp_path: Path) -> None:
    said = message("user", {"type": "text", "text": "go"})
    reading = only(older(tmp_path, said, tail='{"role":"assist'))
    assert (reading.malformed, reading.executions[0].execution.line_count) == (0, 2)


def test_an_empty_session_is_skipped_in_words(tmp_path: Path) -> None:
    assert only(older(tmp_path)).skipped == "nothing was asked or done in it"


def test_the_shared_sample_is_understood() -> None:
    reading = only(samples("deja-vu/goose"))
    assert [turn.role for turn in reading.executions[0].execution.turns] == ["user", "assistant"]
    assert (reading.unknown, reading.malformed) == (0, 0)
