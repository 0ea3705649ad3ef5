"""The reader of Claude Code session files and of those of its subagents.

How a tool call ended is told by its result and by the hooks that ran around it: one that a hook or
the person refused isn't a failure of the agent. Record types that are unknown are counted, never
guessed at. Nothing here decides what is worth remembering.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import is_shell
from synthorg_tui.ingest.readers.base import (
    JSON_LINES,
    PendingCall,
    Reading,
    SessionState,
    StateReader,
    content_text,
    count_of,
    items,
    json_object,
    named_place,
    session_name,
    text_of,
    timestamp,
)
from synthorg_tui.ingest.records import Record, TranscriptLines, mapping
from synthorg_tui.ingest.sources import LineSource
from synthorg_tui.ingest.speech import INTERRUPTION, remembered, spoken

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (-?\d+)")
_CANCELLED = ("Sibling tool call errored", "Cancelled: parallel tool call")
_DENIED = re.compile(
    r"The user doesn't want to (?:proceed|take this action)|User rejected|The user rejected"
    r"|\[Request interrupted by user|Permission to use \S+ .{0,200}(?:has been )?denied"
    r"|requested permissions? to .{0,400}haven't granted|This command requires approval"
    r"|was rejected by the user",
    re.DOTALL,
)
_BLOCKED = re.compile(
    r"(?:PreToolUse|PermissionRequest)(?::\S+)? hook|hook (?:returned )?blocking error"
    r"|[Bb]locked by (?:a |the )?(?:\S+ )?hook|hook .{0,80}denied this tool"
    r"|was blocked\. For security, Claude Code may only"
)
_HEAD = 600
"""Verdicts stand at the start of a result; further down is what the tool printed."""


@dataclass(slots=True)
class HookLog:
    """The hook events of a session.

    ``before`` and ``after`` are ids of tool uses before and after which a hook ran; ``watched`` are
    the tools for which an after-hook is known to be set up.
    """

    before: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    watched: set[str] = field(default_factory=set)

    def note(self, record: Record) -> None:
        """Record the hook event that a ``progress`` record reports."""
        data = mapping(record.get("data"))
        event, use = text_of(data.get("hookEvent")), text_of(record.get("toolUseID"))
        if event == "PreToolUse":
            self.before.add(use)
        elif event in {"PostToolUse", "PostToolUseFailure"}:
            self.after.add(use)
            self.watched.add(text_of(data.get("hookName")).partition(":")[2])

    def stopped(self, call: PendingCall) -> bool:
        """Tell whether hooks ran before a call but not after it, though they are set up to.

        Then a hook refused the call without saying so, and the tool never ran.
        """
        if call.id not in self.before or call.id in self.after:
            return False
        return call.tool in self.watched or is_shell(call.tool)


def result_of(
    call: PendingCall, block: Record, record: Record, output: str
) -> tuple[CallOutcome, int | None]:
    """Return outcome and exit code of a call, told by its result.

    ``block`` is the result's content block, ``record`` the transcript record that holds it.
    """
    result = record.get("toolUseResult")
    if block.get("is_error") is True:
        return _error_outcome(output, text_of(record.get("toolDenialKind")))
    if mapping(result).get("interrupted") is True:
        return CallOutcome.DENIED_BY_USER, None
    ran = is_shell(call.tool) and "backgroundTaskId" not in mapping(result)
    return CallOutcome.OK, 0 if ran else None


def _error_outcome(output: str, denial: str) -> tuple[CallOutcome, int | None]:
    head = output[:_HEAD]
    exit_code = _EXIT_CODE.match(head)
    if denial:
        hook = "hook" in denial.lower()
        return (CallOutcome.BLOCKED_BY_HOOK if hook else CallOutcome.DENIED_BY_USER), None
    if exit_code is not None:
        return CallOutcome.FAILED, int(exit_code[1])
    if any(text in head for text in _CANCELLED):
        return CallOutcome.CANCELLED_WITH_SIBLING, None
    if _DENIED.search(head):
        return CallOutcome.DENIED_BY_USER, None
    if _BLOCKED.search(head):
        return CallOutcome.BLOCKED_BY_HOOK, None
    return CallOutcome.FAILED, None


def correct_by_hooks(call: PendingCall, hooks: HookLog) -> None:
    """Mark a failed call as blocked when a hook refused it silently."""
    if call.outcome is CallOutcome.FAILED and not call.failed_itself and hooks.stopped(call):
        call.outcome = CallOutcome.BLOCKED_BY_HOOK


AGENT = "claude-code"
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
"""Records that name the session, with the field that does; what the person typed comes first."""
_MAX_SUMMARIES = 500
_MAX_ABOUT = 300
_SILENT = frozenset(
    {
        "system",
        "file-history-snapshot",
        "agent-name",
        "agent-color",
        "last-prompt",
        "pr-link",
        "mode",
        "permission-mode",
        "tag",
        "worktree-state",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "cost-state",
        "tools-used",
    }
)
_KNOWN = (
    _SILENT
    | _TITLES.keys()
    | {"user", "assistant", "progress", "queue-operation", "attachment", "summary"}
)
_HELPER_AGENT = re.compile(r"a?(?:compact|prompt_suggestion|side_question)(?:-|$)")


@dataclass(slots=True)
class _Session(SessionState):
    """Reading state of one file."""

    hooks: HookLog = field(default_factory=HookLog)
    queued: dict[str, int] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    is_helper: bool = False

    def feed(self, number: int, record: Record) -> None:
        kind, agent = text_of(record.get("type")), text_of(record.get("agentId"))
        if agent and not self.builder.subagent:
            self.is_helper = _HELPER_AGENT.match(agent) is not None
            self.builder.subagent = session_name(agent)
            self.builder.agent_id = f"{AGENT}/subagent"
        if kind not in _KNOWN:
            self.unknown.note(record)
            return
        self._context(record)
        if kind == "progress":
            self.hooks.note(record)
        elif kind == "queue-operation":
            self._queued(number, record)
        elif kind == "attachment":
            self._attachment(number, record)
        elif kind == "user":
            self._user(number, record)
        elif kind == "assistant":
            self._assistant(number, record)
        elif kind in _TITLES:
            self.titles[kind] = text_of(record.get(_TITLES[kind]))
        elif kind == "summary" and len(self.summaries) < _MAX_SUMMARIES:
            self.summaries[text_of(record.get("leafUuid"))] = text_of(record.get("summary"))

    def _summary(self) -> str:
        """What the session is called; of the summaries, many are of other sessions."""
        titles = [self.titles[kind] for kind in _TITLES if self.titles.get(kind)]
        turns = reversed(self.builder.turns)
        own = (self.summaries[turn.record_id] for turn in turns if turn.record_id in self.summaries)
        return next(iter(titles), "") or next(own, "")

    def _context(self, record: Record) -> None:
        builder = self.builder
        builder.session_id = builder.session_id or session_name(record.get("sessionId"))
        builder.project = builder.project or text_of(record.get("cwd"))
        builder.branch = text_of(record.get("gitBranch")) or builder.branch
        if text_of(record.get("type")) in {"user", "assistant"}:
            builder.see(timestamp(record.get("timestamp")))

    def _queued(self, number: int, record: Record) -> None:
        """What the person typed while the agent worked; it may not come as a message of its own.

        Notices of tasks in the background are queued, too: objects of JSON.
        """
        text = text_of(record.get("content"))
        is_notice = json_object(text) or text.strip() == "{}"
        if record.get("operation") == "enqueue" and not is_notice:
            self._speak(number, record, text, queued=True)

    def _attachment(self, number: int, record: Record) -> None:
        attachment = mapping(record.get("attachment"))
        if attachment.get("type") == "queued_command":
            self._speak(number, record, text_of(attachment.get("prompt")))

    def _user(self, number: int, record: Record) -> None:
        if record.get("isMeta") is True or record.get("isCompactSummary") is True:
            return
        content = mapping(record.get("message")).get("content")
        if isinstance(content, str):
            self._speak(number, record, content)
            return
        texts: list[str] = []
        for block in items(content):
            if block.get("type") == "tool_result":
                self._result(number, record, block)
            elif block.get("type") == "text":
                texts.append(text_of(block.get("text")))
        if texts:
            self._speak(number, record, "\n".join(texts))

    def _speak(self, number: int, record: Record, text: str, *, queued: bool = False) -> None:
        if INTERRUPTION in text[:200]:
            self.last_event = "interrupted"
        speech = spoken(text)
        if not speech or self._repeats_queued(speech, queued):
            return
        speech = f"Remember: {speech}" if remembered(text) else speech
        identity = record.get("uuid") or record.get("timestamp")
        self.ask(number, speech, timestamp(record.get("timestamp")), identity)

    def _repeats_queued(self, speech: str, queued: bool) -> bool:
        if queued:
            self.queued[speech] = self.queued.get(speech, 0) + 1
            return False
        if self.queued.get(speech, 0) < 1:
            return False
        self.queued[speech] -= 1
        return True

    def _assistant(self, number: int, record: Record) -> None:
        message = mapping(record.get("message"))
        at = timestamp(record.get("timestamp"))
        if record.get("isApiErrorMessage") is True:
            self.last_event = "error"
            self.builder.error = content_text(message.get("content"))
            return
        model = text_of(message.get("model"))
        self.builder.model = model if model and model != "<synthetic>" else self.builder.model
        self._count_tokens(message)
        for block in items(message.get("content")):
            if block.get("type") == "text":
                self.answer(number, text_of(block.get("text")), at, record.get("uuid"))
            elif block.get("type") == "tool_use":
                call = self.use(
                    number, block, (block.get("id"), block.get("name"), block.get("input")), at
                )
                if call is not None:
                    call.directory = text_of(record.get("cwd"))

    def _count_tokens(self, message: Record) -> None:
        if usage := mapping(message.get("usage")):
            sent = [usage.get(name) for name in ("input_tokens", "cache_creation_input_tokens")]
            read = usage.get("cache_read_input_tokens")
            counts = (sum(map(count_of, sent)), usage.get("output_tokens"), read)
            self.builder.count(text_of(message.get("id")), *counts)

    def _result(self, number: int, record: Record, block: Record) -> None:
        call = self.ending(block.get("tool_use_id"))
        if call is None:
            return
        output = content_text(block.get("content"))
        outcome, exit_code = result_of(call, block, record, output)
        call.failed_itself = exit_code is not None or "<tool_use_error>" in output[:_HEAD]
        self.builder.end(call, number, output, outcome, exit_code)

    def finish(self, lines: TranscriptLines) -> Reading:
        if self.is_helper:
            return Reading(skipped="the agent's own summary of a session, not work")
        builder = self.builder
        for call in builder.calls.values():
            correct_by_hooks(call, self.hooks)
        builder.summary = self._summary()
        return builder.reading(lines, self.last_event, self.unknown)


class Declared(NamedTuple):
    """What an agent said of a subagent when it started it; the texts are as it wrote them."""

    kind: str
    about: str


def declared_subagents(records: Iterable[Record]) -> dict[str, Declared]:
    """Return what is declared of each subagent by its id.

    ``records`` are those of the session that started the subagents.
    """
    declared: dict[str, Declared] = {}
    found: dict[str, Declared] = {}
    for record in records:
        content = mapping(record.get("message")).get("content")
        for block in items(content):
            given = mapping(block.get("input"))
            kind = text_of(given.get("subagent_type"))
            if block.get("type") == "tool_use" and kind:
                about = text_of(given.get("description"))[:_MAX_ABOUT]
                declared[text_of(block.get("id"))] = Declared(kind, about)
            agent = text_of(mapping(record.get("toolUseResult")).get("agentId"))
            if agent and text_of(block.get("tool_use_id")) in declared:
                found[agent] = declared[text_of(block.get("tool_use_id"))]
        agent = text_of(mapping(record.get("data")).get("agentId"))
        if agent and (told := declared.get(text_of(record.get("parentToolUseID")))):
            found.setdefault(agent, told)
    return found


class ClaudeCodeReader(StateReader, state=_Session):
    """Reads Claude Code's ``<session>.jsonl`` and ``<session>/subagents/agent-*.jsonl``."""

    name: ClassVar[str] = "claude_code"
    agent: ClassVar[str] = AGENT
    verified: ClassVar[str] = "samples of 2026-08"
    files: ClassVar[Mapping[str, LineSource]] = JSON_LINES

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the folder of all projects; ``CLAUDE_CONFIG_DIR`` moves it."""
        return (named_place(environ, "CLAUDE_CONFIG_DIR", home / ".claude") / "projects",)

    def recognises(self, record: Record) -> bool:
        """Tell whether the record has a type of Claude Code's, with a session id or the like."""
        kind = text_of(record.get("type"))
        if kind == "file-history-snapshot":
            return "snapshot" in record
        if "systemPayload" in record or "parts" in mapping(record.get("message")):
            return False  # Qwen Code's, which has the same types
        return kind in _KNOWN and ("sessionId" in record or "leafUuid" in record)
