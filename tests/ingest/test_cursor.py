import os
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import read_file
from tests.ingest.agent_kit import TASK, CursorSession
from tests.tables import rows


def execution(path: Path, session: CursorSession) -> Execution:
    session.write(path)
    os.utime(path, (1_750_000_000, 1_750_000_000))
    (extracted,) = read_file(TranscriptFile(path, 0, 0)).executions
    return extracted.execution


def asked() -> CursorSession:
    session = CursorSession()
    session.ask(TASK)
    return session


def use(command: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Shell", "input": {"command": command}, **fields}


def result(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "content": [{"type": "text", "text": text}], **fields}


@rows(
    ("block", "outcome", "code"),
    [
        (result("Exit code: 0\n\nfine"), CallOutcome.OK, 0),
        (result("Exit code: 2\n\nno"), CallOutcome.FAILED, 2),
        (result("Exit code: 0\n\nError: rejected by the user"), CallOutcome.OK, 0),
        (result("a.txt\n" * 200 + "exit code: 1"), CallOutcome.OK, None),
        (result("a.txt"), CallOutcome.OK, None),
        (result("Error: no such file"), CallOutcome.FAILED, None),
        (result("Error: is what it prints", is_error=False), CallOutcome.OK, None),
        (result("no", is_error=True), CallOutcome.FAILED, None),
        (result("The call was rejected by the user"), CallOutcome.DENIED_BY_USER, None),
        (result("Blocked by a hook: not on Fridays"), CallOutcome.BLOCKED_BY_HOOK, None),
    ],
)
def test_a_call_ends_as_its_result_tells(
    tmp_path: Path, block: dict[str, Any], outcome: CallOutcome, code: int | None
) -> None:
    session = asked().message("assistant", use("make")).message("user", block)
    (call,) = execution(tmp_path / "a.jsonl", session).calls
    assert (call.outcome, call.exit_code) == (outcome, code)


def test_results_without_ids_belong_to_the_oldest_call_and_others_to_theirs(
    tmp_path: Path,
) -> None:
    session = asked().message("assistant", use("make a"), use("make b", id="b"), use("make c"))
    session.message("user", result("B", tool_use_id="b"), result("A"), result("C"))
    calls = execution(tmp_path / "a.jsonl", session).calls
    assert [(call.arguments, call.output) for call in calls] == [
        ("make a", "A"),
        ("make b", "B"),
        ("make c", "C"),
    ]


def test_a_call_without_a_result_is_open(tmp_path: Path) -> None:
    session = asked().message("assistant", use("make"))
    assert execution(tmp_path / "a.jsonl", session).calls[0].outcome is CallOutcome.UNKNOWN


def test_what_the_program_adds_to_the_query_isnt_said(tmp_path: Path) -> None:
    session = asked().message("user", {"type": "text", "text": "<user_info>x</user_info>"})
    assert [turn.text for turn in execution(tmp_path / "a.jsonl", session).turns] == [TASK]


def test_the_file_tells_session_time_and_project(tmp_path: Path) -> None:
    project = tmp_path / "tide-pool"
    (tmp_path / "tide").mkdir()
    project.mkdir()
    encoded = str(project).lstrip("/").replace("/", "-")
    path = tmp_path / encoded / "agent-transcripts" / "s1" / "s1.jsonl"
    done = execution(path, asked())
    assert done.started_at is not None
    assert (done.id, done.started_at.timestamp()) == ("cursor:s1", 1_750_000_000)
    assert done.project == os.path.realpath(project)


@rows("encoded", ["no-such-folder", "..-etc", "-".join("x" * 60), ""])
def test_a_folder_that_names_no_project_tells_none(tmp_path: Path, encoded: str) -> None:
    path = tmp_path / encoded / "agent-transcripts" / "s1.jsonl"
    assert execution(path, asked()).project is None


def test_a_subagent_is_asked_by_its_parent(tmp_path: Path) -> None:
    done = execution(tmp_path / "s1" / "subagents" / "c1.jsonl", asked())
    assert (done.id, done.parent_id) == ("cursor:s1/c1", "cursor:s1")
    assert (done.agent_id, done.turns[0].role) == ("cursor/subagent", "parent")


@rows(
    ("status", "outcome"),
    [
        ("success", ExecutionOutcome.COMPLETED),
        ("error", ExecutionOutcome.FAILED),
        ("aborted", ExecutionOutcome.INTERRUPTED),
    ],
)
def test_the_session_ends_as_its_last_turn(
    tmp_path: Path, status: str, outcome: ExecutionOutcome
) -> None:
    session = asked()
    session.add(type="turn_ended", status=status)
    assert execution(tmp_path / "a.jsonl", session).outcome is outcome
