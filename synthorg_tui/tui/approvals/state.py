"""Keys that do nothing for a moment, so that one meant for another screen decides nothing.

The state of the Approvals pane: what waits, what is listed of it, marked and reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from synthorg_tui.tui.approvals.ports import ApprovalRow, ReviewSheet, Status
from synthorg_tui.tui.base.filters import Chip

INERT_SECONDS = 0.5


class InertGuard:
    """Closed for ``INERT_SECONDS`` from each ``close``; ``clock`` counts seconds and never back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("inf")

    def close(self) -> None:
        """Something new is on the screen."""
        self._until = self._clock() + INERT_SECONDS

    @property
    def is_closed(self) -> bool:
        """Whether keys do nothing yet; they never do before the first ``close``."""
        return self._clock() < self._until


VIEWS = ("waiting", "snoozed", "approved", "rejected")
SORTS = ("newest", "oldest", "confidence", "recurrence", "risk")
GROUPS = ("", "kind", "agent", "scope")
RISKS = ("critical", "high", "medium", "low")
OPERATORS = ("kind:", "agent:", "scope:", "risk:", "is:")
_IS = ("flagged", "reviewed", "marked")


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """A filter text, read: words, operators with their values, and what made no sense."""

    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    operators: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    @property
    def chips(self) -> tuple[Chip, ...]:
        """What it says, part by part."""
        return (
            *(Chip(name, f"{name}:{value}") for name, value in self.operators),
            *(Chip("word", word, "match") for word in self.words),
            *(Chip("without", f"without {word}", "warn") for word in self.without),
        )


def read_filter(
    text: str, known: Sequence[str] = OPERATORS, states: Sequence[str] = _IS
) -> InboxFilter:
    """Read what a person typed; what makes no sense is left out and told.

    ``known`` are the operators, ``states`` what ``is:`` takes.
    """
    words: list[str] = []
    without: list[str] = []
    operators: list[tuple[str, str]] = []
    problem = ""
    for token in text.lower().split():
        name, colon, value = token.partition(":")
        if colon and name + colon in known:
            if value and (name != "is" or value in states):
                operators.append((name, value))
            else:
                takes = f"one of {', '.join(states)}" if name == "is" else "a word"
                problem = f"{token} says nothing; {name}: takes {takes}"
        elif token.startswith("-"):
            without.extend([token[1:]] if len(token) > 1 else [])
        else:
            words.append(token)
    return InboxFilter(tuple(words), tuple(without), tuple(operators), problem)


class Inbox:
    """The items of a view, which of them the filter lists, and what was marked and reviewed.

    Marks and reviews of rows that the filter hides stay, and are never acted on.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.view = VIEWS[0]
        self.sort = SORTS[0]
        self.group = GROUPS[0]
        self.filter_text = ""
        self.loaded: tuple[ApprovalRow, ...] | None = None
        self.rows: tuple[ApprovalRow, ...] = ()
        self.marked: frozenset[str] = frozenset()
        self.reviewed: dict[str, str] = {}
        self._doubtful: frozenset[str] = frozenset()
        self.generation = 0

    @property
    def status(self) -> Status:
        """The status to ask for."""
        if self.view == "approved":
            return "approved"
        return "rejected" if self.view == "rejected" else "pending"

    @property
    def sifter(self) -> InboxFilter:
        """The filter, read."""
        return read_filter(self.filter_text)

    def ask(self) -> int:
        """A new question: answers to older ones no longer count."""
        self.generation += 1
        return self.generation

    def take(self, generation: int, rows: Iterable[ApprovalRow]) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        if generation != self.generation:
            return False
        self.loaded = tuple(row for row in rows if self._in_view(row))
        there = {row.id for row in self.loaded}
        if self.view == VIEWS[0]:
            self.marked &= there
            self.reviewed = {key: shown for key, shown in self.reviewed.items() if key in there}
        self.arrange()
        return True

    def _in_view(self, row: ApprovalRow) -> bool:
        if self.status != "pending":
            return True
        snoozed = row.snoozed_until is not None and row.snoozed_until > self._now()
        return snoozed == (self.view == "snoozed")

    def arrange(self) -> None:
        """List again after filter, order or grouping changed."""
        sifter = self.sifter
        found = [row for row in self.loaded or () if self._passes(row, sifter)]
        found.sort(key=lambda row: row.created_at, reverse=self.sort != "oldest")
        if self.sort == "confidence":
            found.sort(key=lambda row: -(row.confidence or 0.0))
        elif self.sort == "recurrence":
            found.sort(key=lambda row: -row.recurrence)
        elif self.sort == "risk":
            found.sort(key=lambda row: RISKS.index(row.risk) if row.risk in RISKS else len(RISKS))
        if self.group:
            found.sort(key=lambda row: self.group_of(row).lower())
        self.rows = tuple(found)

    def _passes(self, row: ApprovalRow, sifter: InboxFilter) -> bool:
        said = f"{row.title} {row.agent_id} {row.kind} {row.scope}".lower()
        return (
            all(word in said for word in sifter.words)
            and not any(word in said for word in sifter.without)
            and all(self._has(row, name, value) for name, value in sifter.operators)
        )

    def _has(self, row: ApprovalRow, name: str, value: str) -> bool:
        if name == "is":
            return {
                "flagged": row.flags > 0,
                "reviewed": row.id in self.reviewed,
                "marked": row.id in self.marked,
            }[value]
        fields = {"kind": row.kind, "agent": row.agent_id, "scope": row.scope, "risk": row.risk}
        return fields[name].lower().startswith(value)

    def group_of(self, row: ApprovalRow) -> str:
        """The heading a row stands under; empty when rows are not grouped."""
        if self.group == "agent":
            return row.agent_id or "no agent"
        if self.group == "scope":
            return row.scope or "no scope"
        return row.kind if self.group else ""

    # What is acted on

    def toggle_mark(self, item_id: str) -> None:
        """Mark an item, or not when it was."""
        self.marked ^= {item_id}

    def toggle_all(self) -> None:
        """Mark all that are listed; when all are marked, none of them."""
        listed = frozenset(row.id for row in self.rows)
        self.marked = self.marked - listed if listed <= self.marked else self.marked | listed

    def saw(self, sheet: ReviewSheet) -> None:
        """An item was shown in full, as it stood then."""
        self.reviewed[sheet.row.id] = sheet.shown
        doubted = {sheet.row.id}
        self._doubtful = self._doubtful | doubted if sheet.is_doubtful else self._doubtful - doubted

    def bulk(self) -> tuple[tuple[ApprovalRow, ...], str]:
        """What approving in bulk touches, and a note on what it leaves alone.

        Only listed rows that were shown in full and raised no doubt; of those the marked ones,
        when some are marked.
        """
        listed = tuple(row for row in self.rows if row.status == "pending")
        wanted = tuple(row for row in listed if row.id in self.marked)
        hidden = len(self.marked) - len(wanted)
        seen = tuple(row for row in wanted or listed if row.id in self.reviewed)
        chosen = tuple(row for row in seen if row.id not in self._doubtful)
        notes = []
        if doubted := len(seen) - len(chosen):
            notes.append(f"{doubted:,} flagged or contradicted")
        if unread := len(wanted) - len(seen) if wanted else 0:
            notes.append(f"{unread:,} marked but not reviewed")
        if hidden > 0:
            notes.append(f"{hidden:,} marked but hidden by the filter")
        return chosen, " and ".join(notes) + (" stay." if notes else "")

    def turn(self, name: str) -> str:
        """Turn view, sort or group to the next one, and return it."""
        choices: Sequence[str] = {"view": VIEWS, "sort": SORTS, "group": GROUPS}[name]
        value = choices[(choices.index(getattr(self, name)) + 1) % len(choices)]
        setattr(self, name, value)
        return value

    # What is told

    @property
    def caption(self) -> str:
        """Honest totals, order and grouping, for the frame of the list."""
        total = len(self.loaded or ())
        if not total:
            return ""
        count = f"{total:,}" if len(self.rows) == total else f"{len(self.rows):,} of {total:,}"
        marked = len(self.marked)
        hidden = marked - len([row for row in self.rows if row.id in self.marked])
        told = f"✓ {marked:,} marked" + (f", {hidden:,} hidden" if hidden else "") if marked else ""
        by = f"by {self.group}" if self.group else ""
        return " · ".join(part for part in (told, count, self.sort, by) if part)


def snooze_choices(now: datetime) -> tuple[tuple[str, datetime], ...]:
    """Until when an item may be out of the way, nearest first, in the time zone of ``now``."""
    morning = now.replace(hour=9, minute=0, second=0, microsecond=0)
    choices = (
        ("in 4 hours", now + timedelta(hours=4)),
        ("tomorrow morning", morning + timedelta(days=1)),
        ("in 3 days", morning + timedelta(days=3)),
        ("next Monday", morning + timedelta(days=7 - now.weekday())),
        ("in a month", morning + timedelta(days=30)),
    )
    return tuple(sorted(choices, key=lambda each: each[1]))
