import json
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.discovery import usual_places
from tests.ingest.stores_kit import found, only
from tests.tables import rows

OK, FAILED, UNKNOWN = CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN
DIFF = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n"


def mini(tmp_path: Path, *messages: dict[str, Any], **info: Any) -> Path:
    config = {"model": {"model_name": "model-x"}, "environment": {"cwd": "/testbed"}}
    told = {"mini_version": "2.4.6", "config": config, **info}
    asked = [
        {"role": "system", "content": "You can run commands. Always obey."},
        {"role": "user", "content": "Please solve this issue: make it work"},
    ]
    trajectory = {
        "info": told,
        "messages": [*asked, *messages],
        "trajectory_format": "mini-swe-agent-1.1",
    }
    path = tmp_path / "last_mini_run.traj.json"
    path.write_text(json.dumps(trajectory, indent=2))
    return path


def swe(tmp_path: Path, *steps: dict[str, Any], **info: Any) -> Path:
    history = [
        {"role": "user", "content": "an example", "is_demo": True},
        {"role": "user", "content": [{"type": "text", "text": "Fix the issue"}]},
    ]
    trajectory = {
        "environment": "swe_main",
        "trajectory": list(steps),
        "history": history,
        "info": info,
        "replay_config": json.dumps({"agent": {"model": {"name": "model-x"}}}),
    }
    path = tmp_path / "django__django-1.traj"
    path.write_text(json.dumps(trajectory))
    return path


def step(action: str, observation: str, **fields: Any) -> dict[str, Any]:
    state = {"working_dir": "/testbed"}
    return {"action": action, "observation": observation, "state": state, **fields}


def native(call: str, command: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {
        "role": "assistant",
        "content": "hm",
        "tool_calls": [{"id": call, "function": function}],
    }


def ran(command: str) -> dict[str, Any]:
    return {"role": "assistant", "content": f"hm\n\n```bash\n{command}\n```"}


def execution(path: Path) -> Execution:
    reading = only(path)
    assert reading.skipped == ""
    return reading.executions[0].execution


@rows(
    ("answer", "outcome", "code"),
    [
        ({"role": "user", "content": "<returncode>0</returncode>\n<output>\nok"}, OK, 0),
        ({"role": "user", "content": "<returncode>2</returncode>\n<output>\nno"}, FAILED, 2),
        ({"role": "user", "content": "x <returncode>0</returncode>"}, UNKNOWN, None),
        (
            {"role": "user", "content": "x", "extra": {"returncode": 1, "raw_output": "y"}},
            FAILED,
            1,
        ),
        (
            {"role": "user", "content": "The last command <command>x</command> timed out"},
            FAILED,
            None,
        ),
        (
            {
                "role": "user",
                "content": "Command not executed. The user rejected your command with: no",
            },
            CallOutcome.DENIED_BY_USER,
            None,
        ),
    ],
)
def test_a_command_in_text_ends_as_the_next_message_says(
    answer: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    (call,) = execution(mini(tmp_path, ran("make test"), answer)).calls
    assert (call.outcome, call.exit_code, call.intent) == (outcome, code, "make test")


def test_native_calls_are_answered_by_their_ids(tmp_path: Path) -> None:
    calls = [native("a", "make test"), native("b", "make lint")]
    answers = [
        {"role": "tool", "tool_call_id": "b", "content": "", "extra": {"returncode": 0}},
        {"role": "tool", "tool_call_id": "a", "content": "", "extra": {"returncode": 1}},
    ]
    done = execution(mini(tmp_path, *calls, *answers))
    assert [(call.id, call.outcome) for call in done.calls] == [("a", FAILED), ("b", OK)]


def test_a_run_is_read_with_what_it_says_of_itself(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    extra = {
        "timestamp": 1_748_768_400.5,
        "response": {"usage": usage},
        "actions": [{"command": "ls", "tool_call_id": "a"}],
    }
    answer = {"role": "assistant", "content": "hm", "extra": extra}
    end = {"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": DIFF}}
    done = execution(mini(tmp_path, answer, end))
    assert (done.agent_id, done.model, done.project) == ("mini-swe-agent", "model-x", "/testbed")
    assert (done.outcome, done.files_touched) == (ExecutionOutcome.COMPLETED, ("src/a.py",))
    assert (done.tokens.input, done.tokens.output) == (9, 4)
    assert str(done.started_at).startswith("2025-06-01")
    assert done.id.startswith("swe_agent:last_mini_run-")


def test_a_template_is_the_word_of_no_person(tmp_path: Path) -> None:
    turns = execution(mini(tmp_path, ran("ls"))).turns
    assert [turn.role for turn in turns] == ["parent", "assistant"]


def test_the_next_run_in_the_same_file_is_another(tmp_path: Path) -> None:
    first = execution(mini(tmp_path, ran("ls")))
    longer = execution(mini(tmp_path, ran("ls"), {"role": "user", "content": "x"}))
    other = execution(mini(tmp_path, ran("pwd")))
    assert first.id == longer.id != other.id


@rows(
    ("observation", "outcome"),
    [
        ("Your command ran successfully and did not produce any output.", OK),
        ("The file /testbed/a.py has been edited. Here's", OK),
        ("bash: nope: command not found", FAILED),
        ("EXECUTION TIMED OUT", FAILED),
        ("Your proposed edit has introduced new syntax error(s).", FAILED),
        ("a.py  b.py", UNKNOWN),
        ("total 0\nbash: nope", UNKNOWN),
    ],
)
def test_a_step_ends_as_the_programs_own_words_say(
    observation: str, outcome: CallOutcome, tmp_path: Path
) -> None:
    (call,) = execution(swe(tmp_path, step("make test", observation))).calls
    assert (call.outcome, call.exit_code, call.intent) == (outcome, None, "make test")


@rows(
    ("status", "outcome"),
    [
        ("submitted", ExecutionOutcome.COMPLETED),
        ("submitted (exit_cost)", ExecutionOutcome.COMPLETED),
        ("exit_context", ExecutionOutcome.FAILED),
        ("UserInterruption", ExecutionOutcome.INTERRUPTED),
        (None, ExecutionOutcome.UNKNOWN),
    ],
)
def test_the_exit_status_ends_the_run(
    status: str | None, outcome: ExecutionOutcome, tmp_path: Path
) -> None:
    stats = {"tokens_sent": 9, "tokens_received": 4}
    first = step("ls", "a.py", thought="hm")
    path = swe(tmp_path, first, exit_status=status, model_stats=stats, submission=DIFF)
    done = execution(path)
    assert (done.outcome, done.agent_id, done.model) == (outcome, "swe-agent", "model-x")
    assert (done.task, done.project, done.tokens.input) == ("Fix the issue", "/testbed", 9)
    assert [turn.role for turn in done.turns] == ["parent", "assistant"]


def test_unknown_messages_are_counted(tmp_path: Path) -> None:
    reading = only(mini(tmp_path, ran("ls"), {"role": "user", "content": "x"}, {"role": "umpire"}))
    assert (reading.unknown, reading.malformed, len(reading.executions)) == (1, 0, 1)


def test_a_torn_document_is_left_for_the_next_import(tmp_path: Path) -> None:
    path = mini(tmp_path, ran("ls"))
    path.write_text(path.read_text()[:-20])
    assert only(path).skipped == "can't be read: no complete JSON document"


def test_a_run_that_did_nothing_is_skipped_in_words(tmp_path: Path) -> None:
    assert only(mini(tmp_path)).skipped == "nothing was asked or done in it"


@rows("text", ['{"messages": [{"role": "user"}]}', '{"info": 5}', "[1]", "{}"])
def test_another_programs_document_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.traj"
    path.write_text(text)
    assert only(path).skipped == "not a transcript of a known agent"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    token = "sk-ant-api03-" + "a" * 80
    said = {"role": "user", "content": f"{token} \x1b[31m \ud800 <returncode>0</returncode>"}
    path = mini(tmp_path, ran("```bash\n" * 20_000), said)
    done = execution(path.rename(tmp_path / "a #1 b.traj.json"))
    assert " " not in done.id
    assert "#" not in done.id
    assert token not in str(done)


def test_the_last_run_is_found(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "mini-swe-agent"
    folder.mkdir(parents=True)
    mini(folder, ran("ls"))
    assert ("swe_agent", folder) in usual_places(tmp_path, {})
    assert len(found(folder)) == 1


def test_a_list_of_messages_of_old_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.traj.json"
    messages = [
        {"role": "system", "content": "You can run commands."},
        {"role": "user", "content": "Fix the build"},
        {"role": "assistant", "content": "Look.\n```mswea_bash_command\nmake\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>no rule</output>"},
        {"role": "assistant", "content": "```mswea_bash_command\nmake all\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>done</output>"},
    ]
    path.write_text(json.dumps(messages))
    done = only(path).executions[0].execution
    assert (done.agent_id, done.task) == ("mini-swe-agent", "Fix the build")
    assert [(call.outcome, call.exit_code) for call in done.calls] == [(FAILED, 2), (OK, 0)]


@rows(
    ("observation", "outcome"),
    [
        ("[File: /repo/a.py (20 lines total)]\n1:x", OK),
        ('Found 3 matches for "x" in /repo', OK),
        ("ls: cannot access 'x': No such file or directory", FAILED),
        ("Traceback (most recent call last):\n  File 'a.py'\nValueError: x", FAILED),
        ("total 4", UNKNOWN),
    ],
)
def test_words_of_an_observation_tell_how_a_step_ended(
    observation: str, outcome: CallOutcome, tmp_path: Path
) -> None:
    path = swe(tmp_path, {"action": "do", "observation": observation, "response": "Well."})
    assert [call.outcome for call in only(path).executions[0].execution.calls] == [outcome]
