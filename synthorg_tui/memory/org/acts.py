"""What became of facts by their log, and the changes that take it back.

Taking back appends the inverse: no line is ever deleted. The acts of a person are found here, the
newest first; what agents and decisions wrote isn't taken back so, a decision is undone as a whole.
What somebody has changed since is passed over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.log import ERASED, LogRow, lines_of, log_rows
from synthorg_tui.memory.org.models import OperationLogEntry, OrgFactAuthor, OrgFactWriteRequest
from synthorg_tui.persistence.port import Connection

MAX_LOOKED_AT: Final = 200
"""Acts that are looked through for one that can be taken back."""
_ACTS: Final = """
    SELECT act FROM org_operations WHERE author_is_human AND act IS NOT NULL AND undoes IS NULL
    AND act NOT IN (SELECT undoes FROM org_operations WHERE undoes IS NOT NULL)
    GROUP BY act ORDER BY act DESC LIMIT ?
"""
_PERSON: Final = OrgFactAuthor(is_human=True)


@dataclass(frozen=True, slots=True)
class FactState:
    """A fact after one line of its log; ``said`` are its last words, ``None`` before the first.

    ``author`` is that of the line, ``None`` of a fact that isn't there.
    """

    version: int = 0
    said: OrgFactWriteRequest | None = None
    is_active: bool = False
    author: OrgFactAuthor | None = None

    @property
    def request(self) -> OrgFactWriteRequest | None:
        """What it says; ``None`` while it is retracted or not yet there."""
        return self.said if self.is_active else None

    def says_the_same_as(self, other: "FactState") -> bool:
        """Tell whether two states have the same words, category and tags, or none at all."""
        return words_of(self.request) == words_of(other.request)

    def change_to(self, before: "FactState", fact_id: str) -> OrgChange:
        """Return the change after which a fact in this state is as it was; its author's again."""
        request = before.request if before.author is not None else None
        return OrgChange(
            kind=OrgChangeKind.RETRACT if request is None else OrgChangeKind.PUBLISH,
            author=before.author if request and before.author else _PERSON,
            fact_id=fact_id,
            request=request,
            expected_version=self.version,
        )


def words_of(
    request: OrgFactWriteRequest | None,
) -> tuple[OrgFactCategory, str, tuple[str, ...]] | None:
    """Return what tells one text of a fact from another, whatever the order of its tags."""
    if request is None:
        return None
    return request.category, request.content, tuple(sorted(set(request.tags)))


def states_of(log: Iterable[OperationLogEntry]) -> dict[int, FactState]:
    """Return the states of a fact by version, of its log; 0 is before its first line."""
    state = FactState()
    states = {0: state}
    for line in log:
        said = state.said
        if line.content is not None and line.category is not None:
            said = OrgFactWriteRequest(content=line.content, category=line.category, tags=line.tags)
        state = FactState(line.version, said, line.content is not None, line.author)
        states[line.version] = state
    return states


class UndoableAct(NamedTuple):
    """What a person did at once: its number, when, and the changes that take it back."""

    number: int
    at: datetime
    deed: str
    inverse: tuple[OrgChange, ...]


def last_act(db: Connection) -> UndoableAct | None:
    """Return the newest act of a person that can still be taken back; ``None`` without one."""
    for (number,) in db.execute(_ACTS, [MAX_LOOKED_AT]).fetchall():
        lines = log_rows(db, "act = ? AND author_is_human ORDER BY revision", [number])
        logs = {
            line.fact_id: states_of(row.entry() for row in lines_of(db, line.fact_id))
            for line in lines
        }
        inverse = [each for line in lines if (each := _inverse(logs[line.fact_id], line))]
        if inverse:
            deed = _deed(logs[lines[0].fact_id][lines[0].version - 1], lines[0])
            return UndoableAct(number, lines[0].made_at, deed, tuple(reversed(inverse)))
    return None


def _inverse(states: dict[int, FactState], line: LogRow) -> OrgChange | None:
    """The change that takes a line back; ``None`` where the fact is another one since."""
    before, after, present = states[line.version - 1], states[line.version], states[max(states)]
    if (present.said, present.is_active) != (after.said, after.is_active):
        return None
    if any(said is not None and said.content == ERASED for said in (present.said, before.request)):
        return None
    return present.change_to(replace(before, author=_PERSON), line.fact_id)


def _deed(before: FactState, line: LogRow) -> str:
    """What a line did, as the word that follows ``undid``."""
    if before.said is None:
        return "adding"
    if line.content is None:
        return "retracting"
    return "editing" if before.is_active else "bringing back"
