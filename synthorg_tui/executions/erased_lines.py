"""Lines of a session that a person had erased: blank in the store, and blank after each import.

A transcript goes on growing after a purge and is then read whole again, so the numbers of the lines
are remembered; what stood in them is not.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

from synthorg_tui.executions.models import Execution, SourceRef, ToolCall, Turn
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.persistence.port import Connection

ERASED_TEXT: Final = "(erased)"
"""Stands in a record for a text that was erased."""
ERASED_LINE: Final = "{}"
"""Stands for an erased line of a transcript."""

Span: TypeAlias = tuple[int, int]
"""First and last line, 1-based and inclusive."""
_CALL_TEXTS: Final = ("arguments", "output", "intent")
P = TypeVar("P", Turn, ToolCall)


def remember_in(db: Connection, refs: Iterable[SourceRef]) -> None:
    """Remember that these lines are erased."""
    for ref in refs:
        db.execute(
            "INSERT INTO erased_lines VALUES (?, ?, ?)",
            [ref.execution_id, ref.first_line, ref.last_line],
        )


def spans_in(db: Connection, execution_id: str) -> list[Span]:
    """Return the erased lines of a session."""
    return db.execute(
        "SELECT first_line, last_line FROM erased_lines WHERE execution_id = ?", [execution_id]
    ).fetchall()


def without_erased(
    execution: Execution, lines: PackedLines, spans: Sequence[Span]
) -> tuple[Execution, PackedLines]:
    """Return a record and its lines with every text of the erased lines left out.

    Task, summary and error go, too, when a turn, a call or one of these lines has the same words.
    """
    if not spans:
        return execution, lines
    gone = [
        line.replace('\\"', '"')
        for number, line in enumerate(lines, 1)
        if execution.summary and _overlaps(number, number, spans)
    ]
    turns, calls = execution.turns, execution.calls
    gone += [each.text for each in turns if _overlaps(each.first_line, each.last_line, spans)]
    gone += [each.output for each in calls if _overlaps(each.call_line, each.last_line, spans)]
    repeats = {
        field: ERASED_TEXT
        for field in ("task", "summary", "error")
        if (text := getattr(execution, field)) and any(text[:80] in each for each in gone)
    }
    kept = execution.model_copy(
        update={
            **repeats,
            "turns": tuple(_blanked(each, each.first_line, spans, "text") for each in turns),
            "calls": tuple(_blanked(each, each.call_line, spans, *_CALL_TEXTS) for each in calls),
        }
    )
    blank = PackedLines(
        ERASED_LINE if _overlaps(number, number, spans) else line
        for number, line in enumerate(lines, 1)
    )
    return kept, blank


def _blanked(part: P, first: int, spans: Sequence[Span], *fields: str) -> P:
    """A turn or a call; with these fields erased if any of its lines, from ``first`` on, is."""
    if not _overlaps(first, part.last_line, spans):
        return part
    return part.model_copy(update=dict.fromkeys(fields, ERASED_TEXT))


def _overlaps(first: int, last: int, spans: Sequence[Span]) -> bool:
    return any(first <= end and start <= last for start, end in spans)
