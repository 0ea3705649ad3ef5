import json
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import FileReading, read_file
from tests import REPO


def read(tmp_path: Path, *records: dict[str, Any]) -> FileReading:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_file(TranscriptFile(path, 0, 0))


def run(session: str = "s1", **fields: Any) -> dict[str, Any]:
    return {"format": "synthorg-execution", "session": session, "agent": "CI Agent", **fields}


def test_each_line_is_an_execution_with_its_own_lines(tmp_path: Path) -> None:
    reading = read(tmp_path, run("s1", task="one"), run("s2", task="two"))
    ids = [each.execution.id for each in reading.executions]
    assert ids == ["generic:ci-agent.s1", "generic:ci-agent.s2"]
    assert [len(each.lines) for each in reading.executions] == [1, 1]


def test_the_documented_example_is_read_whole(tmp_path: Path) -> None:
    text = (REPO / "docs" / "transcript-format.md").read_text()
    example = json.loads(text.partition("```json\n")[2].partition("```")[0])
    (extracted,) = read(tmp_path, example).executions
    done = extracted.execution
    assert (done.agent_id, done.branch, done.outcome) == (
        "ci-agent",
        "main",
        ExecutionOutcome.COMPLETED,
    )
    assert [call.outcome for call in done.calls] == [CallOutcome.FAILED, CallOutcome.OK]
    assert (done.files_touched, done.tokens.cached) == (("Makefile",), 4000)


def test_the_task_is_the_persons_turn_when_none_is_given(tmp_path: Path) -> None:
    (extracted,) = read(tmp_path, run(task="Never deploy on Fridays.")).executions
    assert extracted.execution.task == "Never deploy on Fridays."


def test_records_without_session_agent_or_content_are_unknown(tmp_path: Path) -> None:
    reading = read(tmp_path, run(task="x"), run(), run("", task="x"), {"other": 1})
    assert (len(reading.executions), reading.unknown) == (1, 3)


def test_an_unknown_outcome_name_is_unknown(tmp_path: Path) -> None:
    call = {"tool": "bash", "arguments": "make", "outcome": "exploded"}
    (extracted,) = read(tmp_path, run(calls=[call])).executions
    assert extracted.execution.calls[0].outcome is CallOutcome.UNKNOWN
