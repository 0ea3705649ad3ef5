"""A session's conversation as text: for a terminal, and as Markdown for a file.

Which entries are printed is for the commands; here it is only how.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.output import (
    BLANK,
    Block,
    Console,
    Line,
    Parts,
    View,
    cell_width,
    cut,
    local_time,
    wrap,
)
from synthorg_tui.cli.records import Json, fields
from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.text import counted, size
from synthorg_tui.executions.conversation import Conversation, Entry, EntryKind

if TYPE_CHECKING:
    from synthorg_tui.executions.sessions import StoredSession

_CALLS: Final[Mapping[CallOutcome | None, tuple[str, str]]] = {
    CallOutcome.OK: ("✓", "green"),
    CallOutcome.FAILED: ("✗", "red"),
    CallOutcome.DENIED_BY_USER: ("!", "yellow"),
    CallOutcome.BLOCKED_BY_HOOK: ("!", "yellow"),
    CallOutcome.CANCELLED_WITH_SIBLING: ("-", "dim"),
}
_SESSIONS: Final[Mapping[ExecutionOutcome, tuple[str, str]]] = {
    ExecutionOutcome.COMPLETED: ("✓", "green"),
    ExecutionOutcome.FAILED: ("✗", "red"),
    ExecutionOutcome.INTERRUPTED: ("!", "yellow"),
}
_UNKNOWN: Final = ("?", "dim")
_SPEAKERS: Final = {
    EntryKind.SAID: "You",
    EntryKind.ANSWERED: "Agent",
    EntryKind.ASKED: "Asked",
}
_LEAST: Final = 10
"""Columns that are left for how a call ended."""
_FENCE: Final = re.compile(r"`{3,}")


def entries_view(
    told: Conversation,
    chosen: Sequence[int],
    outputs: Mapping[int, str],
    *,
    marked: int | None = None,
    is_cut: bool = False,
) -> View:
    """Return the entries with these indices, each with its line in the transcript.

    ``outputs`` are texts to print below calls, by index. The ``marked`` one has an arrow. With
    ``is_cut`` a call takes one line of the terminal, however long its command is.
    """
    gutter = len(f"{told.line_count:,}") + 3

    def one(index: int, before: Entry | None) -> View:
        entry = told.entries[index]
        number = f"{'>' if index == marked else ' '}{entry.first_line:>{gutter - 3},}  "
        spoken = (
            before is not None and before.kind not in _SPEAKERS and BLANK,
            Parts([(number, "dim"), (_SPEAKERS.get(entry.kind, ""), "bold")], separator=""),
            Block(entry.body, indent=gutter),
            BLANK,
        )
        return (
            spoken if entry.kind in _SPEAKERS else _act(number, entry, is_cut=is_cut),
            lambda console: [
                Line(f"{' ' * gutter}  │ {line}", "dim")
                for line in wrap(outputs.get(index, ""), console.width - gutter - 4)
            ],
        )

    before = [None, *(told.entries[index] for index in chosen)]
    return map(one, chosen, before)


def brief(told: Conversation, chosen: Sequence[int]) -> View:
    """Return the entries with these indices, each as one line of the terminal."""
    gutter = len(f"{told.line_count:,}")

    def one(index: int) -> View:
        entry = told.entries[index]
        number, who = f"{entry.first_line:>{gutter},}  ", f"{_SPEAKERS.get(entry.kind)}: "
        if entry.kind not in _SPEAKERS:
            return _act(number, entry, is_cut=True)
        return lambda console: Parts(
            [
                (number, "dim"),
                (who, "bold"),
                (cut(entry.head, max(console.width - len(number) - len(who), _LEAST)),),
            ],
            separator="",
        )

    return map(one, chosen)


def _act(number: str, entry: Entry, *, is_cut: bool) -> View:
    """A call, or folded records, as one line; it is cut at the terminal's width if wanted."""
    if entry.kind is EntryKind.FOLDED:
        return Parts([(number, "dim"), (f"· {entry.head}", "dim")], separator="")
    glyph, style = _CALLS.get(entry.outcome, _UNKNOWN)

    def call(console: Console) -> View:
        head, told = entry.head, "" if entry.outcome is CallOutcome.OK else entry.told
        if is_cut:
            room = console.width - len(number) - 2
            head = cut(head, max(room // 2, room - len(told) - 2) if told else room)
            told = cut(told, max(_LEAST, room - cell_width(head) - 2))
        end = f"  {told}" if told else ""
        return Parts([(number, "dim"), (f"{glyph} ", style), (head,), (end, style)], separator="")

    return call, bool(entry.part) and Line(f"{' ' * len(number)}→ {entry.part}", "cyan")


def outcome_mark(outcome: ExecutionOutcome) -> tuple[str, str]:
    """Return glyph and style of how a session ended."""
    return _SESSIONS.get(outcome, _UNKNOWN)


def session_facts(session: "StoredSession") -> list[tuple[str, str]]:
    """Return what is known of a session as pairs of label and value."""
    return [
        ("session", session.id),
        ("branch of" if session.branch_of else "part of", session.above or ""),
        ("agent", ", ".join(filter(None, [session.agent_id, session.model]))),
        ("project", session.project or ""),
        ("read from", session.path),
        ("started", local_time(session.started_at)),
        ("ended", local_time(session.ended_at)),
        ("outcome", session.outcome.value),
        (
            "calls",
            f"{session.calls:,}, {session.failures:,} failed; "
            f"{counted(session.files, 'file')} changed",
        ),
        ("size", f"{session.lines:,} lines, {size(session.size)} in the store"),
    ]


def markdown(
    session: "StoredSession", entries: Iterable[Entry], outputs: Mapping[int, str]
) -> Iterator[str]:
    """Yield a session as the lines of a Markdown document; ``outputs`` are by index."""
    yield f"# {_escaped(session.title)}"
    yield ""
    for label, value in session_facts(session):
        if value:
            yield f"- {label}: {_code(value)}"
    for index, entry in enumerate(entries):
        if entry.kind in _SPEAKERS:
            yield ""
            yield f"## {_SPEAKERS[entry.kind]} (line {entry.first_line:,})"
            yield ""
            yield from entry.body.splitlines()
            yield ""
        elif entry.kind is EntryKind.CALL:
            glyph, _ = _CALLS.get(entry.outcome, _UNKNOWN)
            told = "" if entry.outcome is CallOutcome.OK else f": {_escaped(entry.told)}"
            yield f"- {glyph} {_code(entry.head)}{told} (line {entry.first_line:,})"
            yield from _fenced(outputs.get(index, ""))


def entry_shape(entry: Entry, output: str | None = None) -> Json:
    """Return an entry as JSON; ``output`` is a call's whole output."""
    return {
        **fields(entry, "kind first_line last_line at head body"),
        **({} if output is None else {"body": output}),
        **fields(entry, "outcome exit_code told arguments=asked session=part? count"),
    }


def _fenced(text: str) -> Iterator[str]:
    """A text as a block of code in a list, with a fence that nothing in it can close."""
    if text:
        longest = max((len(found) for found in _FENCE.findall(text)), default=2)
        fence = "`" * (longest + 1)
        yield f"  {fence}text"
        yield from (f"  {line}" for line in text.splitlines())
        yield f"  {fence}"


def _code(text: str) -> str:
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{' '.join(text.split())}{space}{fence}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))
