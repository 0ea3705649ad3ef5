"""The reader of Qwen Code sessions: messages in Gemini's parts, in envelopes like Claude Code's.

A person may go back in a session: what isn't on the way from its last record to its first was taken
back. Texts that hooks and the program add stand beside the person's words, in parts of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from synthorg_tui.executions.models import slug
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    Reading,
    SessionState,
    StateReader,
    items,
    named_place,
    session_name,
    text_of,
    timestamp,
)
from synthorg_tui.ingest.readers.branches import Branches
from synthorg_tui.ingest.readers.gemini import (
    outcome_of,
    part_text,
    response_text,
)
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT = "qwen-code"
_TYPES = frozenset({"user", "assistant", "tool_result", "system"})
_USAGE = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount")
_SPEECH = frozenset({"", "mid_turn_user_message"})
_SILENT_SUBTYPES = frozenset(
    {
        "agent_bootstrap",
        "agent_launch_prompt",
        "at_command",
        "attribution_snapshot",
        "chat_compression",
        "cron",
        "custom_title",
        "notification",
        "rewind",
        "session_artifact_snapshot",
        "slash_command",
        "ui_telemetry",
    }
)


@dataclass(slots=True)
class _QwenSession(SessionState):
    """Reading state of one file."""

    branches: Branches = field(default_factory=Branches)

    def feed(self, number: int, record: Record) -> None:
        kind, subtype = text_of(record.get("type")), text_of(record.get("subtype"))
        if kind not in _TYPES or subtype not in _SPEECH | _SILENT_SUBTYPES:
            self.unknown.note(record)
        self.branches.note(text_of(record.get("uuid")), text_of(record.get("parentUuid")))
        if kind not in _TYPES:
            return
        self._context(record)
        if kind == "user" and subtype in _SPEECH:
            self._ask(number, record)
        elif kind == "assistant":
            self._answer(number, record)
        elif kind == "tool_result":
            self._result(number, record)
        elif subtype == "custom_title":
            title = mapping(record.get("systemPayload")).get("customTitle")
            self.builder.summary = text_of(title) or self.builder.summary

    def _context(self, record: Record) -> None:
        builder = self.builder
        builder.session_id = builder.session_id or session_name(record.get("sessionId"))
        if record.get("isSidechain") is True and not builder.subagent:
            builder.subagent = session_name(record.get("agentId")) or "subagent"
            builder.agent_id = f"{AGENT}/{slug(text_of(record.get('agentName'))) or 'subagent'}"
        builder.project = builder.project or text_of(record.get("cwd"))
        builder.branch = text_of(record.get("gitBranch")) or builder.branch
        builder.model = text_of(record.get("model")) or builder.model
        builder.see(timestamp(record.get("timestamp")))

    def _ask(self, number: int, record: Record) -> None:
        typed = text_of(mapping(record.get("systemPayload")).get("displayText"))
        text = spoken(typed or part_text(mapping(record.get("message")).get("parts")))
        self.ask(number, text, timestamp(record.get("timestamp")), record.get("uuid"))

    def _answer(self, number: int, record: Record) -> None:
        parts = items(mapping(record.get("message")).get("parts"))
        at, identity = timestamp(record.get("timestamp")), text_of(record.get("uuid"))
        for position, part in enumerate(parts, 1):
            if called := mapping(part.get("functionCall")):
                call_id = text_of(called.get("id")).strip() or f"L{number}-{position}"
                made = (call_id, called.get("name"), called.get("args"))
                self.use(number, called, made, at, record_id=identity or f"L{number}")
        self.answer(number, part_text(parts), at, identity)
        if any("functionCall" in part for part in parts):
            self.last_event = "called"
        if usage := mapping(record.get("usageMetadata")):
            self.builder.count(identity or f"L{number}", *map(usage.get, _USAGE))

    def _result(self, number: int, record: Record) -> None:
        told = mapping(record.get("toolCallResult"))
        parts = items(mapping(record.get("message")).get("parts"))
        response = next(
            (mapping(p["functionResponse"]) for p in parts if "functionResponse" in p), {}
        )
        call_id = text_of(told.get("callId")) or text_of(response.get("id"))
        call = self.ending(call_id)
        if call is None:
            return
        output = response_text(parts) or text_of(told.get("resultDisplay"))
        failed = "error" in mapping(response.get("response"))
        status = text_of(told.get("status")) or ("error" if failed else "success")
        self.builder.end(call, number, output, *outcome_of(call.tool, status, output))

    def finish(self, lines: TranscriptLines) -> Reading:
        if not lines.joined:
            self.branches.keep_in(self.builder)
        return self.builder.reading(lines, self.last_event, self.unknown)


class QwenReader(StateReader, state=_QwenSession):
    """Reads the ``chats/*.jsonl`` of Qwen Code, and the ``subagents/**.jsonl``."""

    name: ClassVar[str] = "qwen"
    verified: ClassVar[str] = "samples of 0.21.13"
    agent: ClassVar[str] = AGENT
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of all projects; ``QWEN_RUNTIME_DIR`` or ``QWEN_HOME`` moves it."""
        qwen = named_place(environ, "QWEN_HOME", home / ".qwen")
        return (named_place(environ, "QWEN_RUNTIME_DIR", qwen) / "projects",)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is an envelope with parts, or with a payload of the program."""
        is_envelope = text_of(record.get("type")) in _TYPES and "sessionId" in record
        parts = mapping(record.get("message")).get("parts")
        return is_envelope and (isinstance(parts, list) or "systemPayload" in record)
