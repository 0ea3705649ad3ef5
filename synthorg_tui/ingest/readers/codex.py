"""The reader of Codex CLI rollout files.

Exit codes stand in the texts of outputs, in the words of several versions; what says neither that
it failed nor that it was refused is taken as done. Unknown items are counted, never guessed at.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import is_shell
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    PendingCall,
    Reading,
    SessionState,
    StateReader,
    content_text,
    ended_by,
    items,
    json_object,
    named_place,
    session_name,
    text_of,
    timestamp,
)
from synthorg_tui.ingest.readers.codex_scripts import script_calls, script_results
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import spoken

AGENT = "codex"
_SCRIPT = "exec"
"""The tool whose input is a script that calls others."""
ESCALATED = "require_escalated"
"""What a command asks for that is to run outside of the sandbox: here a word before it."""
_REVIEWER = "codex-auto-review"
"""How the model is called that judges for the person what a session may do."""
_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_SILENT_ENVELOPES = frozenset({"world_state", "token_usage_record"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_ITEMS = _CALLS | _OUTPUTS | {"message", "reasoning"}
_SILENT_ITEMS = frozenset({"ghost_snapshot", "compaction", "compaction_summary", "other"})
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) *(-?\d+)", re.MULTILINE)
_REFUSED = re.compile(r"rejected by user|aborted by user|user (?:denied|declined)", re.IGNORECASE)
_FAILED = re.compile(
    r"\s*(?:error\b|script (?:failed|error)|failed to |execution error|unsupported call"
    r"|unknown tool|tool call failed|apply_patch verification failed"
    r"|patch (?:failed|rejected)|collab .{0,40} failed)",
    re.IGNORECASE,
)
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_HEAD = 2_000


@dataclass(slots=True)
class _Rollout(SessionState):
    """Reading state of one file.

    ``asker`` is who gives the tasks, ``is_review`` says that nobody does: it judges the commands of
    another session. ``scripts`` are the calls of each script by the script's id.
    """

    asker: str = "user"
    is_review: bool = False
    scripts: dict[str, list[PendingCall]] = field(default_factory=dict)

    def finish(self, lines: TranscriptLines) -> Reading:
        if self.is_review:
            return Reading(skipped="an automatic review of commands, not work")
        return SessionState.finish(self, lines)

    def feed(self, number: int, record: Record) -> None:
        kind, payload = text_of(record.get("type")), mapping(record.get("payload"))
        if kind not in _ENVELOPES:
            self.unknown.note(record, kind not in _SILENT_ENVELOPES)
            return
        if kind != "session_meta":
            self.builder.see(timestamp(record.get("timestamp")))
        if kind in {"session_meta", "turn_context"}:
            self._context(payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind == "response_item":
            self._item(number, record, payload)

    def _context(self, payload: Record) -> None:
        builder = self.builder
        started_by = mapping(payload.get("source")).get("subagent")
        self.is_review = self.is_review or text_of(payload.get("model")).startswith(_REVIEWER)
        self.is_review = self.is_review or "guardian" in mapping(started_by).values()
        self.asker = "parent" if started_by else self.asker
        if not builder.session_id:  # later ones are of the sessions that were copied
            builder.session_id = session_name(payload.get("id"))
            builder.forked_from = session_name(payload.get("forked_from_id"))
        builder.project = builder.project or text_of(payload.get("cwd"))
        git = mapping(payload.get("git"))
        builder.branch = text_of(git.get("branch")) or builder.branch
        builder.repository = builder.repository or text_of(git.get("repository_url"))
        builder.model = text_of(payload.get("model")) or builder.model

    def _event(self, payload: Record) -> None:
        kind = text_of(payload.get("type"))
        if kind == "turn_aborted":
            self.last_event = "interrupted"
        elif kind in {"task_complete", "turn_complete"}:
            self.last_event = "completed"
        elif kind == "error":
            self.last_event = "error"
            self.builder.error = text_of(payload.get("message"))
        elif kind == "thread_name_updated":
            self.builder.summary = text_of(payload.get("thread_name")) or self.builder.summary
        elif kind == "token_count":
            self._count_tokens(mapping(mapping(payload.get("info")).get("total_token_usage")))

    def _count_tokens(self, usage: Record) -> None:
        if usage:
            names = ("input_tokens", "output_tokens", "cached_input_tokens")
            self.builder.count("", *map(usage.get, names))

    def _item(self, number: int, record: Record, payload: Record) -> None:
        kind = text_of(payload.get("type"))
        if kind == "message":
            self._message(number, record, payload)
        elif kind in _CALLS:
            self._call(number, record, payload)
        elif kind in _OUTPUTS:
            self._output(number, payload)
        elif kind not in _ITEMS and kind not in _SILENT_ITEMS:
            self.unknown.note(payload)

    def _message(self, number: int, record: Record, payload: Record) -> None:
        role = text_of(payload.get("role"))
        at, identity = timestamp(record.get("timestamp")), payload.get("id")
        texts = [text_of(part.get("text")) for part in items(payload.get("content"))]
        if role == "user":
            speech = "\n".join(filter(None, (spoken(text) for text in texts)))
            self.ask(number, speech, at, identity, self.asker)
        elif role == "assistant":
            self.answer(number, "\n".join(texts), at, identity)

    def _call(self, number: int, record: Record, payload: Record) -> None:
        call_id = text_of(payload.get("call_id")) or text_of(payload.get("id")) or f"L{number}"
        tool, arguments = _tool_of(payload)
        script = text_of(arguments.get("input")) if tool == _SCRIPT else ""
        calls = [
            self._start(f"{call_id}/{place}" if place else call_id, *each, number, record)
            for place, each in enumerate(script_calls(script) or [(tool, arguments)])
        ]
        if script:
            self.scripts[call_id] = calls
        if payload.get("type") == "web_search_call":
            calls[0].outcome, calls[0].result_line = CallOutcome.OK, number
        self.last_event = "called"

    def _start(
        self, call_id: str, tool: str, arguments: Record, number: int, record: Record
    ) -> PendingCall:
        patch = text_of(arguments.get("input"))
        paths = _patched(patch)
        if paths and tool == "apply_patch":
            arguments = {"path": ", ".join(paths), "input": patch}
        command = _command_of(arguments) if is_shell(tool) else ""
        if command and _is_escalated(arguments) and not command.startswith("cd "):
            command = f"{ESCALATED} {command}"
        call = PendingCall.started(
            call_id,
            tool,
            arguments,
            command=command,
            line=number,
            at=timestamp(record.get("timestamp")),
        )
        call.writes = paths or _patched(command) or call.writes
        self.builder.call(call)
        return call

    def _output(self, number: int, payload: Record) -> None:
        call_id = text_of(payload.get("call_id"))
        call = self.ending(call_id)
        if call is None:
            return
        if call_id not in self.scripts:
            output, code = _output_text(payload.get("output"))
            self.builder.end(call, number, output, *_outcome(output, code))
            return
        calls = self.scripts[call_id]
        for each, (output, code) in zip(
            calls, script_results(payload.get("output"), len(calls)), strict=True
        ):
            self.builder.end(each, number, output, *_outcome(output, code))


def _tool_of(payload: Record) -> tuple[str, Record]:
    """The tool's name and its arguments as an object."""
    kind = text_of(payload.get("type"))
    if kind == "local_shell_call":
        return "local_shell", mapping(payload.get("action"))
    if kind == "web_search_call":
        return "web_search", mapping(payload.get("action"))
    name = text_of(payload.get("name")).strip() or "unknown"
    server = text_of(payload.get("namespace")).strip()
    if server.startswith("mcp__"):  # of old the name had it before it, as everywhere else
        name = f"{server}__{name}"
    if kind == "custom_tool_call":
        return name, {"input": text_of(payload.get("input"))}
    return name, _json_object(text_of(payload.get("arguments")))


def _patched(text: str) -> tuple[str, ...]:
    """The files that a patch in the text changes."""
    if "*** Begin Patch" not in text:
        return ()
    return tuple(path.strip() for path in _PATCHED_FILE.findall(text))


def _json_object(text: str) -> Record:
    return json_object(text) or ({"input": text} if text.strip("{ }") else {})


def _is_escalated(arguments: Record) -> bool:
    """Whether a command is to run outside of the sandbox, as a person may allow."""
    permissions = arguments.get("sandbox_permissions")
    return permissions == ESCALATED or arguments.get("with_escalated_permissions") is True


def _command_of(arguments: Record) -> str:
    """The shell command: a string, or the last word of ``bash -lc <command>``."""
    command = arguments.get("cmd") or arguments.get("command")
    if isinstance(command, str):
        return command
    words = [str(word) for word in command] if isinstance(command, list) else []
    if len(words) >= 3 and words[1] in {"-lc", "-c"}:
        return words[2]
    return shlex.join(words)


def _output_text(output: object) -> tuple[str, int | None]:
    """The output as text, and the exit code when it is JSON with metadata."""
    if isinstance(output, list):
        return content_text(output), None
    if isinstance(output, dict):
        code = mapping(output.get("metadata")).get("exit_code")
        text = text_of(output.get("output")) or text_of(output.get("content"))
        failed = output.get("success") is False
        return text, code if isinstance(code, int) else (1 if failed else None)
    text = text_of(output)
    if text.startswith("{"):
        inner = _json_object(text)
        if "metadata" in inner or "output" in inner:
            return _output_text(inner)
    return text, None


def _outcome(output: str, metadata_code: int | None) -> tuple[CallOutcome, int | None]:
    header = output.partition("\nOutput:")[0][:_HEAD]
    code = metadata_code
    match = _EXIT_CODE.search(header)
    if code is None and match is not None:
        code = int(match[1])
    if _REFUSED.search(header[:300]) and code is None:
        return CallOutcome.DENIED_BY_USER, None
    if code is None and _FAILED.match(output):
        return CallOutcome.FAILED, None
    return ended_by(code)


class CodexReader(StateReader, state=_Rollout):
    """Reads the ``rollout-*.jsonl`` files of Codex CLI, compressed ones too."""

    name: ClassVar[str] = "codex"
    verified: ClassVar[str] = "samples of 2026-08"
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folders of present and archived sessions; ``CODEX_HOME`` moves them."""
        codex = named_place(environ, "CODEX_HOME", home / ".codex")
        return codex / "sessions", codex / "archived_sessions"

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is one of Codex's typed envelopes with a payload."""
        return text_of(record.get("type")) in _ENVELOPES and isinstance(record.get("payload"), dict)
