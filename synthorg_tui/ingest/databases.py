"""Databases of other programs, opened to be read and for nothing else.

They are in use while we read, and they are a stranger's: nothing is created or locked for long,
no file appears beside one, a row too large is refused, and a view isn't taken for a table.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from synthorg_tui.ingest.sources import (
    MAX_LINE_BYTES,
    ListedSession,
    ReadMeter,
    SessionSource,
    items_of,
    unpacked,
)

MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_WAL: Final = 2
_BUSY_SECONDS: Final = 2.0
_STEPS_BETWEEN_LOOKS: Final = 20_000
_MAX_KEYS: Final = 2_000_000
_ROW_BYTES: Final = 1024
_MAX_TIME: Final = 1 << 62
TORN: Final = "[no JSON] "
"""What stands before a value that begins like JSON and isn't."""
TOO_LARGE: Final = b"[a row larger than a record may be]"


def is_database(path: Path) -> bool:
    """Tell whether a file is an SQLite database by its first bytes; raises ``OSError``."""
    return _header(path).startswith(MAGIC)


@contextmanager
def opened(path: Path, meter: ReadMeter | None = None) -> Iterator[sqlite3.Connection]:
    """Open a database of another program for reading.

    Setting the meter's ``stop`` ends a query. Raises ``OSError``, also when it was stopped, and
    ``ValueError`` when the file is no database that can be read, or changed meanwhile.
    """
    if not is_database(path):
        raise ValueError("not an SQLite database")
    stop = (meter or ReadMeter()).stop
    frozen = _is_frozen(path)
    before = _state(path)
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"
    try:
        with closing(
            sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        ) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
            db.set_progress_handler(stop.is_set, _STEPS_BETWEEN_LOOKS)
            db.execute("PRAGMA trusted_schema = OFF")
            yield db
    except sqlite3.Error as error:
        if stop.is_set():
            raise InterruptedError("cancelled") from error
        raise ValueError(f"database: {error}") from error
    if frozen and _state(path) != before:
        raise ValueError("it changed while it was read; import it again")


def columns(db: sqlite3.Connection, table: str) -> frozenset[str]:
    """Return the names of a table's columns; empty when it isn't one that stores its rows."""
    found = db.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? "
        "AND sql NOT LIKE 'create virtual%'",
        [table],
    ).fetchone()
    if found is None:
        return frozenset()
    names = db.execute("SELECT name FROM pragma_table_info(?)", [table])
    return frozenset(str(name) for (name,) in names)


def tables_of(path: Path) -> list[str]:
    """Return the names of a database's first tables, as far as they are plain."""
    with opened(path) as db:
        found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 12")
        names = [str(name) for (name,) in found.fetchall()]
    return [name for name in names if re.fullmatch(r"\w{1,40}", name)] or ["(none)"]


def keys(db: sqlite3.Connection, query: str, *parameters: object) -> list[object]:
    """Return the first column of a query's rows, of a transcript's many at most.

    Each row is then read by its key: no query stays open beside the program that writes.
    """
    limited = f"{query} LIMIT {_MAX_KEYS}"
    return [row[0] for row in db.execute(limited, parameters).fetchall()]


def text_at(db: sqlite3.Connection, query: str, key: object) -> bytes | None:
    """Return the text that a query finds for a key, as one line.

    ``TOO_LARGE`` stands for one larger than a record may be; ``None`` when it has been deleted.
    """
    try:
        row = db.execute(query, (key,)).fetchone()
    except sqlite3.DataError:
        return TOO_LARGE
    if row is None:
        return None
    value = row[0] if isinstance(row[0], bytes) else str(row[0] or "").encode("utf-8", "replace")
    return value.replace(b"\r", b" ").replace(b"\n", b" ")


def row_line(envelope: str, kind: str, key: object, data: bytes) -> bytes:
    """Return a row as a line: ``{"data": ..., "<envelope>": "<kind>", "id": "<key>"}``.

    ``data`` is JSON as it was stored; what isn't makes a malformed line, and counts as one. Our own
    keys stand last, so that none in it passes for them.
    """
    ours = json.dumps({envelope: kind, "id": str(key)})
    return b'{"data":%s,%s\n' % (data or b"null", ours[1:].encode())


def session_path(database: Path, session: str) -> Path:
    """Return the name of one session of a database, which looks like the path of a file."""
    return database.with_name(f"{database.name}#{quote(session, safe='')}")


def session_of(path: Path) -> tuple[Path, str]:
    """Return the database and the session that ``session_path`` made into one path."""
    name, _, session = path.name.rpartition("#")
    return path.with_name(name), unquote(session)


def session_lines(
    path: Path, meter: ReadMeter, rows: Callable[[sqlite3.Connection, str], Iterator[bytes]]
) -> Iterator[bytes]:
    """Yield the lines of one session; ``rows`` gives them for a connection and a session's id."""
    database, session = session_of(path)
    with opened(database, meter) as db:
        for line in rows(db, session):
            meter.bytes += len(line)
            yield line


def table_source(envelope: str, tables: Mapping[str, str]) -> SessionSource:
    """Return the sessions of a database that a description tells of; lines as of ``row_line``.

    ``tables`` names the table of ``sessions`` with its columns ``id`` and ``changed`` (the same
    where only the messages tell), and one that it has ``also``, by which it is known; its column
    ``document`` with a whole session as JSON, packed or not, or the table of ``messages`` with the
    column ``of`` that holds the session and that of their ``order``.
    """
    if any(not re.fullmatch(r"[A-Za-z_]\w{0,60}", name) for name in tables.values()):
        raise ValueError("names of tables and columns are letters, digits and _")
    return SessionSource(
        partial(session_lines, rows=partial(_session_rows, envelope, tables)),
        partial(_listed_in, envelope, tables),
    )


def _listed_in(envelope: str, tables: Mapping[str, str], path: Path) -> list[ListedSession]:
    """The sessions of a database, each with the number of its messages and the last of them."""
    sessions, key, changed = tables["sessions"], tables["id"], tables["changed"]
    also, messages = tables.get("also", key), tables.get("messages", "")
    with opened(path) as db:
        known, counts = {sessions: {key, changed, also, tables.get("document", key)}}, {}
        if messages:
            known[messages] = {tables["of"], tables["order"]}
        if any(not needed <= columns(db, name) for name, needed in known.items()):
            raise ValueError(f"not a database of {envelope.title()}")
        found = db.execute(f"SELECT {key}, {changed} FROM {sessions} ORDER BY 1").fetchall()
        if messages:
            group = f"SELECT {tables['of']}, count(*), max(rowid) FROM {messages} GROUP BY 1"
            counts = {session: rest for session, *rest in db.execute(group).fetchall()}
    return [
        listed(session_path(path, id), count, last if changed == key else at)
        for id, at in found
        if isinstance(id, str)
        for count, last in [counts.get(id, (int(not messages), 0))]
    ]


def _session_rows(
    envelope: str, tables: Mapping[str, str], db: sqlite3.Connection, session: str
) -> Iterator[bytes]:
    head = f"SELECT * FROM {tables['sessions']} WHERE {tables['id']} = ?"
    for row in _rows(db, head, session):
        whole = row.pop(tables.get("document", ""), None)
        about = json.dumps(row).replace(TORN, "")
        yield row_line(envelope, "session", session, about.encode())
        for item in items_of(whole):
            yield row_line(envelope, "item", session, json.dumps(item).encode())
    if messages := tables.get("messages"):
        order = f"WHERE {tables['of']} = ? ORDER BY {tables['order']}, rowid"
        for rowid in keys(db, f"SELECT rowid FROM {messages} {order}", session):
            for row in _rows(db, f"SELECT * FROM {messages} WHERE rowid = ?", rowid):
                is_torn = any(str(value).startswith(TORN) for value in row.values())
                data = TORN.encode() if is_torn else json.dumps(row).encode()
                yield row_line(envelope, "message", row.get("id"), data)


def _rows(db: sqlite3.Connection, query: str, key: object) -> Iterator[dict[str, object]]:
    """Rows by the names of their columns; values that are JSON, packed or not, as what they say."""
    found = db.execute(query, (key,))
    names = [column[0] for column in found.description]
    for row in found.fetchall():
        yield dict(zip(names, map(_told, row), strict=True))


def _told(value: object) -> object:
    if isinstance(value, bytes):
        value = unpacked(value).decode("utf-8", "replace")
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in {"{", "["} else value
    except (ValueError, RecursionError):
        return f"{TORN}{value}"


def listed(path: Path, rows: int, updated: object) -> ListedSession:
    """Return a session by the number of its rows and the time at which it says it changed.

    ``updated`` is any value of a column; what is no time is taken as the same time always.
    """
    at = updated if isinstance(updated, int) and not isinstance(updated, bool) else 0
    if isinstance(updated, str):
        at = int.from_bytes(hashlib.sha256(updated.encode("utf-8", "replace")).digest()[:6])
    return ListedSession(path, rows * _ROW_BYTES, abs(at) % _MAX_TIME)


def _is_frozen(path: Path) -> bool:
    """Whether nobody has it open, though reading it as usual would leave files beside it."""
    header = _header(path)
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if _WAL not in header[18:20] or (log.exists() and index.exists()):
        return False
    if log.exists() and log.stat().st_size:
        raise ValueError("its log was left behind: open it once with the program that wrote it")
    return True


def _header(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_HEADER)


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
