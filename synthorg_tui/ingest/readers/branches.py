"""The branches of a conversation that a person went back in, by the parents of its records.

A record names the one before it. Going back leaves the records after that place in the file, but no
later record leads to them: what was said there was taken back.
"""

from dataclasses import dataclass, field
from typing import Final

from synthorg_tui.ingest.readers.base import ExecutionBuilder

MAX_RECORDS: Final = 200_000
"""A conversation of more records is taken as one without branches."""


@dataclass(slots=True)
class Branches:
    """The records of a conversation and the parent of each.

    A record whose parent isn't in the file follows the one before it.
    """

    _parents: dict[str, str] = field(default_factory=dict)
    _last: str = ""
    _count: int = 0

    def note(self, record_id: str, parent_id: str) -> None:
        """Add a record; a later one of the same id is another piece of it."""
        if not record_id:
            return
        self._count += 1
        if record_id not in self._parents and self._count <= MAX_RECORDS:
            self._parents[record_id] = parent_id if parent_id in self._parents else self._last
        self._last = record_id

    def keep_in(self, builder: ExecutionBuilder) -> None:
        """Drop what the builder has of records that the last one doesn't lead back to."""
        dead = self._dead()
        if dead:
            builder.keep(
                lambda turn: turn.record_id not in dead, lambda call: call.record_id not in dead
            )

    def _dead(self) -> frozenset[str]:
        if self._count > MAX_RECORDS:
            return frozenset()
        alive: set[str] = set()
        record_id = self._last
        while record_id and record_id not in alive:
            alive.add(record_id)
            record_id = self._parents.get(record_id, "")
        return frozenset(self._parents.keys() - alive)
