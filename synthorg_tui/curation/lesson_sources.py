"""What approved lessons stand on: the memories of the failures that their evidence names.

An edge says so, from the lesson's memory to the recovery's. Where both fit a question an agent is
given the lesson alone, since it says what the recovery does and when it holds. Plain functions on
a connection: they run inside the transaction that stores the lesson or takes it back.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from synthorg_tui.curation.registry import RegisteredSkill
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.memory.enums import EdgeKind
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges, edges_of, remove_edges
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive_utc

_MADE_BY: Final = "lesson"
_ONE_FAILURE: Final = (MemoryKind.RECOVERY.value, MemoryKind.REFUSED.value)


def stand_on_sources(db: Connection, skills: Iterable[RegisteredSkill], *, at: datetime) -> int:
    """Record what the memories of these skills stand on, and return how many edges that are.

    Those that are known stay. A recovery is a lesson's if both begin with the same failing call or
    end with the same one that worked: what else failed meanwhile is another matter.
    """
    wanted = [(skill.memory_ids, _failures_of(skill)) for skill in skills]
    known = _failures_in(db, sorted({ref.execution_id for _, refs in wanted for ref in refs}))
    edges = [
        MemoryEdge(lesson, key, EdgeKind.DERIVED_FROM)
        for memory_ids, refs in wanted
        for key in sorted(
            {
                key
                for ref in refs
                for key, other in known[ref.execution_id]
                if other.first_line == ref.first_line or other.last_line == ref.last_line
            }
        )
        for lesson in memory_ids
    ]
    add_edges(db, edges, made_at=naive_utc(at), made_by=_MADE_BY)
    return len(edges)


def forget_sources(db: Connection, memory_ids: Iterable[str]) -> None:
    """Remove what these memories stand on: the decision that stored them was undone."""
    ids = frozenset(memory_ids)
    found = edges_of(db, sorted(ids), [EdgeKind.DERIVED_FROM])
    remove_edges(db, (edge for edge in found if edge.from_id in ids))


def _failures_of(skill: RegisteredSkill) -> list[SourceRef]:
    """The lines of what failed and was put right; those of a habit only tell where it was seen."""
    seen = (SourceRef.parse(each.lines) for each in skill.evidence if each.failed)
    return [ref for ref in seen if ref is not None]


def _failures_in(db: Connection, runs: Sequence[str]) -> dict[str, list[tuple[str, SourceRef]]]:
    """The memories of single failures that were drawn from these executions, with their lines."""
    found: dict[str, list[tuple[str, SourceRef]]] = defaultdict(list)
    if not runs:
        return found
    rows = db.execute(
        "SELECT m.id::VARCHAR, m.source FROM memories m WHERE m.deleted_at IS NULL "
        "AND m.tags[1] IN (SELECT unnest(?::VARCHAR[])) "
        "AND split_part(m.source, '#', 1) IN (SELECT unnest(?::VARCHAR[]))",
        [list(_ONE_FAILURE), list(runs)],
    ).fetchall()
    for key, source in rows:
        ref = SourceRef.parse(source)
        if ref is not None:
            found[ref.execution_id].append((key, ref))
    return found
