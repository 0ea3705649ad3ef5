"""The reader of Gemini CLI chats: JSON documents, and lines that change what was said before.

A message is written again when its tools have ended, ``$set`` may replace them all, and
``$rewindTo`` takes back a message and those after it. A shell command that failed is called a
success there: its exit code stands at the end of what it printed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    Reading,
    SessionState,
    StateReader,
    items,
    json_object,
    named_place,
    session_name,
    text_of,
    timestamp,
)
from synthorg_tui.ingest.readers.described import Blocks, outcome_of, text_in
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource, document_items, small_text
from synthorg_tui.ingest.speech import spoken

AGENT = "gemini"
_OUTCOMES: Final = Blocks(
    statuses={
        "success": CallOutcome.OK,
        "error": CallOutcome.FAILED,
        "cancelled": CallOutcome.DENIED_BY_USER,
    },
    status="status",
    codes=(
        r"(?:^|\n|\\n)Exit Code: (-?\d{1,9})"
        r"(?:(?:\n|\\n)(?:Signal|Background PIDs|Process Group PGID): [^\n\\]{0,200})*"
        r"\s*(?:</untrusted_context>)?\s*\Z"
    ),
    zero=True,
    sure=True,
    words={
        CallOutcome.CANCELLED_WITH_SIBLING: "User cancelled operation",
        CallOutcome.BLOCKED_BY_HOOK: (
            "denied by policy|(?:stopped|blocked) by hook|Tool execution blocked:"
        ),
        CallOutcome.DENIED_BY_USER: (
            "(?i)User (?:denied|rejected)|(?:cancelled|rejected|denied) by (?:the )?user"
        ),
    },
)
_CANCELLED: Final = "Command was cancelled by user"
"""What a command printed that was cancelled before it began, which is a success there."""
_COMMAND = re.compile(r"[/?][\w:-]*(?:\s.*)?", re.DOTALL)
_REFERENCED = re.compile(r"\n--- Content from referenced files ---.*\Z", re.DOTALL)
_MAX_PATH: Final = 4096


@dataclass(slots=True)
class _GeminiChat(SessionState):
    """Reading state of one file.

    ``alive`` has the messages that weren't taken back, with the line where each one's text stands.
    """

    alive: dict[str, int] = field(default_factory=dict)
    said: dict[str, tuple[int, int]] = field(default_factory=dict)

    def feed(self, number: int, record: Record) -> None:
        if "$rewindTo" in record:
            self._rewind(text_of(record["$rewindTo"]))
        elif "$set" in record:
            self._update(number, mapping(record["$set"]))
        elif "sessionId" in record:
            self._begin(record)
            self._update(number, record)
        elif record.keys() == {"messages"}:
            self._message(number, mapping(record["messages"]))
        elif "type" in record:
            self._message(number, record)
        else:
            self.unknown.note(record)

    def _begin(self, record: Record) -> None:
        builder, session = self.builder, session_name(record.get("sessionId"))
        builder.session_id = builder.session_id or session
        builder.see(timestamp(record.get("startTime")))
        builder.model = text_of(mapping(record.get("meta")).get("model")) or builder.model
        if record.get("kind") == "subagent":
            builder.subagent = session or "subagent"
            builder.agent_id = f"{AGENT}/subagent"

    def _update(self, number: int, changes: Record) -> None:
        self.builder.see(timestamp(changes.get("lastUpdated")))
        self.builder.summary = text_of(changes.get("summary")) or self.builder.summary
        if isinstance(changes.get("messages"), list):
            self.alive.clear()
            for message in items(changes["messages"]):
                self._message(number, message)

    def _rewind(self, target: str) -> None:
        """Take back the message and those after it; all of them when it isn't there."""
        while self.alive and self.alive.popitem()[0] != target:
            pass
        self.last_event = ""

    def _message(self, number: int, message: Record) -> None:
        kind = text_of(message.get("type"))
        at = timestamp(message.get("timestamp"))
        self.builder.see(at)
        if kind == "user":
            asked = _asked(message)
            self.last_event = "asked" if asked else self.last_event
            self._say("parent" if self.builder.subagent else "user", asked, number, message)
        elif kind in {"gemini", "model"}:
            self._answer(number, message)
        elif kind == "error":
            self.last_event, self.builder.error = "error", part_text(message.get("content"))
        elif kind == "info" and "cancelled" in part_text(message.get("content"))[:200]:
            self.last_event = "interrupted"
        elif kind not in {"info", "warning"}:
            self.unknown.note(message)

    def _say(self, role: str, text: str, number: int, message: Record) -> None:
        identity = text_of(message.get("id")) or f"L{number}"
        before, line = self.said.get(identity, (0, 0))
        if not line or before != hash(text):
            line = number
            self.said[identity] = (hash(text), line)
            self.builder.say(role, text, line, timestamp(message.get("timestamp")), identity)
        self.alive[identity] = line

    def _answer(self, number: int, message: Record) -> None:
        text = part_text(message.get("content") or message.get("parts"))
        self._say("assistant", text, number, message)
        self.last_event = "answered" if text.strip() else self.last_event
        self.builder.model = text_of(message.get("model")) or self.builder.model
        identity = text_of(message.get("id")) or f"L{number}"
        tokens = mapping(message.get("tokens"))
        self.builder.count(identity, *map(tokens.get, ("input", "output", "cached")))
        for position, tool in enumerate(items(message.get("toolCalls")), 1):
            self._call(number, tool, identity, position)

    def _call(self, number: int, tool: Record, identity: str, position: int) -> None:
        call_id = text_of(tool.get("id")).strip() or f"{identity}-{position}"
        at, status = timestamp(tool.get("timestamp")), text_of(tool.get("status"))
        self.builder.see(at)
        made = (call_id, tool.get("name"), tool.get("args"))
        self.use(number, tool, made, at, record_id=identity)
        call = self.builder.calls.get(call_id)
        if call is None:
            return
        call.record_id = identity
        if call.result_line is None and status in {"success", "error", "cancelled"}:
            output = text_in(tool.get("result")) or text_of(tool.get("resultDisplay"))
            is_cancelled = output.removeprefix("<untrusted_context>\n").startswith(_CANCELLED)
            told: Record = {"status": "cancelled" if is_cancelled else status}
            self.builder.end(call, number, output, *outcome_of(_OUTCOMES, call.tool, told, output))

    def finish(self, lines: TranscriptLines) -> Reading:
        if lines.path.suffix == ".json" and lines.path.with_suffix(".jsonl").is_file():
            return Reading(skipped="it goes on in the .jsonl file of the same name")
        builder, parent = self.builder, session_name(lines.path.parent.name)
        if builder.subagent:
            builder.session_id = parent or builder.session_id
        builder.project = _project_of(lines.path, lines.tally)
        builder.keep(
            lambda turn: self.alive.get(turn.record_id) == turn.first_line,
            lambda call: call.record_id in self.alive,
        )
        return self.builder.reading(lines, self.last_event, self.unknown)


def part_text(content: object) -> str:
    """Return the text of a message's parts, thoughts and calls left out."""
    if isinstance(content, str):
        return content
    parts = items(content) if isinstance(content, list) else [mapping(content)]
    return "\n".join(text_of(part.get("text")) for part in parts if part.get("thought") is not True)


def _asked(message: Record) -> str:
    """What the person typed: neither a command for the program nor the files it attached."""
    text = part_text(message.get("displayContent") or message.get("content")).strip()
    return "" if _COMMAND.fullmatch(text) else spoken(_REFERENCED.sub("", text))


def _project_of(path: Path, tally: RedactionTally) -> str:
    """The project, which is named beside the chats and not in them."""
    chats = next((parent for parent in path.parents[:3] if parent.name == "chats"), None)
    if chats is None:
        return ""
    root = small_text(chats.parent / ".project_root").strip()
    if not root:
        listed = chats.parents[2] / "projects.json" if len(chats.parents) > 2 else chats
        registry = json_object(small_text(listed))
        projects = mapping(registry.get("projects"))
        root = next((name for name, short in projects.items() if short == chats.parent.name), "")
    return redact_text(root, tally) if root.isprintable() and len(root) <= _MAX_PATH else ""


class GeminiReader(StateReader, state=_GeminiChat):
    """Reads ``session-*.json`` and ``.jsonl`` of Gemini CLI, and those of its subagents."""

    name: ClassVar[str] = "gemini"
    verified: ClassVar[str] = "the source of 0.61.0, and shaped samples"
    files: ClassVar[Mapping[str, LineSource]] = {**JSON_LINES, "session-*.json": document_items}

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of all projects; ``GEMINI_CLI_HOME`` names another home directory."""
        return (named_place(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp",)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is what a chat begins with."""
        about = {"startTime", "projectHash"} & record.keys()
        return bool(about) and bool(text_of(record.get("sessionId"))) and "type" not in record
