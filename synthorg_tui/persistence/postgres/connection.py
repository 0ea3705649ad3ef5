"""A connection to PostgreSQL as the rooms know one: DuckDB's SQL in, Python values as DuckDB's out.

What becomes of the SQL is in ``dialect``; when a connection is opened and a transaction begins and
ends is in ``database``.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.adapt import Buffer, Loader
from psycopg.rows import TupleRow, tuple_row
from psycopg.types.string import StrDumper
from sqlglot.errors import SqlglotError

from synthorg_tui.core.errors import DiskFullError
from synthorg_tui.persistence.postgres.dialect import Translated, translated
from synthorg_tui.persistence.values import NUL, SHOWN_NUL

CONNECT_TIMEOUT: Final = 10
"""Seconds in which a server has to answer somebody who connects."""
_STUCK: Final = "60s"
"""How long a program may stay silent inside a transaction. Then the server ends it: another one
that was stopped there would keep all from writing."""
_SETTINGS: Final = (
    "SET TIME ZONE 'UTC'",
    f"SET idle_in_transaction_session_timeout = '{_STUCK}'",
    "SET client_min_messages = warning",
    # A search by id in a few of ten thousand rows is no work for a compiler.
    "SET jit = off",
)

Raw = psycopg.Connection[TupleRow]


class PostgresConnection:
    """Runs SQL of DuckDB's dialect on a connection of psycopg, inside a transaction of its owner.

    Raises ``duckdb.Error``, as DuckDB's connection does, with that of psycopg as its cause: what
    the rooms know of errors then holds for both. A full disk of the server is ``DiskFullError``.
    """

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._cursor = raw.cursor()
        self._changed: int | None = None

    def cursor(self) -> "PostgresConnection":
        """Return another one in the same transaction."""
        return PostgresConnection(self._raw)

    def close(self) -> None:
        """Let go of the rows; the connection stays open."""
        self._cursor.close()

    def execute(self, query: str, parameters: Any = None, /) -> "PostgresConnection":
        """Run one statement, or several without parameters."""
        with told():
            self._execute(translated(query), parameters)
        return self

    def _execute(self, known: Translated, parameters: Any) -> None:
        if known.is_script:
            self._cursor.execute(known.sql, prepare=False)
        else:
            if known.names:
                parameters = [parameters[name] for name in known.names]
            values = _sent(parameters) if parameters else None
            if values:
                for place in known.lists:
                    values[place] = json.dumps(
                        [
                            part and [text.replace(NUL, SHOWN_NUL) for text in part]
                            for part in values[place]
                        ]
                    )
            self._cursor.execute(known.sql, values)
        self._changed = self._cursor.rowcount if self._cursor.rowcount >= 0 else None

    def batches(self, query: str, size: int) -> Iterator[list[Any]]:
        """Yield the rows of a query in lists of ``size``, each read when it is asked for.

        ``execute`` has all rows sent at once, which is too much of a table that is read whole.
        """
        with told(), psycopg.RawServerCursor(self._raw, "batches") as cursor:
            cursor.execute(translated(query).sql)
            while rows := cursor.fetchmany(size):
                yield rows

    def executemany(self, query: str, parameters: Any = None, /) -> "PostgresConnection":
        """Run one statement once for each sequence of parameters."""
        rows: Iterable[Sequence[object]] = parameters or ()
        with told():
            self._cursor.executemany(translated(query).sql, [_sent(row) for row in rows])
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        if self._cursor.description is not None:
            return self._cursor.fetchone()
        rows = self._counted()
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1, /) -> list[Any]:
        has_rows = self._cursor.description is not None
        return self._cursor.fetchmany(size) if has_rows else self._counted()

    def fetchall(self) -> list[Any]:
        has_rows = self._cursor.description is not None
        return self._cursor.fetchall() if has_rows else self._counted()

    @property
    def description(self) -> Sequence[Any]:
        return self._cursor.description or ()

    def _counted(self) -> list[Any]:
        """What a statement without rows gives once: how many it changed, as DuckDB says it."""
        count, self._changed = self._changed, None
        return [] if count is None else [(count,)]


def _sent(values: Iterable[object]) -> list[Any]:
    """A row's values; a tuple is a list, as DuckDB takes it, and no row within the row."""
    return [list(value) if type(value) is tuple else value for value in values]


@contextmanager
def told() -> Iterator[None]:
    """Context manager that raises what the server says as the error that DuckDB would raise."""
    import duckdb

    try:
        yield
    except psycopg.IntegrityError as error:
        raise duckdb.ConstraintException(in_a_line(error)) from error
    except psycopg.errors.DiskFull as error:
        raise DiskFullError("The disk of the database's server is full.") from error
    except psycopg.errors.UndefinedTable as error:
        raise duckdb.CatalogException(in_a_line(error)) from error
    except (psycopg.Error, SqlglotError) as error:
        raise duckdb.Error(in_a_line(error)) from error


def cause_of(error: BaseException) -> psycopg.Error | None:
    """Return what psycopg said, of an error of its own or of one that was made of it."""
    while error is not None and not isinstance(error, psycopg.Error):
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return error


def in_a_line(error: Exception) -> str:
    """Return what an error says on one line, or its kind where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def set_up(raw: Raw) -> None:
    """Make a new connection one of ours: what values become, and how long it may be silent."""
    for setting in _SETTINGS:
        raw.execute(setting)
    adapters = raw.adapters
    adapters.register_dumper(str, _Text)
    adapters.register_loader("numeric", _Number)
    for kind in ("json", "jsonb", "tid"):
        adapters.register_loader(kind, _AsText)


def connect_options() -> dict[str, Any]:
    """Return how connections are opened; placeholders are ``$1``, as the server has them."""
    return {
        "autocommit": True,
        "cursor_factory": psycopg.RawCursor,
        "row_factory": tuple_row,
        "connect_timeout": CONNECT_TIMEOUT,
        "client_encoding": "utf-8",
        "application_name": "synthorg-tui",
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }


class _Text(StrDumper):
    """Texts without a type of their own, so that each becomes what its place asks for."""

    oid = 0

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace(NUL, SHOWN_NUL) if NUL in obj else obj)


class _Number(Loader):
    """Sums of whole numbers as ``int``, and averages as ``float``: PostgreSQL has one type."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _AsText(Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode()
