"""The command that resumes a session in its own agent, or why there is none."""

import shlex
from pathlib import Path

import pytest

from synthorg_tui.executions.resuming import resumption
from tests.tables import rows


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.touch()
    return path


@rows(
    ("session", "command"),
    [
        ("claude_code:s1", "claude --resume s1"),
        ("claude_code:s1/agent-7", "claude --resume s1"),
        ("codex:s1", "codex resume s1"),
        ("opencode:s1", "opencode --session s1"),
        ("gemini:s1", "gemini --resume s1"),
        ("qwen:s1", "qwen --resume s1"),
        ("goose:s1", "goose session --resume --session-id s1"),
        ("copilot:s1", "copilot --resume s1"),
        ("aider:s1", "aider --restore-chat-history"),
        ("openhands:s1", "openhands --resume s1"),
    ],
)
def test_an_agent_that_can_is_told_its_session(
    transcript: Path, session: str, command: str
) -> None:
    how = resumption(session, str(transcript), str(transcript.parent))
    assert (how.command, how.problem) == (tuple(command.split()), "")
    assert how.line == f"cd {shlex.quote(str(transcript.parent))} && {command}"
    assert resumption(session, str(transcript), None).line == command


def test_pi_is_told_its_file(transcript: Path) -> None:
    assert resumption("pi:s1", str(transcript), None).command == (
        "pi",
        "--session",
        str(transcript),
    )


@rows(
    ("session", "told"),
    [
        ("cline:s1", "in the editor only"),
        ("roo:s1", "in the editor only"),
        ("cursor:s1", "in the editor only"),
        ("generic:s1", "reported this session itself"),
        ("swe_agent:s1", "no command that resumes"),
    ],
)
def test_an_agent_that_cannot_is_named(transcript: Path, session: str, told: str) -> None:
    how = resumption(session, str(transcript), None)
    assert told in how.problem
    assert (how.command, how.line) == ((), "")


def test_a_file_or_a_folder_that_is_not_there_is_named(transcript: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert f"own file of this session: {missing}" in resumption("codex:s", missing, None).problem
    how = resumption("codex:s", str(transcript), missing)
    assert f"isn't there any more: {missing}" in how.problem


def test_a_hostile_folder_stays_one_word(transcript: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a; rm -rf ~ '$(x)'"
    folder.mkdir()
    line = resumption("codex:s", str(transcript), str(folder)).line
    assert shlex.split(line) == ["cd", str(folder), "&&", "codex", "resume", "s"]
