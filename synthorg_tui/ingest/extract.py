"""Memories of an execution, without any model: what was asked, done, solved, committed and said."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome, MemoryCategory
from synthorg_tui.core.execution import SHELL_TOOLS, Execution, ToolCall, Turn
from synthorg_tui.ingest import narrate
from synthorg_tui.ingest.readers.base import slug
from synthorg_tui.ingest.recoveries import Attempts, really_ok
from synthorg_tui.ingest.speech import is_memory_tool
from synthorg_tui.ingest.statements import statements
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

NON_INFERABLE = "non-inferable"
"""Tag of what an agent can't find out by reading the code base or its version history."""
MAX_CONTENT = 1_800
_MIN_ANSWER = 80
_MIN_TASK_CALLS = 3
_TRIVIAL_FAILURE = re.compile(
    r"has not been read yet|modified since (?:it was )?(?:last )?read|String to replace not found"
    r"|Found \d+ matches of the string|No changes to make|InputValidationError|File does not exist",
    re.IGNORECASE,
)
_FEEDBACK = re.compile(r"the user said:\s*(.+)", re.DOTALL | re.IGNORECASE)
_HAPPENED = {
    ExecutionOutcome.COMPLETED: "It ended normally.",
    ExecutionOutcome.FAILED: "It ended with an error.",
    ExecutionOutcome.INTERRUPTED: "The user interrupted it.",
}


@dataclass(frozen=True, slots=True)
class _Span:
    """A request and everything up to the next one."""

    request: Turn
    answers: tuple[Turn, ...]
    calls: tuple[ToolCall, ...]
    last_line: int


def extract(execution: Execution) -> tuple[MemoryDraft, ...]:
    """Drafts of every memory worth keeping, without two of the same key or content."""
    drafts: dict[str, MemoryDraft] = {}
    contents: set[str] = set()
    for draft in _all(execution):
        if draft.key and draft.key not in drafts and draft.request.content not in contents:
            drafts[draft.key] = draft
            contents.add(draft.request.content)
    return tuple(drafts.values())


def _all(execution: Execution) -> Iterator[MemoryDraft]:
    spans = _spans(execution)
    if (session := _session(execution, spans)) is not None:
        yield session
    if len(spans) > 1 and execution.line_count > 1:
        for span in spans:
            if (task := _task(execution, span)) is not None:
                yield task
    yield from _solved(execution)
    yield from _commits(execution)
    yield from _refusals(execution)
    yield from _said(execution)


def _spans(execution: Execution) -> list[_Span]:
    """One span for each request; a subagent has the one its parent gave it."""
    requests = [turn for turn in execution.turns if turn.role != "assistant"]
    ends = [turn.first_line for turn in requests[1:]] + [execution.line_count + 1]
    spans = []
    for turn, end in zip(requests, ends, strict=False):
        spans.append(
            _Span(
                request=turn,
                answers=tuple(
                    each
                    for each in execution.turns
                    if each.role == "assistant" and turn.first_line <= each.first_line < end
                ),
                calls=tuple(
                    call for call in execution.calls if turn.first_line <= call.call_line < end
                ),
                last_line=max(turn.first_line, end - 1),
            )
        )
    return spans


def _session(execution: Execution, spans: list[_Span]) -> MemoryDraft | None:
    answers = [turn.text for turn in execution.turns if turn.role == "assistant"]
    worked = bool(execution.calls) or any(len(text) >= _MIN_ANSWER for text in answers)
    if not worked or not (spans or execution.task):
        return None
    title = narrate.one_line(execution.task or narrate.first_sentence(answers[-1]))
    result = narrate.conclusion(answers, _MIN_ANSWER)
    others = [f"“{narrate.one_line(span.request.text, 80)}”" for span in spans[1:7]]
    commits = [found[1] for call in execution.calls if (found := narrate.commit_of(call))]
    files = list(execution.files_touched) or narrate.changed_files(execution.calls)
    content = narrate.sentences(
        [
            title,
            f"{narrate.place(execution, 'Worked in') or 'Worked'}{_duration(execution)}. "
            f"{_HAPPENED.get(execution.outcome, '')}".strip(),
            f"Also asked: {', '.join(others)}." if others else "",
            f"Error: {narrate.one_line(execution.error, 200)}" if execution.error else "",
            f"Result: {narrate.paragraph(result, 600)}" if result else "",
            f"Commits: {'; '.join(dict.fromkeys(commits))}." if commits else "",
            f"Changed {narrate.file_list(files, execution)}." if files else "",
            _trouble(execution),
            f"Ran {narrate.command_counts(execution.calls)}." if execution.commands else "",
        ],
        MAX_CONTENT,
    )
    last = max(execution.line_count, 1)
    return _draft(
        execution,
        f"session:{execution.id}",
        content,
        lines=(1, last),
        tags=("session", "subagent" if execution.parent_id else "", *_tools(execution.calls)),
        confidence=0.9 if execution.outcome is ExecutionOutcome.COMPLETED else 0.8,
        at=execution.started_at,
    )


def _duration(execution: Execution) -> str:
    if execution.started_at is None or execution.ended_at is None:
        return ""
    minutes = round((execution.ended_at - execution.started_at).total_seconds() / 60)
    day = f"{execution.started_at:%Y-%m-%d}"
    return f" on {day} for {minutes} min" if minutes else f" on {day}"


def _trouble(execution: Execution) -> str:
    solved = {recovery.failed_call for recovery in execution.recoveries}
    notes = []
    for call in execution.failures[:8]:
        state = "solved" if call.id in solved else "not solved"
        notes.append(f"{narrate.what(call, execution, 60)} ({state})")
    for call in execution.calls:
        if call.outcome is CallOutcome.BLOCKED_BY_HOOK:
            notes.append(f"{narrate.what(call, execution, 60)} (blocked by a hook)")
    return f"Failed: {'; '.join(dict.fromkeys(notes))}." if notes else ""


def _task(execution: Execution, span: _Span) -> MemoryDraft | None:
    files, commits = (
        narrate.changed_files(span.calls),
        [found[1] for call in span.calls if (found := narrate.commit_of(call))],
    )
    if not (files or commits or len(span.calls) >= _MIN_TASK_CALLS):
        return None
    result = narrate.conclusion([turn.text for turn in span.answers], _MIN_ANSWER)
    title = narrate.one_line(span.request.text, 100)
    if len(title.split()) < 5 and (commits or result):
        title = f"{title} → {commits[0] if commits else narrate.first_sentence(result, 90)}"
    content = narrate.sentences(
        [
            title,
            _where(execution, "A task in"),
            f"Result: {narrate.paragraph(result, 500)}" if result else "",
            f"Commits: {'; '.join(dict.fromkeys(commits))}." if commits else "",
            f"Changed {narrate.file_list(files, execution)}." if files else "",
            f"Ran {narrate.command_counts(span.calls)}."
            if any(call.tool.lower() in SHELL_TOOLS for call in span.calls)
            else "",
        ],
        MAX_CONTENT,
    )
    return _draft(
        execution,
        f"task:{span.request.record_id or span.request.first_line}",
        content,
        lines=(span.request.first_line, span.last_line),
        tags=("task", *_tools(span.calls)),
        confidence=0.85,
        at=span.request.at,
    )


def _solved(execution: Execution) -> Iterator[MemoryDraft]:
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
    files = narrate.changed_files(between)
    steps = [
        narrate.what(call, execution, 80)
        for call in between
        if call.tool.lower() in SHELL_TOOLS and really_ok(call)
    ]
    fix_line = f"Then worked: {narrate.what(fix, execution, 300)}"
    content = narrate.sentences(
        [
            _recovery_title(execution, positions, fix, files, steps),
            *[_attempt(execution, calls[each], calls[each + 1]) for each in positions[:5]],
            f"In between changed {narrate.file_list(files, execution)}." if files else "",
            f"In between ran {'; '.join(dict.fromkeys(steps[-4:]))}." if steps else "",
            fix_line,
            _where(execution),
        ],
        MAX_CONTENT,
    )
    blocked = first.outcome is CallOutcome.BLOCKED_BY_HOOK
    return _draft(
        execution,
        f"recovery:{first.id}",
        content,
        lines=(first.call_line, fix.result_line or fix.call_line),
        tags=("recovery", "hook" if blocked else "", _program(first), *_tools((first,))),
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
    reason = narrate.headline(first.output)
    command = narrate.what(fix, execution, 80)
    change = narrate.differences(first, fix)
    if files:
        how = f"passed after changing {narrate.file_list(files, execution, 3)}"
    elif command != narrate.what(first, execution, 80):
        how = f"{command} worked"
    elif change or steps:
        how = f"worked {change or f'after {steps[-1]}'}"
    else:
        how = "worked later"
    return narrate.one_line(f"{first.intent} {verb}{times}: {reason} → {how}", 260)


def _attempt(execution: Execution, call: ToolCall, following: ToolCall) -> str:
    """What failed and what the agent made of it, in its own words."""
    code = f" (exit code {call.exit_code})" if call.exit_code else ""
    line = f"Failed: {narrate.what(call, execution, 200)}{code}: {narrate.reason(call)}"
    start = call.result_line or call.call_line
    thought = next(
        (
            narrate.first_sentence(turn.text, 200)
            for turn in execution.turns
            if turn.role == "assistant" and start < turn.first_line <= following.call_line
        ),
        "",
    )
    return f"{line}. {thought}" if thought else line


def _where(execution: Execution, before: str = "In") -> str:
    place = narrate.place(execution, before)
    return f"{place}." if place else ""


def _program(call: ToolCall) -> str:
    return slug(call.intent.partition(" ")[0]) if call.tool.lower() in SHELL_TOOLS else ""


def _commits(execution: Execution) -> Iterator[MemoryDraft]:
    seen: set[str] = set()
    for call in execution.calls:
        commit = narrate.commit_of(call)
        if commit is None or commit[1] in seen:
            continue
        seen.add(commit[1])
        content = narrate.sentences(
            [
                narrate.one_line(f"Committed: {commit[1]}", 200),
                narrate.commit_body(call),
                _where(execution, f"Commit {commit[0]} in"),
            ],
            MAX_CONTENT,
        )
        yield _draft(
            execution,
            f"commit:{call.id}",
            content,
            lines=(call.call_line, call.result_line or call.call_line),
            tags=("commit", "git"),
            confidence=0.95,
            at=call.at,
        )


def _refusals(execution: Execution) -> Iterator[MemoryDraft]:
    """Calls the person refused with a word why."""
    for call in execution.calls:
        feedback = _feedback(call)
        if not feedback:
            continue
        said = narrate.one_line(feedback, 300)
        name = narrate.what(call, execution, 120)
        yield _draft(
            execution,
            f"refused:{call.id}",
            f"The user refused {name}: “{said}”\n{_where(execution)}".strip(),
            lines=(call.call_line, call.result_line or call.call_line),
            tags=("refused", *_tools((call,))),
            confidence=0.9,
            at=call.at,
        )


def _said(execution: Execution) -> Iterator[MemoryDraft]:
    """What the person said to keep; a parent agent's task text is no person speaking."""
    for turn in execution.turns:
        if turn.role == "user":
            yield from _stated(execution, turn.text, (turn.first_line, turn.last_line), turn.at)
    for call in execution.calls:
        feedback = _feedback(call)
        if feedback and execution.parent_id is None:
            line = call.result_line or call.call_line
            yield from _stated(execution, feedback, (line, line), call.at)


def _stated(
    execution: Execution, text: str, lines: tuple[int, int], at: datetime | None
) -> Iterator[MemoryDraft]:
    for statement in statements(text):
        normal = re.sub(r"\W+", " ", statement.text.lower()).strip()
        digest = hashlib.sha256(f"{execution.project}\n{normal}".encode()).hexdigest()[:20]
        yield _draft(
            execution,
            f"said:{digest}",
            statement.text,
            lines=lines,
            tags=("said", statement.kind),
            confidence=statement.confidence,
            at=at,
            category=MemoryCategory.SEMANTIC,
        )


def _feedback(call: ToolCall) -> str:
    """What the person said when refusing the call."""
    if call.outcome is not CallOutcome.DENIED_BY_USER:
        return ""
    match = _FEEDBACK.search(call.output)
    return match[1].strip() if match else ""


def _tools(calls: tuple[ToolCall, ...]) -> tuple[str, ...]:
    """The names of the most used tools."""
    counts: dict[str, int] = {}
    for call in calls:
        counts[call.tool] = counts.get(call.tool, 0) + 1
    ranked = sorted(counts, key=lambda tool: (-counts[tool], tool))
    return tuple(slug(tool) for tool in ranked[:5])


def _draft(
    execution: Execution,
    name: str,
    content: str,
    *,
    lines: tuple[int, int],
    tags: tuple[str, ...],
    confidence: float,
    at: datetime | None,
    category: MemoryCategory = MemoryCategory.EPISODIC,
) -> MemoryDraft:
    branch = f"branch:{slug(execution.branch)}" if execution.branch else ""
    known_to_git = "commit" in tags
    every = (
        *tags,
        "" if known_to_git else NON_INFERABLE,
        slug(narrate.project_name(execution)),
        branch,
    )
    first, last = lines
    scope = "" if name.startswith("said:") else f"{execution.session_id}|"
    return MemoryDraft(
        request=MemoryStoreRequest(
            category=category,
            content=content,
            metadata=MemoryMetadata(
                source=str(execution.ref(first, max(first, last))),
                confidence=confidence,
                tags=tuple(tag for tag in every if tag),
            ),
        ),
        key=f"{execution.agent_id}|{scope}{name}",
        created_at=at or execution.started_at,
        session_id=execution.session_id,
        project=execution.project,
    )
