"""Sessions that were forgotten: erased for good, and not imported again.

Of each only a mark stays, a hash of its id. The functions run inside the transaction that also
erases what was made of the session.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from synthorg_tui.executions.models import client_session
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import aware, naive, naive_utc
from synthorg_tui.persistence.work_texts import forget_work

_COUNTED: Final = ("erased_lines", "session_facts")
_ROWS: Final = (
    *("execution_lines", "session_events", "session_branches"),
    *("lesson_runs", "unlearnt_sessions"),
)


@dataclass(frozen=True, slots=True)
class AgedSessions:
    """How many sessions were deleted by age, and when the last one was."""

    count: int = 0
    latest: datetime | None = None


def forget_in(db: Connection, ids: Sequence[str], *, at: datetime, by_age: bool = False) -> None:
    """Erase sessions, their lines, and what the marks of their files tell of their content.

    With ``by_age`` one that goes on later is imported again, and lines erased from it stay so; what
    was counted in it stays with what was made of it.
    """
    listed = "(SELECT unnest(?::VARCHAR[]))"
    if not by_age:
        rows = db.execute(
            f"SELECT DISTINCT key FROM session_events WHERE execution_id IN {listed}", [ids]
        ).fetchall()
        forget_events_in(db, [row[0] for row in rows])
    absorb_in(db, ids, also=() if by_age else _COUNTED)
    forget_work(db, ids)
    db.execute(
        "DELETE FROM skill_evaluations WHERE EXISTS (SELECT 1 FROM "
        "(SELECT unnest(?::VARCHAR[]) AS id) ids WHERE contains(result, ids.id))",
        [ids],
    )
    db.execute(
        f"UPDATE lesson_uses SET session_id = NULL WHERE session_id IN {listed}",
        [[client_session(each) for each in ids if "/" not in each]],
    )
    forget_ids_in(db, ids, at=at, by_age=by_age)


def forget_ids_in(
    db: Connection, ids: Iterable[str], *, at: datetime, by_age: bool = False
) -> None:
    """Have no import bring back files with these ids; with ``by_age`` none that goes on no more."""
    for mark in _marks(db, ids):
        db.execute(
            "INSERT OR REPLACE INTO forgotten_sessions (mark, forgotten_at, by_age) "
            "VALUES (?, ?, ?)",
            [mark, naive_utc(at), by_age],
        )


def forget_events_in(db: Connection, keys: Iterable[int]) -> None:
    """Have no import bring back these events, whatever file they stand in."""
    marks = list(_event_marks(db, keys))
    db.execute("INSERT INTO forgotten_events SELECT unnest(?::BIGINT[])", [marks])


def forgotten_events_in(db: Connection, keys: Collection[int]) -> set[int]:
    """Return which of these events no import may bring back."""
    if db.execute("SELECT 1 FROM forgotten_events LIMIT 1").fetchone() is None:
        return set()
    marks = _event_marks(db, keys)
    rows = db.execute(
        "SELECT mark FROM forgotten_events WHERE mark IN (SELECT unnest(?::BIGINT[]))",
        [list(marks)],
    ).fetchall()
    return {marks[row[0]] for row in rows}


def absorb_in(db: Connection, ids: Sequence[str], *, also: Sequence[str] = _COUNTED) -> None:
    """Erase sessions, their lines, and what the marks of their files tell of their content.

    ``also`` are tables of what was counted in them. Nothing keeps them from being imported again.
    """
    listed = "(SELECT unnest(?::VARCHAR[]))"
    db.execute(
        "UPDATE file_marks SET digest = '' WHERE path IN "
        f"(SELECT path FROM executions WHERE id IN {listed} "
        f"UNION ALL SELECT path FROM session_branches WHERE execution_id IN {listed})",
        [ids, ids],
    )
    for table in (*_ROWS, *also):
        db.execute(f"DELETE FROM {table} WHERE execution_id IN {listed}", [ids])
    db.execute(f"DELETE FROM executions WHERE id IN {listed}", [ids])


def forgotten_in(db: Connection, ids: Iterable[str], ended_at: datetime | None = None) -> bool:
    """Return whether any of these sessions was forgotten, or deleted by age after it ended."""
    found = db.execute(
        "SELECT 1 FROM forgotten_sessions WHERE mark IN (SELECT unnest(?::VARCHAR[])) "
        "AND NOT (by_age AND coalesce(?::TIMESTAMP > forgotten_at, false)) LIMIT 1",
        [_marks(db, ids), naive(ended_at)],
    ).fetchone()
    return found is not None


def aged_in(db: Connection) -> AgedSessions:
    """Return how many sessions are forgotten since they were older than the settings allow."""
    row = db.execute(
        "SELECT count(*), max(forgotten_at) FROM forgotten_sessions WHERE by_age"
    ).fetchone()
    return AgedSessions(row[0], aware(row[1])) if row else AgedSessions()


def _marks(db: Connection, ids: Iterable[str]) -> list[str]:
    salt = _salt(db)
    return [hashlib.sha256(f"{salt}/{session_id}".encode()).hexdigest() for session_id in ids]


def _event_marks(db: Connection, keys: Iterable[int]) -> dict[int, int]:
    """The events by what is stored of those that are forgotten."""
    salt = _salt(db)
    hashes = {key: hashlib.blake2b(f"{salt}/{key}".encode(), digest_size=8) for key in keys}
    return {int.from_bytes(h.digest(), "big", signed=True): key for key, h in hashes.items()}


def _salt(db: Connection) -> str:
    row = db.execute("SELECT value FROM meta WHERE name = 'salt'").fetchone()
    return str(row[0]) if row else ""
