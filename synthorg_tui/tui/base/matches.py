"""The places of a text where the words one looks for stand, and how they are marked.

Upper and lower case are the same. At most ``MAX_MATCHES`` places are remembered, so that a letter
in a text of megabytes costs no more than a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.tui.base.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NO_MATCH: Final = "no match"
MAX_MATCHES: Final = 10_000
"""Places that a search remembers of a text."""


class Match(NamedTuple):
    """A place that was found: the number of the piece, and the characters in it."""

    piece: int
    start: int
    end: int


@dataclass(slots=True)
class Matches:
    """What a search found, in the order of the text; ``at`` is the match one is at, or -1."""

    needle: str = ""
    found: list[Match] = field(default_factory=list)
    at: int = -1

    @property
    def caption(self) -> str:
        """Which match one is at, of how many: ``3 of 12``; ``no match`` when there is none."""
        if not self.needle:
            return ""
        if not self.found:
            return NO_MATCH
        more = "+" if len(self.found) == MAX_MATCHES else ""
        return f"{self.at + 1:,} of {len(self.found):,}{more}"

    @property
    def here(self) -> Match | None:
        """The match one is at."""
        return self.found[self.at] if 0 <= self.at < len(self.found) else None

    def go_to(self, piece: int) -> None:
        """Go to the first match in or after a piece; after the last comes the first."""
        after = bisect_left(self.found, Match(piece, 0, 0))
        self.at = (after if after < len(self.found) else 0) if self.found else -1

    def step(self, by: int) -> None:
        """Go on by so many matches; after the last comes the first."""
        if self.found:
            self.at = (self.at + by) % len(self.found)

    def spans(self, piece: int) -> list[tuple[int, int, str]]:
        """Return the matches of a piece as start, end and role."""
        first = bisect_left(self.found, Match(piece, 0, 0))
        spans = []
        for at in range(first, len(self.found)):
            match = self.found[at]
            if match.piece != piece:
                break
            spans.append((match.start, match.end, "here" if at == self.at else "found"))
        return spans


def find(pieces: Sequence[Line], needle: str) -> Matches:
    """Return where ``needle`` stands in the pieces of a text."""
    matches = Matches(needle)
    if not needle:
        return matches
    pattern, lowered = re.compile(re.escape(needle), re.IGNORECASE), needle.lower()
    for number, piece in enumerate(pieces):
        plain = piece.plain
        if plain.isascii() and lowered not in plain.lower():
            continue
        for match in pattern.finditer(plain):
            matches.found.append(Match(number, *match.span()))
            if len(matches.found) == MAX_MATCHES:
                return matches
    return matches


def mark_row(
    rows: Sequence[Line], part: int, source: Line, spans: Sequence[tuple[int, int, str]]
) -> Line:
    """Return one of the rows that a piece was wrapped to, with the matches in it marked."""
    plain, at = source.plain, 0
    lead = len(source.continued().spans) if len(rows) > 1 else 0
    for number, row in enumerate(rows[: part + 1]):
        marked = Line()
        for index, (text, role) in enumerate(row.spans):
            begins = plain.find(text, at) if number == 0 or index >= lead else -1
            if begins < 0 or plain[at:begins].strip():
                marked.spans.append((text, role))
                continue
            at = begins + len(text)
            if number == part:
                marked.spans.extend(_divided(text, role, begins, spans))
    return marked


def _divided(
    text: str, role: str, begins: int, spans: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[str, str]]:
    """A text that begins at a character of its piece, divided where a match starts or ends."""
    at = 0
    for start, end, match_role in spans:
        first, last = max(start - begins, at), min(end - begins, len(text))
        if first >= last:
            continue
        if first > at:
            yield text[at:first], role
        yield text[first:last], match_role
        at = last
    if at < len(text):
        yield text[at:], role
