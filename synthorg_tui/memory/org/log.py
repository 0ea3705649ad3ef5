"""SQL of organisation memory: the append-only log, and what it comes to.

Plain functions on a connection, so that a transaction can hold several. Tags are sorted JSON lists,
so that equal ones are equal texts. What may be written is decided in ``store``.
"""

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from synthorg_tui.core.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from synthorg_tui.memory.org.models import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
)
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import aware, insert, naive_utc, number_of

PUBLISH: Final = "PUBLISH"
RETRACT: Final = "RETRACT"
ERASED: Final = "(erased)"
"""What stands where a text was erased for good."""


class FactRow(NamedTuple):
    """One row of ``org_facts``, in column order; times are naive UTC.

    ``version`` and ``changed_at`` are those of the last line of its log, the author is that of its
    text.
    """

    fact_id: str
    revision: int
    content: str
    category: str
    tags: str
    author_agent_id: str | None
    author_seniority: str | None
    author_is_human: bool
    author_autonomy_level: str | None
    created_at: datetime
    changed_at: datetime
    retracted_at: datetime | None
    version: int

    @property
    def is_active(self) -> bool:
        """Whether it isn't retracted."""
        return self.retracted_at is None

    @property
    def author(self) -> OrgFactAuthor:
        """Who wrote the present text."""
        return author_of(self[5:9])

    def fact(self) -> OrgFact:
        """The documented form."""
        return OrgFact(
            id=self.fact_id,
            content=self.content,
            category=OrgFactCategory(self.category),
            tags=tags_of(self.tags),
            author=self.author,
            created_at=self.created_at.replace(tzinfo=UTC),
        )

    def snapshot(self) -> OperationLogSnapshot:
        """The documented form of its state."""
        return OperationLogSnapshot(
            fact_id=self.fact_id,
            content=self.content,
            category=OrgFactCategory(self.category),
            tags=tags_of(self.tags),
            created_at=self.created_at.replace(tzinfo=UTC),
            retracted_at=aware(self.retracted_at),
            version=self.version,
        )


class LogRow(NamedTuple):
    """One row of ``org_operations``, in column order; the time is naive UTC."""

    operation_id: str
    fact_id: str
    operation_type: str
    content: str | None
    category: str
    tags: str
    author_agent_id: str | None
    author_seniority: str | None
    author_is_human: bool
    author_autonomy_level: str | None
    made_at: datetime
    version: int
    revision: int
    actor: str
    act: int | None
    undoes: int | None

    def entry(self) -> OperationLogEntry:
        """The documented form."""
        author = author_of(self[6:10])
        return OperationLogEntry(
            operation_id=self.operation_id,
            fact_id=self.fact_id,
            operation_type=PUBLISH if self.operation_type == PUBLISH else RETRACT,
            content=self.content,
            category=OrgFactCategory(self.category),
            tags=tags_of(self.tags),
            author_agent_id=author.agent_id,
            author_seniority=author.seniority,
            author_is_human=author.is_human,
            author_autonomy_level=author.autonomy_level,
            timestamp=self.made_at.replace(tzinfo=UTC),
            version=self.version,
        )


_FACT_TYPES: Final = (
    *("UUID", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR"),
    *("VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR"),
    *("TIMESTAMP", "TIMESTAMP", "TIMESTAMP", "BIGINT"),
)
_LOG_TYPES: Final = (
    *("UUID", "UUID", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"),
    *("VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR"),
    *("TIMESTAMP", "BIGINT", "BIGINT", "VARCHAR", "BIGINT", "BIGINT"),
)
_IDS: Final = ("fact_id", "operation_id")


def _selected(names: Iterable[str]) -> str:
    return ", ".join(f"{name}::VARCHAR" if name in _IDS else name for name in names)


FACT_COLUMNS: Final = _selected(FactRow._fields)
_LOG_COLUMNS: Final = _selected(LogRow._fields)
STATE_NOW: Final = "SELECT * FROM org_facts WHERE {some}"
STATE_THEN: Final = """
    SELECT fact_id, max(revision) AS revision,
        arg_max(content, version) FILTER (operation_type = 'PUBLISH') AS content,
        arg_max(category, version) AS category, arg_max(tags, version) AS tags,
        arg_max_null(author_agent_id, version) FILTER (operation_type = 'PUBLISH')
            AS author_agent_id,
        arg_max_null(author_seniority, version) FILTER (operation_type = 'PUBLISH')
            AS author_seniority,
        arg_max_null(author_is_human, version) FILTER (operation_type = 'PUBLISH')
            AS author_is_human,
        arg_max_null(author_autonomy_level, version) FILTER (operation_type = 'PUBLISH')
            AS author_autonomy_level,
        min(made_at) AS created_at, max(made_at) AS changed_at,
        CASE WHEN arg_max(operation_type, version) = 'RETRACT' THEN max(made_at) END
            AS retracted_at,
        max(version) AS version
    FROM org_operations WHERE made_at <= ? AND {some} GROUP BY fact_id
    HAVING count(*) FILTER (operation_type = 'PUBLISH') > 0
"""
"""The state of each fact at a moment, by the log up to then; ``some`` says of which facts."""
_EVER: Final = datetime.max.replace(tzinfo=UTC)


def author_of(values: Sequence[Any]) -> OrgFactAuthor:
    """Return the author that four columns of a row stand for."""
    agent_id, seniority, is_human, autonomy = values
    return OrgFactAuthor(
        agent_id=agent_id,
        seniority=seniority and SeniorityLevel(seniority),
        is_human=is_human,
        autonomy_level=autonomy and AutonomyLevel(autonomy),
    )


def author_values(author: OrgFactAuthor) -> tuple[str | None, str | None, bool, str | None]:
    """Return the values of the four columns that stand for an author."""
    seniority, autonomy = author.seniority, author.autonomy_level
    return (
        author.agent_id,
        seniority.value if seniority else None,
        author.is_human,
        autonomy.value if autonomy else None,
    )


def tags_of(stored: str) -> tuple[str, ...]:
    """Return the tags that a stored JSON list holds."""
    return tuple(json.loads(stored)) if stored != "[]" else ()


def stored_tags(tags: Iterable[str]) -> str:
    """Return tags as they are stored: sorted, each once."""
    return json.dumps(sorted(set(tags)), ensure_ascii=False)


def known_id(text: str) -> str | None:
    """Return an id of a fact in canonical form; ``None`` for what can't be one."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def fact_rows(
    db: Connection, clause: str, values: Sequence[object] = (), *, of: str = "org_facts"
) -> list[FactRow]:
    """Return the facts that an SQL ``clause`` after a table, or a query in brackets, selects."""
    rows = db.execute(f"SELECT {FACT_COLUMNS} FROM {of} {clause}", list(values)).fetchall()
    return [FactRow._make(row) for row in rows]


def rows_of_ids(db: Connection, ids: Iterable[str]) -> dict[str, FactRow]:
    """Return the facts with these ids, retracted ones included, by id."""
    wanted = [found for each in ids if (found := known_id(each))]
    which = "WHERE fact_id IN (SELECT unnest(?::UUID[]))"
    return {row.fact_id: row for row in fact_rows(db, which, [wanted])} if wanted else {}


def all_rows(db: Connection, *, retracted: bool) -> list[FactRow]:
    """Return the facts, the newest first; with ``retracted`` those that were, too."""
    where = "TRUE" if retracted else "retracted_at IS NULL"
    return fact_rows(db, f"WHERE {where} ORDER BY created_at DESC, fact_id")


def rows_with(
    db: Connection,
    text: str | None,
    categories: Collection[OrgFactCategory] | None,
    limit: int | None,
) -> list[FactRow]:
    """Return active facts of some categories that hold a text, in the documented order.

    By where the text stands, in any case; then the shorter, then the newer. No character of it is a
    wildcard. ``None`` is no condition, and no limit.
    """
    where, values, order = ["retracted_at IS NULL"], list[object](), ""
    if categories is not None:
        where.append("list_contains(?::VARCHAR[], category)")
        values.append(sorted(categories))
    if text is not None:
        place = "strpos(lower(content), lower(?))"
        where.append(f"{place} > 0")
        order = f"{place}, length(content), "
        values += [text, text]
    most = "" if limit is None else f" LIMIT {int(limit)}"
    order = f"ORDER BY {order}created_at DESC, fact_id{most}"
    return fact_rows(db, f"WHERE {' AND '.join(where)} {order}", values)


def count_of(db: Connection, category: OrgFactCategory) -> int:
    """Return how many active facts are of a category."""
    active = "SELECT count(*) FROM org_facts WHERE retracted_at IS NULL AND category = ?"
    return number_of(db, active, [category])


def rows_at(db: Connection, at: datetime) -> list[FactRow]:
    """Return every fact as it was at a time, retracted ones with their last text, by id."""
    state = STATE_THEN.format(some="true")
    return fact_rows(db, "ORDER BY fact_id", [naive_utc(at)], of=f"({state})")


def lines_of(db: Connection, fact_id: str) -> list[LogRow]:
    """Return the log of a fact in ascending order of versions."""
    key = known_id(fact_id)
    return log_rows(db, "fact_id = ?::UUID ORDER BY version", [key]) if key else []


def log_rows(db: Connection, clause: str, values: Sequence[object]) -> list[LogRow]:
    """Return the lines that an SQL ``clause`` after ``WHERE`` selects."""
    sql = f"SELECT {_LOG_COLUMNS} FROM org_operations WHERE {clause}"
    return [LogRow._make(row) for row in db.execute(sql, list(values)).fetchall()]


def moments(db: Connection) -> tuple[datetime, ...]:
    """Return when lines were written, ascending, each time once."""
    rows = db.execute("SELECT DISTINCT made_at FROM org_operations ORDER BY made_at").fetchall()
    return tuple(made_at.replace(tzinfo=UTC) for (made_at,) in rows)


def disagreeing(db: Connection) -> tuple[int, list[str]]:
    """Return how many facts there are, and those that aren't what their log comes to."""
    logged = {row.fact_id: row for row in rows_at(db, _EVER)}
    stored = {row.fact_id: row for row in all_rows(db, retracted=True)}
    ids = sorted({*logged, *stored})
    return len(stored), [each for each in ids if logged.get(each) != stored.get(each)]


def rebuild(db: Connection, ids: Sequence[str]) -> None:
    """Make facts what their log comes to; one without a log is removed."""
    stored = rows_of_ids(db, ids)
    logged = {row.fact_id: row for row in rows_at(db, _EVER)}
    right = [logged[each] for each in ids if each in logged]
    put(db, right, known=stored)
    gone = [each for each in stored if each not in logged]
    db.execute("DELETE FROM org_facts WHERE fact_id IN (SELECT unnest(?::UUID[]))", [gone])


def append(db: Connection, lines: Sequence[LogRow]) -> None:
    """Add lines to the log."""
    insert(db, "org_operations", _LOG_TYPES, lines)


def put(db: Connection, rows: Sequence[FactRow], *, known: Iterable[str]) -> None:
    """Write rows of facts; those among ``known`` have one already."""
    former = set(known)
    insert(db, "org_facts", _FACT_TYPES, [row for row in rows if row.fact_id not in former])
    names = FactRow._fields[1:]
    for row in rows:
        if row.fact_id in former:
            db.execute(
                f"UPDATE org_facts SET {', '.join(f'{name} = ?' for name in names)} "
                "WHERE fact_id = ?::UUID",
                [*row[1:], row.fact_id],
            )


def facts_stamp(db: Connection) -> tuple[int, int]:
    """Return what is another one after every change of facts: the last revision, and how many."""
    row = db.execute("SELECT coalesce(max(revision), 0), count(*) FROM org_facts").fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def tag_rows(db: Connection) -> list[tuple[str, str, str]]:
    """Return id, category and stored tags of the active facts, the newest first."""
    return db.execute(
        "SELECT fact_id::VARCHAR, category, tags FROM org_facts WHERE retracted_at IS NULL "
        "ORDER BY created_at DESC, fact_id"
    ).fetchall()
