from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import FileReading, read_file
from tests.ingest.agent_kit import TASK, CopilotSession
from tests.ingest.transcript_kit import SESSION
from tests.tables import rows


def read(tmp_path: Path, session: CopilotSession) -> FileReading:
    path = session.write(tmp_path / "events.jsonl")
    return read_file(TranscriptFile(path, 0, 0))


def execution(tmp_path: Path, session: CopilotSession) -> Execution:
    return read(tmp_path, session).executions[0].execution


def asked() -> CopilotSession:
    session = CopilotSession()
    session.ask(TASK)
    return session


@rows(
    ("end", "outcome", "code"),
    [
        ({"success": True, "result": {"content": "ok"}}, CallOutcome.OK, None),
        ({"success": False, "result": {"content": "no"}}, CallOutcome.FAILED, None),
        (
            {"success": True, "result": {"content": "no\n<exited with exit code 2>"}},
            CallOutcome.FAILED,
            2,
        ),
        ({"success": True, "shellExecution": {"exitCode": 3}}, CallOutcome.FAILED, 3),
        ({"success": True, "shellExecution": {"exitCode": 0}}, CallOutcome.OK, 0),
        (
            {"success": False, "error": {"code": "rejected", "message": "no"}},
            CallOutcome.DENIED_BY_USER,
            None,
        ),
        (
            {"success": False, "error": {"message": "The user rejected this tool call."}},
            CallOutcome.DENIED_BY_USER,
            None,
        ),
        (
            {"success": False, "error": {"code": "denied", "message": "Denied by preToolUse hook"}},
            CallOutcome.BLOCKED_BY_HOOK,
            None,
        ),
        (
            {"success": False, "result": {"content": "the hook was denied by user"}},
            CallOutcome.FAILED,
            None,
        ),
        ({}, CallOutcome.UNKNOWN, None),
    ],
)
def test_a_call_ends_as_its_flag_its_error_and_its_exit_code_tell(
    tmp_path: Path, end: dict[str, Any], outcome: CallOutcome, code: int | None
) -> None:
    session = asked().call("bash", {"command": "make"}, **end)
    (call,) = execution(tmp_path, session).calls
    assert (call.outcome, call.exit_code) == (outcome, code)


def test_a_request_for_a_tool_is_the_call_that_is_carried_out(tmp_path: Path) -> None:
    request = {"toolCallId": "c1", "name": "bash", "arguments": '{"command": "make"}'}
    session = asked().event("assistant.message", content="I build.", toolRequests=[request])
    session.event("tool.execution_start", toolCallId="c1", toolName="bash", arguments={})
    session.event("tool.execution_complete", toolCallId="c1", success=True)
    (call,) = execution(tmp_path, session).calls
    assert (call.intent, call.outcome, call.call_line) == ("make", CallOutcome.OK, 3)


def test_a_subagent_is_an_execution_with_its_own_lines(tmp_path: Path) -> None:
    session = asked().event("subagent.started", toolCallId="t1", agentName="Code Review")
    session.event("assistant.message", content="I look.", parentToolCallId="t1")
    session.call("bash", {"command": "git diff"}, success=True, under="t1")
    session.event("subagent.completed", toolCallId="t1")
    session.answer("Reviewed.")
    main, subagent = read(tmp_path, session).executions
    assert [turn.text for turn in main.execution.turns] == [TASK, "Reviewed."]
    assert main.execution.calls == ()
    done = subagent.execution
    assert (done.id, done.agent_id) == (f"copilot:{SESSION}/t1", "copilot/code-review")
    assert (done.parent_id, done.project) == (f"copilot:{SESSION}", "/srv/tidepool")
    (call,) = done.calls
    lines = list(subagent.lines)
    assert (len(lines), done.line_count) == (3, 3)
    assert "git diff" in lines[call.call_line - 1]


def test_what_the_program_made_of_the_words_isnt_what_was_said(tmp_path: Path) -> None:
    session = asked().event("user.message", content="Go on", isAutopilotContinuation=True)
    session.event("system.message", content="You are an agent")
    assert [turn.text for turn in execution(tmp_path, session).turns] == [TASK]


def test_requests_of_the_main_conversation_are_the_persons_though_they_name_a_task(
    tmp_path: Path,
) -> None:
    session = CopilotSession().event("user.message", content=TASK, parentAgentTaskId="t-1")
    assert [(turn.role, turn.text) for turn in execution(tmp_path, session).turns] == [
        ("user", TASK)
    ]


def test_the_end_of_a_session_tells_of_files_and_tokens(tmp_path: Path) -> None:
    usage = {"inputTokens": 9, "outputTokens": 4, "cacheReadTokens": 2}
    session = asked().event(
        "session.shutdown",
        codeChanges={"filesModified": ["a.py", 7]},
        modelMetrics={"m-1": {"usage": usage}, "m-2": {"usage": usage}},
    )
    done = execution(tmp_path, session)
    assert done.files_touched == ("a.py",)
    assert (done.tokens.input, done.tokens.output, done.tokens.cached) == (18, 8, 4)
    assert (done.project, done.branch, done.model) == ("/srv/tidepool", "main", "m-1")


@rows(
    ("kind", "outcome", "error"),
    [
        ("abort", ExecutionOutcome.INTERRUPTED, ""),
        ("session.error", ExecutionOutcome.FAILED, "no credit"),
        ("session.info", ExecutionOutcome.COMPLETED, ""),
    ],
)
def test_the_session_ends_as_its_last_event_tells(
    tmp_path: Path, kind: str, outcome: ExecutionOutcome, error: str
) -> None:
    session = asked()
    session.answer("Well.")
    done = execution(tmp_path, session.event(kind, message="no credit"))
    assert (done.outcome, done.error) == (outcome, error)
