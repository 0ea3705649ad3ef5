"""The chats of Cursor's editor, which lie in its ``state.vscdb``, as lines.

A chat is a row that names it and one for each message; ``formats/cursor_editor.toml`` reads them.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from synthorg_tui.ingest.databases import (
    columns,
    keys,
    listed,
    opened,
    row_line,
    session_lines,
    session_path,
    text_at,
)
from synthorg_tui.ingest.readers.base import (
    items,
    json_object,
    text_of,
)
from synthorg_tui.ingest.records import mapping
from synthorg_tui.ingest.sources import ListedSession, SessionSource

ENVELOPE: Final = "cursor_editor"
"""The key of each record that says what the row is: ``chat`` or ``message``."""
_TABLE: Final = "cursorDiskKV"
_VALUE: Final = f"SELECT value FROM {_TABLE} WHERE key = ?"
_LISTED: Final = f"""
    SELECT substr(key, 14),
        CASE WHEN json_valid(value) THEN json_extract(value, '$.lastUpdatedAt') END,
        CASE WHEN json_valid(value) THEN json_array_length(value, '$.conversation') END
    FROM {_TABLE} WHERE key > 'composerData:' AND key < 'composerData;' ORDER BY key
"""


def _stored(path: Path) -> Sequence[ListedSession]:
    """The chats of a database that have messages; without the table of chats there are none."""
    with opened(path) as db:
        if not {"key", "value"} <= columns(db, _TABLE):
            if columns(db, "ItemTable"):  # the editor's, of a project without chats
                return []
            raise ValueError("not a database of Cursor")
        chats = db.execute(_LISTED).fetchall()
        sizes = [_size(db, chat) for chat, _, _ in chats]
    return [
        listed(session_path(path, chat), size + (inside or 0), at)
        for (chat, at, inside), size in zip(chats, sizes, strict=True)
        if isinstance(chat, str) and (size or inside)
    ]


def _size(db: sqlite3.Connection, chat: object) -> int:
    """What is another when a message was added or went on."""
    row = db.execute(
        f"SELECT count(*) + coalesce(sum(length(value)), 0) / 1024 FROM {_TABLE} "
        "WHERE key > 'bubbleId:' || ? || ':' AND key < 'bubbleId:' || ? || ';'",
        (chat, chat),
    ).fetchone()
    return int(row[0])


def _rows(db: sqlite3.Connection, chat: str) -> Iterator[bytes]:
    """The chat without its messages, then these in the order that it names."""
    data = text_at(db, _VALUE, f"composerData:{chat}")
    if data is None:
        return
    told = json_object(data)
    inside = items(told.pop("conversation", None))
    headers = items(told.pop("fullConversationHeadersOnly", None))
    about = {name: told.get(name) for name in ("name", "createdAt", "lastUpdatedAt", "status")}
    about["model"] = mapping(told.get("modelConfig")).get("modelName")
    yield row_line(ENVELOPE, "chat", chat, json.dumps(about).encode())
    for bubble in inside:
        yield row_line(ENVELOPE, "message", bubble.get("bubbleId"), json.dumps(bubble).encode())
    prefix = f"bubbleId:{chat}:"
    named = [prefix + text_of(header.get("bubbleId")) for header in headers]
    found = f"SELECT key FROM {_TABLE} WHERE key > ? AND key < ? ORDER BY rowid"
    present = named or keys(db, found, prefix, f"bubbleId:{chat};")
    for key in present:
        data = text_at(db, _VALUE, key)
        if data is not None:
            yield row_line(ENVELOPE, "message", str(key).removeprefix(prefix), data)


CHATS: Final = SessionSource(partial(session_lines, rows=_rows), _stored)
"""The chats of a database."""
