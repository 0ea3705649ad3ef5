"""The inbox as styled lines: rows, headings, the empty list, and results of decisions.

The input is the engine's plain data; nothing here uses Textual. A review in full is rendered in
``review_lines``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.state import Inbox, RowMarks, agent_of
from synthorg_tui.tui.base.formatting import ago, counted
from synthorg_tui.tui.base.lines import Line, bar, beside, keys_line, line, one_line

if TYPE_CHECKING:
    from synthorg_tui.curation.review import BulkOutcome, Decision, InboxEntry

CANNOT_SHOW = "The queue can't be shown"
KINDS = {
    "lesson": ("▲", "lesson", "good"),
    "promotion": ("⇧", "promotion", "accent"),
    "conflict": ("↯", "conflict", "bad"),
    "file_change": ("≠", "file", "warn"),
    "prune": ("∅", "prune", "muted"),
    "write": ("+", "write", "accent"),
    "delete": ("-", "delete", "warn"),
    "merge": ("⇉", "merge", "accent"),
    "org": ("§", "org", "accent"),
    "run": ("▶", "call", "warn"),
    "admin": ("◇", "admin", "warn"),
    "unreadable": ("▪", "unreadable", "bad"),
}
"""Glyph, word and role of each kind of item: the colour is never the only sign."""

RISKS = {"low": "faint", "medium": "muted", "high": "warn", "critical": "bad"}
_MAX_TITLE = 300
LABEL = 12
"""Width of the labels of facts."""
MAX_DIFF = 800


def kind_mark(entry: InboxEntry) -> tuple[str, str, str]:
    """Return glyph, word and style role of an item; the word of a lesson is its own kind.

    Memories that disagree are decided on as a deletion is, but that isn't what the item is about.
    """
    if disagree(entry):
        return "≉", "disagree", "warn"
    glyph, word, role = KINDS[entry.kind]
    lesson = entry.lesson_kind if entry.kind == "lesson" else None
    return glyph, lesson.value if lesson else word, role


def disagree(entry: InboxEntry) -> bool:
    """Return whether an item asks about two memories that seem to contradict each other."""
    return entry.item.action_type == "memory:conflict"


def row_line(entry: InboxEntry, width: int, marks: RowMarks, *, now: datetime) -> Line:
    """Render an item in one line: mark, kind, title, flags, number of occurrences and age."""
    right = (
        _flags(marks)
        .extend(_recurrence(entry))
        .add(ago(entry.item.decided_at or entry.item.created_at, now).rjust(4), "faint")
    )
    return beside(_head(entry, marks), right, width)


def row_lines(entry: InboxEntry, width: int, marks: RowMarks, *, now: datetime) -> list[Line]:
    """Render an item in two lines: title and age, then its kind and its confidence."""
    age = line((ago(entry.item.decided_at or entry.item.created_at, now).rjust(4), "faint"))
    _, word, role = kind_mark(entry)
    second = line(("    ", "text"), (word.ljust(10), role)).extend(_confidence(entry))
    second.extend(_recurrence(entry)).add(one_line(agent_of(entry)), "muted")
    second.add(f" · {entry.scope}" if entry.scope not in ("", "agent") else "", "faint")
    first = beside(_head(entry, marks), age, width)
    return [first, beside(second, _flags(marks).extend(_risk(entry)), width)]


def _head(entry: InboxEntry, marks: RowMarks) -> Line:
    glyph, _, role = kind_mark(entry)
    head = line(("✓" if marks.marked else " ", "accent"))
    head.add("◉ " if marks.reviewed else "  ", "accent")
    return head.add(f"{glyph} ", role).add(one_line(entry.item.title[:_MAX_TITLE]), "text")


def _confidence(entry: InboxEntry) -> Line:
    if entry.confidence is None:
        return line(("".ljust(12), "text"))
    return bar(entry.confidence, 6).add(f" {entry.confidence:.2f} ", "muted")


def _recurrence(entry: InboxEntry) -> Line:
    runs = f"×{entry.recurrence}" if entry.recurrence > 1 else ""
    return line((f"{runs:>3} ", "accent"))


def _flags(marks: RowMarks) -> Line:
    return line((f"! {counted(marks.flags, 'flag')} " if marks.flags else "", "bad"))


def _risk(entry: InboxEntry) -> Line:
    risk = entry.item.risk_level
    return line((risk if risk != "medium" else "", RISKS[risk]))


def heading_line(name: str, count: int, width: int) -> Line:
    """Render the heading of a group with its number of items."""
    shown = KINDS[name][1] if name in KINDS else one_line(name)
    head = line((f"{shown} ", "title"), (f"{count:,} ", "muted"))
    return head.add("─" * max(width - head.width, 0), "track").fit(width)


def decision_line(done: str, decision: Decision) -> str:
    """Return the toast text of a decision: ``done``, and which file was written or left alone."""
    if decision.is_final:
        return f"{done} and done"
    where = ""
    if decision.left_alone:
        where = f" · {decision.left_alone[0]} was changed meanwhile and stays"
    elif decision.paths:
        where = f" · {short_path(decision.paths[0])}"
    return f"{done}{where} · {key_of('approvals.undo')} takes it back"


def bulk_line(outcome: BulkOutcome, done: str = "Approved") -> str:
    """Return the toast text of several decisions: what was ``done``, and why any item was not."""
    undoes = f"{key_of('approvals.undo')} undoes all of them"
    parts = [f"{done} {counted(len(outcome.decisions), 'item')} · {undoes}"]
    parts += [f"{review.item.title}: it changed since you read it" for review in outcome.stale]
    return " · ".join([*parts, *(reason for _, reason in outcome.refused)])


def undo_line(decision: Decision | None) -> str:
    """Return the toast text of an undo: which decision was undone."""
    if decision is None:
        return "There is no decision to take back"
    many = decision.count > 1
    return f"Undid {decision.title}" if many else f"Took back: {decision.title}"


_EMPTY = {
    "snoozed": "Nothing is snoozed",
    "approved": "Nothing was approved yet",
    "rejected": "Nothing was rejected yet",
}


def empty_inbox(inbox: Inbox) -> list[Line]:
    """Render why no item is listed, and what the person can do next."""
    if inbox.loaded:
        return [
            line(("No item matches", "title")),
            Line(),
            line((f"{counted(len(inbox.loaded), 'item')} hidden by the filter.", "text")),
            keys_line(
                (key_of("approvals.back"), "clears it"), (key_of("approvals.filter"), "changes it")
            ),
        ]
    if inbox.view != "waiting":
        keys = keys_line((key_of("approvals.view"), "shows what waits"))
        return [line((_EMPTY[inbox.view], "title")), Line(), keys]
    return [
        line(("Nothing waits for you", "title")),
        Line(),
        line(("Lessons are drawn from what went wrong in sessions and was put right.", "text")),
        line(("None is stored before you approve it here.", "text")),
        keys_line(
            (key_of("app.memories"), "then"),
            (key_of("memories.importing"), "imports sessions"),
            (key_of("approvals.view"), "shows what was decided"),
        ),
    ]


def unified_lines(diff: Sequence[str]) -> list[Line]:
    """Render the lines of a unified diff, coloured by their sign."""
    lines = []
    for text in diff[:MAX_DIFF]:
        sign = text[:1]
        role = {"+": "good", "-": "bad", "@": "accent"}.get(sign, "muted")
        if text.startswith(("+++", "---")):
            role = "faint"
        shown = text.rstrip("\r\n").replace("\t", "    ")
        lines.append(hung(line((shown, role)), 1))
    if len(diff) > MAX_DIFF:
        lines.append(line((f"… {len(diff) - MAX_DIFF:,} more lines", "faint")))
    return lines


def hung(source: Line, by: int) -> Line:
    """Indent further rows of a wrapped line."""
    source.hang = by
    return source
