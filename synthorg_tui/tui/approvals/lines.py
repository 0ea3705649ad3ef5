"""The inbox as lines: rows, headings, and what stands there when it is empty."""

from datetime import datetime

from synthorg_tui.tui.approvals.ports import ApprovalRow
from synthorg_tui.tui.approvals.state import Inbox, InboxFilter
from synthorg_tui.tui.base.formatting import ago, counted
from synthorg_tui.tui.base.lines import Line, beside, line, one_line
from synthorg_tui.tui.memories.lines import bar

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
_TITLE = 300


def kind_mark(kind: str) -> tuple[str, str, str]:
    """Glyph, word and role, also of a kind this list doesn't know."""
    return KINDS.get(kind, ("?", kind, "muted"))


def row_line(row: ApprovalRow, width: int, *, now: datetime, marked: bool, seen: bool) -> Line:
    """An item on one line: mark, kind, title, flags, how often it was seen, age."""
    right = _flags(row).extend(_recurrence(row)).add(ago(_when(row), now).rjust(4), "faint")
    return beside(_head(row, marked=marked, seen=seen), right, width)


def row_lines(
    row: ApprovalRow, width: int, *, now: datetime, marked: bool, seen: bool
) -> list[Line]:
    """An item on two lines: title and age, then what it is and how sure it is."""
    age = line((ago(_when(row), now).rjust(4), "faint"))
    _, word, role = kind_mark(row.kind)
    second = line(("    ", "text"), (word.ljust(10), role)).extend(_confidence(row))
    second.extend(_recurrence(row)).add(one_line(row.agent_id), "muted")
    second.add(f" · {row.scope}" if row.scope not in ("", "agent") else "", "faint")
    first = beside(_head(row, marked=marked, seen=seen), age, width)
    return [first, beside(second, _flags(row).extend(_risk(row)), width)]


def _head(row: ApprovalRow, *, marked: bool, seen: bool) -> Line:
    glyph, _, role = kind_mark(row.kind)
    made = line(("✓" if marked else " ", "accent"), ("◉ " if seen else "  ", "accent"))
    return made.add(f"{glyph} ", role).add(one_line(row.title[:_TITLE]), "text")


def _when(row: ApprovalRow) -> datetime:
    return row.decided_at or row.created_at


def _confidence(row: ApprovalRow) -> Line:
    if row.confidence is None:
        return line(("".ljust(12), "text"))
    return bar(row.confidence, 6).add(f" {row.confidence:.2f} ", "muted")


def _recurrence(row: ApprovalRow) -> Line:
    seen = f"×{row.recurrence}" if row.recurrence > 1 else ""
    return line((f"{seen:>3} ", "accent"))


def _flags(row: ApprovalRow) -> Line:
    return line((f"! {counted(row.flags, 'flag')} " if row.flags else "", "bad"))


def _risk(row: ApprovalRow) -> Line:
    return line((row.risk if row.risk != "medium" else "", RISKS.get(row.risk, "muted")))


def heading_line(name: str, count: int, width: int) -> Line:
    """The heading of a group."""
    shown = KINDS[name][1] if name in KINDS else one_line(name)
    head = line((f"{shown} ", "title"), (f"{count:,} ", "muted"))
    return head.add("─" * max(width - head.width, 0), "track").fit(width)


def sifter_line(sifter: InboxFilter, width: int) -> Line:
    """The filter as chips."""
    made = line(("filter ", "faint"))
    for chip in sifter.chips:
        made.add("▐", chip.role).add(chip.label, "strong").add("▌ ", chip.role)
    return made.fit(width)


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


def inbox_error(message: str, remedy: str) -> list[Line]:
    """What went wrong and what to do."""
    made = [line(("✗ ", "bad"), ("The queue can't be shown", "strong")), Line()]
    made.append(line((message, "text")))
    if remedy:
        made += [Line(), line(("→ ", "accent"), (remedy, "text"))]
    return [*made, Line(), keys_line(("r", "tries again"))]


def keys_line(*pairs: tuple[str, str]) -> Line:
    """Keys with what they do."""
    made = Line()
    for key, does in pairs:
        made.add(key, "accent").add(f" {does}   ", "muted")
    return made
