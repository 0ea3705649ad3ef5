"""What the record of agents' calls says of memories: which call was given one, and its erasure.

The erasure is part of the transaction that purges the memories.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.work_texts import Words, erase_from_work

ERASED: Final = b""
"""Stands for a call's texts where there were some."""


def erase_from_calls(
    db: Connection, memory_ids: Collection[str], contents: Collection[str]
) -> None:
    """Delete the recorded text of agents' calls that read, wrote or proposed purged memories.

    The record of each call itself stays, with its time, sizes and agent. Calls that don't list
    memory ids are found by searching their text for the purged contents; contents of only a few
    characters are not searched for. What operational data repeats of them is erased as well, and
    what a person searched for before opening one of them. Runs inside the transaction that purges
    the memories.
    """
    listed = "SELECT number FROM agent_calls WHERE list_has_any(memory_ids, ?)"
    about = {number for (number,) in db.execute(listed, [list(memory_ids)]).fetchall()}
    about.update(_saying(db, Words(contents)))
    db.execute(
        "UPDATE agent_calls SET arguments = '{}', texts = ? "
        "WHERE number IN (SELECT unnest(?::BIGINT[]))",
        [ERASED, sorted(about)],
    )
    gone = "DELETE FROM opened_hits WHERE memory_id IN (SELECT unnest(?::UUID[]))"
    db.execute(gone, [list(memory_ids)])
    erase_from_work(db, memory_ids, contents)


def _saying(db: Connection, words: Words) -> list[int]:
    """The calls whose arguments, reply or explanation have any of these words in them."""
    if not words:
        return []
    import zstandard

    unpack = zstandard.ZstdDecompressor().decompress
    calls = db.execute("SELECT number, arguments, texts FROM agent_calls").fetchall()
    return [
        number
        for number, arguments, texts in calls
        if words.are_in(arguments) or (texts != ERASED and words.are_in(unpack(texts).decode()))
    ]


class RecordedCall(NamedTuple):
    """A recorded call that worked, and the memories that it returned.

    ``explanation`` is what says why it did, empty where none is stored or was asked for.
    """

    number: int
    at: datetime
    agent_id: str
    project: str | None
    name: str
    arguments: str
    memory_ids: tuple[str, ...]
    explanation: str = ""


_CALLS: Final = (
    "SELECT number, called_at, agent_id, project, name, arguments, memory_ids, {texts} "
    "FROM agent_calls WHERE NOT wrote AND NOT is_error AND {where} ORDER BY number DESC LIMIT ?"
)


def calls_given(db: Connection, memory_id: str, *, limit: int) -> tuple[RecordedCall, ...]:
    """Return the calls that were given a memory without changing it, newest first, explained."""
    sql = _CALLS.format(texts="texts", where="list_contains(memory_ids, ?)")
    rows = db.execute(sql, [memory_id, limit]).fetchall()
    calls = ((*row, tuple(ids), _explanation(texts)) for *row, ids, texts in rows)
    return tuple(map(RecordedCall._make, calls))


def successful_calls(
    db: Connection, *, names: Sequence[str], limit: int
) -> tuple[RecordedCall, ...]:
    """Return the latest calls of these names that returned memories, oldest first."""
    sql = _CALLS.format(
        texts="NULL", where="name IN (SELECT unnest(?::VARCHAR[])) AND len(memory_ids) > 0"
    )
    rows = db.execute(sql, [list(names), limit]).fetchall()
    calls = ((*row, tuple(ids), "") for *row, ids, _ in reversed(rows))
    return tuple(map(RecordedCall._make, calls))


def _explanation(texts: bytes) -> str:
    import zstandard

    if texts == ERASED:
        return ""
    _, explanation = json.loads(zstandard.ZstdDecompressor().decompress(texts))
    return str(explanation)
