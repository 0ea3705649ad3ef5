"""The reader of the event logs of Copilot CLI.

A tool's end says whether it succeeded; that of a shell says, too, with which exit code. Events that
a subagent's call caused are that subagent's: it is an execution of its own, with its own lines.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.redaction import redact_text
from synthorg_tui.executions.models import is_shell, slug
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    ExecutionBuilder,
    PendingCall,
    ReadExecution,
    Reading,
    SessionState,
    UnknownRecords,
    count_of,
    ended_by,
    items,
    json_object,
    named_place,
    session_name,
    text_of,
    timestamp,
    whole,
)
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource, small_text
from synthorg_tui.ingest.speech import spoken

AGENT = "copilot"
_HEARD = frozenset(
    {
        "abort",
        "assistant.message",
        "session.error",
        "session.model_change",
        "session.resume",
        "session.shutdown",
        "session.start",
        "session.title_changed",
        "subagent.started",
        "tool.execution_complete",
        "tool.execution_start",
        "user.message",
    }
)
_SILENT = re.compile(
    r"assistant\.(?:intent|idle|message_delta|message_start|reasoning|reasoning_delta|turn_end"
    r"|turn_start|streaming_delta|usage)"
    r"|(?:hook|permission|skill|elicitation|external_tool|user_input|exit_plan_mode|command)\..*"
    r"|subagent\.(?:completed|configured|deselected|failed|selected)"
    r"|system\.(?:message|notification)"
    r"|tool\.(?:execution_partial_result|execution_progress|user_requested)"
    r"|session\.(?:auto_mode_resolved|background_tasks_changed|compaction_complete"
    r"|compaction_start|context_changed|handoff|idle|info|mode_changed|plan_changed"
    r"|remote_steerable_changed|snapshot_rewind|task_complete|todos_changed"
    r"|tools_updated|truncation|usage_checkpoint|usage_info|warning|workspace_file_changed)"
)
_HEAD: Final = 600
_EXIT_CODE = re.compile(r"<(?:\w+ )?(?:command )?(?:exited|completed) with exit code (-?\d+)>\s*\Z")
_BLOCKED = re.compile(r"\b(?:hook|polic(?:y|ies)|content exclusion|denied-by-rules)\b", re.I)
_DENIED = re.compile(
    r"\b(?:rejected|denied|declined|interrupted|cancelled)\b.{0,60}\buser\b"
    r"|\buser\b.{0,60}\b(?:rejected|denied|declined|cancelled)\b",
    re.IGNORECASE | re.DOTALL,
)
_DENIED_CODES = frozenset({"denied", "rejected"})
_MAX_SUBAGENTS: Final = 200
_USAGE = ("inputTokens", "outputTokens", "cacheReadTokens")
_WORKSPACE_NAME = re.compile(
    r"^(?:name|summary):[ \t]*(?:[|>][-+]?[ \t]*\n[ \t]+)?[\"']?([^\s\"'|>].*?)[\"']?[ \t]*\r?$",
    re.MULTILINE,
)


class CopilotReader:
    """Reads ``session-state/<id>/events.jsonl`` of Copilot CLI, and the older ``<id>.jsonl``."""

    name: ClassVar[str] = "copilot"
    verified: ClassVar[str] = "trimmed sessions of 1.0.77, and the event types of 1.0.14 of its SDK"
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of all sessions; ``COPILOT_HOME`` moves it."""
        return (named_place(environ, "COPILOT_HOME", home / ".copilot") / "session-state",)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is one of Copilot's events, in its envelope."""
        is_event = isinstance(record.get("data"), dict) and {"id", "timestamp"} <= record.keys()
        return is_event and text_of(record.get("type")) in _HEARD

    def read(self, lines: TranscriptLines, records: Iterable[tuple[int, Record]]) -> Reading:
        """Read one session with its subagents."""
        state = _Log(lines, _Part(ExecutionBuilder(reader=self.name, agent_id=AGENT)))
        for number, record in records:
            state.feed(number, record)
        return state.finish()


@dataclass(slots=True)
class _Part(SessionState):
    """What one agent did: the session itself, or a subagent, whose ``lines`` are its own."""

    lines: PackedLines | None = None

    def call(self, line: int, told: Record, tool: object, at: datetime | None) -> None:
        given = told.get("arguments")
        arguments = json_object(given) or {"input": given} if isinstance(given, str) else given
        self.use(line, told, (told.get("toolCallId"), tool, arguments), at)


@dataclass(slots=True)
class _Log:
    """Reading state of one file."""

    file: TranscriptLines
    main: _Part
    subagents: dict[str, _Part] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def unknown(self) -> UnknownRecords:
        """The unknown records of all parts."""
        return self.main.unknown

    def feed(self, number: int, record: Record) -> None:
        kind, data = text_of(record.get("type")), mapping(record.get("data"))
        if kind not in _HEARD:
            self.unknown.note(record, _SILENT.fullmatch(kind) is None)
            return
        part, line = self._part_of(number, record, data)
        part.builder.see(timestamp(record.get("timestamp")))
        if kind == "user.message":
            self._ask(part, line, record, data)
        elif kind == "assistant.message":
            self._answer(part, line, record, data)
        elif kind == "tool.execution_start":
            part.call(line, data, data.get("toolName"), timestamp(record.get("timestamp")))
        elif kind == "tool.execution_complete":
            self._complete(part, line, data)
        elif kind == "subagent.started":
            if len(self.names) < _MAX_SUBAGENTS:
                self.names[text_of(data.get("toolCallId"))] = slug(text_of(data.get("agentName")))
        else:
            self._session(kind, data)

    def _part_of(self, number: int, record: Record, data: Record) -> tuple[_Part, int]:
        """Whose record this is, and its line number there."""
        cause = text_of(data.get("parentToolCallId")) or text_of(record.get("agentId"))
        if not cause or (cause not in self.subagents and len(self.subagents) >= _MAX_SUBAGENTS):
            return self.main, number
        part = self.subagents.get(cause)
        if part is None:
            main = self.main.builder
            builder = ExecutionBuilder(
                reader=main.reader,
                session_id=main.session_id,
                agent_id=f"{AGENT}/{self.names.get(cause) or 'subagent'}",
                subagent=session_name(cause) or f"subagent-{len(self.subagents) + 1}",
                project=main.project,
                branch=main.branch,
                model=main.model,
            )
            part = self.subagents[cause] = _Part(builder, self.unknown, lines=PackedLines())
        assert part.lines is not None
        part.lines.append(self.file.redacted.last)
        return part, len(part.lines)

    def _session(self, kind: str, data: Record) -> None:
        builder, context = self.main.builder, mapping(data.get("context"))
        builder.session_id = builder.session_id or session_name(data.get("sessionId"))
        builder.project = builder.project or text_of(context.get("cwd"))
        builder.branch = text_of(context.get("branch")) or builder.branch
        model = text_of(data.get("newModel")) or text_of(data.get("selectedModel"))
        builder.model = model or builder.model
        if kind == "session.title_changed":
            builder.summary = text_of(data.get("title")) or builder.summary
        elif kind == "abort":
            self.main.last_event = "interrupted"
        elif kind == "session.error":
            self.main.last_event, builder.error = "error", text_of(data.get("message"))
        elif kind == "session.shutdown":
            self._shut_down(data)

    def _shut_down(self, data: Record) -> None:
        builder = self.main.builder
        changed = mapping(data.get("codeChanges")).get("filesModified")
        for path in changed if isinstance(changed, list) else []:
            if isinstance(path, str) and path:
                builder.files[path] = None
        metrics = mapping(data.get("modelMetrics")).values()
        usages = [mapping(mapping(metric).get("usage")) for metric in metrics]
        sums = [sum(count_of(usage.get(name)) for usage in usages) for name in _USAGE]
        if sums[1]:
            builder.used.clear()
        builder.count("", *sums)

    def _ask(self, part: _Part, line: int, record: Record, data: Record) -> None:
        """What the person typed; not the text that the program made of it, nor its own.

        ``parentAgentTaskId`` stands at the main conversation's messages, too: it tells nothing.
        """
        if data.get("isAutopilotContinuation") is True:
            return
        at, text = timestamp(record.get("timestamp")), spoken(text_of(data.get("content")))
        part.ask(line, text, at, record.get("id"))

    def _answer(self, part: _Part, line: int, record: Record, data: Record) -> None:
        text, builder = text_of(data.get("content")), part.builder
        builder.model = text_of(data.get("model")) or builder.model
        builder.count(f"L{line}", 0, data.get("outputTokens"))
        at = timestamp(record.get("timestamp"))
        part.answer(line, text, at, record.get("id"))
        for request in items(data.get("toolRequests")):
            part.call(line, request, request.get("name"), at)

    def _complete(self, part: _Part, line: int, data: Record) -> None:
        if call := part.ending(data.get("toolCallId")):
            error, result = mapping(data.get("error")), mapping(data.get("result"))
            output = text_of(error.get("message")) or text_of(result.get("content"))
            part.builder.end(call, line, output, *_outcome(call, data, output))

    def finish(self) -> Reading:
        main = self.main.builder
        main.summary = main.summary or _workspace_name(self.file)
        reading = self.main.builder.reading(self.file, self.main.last_event, self.unknown)
        if not self.main.builder.session_id:
            return reading
        subagents = [
            read for part in self.subagents.values() if (read := _read(part, self.file)) is not None
        ]
        left_out = sum(part.builder.left_out for part in self.subagents.values())
        return Reading(
            (*reading.executions, *subagents),
            unknown=self.unknown,
            skipped="" if subagents else reading.skipped,
            left_out=reading.left_out + left_out,
        )


def _workspace_name(file: TranscriptLines) -> str:
    """What the file beside the events calls the session; empty when it isn't there."""
    named = _WORKSPACE_NAME.search(small_text(file.path.with_name("workspace.yaml")))
    return redact_text(named[1], file.tally) if named else ""


def _read(part: _Part, file: TranscriptLines) -> ReadExecution | None:
    if part.lines is None or not (part.builder.turns or part.builder.calls):
        return None
    part.builder.end_with(part.last_event)
    execution = part.builder.build(file).model_copy(update={"line_count": len(part.lines)})
    return ReadExecution(execution, part.lines)


def _outcome(call: PendingCall, data: Record, output: str) -> tuple[CallOutcome, int | None]:
    """How a call ended: by its flag, and for a shell by its exit code, too."""
    code = whole(mapping(data.get("shellExecution")).get("exitCode"))
    if code is None and is_shell(call.tool) and (printed := _EXIT_CODE.search(output[-200:])):
        code = int(printed[1][:12])
    if data.get("success") is True:
        return ended_by(code)
    if data.get("success") is not False:
        return CallOutcome.UNKNOWN, code
    if code is not None:
        return CallOutcome.FAILED, code
    return _failure(mapping(data.get("error")), output[:_HEAD]), None


def _failure(error: Record, head: str) -> CallOutcome:
    """Why a call didn't succeed; only an error, not a tool's own words, tells of a refusal."""
    code = text_of(error.get("code"))
    if code in _DENIED_CODES or (error and _DENIED.search(head)):
        is_blocked = _BLOCKED.search(head) and not _DENIED.search(head)
        return CallOutcome.BLOCKED_BY_HOOK if is_blocked else CallOutcome.DENIED_BY_USER
    if error and _BLOCKED.search(f"{code} {head}"):
        return CallOutcome.BLOCKED_BY_HOOK
    return CallOutcome.FAILED
