"""Writes small transcripts in the formats of the agents, for tests."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
START = datetime(2025, 6, 1, 9, 0, tzinfo=UTC)


class ClaudeTranscript:
    """Builds a Claude Code session line by line."""

    def __init__(
        self, session: str = SESSION, *, agent: str = "", cwd: str = "/srv/tidepool"
    ) -> None:
        self.session, self.agent, self.cwd = session, agent, cwd
        self.lines: list[str] = []
        self.count = 0

    def add(self, kind: str, **fields: Any) -> "ClaudeTranscript":
        self.count += 1
        record: dict[str, Any] = {
            "type": kind,
            "uuid": f"uuid-{self.session[:4]}-{self.agent}{self.count}",
            "sessionId": self.session,
            "cwd": self.cwd,
            "gitBranch": "main",
            "isSidechain": bool(self.agent),
            "timestamp": (START + timedelta(seconds=self.count)).isoformat(),
            **fields,
        }
        if self.agent:
            record["agentId"] = self.agent
        self.lines.append(json.dumps(record))
        return self

    def user(self, text: str, **fields: Any) -> "ClaudeTranscript":
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def say(self, text: str) -> "ClaudeTranscript":
        content = [{"type": "text", "text": text}]
        return self.add("assistant", message={"role": "assistant", "content": content})

    def use(self, call: str, tool: str, **arguments: Any) -> "ClaudeTranscript":
        block = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
        return self.add("assistant", message={"role": "assistant", "content": [block]})

    def result(
        self, call: str, content: Any, *, error: bool = False, **fields: Any
    ) -> "ClaudeTranscript":
        block = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": content,
            "is_error": error,
        }
        return self.add("user", message={"role": "user", "content": [block]}, **fields)

    def bash(self, command: str, output: str, *, error: bool = False) -> "ClaudeTranscript":
        call = f"call-{self.agent}{self.count + 1}"
        return self.use(call, "Bash", command=command).result(call, output, error=error)

    def hook(self, call: str, event: str, tool: str) -> "ClaudeTranscript":
        data = {"type": "hook_progress", "hookEvent": event, "hookName": f"{event}:{tool}"}
        return self.add("progress", data=data, toolUseID=call)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines))
        return path


class CodexTranscript:
    """Builds a Codex rollout line by line."""

    def __init__(
        self, session: str = "codex-1", cwd: str = "/srv/tidepool", late: int = 0, **meta: Any
    ) -> None:
        self.lines: list[str] = []
        self.calls = 0
        self.start = START + timedelta(seconds=late)
        self.add("session_meta", **{"id": session, "cwd": cwd, "git": {"branch": "main"}} | meta)

    def add(self, envelope: str, **payload: Any) -> "CodexTranscript":
        at = (self.start + timedelta(seconds=len(self.lines))).isoformat()
        self.lines.append(json.dumps({"timestamp": at, "type": envelope, "payload": payload}))
        return self

    def item(self, kind: str, **payload: Any) -> "CodexTranscript":
        return self.add("response_item", type=kind, **payload)

    def message(self, role: str, text: str) -> "CodexTranscript":
        part = "output_text" if role == "assistant" else "input_text"
        return self.item("message", role=role, content=[{"type": part, "text": text}])

    def run(
        self, command: str, output: Any, /, *, name: str = "exec_command", **arguments: Any
    ) -> "CodexTranscript":
        self.calls += 1
        call = f"call-{self.calls}"
        given = arguments or {"cmd": command}
        self.item("function_call", name=name, arguments=json.dumps(given), call_id=call)
        return self.item("function_call_output", call_id=call, output=output)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines))
        return path
