"""A stored session as a conversation that a person reads: who said what, and one line a call.

Made of the record alone, so that a session of a hundred thousand lines is shown without unpacking
them. The lines are asked for when an entry is unfolded: ``body_ref`` says which, ``full_body``
makes of them what is shown. Every text in an entry is safe to print.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.executions.output_lines import headline, one_line, without_codes

if TYPE_CHECKING:
    from synthorg_tui.executions.models import Execution, ToolCall, Turn

_HEAD: Final = 300
"""Characters of the one line that stands for an entry."""
_KEY: Final = 200
"""Characters by which a shortened text is found again in its line."""
_TASK: Final = 80
"""Characters of a task by which the call that gave it is found."""
_CUT: Final = "… [cut] …"
_OUTCOMES: Final = {
    CallOutcome.DENIED_BY_USER: "denied",
    CallOutcome.BLOCKED_BY_HOOK: "blocked",
    CallOutcome.CANCELLED_WITH_SIBLING: "cancelled",
}


class EntryKind(StrEnum):
    """Who an entry is of: a person, the agent, the agent that started this one, a call, or none."""

    SAID = "said"
    ANSWERED = "answered"
    ASKED = "asked"
    CALL = "call"
    FOLDED = "folded"


_ROLES: Final = {
    "user": EntryKind.SAID,
    "assistant": EntryKind.ANSWERED,
    "parent": EntryKind.ASKED,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a conversation.

    ``first_line`` and ``last_line`` are lines of the transcript, 1-based and inclusive; those of
    calls that ran at once overlap, and include the hooks that ran with a call. ``head`` is one
    line; ``body`` is what was said, or the output of a call as far as the record has it. The rest
    is of calls: ``asked`` are their arguments, ``headline`` is the line of a failure that tells
    most, ``part`` the session that the call started. A folded entry stands for ``count`` lines.
    """

    kind: EntryKind
    first_line: int
    last_line: int
    head: str
    body: str = ""
    outcome: CallOutcome | None = None
    exit_code: int | None = None
    headline: str = ""
    asked: str = ""
    part: str = ""
    at: datetime | None = None
    count: int = 1

    @property
    def told(self) -> str:
        """The outcome of a call in words: ``failed, exit code 128: no upstream branch``."""
        if self.outcome is None:
            return ""
        code = "" if self.exit_code in (None, 0) else f", exit code {self.exit_code}"
        why = f": {self.headline}" if self.headline else ""
        return f"{_OUTCOMES.get(self.outcome, self.outcome.value)}{code}{why}"

    @property
    def is_cut(self) -> bool:
        """Whether ``body`` isn't the whole text, so that it takes the lines to have it."""
        return self.kind is EntryKind.FOLDED or _CUT in self.body

    @property
    def body_ref(self) -> tuple[int, int]:
        """The lines to hand to ``full_body``: of a call those of its result."""
        return (self.last_line if self.kind is EntryKind.CALL else self.first_line), self.last_line

    def full_body(self, lines: Iterable[tuple[int, str]]) -> str:
        """Return the whole text of this entry, out of the stored lines that ``body_ref`` names.

        Of folded lines it is the lines themselves. What the lines don't have (an erased result, or
        one that isn't repeated to people) is as in ``body``.
        """
        if self.kind is EntryKind.FOLDED:
            return "\n".join(safe_text(text) for _, text in lines)
        if _CUT not in self.body:
            return self.body
        key = self.body.partition(_CUT)[0].strip()[:_KEY]
        texts = (text for _, line in lines for text in map(_printed, _strings(line)))
        return max([self.body, *(text for text in texts if key in text)], key=len)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The entries of a session in the order of its lines; each of its lines is in one of them."""

    session_id: str
    line_count: int
    entries: tuple[Entry, ...]

    def entry_at(self, line: int) -> int:
        """Return the index of the entry that this line is in, or of the nearest one before it."""
        after = bisect_right(self.entries, line, key=attrgetter("first_line"))
        before = [(index, self.entries[index]) for index in range(after - 1, -1, -1)]
        ending = (i for i, each in before if line in (each.first_line, each.last_line))
        around = [i for i, each in before if line < each.last_line]
        folded = (i for i in around if self.entries[i].kind is EntryKind.FOLDED)
        return next(ending, next(folded, next(iter(around), max(0, after - 1))))


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A session that an agent started, as far as it takes to find the call that started it."""

    id: str
    task: str


def conversation_of(execution: "Execution", parts: Sequence[StartedSession] = ()) -> Conversation:
    """Return a stored session as a conversation; ``parts`` are the sessions that it started."""
    entries = [_turn_entry(turn) for turn in execution.turns]
    entries += [_call_entry(execution, call, parts) for call in execution.calls]
    entries.sort(key=attrgetter("first_line"))
    folded = tuple(_with_folded(entries, execution.line_count))
    return Conversation(execution.id, execution.line_count, folded)


def _turn_entry(turn: "Turn") -> Entry:
    return Entry(
        kind=_ROLES.get(turn.role, EntryKind.ANSWERED),
        first_line=turn.first_line,
        last_line=max(turn.first_line, turn.last_line),
        head=safe_text(one_line(turn.text, _HEAD)),
        body=_printed(turn.text),
        at=turn.at,
    )


def _call_entry(execution: "Execution", call: "ToolCall", parts: Sequence[StartedSession]) -> Entry:
    failed = call.outcome is CallOutcome.FAILED
    return Entry(
        kind=EntryKind.CALL,
        first_line=call.call_line,
        last_line=max(call.call_line, call.last_line),
        head=safe_text(one_line(f"{call.tool} {execution.relative(_subject(call))}", _HEAD)),
        body=_printed(call.output),
        outcome=call.outcome,
        exit_code=call.exit_code,
        headline=safe_text(headline(call.output)) if failed else "",
        asked=_printed(call.arguments),
        part=_started(call, parts),
        at=call.at,
    )


def _subject(call: "ToolCall") -> str:
    """What a call was about, in a few words: its command, its file, or its first text."""
    if call.is_shell:
        return call.arguments
    about = call.intent.partition(" ")[2]
    if about:
        return about
    given = _parsed(call.arguments)
    if given is None:
        return call.arguments
    return next((value for value in given.values() if isinstance(value, str)), "")


def _started(call: "ToolCall", parts: Sequence[StartedSession]) -> str:
    """The session that a call started: its result names it, or it got the call's words as task."""
    for part in parts:
        name = part.id.rpartition("/")[2]
        asked = json.dumps(part.task[:_TASK], ensure_ascii=False)[1:-1]
        if (name and name in call.output) or (len(asked) >= _TASK and asked in call.arguments):
            return part.id
    return ""


def _with_folded(entries: Sequence[Entry], line_count: int) -> Iterator[Entry]:
    """The entries, and between them one for all lines that are in none.

    What is recorded while calls run, such as their hooks, is of these calls.
    """
    taken = {line for entry in entries for line in (entry.first_line, entry.last_line)}
    starts = [*(entry.first_line for entry in entries), line_count + 1]
    yield from _folded([line for line in range(1, starts[0]) if line not in taken])
    ends = 0
    for entry, following in zip(entries, starts[1:], strict=True):
        yield entry
        ends = max(ends, entry.last_line) if entry.kind is EntryKind.CALL else entry.last_line
        between = range(max(entry.first_line, ends) + 1, following)
        yield from _folded([line for line in between if line not in taken])


def _folded(lines: Sequence[int]) -> Iterator[Entry]:
    if lines:
        head = counted(len(lines), "hook or bookkeeping record", "hook and bookkeeping records")
        yield Entry(EntryKind.FOLDED, lines[0], lines[-1], head, count=len(lines))


def _printed(text: str) -> str:
    text = without_codes(text).replace("\r\n", "\n")
    if text.isascii():
        return safe_text(text, multiline=True)
    return "\n".join(safe_text(line, multiline=True) for line in text.split("\n"))  # most are safe


def _strings(line: str) -> Iterator[str]:
    """All texts of a record, those in JSON that is a text itself, too; or the line as it is."""
    waiting: list[object] = [line]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            inner = _parsed(each)
            if inner is None:
                yield each
            else:
                waiting.append(inner)
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _parsed(text: str) -> dict[str, object] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
