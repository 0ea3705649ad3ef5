import json
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import usual_places
from tests.ingest.stores_kit import found, only
from tests.tables import rows

OK, FAILED, UNKNOWN = CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN


class Conversation:
    """Builds the folder of one conversation, event by event."""

    def __init__(self, home: Path) -> None:
        self.folder, self.count = home / ".openhands" / "conversations" / "c1", 0
        (self.folder / "events").mkdir(parents=True)
        usage = {"prompt_tokens": 9, "completion_tokens": 4, "cache_read_tokens": 3}
        state = {
            "id": "c1",
            "agent": {"llm": {"model": "model-x"}},
            "workspace": {"working_dir": "/srv/tidepool"},
            "stats": {"usage_to_metrics": {"agent": {"accumulated_token_usage": usage}}},
        }
        (self.folder / "base_state.json").write_text(json.dumps(state, indent=1))

    def raw(self, text: str) -> "Conversation":
        self.count += 1
        (self.folder / "events" / f"event-{self.count:05}-x.json").write_text(text)
        return self

    def add(self, kind: str, **fields: Any) -> "Conversation":
        at = f"2025-06-01T09:00:{self.count:02}"
        event = {"kind": kind, "id": f"e{self.count}", "timestamp": at, **fields}
        return self.raw(json.dumps(event, indent=1))

    def say(self, source: str, text: str) -> "Conversation":
        content = [{"type": "text", "text": text}]
        message = {"role": "user" if source == "user" else "assistant", "content": content}
        return self.add("MessageEvent", source=source, llm_message=message)

    def act(self, tool: str = "terminal", **action: Any) -> "Conversation":
        given = action or {"command": "make test"}
        return self.add("ActionEvent", tool_name=tool, tool_call_id="t", action=given)

    def seen(self, kind: str = "ObservationEvent", **fields: Any) -> "Conversation":
        return self.add(kind, tool_call_id="t", **fields)


def asked(tmp_path: Path) -> Conversation:
    return Conversation(tmp_path).say("user", "make it work")


def execution(conversation: Conversation) -> Execution:
    reading = only(conversation.folder)
    assert reading.skipped == ""
    return reading.executions[0].execution


@rows(
    ("event", "outcome", "code"),
    [
        ({"observation": {"exit_code": 0}}, OK, 0),
        ({"observation": {"exit_code": 2}}, FAILED, 2),
        ({"observation": {"metadata": {"exit_code": 1}}}, FAILED, 1),
        ({"observation": {"exit_code": -1, "timeout": True}}, UNKNOWN, None),
        ({"observation": {"is_error": True}}, FAILED, None),
        ({"observation": {}}, UNKNOWN, None),
        ({"kind": "AgentErrorEvent", "error": "no such tool"}, FAILED, None),
        ({"kind": "UserRejectObservation"}, CallOutcome.DENIED_BY_USER, None),
        (
            {"kind": "UserRejectObservation", "rejection_source": "hook"},
            CallOutcome.BLOCKED_BY_HOOK,
            None,
        ),
    ],
)
def test_an_observation_says_how_its_call_ended(
    event: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    (call,) = execution(asked(tmp_path).act().seen(**event)).calls
    assert (call.outcome, call.exit_code, call.intent) == (outcome, code, "make test")


def test_a_conversation_is_read_with_what_its_state_says(tmp_path: Path) -> None:
    conversation = asked(tmp_path).act("file_editor", command="create", path="a.py")
    done = execution(conversation.seen(observation={}).say("agent", "done"))
    assert (done.id, done.project, done.model) == ("openhands:c1", "/srv/tidepool", "model-x")
    assert (done.task, done.outcome) == ("make it work", ExecutionOutcome.COMPLETED)
    assert (done.tokens.input, done.tokens.output, done.tokens.cached) == (9, 4, 3)
    assert (done.calls[0].intent, done.files_touched) == ("write a.py", ("a.py",))
    assert (done.line_count, str(done.started_at)[:10]) == (5, "2025-06-01")


def test_finishing_is_an_answer_and_no_call(tmp_path: Path) -> None:
    done = execution(asked(tmp_path).act("finish", message="It works now."))
    assert ([turn.text for turn in done.turns][1:], done.calls) == (["It works now."], ())
    assert done.outcome is ExecutionOutcome.COMPLETED


@rows(
    ("kind", "outcome"),
    [
        ("ConversationErrorEvent", ExecutionOutcome.FAILED),
        ("PauseEvent", ExecutionOutcome.INTERRUPTED),
        ("Condensation", ExecutionOutcome.COMPLETED),
    ],
)
def test_the_last_event_tells_the_outcome(
    kind: str, outcome: ExecutionOutcome, tmp_path: Path
) -> None:
    assert execution(asked(tmp_path).say("agent", "done").add(kind)).outcome is outcome


def test_unknown_events_are_counted_and_torn_ones_are_malformed(tmp_path: Path) -> None:
    reading = only(asked(tmp_path).add("HologramEvent").raw('{"kind": "Mes').raw("[]").folder)
    assert (reading.unknown, reading.malformed, len(reading.executions)) == (2, 1, 1)


def test_a_conversation_changes_with_its_events(tmp_path: Path) -> None:
    conversation = asked(tmp_path)
    before = found(conversation.folder)
    conversation.say("agent", "done")
    assert found(conversation.folder) != before


def test_an_empty_conversation_is_skipped_in_words(tmp_path: Path) -> None:
    assert only(Conversation(tmp_path).folder).skipped == "nothing was asked or done in it"


@rows("text", ["", "[]", '{"a'])
def test_a_state_that_is_none_says_so(text: str, tmp_path: Path) -> None:
    conversation = Conversation(tmp_path)
    (conversation.folder / "base_state.json").write_text(text)
    assert only(conversation.folder).skipped == "not a transcript of a known agent"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    token = "sk-ant-api03-" + "a" * 80
    conversation = Conversation(tmp_path).say("user", f"{token} \x1b[31m \ud800 </data>")
    conversation.act(command="cat").seen(observation={"content": [{"text": "\x00" + token}]})
    assert token not in str(execution(conversation))


def test_its_place_is_found_and_moved(tmp_path: Path) -> None:
    folder = asked(tmp_path).folder.parent
    assert ("openhands", folder) in usual_places(tmp_path, {})
    moved = usual_places(tmp_path, {"OPENHANDS_CONVERSATIONS_DIR": "/elsewhere"})
    assert ("openhands", Path("/elsewhere")) in moved
