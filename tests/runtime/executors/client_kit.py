"""Stand-ins for installed coding agents, with the records that the real ones write."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthorg_tui.runtime.executors.executor import ClientParts, installed_executors
from synthorg_tui.runtime.models import ExecutionResult, RunRequest, RunStep
from synthorg_tui.runtime.protocol import RunExecutor

STAND_IN = Path(__file__).with_name("stand_in.py")
VERSIONS = {"claude": "2.1.0 (Claude Code)", "codex": "codex-cli 0.169.0", "opencode": "1.18.33"}
SESSION = "11111111-2222-4333-8444-555555555555"
Act = tuple[str, str]


@dataclass(frozen=True)
class Place:
    """A home in which agents are installed, and a project."""

    home: Path
    project: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": f"{self.home / 'bin'}:/usr/bin:/bin"}

    def install(self, name: str, *script: Act, version: str = "") -> None:
        """Put a stand-in on the search path that plays this script."""
        folder, program = self.home / name, self.home / "bin" / name
        folder.mkdir(exist_ok=True)
        program.parent.mkdir(exist_ok=True)
        (folder / "script.json").write_text(json.dumps(script))
        (folder / "version").write_text(version or VERSIONS[name])
        words = f'exec "{sys.executable}" -S -E "{STAND_IN}" "{folder}" "$@"'
        program.write_text(f"#!/bin/sh\n{words}\n")
        program.chmod(0o755)

    def seen(self, name: str) -> dict[str, Any]:
        """Return how the stand-in was started the last time."""
        seen = json.loads((self.home / name / "seen.json").read_text())
        assert isinstance(seen, dict)
        return seen

    def executor(self, name: str, **parts: Any) -> RunExecutor:
        environ = parts.pop("environ", self.environ)
        return installed_executors(ClientParts(home=self.home, environ=environ, **parts))[name]


def git(folder: Path, *words: str) -> str:
    """Run git as somebody."""
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def is_running(pid: int) -> bool:
    """Tell whether a process is there and does something still."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def repository(folder: Path) -> Path:
    """Make a repository with a committed file and a folder."""
    (folder / "lib").mkdir(parents=True)
    (folder / "readme.txt").write_text("one\n")
    (folder / "lib" / "code.py").write_text("a = 1\n")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "begin")
    return folder


def place(tmp_path: Path) -> Place:
    """Make a home, and a project that is a repository."""
    home = tmp_path / "home"
    home.mkdir()
    return Place(home, repository(tmp_path / "shop"))


async def ran(
    executor: RunExecutor, where: Place, *, steps: Sequence[RunStep] = (), **request: Any
) -> tuple[ExecutionResult, list[RunStep]]:
    """Run a task; return the result and its steps."""
    told: list[RunStep] = []
    asked = {"task": "Tidy up.", "agent_id": "builder", "workspace": where.project, **request}
    result = await executor.run(
        "run-1",
        RunRequest.model_validate({"executor": executor.name, **asked}),
        steps=steps,
        on_step=told.append,
    )
    return result, told


def say(record: Mapping[str, object]) -> Act:
    return "say", json.dumps(record)


def claude_begins() -> Act:
    return say(
        {"type": "system", "subtype": "init", "session_id": SESSION, "model": "opus", "cwd": "/"}
    )


def claude_says(
    number: int, *blocks: Mapping[str, object], tokens: int = 10, of: str | None = None
) -> Act:
    usage = {"input_tokens": tokens, "output_tokens": 2}
    message = {"id": f"msg_{number}", "content": blocks, "usage": usage}
    return say({"type": "assistant", "message": message, "parent_tool_use_id": of})


def claude_calls(number: int, command: str) -> Mapping[str, object]:
    given = {"command": command, "description": "as asked"}
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": given}


def claude_got(number: int, output: str, *, failed: bool = False) -> Act:
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": f"toolu_{number}"}
    block |= {"content": output, "is_error": failed}
    message = {"role": "user", "content": [block]}
    return say({"type": "user", "message": message, "parent_tool_use_id": None})


def claude_ends(subtype: str = "success", *, cost: float = 0.25, **more: object) -> Act:
    usage = {"input_tokens": 30, "cache_read_input_tokens": 5, "output_tokens": 9}
    record = {"type": "result", "subtype": subtype, "is_error": False, "usage": usage}
    return say({**record, "total_cost_usd": cost, "session_id": SESSION, **more})


def text(words: str) -> Mapping[str, object]:
    return {"type": "text", "text": words}


CLAUDE_RUN: Sequence[Act] = (
    claude_begins(),
    claude_says(1, text("I remove it."), tokens=10),
    claude_says(1, claude_calls(1, "rm old"), tokens=10),
    claude_got(1, "Exit code 1\nrm: cannot remove 'old': Is a directory", failed=True),
    claude_says(2, claude_calls(2, "rm -r old"), tokens=10),
    claude_got(2, "(no output)"),
    claude_says(3, text("Done."), tokens=10),
    claude_ends(),
)


def codex_item(kind: str, number: int, *, ends: bool = True, **more: object) -> Act:
    item = {"id": f"item_{number}", "type": kind, **more}
    return say({"type": "item.completed" if ends else "item.started", "item": item})


def codex_command(number: int, command: str, output: str, code: int) -> tuple[Act, Act]:
    words = f"/bin/bash -lc '{command}'"
    status = "failed" if code else "completed"
    return (
        codex_item("command_execution", number, ends=False, command=words, status="in_progress"),
        codex_item(
            "command_execution",
            number,
            command=words,
            aggregated_output=output,
            exit_code=code,
            status=status,
        ),
    )


CODEX_RUN: Sequence[Act] = (
    say({"type": "thread.started", "thread_id": SESSION}),
    say({"type": "turn.started"}),
    *codex_command(1, "rm old", "rm: cannot remove old: Is a directory\n", 1),
    *codex_command(2, "rm -r old", "", 0),
    codex_item("agent_message", 3, text="Done."),
    say({"type": "turn.completed", "usage": {"input_tokens": 40, "output_tokens": 8}}),
)


def opencode_says(kind: str, message: int, **part: object) -> Act:
    whole = {"messageID": f"msg_{message}", "sessionID": "ses_abc", **part}
    return say({"type": kind, "sessionID": "ses_abc", "part": whole})


def opencode_used(message: int) -> Act:
    tokens = {"input": 10, "output": 2, "cache": {"read": 1, "write": 0}}
    return opencode_says("step_finish", message, tokens=tokens, cost=0.5)


def opencode_ran(message: int, command: str, output: str, code: int) -> Act:
    state = {"status": "completed", "input": {"command": command}, "output": output}
    state |= {"metadata": {"exit": code}}
    return opencode_says("tool_use", message, tool="bash", callID=f"call_{message}", state=state)


OPENCODE_RUN: Sequence[Act] = (
    opencode_says("step_start", 1),
    opencode_ran(1, "rm old", "rm: cannot remove old: Is a directory\n", 1),
    opencode_used(1),
    opencode_says("step_start", 2),
    opencode_ran(2, "rm -r old", "", 0),
    opencode_used(2),
    opencode_says("step_start", 3),
    opencode_says("text", 3, text="Done."),
    opencode_used(3),
)
RUNS = {"claude": CLAUDE_RUN, "codex": CODEX_RUN, "opencode": OPENCODE_RUN}
