"""Erases memories from the record of agents' calls; part of the transaction that purges them."""

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

ERASED: Final = b""
"""Stands for a call's texts where there were some."""
_TELLING: Final = 12
_COMPARED: Final = 200


def erase_from_calls(
    db: "duckdb.DuckDBPyConnection", memory_ids: Collection[str], contents: Collection[str]
) -> None:
    """Delete the recorded text of agents' calls that read, wrote or proposed purged memories.

    The record of each call itself stays, with its time, sizes and agent. Calls that don't list
    memory ids are found by searching their text for the purged contents; contents of only a few
    characters are not searched for. Runs inside the transaction that purges the memories.
    """
    words = [content[:_COMPARED] for content in contents if len(content) >= _TELLING]
    listed = "SELECT number FROM agent_calls WHERE list_has_any(memory_ids, ?)"
    about = {number for (number,) in db.execute(listed, [list(memory_ids)]).fetchall()}
    about.update(_saying(db, words))
    db.execute(
        "UPDATE agent_calls SET arguments = '{}', texts = ? WHERE number IN (SELECT unnest(?))",
        [ERASED, sorted(about)],
    )


def _saying(db: "duckdb.DuckDBPyConnection", words: Sequence[str]) -> list[int]:
    """The calls whose arguments, reply or explanation have any of these words in them."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    # As they stand in JSON, where a reply is JSON of its own.
    once = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
    twice = [json.dumps(word)[1:-1] for word in (*words, *once)]
    found = []
    calls = (
        db.execute("SELECT number, arguments, texts FROM agent_calls").fetchall() if words else []
    )
    for number, arguments, texts in calls:
        stored = decompressor.decompress(texts).decode() if texts != ERASED else ""
        if any(word in arguments for word in once) or any(word in stored for word in twice):
            found.append(number)
    return found
