"""The reader of OpenCode sessions: rows of its database, the files of its older store, an export.

A store gives one record a row, in the order in which they were said: the session, then each message
with its parts. OpenCode calls a command that failed "completed", too: its exit code decides.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import is_shell, slug
from synthorg_tui.ingest.readers.base import (
    Reading,
    SessionState,
    StateReader,
    count_of,
    ended_by,
    items,
    moment,
    named_place,
    session_name,
    text_of,
    whole,
)
from synthorg_tui.ingest.readers.opencode_store import DATABASE, ENVELOPE, FOLDERS
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT: Final = "opencode"
_PROGRAMS: Final = ("opencode", "kilo", "mimocode")
"""Those that store as OpenCode does, by the names of their folders and databases."""
_SILENT_PARTS = frozenset(
    {
        "reasoning",
        "step-start",
        "step-finish",
        "snapshot",
        "file",
        "agent",
        "subtask",
        "retry",
        "compaction",
    }
)
_SUBAGENT_MARK = re.compile(r"\s*\(@\S{1,60} subagent\)\s*\Z")
_REFUSED = "The user rejected permission"
_FORBIDDEN = "The user has specified a rule which prevents"
_ABORTED = ("Tool execution aborted", "User aborted the command")
_TIMED_OUT = ("after exceeding timeout", "command timed out")
_TAIL: Final = 400


@dataclass(slots=True)
class _Rows(SessionState):
    """Reading state of one session; ``message`` is the one whose parts come now."""

    message: Record = field(default_factory=dict)
    message_id: str = ""

    def feed(self, number: int, record: Record) -> None:
        kind = text_of(record.get(ENVELOPE))
        if kind == "session":
            self._session(record)
        elif kind == "message":
            self._message(record)
        elif kind == "part":
            self._part(number, text_of(record.get("id")), mapping(record.get("data")))
        elif not kind and "messages" in record:
            self._exported(number, mapping(record["messages"]))
        elif not kind and "info" in record:
            info = mapping(record["info"])
            self._session({"id": info.get("id"), "data": info})
        else:
            self.unknown.note(record)

    def _exported(self, number: int, message: Record) -> None:
        """A message of an export has its parts with it, on one line."""
        info = mapping(message.get("info"))
        self._message({"id": info.get("id"), "data": info})
        for part in items(message.get("parts")):
            self._part(number, text_of(part.get("id")) or f"L{number}", part)

    def _session(self, record: Record) -> None:
        builder, data = self.builder, mapping(record.get("data"))
        builder.project = text_of(data.get("directory"))
        builder.summary = _SUBAGENT_MARK.sub("", text_of(data.get("title")))
        name = session_name(record.get("id"))
        parent = session_name(data.get("parent_id") or data.get("parentID"))
        builder.session_id = parent or name
        if parent:
            builder.subagent, builder.agent_id = name, f"{AGENT}/subagent"

    def _message(self, record: Record) -> None:
        self._end_message()
        builder, data = self.builder, mapping(record.get("data"))
        self.message, self.message_id = data, text_of(record.get("id"))
        time = mapping(data.get("time"))
        builder.see(moment(time.get("created")))
        builder.see(moment(time.get("completed")))
        if data.get("role") != "assistant":
            self.unknown.note(data, data.get("role") != "user")
            return
        model = data.get("modelID") or mapping(data.get("model")).get("modelID")
        builder.model = text_of(model) or builder.model
        builder.project = builder.project or text_of(mapping(data.get("path")).get("cwd"))
        kind = slug(text_of(data.get("agent") or data.get("mode")))
        if builder.subagent and kind:
            builder.agent_id = f"{AGENT}/{kind}"
        tokens = mapping(data.get("tokens"))
        cache = mapping(tokens.get("cache"))
        sent = count_of(tokens.get("input")) + count_of(cache.get("write"))
        builder.count(self.message_id, sent, tokens.get("output"), cache.get("read"))

    def _end_message(self) -> None:
        """An error ends what its message did, whatever its parts are."""
        error = mapping(self.message.get("error"))
        if text_of(error.get("name")) == "MessageAbortedError":
            self.last_event = "interrupted"
        elif error:
            self.last_event = "error"
            message = text_of(mapping(error.get("data")).get("message"))
            self.builder.error = message or text_of(error.get("name"))

    def _part(self, number: int, identity: str, part: Record) -> None:
        kind = text_of(part.get("type"))
        if kind == "text":
            self._text(number, identity, part)
        elif kind == "tool":
            self._tool(number, identity, part)
        elif kind == "patch":
            files = part.get("files")
            names = files if isinstance(files, list) else []
            self.builder.files.update(dict.fromkeys(filter(None, map(text_of, names))))
        elif kind not in _SILENT_PARTS:
            self.unknown.note(part)

    def _text(self, number: int, identity: str, part: Record) -> None:
        """A person's text, unless OpenCode itself put it there."""
        if part.get("synthetic") is True or part.get("ignored") is True:
            return
        text = text_of(part.get("text"))
        created = mapping(self.message.get("time")).get("created")
        at = moment(mapping(part.get("time")).get("start")) or moment(created)
        if self.message.get("role") == "assistant":
            self.answer(number, text, at, identity)
        elif self.message.get("role") == "user":
            self.ask(number, spoken(text), at, identity)

    def _tool(self, number: int, identity: str, part: Record) -> None:
        """A part holds the call and its result: both are on one line.

        Parts whose calls have one id, as where it was redacted, are told apart by their own.
        """
        state, call_id = mapping(part.get("state")), part.get("callID")
        call_id = identity if call_id in self.builder.calls else call_id
        made = (call_id, part.get("tool"), state.get("input"))
        time = mapping(state.get("time"))
        call = self.use(number, part, made, moment(time.get("start")))
        if call is None:
            return
        self.builder.see(call.at)
        self.builder.see(moment(time.get("end")))
        if self.builder.calls.get(call.id) is call and _is_finished(state):
            output = text_of(state.get("output")) or text_of(state.get("error"))
            self.builder.end(call, number, output, *ended_as(call.tool, state))
            self.last_event = "result"

    def finish(self, lines: TranscriptLines) -> Reading:
        self._end_message()
        return self.builder.reading(lines, self.last_event, self.unknown)


def _is_finished(state: Record) -> bool:
    return text_of(state.get("status")) not in {"pending", "running", ""}


def ended_as(tool: str, state: Record) -> tuple[CallOutcome, int | None]:
    """Return the outcome and the exit code of a call, told by the state of its part.

    "Completed" says only that the tool came to an end.
    """
    status = text_of(state.get("status"))
    if status == "error":
        return _error_outcome(text_of(state.get("error"))), None
    if status not in {"completed", "success"}:
        return CallOutcome.UNKNOWN, None
    metadata = mapping(state.get("metadata"))
    code = whole(metadata.get("exit"))
    if code is not None:
        return ended_by(code)
    if is_shell(tool) and "exit" in metadata:
        return _killed_outcome(text_of(state.get("output"))[-_TAIL:]), None
    return CallOutcome.OK, None


def _error_outcome(error: str) -> CallOutcome:
    if error.startswith(_FORBIDDEN):
        return CallOutcome.BLOCKED_BY_HOOK
    if error.startswith((_REFUSED, *_ABORTED)):
        return CallOutcome.DENIED_BY_USER
    return CallOutcome.FAILED


def _killed_outcome(end: str) -> CallOutcome:
    """The outcome of a command that has no exit code: something ended it."""
    if any(text in end for text in _ABORTED):
        return CallOutcome.DENIED_BY_USER
    return CallOutcome.FAILED if any(text in end for text in _TIMED_OUT) else CallOutcome.UNKNOWN


class OpenCodeReader(StateReader, state=_Rows):
    """Reads one session of OpenCode, or of an agent that stores as it does."""

    name: ClassVar[str] = "opencode"
    verified: ClassVar[str] = "samples without a version"
    files: ClassVar[Mapping[str, LineSource]] = {
        **{f"{program}*.db": DATABASE for program in _PROGRAMS},
        "ses_*.json": FOLDERS,
    }

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the databases and the folder of the older store; ``XDG_DATA_HOME`` moves them."""
        data = named_place(environ, "XDG_DATA_HOME", home / ".local" / "share")
        stores = [data / program for program in _PROGRAMS]
        return tuple(
            place
            for store in stores
            for place in (*sorted(store.glob(f"{store.name}*.db")), store / "storage" / "session")
        )

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is a row of OpenCode's store, or the head of an export."""
        kind, info = record.get(ENVELOPE), mapping(record.get("info"))
        if text_of(info.get("id")).startswith("ses_"):
            return True
        return kind in {"session", "message", "part"} and isinstance(record.get("id"), str)
