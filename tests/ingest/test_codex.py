import json
from pathlib import Path
from typing import Any

import zstandard

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import TranscriptFile, find_transcripts
from synthorg_tui.ingest.reading import read_file
from tests.ingest.transcript_kit import CodexTranscript
from tests.tables import rows


def execution(path: Path) -> Execution:
    (file,) = [each for each in find_transcripts(path) if isinstance(each, TranscriptFile)]
    reading = read_file(file)
    assert reading.skipped == ""
    return reading.executions[0].execution


def codex(tmp_path: Path, transcript: CodexTranscript) -> Execution:
    return execution(transcript.write(tmp_path / "rollout-1.jsonl"))


def asked() -> CodexTranscript:
    return CodexTranscript().message("user", "make it work")


@rows(
    ("output", "outcome", "code"),
    [
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nok", CallOutcome.OK, 0),
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\nno", CallOutcome.FAILED, 2),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", CallOutcome.FAILED, 1),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nExit code: 9", CallOutcome.OK, 0),
        (json.dumps({"output": "no", "metadata": {"exit_code": 3}}), CallOutcome.FAILED, 3),
        (json.dumps({"output": "ok", "metadata": {"exit_code": 0}}), CallOutcome.OK, 0),
        ({"content": "no", "success": False}, CallOutcome.FAILED, 1),
        ([{"type": "input_text", "text": "Exit code: 4\nOutput:\nno"}], CallOutcome.FAILED, 4),
        ("exec command rejected by user", CallOutcome.DENIED_BY_USER, None),
        ("aborted by user after 3.2s", CallOutcome.DENIED_BY_USER, None),
        ("failed to parse function arguments: x", CallOutcome.FAILED, None),
        ("Plan updated", CallOutcome.OK, None),
        ("Process running with session ID 7\nOutput:\n", CallOutcome.OK, None),
    ],
)
def test_the_outcome_stands_before_the_output(
    output: Any, outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    call = codex(tmp_path, asked().run("make", output)).calls[0]
    assert (call.outcome, call.exit_code) == (outcome, code)


@rows(
    ("namespace", "name"),
    [
        ("mcp__github", "mcp__github__list_issues"),
        ("multi_agent", "list_issues"),
        ("", "list_issues"),
        (None, "list_issues"),
    ],
)
def test_the_tool_of_a_server_is_named_with_the_server(
    namespace: str | None, name: str, tmp_path: Path
) -> None:
    call = {"name": "list_issues", "namespace": namespace, "arguments": "{}", "call_id": "c"}
    assert codex(tmp_path, asked().item("function_call", **call)).calls[0].tool == name


def test_records_that_tell_nothing_are_no_unknown_ones(tmp_path: Path) -> None:
    transcript = asked().run("make", "ok").add("world_state", cwd="/").add("token_usage_record")
    path = transcript.add("something_else").write(tmp_path / "rollout-1.jsonl")
    (file,) = [each for each in find_transcripts(path) if isinstance(each, TranscriptFile)]
    assert read_file(file).unknown == 1


def test_a_call_without_output_is_unknown(tmp_path: Path) -> None:
    transcript = asked().item("function_call", name="exec_command", arguments="{}", call_id="c")
    assert codex(tmp_path, transcript).calls[0].outcome is CallOutcome.UNKNOWN


@rows(
    "arguments",
    [
        {"cmd": "git push"},
        {"command": "git push"},
        {"command": ["bash", "-lc", "git push"]},
        {"command": ["git", "push"]},
    ],
)
def test_a_command_is_found_in_every_shape(arguments: dict[str, Any], tmp_path: Path) -> None:
    call = codex(tmp_path, asked().run("", "x", name="shell", **arguments)).calls[0]
    assert (call.arguments, call.intent) == ("git push", "git push")


def test_a_local_shell_call_is_a_command(tmp_path: Path) -> None:
    action = {"type": "exec", "command": ["bash", "-lc", "make test"]}
    transcript = asked().item("local_shell_call", call_id="c", status="completed", action=action)
    transcript.item("function_call_output", call_id="c", output="Exit code: 0\nOutput:\n")
    assert codex(tmp_path, transcript).calls[0].intent == "make test"


def test_a_patch_that_applied_touched_its_files(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n*** End Patch"
    transcript = asked().item("custom_tool_call", name="apply_patch", call_id="c", input=patch)
    output = json.dumps({"output": "Success.", "metadata": {"exit_code": 0}})
    done = codex(tmp_path, transcript.item("custom_tool_call_output", call_id="c", output=output))
    assert done.files_touched == ("a.py", "b.py")


def test_a_patch_that_failed_touched_nothing(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** End Patch"
    transcript = asked().item("custom_tool_call", name="apply_patch", call_id="c", input=patch)
    output = "apply_patch verification failed: no such line"
    done = codex(tmp_path, transcript.item("custom_tool_call_output", call_id="c", output=output))
    assert (done.files_touched, done.calls[0].outcome) == ((), CallOutcome.FAILED)


@rows(
    "text",
    [
        "# AGENTS.md instructions for /srv\n\nAlways obey",
        "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>",
        "<user_instructions>Always obey</user_instructions>",
        "<recommended_plugins>\nHere is a list of plugins.\n- Box\n</recommended_plugins>",
        "<multi_agent_mode>Do not spawn sub-agents.</multi_agent_mode>",
    ],
)
def test_injected_messages_are_not_the_person_speaking(text: str, tmp_path: Path) -> None:
    transcript = CodexTranscript().message("user", text).message("developer", "be good")
    done = codex(tmp_path, transcript.message("user", "the task").message("assistant", "done"))
    assert done.task == "the task"
    assert len(done.turns) == 2


def test_events_repeat_the_items_and_add_no_turns(tmp_path: Path) -> None:
    transcript = asked().add("event_msg", type="user_message", message="make it work")
    assert len(codex(tmp_path, transcript).turns) == 1


@rows(
    ("event", "outcome"),
    [
        ("turn_aborted", ExecutionOutcome.INTERRUPTED),
        ("task_complete", ExecutionOutcome.COMPLETED),
        ("error", ExecutionOutcome.FAILED),
    ],
)
def test_the_last_event_tells_the_outcome(
    event: str, outcome: ExecutionOutcome, tmp_path: Path
) -> None:
    assert codex(tmp_path, asked().add("event_msg", type=event, message="x")).outcome is outcome


def test_project_branch_and_session_come_from_the_records(tmp_path: Path) -> None:
    done = codex(tmp_path, asked())
    assert (done.id, done.agent_id) == ("codex:codex-1", "codex")
    assert (done.project, done.branch) == ("/srv/tidepool", "main")


@rows("name", ["rollout-1.jsonl.zst", "renamed.jsonl"])
def test_a_compressed_rollout_is_read_whatever_its_name(name: str, tmp_path: Path) -> None:
    plain = "\n".join(asked().message("assistant", "done").lines).encode() + b"\n"
    half = len(plain) // 2
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / name).write_bytes(pack(plain[:half]) + pack(plain[half:]))
    assert execution(tmp_path / name).task == "make it work"


def test_a_broken_archive_is_skipped_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"garbage" * 20)
    (file,) = [each for each in find_transcripts(path) if isinstance(each, TranscriptFile)]
    assert "can't be read" in read_file(file).skipped


def script(transcript: CodexTranscript, source: str, *printed: str) -> CodexTranscript:
    transcript.item("custom_tool_call", name="exec", input=source, call_id="s1")
    texts = ["Script completed\nWall time 0.1 seconds\nOutput:\n", *printed]
    parts = [{"type": "input_text", "text": text} for text in texts]
    return transcript.item("custom_tool_call_output", call_id="s1", output=parts)


def test_the_calls_of_a_script_are_calls(tmp_path: Path) -> None:
    source = """const [a, b] = await Promise.all([
      tools.exec_command({"cmd": "npm test", "workdir": "/srv/tidepool"}),
      tools.exec_command({cmd: "npm run lint"})]); text(JSON.stringify([a, b]))"""
    results = json.dumps([{"exit_code": 1, "output": "1 failed"}, {"exit_code": 0, "output": "ok"}])
    calls = codex(tmp_path, script(asked(), source, results)).calls

    assert [(call.arguments, call.output, call.exit_code) for call in calls] == [
        ("npm test", "1 failed", 1),
        ("npm run lint", "ok", 0),
    ]
    assert [call.outcome for call in calls] == [CallOutcome.FAILED, CallOutcome.OK]
    assert len({call.id for call in calls}) == 2


@rows(
    ("directory", "stored"),
    [
        ("/srv/tidepool", "npm test"),
        ("/srv/tidepool/", "npm test"),
        ("", "npm test"),
        ("/srv/tidepool/web", "cd /srv/tidepool/web && npm test"),
        ("/srv/other copy", "cd '/srv/other copy' && npm test"),
    ],
)
def test_a_command_outside_of_the_session_s_folder_goes_there_first(
    directory: str, stored: str, tmp_path: Path
) -> None:
    source = f"await tools.exec_command({json.dumps({'cmd': 'npm test', 'workdir': directory})})"
    assert codex(tmp_path, script(asked(), source, "ok")).calls[0].arguments == stored


@rows(
    ("fields", "stored"),
    [
        ({"sandbox_permissions": "require_escalated"}, "require_escalated npm test"),
        ({"with_escalated_permissions": True}, "require_escalated npm test"),
        ({"with_escalated_permissions": False}, "npm test"),
        ({"sandbox_permissions": "use_default"}, "npm test"),
        ({"sandbox_permissions": ["require_escalated"]}, "npm test"),
    ],
)
def test_a_command_outside_of_the_sandbox_says_so(
    fields: dict[str, Any], stored: str, tmp_path: Path
) -> None:
    arguments = json.dumps({"cmd": "npm test", **fields})
    transcript = asked().item(
        "function_call", name="exec_command", arguments=arguments, call_id="c"
    )
    assert codex(tmp_path, transcript).calls[0].arguments == stored


def test_a_patch_in_a_script_changes_its_files(tmp_path: Path) -> None:
    source = (
        'const p = "*** Begin Patch\\n*** Update File: src/a.ts\\n+x\\n*** End Patch";\n'
        "text(await tools.apply_patch(p))"
    )
    done = codex(tmp_path, script(asked(), source, "{}"))

    assert done.calls[0].intent == "edit src/a.ts"
    assert done.files_touched == ("src/a.ts",)


def test_a_script_without_calls_is_one_call(tmp_path: Path) -> None:
    (call,) = codex(tmp_path, script(asked(), "text(1 + 1)", "2")).calls

    assert (call.tool, call.output, call.outcome) == ("exec", "2", CallOutcome.OK)


def test_a_script_that_broke_off_failed(tmp_path: Path) -> None:
    transcript = asked().item(
        "custom_tool_call",
        name="exec",
        input='await tools.exec_command({"cmd": "ls"})',
        call_id="s1",
    )
    transcript.item("custom_tool_call_output", call_id="s1", output="Script failed\nTypeError: x")

    assert codex(tmp_path, transcript).calls[0].outcome is CallOutcome.FAILED


@rows(
    ("source", "model"),
    [
        ({"subagent": {"other": "guardian"}}, "gpt-5"),
        ("vscode", "codex-auto-review"),
    ],
)
def test_a_review_of_commands_is_no_session_of_a_person(
    source: Any, model: str, tmp_path: Path
) -> None:
    transcript = CodexTranscript()
    transcript.add("session_meta", id="codex-1", source=source)
    transcript.add("turn_context", model=model).message("user", "Assess this action: git push")
    path = transcript.message("assistant", '{"risk_level": "low"}').write(
        tmp_path / "rollout-1.jsonl"
    )
    (file,) = [each for each in find_transcripts(path) if isinstance(each, TranscriptFile)]
    reading = read_file(file)

    assert reading.executions == []
    assert reading.skipped == "an automatic review of commands, not work"


def test_what_another_agent_asks_is_no_wish_of_a_person(tmp_path: Path) -> None:
    transcript = CodexTranscript()
    transcript.add(
        "session_meta", id="codex-1", source={"subagent": {"thread_spawn": {"depth": 1}}}
    )

    done = codex(tmp_path, transcript.message("user", "make it work").message("assistant", "ok"))

    assert [turn.role for turn in done.turns] == ["parent", "assistant"]
