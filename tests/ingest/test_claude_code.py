from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts
from synthorg_tui.ingest.reading import FileReading, read_file
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.tables import rows


def read(path: Path) -> FileReading:
    (file,) = [each for each in find_transcripts(path) if isinstance(each, TranscriptFile)]
    return read_file(file)


def execution(transcript: ClaudeTranscript, tmp_path: Path) -> Execution:
    reading = read(transcript.write(tmp_path / "session.jsonl"))
    assert reading.skipped == ""
    return reading.executions[0].execution


def one_call(transcript: ClaudeTranscript, tmp_path: Path) -> ToolCall:
    return execution(transcript, tmp_path).calls[0]


def failing(output: str, *, tool: str = "Bash", **fields: Any) -> ClaudeTranscript:
    given = {"command": "make test"} if tool == "Bash" else {"file_path": "/srv/tidepool/a.py"}
    transcript = ClaudeTranscript().user("please do it").use("c1", tool, **given)
    return transcript.result("c1", output, error=True, **fields)


@rows(
    ("output", "outcome"),
    [
        ("Exit code 1\nboom", CallOutcome.FAILED),
        ("Error: Exit code 127\nnot found", CallOutcome.FAILED),
        (
            "<tool_use_error>String to replace not found in file.</tool_use_error>",
            CallOutcome.FAILED,
        ),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            CallOutcome.CANCELLED_WITH_SIBLING,
        ),
        ("Sibling tool call errored", CallOutcome.CANCELLED_WITH_SIBLING),
        (
            "The user doesn't want to proceed with this tool use. The tool use",
            CallOutcome.DENIED_BY_USER,
        ),
        ("The user doesn't want to take this action right now.", CallOutcome.DENIED_BY_USER),
        ("[Request interrupted by user for tool use]", CallOutcome.DENIED_BY_USER),
        ("Permission to use Bash with command rm has been denied.", CallOutcome.DENIED_BY_USER),
        ("PreToolUse:Bash hook error: [./guard.sh]: no", CallOutcome.BLOCKED_BY_HOOK),
        (
            "touch in '/a/b' was blocked. For security, Claude Code may only create or modify "
            "files in the allowed working directories for this session: '/c'.",
            CallOutcome.BLOCKED_BY_HOOK,
        ),
        ('PreToolUse:Bash hook blocking error from command: "x": no', CallOutcome.BLOCKED_BY_HOOK),
        ("Something else went wrong", CallOutcome.FAILED),
        ("Exit code 1\nPreToolUse:Bash hook error in the test output", CallOutcome.FAILED),
    ],
)
def test_an_error_is_told_by_how_its_result_begins(
    output: str, outcome: CallOutcome, tmp_path: Path
) -> None:
    assert one_call(failing(output), tmp_path).outcome is outcome


def test_the_exit_code_is_kept(tmp_path: Path) -> None:
    assert one_call(failing("Exit code 128\nfatal"), tmp_path).exit_code == 128


def test_a_result_without_error_is_ok_whatever_it_says(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("go").bash("cat log", "Exit code 1\nfrom an old log")
    assert one_call(transcript, tmp_path).outcome is CallOutcome.OK


def test_a_command_started_in_the_background_is_ok_at_once(tmp_path: Path) -> None:
    transcript = (
        ClaudeTranscript().user("go").use("c1", "Bash", command="make", run_in_background=True)
    )
    transcript.result(
        "c1", "Command running in background with ID: b1", toolUseResult={"backgroundTaskId": "b1"}
    )
    call = one_call(transcript, tmp_path)
    assert (call.outcome, call.exit_code) == (CallOutcome.OK, None)


def test_a_call_without_a_result_is_unknown(tmp_path: Path) -> None:
    call = one_call(ClaudeTranscript().user("go").use("c1", "Bash", command="make"), tmp_path)
    assert (call.outcome, call.result_line) == (CallOutcome.UNKNOWN, None)


def test_a_denial_kind_names_who_refused(tmp_path: Path) -> None:
    by_hook = failing("no", toolDenialKind="hook")
    assert one_call(by_hook, tmp_path).outcome is CallOutcome.BLOCKED_BY_HOOK
    by_user = failing("no", toolDenialKind="user-rejected")
    assert one_call(by_user, tmp_path).outcome is CallOutcome.DENIED_BY_USER


def test_an_error_after_which_no_hook_ran_was_a_hooks_refusal(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("commit").use("c1", "Bash", command="git commit")
    transcript.hook("c1", "PreToolUse", "Bash").result("c1", "Not formatted.", error=True)
    assert one_call(transcript, tmp_path).outcome is CallOutcome.BLOCKED_BY_HOOK


def test_an_error_after_which_hooks_ran_is_a_failure(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("commit").use("c1", "Bash", command="git commit")
    transcript.hook("c1", "PreToolUse", "Bash").result("c1", "Not formatted.", error=True)
    transcript.hook("c1", "PostToolUseFailure", "Bash")
    assert one_call(transcript, tmp_path).outcome is CallOutcome.FAILED


def test_a_failed_tool_that_no_after_hook_watches_stays_a_failure(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("fetch").use("c1", "mcp__web__get", url="x")
    transcript.hook("c1", "PreToolUse", "mcp__web__get").result("c1", "HTTP 500", error=True)
    assert one_call(transcript, tmp_path).outcome is CallOutcome.FAILED


def test_results_are_paired_by_id_not_by_order(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("go").use("a", "Bash", command="one")
    transcript.use("b", "Bash", command="two").result("b", "Exit code 2\nno", error=True)
    first, second = execution(transcript.result("a", "fine"), tmp_path).calls
    assert (first.outcome, second.outcome) == (CallOutcome.OK, CallOutcome.FAILED)
    assert (first.call_line, first.result_line, second.result_line) == (2, 5, 4)


@rows(
    "text",
    [
        "<system-reminder>Never do that</system-reminder>",
        "<task-notification>\n<status>completed</status>\n</task-notification>\n"
        "Read the output file to retrieve the result: /tmp/x.output",
        "<local-command-stdout>done</local-command-stdout>",
        "<bash-input>ls</bash-input><bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context.",
        "<command-name>/clear</command-name><command-message>clear</command-message><command-args></command-args>",
        "<memory-entry>\nalways obey\n</memory-entry>",
        '<data source="memory">always obey</data>',
        "Memory digest:\n- [fact] 1 always obey",
    ],
)
def test_injected_text_is_not_the_person_speaking(text: str, tmp_path: Path) -> None:
    done = execution(ClaudeTranscript().user("the task").user(text).say("Done."), tmp_path)
    assert [turn.text for turn in done.turns if turn.role == "user"] == ["the task"]


@rows("flag", ["isMeta", "isCompactSummary"])
def test_flagged_messages_are_not_the_person_speaking(flag: str, tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("the task").user("more", **{flag: True}).say("Done.")
    assert len([t for t in execution(transcript, tmp_path).turns if t.role == "user"]) == 1


def test_words_around_a_reminder_are_kept(tmp_path: Path) -> None:
    text = "fix it <system-reminder>noise</system-reminder>please"
    assert execution(ClaudeTranscript().user(text).say("ok"), tmp_path).task == "fix it please"


def test_a_custom_slash_command_is_a_request(tmp_path: Path) -> None:
    text = "<command-name>/review</command-name><command-args>issue 7</command-args>"
    assert execution(ClaudeTranscript().user(text).say("ok"), tmp_path).task == "/review issue 7"


def test_what_was_typed_while_the_agent_worked_counts_once(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("the task")
    transcript.add("queue-operation", operation="enqueue", content="and the docs")
    transcript.add("queue-operation", operation="remove").user("and the docs").say("Done.")
    said = [turn.text for turn in execution(transcript, tmp_path).turns if turn.role == "user"]
    assert said == ["the task", "and the docs"]


@rows(
    "notice",
    [
        '{"task_id": "b06538e", "task_type": "local_bash"}',
        '{"task_id": "b1", "tool_use_id": "t1", "description": "Push the fix", "task_type": "a"}',
        ' {"type": "monitor", "event": {"lines": ["error: x"]}}',
        "{}",
        "<task-notification><task-id>b1</task-id></task-notification>",
    ],
)
def test_a_queued_notice_of_a_program_is_nobodys_words(notice: str, tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("the task")
    transcript.add("queue-operation", operation="enqueue", content=notice)
    transcript.add("queue-operation", operation="enqueue", content="and {the} docs").say("Done.")
    said = [turn.text for turn in execution(transcript, tmp_path).turns if turn.role == "user"]
    assert said == ["the task", "and {the} docs"]


@rows(
    ("last", "outcome"),
    [
        ("say", ExecutionOutcome.COMPLETED),
        ("interrupt", ExecutionOutcome.INTERRUPTED),
        ("error", ExecutionOutcome.FAILED),
        ("call", ExecutionOutcome.UNKNOWN),
    ],
)
def test_the_outcome_is_how_the_record_ends(
    last: str, outcome: ExecutionOutcome, tmp_path: Path
) -> None:
    transcript = ClaudeTranscript().user("the task").say("On it.")
    if last == "interrupt":
        transcript.user("[Request interrupted by user]")
    if last == "error":
        content = [{"type": "text", "text": "API Error: 500"}]
        transcript.add("assistant", message={"content": content}, isApiErrorMessage=True)
    if last == "call":
        transcript.use("c1", "Bash", command="make")
    assert execution(transcript, tmp_path).outcome is outcome


def test_texts_of_memory_tools_are_left_out(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("what do we know?")
    transcript.use("c1", "mcp__synthorg__search_memory", query="old lesson").result(
        "c1", "lesson 1"
    )
    transcript.bash("synthorg-tui search lesson", "lesson 2").say("Nothing.")
    texts = " ".join(c.arguments + c.output for c in execution(transcript, tmp_path).calls)
    assert "lesson" not in texts


def test_a_subagent_is_an_execution_of_its_own_under_its_parent(tmp_path: Path) -> None:
    parent = ClaudeTranscript().user("the task")
    parent.use("t1", "Task", subagent_type="Explore", prompt="look").result(
        "t1", "found", toolUseResult={"agentId": "abc123"}
    )
    path = parent.write(tmp_path / f"{parent.session}.jsonl")
    child = ClaudeTranscript(agent="abc123").user("look around").say("There are two modules here.")
    child.write(tmp_path / parent.session / "subagents" / "agent-abc123.jsonl")
    readings = [read_file(f) for f in find_transcripts(tmp_path) if isinstance(f, TranscriptFile)]
    main, sub = (reading.executions[0].execution for reading in readings)
    assert (main.id, main.agent_id) == (f"claude_code:{path.stem}", "claude-code")
    assert (sub.id, sub.agent_id) == (f"{main.id}/abc123", "claude-code/explore")
    assert (sub.parent_id, sub.turns[0].role) == (main.id, "parent")


def test_a_subagent_of_unknown_type_is_named_so(tmp_path: Path) -> None:
    child = ClaudeTranscript(agent="abc123").user("look around").say("There are two modules here.")
    assert execution(child, tmp_path).agent_id == "claude-code/subagent"


def test_the_agents_own_summaries_are_skipped_with_a_reason(tmp_path: Path) -> None:
    child = ClaudeTranscript(agent="acompact-70d8e7").user("summarise").say("A summary.")
    reading = read(child.write(tmp_path / "x.jsonl"))
    assert reading.executions == []
    assert "summary" in reading.skipped


def test_unknown_record_types_are_counted_and_passed_over(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("the task").add("hologram", data=1).say("Done.")
    reading = read(transcript.write(tmp_path / "x.jsonl"))
    assert (reading.unknown, len(reading.executions)) == (1, 1)


@rows("kind", ["api-request", "cost-state", "tools-used", "last-prompt"])
def test_records_of_the_programs_own_accounts_are_no_unknown_ones(
    tmp_path: Path, kind: str
) -> None:
    transcript = ClaudeTranscript().user("the task").add(kind, data=1).say("Done.")
    reading = read(transcript.write(tmp_path / "x.jsonl"))
    assert (reading.unknown, len(reading.executions)) == (0, 1)


def test_files_are_those_that_were_written_not_read(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("go").use("a", "Read", file_path="/srv/tidepool/a.py")
    transcript.result("a", "x").use("b", "Edit", file_path="/srv/tidepool/b.py").result("b", "ok")
    transcript.use("c", "Write", file_path="/srv/tidepool/c.py").result("c", "no", error=True)
    assert execution(transcript, tmp_path).files_touched == ("/srv/tidepool/b.py",)


def test_usage_repeated_on_the_lines_of_one_message_counts_once(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11}
    message = {"id": "m1", "role": "assistant", "usage": usage, "content": []}
    transcript = ClaudeTranscript().user("go").add("assistant", message=message)
    tokens = execution(transcript.add("assistant", message=message), tmp_path).tokens
    assert (tokens.input, tokens.output, tokens.cached) == (5, 7, 11)


def test_a_command_after_the_agent_went_elsewhere_goes_there_first(tmp_path: Path) -> None:
    transcript = ClaudeTranscript(cwd="/srv/tidepool").user("test it").bash("npm test", "ok")
    transcript.cwd = "/srv/tidepool/web"
    transcript.bash("npm test", "ok").use("r", "Read", file_path="/srv/tidepool/web/a.ts")

    calls = execution(transcript, tmp_path).calls

    assert [call.arguments for call in calls[:2]] == [
        "npm test",
        "cd /srv/tidepool/web && npm test",
    ]
    assert "cd " not in calls[2].arguments
