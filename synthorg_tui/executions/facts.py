"""What a list shows of a session, stored beside its record so that a list unpacks none.

The record is what is true; these columns are made of it whenever it is written. In rows without
them, of an earlier version or with a record that was cleaned since, ``fill_missing`` puts them in.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.titles import session_title
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.texts import TextChange
from synthorg_tui.persistence.values import naive

_log = logging.getLogger(__name__)

_TYPES: Final = {
    "id": "VARCHAR",
    "title": "VARCHAR",
    "outcome": "VARCHAR",
    "started_at": "TIMESTAMP",
    "ended_at": "TIMESTAMP",
    "parent_id": "VARCHAR",
    "model": "VARCHAR",
    "calls": "BIGINT",
    "failures": "BIGINT",
    "files": "VARCHAR[]",
    "size": "BIGINT",
}
FACTS: Final = tuple(_TYPES)[1:]
"""The columns; ``title`` is null where they aren't filled yet."""
_BATCH: Final = 32
"""Rows that are filled in one transaction; of records, one at a time is in memory."""


def facts_of(execution: Execution, size: int) -> tuple[object, ...]:
    """Return the values of ``FACTS``; ``size`` is in bytes, of record and lines."""
    return (
        session_title(execution),
        execution.outcome.value,
        naive(execution.started_at),
        naive(execution.ended_at),
        execution.parent_id,
        execution.model,
        len(execution.calls),
        len(execution.failures),
        list(dict.fromkeys([*execution.files_touched, *_changed(execution)])),
        size,
    )


def _changed(execution: Execution) -> Iterator[str]:
    for call in execution.calls:
        if call.changed_path:
            yield from call.changed_path.split(", ")


async def fill_missing(database: StoreDatabase) -> int:
    """Fill the columns of all rows that lack them; return how many.

    What is filled stays when the program is killed meanwhile.
    """
    filled = 0
    while sizes := await database.read(_unfilled):
        rows = [
            (id_, *await database.read(partial(_facts_in, execution_id=id_, lines_size=size)))
            for id_, size in sizes
        ]
        await database.write(partial(_fill, rows=rows))
        filled += len(rows)
    return filled


def outdated(change: TextChange) -> TextChange:
    """Have the columns of a changed row of ``executions`` made anew of its record.

    A title is a cut text: what is found in the whole one may not be found in it.
    """
    if change.table != "executions":
        return change
    others = tuple(pair for pair in change.values if pair[0] != "title")
    return replace(change, values=(*others, ("title", None)))


def pack_record(execution: Execution) -> bytes:
    """Return the execution as compressed JSON: the JSON may be large, and is there only once."""
    import zstandard
    from pydantic_core import to_json

    return zstandard.ZstdCompressor(level=3).compress(to_json(execution))


def unpack_record(record: bytes) -> Execution:
    """Return the execution of a stored record."""
    import zstandard

    return Execution.model_validate_json(zstandard.ZstdDecompressor().decompress(record))


def readable_record(record: bytes) -> Execution | None:
    """Return the execution of a stored record; ``None`` when there is anything wrong with it.

    Whoever looks through many counts the others.
    """
    try:
        return unpack_record(record)
    except Exception:
        return None


def _unfilled(db: Connection) -> list[tuple[str, int]]:
    """The ids of some rows to fill, each with the bytes of its lines."""
    return db.execute(
        "WITH bare AS (SELECT id FROM executions WHERE title IS NULL ORDER BY id LIMIT ?) "
        "SELECT bare.id, coalesce(sum(octet_length(l.lines)), 0)::BIGINT FROM bare "
        "LEFT JOIN execution_lines l ON l.execution_id = bare.id GROUP BY 1 ORDER BY 1",
        [_BATCH],
    ).fetchall()


def _facts_in(db: Connection, execution_id: str, lines_size: int) -> tuple[object, ...]:
    """The values of ``FACTS``; of an unreadable record those that say nothing."""
    row = db.execute("SELECT record FROM executions WHERE id = ?", [execution_id]).fetchone()
    record = row[0] if row else b""
    try:
        execution = unpack_record(record)
    except Exception:  # whatever is wrong with one record, the list shows the others
        _log.warning("the record of session %s can't be read", execution_id, exc_info=True)
        execution = Execution(id=execution_id, reader="?", session_id=execution_id, agent_id="?")
    return facts_of(execution, len(record) + lines_size)


def _fill(db: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    sets = ", ".join(f"{name} = new.{name}" for name in FACTS)
    columns = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in _TYPES.items())
    db.execute(
        f"UPDATE executions SET {sets} FROM (SELECT {columns}) new "
        "WHERE executions.id = new.id AND executions.title IS NULL",
        list(map(list, zip(*rows, strict=True))),
    )
