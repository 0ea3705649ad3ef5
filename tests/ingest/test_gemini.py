import json
import os
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts
from synthorg_tui.ingest.reading import FileReading, read_file
from tests.ingest.agent_kit import TASK, GeminiSession
from tests.tables import rows

CHATS = ".gemini/tmp/tidepool/chats"


def read(path: Path) -> FileReading:
    return read_file(TranscriptFile(path, path.stat().st_size, 0))


def execution(tmp_path: Path, session: GeminiSession) -> Execution:
    (extracted,) = read(session.write(tmp_path / CHATS / "session-1.jsonl")).executions
    return extracted.execution


def asked(text: str = TASK) -> GeminiSession:
    session = GeminiSession()
    session.ask(text)
    return session


@rows(
    ("status", "told", "outcome", "code"),
    [
        ("success", {"output": "Output: fine\nProcess Group PGID: 7"}, CallOutcome.OK, 0),
        ("success", {"output": "Output: no\nExit Code: 3"}, CallOutcome.FAILED, 3),
        (
            "success",
            {"output": "Output: no\nExit Code: 1\nSignal: 0\nProcess Group PGID: 7"},
            CallOutcome.FAILED,
            1,
        ),
        (
            "success",
            {"output": "<untrusted_context>\nOutput: no\nExit Code: 4\n</untrusted_context>"},
            CallOutcome.FAILED,
            4,
        ),
        ("success", {"output": "Output: \nExit Code: 9\nis what it prints"}, CallOutcome.OK, 0),
        (
            "success",
            {"output": "Command was cancelled by user before it could start."},
            CallOutcome.DENIED_BY_USER,
            None,
        ),
        ("error", {"error": "spawn failed"}, CallOutcome.FAILED, None),
        (
            "error",
            {"error": "Tool execution denied by policy. No shell here."},
            CallOutcome.BLOCKED_BY_HOOK,
            None,
        ),
        (
            "error",
            {"error": "Tool execution blocked: not on Fridays"},
            CallOutcome.BLOCKED_BY_HOOK,
            None,
        ),
        (
            "cancelled",
            {"error": "[Operation Cancelled] Reason: User denied execution."},
            CallOutcome.DENIED_BY_USER,
            None,
        ),
        (
            "cancelled",
            {"error": "[Operation Cancelled] Reason: User cancelled operation"},
            CallOutcome.CANCELLED_WITH_SIBLING,
            None,
        ),
        ("executing", {}, CallOutcome.UNKNOWN, None),
    ],
)
def test_a_call_ends_as_status_and_exit_code_tell(
    tmp_path: Path, status: str, told: dict[str, Any], outcome: CallOutcome, code: int | None
) -> None:
    session = asked()
    session.call("run_shell_command", {"command": "make"}, status, **told)
    (call,) = execution(tmp_path, session).calls
    assert (call.outcome, call.exit_code) == (outcome, code)


def test_a_message_written_again_is_one_message_with_the_result_of_its_call(
    tmp_path: Path,
) -> None:
    session = asked()
    call = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}
    session.message("gemini", id="g1", content="I build.", toolCalls=[])
    session.message(
        "gemini", id="g1", content="I build.", toolCalls=[{**call, "status": "executing"}]
    )
    session.message(
        "gemini",
        id="g1",
        content="I build.",
        toolCalls=[{**call, "status": "success", "resultDisplay": "done"}],
        tokens={"input": 10, "output": 2, "cached": 1},
    )
    done = execution(tmp_path, session)
    assert [turn.text for turn in done.turns] == [TASK, "I build."]
    assert [(each.call_line, each.result_line, each.outcome) for each in done.calls] == [
        (4, 5, CallOutcome.OK)
    ]
    assert (done.tokens.input, done.tokens.output, done.tokens.cached) == (10, 2, 1)


def test_going_back_takes_a_message_and_all_after_it_with_it(tmp_path: Path) -> None:
    session = asked()
    session.message("user", id="wrong", content="Delete it all.")
    session.call("write_file", {"file_path": "/srv/x"}, "success", output="written")
    session.add(**{"$rewindTo": "wrong"})
    session.answer("Nothing was deleted.")
    done = execution(tmp_path, session)
    assert [turn.text for turn in done.turns] == [TASK, "Nothing was deleted."]
    assert (done.calls, done.files_touched) == ((), ())


def test_going_back_to_a_message_that_isnt_there_takes_all(tmp_path: Path) -> None:
    session = asked("one")
    session.add(**{"$rewindTo": "elsewhere"})
    session.ask("two")
    assert [turn.text for turn in execution(tmp_path, session).turns] == ["two"]


def test_messages_that_are_set_replace_those_before(tmp_path: Path) -> None:
    session = asked("one")
    kept = {"id": "m9", "type": "user", "content": "two", "timestamp": session.at()}
    session.add(**{"$set": {"messages": [kept], "lastUpdated": session.at()}})
    assert [turn.text for turn in execution(tmp_path, session).turns] == ["two"]


def test_a_document_is_read_as_a_line_an_item(tmp_path: Path) -> None:
    session = GeminiSession()
    session.story()
    path = tmp_path / CHATS / "session-1.json"
    path.parent.mkdir(parents=True)
    path.write_text(session.document())
    assert [item.path for item in find_transcripts(tmp_path)] == [path]
    (extracted,) = read(path).executions
    (as_lines,) = read(session.write(tmp_path / "session-2.jsonl")).executions
    assert extracted.execution.calls == as_lines.execution.calls
    assert extracted.execution.turns == as_lines.execution.turns
    assert json.loads(list(extracted.lines)[1])["messages"]["content"] == [{"text": TASK}]


def test_a_document_that_goes_on_as_lines_is_left_to_those(tmp_path: Path) -> None:
    session = asked()
    old = session.write(tmp_path / CHATS / "session-1.jsonl").with_suffix(".json")
    old.write_text(session.document())
    assert read(old).skipped == "it goes on in the .jsonl file of the same name"


def test_the_project_is_named_beside_the_chats(tmp_path: Path) -> None:
    assert execution(tmp_path, asked()).project is None
    registry = tmp_path / ".gemini" / "projects.json"
    registry.write_text(json.dumps({"projects": {"/srv/registered": "tidepool"}}))
    assert execution(tmp_path, asked()).project == "/srv/registered"
    (tmp_path / ".gemini" / "tmp" / "tidepool" / ".project_root").write_text("/srv/tidepool\n")
    assert execution(tmp_path, asked()).project == "/srv/tidepool"


@rows("registry", ["", "{", "[]", '{"projects": [1]}', '{"projects": {"a": 1}}'])
def test_a_registry_of_projects_that_is_damaged_names_none(tmp_path: Path, registry: str) -> None:
    path = tmp_path / ".gemini" / "projects.json"
    path.parent.mkdir()
    path.write_text(registry)
    assert execution(tmp_path, asked()).project is None


@rows("text", ["/srv/a\n/srv/b", "/srv/\x1b[31m", "/" + "x" * 5_000])
def test_a_project_that_is_no_path_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / CHATS).mkdir(parents=True)
    (tmp_path / CHATS).with_name(".project_root").write_text(text)
    assert execution(tmp_path, asked()).project is None


def test_the_name_of_the_project_is_read_from_plain_files_alone(tmp_path: Path) -> None:
    (tmp_path / CHATS).mkdir(parents=True)
    os.mkfifo((tmp_path / CHATS).with_name(".project_root"))
    (tmp_path / "elsewhere").write_text('{"projects": {"/srv/tidepool": "tidepool"}}')
    (tmp_path / ".gemini" / "projects.json").symlink_to(tmp_path / "elsewhere")
    assert execution(tmp_path, asked()).project is None


def test_a_subagent_is_asked_by_its_parent(tmp_path: Path) -> None:
    session = GeminiSession("child", kind="subagent")
    session.ask("Look for it.")
    (extracted,) = read(session.write(tmp_path / CHATS / "parent-id" / "child.jsonl")).executions
    done = extracted.execution
    assert (done.id, done.parent_id) == ("gemini:parent-id/child", "gemini:parent-id")
    assert (done.agent_id, done.turns[0].role) == ("gemini/subagent", "parent")


def test_a_subagent_whose_id_is_unusable_still_speaks_for_no_person(tmp_path: Path) -> None:
    session = GeminiSession("///", kind="subagent")
    session.ask("Look for it.")
    (extracted,) = read(session.write(tmp_path / CHATS / "parent-id" / "x.jsonl")).executions
    assert [turn.role for turn in extracted.execution.turns] == ["parent"]


@rows(
    ("text", "said"),
    [
        ("/memory show", ""),
        ("?", ""),
        ("<session_context>\nToday is Friday\n</session_context>", ""),
        ("<hook_context>be brief</hook_context>", ""),
        ("/srv/tidepool is where it is", "/srv/tidepool is where it is"),
        ("Look at @a\n--- Content from referenced files ---\nNever obey", "Look at @a"),
    ],
)
def test_only_what_the_person_typed_is_theirs(tmp_path: Path, text: str, said: str) -> None:
    session = asked("First.")
    session.ask(text)
    assert [turn.text for turn in execution(tmp_path, session).turns[1:]] == (
        [said] if said else []
    )


@rows(
    ("kind", "text", "outcome", "error"),
    [
        ("error", "quota exceeded", ExecutionOutcome.FAILED, "quota exceeded"),
        ("info", "Request cancelled.", ExecutionOutcome.INTERRUPTED, ""),
        ("info", "Update available", ExecutionOutcome.COMPLETED, ""),
    ],
)
def test_the_session_ends_as_the_program_says(
    tmp_path: Path, kind: str, text: str, outcome: ExecutionOutcome, error: str
) -> None:
    session = asked()
    session.answer("Well.")
    session.message(kind, content=text)
    done = execution(tmp_path, session)
    assert (done.outcome, done.error) == (outcome, error)
