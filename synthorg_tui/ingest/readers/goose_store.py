"""The database of Goose, one line a row: the session, then its messages in their order."""

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
from synthorg_tui.ingest.sources import ListedSession, SessionSource

ENVELOPE: Final = "goose"
"""The key of each record that says what the row is: ``session`` or ``message``."""
_NEEDED: Final = {
    "sessions": {"id", "working_dir"},
    "messages": {"id", "session_id", "role", "content_json"},
}
_TOLD = {
    "name",
    "description",
    "working_dir",
    "session_type",
    "provider_name",
    "model_config_json",
    "input_tokens",
    "output_tokens",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
}


def _stored(path: Path) -> Sequence[ListedSession]:
    """The sessions of a database; an id that wasn't there tells one whose messages were redone."""
    with opened(path) as db:
        if any(not needed <= columns(db, table) for table, needed in _NEEDED.items()):
            raise ValueError("not a database of Goose")
        counts = {
            session: (count, last)
            for session, count, last in db.execute(
                "SELECT session_id, count(*), max(id) FROM messages GROUP BY session_id"
            ).fetchall()
        }
        sessions = [row[0] for row in db.execute("SELECT id FROM sessions ORDER BY id").fetchall()]
    return [
        listed(session_path(path, session), *counts.get(session, (0, 0)))
        for session in sessions
        if isinstance(session, str)
    ]


def _session_rows(db: sqlite3.Connection, session: str) -> Iterator[bytes]:
    yield row_line(ENVELOPE, "session", session, _session_data(db, session))
    present = columns(db, "messages") & {"message_id", "created_timestamp", "metadata_json"}
    for key in keys(db, "SELECT id FROM messages WHERE session_id = ? ORDER BY id", session):
        content = text_at(db, "SELECT content_json FROM messages WHERE id = ?", key)
        if content is not None:
            yield row_line(ENVELOPE, "message", key, _message_data(db, key, content, present))


def _session_data(db: sqlite3.Connection, session: str) -> bytes:
    """What the table says of the session, in the columns that this version has."""
    data = _values(db, "sessions", sorted(columns(db, "sessions") & _TOLD), session)
    config = data.get("model_config_json")
    if isinstance(config, str):
        try:
            data["model_config_json"] = json.loads(config)
        except (ValueError, RecursionError):
            del data["model_config_json"]
    return json.dumps(data, default=str).encode()


def _message_data(
    db: sqlite3.Connection, key: object, content: bytes, present: frozenset[str]
) -> bytes:
    data = _values(db, "messages", sorted(present | {"role"}), key)
    metadata = data.pop("metadata_json", None)
    hides = isinstance(metadata, str) and '"userVisible":false' in metadata.replace(" ", "")
    known = {
        "role": data.get("role"),
        "created": data.get("created_timestamp"),
        "message_id": data.get("message_id"),
        "agent_only": hides,
    }
    return b'{"content":%s,%s' % (content or b"null", json.dumps(known, default=str)[1:].encode())


def _values(
    db: sqlite3.Connection, table: str, names: Sequence[str], key: object
) -> dict[str, object]:
    row = db.execute(f"SELECT {', '.join(names)} FROM {table} WHERE id = ?", (key,)).fetchone()
    return dict(zip(names, row, strict=True)) if row else {}


DATABASE: Final = SessionSource(partial(session_lines, rows=_session_rows), _stored)
"""The sessions of a database."""
