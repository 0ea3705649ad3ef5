"""Memories of an execution, drawn without any model: asked, done, solved, committed and said.

Each kind of memory is a function from an execution to drafts, listed in ``_KINDS`` or ``_SPOKEN``.
It cuts the ``Span`` it is about and puts together lines, most of which any span can render. How a
call or a file is named is in ``phrases``, what counts as a person's wish in ``statements``; nothing
here reads a file or the store. Keys and texts are stored: another wording is a new memory the next
time the same transcript is imported.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome, MemoryCategory
from synthorg_tui.executions.models import Execution, ToolCall, Turn, slug
from synthorg_tui.executions.outcomes import went_well
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.recoveries import RECOVERY_TAG, resolved_failures
from synthorg_tui.executions.requests import is_of_the_moment, is_trivial
from synthorg_tui.executions.titles import (
    MAX_TITLE,
    commit_of,
    commit_subjects,
    commit_title,
    part_titles,
    recovery_titles,
    seen_of,
    session_title,
    unused_title,
)
from synthorg_tui.ingest.extract import phrases
from synthorg_tui.ingest.extract.said import feedback, statements
from synthorg_tui.ingest.extract.settled import begins_subject, settled
from synthorg_tui.ingest.speech import is_memory_tool
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.filter import NON_INFERABLE_TAG
from synthorg_tui.memory.kinds import DECIDED
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

EXTRACTION = "4"
"""Another one than at a file's last import has the file read again, so that its memories get the
present texts. Raise it when texts change for the better; what a person edited stays as it is."""
MAX_CONTENT = 1_800
_MAX_DECIDED = 900
_MAX_DECIDED_AT_WORK = 450
"""Where there were calls, there is more to tell."""
_MIN_ANSWER = 80
_MIN_TASK_CALLS = 3
_ENDED = {
    ExecutionOutcome.FAILED: "It ended with an error.",
    ExecutionOutcome.INTERRUPTED: "The user interrupted it.",
}
_FINDERS = frozenset({"grep", "rg", "diff", "test", "which", "git diff", "git grep", "cmp"})
"""Programs whose exit code 1 only says that nothing was found, or that something differs."""
_TRIVIAL_FAILURE = re.compile(
    r"has not been read yet|modified since (?:it was )?(?:last )?read|String to replace not found"
    r"|Found \d+ matches of the string|No changes (?:to make|made)|InputValidationError"
    r"|File does not exist|Could not find the exact text",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """The part of an execution that one memory is about.

    ``lines`` are its first and last line number. ``requests`` are what was asked in it, ``answers``
    the texts of the agent. ``at`` is when it happened; ``None`` dates the memory by the execution.
    """

    execution: Execution
    lines: tuple[int, int]
    requests: tuple[Turn, ...] = ()
    answers: tuple[Turn, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    at: datetime | None = None

    @property
    def turns(self) -> list[Turn]:
        """What was asked and answered, in order."""
        return sorted((*self.requests, *self.answers), key=lambda turn: turn.first_line)

    @property
    def result(self) -> str:
        """The last answer that says how the span ended; empty when none does."""
        return phrases.conclusion([turn.text for turn in self.answers], _MIN_ANSWER)

    @property
    def commits(self) -> list[str]:
        """The subjects of the commits made in the span, each once."""
        return commit_subjects(self.calls)

    def draft(
        self,
        name: str,
        lines: Sequence[str],
        *,
        tags: tuple[str, ...],
        confidence: float,
        category: MemoryCategory = MemoryCategory.EPISODIC,
    ) -> MemoryDraft:
        """Return a memory of this span; lines that are empty or don't fit are left out.

        ``name`` identifies it among the memories of its session, so that importing again adds
        nothing. A name that begins with ``said:`` identifies it in all sessions of the agent.
        """
        execution = self.execution
        scope = "" if name.startswith("said:") else f"{execution.session_id}|"
        return MemoryDraft(
            request=MemoryStoreRequest(
                category=category,
                content=phrases.within(lines, MAX_CONTENT),
                metadata=MemoryMetadata(
                    source=str(execution.ref(*self.lines)),
                    confidence=confidence,
                    tags=tuple(filter(None, (*tags, *_origin_tags(execution, tags)))),
                ),
            ),
            key=f"{execution.agent_id}|{scope}{name}",
            created_at=self.at or execution.started_at,
            session_id=execution.session_id,
            project=execution.project,
        )


def _origin_tags(execution: Execution, tags: tuple[str, ...]) -> tuple[str, ...]:
    """Tags of every memory: that the code base doesn't tell it, the project and the branch."""
    known_to_git = "commit" in tags
    branch = f"branch:{slug(execution.branch)}" if execution.branch else ""
    return ("" if known_to_git else NON_INFERABLE_TAG, slug(execution.project_name), branch)


def extract(execution: Execution, *, reported: bool = False) -> tuple[MemoryDraft, ...]:
    """Return drafts of every memory worth storing, without two of the same key or content.

    When the agent itself ``reported`` the execution, nothing in it is taken as said by a person.
    """
    drafts: dict[str, MemoryDraft] = {}
    contents: set[str] = set()
    for kind in _KINDS if reported else (*_KINDS, *_SPOKEN):
        for draft in kind(execution):
            if draft.key and draft.key not in drafts and draft.request.content not in contents:
                drafts[draft.key] = draft
                contents.add(draft.request.content)
    return tuple(drafts.values())


def _session(execution: Execution) -> Iterator[MemoryDraft]:
    """One memory of the whole execution."""
    answers = tuple(turn for turn in execution.turns if turn.role == "assistant")
    requests = tuple(_requests(execution))
    worked = bool(execution.calls) or any(len(turn.text) >= _MIN_ANSWER for turn in answers)
    if not worked or not (requests or execution.task):
        return
    span = Span(execution, (1, execution.line_count), requests, answers, execution.calls)
    place = phrases.place(execution, "Worked in") or "Worked"
    ended = _ENDED.get(execution.outcome, "")
    files = list(execution.files_touched) or phrases.changed_files(execution.calls)
    yield span.draft(
        f"session:{execution.id}",
        [
            session_title(execution),
            f"{place}{phrases.duration(execution)}. {ended}".strip(),
            f"Asked: “{one_line(requests[0].text)}”" if requests else "",
            _result(span, 600),
            "" if len(_subjects(execution)) > 1 and not execution.calls else _decided(span),
            _further_requests(span),
            f"Error: {one_line(execution.error, 200)}" if execution.error else "",
            _commit_subjects(span),
            _changed(files, execution),
            _trouble(execution),
            _commands(span),
        ],
        tags=("session", "subagent" if execution.parent_id else "", *_tools(execution.calls)),
        confidence=0.9 if execution.outcome is ExecutionOutcome.COMPLETED else 0.8,
    )


def _tasks(execution: Execution) -> Iterator[MemoryDraft]:
    """A memory for each of several requests that led to something, or subjects talked about."""
    spans = _subjects(execution)
    if len(spans) < 2 or execution.line_count < 2:
        return
    used = {seen_of(session_title(execution))}
    for span in spans:
        request = span.requests[0]
        files = phrases.changed_files(span.calls)
        decided = "" if span.calls else _decided(span)
        if not (files or span.commits or decided or len(span.calls) >= _MIN_TASK_CALLS):
            continue
        if not decided and _says_nothing(span, files):
            continue
        titles = part_titles(execution, span.requests, span.answers, span.calls)
        title = unused_title(titles, used)
        used.add(seen_of(title))
        yield span.draft(
            f"task:{request.record_id or request.first_line}",
            [
                title,
                phrases.place_sentence(execution, "A task in"),
                f"Asked: “{one_line(request.text)}”",
                _result(span, 500),
                decided,
                _commit_subjects(span),
                _changed(files, execution),
                _commands(span),
            ],
            tags=("task", *_tools(span.calls)),
            confidence=0.85,
        )


def _says_nothing(span: Span, files: Sequence[str]) -> bool:
    """Whether nothing in it outlasts the moment, or its commit says more than it would."""
    asked = span.requests[0].text
    passes = is_trivial(asked) or is_of_the_moment(asked)
    if span.commits:
        return passes and len(span.result) < _MIN_ANSWER
    return not files and (passes or not span.result)


def _requests(execution: Execution) -> Iterator[Turn]:
    return (turn for turn in execution.turns if turn.role != "assistant")


def _task_spans(execution: Execution) -> list[Span]:
    """A request and everything up to the next one; a subagent has the one its parent gave it."""
    requests = list(_requests(execution))
    ends = [turn.first_line for turn in requests[1:]] + [execution.line_count + 1]
    return [
        Span(
            execution,
            (request.first_line, end - 1),
            (request,),
            tuple(
                turn
                for turn in execution.turns
                if turn.role == "assistant" and request.first_line <= turn.first_line < end
            ),
            tuple(call for call in execution.calls if request.first_line <= call.call_line < end),
            request.at,
        )
        for request, end in zip(requests, ends, strict=False)
    ]


def _subjects(execution: Execution) -> list[Span]:
    """The requests with what followed; those that were only talked about, joined by subject."""
    spans: list[Span] = []
    for span in _task_spans(execution):
        last = spans[-1] if spans else span
        if last is span or last.calls or span.calls or begins_subject(last.turns, span.turns):
            spans.append(span)
            continue
        spans[-1] = replace(
            last,
            lines=(last.lines[0], span.lines[1]),
            requests=(*last.requests, *span.requests),
            answers=(*last.answers, *span.answers),
        )
    return spans


def _decided(span: Span) -> str:
    """What was settled, a line each, a person's words first; how it ended is the result."""
    told = [each for each in settled(span.turns) if each.turn.text != span.result]
    told.sort(key=lambda each: not each.by_person)
    limit = _MAX_DECIDED_AT_WORK if span.calls else _MAX_DECIDED
    return phrases.within((DECIDED + each.text for each in told), limit)


def _further_requests(span: Span) -> str:
    texts = [f"“{one_line(turn.text, 80)}”" for turn in span.requests[1:7]]
    return f"Then: {', '.join(texts)}." if texts else ""


def _result(span: Span, limit: int) -> str:
    return f"Result: {phrases.paragraph(span.result, limit)}" if span.result else ""


def _commit_subjects(span: Span) -> str:
    return f"Commits: {'; '.join(span.commits)}." if span.commits else ""


def _changed(files: Sequence[str], execution: Execution) -> str:
    return f"Changed {phrases.file_list(files, execution)}." if files else ""


def _commands(span: Span) -> str:
    counts = phrases.command_counts(span.calls)
    return f"Ran {counts}." if counts else ""


def _trouble(execution: Execution) -> str:
    solved = {recovery.failed_call for recovery in execution.recoveries}
    notes = [
        f"{phrases.what(call, execution, 60)} ({'solved' if call.id in solved else 'not solved'})"
        for call in execution.failures[:8]
    ]
    notes += [
        f"{phrases.what(call, execution, 60)} (blocked by a hook)"
        for call in execution.calls
        if call.outcome is CallOutcome.BLOCKED_BY_HOOK
    ]
    return f"Failed: {'; '.join(dict.fromkeys(notes))}." if notes else ""


def _recoveries(execution: Execution) -> Iterator[MemoryDraft]:
    """One memory for each call that resolved one or more failures or refusals by a hook."""
    calls = execution.calls
    failures: dict[int, list[int]] = {}
    for position, later in resolved_failures(calls, _is_trouble):
        failures.setdefault(later, []).append(position)
    used: set[str] = set()
    for later, positions in failures.items():
        first, fix = calls[positions[0]], calls[later]
        span = Span(
            execution,
            (first.call_line, fix.last_line),
            calls=calls[positions[0] : later + 1],
            at=fix.at or first.at,
        )
        yield _recovery(span, [calls[position] for position in positions], used)


def _is_trouble(call: ToolCall) -> bool:
    """Whether the call failed or was blocked, over something that an agent may meet again."""
    return (
        call.outcome in {CallOutcome.FAILED, CallOutcome.BLOCKED_BY_HOOK}
        and not (call.exit_code == 1 and call.intent in _FINDERS)
        and not _TRIVIAL_FAILURE.search(call.output)
        and not is_memory_tool(call.tool, call.arguments)
    )


def _recovery(span: Span, failed: Sequence[ToolCall], used: set[str]) -> MemoryDraft:
    """The memory of ``failed`` calls, all resolved by the last call of the span.

    ``used`` are the titles that others have; this one's is added to them.
    """
    execution, first, fix = span.execution, failed[0], span.calls[-1]
    between = span.calls[1:-1]
    files = phrases.changed_files(between)
    steps = [
        phrases.what(call, execution, 80) for call in between if call.is_shell and went_well(call)
    ]
    remedy = phrases.remedy(execution, (first, fix), files, steps)
    title = unused_title(recovery_titles(first, remedy, len(failed)), used)
    used.add(seen_of(title))
    return span.draft(
        f"recovery:{first.id}",
        [
            title,
            *(_attempt(span, call) for call in failed[:5]),
            f"In between changed {phrases.file_list(files, execution)}." if files else "",
            f"In between ran {'; '.join(dict.fromkeys(steps[-4:]))}." if steps else "",
            f"Then worked: {phrases.what(fix, execution, 300)}",
            phrases.place_sentence(execution),
        ],
        tags=(
            RECOVERY_TAG,
            "hook" if first.outcome is CallOutcome.BLOCKED_BY_HOOK else "",
            _program(first),
            *_tools((first,)),
        ),
        confidence=0.9 if len(between) <= 20 else 0.75,
    )


def _attempt(span: Span, call: ToolCall) -> str:
    """What failed and what the agent made of it, in its own words."""
    code = f" (exit code {call.exit_code})" if call.exit_code else ""
    line = f"Failed: {phrases.what(call, span.execution, 200)}{code}: {phrases.reason(call)}"
    following = span.calls[span.calls.index(call) + 1]
    thought = next(
        (
            phrases.first_sentence(turn.text, 200)
            for turn in span.execution.turns
            if turn.role == "assistant" and call.last_line < turn.first_line <= following.call_line
        ),
        "",
    )
    return f"{line}. {thought}" if thought else line


def _program(call: ToolCall) -> str:
    return slug(call.intent.partition(" ")[0]) if call.is_shell else ""


def _tools(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """The names of the most used tools."""
    counts = Counter(call.tool for call in calls)
    ranked = sorted(counts, key=lambda tool: (-counts[tool], tool))
    return tuple(slug(tool) for tool in ranked[:5])


def _call_span(execution: Execution, call: ToolCall) -> Span:
    return Span(execution, (call.call_line, call.last_line), calls=(call,), at=call.at)


def _commits(execution: Execution) -> Iterator[MemoryDraft]:
    """A memory for each commit; one made again (after a rebase, say) is the same."""
    seen: set[str] = set()
    for call in execution.calls:
        commit = commit_of(call)
        if commit is None or commit[1] in seen:
            continue
        seen.add(commit[1])
        body = phrases.commit_body(call)
        if not body and len(commit[1]) <= MAX_TITLE:
            continue  # the memory of its session has the subject
        yield _call_span(execution, call).draft(
            f"commit:{call.id}",
            [
                commit_title(commit),
                f"Committed: {one_line(commit[1], 300)}" if len(commit[1]) > MAX_TITLE else "",
                body,
                phrases.place_sentence(execution, f"Commit {commit[0]} in"),
            ],
            tags=("commit", "git"),
            confidence=0.95,
        )


def _refusals(execution: Execution) -> Iterator[MemoryDraft]:
    """Calls that the person refused with a word why."""
    for call in execution.calls:
        if reason := feedback(call):
            name = phrases.what(call, execution, 120)
            yield _call_span(execution, call).draft(
                f"refused:{call.id}",
                [
                    f"The user refused {name}: “{one_line(reason, 300)}”",
                    phrases.place_sentence(execution),
                ],
                tags=("refused", *_tools((call,))),
                confidence=0.9,
            )


def _wishes(execution: Execution) -> Iterator[MemoryDraft]:
    """What the person wants remembered; a parent agent's task text is no person speaking."""
    for turn in execution.turns:
        if turn.role == "user":
            span = Span(execution, (turn.first_line, turn.last_line), at=turn.at)
            yield from _stated(span, turn.text)
    if execution.parent_id is None:
        for call in execution.calls:
            span = Span(execution, (call.last_line, call.last_line), at=call.at)
            yield from _stated(span, feedback(call))


def _stated(span: Span, text: str) -> Iterator[MemoryDraft]:
    for statement in statements(text):
        normal = re.sub(r"\W+", " ", statement.text.lower()).strip()
        digest = hashlib.sha256(f"{span.execution.project}\n{normal}".encode()).hexdigest()[:20]
        yield span.draft(
            f"said:{digest}",
            [statement.text],
            tags=("said", statement.kind),
            confidence=statement.confidence,
            category=MemoryCategory.SEMANTIC,
        )


_Kind = Callable[[Execution], Iterator[MemoryDraft]]
_KINDS: tuple[_Kind, ...] = (_session, _tasks, _recoveries, _commits)
"""In this order; of two drafts with the same content the first is stored."""
_SPOKEN: tuple[_Kind, ...] = (_refusals, _wishes)
"""Kinds in which a person speaks."""
