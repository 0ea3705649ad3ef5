"""What a transcript reader is, and the execution while it is being read.

Every reader feeds the same builder, so caps and the removal of memory texts happen in one place.
What a record of some tool means is for its reader.
"""

import json
import os.path
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Protocol

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import Execution, ExecutionTokens, ToolCall, Turn
from synthorg_tui.executions.recoveries import find_recoveries
from synthorg_tui.ingest.records import Record, TranscriptLines
from synthorg_tui.ingest.speech import is_memory_tool, without_memory

MAX_TURN = 6_000
MAX_OUTPUT = 2_400
MAX_ARGUMENTS = 2_400
_MEMORY_TEXT = "[left out: text of a memory tool]"


@dataclass(frozen=True, slots=True)
class ReadExecution:
    """An execution with the redacted lines it was read from; its references count these lines."""

    execution: Execution
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What came out of a file. ``skipped`` says why a file without executions has none."""

    executions: tuple[ReadExecution, ...] = ()
    unknown_records: int = 0
    skipped: str = ""


class TranscriptReader(Protocol):
    """Reads the transcripts of one tool. ``name`` begins the ids of its executions."""

    name: ClassVar[str]

    def recognises(self, record: Record) -> bool:
        """Whether this record can only come from this reader's tool."""
        ...

    def read(self, lines: TranscriptLines, first: Iterable[tuple[int, Record]]) -> Reading:
        """Read all records; ``first`` yields every one of them. Raises ``OSError``."""
        ...


@dataclass(slots=True)
class PendingCall:
    """A call whose result may still come."""

    id: str
    tool: str
    input: Mapping[str, object]
    command: str
    line: int
    at: datetime | None
    outcome: CallOutcome = CallOutcome.UNKNOWN
    output: str = ""
    exit_code: int | None = None
    result_line: int | None = None

    def finished(self) -> ToolCall:
        """The call for the record: texts capped, those of memory tools left out."""
        secret = is_memory_tool(self.tool, self.command)
        arguments = self.command or _compact(self.input)
        return ToolCall(
            id=self.id,
            tool=self.tool,
            intent=call_intent(self.tool, self.input, self.command),
            arguments=_MEMORY_TEXT if secret else shortened(arguments, MAX_ARGUMENTS),
            outcome=self.outcome,
            output=_MEMORY_TEXT if secret else shortened(without_memory(self.output), MAX_OUTPUT),
            exit_code=self.exit_code,
            at=self.at,
            call_line=self.line,
            result_line=self.result_line,
        )


@dataclass(slots=True)
class ExecutionBuilder:
    """Collects what a reader finds; ``build`` makes the record of it."""

    reader: str
    session_id: str = ""
    agent_id: str = ""
    subagent: str = ""
    project: str = ""
    branch: str = ""
    model: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: ExecutionOutcome = ExecutionOutcome.UNKNOWN
    error: str = ""
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, PendingCall] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    tokens: ExecutionTokens = field(default_factory=ExecutionTokens)

    def see(self, at: datetime | None) -> None:
        """Widen the time span of the execution."""
        if at is None:
            return
        self.started_at = at if self.started_at is None else min(self.started_at, at)
        self.ended_at = at if self.ended_at is None else max(self.ended_at, at)

    def say(self, role: str, text: str, line: int, at: datetime | None, record_id: str) -> None:
        """Add a turn; blank ones are dropped."""
        text = without_memory(text).strip()
        if text:
            self.turns.append(
                Turn(
                    role=role,
                    text=shortened(text, MAX_TURN),
                    first_line=line,
                    last_line=line,
                    record_id=record_id,
                    at=at,
                )
            )

    def call(self, call: PendingCall) -> None:
        """Add a call; a repeated id is the same call read twice."""
        self.calls.setdefault(call.id, call)

    def build(self, lines: TranscriptLines) -> Execution:
        """The finished record."""
        calls = tuple(call.finished() for call in self.calls.values())
        name = f"{self.session_id}/{self.subagent}" if self.subagent else self.session_id
        first = next((turn for turn in self.turns if turn.role != "assistant"), None)
        return Execution(
            id=f"{self.reader}:{name}",
            reader=self.reader,
            session_id=self.session_id,
            agent_id=self.agent_id,
            parent_id=f"{self.reader}:{self.session_id}" if self.subagent else None,
            project=canonical_project(self.project),
            branch=self.branch or None,
            task=shortened(first.text, 1_000) if first else "",
            model=self.model or None,
            started_at=self.started_at,
            ended_at=self.ended_at,
            outcome=self.outcome,
            error=shortened(self.error, 1_000),
            turns=tuple(self.turns),
            calls=calls,
            recoveries=find_recoveries(calls),
            files_touched=tuple(self.files),
            tokens=self.tokens,
            source_path=str(lines.path),
            line_count=len(lines.redacted),
        )


def text_of(value: object) -> str:
    """``value`` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def items(value: object) -> list[Record]:
    """The objects in a list; nothing when ``value`` is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count_of(value: object) -> int:
    """A non-negative whole number, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def timestamp(value: object) -> datetime | None:
    """An RFC 3339 time, UTC when it names no zone; ``None`` when it is none."""
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def session_name(value: object) -> str:
    """A session id fit for a reference: no whitespace, ``#`` or ``/``."""
    return re.sub(r"[^A-Za-z0-9._:-]+", "-", text_of(value)).strip("-")[:120]


def canonical_project(path: str) -> str | None:
    """The working directory as one comparable path; links resolved where they exist."""
    if not path or "\0" in path:
        return None
    return os.path.realpath(path) if Path(path).is_absolute() else path


def shortened(text: str, limit: int) -> str:
    """``text`` within ``limit`` characters, keeping start and end, where errors stand."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n… [cut] …\n{text[-(limit - head - 12) :]}"


def _compact(value: Mapping[str, object]) -> str:
    short = {
        key: shortened(member, 400) if isinstance(member, str) else member
        for key, member in value.items()
    }
    return json.dumps(short, ensure_ascii=False, separators=(",", ":"), default=str)
