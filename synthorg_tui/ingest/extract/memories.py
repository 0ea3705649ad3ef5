"""Memories of an execution, without any model: what was asked, done, solved, committed and said."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome, MemoryCategory
from synthorg_tui.executions.models import SHELL_TOOLS, Execution, ToolCall, Turn
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.ingest.extract import phrases
from synthorg_tui.ingest.extract.drafts import MAX_CONTENT, draft, tools_of, where
from synthorg_tui.ingest.extract.solved import solved
from synthorg_tui.ingest.extract.statements import statements
from synthorg_tui.memory.extensions import MemoryDraft

_MIN_ANSWER = 80
_MIN_TASK_CALLS = 3
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


def extract(execution: Execution, *, reported: bool = False) -> tuple[MemoryDraft, ...]:
    """Drafts of every memory worth keeping, without two of the same key or content.

    In an execution that its agent ``reported`` no person speaks, whatever it claims was said.
    """
    drafts: dict[str, MemoryDraft] = {}
    contents: set[str] = set()
    for found in _all(execution, reported=reported):
        if found.key and found.key not in drafts and found.request.content not in contents:
            drafts[found.key] = found
            contents.add(found.request.content)
    return tuple(drafts.values())


def _all(execution: Execution, *, reported: bool) -> Iterator[MemoryDraft]:
    spans = _spans(execution)
    if (session := _session(execution, spans)) is not None:
        yield session
    if len(spans) > 1 and execution.line_count > 1:
        for span in spans:
            if (task := _task(execution, span)) is not None:
                yield task
    yield from solved(execution)
    yield from _commits(execution)
    if not reported:
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
    title = one_line(execution.task or phrases.first_sentence(answers[-1]))
    result = phrases.conclusion(answers, _MIN_ANSWER)
    others = [f"“{one_line(span.request.text, 80)}”" for span in spans[1:7]]
    commits = [found[1] for call in execution.calls if (found := phrases.commit_of(call))]
    files = list(execution.files_touched) or phrases.changed_files(execution.calls)
    content = phrases.sentences(
        [
            title,
            f"{phrases.place(execution, 'Worked in') or 'Worked'}{_duration(execution)}. "
            f"{_HAPPENED.get(execution.outcome, '')}".strip(),
            f"Also asked: {', '.join(others)}." if others else "",
            f"Error: {one_line(execution.error, 200)}" if execution.error else "",
            f"Result: {phrases.paragraph(result, 600)}" if result else "",
            f"Commits: {'; '.join(dict.fromkeys(commits))}." if commits else "",
            f"Changed {phrases.file_list(files, execution)}." if files else "",
            _trouble(execution),
            f"Ran {phrases.command_counts(execution.calls)}." if execution.commands else "",
        ],
        MAX_CONTENT,
    )
    last = max(execution.line_count, 1)
    return draft(
        execution,
        f"session:{execution.id}",
        content,
        lines=(1, last),
        tags=("session", "subagent" if execution.parent_id else "", *tools_of(execution.calls)),
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
        notes.append(f"{phrases.what(call, execution, 60)} ({state})")
    for call in execution.calls:
        if call.outcome is CallOutcome.BLOCKED_BY_HOOK:
            notes.append(f"{phrases.what(call, execution, 60)} (blocked by a hook)")
    return f"Failed: {'; '.join(dict.fromkeys(notes))}." if notes else ""


def _task(execution: Execution, span: _Span) -> MemoryDraft | None:
    files, commits = (
        phrases.changed_files(span.calls),
        [found[1] for call in span.calls if (found := phrases.commit_of(call))],
    )
    if not (files or commits or len(span.calls) >= _MIN_TASK_CALLS):
        return None
    result = phrases.conclusion([turn.text for turn in span.answers], _MIN_ANSWER)
    title = one_line(span.request.text, 100)
    if len(title.split()) < 5 and (commits or result):
        title = f"{title} → {commits[0] if commits else phrases.first_sentence(result, 90)}"
    content = phrases.sentences(
        [
            title,
            where(execution, "A task in"),
            f"Result: {phrases.paragraph(result, 500)}" if result else "",
            f"Commits: {'; '.join(dict.fromkeys(commits))}." if commits else "",
            f"Changed {phrases.file_list(files, execution)}." if files else "",
            f"Ran {phrases.command_counts(span.calls)}."
            if any(call.tool.lower() in SHELL_TOOLS for call in span.calls)
            else "",
        ],
        MAX_CONTENT,
    )
    return draft(
        execution,
        f"task:{span.request.record_id or span.request.first_line}",
        content,
        lines=(span.request.first_line, span.last_line),
        tags=("task", *tools_of(span.calls)),
        confidence=0.85,
        at=span.request.at,
    )


def _commits(execution: Execution) -> Iterator[MemoryDraft]:
    seen: set[str] = set()
    for call in execution.calls:
        commit = phrases.commit_of(call)
        if commit is None or commit[1] in seen:
            continue
        seen.add(commit[1])
        content = phrases.sentences(
            [
                one_line(f"Committed: {commit[1]}", 200),
                phrases.commit_body(call),
                where(execution, f"Commit {commit[0]} in"),
            ],
            MAX_CONTENT,
        )
        yield draft(
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
        said = one_line(feedback, 300)
        name = phrases.what(call, execution, 120)
        yield draft(
            execution,
            f"refused:{call.id}",
            f"The user refused {name}: “{said}”\n{where(execution)}".strip(),
            lines=(call.call_line, call.result_line or call.call_line),
            tags=("refused", *tools_of((call,))),
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
        yield draft(
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
