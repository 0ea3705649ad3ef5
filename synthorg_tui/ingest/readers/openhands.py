"""The reader of OpenHands conversations, a folder with a file for each event.

An observation names the call it answers and says whether it is an error; that of a terminal has the
exit code. Unknown kinds of events are counted, never guessed at.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import is_shell
from synthorg_tui.ingest.databases import row_line
from synthorg_tui.ingest.readers.base import (
    PendingCall,
    SessionState,
    StateReader,
    content_text,
    ended_by,
    named_place,
    session_name,
    text_of,
    timestamp,
    whole,
)
from synthorg_tui.ingest.records import Record, mapping
from synthorg_tui.ingest.sources import (
    MAX_LINE_BYTES,
    LineSource,
    ListedSession,
    ReadMeter,
    SessionSource,
)
from synthorg_tui.ingest.speech import spoken

AGENT: Final = "openhands"
_SILENT = frozenset(
    {
        "SystemPromptEvent",
        "ConversationStateUpdateEvent",
        "CondensationRequest",
        "Condensation",
        "CondensationSummaryEvent",
        "TokenEvent",
        "LLMCompletionLogEvent",
    }
)
_TALK = frozenset({"finish", "think"})


def _listed(path: Path) -> Sequence[ListedSession]:
    """The conversation of this folder, which changes with its events."""
    stats = [file.stat() for file in (path, *_events(path))]
    size, mtime_ns = sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)
    return [ListedSession(path, size, mtime_ns)]


def _lines(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield the state of a conversation, then its events in the order of their names."""
    for number, file in enumerate((path, *_events(path))):
        if meter.stop.is_set():
            raise InterruptedError("cancelled")
        with file.open("rb") as stream:
            data = stream.read(MAX_LINE_BYTES).strip().replace(b"\r", b" ").replace(b"\n", b" ")
        meter.bytes += len(data)
        yield row_line(AGENT, "event" if number else "state", path.parent.name, data)


def _events(path: Path) -> list[Path]:
    folder = path.parent / "events"
    if folder.is_symlink():
        return []
    return sorted(file for file in folder.glob("event-*.json") if not file.is_symlink())


@dataclass(slots=True)
class _Events(SessionState):
    """Reading state of one conversation."""

    def _state(self, session: str, data: Record) -> None:
        builder = self.builder
        builder.session_id = session
        builder.project = text_of(mapping(data.get("workspace")).get("working_dir"))
        builder.model = text_of(mapping(mapping(data.get("agent")).get("llm")).get("model"))
        metrics = mapping(mapping(data.get("stats")).get("usage_to_metrics")).get("agent")
        usage = mapping(mapping(metrics).get("accumulated_token_usage"))
        names = ("prompt_tokens", "completion_tokens", "cache_read_tokens")
        builder.count("", *map(usage.get, names))

    def feed(self, number: int, record: Record) -> None:
        event = mapping(record.get("data"))
        if record.get(AGENT) == "state":
            self._state(session_name(record.get("id")), event)
            return
        kind = text_of(event.get("kind"))
        self.builder.see(timestamp(event.get("timestamp")))
        if kind == "MessageEvent":
            self._message(number, event)
        elif kind == "ActionEvent":
            self._action(number, event)
        elif kind in {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}:
            self._observation(number, kind, event)
        elif kind == "ConversationErrorEvent":
            self.last_event, self.builder.error = "error", text_of(event.get("detail"))
        elif kind in {"PauseEvent", "InterruptEvent"}:
            self.last_event = "interrupted"
        else:
            self.unknown.note(event, kind not in _SILENT)

    def _message(self, number: int, event: Record) -> None:
        """A person's message; what is added to it for the model stands elsewhere in the event."""
        text = content_text(mapping(event.get("llm_message")).get("content"))
        at = timestamp(event.get("timestamp"))
        if event.get("source") == "user":
            self.ask(number, spoken(text), at, event.get("id"))
        elif event.get("source") == "agent":
            self.answer(number, text, at, event.get("id"))

    def _action(self, number: int, event: Record) -> None:
        tool, action = text_of(event.get("tool_name")).strip(), mapping(event.get("action"))
        at, identity = timestamp(event.get("timestamp")), event.get("id")
        self.answer(number, content_text(event.get("thought")), at, identity)
        if tool in _TALK:
            said = text_of(action.get("message") or action.get("thought"))
            self.answer(number, said, at, identity)
        else:
            self.use(number, event, (event.get("tool_call_id"), tool, action), at)

    def _observation(self, number: int, kind: str, event: Record) -> None:
        call = self.ending(event.get("tool_call_id"))
        if call is None:
            return
        observation = mapping(event.get("observation"))
        reason = text_of(event.get("error")) or text_of(event.get("rejection_reason"))
        output = content_text(observation.get("content")) or reason
        self.builder.end(call, number, output, *_outcome(call, kind, event, observation))


def _outcome(
    call: PendingCall, kind: str, event: Record, observation: Record
) -> tuple[CallOutcome, int | None]:
    """The outcome by the kind of event, the exit code, and the error flag, in this order."""
    if kind == "UserRejectObservation":
        by_hook = event.get("rejection_source") == "hook"
        return (CallOutcome.BLOCKED_BY_HOOK if by_hook else CallOutcome.DENIED_BY_USER), None
    told = observation.get("exit_code", mapping(observation.get("metadata")).get("exit_code"))
    code = whole(told)
    if kind == "AgentErrorEvent" or observation.get("is_error") is True:
        return CallOutcome.FAILED, code or None
    if code == -1 or observation.get("timeout") is True:  # it still runs, or nobody knows
        return CallOutcome.UNKNOWN, None
    if code is None and is_shell(call.tool):
        return CallOutcome.UNKNOWN, None
    return ended_by(code)


class OpenHandsReader(StateReader, state=_Events):
    """Reads one conversation of OpenHands."""

    name: ClassVar[str] = "openhands"
    verified: ClassVar[str] = "its events as documented for 1.49; no sample"
    files: ClassVar[Mapping[str, LineSource]] = {"base_state.json": SessionSource(_lines, _listed)}

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of all conversations; ``OPENHANDS_CONVERSATIONS_DIR`` moves it."""
        default = home / ".openhands" / "conversations"
        return (named_place(environ, "OPENHANDS_CONVERSATIONS_DIR", default),)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is the state of a conversation."""
        return record.get(AGENT) == "state" and isinstance(record.get("data"), dict)
