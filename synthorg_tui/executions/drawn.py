"""What was drawn from sessions into knowledge, found and erased by session.

Facts are counts of one session; lines say what the facts of many sessions say together, and are
told by memories. Here is only what has to happen to them when a session or a line of it is erased;
how they are made is for ``knowledge``.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from synthorg_tui.executions.models import SourceRef
from synthorg_tui.persistence.port import Connection

REFRESH: Final = "knowledge"
"""The job whose moment says when the lines of all projects were worded last."""


class DrawnMemory(NamedTuple):
    """A memory of knowledge that names erased lines; ``by_hand`` when a person changed it."""

    memory_id: str
    key: str
    by_hand: bool


def drawn_from(db: Connection, refs: Sequence[SourceRef]) -> tuple[DrawnMemory, ...]:
    """Return the memories of knowledge of which an episode has one of these lines.

    One that a person worded is only named when no other session shows it.
    """
    wanted: dict[str, list[SourceRef]] = {}
    for ref in refs:
        wanted.setdefault(ref.execution_id, []).append(ref)
    rows = db.execute(
        "SELECT m.id::VARCHAR, k.memory_key, m.edited, m.deleted_at IS NOT NULL, k.episodes "
        "FROM knowledge_lines k JOIN memories m ON m.import_key = k.memory_key AND m.shared "
        "WHERE list_has_any(list_transform(k.episodes, lambda e: split_part(e, '#', 1)), "
        "?::VARCHAR[]) "
        "ORDER BY 1",
        [sorted(wanted)],
    ).fetchall()
    found = []
    for memory_id, key, edited, deleted, episodes in rows:
        parsed = [one for each in episodes if (one := SourceRef.parse(each)) is not None]
        hit = [one for one in parsed if _overlaps(one, wanted.get(one.execution_id, ()))]
        if hit and not (edited and len(hit) < len(parsed)):
            found.append(DrawnMemory(memory_id, key, edited or deleted))
    return tuple(found)


def release_in(db: Connection, drawn: Sequence[DrawnMemory]) -> None:
    """Forget the lines of purged memories, so that other sessions may show them again.

    The next refresh looks at all projects. What a person had changed or deleted stays away for
    good. Runs in the purging transaction.
    """
    if drawn:
        word_all_in(db)
    release_purged(db, [each.memory_id for each in drawn if not each.by_hand])
    db.execute(
        "DELETE FROM knowledge_lines WHERE memory_key IN (SELECT unnest(?::VARCHAR[]))",
        [[each.key for each in drawn]],
    )


def drawn_again(db: Connection, ids: Sequence[str]) -> list[str]:
    """Return the memories that a session draws from its lines, as nobody changed or deleted them.

    What people said is known by its words in all sessions, so it isn't among them.
    """
    rows = db.execute(
        "SELECT DISTINCT m.id::VARCHAR FROM memories m, unnest(?::VARCHAR[]) AS s(id) "
        "WHERE starts_with(m.source, s.id || '#') AND contains(m.import_key, '|') "
        "AND NOT contains(m.import_key, '|said:') AND NOT m.edited AND m.deleted_at IS NULL "
        "ORDER BY 1",
        [list(ids)],
    ).fetchall()
    return [row[0] for row in rows]


class Source(NamedTuple):
    """A memory with its import key and the lines of a session that it is drawn from."""

    memory_id: str
    key: str
    source: str


def sources_in(db: Connection, ids: Sequence[str]) -> list[Source]:
    """Return the memories drawn from lines of these sessions, deleted ones too."""
    rows = db.execute(
        "SELECT DISTINCT m.id::VARCHAR, coalesce(m.import_key, ''), m.source "
        "FROM memories m, unnest(?::VARCHAR[]) AS s(id) WHERE starts_with(m.source, s.id || '#') "
        "ORDER BY 1",
        [list(ids)],
    ).fetchall()
    return [Source(*row) for row in rows]


def move_in(db: Connection, places: Mapping[str, str]) -> None:
    """Have memories, by their ids, name these sources."""
    for memory_id, source in places.items():
        db.execute("UPDATE memories SET source = ? WHERE id = ?::UUID", [source, memory_id])


def release_purged(db: Connection, memory_ids: Sequence[str]) -> None:
    """Let imports bring purged memories back: they were not deleted on purpose."""
    db.execute(
        "UPDATE tombstones SET import_key = NULL, content_hash = '' "
        "WHERE memory_id IN (SELECT unnest(?::UUID[]))",
        [list(memory_ids)],
    )


def word_all_in(db: Connection) -> None:
    """Have the next refresh word the lines of all projects anew, whatever changed since."""
    db.execute("DELETE FROM meta WHERE name = ?", [f"moment:{REFRESH}"])


def detach_in(db: Connection, ids: Sequence[str]) -> None:
    """Have facts and lines no longer name these sessions, whose memories stay."""
    listed = "(SELECT unnest(?::VARCHAR[]))"
    db.execute(
        f"DELETE FROM session_facts WHERE execution_id IN {listed} AND topic = ''", [list(ids)]
    )
    db.execute(
        "UPDATE session_facts SET execution_id = '', first_line = 1, last_line = 1 "
        f"WHERE execution_id IN {listed}",
        [list(ids)],
    )
    db.execute(
        "UPDATE knowledge_lines SET episodes = list_filter(episodes, "
        "lambda e: NOT list_contains(?::VARCHAR[], split_part(e, '#', 1)))",
        [list(ids)],
    )


def _overlaps(ref: SourceRef, others: Sequence[SourceRef]) -> bool:
    return any(
        ref.first_line <= other.last_line and other.first_line <= ref.last_line for other in others
    )
