"""Stores of agents whose sessions aren't one file each: tables of their own kind, folders of files.

Each gives one line a row or file, in the order of what was said: OpenCode's database, and the
folders of JSON files that it wrote before; the chats of Cursor's editor; OpenHands's folder with a
file for each event. Ids are a stranger's: one that isn't a plain name leads to no file.
"""

import json
import re
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
from synthorg_tui.ingest.readers.base import items, json_object, text_of
from synthorg_tui.ingest.records import Record, mapping
from synthorg_tui.ingest.sources import (
    MAX_LINE_BYTES,
    ListedSession,
    ReadMeter,
    SessionSource,
    document_items,
)

_OPENCODE: Final = "opencode"
"""The key of each of its records that says what the row is: ``session``, ``message``, ``part``."""
_NEEDED: Final = {
    "session": {"id"},
    "message": {"id", "session_id", "data"},
    "part": {"id", "message_id", "data"},
}
_CURSOR: Final = "cursor_editor"
"""The key of each record of a chat that says what the row is: ``chat`` or ``message``."""
_TABLE: Final = "cursorDiskKV"
_CHAT_VALUE: Final = f"SELECT value FROM {_TABLE} WHERE key = ?"
_CHATS: Final = f"""
    SELECT substr(key, 14),
        CASE WHEN json_valid(value) THEN json_extract(value, '$.lastUpdatedAt') END,
        CASE WHEN json_valid(value) THEN json_array_length(value, '$.conversation') END
    FROM {_TABLE} WHERE key > 'composerData:' AND key < 'composerData;' ORDER BY key
"""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,120}")


def _sessions_in(path: Path) -> Sequence[ListedSession]:
    """The sessions of a database; their size is a guess from the number of their rows."""
    with opened(path) as db:
        if any(not needed <= columns(db, table) for table, needed in _NEEDED.items()):
            raise ValueError("not a database of OpenCode")
        updated = "time_updated" if "time_updated" in columns(db, "session") else "NULL"
        counts = dict(
            db.execute("SELECT session_id, count(*) FROM message GROUP BY session_id").fetchall()
        )
        parts = db.execute(
            "SELECT message.session_id, count(*) FROM part "
            "JOIN message ON message.id = part.message_id GROUP BY message.session_id"
        )
        for session, count in parts.fetchall():
            counts[session] = counts.get(session, 0) + count
        rows = db.execute(f"SELECT id, {updated} FROM session ORDER BY id").fetchall()
    return [
        listed(session_path(path, id), counts.get(id, 0), at)
        for id, at in rows
        if isinstance(id, str)
    ]


def _session_rows(db: sqlite3.Connection, session: str) -> Iterator[bytes]:
    about = _session_data(db, session)
    if about is None:  # it is in tables of another version
        return
    yield row_line(_OPENCODE, "session", session, about)
    order = "time_created, id" if "time_created" in columns(db, "message") else "id"
    messages = keys(db, f"SELECT id FROM message WHERE session_id = ? ORDER BY {order}", session)
    for message in messages:
        data = text_at(db, "SELECT data FROM message WHERE id = ?", message)
        if data is None:
            continue
        yield row_line(_OPENCODE, "message", message, data)
        for part in keys(db, "SELECT id FROM part WHERE message_id = ? ORDER BY id", message):
            data = text_at(db, "SELECT data FROM part WHERE id = ?", part)
            if data is not None:
                yield row_line(_OPENCODE, "part", part, data)


def _session_data(db: sqlite3.Connection, session: str) -> bytes | None:
    """What the table says of the session, in the columns that this version has."""
    names = sorted(columns(db, "session") & {"directory", "parent_id", "title", "version"})
    values = db.execute(
        f"SELECT {', '.join(['id', *names])} FROM session WHERE id = ?", [session]
    ).fetchone()
    if values is None:
        return None
    return json.dumps(dict(zip(names, values[1:], strict=True)), default=str).encode()


def _with_files(path: Path, files: Sequence[Path]) -> Sequence[ListedSession]:
    """The session of a file, which changes with the others that are its."""
    stats = [file.stat() for file in (path, *files)]
    size, mtime_ns = sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)
    return [ListedSession(path, size, mtime_ns)]


def _folder_rows(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield the session's file, then each message's with those of its parts.

    The file may be an export, which holds them all.
    """
    if isinstance(_object_in(path).get("messages"), list):
        yield from document_items(path, meter)
        return
    yield _file_row(_OPENCODE, "session", path, path.stem, meter)
    for message in _files_of(path, "message", path.stem):
        # Its parts are filed by the id that a message gives itself; by its name when it is torn.
        identity = text_of(_object_in(message).get("id")) or message.stem
        yield _file_row(_OPENCODE, "message", message, identity, meter)
        for part in _files_of(path, "part", identity):
            yield _file_row(_OPENCODE, "part", part, part.stem, meter)


def _file_row(envelope: str, kind: str, path: Path, identity: str, meter: ReadMeter) -> bytes:
    if meter.stop.is_set():
        raise InterruptedError("cancelled")
    with path.open("rb") as stream:
        data = stream.read(MAX_LINE_BYTES).strip().replace(b"\r", b" ").replace(b"\n", b" ")
    meter.bytes += len(data)
    return row_line(envelope, kind, identity, data)


def _files_of(session: Path, kind: str, owner: str) -> list[Path]:
    """The files of a session's messages or a message's parts, whose names are in their order."""
    storage = session.parent.parent.parent
    folders = [storage / kind / name for name in (owner, owner.removeprefix("ses_"))]
    folder = next((each for each in folders if each.is_dir() and not each.is_symlink()), None)
    if folder is None or not _PLAIN_NAME.fullmatch(owner):
        return []
    return _files_in(folder, "*.json")


def _files_in(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder in the order of their names; a link to one elsewhere is none."""
    return sorted(each for each in folder.glob(pattern) if not each.is_symlink())


def _object_in(path: Path) -> Record:
    """The object of JSON in a file; empty when it holds none."""
    with path.open("rb") as stream:
        return json_object(stream.read(MAX_LINE_BYTES))


def _chats_in(path: Path) -> Sequence[ListedSession]:
    """The chats of a database that have messages; without the table of chats there are none."""
    with opened(path) as db:
        if not {"key", "value"} <= columns(db, _TABLE):
            if columns(db, "ItemTable"):  # the editor's, of a project without chats
                return []
            raise ValueError("not a database of Cursor")
        chats = db.execute(_CHATS).fetchall()
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


def _chat_rows(db: sqlite3.Connection, chat: str) -> Iterator[bytes]:
    """The chat without its messages, then these in the order that it names."""
    data = text_at(db, _CHAT_VALUE, f"composerData:{chat}")
    if data is None:
        return
    told = json_object(data)
    inside = items(told.pop("conversation", None))
    headers = items(told.pop("fullConversationHeadersOnly", None))
    about = {name: told.get(name) for name in ("name", "createdAt", "lastUpdatedAt", "status")}
    about["model"] = mapping(told.get("modelConfig")).get("modelName")
    yield row_line(_CURSOR, "chat", chat, json.dumps(about).encode())
    for bubble in inside:
        yield row_line(_CURSOR, "message", bubble.get("bubbleId"), json.dumps(bubble).encode())
    prefix = f"bubbleId:{chat}:"
    named = [prefix + text_of(header.get("bubbleId")) for header in headers]
    found = f"SELECT key FROM {_TABLE} WHERE key > ? AND key < ? ORDER BY rowid"
    present = named or keys(db, found, prefix, f"bubbleId:{chat};")
    for key in present:
        data = text_at(db, _CHAT_VALUE, key)
        if data is not None:
            yield row_line(_CURSOR, "message", str(key).removeprefix(prefix), data)


def _event_files(path: Path) -> list[Path]:
    folder = path.parent / "events"
    return [] if folder.is_symlink() else _files_in(folder, "event-*.json")


def _event_lines(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield the state of a conversation, then its events in the order of their names."""
    for number, file in enumerate((path, *_event_files(path))):
        kind = "event" if number else "state"
        yield _file_row("openhands", kind, file, path.parent.name, meter)


DATABASE: Final = SessionSource(partial(session_lines, rows=_session_rows), _sessions_in)
"""The sessions of a database."""
FOLDERS: Final = SessionSource(
    _folder_rows, lambda path: _with_files(path, _files_of(path, "message", path.stem))
)
"""The session of one file, with the folders of its messages and parts."""
CHATS: Final = SessionSource(partial(session_lines, rows=_chat_rows), _chats_in)
"""The chats of a database of Cursor's editor."""
EVENTS: Final = SessionSource(_event_lines, lambda path: _with_files(path, _event_files(path)))
"""The conversation of OpenHands in the folder of its state."""
