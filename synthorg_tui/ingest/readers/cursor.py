"""The reader of the transcripts that Cursor's agent writes as lines.

They have no times, no session id and often no ids of calls: the file's name and time stand for
them, and a result without an id belongs to the oldest call that still waits for one. How a call
ended is told by its result at best.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    PendingCall,
    SessionState,
    StateReader,
    content_text,
    ended_by,
    items,
    named_place,
    printed_code,
    session_name,
    text_of,
)
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT = "cursor"
_SUBAGENTS = "subagents"
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_HEAD: Final = 600
_MAX_WORDS: Final = 40
_EXIT_CODE = re.compile(r"\b[Ee]xit code:? (-?\d+)")
_REFUSED = re.compile(
    r"(?:rejected|denied|declined|skipped|cancelled) by (?:the )?user|User rejected"
)
_BLOCKED = re.compile(r"[Bb]locked by (?:a |the )?(?:\S+ )?hook|[Hh]ook blocked")
_FAILED = re.compile(r"\s*(?:error\b|failed to |command failed)", re.IGNORECASE)
_ENDINGS = {"success": "completed", "error": "error"}


@dataclass(slots=True)
class _CursorSession(SessionState):
    """Reading state of one file; ``waiting`` are the calls without a result, the oldest first."""

    waiting: dict[str, PendingCall] = field(default_factory=dict)

    def begin(self, lines: TranscriptLines) -> None:
        """Only the file's name and time tell the session, the project and when it was."""
        builder, path = self.builder, lines.path
        builder.session_id, builder.project = session_name(path.stem), _project_of(path)
        if path.parent.name == _SUBAGENTS:
            builder.session_id = session_name(path.parent.parent.name)
            builder.subagent = session_name(path.stem) or "subagent"
            builder.agent_id = f"{AGENT}/subagent"
        builder.see(datetime.fromtimestamp(path.stat().st_mtime, UTC))

    def feed(self, number: int, record: Record) -> None:
        if record.get("type") == "turn_ended":
            self.last_event = _ENDINGS.get(text_of(record.get("status")), "interrupted")
        elif record.get("role") == "user":
            self._user(number, record)
        elif record.get("role") == "assistant":
            self._assistant(number, record)
        else:
            self.unknown.note(record)

    def _user(self, number: int, record: Record) -> None:
        texts: list[str] = []
        for block in items(mapping(record.get("message")).get("content")):
            if block.get("type") == "tool_result":
                self._result(number, record, block)
            elif block.get("type") == "text":
                texts.append(text_of(block.get("text")))
            else:
                self.unknown.note(block)
        self.ask(number, _asked("\n".join(texts)), None)

    def _assistant(self, number: int, record: Record) -> None:
        self.builder.model = text_of(record.get("model")) or self.builder.model
        for position, block in enumerate(items(mapping(record.get("message")).get("content"))):
            kind = text_of(block.get("type"))
            if kind == "text":
                self.answer(number, text_of(block.get("text")), None)
            elif kind == "tool_use":
                self._call(number, position, block)
            else:
                self.unknown.note(block, kind not in {"thinking", "redacted_thinking"})

    def _call(self, number: int, position: int, block: Record) -> None:
        call_id = text_of(block.get("id")).strip() or f"L{number}-{position}"
        call = self.use(number, block, (call_id, block.get("name"), block.get("input")), None)
        if call is not None and self.builder.calls.get(call.id) is call:
            self.waiting[call.id] = call

    def _result(self, number: int, record: Record, block: Record) -> None:
        oldest = next(iter(self.waiting), "")
        named = text_of(block.get("tool_use_id"))
        call = self.waiting.pop(named if named in self.waiting else oldest, None)
        if call is None:
            return
        output = content_text(block.get("content"))
        self.builder.end(call, number, output, *_outcome(call, block.get("is_error"), output))
        self.last_event = "result"


def _outcome(call: PendingCall, failed: object, output: str) -> tuple[CallOutcome, int | None]:
    """How a call ended: by its flag where it has one, else by the first words of its result."""
    head = output[:_HEAD]
    code = printed_code(call.tool, _EXIT_CODE, head)
    if code is not None:
        return ended_by(code)
    if failed is not False and _REFUSED.search(head):
        return CallOutcome.DENIED_BY_USER, None
    if failed is not False and _BLOCKED.search(head):
        return CallOutcome.BLOCKED_BY_HOOK, None
    is_failure = failed is True or (failed is None and _FAILED.match(head) is not None)
    return (CallOutcome.FAILED if is_failure else CallOutcome.OK), None


def _asked(text: str) -> str:
    """What the person typed: the query, where the program marks it among what it adds."""
    queries = _QUERY.findall(text)
    return spoken("\n".join(queries) if queries else text)


def _project_of(path: Path) -> str:
    """The project, whose folder is named like its path with dashes; empty when it isn't there."""
    names = list(path.parts)
    if "agent-transcripts" not in names[1:]:
        return ""
    words = names[names.index("agent-transcripts", 1) - 1].split("-")
    if len(words) > _MAX_WORDS or ".." in words:
        return ""
    return str(_folder_named(Path("/"), words) or "")


def _folder_named(base: Path, words: list[str]) -> Path | None:
    """The folder under ``base`` whose path has these words; a dash may be part of a name."""
    if not words:
        return base
    for count in range(1, len(words) + 1):
        folder = base / "-".join(words[:count])
        if folder.is_dir() and (found := _folder_named(folder, words[count:])) is not None:
            return found
    return None


class CursorReader(StateReader, state=_CursorSession):
    """Reads the ``agent-transcripts/**.jsonl`` of Cursor."""

    name: ClassVar[str] = "cursor"
    verified: ClassVar[str] = "samples without a version"
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of all projects; ``CURSOR_CONFIG_DIR`` moves it."""
        return (named_place(environ, "CURSOR_CONFIG_DIR", home / ".cursor") / "projects",)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is a message that has a role and blocks, and no type."""
        blocks = mapping(record.get("message")).get("content")
        is_message = record.get("role") in {"user", "assistant"} and isinstance(blocks, list)
        return is_message and "type" not in record and "sessionId" not in record
