"""The reader of Goose sessions: rows of its database, or the lines of its older files.

A result says whether it is an error, and a refused call says so in Goose's own words; a command
that failed is a success to it unless its exit code stands in the output.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    ExecutionBuilder,
    PendingCall,
    Reading,
    SessionState,
    content_text,
    count_of,
    ended_by,
    items,
    moment,
    named_place,
    printed_code,
    session_name,
    text_of,
)
from synthorg_tui.ingest.readers.goose_store import DATABASE, ENVELOPE
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT: Final = "goose"
_REQUESTS = frozenset({"toolRequest", "frontendToolRequest"})
_SILENT_BLOCKS = frozenset(
    {
        "thinking",
        "redactedThinking",
        "reasoning",
        "image",
        "toolConfirmationRequest",
        "actionRequired",
        "contextLengthExceeded",
        "summarizationRequested",
        "systemNotification",
        "conversationCompacted",
    }
)
_DENIED = re.compile(r"\s*(?:The user has declined to run this tool|Interrupted by the user)")
_SKIPPED = "Let the user know the tool call was skipped"
_EXIT_CODE = re.compile(
    r"(?:exit(?:ed with)?(?: exit)? (?:code|status)|exit_code)[:=]? *(-?\d+)", re.IGNORECASE
)
_EDGE: Final = 300


class GooseReader:
    """Reads one session of Goose."""

    name: ClassVar[str] = "goose"
    verified: ClassVar[str] = "samples without a version"
    files: ClassVar[Mapping[str, LineSource]] = {**JSON_LINES, "sessions.db": DATABASE}

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of the database; ``GOOSE_PATH_ROOT`` or ``XDG_DATA_HOME`` moves it."""
        data = named_place(environ, "XDG_DATA_HOME", home / ".local" / "share") / AGENT
        if root := environ.get("GOOSE_PATH_ROOT"):
            data = Path(root).expanduser() / "data"
        return (data / "sessions",)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is a row of Goose's database or the head of an older file."""
        if record.get(ENVELOPE) in {"session", "message"}:
            return "id" in record
        return _is_head(record)

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read one session, which an older file has as a whole."""
        state = _Conversation(ExecutionBuilder(reader=self.name, agent_id=AGENT))
        for number, record in records:
            state.feed(number, record)
        builder = state.builder
        builder.session_id = builder.session_id or session_name(lines.path.stem)
        return state.finish(lines)


def _is_head(record: Record) -> bool:
    return "working_dir" in record and "description" in record and "role" not in record


@dataclass(slots=True)
class _Conversation(SessionState):
    """Reading state of one session; ``asked_by`` is the role of whoever speaks to the agent."""

    asked_by: str = "user"
    is_hidden: bool = False

    def feed(self, number: int, record: Record) -> None:
        kind = record.get(ENVELOPE)
        if kind == "session":
            self._session(record.get("id"), mapping(record.get("data")))
        elif kind == "message":
            data = mapping(record.get("data"))
            identity = text_of(data.get("message_id")) or text_of(record.get("id"))
            self._message(number, identity, data, items(data.get("content")))
        elif kind is None and _is_head(record):
            self._session(record.get("id"), record)
        elif kind is None and "role" in record:
            identity = text_of(record.get("id")) or f"L{number}"
            self._message(number, identity, record, items(record.get("content")))
        else:
            self.unknown.note(record)

    def _session(self, identity: object, data: Record) -> None:
        builder, kind = self.builder, text_of(data.get("session_type"))
        builder.session_id = session_name(identity)
        builder.project = text_of(data.get("working_dir"))
        builder.summary = text_of(data.get("name")) or text_of(data.get("description"))
        builder.model = text_of(mapping(data.get("model_config_json")).get("model_name"))
        builder.count("", _tokens(data, "input_tokens"), _tokens(data, "output_tokens"))
        self.is_hidden = kind == "hidden"
        if kind == "sub_agent":
            self.asked_by, builder.agent_id = "parent", f"{AGENT}/subagent"

    def _message(self, number: int, identity: str, message: Record, blocks: list[Record]) -> None:
        role = text_of(message.get("role"))
        at = moment(message.get("created"))
        self.builder.see(at)
        if role not in {"user", "assistant"}:
            self.unknown.note(message)
            return
        metadata = mapping(message.get("metadata"))
        is_shown = metadata.get("userVisible") is not False and not message.get("agent_only")
        texts = []
        for block in blocks:
            kind = text_of(block.get("type"))
            if kind == "text":
                texts.append(text_of(block.get("text")))
            elif kind in _REQUESTS:
                self._call(number, block, message)
            elif kind == "toolResponse":
                self._result(number, block)
            elif kind not in _SILENT_BLOCKS:
                self.unknown.note(block)
        if is_shown:
            self._say(number, identity, role, "\n".join(texts), message)

    def _say(self, number: int, identity: str, role: str, text: str, message: Record) -> None:
        """What Goose tells the model alone isn't said by anyone, and never comes here."""
        at = moment(message.get("created"))
        if role == "assistant":
            before = self.last_event
            self.answer(number, text, at, identity)
            self.last_event = before if before == "called" else self.last_event
        else:
            self.ask(number, spoken(text), at, identity, self.asked_by)

    def _call(self, number: int, block: Record, message: Record) -> None:
        request = mapping(block.get("toolCall"))
        value = mapping(request.get("value"))
        tool = value.get("name") or ("unknown" if request.get("status") == "error" else "")
        made = (block.get("id"), tool, value.get("arguments"))
        self.use(number, block, made, moment(message.get("created")))

    def _result(self, number: int, block: Record) -> None:
        call = self.ending(block.get("id"))
        if call is None:
            return
        result = mapping(block.get("toolResult"))
        value = result.get("value")
        content = items(value) or items(mapping(value).get("content"))
        output = content_text(content) or text_of(result.get("error"))
        failed = result.get("status") == "error" or mapping(value).get("isError") is True
        if failed or result.get("status") == "success":
            self.builder.end(call, number, output, *_outcome(call, output, failed=failed))

    def finish(self, lines: TranscriptLines) -> Reading:
        if self.is_hidden:
            return Reading(skipped="the agent's own session, not work")
        return self.builder.reading(lines, self.last_event, self.unknown)


def _tokens(data: Record, name: str) -> int:
    """The sum of the whole session where there is one, else that of the last request."""
    return count_of(data.get(f"accumulated_{name}")) or count_of(data.get(name))


def _outcome(call: PendingCall, output: str, *, failed: bool) -> tuple[CallOutcome, int | None]:
    if _DENIED.match(output):
        return CallOutcome.DENIED_BY_USER, None
    if output.startswith(_SKIPPED):
        return CallOutcome.BLOCKED_BY_HOOK, None
    code = printed_code(call.tool, _EXIT_CODE, output[:_EDGE], output[-_EDGE:])
    return (CallOutcome.FAILED, code or None) if failed else ended_by(code)
