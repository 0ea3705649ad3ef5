"""The tables of a store on PostgreSQL, made and brought up to date by whoever comes first.

They are those of ``schema.sql``; ``server.sql`` adds what only this database has. The settings name
a database, and perhaps a schema in it by ``options=-csearch_path=...``: what is there of somebody
else is left alone.
"""

import hashlib
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import StoreCorruptError
from synthorg_tui.persistence.errors import PersistenceConnectionError
from synthorg_tui.persistence.migrations import RESTORE_REMEDY, create_schema, update_schema
from synthorg_tui.persistence.postgres.connection import PostgresConnection, Raw

_SERVER_DIGEST: Final = "server_digest"
_LEAST_VERSION: Final = 140_000
_LOCK: Final = "synthorg-tui"


def _schema_of(raw: Raw) -> str:
    """The schema that tables are made in, empty where this user may use none."""
    found = raw.execute("SELECT coalesce(current_schema(), '')").fetchone()
    return str(found[0]) if found else ""


def lock_key(raw: Raw) -> int:
    """Return the number of the advisory lock of the store that this connection is to.

    Two stores in two schemas of one database have two.
    """
    digest = hashlib.blake2b(f"{_LOCK}:{_schema_of(raw)}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def channel_of(raw: Raw) -> str:
    """Return the name of the channel on which writes to this store are told."""
    return f"synthorg_tui_{hashlib.blake2b(_schema_of(raw).encode(), digest_size=8).hexdigest()}"


def prepare_schema(raw: Raw, where: str) -> None:
    """Make the tables that are missing, or bring them up to date, alone among all programs.

    ``where`` names the database in messages. Raises ``MigrationError`` when a newer version of this
    program wrote it, and ``PersistenceConnectionError`` for a server that can't hold a store.
    """
    _require_fitting(raw, where)
    key = lock_key(raw)
    with raw.transaction():
        raw.execute("SELECT pg_advisory_xact_lock($1)", [key])
        connection = PostgresConnection(raw)
        if _is_new(raw):
            create_schema(connection)
        else:
            _require_ours(raw, where)
            update_schema(connection, Path(where))
        _make_server_part(raw)
        raw.execute("DELETE FROM store_writers WHERE written_at < now() - INTERVAL '30 days'")


def _require_fitting(raw: Raw, where: str) -> None:
    if raw.info.server_version < _LEAST_VERSION:
        version = raw.info.server_version // 10_000
        raise PersistenceConnectionError(
            f"{where} is PostgreSQL {version}; a store needs 14 or newer",
            remedy="Update the server, or name another one in persistence.url.",
        )
    encoding = raw.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise PersistenceConnectionError(
            f"{where} keeps texts as {encoding}; a store needs UTF8",
            remedy="Create a database with ENCODING 'UTF8' TEMPLATE template0.",
        )
    if not _schema_of(raw):
        raise PersistenceConnectionError(
            f"{where} has no schema that this user may use",
            remedy="Create a schema for it, or grant USAGE and CREATE on one.",
        )


def _is_new(raw: Raw) -> bool:
    found = raw.execute(
        "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relkind = 'r'"
    ).fetchone()
    return found == (0,)


def _require_ours(raw: Raw, where: str) -> None:
    found = raw.execute(
        "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relname IN ('meta', 'memories', 'history')"
    ).fetchone()
    if found != (3,):
        raise StoreCorruptError(
            f"{where} has tables, but they aren't those of a store of this program",
            remedy=f"Name an empty database or schema in persistence.url. {RESTORE_REMEDY}",
        )


def _make_server_part(raw: Raw) -> None:
    """Run ``server.sql``, unless this very text was run already."""
    text = Path(__file__).with_name("server.sql").read_text("utf-8")
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    known = raw.execute("SELECT value FROM meta WHERE name = $1", [_SERVER_DIGEST]).fetchone()
    if known == (digest,):
        return
    raw.execute(text.encode(), prepare=False)
    raw.execute(
        "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [_SERVER_DIGEST, digest],
    )
