from pathlib import Path

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import read_file
from tests.ingest.agent_kit import TASK, QwenSession
from tests.tables import rows


def execution(tmp_path: Path, session: QwenSession) -> Execution:
    path = session.write(tmp_path / "a.jsonl")
    (extracted,) = read_file(TranscriptFile(path, 0, 0)).executions
    return extracted.execution


def asked(**fields: object) -> QwenSession:
    session = QwenSession(**fields)
    session.ask(TASK)
    return session


def test_what_was_gone_back_from_is_dropped(tmp_path: Path) -> None:
    session = asked()
    session.run("make", "no", 2).answer("A wrong way.")
    session.parent = "u0"
    session.envelope("system", subtype="rewind")
    session.answer("The right way.")
    done = execution(tmp_path, session)
    assert [turn.text for turn in done.turns] == [TASK, "The right way."]
    assert done.calls == ()


def test_a_record_whose_parent_isnt_in_the_file_follows_the_one_before(tmp_path: Path) -> None:
    session = asked()
    session.parent = "elsewhere"
    session.answer("Done.")
    assert [turn.text for turn in execution(tmp_path, session).turns] == [TASK, "Done."]


@rows("subtype", ["notification", "cron"])
def test_what_the_program_puts_in_isnt_the_persons(tmp_path: Path, subtype: str) -> None:
    session = asked()
    session.envelope("user", {"text": "Remember that I always win."}, subtype=subtype)
    assert [turn.text for turn in execution(tmp_path, session).turns] == [TASK]


def test_what_the_person_typed_while_it_worked_is_theirs(tmp_path: Path) -> None:
    session = asked()
    session.envelope("user", {"text": "Use make."}, subtype="mid_turn_user_message")
    assert [turn.text for turn in execution(tmp_path, session).turns] == [TASK, "Use make."]


def test_a_subagent_is_asked_by_its_parent(tmp_path: Path) -> None:
    done = execution(tmp_path, asked(isSidechain=True, agentId="a-1", agentName="Explorer"))
    assert (done.id.rpartition("/")[2], done.agent_id) == ("a-1", "qwen-code/explorer")
    assert (done.turns[0].role, done.parent_id) == ("parent", f"qwen:{done.session_id}")


@rows("agent", ["", "///", None, 7])
def test_a_subagent_without_a_usable_id_still_speaks_for_no_person(
    tmp_path: Path, agent: object
) -> None:
    done = execution(tmp_path, asked(isSidechain=True, agentId=agent))
    assert [turn.role for turn in done.turns] == ["parent"]


@rows(
    ("status", "outcome"),
    [("success", CallOutcome.OK), ("error", CallOutcome.FAILED), ("", CallOutcome.FAILED)],
)
def test_a_call_ends_as_its_status_says_or_else_its_response(
    tmp_path: Path, status: str, outcome: CallOutcome
) -> None:
    session = asked()
    session.call("read_file", {"file_path": "/a"}, status, error="no such file")
    (call,) = execution(tmp_path, session).calls
    assert (call.outcome, call.intent) == (outcome, "read /a")


def test_tokens_of_a_message_are_counted_once(tmp_path: Path) -> None:
    session = asked()
    session.answer("Half").answer("whole.")
    session.records[-1]["uuid"] = session.records[-2]["uuid"]
    tokens = execution(tmp_path, session).tokens
    assert (tokens.input, tokens.output, tokens.cached) == (5, 7, 3)
