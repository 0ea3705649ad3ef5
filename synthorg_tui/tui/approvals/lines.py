"""The inbox as lines: rows, headings, what stands there when it is empty, and what was decided.

Lines are made of the engine's plain data, without Textual; a review in full is in
``review_lines``.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.approvals.state import Inbox, RowMarks, agent_of
from synthorg_tui.tui.base.formatting import ago, counted
from synthorg_tui.tui.base.lines import Line, bar, beside, keys_line, line, one_line

if TYPE_CHECKING:
    from synthorg_tui.curation.review import BulkOutcome, Decision, InboxEntry, SubjectKind

CANNOT_SHOW = "The queue can't be shown"
KINDS = {
    "lesson": ("▲", "lesson", "good"),
    "promotion": ("⇧", "promotion", "accent"),
    "conflict": ("↯", "conflict", "bad"),
    "file_change": ("≠", "file", "warn"),
    "prune": ("∅", "prune", "muted"),
    "write": ("+", "write", "accent"),
    "delete": ("-", "delete", "warn"),
    "unreadable": ("▪", "unreadable", "bad"),
}
"""Glyph, word and role of each kind of item: the colour is never the only sign."""

RISKS = {"low": "faint", "medium": "muted", "high": "warn", "critical": "bad"}
_MAX_TITLE = 300


def kind_mark(kind: SubjectKind) -> tuple[str, str, str]:
    """Glyph, word and role of a kind of item."""
    return KINDS[kind]


def row_line(entry: InboxEntry, width: int, marks: RowMarks, *, now: datetime) -> Line:
    """An item on one line: mark, kind, title, flags, how often it was seen, age."""
    right = _flags(marks).extend(_recurrence(entry)).add(ago(_when(entry), now).rjust(4), "faint")
    return beside(_head(entry, marks), right, width)


def row_lines(entry: InboxEntry, width: int, marks: RowMarks, *, now: datetime) -> list[Line]:
    """An item on two lines: title and age, then what it is and how sure it is."""
    age = line((ago(_when(entry), now).rjust(4), "faint"))
    _, word, role = kind_mark(entry.kind)
    second = line(("    ", "text"), (word.ljust(10), role)).extend(_confidence(entry))
    second.extend(_recurrence(entry)).add(one_line(agent_of(entry)), "muted")
    second.add(f" · {entry.scope}" if entry.scope not in ("", "agent") else "", "faint")
    first = beside(_head(entry, marks), age, width)
    return [first, beside(second, _flags(marks).extend(_risk(entry)), width)]


def _head(entry: InboxEntry, marks: RowMarks) -> Line:
    glyph, _, role = kind_mark(entry.kind)
    head = line(("✓" if marks.marked else " ", "accent"))
    head.add("◉ " if marks.reviewed else "  ", "accent")
    return head.add(f"{glyph} ", role).add(one_line(entry.item.title[:_MAX_TITLE]), "text")


def _when(entry: InboxEntry) -> datetime:
    return entry.item.decided_at or entry.item.created_at


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
    """The heading of a group."""
    shown = KINDS[name][1] if name in KINDS else one_line(name)
    head = line((f"{shown} ", "title"), (f"{count:,} ", "muted"))
    return head.add("─" * max(width - head.width, 0), "track").fit(width)


def decision_line(done: str, decision: Decision) -> str:
    """What a decision did, for a toast: ``done``, and which file it wrote or left alone."""
    where = ""
    if decision.left_alone:
        where = f" · {decision.left_alone[0]} was changed meanwhile and stays"
    elif decision.paths:
        where = f" · {short_path(decision.paths[0])}"
    return f"{done}{where} · u takes it back"


def bulk_line(outcome: BulkOutcome) -> str:
    """What approving several did, and why for each that was left, for a toast."""
    parts = [f"Approved {counted(len(outcome.decisions), 'item')} · u takes back"]
    parts += [f"{review.item.title}: it changed since you read it" for review in outcome.stale]
    return " · ".join([*parts, *(reason for _, reason in outcome.refused)])


def undo_line(decision: Decision | None) -> str:
    """What an undo took back, for a toast."""
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
    """Why nothing is listed, and the next step."""
    if inbox.loaded:
        return [
            line(("No item matches", "title")),
            Line(),
            line((f"{counted(len(inbox.loaded), 'item')} hidden by the filter.", "text")),
            keys_line(("esc", "clears it"), ("/", "changes it")),
        ]
    if inbox.view != "waiting":
        return [line((_EMPTY[inbox.view], "title")), Line(), keys_line(("v", "shows what waits"))]
    return [
        line(("Nothing waits for you", "title")),
        Line(),
        line(("Lessons are drawn from what went wrong in sessions and was put right.", "text")),
        line(("None is kept before you approve it here.", "text")),
        keys_line(("1", "then"), ("i", "imports sessions"), ("v", "shows what was decided")),
    ]
