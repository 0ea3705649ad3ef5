"""The state of the Approvals pane: items, and which are listed, marked and reviewed.

Plain data and pure functions, tested without a screen: no Textual, and of the engine only types.
The texts of an item and rewording are in ``wording``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from synthorg_tui.core.text import read_bound
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.adapter import Status
from synthorg_tui.tui.approvals.wording import Reworded, Wording, rewordable, versions
from synthorg_tui.tui.base.filters import Query, parse_row_filter
from synthorg_tui.tui.base.window import Latest

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalEvent
    from synthorg_tui.curation.models import Evidence
    from synthorg_tui.curation.review import BulkOutcome, InboxEntry, Review

INERT_SECONDS = 0.5
NO_MEMORY = "No memory yet: approving stores one"


class InertGuard:
    """Disables keys for a moment, so that a key meant for another screen decides nothing.

    It is closed for ``INERT_SECONDS`` after each ``close``; ``clock`` is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("inf")

    def close(self) -> None:
        """Disable the keys from now on, as something new is on the screen."""
        self._until = self._clock() + INERT_SECONDS

    @property
    def is_closed(self) -> bool:
        """Whether keys are disabled, as they also are before the first ``close``."""
        return self._clock() < self._until


def agent_of(entry: InboxEntry) -> str:
    """Return the agent whose item it is; an empty string for a file on disk."""
    subject = entry.subject
    if subject is not None and subject.type == "org":
        return subject.changes[0].author.agent_id or ""
    return "" if subject is None or subject.type == "file_change" else subject.agent_id


def both_sides(review: Review) -> str:
    """Return the program's version of a file that was changed there and on disk, or ``""``."""
    subject = review.entry.subject
    if subject is None or subject.type != "file_change" or subject.change != "conflict":
        return ""
    return subject.ours


class ReviewState:
    """The items under review, the one shown, and the person's wording of it.

    ``scope`` is the one that the person chose, ``None`` for the proposed one. ``stale`` holds the
    review as it was read and as it is now, after a decision on it was refused;
    ``unparsed`` is an invalid text from the editor.
    """

    def __init__(self, item_ids: Sequence[str], at: int) -> None:
        self._ids = tuple(item_ids)
        self._at = at
        self._evidence = 0
        self.review: Review | None = None
        self.trail: tuple[ApprovalEvent, ...] = ()
        self.draft: Reworded | None = None
        self.scope: str | None = None
        self.unparsed = ""
        self.reasons: dict[str, str] = {}
        self.stale: tuple[Review, Review] | None = None

    @property
    def item_id(self) -> str:
        """The id of the item that is shown, or about to be read."""
        return self._ids[self._at]

    @property
    def place(self) -> str:
        """The item's position among several, such as "2 of 5"."""
        return f"{self._at + 1} of {len(self._ids)}" if len(self._ids) > 1 else ""

    def step(self, by: int) -> str:
        """Go to another item, which has to be read then; return why not if that isn't possible."""
        at = self._at + by
        if not 0 <= at < len(self._ids):
            return "This is the last one" if by > 0 else "This is the first one"
        if self.is_own:
            approves, drops = key_of("review.approve"), key_of("review.drop")
            return f"Your wording is not approved: {approves} approves, {drops} drops it"
        self._at, self._evidence, self.stale, self.review = at, 0, None, None
        self.draft = self.scope = None
        return ""

    @property
    def evidence(self) -> Evidence | None:
        """The selected occurrence, or ``None``."""
        seen = self.review.entry.evidence if self.review is not None else ()
        return seen[self._evidence % len(seen)] if seen else None

    @property
    def chosen(self) -> int:
        """The index of the selected occurrence, or -1 if there aren't several."""
        several = self.review is not None and len(self.review.entry.evidence) > 1
        return self._evidence if several else -1

    def next_evidence(self, by: int = 1) -> None:
        """Select the next occurrence, or the one before with -1."""
        if self.review is not None and self.review.entry.evidence:
            self._evidence = (self._evidence + by) % len(self.review.entry.evidence)

    @property
    def wording(self) -> Reworded | None:
        """The wording shown: the person's, or else the proposed one."""
        return self.draft or (rewordable(self.review.entry) if self.review else None)

    def take(self, wording: Reworded) -> None:
        """Use the person's wording; one equal to the proposed wording is discarded."""
        is_same = self.review is not None and wording == rewordable(self.review.entry)
        self.draft = None if is_same else wording

    @property
    def is_own(self) -> bool:
        """Whether what is shown was written by the person, so that leaving would lose it."""
        return self.draft is not None and self.draft not in self.versions

    @property
    def versions(self) -> list[Wording]:
        """The wordings of a lesson that one can switch between; one where nobody else wrote any."""
        return [wording for _, wording in versions(self.review.entry)] if self.review else []

    def switch(self) -> str:
        """Show the next version of a lesson: as proposed, the model's, code's.

        Returns why not if there is none, or if that would lose what the person wrote.
        """
        known = self.versions
        if self.is_own:
            return f"Your wording is not approved: {key_of('review.drop')} drops it"
        if len(known) < 2:
            return NO_MEMORY
        at = known.index(self.draft) if isinstance(self.draft, Wording) else 0
        at = (at + 1) % len(known)
        self.draft = known[at] if at else None
        return ""

    def next_scope(self) -> str:
        """Choose the next scope that the item can have; return why not if it can have no other."""
        names = [str(scope) for scope in self.review.reach] if self.review is not None else []
        if self.review is None or len(names) < 2:
            return "For whom this is can't be chosen"
        proposed = self.review.entry.scope or names[0]
        chosen = names[(names.index(self.scope or proposed) + 1) % len(names)]
        self.scope = None if chosen == proposed else chosen
        return ""

    def drop(self) -> None:
        """Discard the person's wording, and the scope that was chosen."""
        self.draft, self.scope, self.unparsed = None, None, ""


class RowMarks(NamedTuple):
    """The state of an item in the list: marked, reviewed, and its number of suspicious passages."""

    marked: bool = False
    reviewed: bool = False
    flags: int = 0


VIEWS = ("waiting", "snoozed", "approved", "rejected")
SORTS = ("newest", "oldest", "confidence", "recurrence", "risk")
GROUPS = ("", "kind", "agent", "scope")
RISKS = ("critical", "high", "medium", "low")
"""Levels of risk, highest first."""
_OPERATORS = ("kind", "agent", "project", "scope", "risk")
_CERTAINTY = "certainty"
_STATES = ("flagged", "reviewed", "marked")


class Inbox:
    """The items of a view, which of them the filter lists, and which are marked and reviewed.

    Items hidden by the filter stay marked and reviewed, but actions don't affect them.
    ``crowding`` says of which agents no more is taken, empty when that is none.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.view = VIEWS[0]
        self.sort = SORTS[0]
        self.group = GROUPS[0]
        self.filter_text = ""
        self.loaded: tuple[InboxEntry, ...] | None = None
        self.crowding = ""
        self.rows: tuple[InboxEntry, ...] = ()
        self.marked: frozenset[str] = frozenset()
        self.reviewed: dict[str, str] = {}
        self._flags: Mapping[str, int] = {}
        self._doubtful: frozenset[str] = frozenset()
        self.latest = Latest()

    @property
    def status(self) -> Status:
        """The status of the items to read for this view."""
        if self.view == "approved":
            return "approved"
        return "rejected" if self.view == "rejected" else "pending"

    @property
    def filter(self) -> Query:
        """The parsed filter text."""
        return parse_row_filter(self.filter_text, *_OPERATORS, states=_STATES, bounds=(_CERTAINTY,))

    def take(
        self, generation: int, entries: Iterable[InboxEntry], flags: Mapping[str, int]
    ) -> bool:
        """Store the items read; return ``False``, and drop them, if a newer request was made.

        ``flags`` holds the number of suspicious passages in each item's texts, by item id.
        """
        from synthorg_tui.approvals.proposals import crowding

        if not self.latest.answer(generation):
            return False
        entries = tuple(entries)
        self.loaded = tuple(entry for entry in entries if self._in_view(entry))
        self.crowding = crowding(entry.item for entry in entries)
        self._flags = flags
        ids = {entry.item.id for entry in self.loaded}
        if self.view == VIEWS[0]:
            self.marked &= ids
            self.reviewed = {key: shown for key, shown in self.reviewed.items() if key in ids}
        self.arrange()
        return True

    def _in_view(self, entry: InboxEntry) -> bool:
        if self.status != "pending":
            return True
        until = entry.item.snoozed_until
        return (until is not None and until > self._now()) == (self.view == "snoozed")

    def arrange(self) -> None:
        """Update the listed items after filter, order or grouping changed."""
        wanted = self.filter
        rows = [entry for entry in self.loaded or () if self._passes(entry, wanted)]
        rows.sort(key=lambda entry: entry.item.created_at, reverse=self.sort != "oldest")
        if self.sort == "confidence":
            rows.sort(key=lambda entry: -(entry.confidence or 0.0))
        elif self.sort == "recurrence":
            rows.sort(key=lambda entry: -entry.recurrence)
        elif self.sort == "risk":
            rows.sort(key=lambda entry: RISKS.index(entry.item.risk_level))
        if self.group:
            rows.sort(key=lambda entry: self.group_of(entry).lower())
        self.rows = tuple(rows)

    def _passes(self, entry: InboxEntry, wanted: Query) -> bool:
        text = f"{entry.item.title} {agent_of(entry)} {entry.kind} {entry.scope}".lower()
        return wanted.has_words(text) and all(
            self._has(entry, name, value) for name, value in wanted.values
        )

    def _has(self, entry: InboxEntry, name: str, value: str) -> bool:
        if name == "is":
            marks = self.marks_of(entry)
            return {
                "flagged": marks.flags > 0,
                "reviewed": marks.reviewed,
                "marked": marks.marked,
            }[value]
        if name == "kind":
            return entry.is_of_kind(value)
        if name == "project":
            return entry.is_of_project(value)
        if name == _CERTAINTY:
            fits = read_bound(value)
            return bool(fits and entry.confidence is not None and fits(entry.confidence))
        fields: dict[str, str] = {
            "agent": agent_of(entry),
            "scope": entry.scope,
            "risk": entry.item.risk_level,
        }
        return fields[name].lower().startswith(value)

    def group_of(self, entry: InboxEntry) -> str:
        """Return the heading for the item; an empty string if items aren't grouped."""
        if self.group == "agent":
            return agent_of(entry) or "no agent"
        if self.group == "scope":
            return entry.scope or "no scope"
        return entry.kind if self.group else ""

    def marks_of(self, entry: InboxEntry) -> RowMarks:
        """Return whether the item is marked and reviewed, and its number of suspicious passages."""
        key = entry.item.id
        return RowMarks(key in self.marked, key in self.reviewed, self._flags.get(key, 0))

    # What is acted on

    def toggle_mark(self, item_id: str) -> None:
        """Mark an item, or unmark it."""
        self.marked ^= {item_id}

    def toggle_all(self) -> None:
        """Mark all listed items, or unmark them if all are marked."""
        listed = frozenset(entry.item.id for entry in self.rows)
        self.marked = self.marked - listed if listed <= self.marked else self.marked | listed

    def saw(self, review: Review) -> None:
        """Record that the person has read this review of an item."""
        from synthorg_tui.curation.review_sheet import is_doubtful

        key = review.item.id
        self.reviewed[key] = review.shown
        self._doubtful = self._doubtful | {key} if is_doubtful(review) else self._doubtful - {key}

    def forget(self, outcome: BulkOutcome) -> None:
        """Mark items that could not be approved as not reviewed."""
        left = {review.item.id for review in outcome.stale}
        for item_id in left | {item_id for item_id, _ in outcome.refused}:
            self.reviewed.pop(item_id, None)

    def bulk(self) -> tuple[tuple[InboxEntry, ...], str]:
        """Return the items for a bulk approval, and a note on those left out.

        These are the listed items that were reviewed and aren't doubtful; if any are marked, only
        marked ones.
        """
        listed = tuple(entry for entry in self.rows if entry.item.status == "pending")
        wanted = tuple(entry for entry in listed if entry.item.id in self.marked)
        hidden = len(self.marked) - len(wanted)
        reviewed = tuple(entry for entry in wanted or listed if entry.item.id in self.reviewed)
        chosen = tuple(entry for entry in reviewed if entry.item.id not in self._doubtful)
        notes = []
        if doubted := len(reviewed) - len(chosen):
            notes.append(f"{doubted:,} flagged or contradicted")
        if unread := len(wanted) - len(reviewed) if wanted else 0:
            notes.append(f"{unread:,} marked but not reviewed")
        if hidden > 0:
            notes.append(f"{hidden:,} marked but hidden by the filter")
        return chosen, " and ".join(notes) + (" stay." if notes else "")

    def for_editor(self) -> tuple[tuple[str, ...], bool]:
        """Return the ids of the listed items that wait, only marked ones if any are marked.

        The second value tells that none is marked.
        """
        listed = tuple(entry.item.id for entry in self.rows if entry.item.status == "pending")
        marked = tuple(item_id for item_id in listed if item_id in self.marked)
        return marked or listed, not marked

    def turn(self, name: str) -> str:
        """Switch ``view``, ``sort`` or ``group`` to its next value, and return that."""
        choices: Sequence[str] = {"view": VIEWS, "sort": SORTS, "group": GROUPS}[name]
        value = choices[(choices.index(getattr(self, name)) + 1) % len(choices)]
        setattr(self, name, value)
        return value

    @property
    def caption(self) -> str:
        """The numbers of marked and of listed items, the order and the grouping."""
        total = len(self.loaded or ())
        if not total:
            return ""
        count = f"{total:,}" if len(self.rows) == total else f"{len(self.rows):,} of {total:,}"
        marked = len(self.marked)
        hidden = marked - sum(entry.item.id in self.marked for entry in self.rows)
        marks = f"✓ {marked:,} marked" + (f", {hidden:,} hidden" if hidden else "")
        by = f"by {self.group}" if self.group else ""
        return " · ".join(part for part in (marks if marked else "", count, self.sort, by) if part)


def snooze_choices(now: datetime) -> tuple[tuple[str, datetime], ...]:
    """Return the times until which an item may be snoozed, with labels, nearest first.

    They are in the time zone of ``now``.
    """
    morning = now.replace(hour=9, minute=0, second=0, microsecond=0)
    choices = (
        ("in 4 hours", now + timedelta(hours=4)),
        ("tomorrow morning", morning + timedelta(days=1)),
        ("in 3 days", morning + timedelta(days=3)),
        ("next Monday", morning + timedelta(days=7 - now.weekday())),
        ("in a month", morning + timedelta(days=30)),
    )
    return tuple(sorted(choices, key=lambda choice: choice[1]))
