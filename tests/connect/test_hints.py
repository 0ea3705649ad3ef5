"""Hooks around a tool call: what is known about it in time, or nothing; never a decision on it."""

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.connect import HINT_EVENTS, hook
from synthorg_tui.host import endpoint
from tests.patience import PATIENCE
from tests.tables import rows

HINT = "A branch without upstream needs `git push -u origin HEAD`."
BASH = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "cwd": "/srv/tidepool/web"}
FAILED = {**BASH, "error": "Exit code 128\nfatal: no upstream branch", "is_interrupt": False}
Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def run(event: str, data_dir: Path, payload: object) -> tuple[int, str]:
    """Exit code and output of a hook in this process."""
    output = io.StringIO()
    stdin = io.BytesIO(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    code = hook.main(
        ["claude-code", event, "--data-dir", str(data_dir)], stdin=stdin, stdout=output
    )
    return code, output.getvalue()


class ScriptedOwner:
    """Answers what a hook asks: ``answer`` is called for all but the greeting."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[dict[str, Any]] = []
        self.greeted: list[dict[str, Any]] = []
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            message = json.loads(line)
            if message["method"] == "host.hello":
                self.greeted.append(message["params"])
                answer: dict[str, Any] = {"result": {}}
            else:
                self.asked.append(message)
                answer = await self._answer(message["params"])
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer}
            writer.write(json.dumps(reply).encode() + b"\n")
        writer.close()


@asynccontextmanager
async def scripted(data_dir: Path, answer: Answer) -> AsyncIterator[ScriptedOwner]:
    owner = ScriptedOwner(answer)
    server = await asyncio.start_unix_server(
        owner.serve, endpoint.socket_path(data_dir), limit=2**22
    )
    try:
        yield owner
    finally:
        server.close()


def known(text: str) -> Answer:
    async def answer(_: dict[str, Any]) -> dict[str, Any]:
        return {"result": {"text": text, "reason": "git push failed like that before"}}

    return answer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no reason to fail; how long a hint may take is a benchmark's matter."""
    monkeypatch.setattr(hook, "HINT_TIME_LIMIT", PATIENCE)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)


def unlogged(data_dir: Path) -> bool:
    return not (data_dir / hook.LOG_FILE).exists()


@rows("event", HINT_EVENTS)
async def test_a_hint_is_the_additional_context_and_no_decision(tmp_path: Path, event: str) -> None:
    async with scripted(tmp_path, known(HINT)):
        code, output = await asyncio.to_thread(run, event, tmp_path, FAILED)
    assert code == 0
    assert json.loads(output) == {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": HINT}
    }


@rows(
    ("event", "payload", "asked"),
    [
        ("PreToolUse", BASH, {"moment": "before", "command": "git push", "file": "", "error": ""}),
        (
            "PostToolUseFailure",
            FAILED,
            {"moment": "after", "command": "git push", "file": "", "error": FAILED["error"]},
        ),
        ("PreToolUse", {**BASH, "agent_id": "agent-7"}, {"subagent": "agent-7"}),
        (
            "PreToolUse",
            {"tool_name": "Edit", "tool_input": {"file_path": "/srv/a.py", "old_string": "x"}},
            {"moment": "before", "tool": "Edit", "command": "", "file": "/srv/a.py"},
        ),
        (
            "PreToolUse",
            {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/srv/a.ipynb"}},
            {"file": "/srv/a.ipynb"},
        ),
    ],
)
async def test_the_owner_is_asked_about_the_command_or_the_file(
    tmp_path: Path, event: str, payload: dict[str, object], asked: dict[str, object]
) -> None:
    async with scripted(tmp_path, known("")) as owner:
        assert await asyncio.to_thread(run, event, tmp_path, payload) == (0, "")
    (message,) = owner.asked
    assert message["method"] == "agent.hint"
    assert set(message["params"]) - {"subagent"} == {"moment", "action"}
    action = message["params"]["action"]
    assert set(action) == {"tool", "command", "file", "error", "cwd"}
    assert asked.items() <= {**message["params"], **action}.items()


async def test_the_agent_is_in_the_project_where_its_session_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code tells the folder that the agent's own `cd` led to as the working directory."""
    async with scripted(tmp_path, known("")) as owner:
        await asyncio.to_thread(run, "PreToolUse", tmp_path, BASH)
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/srv/tidepool")
        await asyncio.to_thread(run, "PreToolUse", tmp_path, BASH)
    assert [each["agent"]["project"] for each in owner.greeted] == [
        "/srv/tidepool/web",
        "/srv/tidepool",
    ]
    assert owner.asked[1]["params"]["action"]["cwd"] == "/srv/tidepool/web"


@rows(
    "payload",
    [
        {"tool_name": "Bash"},
        {"tool_name": "Bash", "tool_input": []},
        {"tool_name": "Bash", "tool_input": {"command": ["git", "push"]}},
        {"tool_name": "Task", "tool_input": {"prompt": "push it"}},
        {**FAILED, "is_interrupt": True},
    ],
)
async def test_what_names_no_command_and_no_file_or_was_stopped_is_not_asked_about(
    tmp_path: Path, payload: object
) -> None:
    async with scripted(tmp_path, known(HINT)) as owner:
        assert await asyncio.to_thread(run, "PostToolUseFailure", tmp_path, payload) == (0, "")
    assert owner.greeted == []
    assert unlogged(tmp_path)


async def test_what_is_sent_is_bounded_and_an_error_keeps_both_its_ends(tmp_path: Path) -> None:
    command, error = "echo " + "x" * 100_000, "Exit code 1\n" + "y" * 100_000 + "\nfatal: the end"
    payload = {"tool_name": "Bash", "tool_input": {"command": command}, "error": error}
    async with scripted(tmp_path, known(HINT)) as owner:
        await asyncio.to_thread(run, "PostToolUseFailure", tmp_path, payload)
    params = owner.asked[0]["params"]["action"]
    assert params["command"] == command[: hook.MAX_HINT_TEXT]
    assert len(params["error"]) <= hook.MAX_HINT_TEXT + 1
    assert params["error"].startswith("Exit code 1\n")
    assert params["error"].endswith("\nfatal: the end")


async def test_an_event_that_is_too_long_gives_no_output_and_a_line_in_the_log(
    tmp_path: Path,
) -> None:
    payload = {
        "tool_name": "Write",
        "tool_input": {"file_path": "/srv/a", "content": "x" * hook.MAX_INPUT_BYTES},
    }
    async with scripted(tmp_path, known(HINT)):
        assert await asyncio.to_thread(run, "PreToolUse", tmp_path, payload) == (0, "")
    assert "longer than" in (tmp_path / hook.LOG_FILE).read_text()


@rows("event", HINT_EVENTS)
@rows("left_behind", [False, True])
def test_without_an_owner_nothing_is_said_started_or_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str, left_behind: bool
) -> None:
    """With one that died a socket is left behind."""
    started: list[object] = []
    monkeypatch.setattr(hook, "_start", lambda *call: started.append(call))
    (tmp_path / "memory.duckdb").write_bytes(b"")
    if left_behind:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(endpoint.socket_path(tmp_path))
    assert run(event, tmp_path, FAILED) == (0, "")
    assert started == []
    assert unlogged(tmp_path)


async def test_an_owner_that_is_late_gives_no_output_and_a_line_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()

    async def late(_: dict[str, Any]) -> dict[str, Any]:
        await go_on.wait()
        return {}

    monkeypatch.setattr(hook, "HINT_TIME_LIMIT", 0.3)
    async with scripted(tmp_path, late):
        assert await asyncio.to_thread(run, "PreToolUse", tmp_path, BASH) == (0, "")
        go_on.set()
    assert "PreToolUse: " in (tmp_path / hook.LOG_FILE).read_text()


async def test_a_refusal_gives_no_output_and_a_line_in_the_log(tmp_path: Path) -> None:
    async def refused(_: dict[str, Any]) -> dict[str, Any]:
        return {"error": {"code": -32600, "message": "the agent is paused"}}

    async with scripted(tmp_path, refused):
        assert await asyncio.to_thread(run, "PreToolUse", tmp_path, BASH) == (0, "")
    assert "the agent is paused" in (tmp_path / hook.LOG_FILE).read_text()
