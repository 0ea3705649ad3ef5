"""The reader of pi sessions, and of oh-my-pi's and OpenClaw's, which are written alike.

Results say whether they are errors; the exit code stands at the end of what a command printed. A
session is a tree: what isn't on the way from its last entry to its first was taken back.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import is_shell
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    ExecutionBuilder,
    PendingCall,
    Reading,
    SessionState,
    content_text,
    count_of,
    items,
    named_place,
    printed_code,
    session_name,
    text_of,
    timestamp,
)
from synthorg_tui.ingest.readers.branches import Branches
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT = "pi"
_SILENT = frozenset(
    {
        "branch_summary",
        "compaction",
        "custom",
        "custom_message",
        "label",
        "model_change",
        "thinking_level_change",
    }
)
_SILENT_ROLES = frozenset(
    {"bashExecution", "branchSummary", "compactionSummary", "custom", "hookMessage"}
)
"""The person's own commands, and what extensions and the program put in."""
_BLOCKS = frozenset({"text", "thinking", "toolCall", "image"})
_TAIL: Final = 300
_EXIT_CODE = re.compile(r"Command exited with code (-?\d+)\s*\Z")
_ABORTED = re.compile(r"(?:\A|\n)(?:Command|Operation) aborted\s*\Z")
_BLOCKED = re.compile(r"(?:Tool execution was |\A)[Bb]locked by (?:an )?(?:extension|hook)")
_SKIPPED = "Skipped due to queued user message"
_STOPS = {"aborted": "interrupted", "error": "error", "toolUse": "called"}


class PiReader:
    """Reads the ``sessions/**.jsonl`` of pi."""

    name: ClassVar[str] = "pi"
    verified: ClassVar[str] = (
        "the documentation of 0.73.1 (session version 3), and a long real session of 2025-12"
    )
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folders of pi's and oh-my-pi's sessions.

        ``PI_CODING_AGENT_DIR`` moves pi's, ``PI_CODING_AGENT_SESSION_DIR`` its sessions alone.
        """
        agent = named_place(environ, "PI_CODING_AGENT_DIR", home / ".pi" / "agent")
        sessions = named_place(environ, "PI_CODING_AGENT_SESSION_DIR", agent / "sessions")
        return sessions, home / ".omp" / "agent" / "sessions"

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is the head of a session."""
        is_head = record.get("type") == "session" and bool(text_of(record.get("id")))
        return is_head and {"timestamp", "cwd"} <= record.keys()

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read one session."""
        return _PiSession(ExecutionBuilder(reader=self.name, agent_id=AGENT)).read(lines, records)


@dataclass(slots=True)
class _PiSession(SessionState):
    """Reading state of one file."""

    branches: Branches = field(default_factory=Branches)

    def feed(self, number: int, record: Record) -> None:
        kind = text_of(record.get("type"))
        if kind == "session":
            self._begin(record)
            return
        self.branches.note(text_of(record.get("id")), text_of(record.get("parentId")))
        if kind == "message":
            self._message(number, record, mapping(record.get("message")))
        elif kind == "model_change":
            model = text_of(record.get("modelId")) or text_of(record.get("model"))
            self.builder.model = model or self.builder.model
        elif kind == "session_info":
            self.builder.summary = text_of(record.get("name")) or self.builder.summary
        elif kind not in _SILENT:
            self.unknown.note(record)

    def _begin(self, record: Record) -> None:
        builder = self.builder
        builder.session_id = builder.session_id or session_name(record.get("id"))
        builder.project = builder.project or text_of(record.get("cwd"))
        builder.model = text_of(record.get("modelId")) or builder.model
        builder.summary = text_of(record.get("title")) or builder.summary

    def _message(self, number: int, record: Record, message: Record) -> None:
        role, at = text_of(message.get("role")), timestamp(record.get("timestamp"))
        identity = text_of(record.get("id")) or f"L{number}"
        self.builder.see(at)
        if role == "user":
            self.ask(number, spoken(content_text(message.get("content"))), at, identity)
        elif role == "assistant":
            self._answer(number, message, at, identity)
        elif role == "toolResult":
            self._result(number, message)
        elif role not in _SILENT_ROLES:
            self.unknown.note(message)

    def _answer(self, number: int, message: Record, at: datetime | None, identity: str) -> None:
        self.builder.model = text_of(message.get("model")) or self.builder.model
        usage = mapping(message.get("usage"))
        sent = count_of(usage.get("input")) + count_of(usage.get("cacheWrite"))
        self.builder.count(identity, sent, usage.get("output"), usage.get("cacheRead"))
        self.answer(number, content_text(message.get("content")), at, identity)
        for block in items(message.get("content")):
            if block.get("type") == "toolCall":
                made = (block.get("id"), block.get("name"), block.get("arguments"))
                self.use(number, block, made, at, record_id=identity)
            else:
                self.unknown.note(block, text_of(block.get("type")) not in _BLOCKS)
        self.last_event = _STOPS.get(text_of(message.get("stopReason")), "answered")
        if self.last_event == "error":
            self.builder.error = text_of(message.get("errorMessage"))

    def _result(self, number: int, message: Record) -> None:
        if call := self.ending(message.get("toolCallId")):
            output = content_text(message.get("content"))
            self.builder.end(call, number, output, *_outcome(call, message.get("isError"), output))

    def finish(self, lines: TranscriptLines) -> Reading:
        if not lines.joined:
            self.branches.keep_in(self.builder)
        return self.builder.reading(lines, self.last_event, self.unknown)


def _outcome(call: PendingCall, failed: object, output: str) -> tuple[CallOutcome, int | None]:
    """How a call ended; a result that doesn't say whether it is an error leaves it open."""
    if failed is False:
        return CallOutcome.OK, 0 if is_shell(call.tool) else None
    if failed is not True:
        return CallOutcome.UNKNOWN, None
    code = printed_code(call.tool, _EXIT_CODE, output[-_TAIL:])
    return (_error_outcome(output) if code is None else CallOutcome.FAILED), code


def _error_outcome(output: str) -> CallOutcome:
    if _ABORTED.search(output[-_TAIL:]):
        return CallOutcome.DENIED_BY_USER
    if output.startswith(_SKIPPED):
        return CallOutcome.CANCELLED_WITH_SIBLING
    blocked = _BLOCKED.search(output[:_TAIL])
    return CallOutcome.BLOCKED_BY_HOOK if blocked else CallOutcome.FAILED
