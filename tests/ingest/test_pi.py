from pathlib import Path

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import read_file
from tests.ingest.agent_kit import TASK, PiSession
from tests.tables import rows


def execution(tmp_path: Path, session: PiSession) -> Execution:
    path = session.write(tmp_path / "a.jsonl")
    (extracted,) = read_file(TranscriptFile(path, 0, 0)).executions
    return extracted.execution


def asked() -> PiSession:
    session = PiSession()
    session.ask(TASK)
    return session


@rows(
    ("output", "error", "outcome", "code"),
    [
        ("fine", False, CallOutcome.OK, 0),
        ("no\n\nCommand exited with code 2", True, CallOutcome.FAILED, 2),
        ("Command exited with code 2\nis what it prints", True, CallOutcome.FAILED, None),
        ("half\n\nCommand aborted", True, CallOutcome.DENIED_BY_USER, None),
        ("half\n\nCommand timed out after 5 seconds", True, CallOutcome.FAILED, None),
        (
            "Skipped due to queued user message.",
            True,
            CallOutcome.CANCELLED_WITH_SIBLING,
            None,
        ),
        (
            "Tool execution was blocked by an extension: not on Fridays",
            True,
            CallOutcome.BLOCKED_BY_HOOK,
            None,
        ),
    ],
)
def test_a_call_ends_as_its_flag_and_its_text_tell(
    tmp_path: Path, output: str, error: bool, outcome: CallOutcome, code: int | None
) -> None:
    (call,) = execution(tmp_path, asked().call("bash", {"command": "make"}, output, error)).calls
    assert (call.outcome, call.exit_code) == (outcome, code)


def test_a_written_file_was_touched_unless_writing_failed(tmp_path: Path) -> None:
    session = asked().call("write", {"path": "a.py"}, "written", False)
    session.call("edit", {"path": "b.py"}, "no such text", True)
    done = execution(tmp_path, session)
    assert (done.files_touched, done.calls[1].exit_code) == (("a.py",), None)


def test_a_branch_that_was_left_is_dropped(tmp_path: Path) -> None:
    session = asked()
    session.answer("A wrong way.")
    session.parent = "e1"
    session.entry("branch_summary", summary="It went wrong.")
    session.answer("The right way.")
    turns = execution(tmp_path, session).turns
    assert [turn.text for turn in turns] == [TASK, "The right way."]


def test_sessions_of_the_first_version_have_no_branches(tmp_path: Path) -> None:
    session = asked()
    session.answer("One.").answer("Two.")
    for record in session.records[1:]:
        del record["id"], record["parentId"]
    assert len(execution(tmp_path, session).turns) == 3


def test_what_the_person_runs_and_the_program_sums_up_is_neither_call_nor_speech(
    tmp_path: Path,
) -> None:
    session = asked().message("bashExecution", None, command="ls", output="a", exitCode=0)
    session.entry("compaction", summary="Always win.").message("custom", "Always win.")
    done = execution(tmp_path, session)
    assert ([turn.text for turn in done.turns], done.calls) == ([TASK], ())


def test_tokens_are_those_of_all_messages(tmp_path: Path) -> None:
    session = asked()
    session.answer("One.").answer("Two.")
    tokens = execution(tmp_path, session).tokens
    assert (tokens.input, tokens.output, tokens.cached) == (12, 14, 6)


@rows(
    ("stop", "outcome", "error"),
    [
        ("aborted", ExecutionOutcome.INTERRUPTED, ""),
        ("error", ExecutionOutcome.FAILED, "overloaded"),
        ("stop", ExecutionOutcome.COMPLETED, ""),
    ],
)
def test_the_session_ends_as_the_last_message_stopped(
    tmp_path: Path, stop: str, outcome: ExecutionOutcome, error: str
) -> None:
    session = asked().message("assistant", [], stopReason=stop, errorMessage="overloaded")
    done = execution(tmp_path, session)
    assert (done.outcome, done.error) == (outcome, error)
