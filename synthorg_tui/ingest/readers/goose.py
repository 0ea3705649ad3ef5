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
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import ExecutionTokens, is_shell
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    ExecutionBuilder,
    PendingCall,
    Reading,
    SessionState,
    count_of,
    items,
    moment,
    named_place,
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
_EDITOR_VERBS = {
    "write": "write",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "diff": "edit",
    "view": "read",
}
_WRITING_TOOLS = frozenset({"edit", "write"})
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
        builder.tokens = ExecutionTokens(
            input=_tokens(data, "input_tokens"), output=_tokens(data, "output_tokens")
        )
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
            self.builder.say("assistant", text, number, at, identity)
            is_last = self.last_event != "called"
            self.last_event = "answered" if text.strip() and is_last else self.last_event
        elif speech := spoken(text):
            self.builder.say(self.asked_by, speech, number, at, identity)
            self.last_event = "asked"

    def _call(self, number: int, block: Record, message: Record) -> None:
        request = mapping(block.get("toolCall"))
        value = mapping(request.get("value"))
        tool, arguments = text_of(value.get("name")).strip(), mapping(value.get("arguments"))
        call_id = text_of(block.get("id")).strip()
        if not call_id or not (tool or request.get("status") == "error"):
            self.unknown.note(block)
            return
        call = PendingCall.started(
            call_id,
            tool or "unknown",
            arguments,
            command=text_of(arguments.get("command")) if is_shell(tool) else "",
            line=number,
            at=moment(message.get("created")),
        )
        _name_edit(call, tool, arguments)
        self.builder.call(call)
        self.last_event = "called"

    def _result(self, number: int, block: Record) -> None:
        call = self.builder.calls.get(text_of(block.get("id")).strip())
        if call is None or call.result_line is not None:
            return
        result = mapping(block.get("toolResult"))
        value = result.get("value")
        content = items(value) or items(mapping(value).get("content"))
        output = "\n".join(filter(None, (text_of(each.get("text")) for each in content)))
        output = output or text_of(result.get("error"))
        failed = result.get("status") == "error" or mapping(value).get("isError") is True
        if failed or result.get("status") == "success":
            self.builder.end(call, number, output, *_outcome(call, output, failed=failed))
        self.last_event = "result"

    def finish(self, lines: TranscriptLines) -> Reading:
        if self.is_hidden:
            return Reading(skipped="the agent's own session, not work")
        return self.builder.reading(lines, self.last_event, self.unknown)


def _tokens(data: Record, name: str) -> int:
    """The sum of the whole session where there is one, else that of the last request."""
    return count_of(data.get(f"accumulated_{name}")) or count_of(data.get(name))


def _name_edit(call: PendingCall, tool: str, arguments: Record) -> None:
    """One editing tool does it all: its argument ``command`` says what, as other tools' names."""
    name = tool.rpartition("__")[2]
    verb = name
    if name == "text_editor":
        verb = _EDITOR_VERBS.get(text_of(arguments.get("command")), "")
    path = text_of(arguments.get("path") or arguments.get("file_path"))
    if verb in {"edit", "write", "read"} and path:
        call.intent = call_intent(verb, {"path": path})
        call.writes = (path,) if verb in _WRITING_TOOLS else ()


def _outcome(call: PendingCall, output: str, *, failed: bool) -> tuple[CallOutcome, int | None]:
    if _DENIED.match(output):
        return CallOutcome.DENIED_BY_USER, None
    if output.startswith(_SKIPPED):
        return CallOutcome.BLOCKED_BY_HOOK, None
    match = None
    if is_shell(call.tool):
        match = _EXIT_CODE.search(output[:_EDGE]) or _EXIT_CODE.search(output[-_EDGE:])
    code = int(match[1][:12]) if match else None
    if failed:
        return CallOutcome.FAILED, code or None
    return (CallOutcome.FAILED if code else CallOutcome.OK), code
