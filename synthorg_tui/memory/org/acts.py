"""What a person did to facts, found in the log so that it can be taken back, newest first.

Taking back appends the inverse: no line is ever deleted. What agents and decisions wrote isn't
taken back here, a decision is undone as a whole; and what somebody has changed since is passed
over.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.log import (
    ERASED,
    PUBLISH,
    LogRow,
    lines_of,
    log_rows,
    rows_of_ids,
    tags_of,
)
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

MAX_LOOKED_AT: Final = 200
"""Acts that are looked through for one that can be taken back."""
_ACTS: Final = """
    SELECT act FROM org_operations WHERE author_is_human AND act IS NOT NULL AND undoes IS NULL
    AND act NOT IN (SELECT undoes FROM org_operations WHERE undoes IS NOT NULL)
    GROUP BY act ORDER BY act DESC LIMIT ?
"""


class UndoableAct(NamedTuple):
    """What a person did at once: its number, when, and the changes that take it back."""

    number: int
    at: datetime
    deed: str
    inverse: tuple[OrgChange, ...]


def last_act(db: "Connection") -> UndoableAct | None:
    """Return the newest act of a person that can still be taken back; ``None`` without one."""
    for (number,) in db.execute(_ACTS, [MAX_LOOKED_AT]).fetchall():
        lines = log_rows(db, "act = ? AND author_is_human ORDER BY revision", [number])
        inverse = [each for line in lines if (each := _inverse(db, line))]
        if inverse:
            deed = _deed(lines_of(db, lines[0].fact_id), lines[0])
            return UndoableAct(number, lines[0].made_at, deed, tuple(reversed(inverse)))
    return None


def _inverse(db: "Connection", line: LogRow) -> OrgChange | None:
    """The change that takes a line back; ``None`` where the fact is another one since."""
    row = rows_of_ids(db, [line.fact_id]).get(line.fact_id)
    lines = lines_of(db, line.fact_id)
    after, before = _state(lines, line.version), _state(lines, line.version - 1)
    if row is None or (_said(row.content, row.category, row.tags), row.is_active) != after:
        return None
    back = before[0] if before is not None and before[1] else None
    if row.content == ERASED or (back is not None and back.content == ERASED):
        return None
    return OrgChange(
        kind=OrgChangeKind.PUBLISH if back is not None else OrgChangeKind.RETRACT,
        author=OrgFactAuthor(is_human=True),
        fact_id=line.fact_id,
        request=back,
        expected_version=row.version,
    )


def _state(lines: Sequence[LogRow], version: int) -> tuple[OrgFactWriteRequest, bool] | None:
    """What a fact says after the line of a version, and whether it is active; ``None`` before."""
    until = [line for line in lines if line.version <= version]
    written = [line for line in until if line.operation_type == PUBLISH]
    if not written:
        return None
    last = written[-1]
    said = _said(last.content or ERASED, last.category, last.tags)
    return said, until[-1].operation_type == PUBLISH


def _said(content: str, category: str, tags: str) -> OrgFactWriteRequest:
    kind = OrgFactCategory(category)
    return OrgFactWriteRequest(content=content, category=kind, tags=tags_of(tags))


def _deed(lines: Sequence[LogRow], line: LogRow) -> str:
    """What a line did, as the word that follows ``undid``."""
    before = _state(lines, line.version - 1)
    if before is None:
        return "adding"
    if line.operation_type != PUBLISH:
        return "retracting"
    return "editing" if before[1] else "bringing back"
