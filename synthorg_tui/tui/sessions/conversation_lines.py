"""A conversation as lines: what was said as text, a call on one line, the rest folded.

Pure functions of the entries; no Textual. A bar stands at the left of all that somebody said, also
on the rows it continues on; another one marks the lines that a memory refers to.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.conversation import Entry, EntryKind
from synthorg_tui.tui.base.lines import Line, line, text_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from synthorg_tui.executions.conversation import Conversation

MAX_BODY: Final = 2_000
"""Lines of an unfolded entry that are shown."""

_SPEAKERS: Final = {
    EntryKind.SAID: ("you", "accent"),
    EntryKind.ANSWERED: ("agent", "muted"),
    EntryKind.ASKED: ("the agent that started it", "warn"),
}
_OUTCOMES: Final = {
    CallOutcome.FAILED: ("✗", "bad"),
    CallOutcome.DENIED_BY_USER: ("⊘", "warn"),
    CallOutcome.BLOCKED_BY_HOOK: ("⊘", "warn"),
    CallOutcome.CANCELLED_WITH_SIBLING: ("⊘", "muted"),
    CallOutcome.UNKNOWN: ("?", "muted"),
}
"""Mark and role of an outcome that gets a line of its own; a call that went well needs none."""


class TranscriptText:
    """A conversation as lines, entry by entry, with what is unfolded of it.

    ``named`` are the first and the last line of the transcript that something refers to. ``zone``
    is the time zone of the times shown.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        named: tuple[int, int] | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self.conversation = conversation
        self.named = named
        self._zone = zone
        self._bodies: dict[int, str] = {}
        self._unfolded: set[int] = set()
        self._speakers = _speakers(conversation.entries)
        self._blocks = [self._block(at) for at in range(len(conversation.entries))]
        self._starts: list[int] = []

    @property
    def lines(self) -> list[Line]:
        """All lines, in the order of the transcript."""
        return [each for block in self._blocks for each in block]

    @property
    def starts(self) -> list[int]:
        """The index of the first line of each entry, and after the last the number of lines."""
        if not self._starts:
            self._starts = list(accumulate(map(len, self._blocks), initial=0))
        return self._starts

    def entry_of(self, index: int) -> int:
        """Return the number of the entry that a line belongs to."""
        return max(min(bisect_right(self.starts, index) - 1, len(self._blocks) - 1), 0)

    def line_of(self, entry: int) -> int:
        """Return the index of the line that an entry begins with, after its heading."""
        if not self._blocks:
            return 0
        return self.starts[entry] + (2 if self._speakers[entry] else 0)

    def entry(self, number: int) -> Entry | None:
        """Return an entry by its number."""
        entries = self.conversation.entries
        return entries[number] if 0 <= number < len(entries) else None

    @property
    def first_named(self) -> int:
        """The number of the first entry that is referred to, or 0."""
        if self.named is None:
            return 0
        entries = range(len(self.conversation.entries))
        return next(
            (at for at in entries if self._is_named(at)),
            self.conversation.entry_at(self.named[0]),
        )

    def failure_after(self, number: int) -> int | None:
        """Return the number of the next failed call, the first one after the last."""
        entries = self.conversation.entries
        order = [*range(number + 1, len(entries)), *range(min(number + 1, len(entries)))]
        return next((at for at in order if entries[at].outcome is CallOutcome.FAILED), None)

    def is_unfolded(self, number: int) -> bool:
        """Whether more than its one line is shown of a call or of folded records."""
        return number in self._unfolded

    @property
    def all_unfolded(self) -> bool:
        """Whether every call is unfolded."""
        return all(
            at in self._unfolded
            for at, entry in enumerate(self.conversation.entries)
            if entry.kind is EntryKind.CALL
        )

    def unfold(self, number: int, body: str | None = None) -> None:
        """Show an entry in whole; ``body`` is its text as read from the store."""
        if body is not None:
            self._bodies[number] = body
        self._unfolded.add(number)
        self._renew(number)

    def fold(self, number: int) -> None:
        """Show an entry as it was at first."""
        self._unfolded.discard(number)
        self._bodies.pop(number, None)
        self._renew(number)

    def turn_all(self, *, unfolded: bool) -> None:
        """Unfold every call, with its output as far as the record has it, or fold everything."""
        calls = {
            at for at, entry in enumerate(self.conversation.entries) if entry.kind is EntryKind.CALL
        }
        changed = calls - self._unfolded if unfolded else set(self._unfolded)
        self._unfolded = self._unfolded | calls if unfolded else set()
        for number in changed:
            self._renew(number)

    def take_over(self, shown: TranscriptText) -> None:
        """Unfold what is unfolded in ``shown``, an earlier reading of the same session."""
        entries, before = self.conversation.entries, shown.conversation.entries
        for number in sorted(shown._unfolded):
            if number < len(entries) and entries[number].first_line == before[number].first_line:
                self.unfold(number, shown._bodies.get(number))

    def _renew(self, number: int) -> None:
        self._blocks[number] = self._block(number)
        self._starts = []

    def _is_named(self, number: int) -> bool:
        entry = self.conversation.entries[number]
        if self.named is None or entry.kind is EntryKind.FOLDED:
            return False
        first, last = self.named
        ends = (entry.first_line, entry.last_line)
        within = entry.kind is not EntryKind.CALL and ends[0] <= last and first <= ends[1]
        return within or any(first <= end <= last for end in ends)

    def _block(self, number: int) -> list[Line]:
        entry = self.conversation.entries[number]
        named = ("┃", "warn") if self._is_named(number) else (" ", "text")
        if entry.kind is EntryKind.CALL:
            return self._call_lines(number, entry, named)
        if entry.kind is EntryKind.FOLDED:
            return self._folded_lines(number, entry)
        return self._spoken_lines(number, entry, named)

    def _spoken_lines(self, number: int, entry: Entry, named: tuple[str, str]) -> list[Line]:
        name, role = _SPEAKERS[entry.kind]
        lines = []
        if self._speakers[number]:
            at = entry.at.astimezone(self._zone).strftime("  %H:%M") if entry.at else ""
            lines = [Line(), line((" ", "text"), (f"▌ {name}", role), (at, "faint"))]
        bar = (named, ("▌ ", role))
        shown = "text" if entry.kind is EntryKind.ANSWERED else "strong"
        return [*lines, *_body_lines(self._bodies.get(number, entry.body), bar, shown)]

    def _call_lines(self, number: int, entry: Entry, named: tuple[str, str]) -> list[Line]:
        unfolded = number in self._unfolded
        tool, _, about = entry.head.partition(" ")
        head = line(
            named, ("▾ " if unfolded else "▸ ", "accent"), (tool, "accent"), (f" {about}", "text")
        )
        head.hang, head.edge, head.cut = 5, (named,), not unfolded
        lines = [head]
        if entry.outcome in _OUTCOMES:
            mark, role = _OUTCOMES[entry.outcome]
            lines.append(line(named, (f"  {mark} ", role), (_told(entry), role)))
            lines[-1].hang, lines[-1].edge, lines[-1].cut = 5, (named,), not unfolded
        if unfolded:
            bar = (named, ("  │ ", "track"))
            if entry.asked and entry.asked.strip() not in entry.head:
                lines += _body_lines(entry.asked, bar, "muted")
            body = self._bodies.get(number, entry.body)
            lines += _body_lines(body or "(no output)", bar, "text" if body else "faint")
        return lines

    def _folded_lines(self, number: int, entry: Entry) -> list[Line]:
        unfolded = number in self._unfolded
        lines = [line((" ", "text"), ("▾ " if unfolded else "· ", "faint"), (entry.head, "faint"))]
        if unfolded:
            bar = ((" ", "text"), ("  │ ", "track"))
            lines += _body_lines(self._bodies.get(number, ""), bar, "muted")
        return lines


def _told(entry: Entry) -> str:
    """The outcome of a call; of a failure the exit code and the line that tells most."""
    if entry.outcome is not CallOutcome.FAILED:
        return entry.told
    code = f"exit {entry.exit_code}" if entry.exit_code else ""
    return ": ".join(filter(None, (code, entry.headline))) or "failed"


def _body_lines(text: str, bar: tuple[tuple[str, str], ...], role: str) -> list[Line]:
    """A text with a bar at the left of each of its rows."""
    texts = text_lines(text.strip("\n"), role)
    lines = [_barred(each, bar) for each in texts[:MAX_BODY]]
    if len(texts) > MAX_BODY:
        more = line((f"… {len(texts) - MAX_BODY:,} more lines; x writes all of them", "muted"))
        lines.append(_barred(more, bar))
    return lines


def _barred(text: Line, bar: tuple[tuple[str, str], ...]) -> Line:
    barred = Line([*bar, *text.spans], edge=bar)
    barred.hang = sum(len(part) for part, _ in bar)
    return barred


def _speakers(entries: Sequence[Entry]) -> list[bool]:
    """Of each entry whether it gets a heading: when somebody else spoke before."""
    headed, before = [], None
    for entry in entries:
        spoken = entry.kind in _SPEAKERS
        headed.append(spoken and (entry.kind is not before or entry.kind is EntryKind.SAID))
        before = entry.kind if spoken else before
    return headed
