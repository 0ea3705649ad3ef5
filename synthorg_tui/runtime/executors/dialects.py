"""How Claude Code, Codex and OpenCode tell what they do when they are started without a screen.

Each writes a JSON record a line. A reader takes one record and tells ``ClientSteps`` what it says;
it returns whether it knew the record. Records are a stranger's: nothing here trusts a type.
"""

import json
import shlex
from typing import Any, Final

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.ingest.readers import DESCRIBED
from synthorg_tui.ingest.readers.base import (
    PendingCall,
    count_of,
    items,
    session_name,
    text_of,
)
from synthorg_tui.ingest.readers.claude_code import result_of
from synthorg_tui.ingest.readers.described import outcome_of
from synthorg_tui.ingest.records import Record, mapping
from synthorg_tui.runtime.executors.stream import ClientSteps

_CLAUDE_SILENT: Final = frozenset(
    {
        "system",
        "stream_event",
        "rate_limit_event",
        "tool_progress",
        "tool_use_summary",
        "auth_status",
        "prompt_suggestion",
        "keep_alive",
    }
)
_CLAUDE_ENDS: Final = {
    "success": TerminationReason.COMPLETED,
    "error_max_turns": TerminationReason.MAX_TURNS,
    "error_max_budget_usd": TerminationReason.BUDGET_EXHAUSTED,
}
_CLAUDE_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CODEX_SILENT: Final = frozenset({"turn.started", "item.updated"})
_CODEX_SILENT_ITEMS: Final = frozenset({"reasoning", "todo_list"})
_CODEX_NO_ARGUMENTS: Final = frozenset({"id", "type", "status", "aggregated_output", "exit_code"})
_OPENCODE_SILENT: Final = frozenset({"reasoning"})


def claude_record(record: Record, steps: ClientSteps) -> bool:
    """Read a record of ``claude --print --output-format stream-json --verbose``."""
    kind = text_of(record.get("type"))
    if kind == "system" and record.get("subtype") == "init":
        steps.session = steps.session or session_name(record.get("session_id"))
        steps.model = steps.model or text_of(record.get("model"))[:200]
    elif kind == "assistant":
        _claude_answer(record, steps)
    elif kind == "user":
        for block in items(mapping(record.get("message")).get("content")):
            if block.get("type") == "tool_result":
                _claude_result(record, block, steps)
    elif kind == "result":
        _claude_end(record, steps)
    return kind in _CLAUDE_SILENT | {"assistant", "user", "result"}


def _claude_answer(record: Record, steps: ClientSteps) -> None:
    """An answer; one of a subagent counts as a call's work, of which only its calls are shown."""
    message = mapping(record.get("message"))
    identity, own = text_of(message.get("id")), record.get("parent_tool_use_id") is None
    for block in items(message.get("content")):
        if own and block.get("type") in {"text", "tool_use"}:
            steps.answer(identity, text_of(block.get("text")))
        if block.get("type") == "tool_use":
            name = text_of(block.get("name"))
            steps.call(text_of(block.get("id")), name, mapping(block.get("input")))
    usage = mapping(message.get("usage"))
    prompt = sum(count_of(usage.get(name)) for name in _CLAUDE_READ)
    steps.used(identity, prompt, count_of(usage.get("output_tokens")))


def _claude_result(record: Record, block: Record, steps: ClientSteps) -> None:
    content = block.get("content")
    texts = [text_of(part.get("text")) for part in items(content)]
    output = content if isinstance(content, str) else "\n".join(texts)
    identity = text_of(block.get("tool_use_id"))
    call = PendingCall.started(identity, steps.tool_of(identity), {}, line=1, at=None)
    told = {"toolUseResult": record.get("tool_use_result")}
    steps.result(identity, output, *result_of(call, block, told, output))


def _claude_end(record: Record, steps: ClientSteps) -> None:
    usage, cost = mapping(record.get("usage")), record.get("total_cost_usd")
    steps.settle(
        sum(count_of(usage.get(name)) for name in _CLAUDE_READ),
        count_of(usage.get("output_tokens")),
        _amount(cost),
    )
    subtype, failed = text_of(record.get("subtype")), record.get("is_error") is True
    reason = _CLAUDE_ENDS.get(subtype, TerminationReason.ERROR)
    errors = record.get("errors")
    listed = [text_of(each) for each in errors] if isinstance(errors, list) else []
    told = text_of(record.get("result")) if failed else ""
    if failed and reason is TerminationReason.COMPLETED:
        reason = TerminationReason.ERROR
    steps.ended(reason, told or "; ".join(filter(None, listed)) or ("" if not failed else subtype))


def codex_record(record: Record, steps: ClientSteps) -> bool:
    """Read a record of ``codex exec --json``."""
    kind, item = text_of(record.get("type")), mapping(record.get("item"))
    if kind == "thread.started":
        steps.session = steps.session or session_name(record.get("thread_id"))
    elif kind == "item.started":
        return _codex_item(item, steps, complete=False)
    elif kind == "item.completed":
        return _codex_item(item, steps, complete=True)
    elif kind == "turn.completed":
        usage = mapping(record.get("usage"))
        prompt, completion = usage.get("input_tokens"), usage.get("output_tokens")
        steps.settle(count_of(prompt), count_of(completion), 0.0)
        steps.ended(TerminationReason.COMPLETED)
    elif kind == "turn.failed":
        steps.ended(TerminationReason.ERROR, text_of(mapping(record.get("error")).get("message")))
    elif kind == "error":
        steps.note(text_of(record.get("message")) or "an error without words")
    else:
        return kind in _CODEX_SILENT
    return True


def _codex_item(item: Record, steps: ClientSteps, *, complete: bool) -> bool:
    """An item: a message, an error, or a call, which is told when it starts and when it ends."""
    kind, identity = text_of(item.get("type")), text_of(item.get("id"))
    if kind in _CODEX_SILENT_ITEMS or not kind:
        return bool(kind)
    if kind == "agent_message":
        if complete:
            steps.answer(identity, text_of(item.get("text")))
    elif kind == "error":
        steps.note(text_of(item.get("message")) or "an error without words")
    else:
        if not steps.tool_of(identity):
            steps.answer(identity)
            steps.call(identity, *_codex_call(kind, item))
        if complete:
            steps.result(identity, _codex_output(item), *_codex_outcome(item))
    return True


def _codex_call(kind: str, item: Record) -> tuple[str, dict[str, Any]]:
    if kind == "command_execution":
        return "shell", {"command": _unwrapped(text_of(item.get("command")))}
    if kind == "mcp_tool_call":
        server, tool = text_of(item.get("server")), text_of(item.get("tool"))
        return f"mcp__{server}__{tool}", mapping(item.get("arguments"))
    name = "apply_patch" if kind == "file_change" else kind
    return name, {key: each for key, each in item.items() if key not in _CODEX_NO_ARGUMENTS}


def _unwrapped(command: str) -> str:
    """The command without the shell that it is handed to."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] in {"-lc", "-c"} else command


def _codex_output(item: Record) -> str:
    output = text_of(item.get("aggregated_output"))
    if output or item.get("type") == "command_execution":
        return output
    told = item.get("error") or item.get("result")
    return told if isinstance(told, str) else json.dumps(told) if told is not None else ""


def _codex_outcome(item: Record) -> tuple[CallOutcome, int | None]:
    told, status = item.get("exit_code"), text_of(item.get("status"))
    code = told if isinstance(told, int) and not isinstance(told, bool) else None
    if status == "declined":
        return CallOutcome.DENIED_BY_USER, None
    if status == "failed" or code or item.get("error"):
        return CallOutcome.FAILED, code
    return CallOutcome.OK, code


def opencode_record(record: Record, steps: ClientSteps) -> bool:
    """Read a record of ``opencode run --format json``."""
    kind, part = text_of(record.get("type")), mapping(record.get("part"))
    steps.session = steps.session or session_name(record.get("sessionID"))
    identity = text_of(part.get("messageID"))
    if kind == "step_start":
        steps.answer(identity)
    elif kind == "text":
        steps.answer(identity, text_of(part.get("text")))
    elif kind == "tool_use":
        _opencode_call(part, steps)
    elif kind == "step_finish":
        tokens = mapping(part.get("tokens"))
        cache = mapping(tokens.get("cache"))
        read = (tokens.get("input"), cache.get("read"), cache.get("write"))
        written, cost = count_of(tokens.get("output")), _amount(part.get("cost"))
        steps.used(identity, sum(map(count_of, read)), written, cost)
        steps.ended(TerminationReason.COMPLETED)
    elif kind == "error":
        error = mapping(record.get("error"))
        told = text_of(mapping(error.get("data")).get("message")) or text_of(error.get("name"))
        steps.ended(TerminationReason.ERROR, told)
    else:
        return kind in _OPENCODE_SILENT
    return True


def _opencode_call(part: Record, steps: ClientSteps) -> None:
    tool, state = text_of(part.get("tool")), mapping(part.get("state"))
    identity = text_of(part.get("callID"))
    steps.call(identity, tool, mapping(state.get("input")))
    output = text_of(state.get("output")) or text_of(state.get("error"))
    ended = outcome_of(DESCRIBED["opencode"].description.blocks, tool, part, output)
    steps.result(identity, output, *ended)


def _amount(value: object) -> float:
    """A cost; whatever isn't a sum of money is none."""
    is_sum = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return float(value) if is_sum and isinstance(value, int | float) else 0.0
