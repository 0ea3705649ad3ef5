"""Writes small sessions in the formats of more agents, for tests.

Each session takes the same steps, so that what is read of them can be compared: a person asks, a
command fails and succeeds, another call ends as the format can tell.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from tests.ingest.transcript_kit import SESSION, START, ClaudeTranscript, CodexTranscript

TASK = "Never deploy on Fridays."
ANSWER = "It builds now."


class AgentSession:
    """A session in one agent's format, built record by record."""

    reader: ClassVar[str]
    file: ClassVar[str]
    """The path of its file under the agent's usual place."""
    drift: ClassVar[dict[str, Any]]
    """A record of a kind that the format doesn't have."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def at(self) -> str:
        return (START + timedelta(seconds=len(self.records))).isoformat()

    def add(self, **record: Any) -> "AgentSession":
        self.records.append(record)
        return self

    def ask(self, text: str) -> "AgentSession":
        raise NotImplementedError

    def answer(self, text: str) -> "AgentSession":
        raise NotImplementedError

    def run(self, command: str, output: str, code: int) -> "AgentSession":
        """A shell command with its result, as the format tells of its exit code."""
        raise NotImplementedError

    def text(self) -> str:
        return "".join(f"{json.dumps(record)}\n" for record in self.records)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())
        return path

    def story(self) -> "AgentSession":
        return self.ask(TASK).run("make", "no rule", 2).run("make", "done", 0).answer(ANSWER)


class ClaudeSession(AgentSession):
    reader, file = "claude_code", ".claude/projects/x/a.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram", "sessionId": SESSION}

    def _take(self, transcript: ClaudeTranscript) -> "ClaudeSession":
        self.records.extend(json.loads(line) for line in transcript.lines)
        return self

    def ask(self, text: str) -> AgentSession:
        return self._take(ClaudeTranscript().user(text))

    def answer(self, text: str) -> AgentSession:
        return self._take(ClaudeTranscript().say(text))

    def run(self, command: str, output: str, code: int) -> AgentSession:
        call = f"call-{len(self.records)}"
        told = f"Exit code {code}\n{output}" if code else output
        transcript = ClaudeTranscript().use(call, "Bash", command=command)
        return self._take(transcript.result(call, told, error=bool(code)))


class CodexSession(AgentSession):
    reader, file = "codex", ".codex/sessions/2025/rollout-1.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram", "payload": {}}

    def __init__(self) -> None:
        super().__init__()
        self.transcript = CodexTranscript(SESSION)

    def ask(self, text: str) -> AgentSession:
        self.transcript.message("user", text)
        return self

    def answer(self, text: str) -> AgentSession:
        self.transcript.message("assistant", text)
        return self

    def run(self, command: str, output: str, code: int) -> AgentSession:
        self.transcript.run(command, f"Process exited with code {code}\nOutput:\n{output}")
        return self

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.transcript.lines) + super().text()


class CopilotSession(AgentSession):
    reader, file = "copilot", f".copilot/session-state/{SESSION}/events.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "session.hologram", "data": {}, "id": "x"}

    def __init__(self) -> None:
        super().__init__()
        context = {"cwd": "/srv/tidepool", "branch": "main"}
        self.event("session.start", sessionId=SESSION, context=context, selectedModel="m-1")

    def event(self, kind: str, **data: Any) -> "CopilotSession":
        count = len(self.records)
        self.add(type=kind, data=data, id=f"e{count}", timestamp=self.at(), parentId=None)
        return self

    def ask(self, text: str) -> AgentSession:
        return self.event("user.message", content=text, transformedContent=f"<x>{text}</x>")

    def answer(self, text: str) -> AgentSession:
        return self.event("assistant.message", content=text, toolRequests=[])

    def call(self, tool: str, arguments: dict[str, Any], **end: Any) -> "CopilotSession":
        call, under = f"call-{len(self.records)}", end.pop("under", None)
        more = {"parentToolCallId": under} if under else {}
        self.event(
            "tool.execution_start", toolCallId=call, toolName=tool, arguments=arguments, **more
        )
        return self.event("tool.execution_complete", toolCallId=call, **end, **more)

    def run(self, command: str, output: str, code: int) -> AgentSession:
        result = {"content": f"{output}\n<exited with exit code {code}>"}
        return self.call("bash", {"command": command}, success=True, result=result)


class CursorSession(AgentSession):
    reader, file = "cursor", f".cursor/projects/x/agent-transcripts/{SESSION}/{SESSION}.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram"}

    def message(self, role: str, *blocks: dict[str, Any]) -> "CursorSession":
        self.add(role=role, message={"content": list(blocks)})
        return self

    def ask(self, text: str) -> AgentSession:
        query = f"<user_info>\nOS: x\n</user_info>\n<user_query>\n{text}\n</user_query>"
        return self.message("user", {"type": "text", "text": query})

    def answer(self, text: str) -> AgentSession:
        return self.message("assistant", {"type": "text", "text": text})

    def run(self, command: str, output: str, code: int) -> AgentSession:
        self.message(
            "assistant", {"type": "tool_use", "name": "Shell", "input": {"command": command}}
        )
        content = [{"type": "text", "text": f"Exit code: {code}\n\n{output}"}]
        return self.message("user", {"type": "tool_result", "content": content})


class GeminiSession(AgentSession):
    reader, file = "gemini", ".gemini/tmp/tidepool/chats/session-2025-06-01T09-00-11111111.jsonl"
    drift: ClassVar[dict[str, Any]] = {"id": "x", "type": "hologram"}

    def __init__(self, session: str = SESSION, **about: Any) -> None:
        super().__init__()
        self.add(sessionId=session, projectHash="0", startTime=self.at(), **about)

    def message(self, kind: str, **fields: Any) -> "GeminiSession":
        fields = {"id": f"m{len(self.records)}", "timestamp": self.at(), "type": kind, **fields}
        self.add(**fields)
        return self

    def ask(self, text: str) -> AgentSession:
        return self.message("user", content=[{"text": text}])

    def answer(self, text: str) -> AgentSession:
        return self.message("gemini", content=text, model="m-1")

    def call(self, tool: str, arguments: dict[str, Any], status: str, **told: Any) -> AgentSession:
        call = f"call-{len(self.records)}"
        response = {"functionResponse": {"id": call, "name": tool, "response": told}}
        record = {"id": call, "name": tool, "args": arguments, "status": status}
        return self.message("gemini", content="", toolCalls=[{**record, "result": [response]}])

    def run(self, command: str, output: str, code: int) -> AgentSession:
        trailer = f"\nExit Code: {code}" if code else ""
        told = f"Output: {output}{trailer}\nProcess Group PGID: 77"
        return self.call("run_shell_command", {"command": command}, "success", output=told)

    def document(self) -> str:
        """The same session as one JSON document."""
        head, *messages = self.records
        return json.dumps({**head, "messages": messages}, indent=2)


class PiSession(AgentSession):
    reader, file = "pi", ".pi/agent/sessions/--srv-tidepool--/a.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram", "id": "x", "parentId": None}

    def __init__(self) -> None:
        super().__init__()
        self.parent: str | None = None
        self.add(type="session", version=3, id=SESSION, timestamp=self.at(), cwd="/srv/tidepool")

    def entry(self, kind: str, **fields: Any) -> "PiSession":
        name = f"e{len(self.records)}"
        self.add(type=kind, id=name, parentId=self.parent, timestamp=self.at(), **fields)
        self.parent = name
        return self

    def message(self, role: str, content: Any, **fields: Any) -> "PiSession":
        return self.entry("message", message={"role": role, "content": content, **fields})

    def ask(self, text: str) -> AgentSession:
        return self.message("user", [{"type": "text", "text": text}])

    def answer(self, text: str) -> AgentSession:
        blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        usage = {"input": 5, "output": 7, "cacheRead": 3, "cacheWrite": 1}
        return self.message("assistant", blocks, model="m-1", usage=usage, stopReason="stop")

    def call(self, tool: str, arguments: dict[str, Any], output: str, error: bool) -> "PiSession":
        call = f"call-{len(self.records)}"
        block = {"type": "toolCall", "id": call, "name": tool, "arguments": arguments}
        self.message("assistant", [block], stopReason="toolUse")
        told = {"toolCallId": call, "toolName": tool, "isError": error}
        return self.message("toolResult", [{"type": "text", "text": output}], **told)

    def run(self, command: str, output: str, code: int) -> AgentSession:
        told = f"{output}\n\nCommand exited with code {code}" if code else output
        return self.call("bash", {"command": command}, told, bool(code))


class QwenSession(AgentSession):
    reader, file = "qwen", ".qwen/projects/-srv-tidepool/chats/a.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram", "sessionId": SESSION, "uuid": "x"}

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self.parent: str | None = None
        self.fields = {"sessionId": SESSION, "cwd": "/srv/tidepool", "gitBranch": "main", **fields}

    def envelope(self, kind: str, *parts: dict[str, Any], **fields: Any) -> "QwenSession":
        name = f"u{len(self.records)}"
        record = {"uuid": name, "parentUuid": self.parent, "type": kind, "timestamp": self.at()}
        message = {"role": kind, "parts": list(parts)}
        self.add(**{**record, **self.fields, "message": message, **fields})
        self.parent = name
        return self

    def ask(self, text: str) -> AgentSession:
        hook = "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"
        return self.envelope("user", {"text": text}, {"text": hook})

    def answer(self, text: str) -> AgentSession:
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "cachedContentTokenCount": 3}
        thought = {"text": "hm", "thought": True}
        return self.envelope("assistant", thought, {"text": text}, model="m-1", usageMetadata=usage)

    def call(self, tool: str, arguments: dict[str, Any], status: str, **told: Any) -> AgentSession:
        call = f"call-{len(self.records)}"
        self.envelope("assistant", {"functionCall": {"id": call, "name": tool, "args": arguments}})
        response = {"functionResponse": {"id": call, "name": tool, "response": told}}
        return self.envelope(
            "tool_result", response, toolCallResult={"callId": call, "status": status}
        )

    def run(self, command: str, output: str, code: int) -> AgentSession:
        told = f"Command: {command}\nOutput: {output}\nError: (none)\nExit Code: {code}"
        arguments = {"command": command}
        return self.call("run_shell_command", arguments, "success", output=f"{told}\nSignal: 0")


class GenericSession(AgentSession):
    reader, file = "generic", ""
    drift: ClassVar[dict[str, Any]] = {"format": "hologram"}

    def __init__(self) -> None:
        super().__init__()
        self.run_record: dict[str, Any] = {
            "format": "synthorg-execution",
            "session": SESSION,
            "agent": "ci",
            "turns": [],
            "calls": [],
            "outcome": "completed",
        }
        self.records = [self.run_record]

    def ask(self, text: str) -> AgentSession:
        self.run_record["turns"].append({"role": "user", "text": text})
        return self

    def answer(self, text: str) -> AgentSession:
        self.run_record["turns"].append({"role": "assistant", "text": text})
        return self

    def run(self, command: str, output: str, code: int) -> AgentSession:
        outcome = "failed" if code else "ok"
        call = {"tool": "bash", "arguments": command, "output": output, "outcome": outcome}
        self.run_record["calls"].append({**call, "exit_code": code})
        return self


class GooseSession(AgentSession):
    reader, file = "goose", ".local/share/goose/sessions/20250601_1.jsonl"
    drift: ClassVar[dict[str, Any]] = {"hologram": True}

    def __init__(self) -> None:
        super().__init__()
        self.add(description="A session", working_dir="/srv/tidepool", message_count=4)

    def said(self, role: str, block: dict[str, Any]) -> AgentSession:
        created = int(START.timestamp()) + len(self.records)
        return self.add(role=role, created=created, content=[block])

    def ask(self, text: str) -> AgentSession:
        return self.said("user", {"type": "text", "text": text})

    def answer(self, text: str) -> AgentSession:
        return self.said("assistant", {"type": "text", "text": text})

    def run(self, command: str, output: str, code: int) -> AgentSession:
        call = f"call-{len(self.records)}"
        value = {"name": "developer__shell", "arguments": {"command": command}}
        asked = {"status": "success", "value": value}
        self.said("assistant", {"type": "toolRequest", "id": call, "toolCall": asked})
        text = f"{output}\nCommand exited with code {code}" if code else output
        content = [{"type": "text", "text": text}]
        result = {"status": "success", "value": {"content": content, "isError": bool(code)}}
        return self.said("user", {"type": "toolResponse", "id": call, "toolResult": result})


class DroidSession(AgentSession):
    reader, file = "droid", ".factory/sessions/-srv-tidepool/a.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram", "id": "h"}

    def __init__(self) -> None:
        super().__init__()
        self.add(type="session_start", id=SESSION, title="A session", cwd="/srv/tidepool")

    def said(self, role: str, *blocks: dict[str, Any]) -> AgentSession:
        message = {"role": role, "content": list(blocks)}
        return self.add(
            type="message", id=f"m{len(self.records)}", timestamp=self.at(), message=message
        )

    def ask(self, text: str) -> AgentSession:
        return self.said("user", {"type": "text", "text": text})

    def answer(self, text: str) -> AgentSession:
        return self.said("assistant", {"type": "text", "text": text})

    def run(self, command: str, output: str, code: int) -> AgentSession:
        call = f"call-{len(self.records)}"
        given = {"command": command}
        self.said("assistant", {"type": "tool_use", "id": call, "name": "Execute", "input": given})
        told = f"Error: Command failed (exit code: {code})\n{output}" if code else output
        return self.said("user", {"type": "tool_result", "tool_use_id": call, "content": told})


class KimiSession(AgentSession):
    reader, file = "kimi", ".kimi-code/sessions/wd_x/session_1/agents/main/wire.jsonl"
    drift: ClassVar[dict[str, Any]] = {"type": "hologram"}

    def __init__(self) -> None:
        super().__init__()
        self.add(type="metadata", protocol_version="1.4", created_at=1)

    def event(self, **event: Any) -> AgentSession:
        at = int(START.timestamp() * 1000) + len(self.records)
        return self.add(type="context.append_loop_event", event=event, time=at)

    def ask(self, text: str) -> AgentSession:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        at = int(START.timestamp() * 1000) + len(self.records)
        return self.add(type="context.append_message", message=message, time=at)

    def answer(self, text: str) -> AgentSession:
        return self.event(type="content.part", part={"type": "text", "text": text})

    def run(self, command: str, output: str, code: int) -> AgentSession:
        call, given = f"Bash_{len(self.records)}", {"command": command}
        self.event(type="tool.call", uuid=call, toolCallId=call, name="Bash", args=given)
        told = f"{output}\nCommand failed with exit code: {code}." if code else output
        result = {"output": told, **({"isError": True} if code else {})}
        return self.event(type="tool.result", parentUuid=call, toolCallId=call, result=result)


SESSIONS: tuple[type[AgentSession], ...] = (
    ClaudeSession,
    CodexSession,
    CopilotSession,
    CursorSession,
    DroidSession,
    GeminiSession,
    GenericSession,
    GooseSession,
    KimiSession,
    PiSession,
    QwenSession,
)
