"""Memories of failures and refusals that were put right, with how."""

import re
from collections.abc import Iterator

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import SHELL_TOOLS, Execution, ToolCall
from synthorg_tui.executions.output_lines import headline, one_line
from synthorg_tui.executions.recoveries import Attempts, really_ok
from synthorg_tui.ingest.extract import phrases
from synthorg_tui.ingest.extract.drafts import MAX_CONTENT, draft, tools_of, where
from synthorg_tui.ingest.readers.base import slug
from synthorg_tui.ingest.speech import is_memory_tool
from synthorg_tui.memory.extensions import MemoryDraft

_TRIVIAL_FAILURE = re.compile(
    r"has not been read yet|modified since (?:it was )?(?:last )?read|String to replace not found"
    r"|Found \d+ matches of the string|No changes to make|InputValidationError|File does not exist",
    re.IGNORECASE,
)


def solved(execution: Execution) -> Iterator[MemoryDraft]:
    """One memory for each call that made good one or more failures or refusals by a hook."""
    groups: dict[int, list[int]] = {}
    attempts = Attempts(execution.calls)
    for position, call in enumerate(execution.calls):
        failed = call.outcome in {CallOutcome.FAILED, CallOutcome.BLOCKED_BY_HOOK}
        if failed and _worth_telling(call):
            later = attempts.resolving(position)
            if later is not None:
                groups.setdefault(later, []).append(position)
    for later, positions in groups.items():
        yield _recovery(execution, positions, later)


def _worth_telling(call: ToolCall) -> bool:
    return not _TRIVIAL_FAILURE.search(call.output) and not is_memory_tool(
        call.tool, call.arguments
    )


def _recovery(execution: Execution, positions: list[int], later: int) -> MemoryDraft:
    calls = execution.calls
    first, fix = calls[positions[0]], calls[later]
    between = calls[positions[0] + 1 : later]
    files = phrases.changed_files(between)
    steps = [
        phrases.what(call, execution, 80)
        for call in between
        if call.tool.lower() in SHELL_TOOLS and really_ok(call)
    ]
    fix_line = f"Then worked: {phrases.what(fix, execution, 300)}"
    content = phrases.sentences(
        [
            _recovery_title(execution, positions, fix, files, steps),
            *[_attempt(execution, calls[each], calls[each + 1]) for each in positions[:5]],
            f"In between changed {phrases.file_list(files, execution)}." if files else "",
            f"In between ran {'; '.join(dict.fromkeys(steps[-4:]))}." if steps else "",
            fix_line,
            where(execution),
        ],
        MAX_CONTENT,
    )
    blocked = first.outcome is CallOutcome.BLOCKED_BY_HOOK
    return draft(
        execution,
        f"recovery:{first.id}",
        content,
        lines=(first.call_line, fix.result_line or fix.call_line),
        tags=("recovery", "hook" if blocked else "", _program(first), *tools_of((first,))),
        confidence=0.9 if len(between) <= 20 else 0.75,
        at=fix.at or first.at,
    )


def _recovery_title(
    execution: Execution,
    positions: list[int],
    fix: ToolCall,
    files: list[str],
    steps: list[str],
) -> str:
    first = execution.calls[positions[0]]
    verb = "was blocked by a hook" if first.outcome is CallOutcome.BLOCKED_BY_HOOK else "failed"
    times = f" {len(positions)} times" if len(positions) > 1 else ""
    reason = headline(first.output)
    command = phrases.what(fix, execution, 80)
    change = phrases.differences(first, fix)
    if files:
        how = f"passed after changing {phrases.file_list(files, execution, 3)}"
    elif command != phrases.what(first, execution, 80):
        how = f"{command} worked"
    elif change or steps:
        how = f"worked {change or f'after {steps[-1]}'}"
    else:
        how = "worked later"
    return one_line(f"{first.intent} {verb}{times}: {reason} → {how}", 260)


def _attempt(execution: Execution, call: ToolCall, following: ToolCall) -> str:
    """What failed and what the agent made of it, in its own words."""
    code = f" (exit code {call.exit_code})" if call.exit_code else ""
    line = f"Failed: {phrases.what(call, execution, 200)}{code}: {phrases.reason(call)}"
    start = call.result_line or call.call_line
    thought = next(
        (
            phrases.first_sentence(turn.text, 200)
            for turn in execution.turns
            if turn.role == "assistant" and start < turn.first_line <= following.call_line
        ),
        "",
    )
    return f"{line}. {thought}" if thought else line


def _program(call: ToolCall) -> str:
    return slug(call.intent.partition(" ")[0]) if call.tool.lower() in SHELL_TOOLS else ""
