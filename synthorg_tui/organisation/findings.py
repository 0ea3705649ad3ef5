"""What a check of the organisation's rules found, as plain data for the commands and the screens.

It loads nothing that checks: that is ``lint``, and what it asks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from synthorg_tui.skills.document import Severity

CheckSink = Callable[[int, int], None]
"""Is told how many sessions have been looked at, of how many."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A call that did what a rule forbids.

    ``line`` is where the call stands in the transcript of the session ``execution_id``, ``did`` the
    program, file or tool, ``ended`` how it ended in words, ``at`` when, if the transcript says so.
    """

    execution_id: str
    line: int
    did: str
    ended: str
    at: datetime | None


class FindingKind(StrEnum):
    """What a finding is about."""

    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    OVER_BUDGET = "over budget"
    TOO_LONG = "too long"
    NO_PROJECT = "project gone"
    SUPERSEDED = "superseded"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class OrgFinding:
    """Something about an entry that a person should look at.

    ``why`` and ``remedy`` are sentences. ``others`` are ids of other entries that it concerns.
    ``evidence`` has the latest calls that broke a rule; ``count`` is how many there are in all, in
    ``sessions`` sessions, ``earlier`` of them from before the rule was last written.
    """

    kind: FindingKind
    severity: Severity
    entry_id: str
    text: str
    why: str
    remedy: str
    others: tuple[str, ...] = ()
    evidence: tuple[Breach, ...] = ()
    count: int = 0
    sessions: int = 0
    earlier: int = 0
