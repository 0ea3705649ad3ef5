"""A table of one kind of entity: its columns are the entity's fields.

Repositories say what can be asked; how an entity becomes a row, and what an error of the database
means to a caller, is here once.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast, get_origin

from pydantic import ValidationError

from synthorg_tui.core.types import FrozenModel
from synthorg_tui.persistence.errors import (
    DuplicateRecordError,
    PersistenceConnectionError,
    QueryError,
)
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.values import aware, naive_utc

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

Entity = TypeVar("Entity", bound=FrozenModel)
NOT_CONNECTED: Final = "operational data isn't connected"


class EntityTable(Generic[Entity]):
    """Rows of one kind of entity in a table of the database; entities are only ever added.

    A repository is a subclass that names in its head what it holds:

    Args:
        entity: The model; each of its fields is a column of the same name.
        table: What is written.
        key: The columns that tell entities apart.
        unique: A further column of which no two entities may have the same value.
        source: SQL of what is read instead, with the same columns; ``None`` is the table itself.
    """

    _entity: type[FrozenModel]
    _table: str
    _key: tuple[str, ...]
    _unique: str | None
    _same: str
    _names: tuple[str, ...]
    _json: frozenset[str]
    _select: str
    _values: str

    def __init_subclass__(
        cls,
        entity: type[FrozenModel] = FrozenModel,
        table: str = "",
        *,
        key: Sequence[str] = ("id",),
        unique: str | None = None,
        source: str | None = None,
    ) -> None:
        cls._entity = entity
        cls._table = table
        cls._key = tuple(key)
        cls._unique = unique
        cls._same = " AND ".join(f'"{name}" = ?' for name in key)
        cls._names = tuple(entity.model_fields)
        cls._json = frozenset(
            name
            for name, field in entity.model_fields.items()
            if get_origin(field.annotation) is dict
        )
        read = f"({source}) AS known" if source is not None else table
        columns = ", ".join(f'"{name}"' for name in cls._names)
        marks = ", ".join("?" for _ in cls._names)
        cls._select = f"SELECT {columns} FROM {read}"
        cls._values = f"INTO {table} ({columns}) VALUES ({marks})"

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def save(self, entity: Entity) -> None:
        """Add an entity; raises ``DuplicateRecordError`` when its key is there already."""
        with self._told():
            await self._database.write(
                lambda db: db.execute(f"INSERT {self._values}", self._row(entity))
            )

    async def select(
        self, where: Mapping[str, object], *, order: str, limit: int | None = None
    ) -> tuple[Entity, ...]:
        """Return entities for which all conditions hold, each of SQL with one placeholder.

        Conditions whose value is ``None`` are left out.
        """
        given = {sql: value for sql, value in where.items() if value is not None}
        conditions = " AND ".join(given) or "true"
        sql = f"{self._select} WHERE {conditions} ORDER BY {order}"
        values = [_stored(value) for value in given.values()]
        if limit is not None:
            sql += " LIMIT ?"
            values.append(max(limit, 0))
        return await self._read(sql, values)

    async def _read(self, sql: str, values: Sequence[object]) -> tuple[Entity, ...]:
        with self._told():
            rows = await self._database.read(lambda db: db.execute(sql, list(values)).fetchall())
            return tuple(map(self._made, rows))

    async def scalar(self, sql: str, values: Sequence[object] = ()) -> object:
        """Return the first value of what a query of this table gives, or ``None``."""
        with self._told():
            row = await self._database.read(lambda db: db.execute(sql, list(values)).fetchone())
            return row[0] if row else None

    async def remove_where(self, condition: str, values: Sequence[object]) -> int:
        """Delete the entities for which an SQL condition holds, and return their number."""
        sql = f"DELETE FROM {self._table} WHERE {condition}"
        with self._told():
            row = await self._database.write(lambda db: db.execute(sql, list(values)).fetchone())
            return int(row[0]) if row else 0

    def _row(self, entity: Entity) -> list[object]:
        return [_stored(getattr(entity, name)) for name in self._names]

    def _made(self, row: Sequence[object]) -> Entity:
        named = {
            name: aware(value) if isinstance(value, datetime) else value
            for name, value in zip(self._names, row, strict=True)
        }
        for name in self._json:
            named[name] = json.loads(str(named[name]))
        return cast("Entity", self._entity.model_validate(named))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raises what the database says as the errors that the protocols document."""
        import duckdb

        if not self._database.is_open:
            raise PersistenceConnectionError(NOT_CONNECTED)
        try:
            yield
        except duckdb.ConstraintException as error:
            message = f"an entry of {self._table} with this id exists already"
            raise DuplicateRecordError(message) from error
        except (duckdb.Error, ValidationError, ValueError) as error:
            raise QueryError(f"{self._table}: {str(error).splitlines()[0]}") from error


class KeyedTable(EntityTable[Entity]):
    """Rows of one kind of entity, each of which is replaced, found and deleted by its key."""

    async def save(self, entity: Entity) -> None:
        """Store an entity in place of the one with its key.

        Raises ``DuplicateRecordError`` when another one has the same value in what is unique.
        """
        with self._told():
            await self._database.write(lambda db: self._put(db, entity))

    def _put(self, db: "Connection", entity: Entity) -> None:
        if self._unique is not None:
            values = [getattr(entity, name) for name in (self._unique, *self._key)]
            found = db.execute(
                f"SELECT 1 FROM {self._table} WHERE {self._unique} = ? AND NOT ({self._same})",
                values,
            ).fetchone()
            if found is not None:
                raise DuplicateRecordError(
                    f"another entry of {self._table} has this {self._unique}"
                )
        db.execute(f"INSERT OR REPLACE {self._values}", self._row(entity))

    async def get(self, *key: str) -> Entity | None:
        """Return the entity with this key, or ``None``."""
        rows = await self._read(f"{self._select} WHERE {self._same}", key)
        return rows[0] if rows else None

    async def delete(self, *key: str) -> bool:
        """Delete the entity with this key and tell whether there was one."""
        return await self.remove_where(self._same, key) > 0


def _stored(value: object) -> object:
    if isinstance(value, datetime):
        return naive_utc(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return json.dumps(value) if isinstance(value, dict) else value
