"""A table of one kind of entity, whose columns are the entity's fields.

How an entity becomes a row, what is asked of rows, and what an error of the database means to a
caller, is here once; the tables there are stand in ``repositories``.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Final, Generic, TypeVar, cast, get_origin

from pydantic import ValidationError

from synthorg_tui.core.types import FrozenModel
from synthorg_tui.persistence.errors import (
    DuplicateRecordError,
    PersistenceConnectionError,
    QueryError,
)
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.values import aware, naive_utc

Entity = TypeVar("Entity", bound=FrozenModel)
NOT_CONNECTED: Final = "operational data isn't connected"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


class EntityTable(Generic[Entity]):
    """Rows of one kind of entity in a table of the database; entities are only ever added.

    A repository is a subclass that names in its head what it holds:

    Args:
        entity: The model; each of its fields is a column of the same name.
        table: What is written.
        key: The columns that tell entities apart.
        order: The columns that what is read comes in the order of.
        unique: A further column of which no two entities may have the same value.
        time: The column that ``since`` and ``until`` are about.
        source: SQL of what is read instead, with the same columns; empty for the table itself.
    """

    selection: ClassVar[str]
    """The SQL that reads all entities."""
    _entity: ClassVar[type[FrozenModel]]
    _table: ClassVar[str]
    _key: ClassVar[tuple[str, ...]]
    _order: ClassVar[str]
    _unique: ClassVar[str]
    _time: ClassVar[str]

    def __init_subclass__(
        cls,
        entity: type[FrozenModel] = FrozenModel,
        table: str = "",
        *,
        key: tuple[str, ...] = ("id",),
        order: str = "id",
        unique: str = "",
        time: str = "",
        source: str = "",
    ) -> None:
        cls._entity, cls._table, cls._key = entity, table, key
        cls._order, cls._unique, cls._time = order, unique, time
        read = f"({source}) AS known" if source else table
        cls.selection = f"SELECT {_quoted(entity.model_fields)} FROM {read}"

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def save(self, entity: Entity) -> None:
        """Add an entity; raises ``DuplicateRecordError`` when its key is there already."""
        with self._told():
            await self._database.write(lambda db: self._insert(db, "INSERT", entity))

    async def query(
        self,
        *,
        limit: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        **equal: object,
    ) -> tuple[Entity, ...]:
        """Return entities with these values in these columns; ``None`` allows every value.

        ``until`` is outside of the span.
        """
        wanted = {f'"{name}" = ?': value for name, value in equal.items()}
        wanted |= {f"{self._time} >= ?": since, f"{self._time} < ?": until}
        given = {sql: _stored(value) for sql, value in wanted.items() if value is not None}
        sql = f"{self.selection} WHERE {' AND '.join(given) or 'true'} ORDER BY {self._order}"
        values = list(given.values())
        if limit is not None:
            sql += " LIMIT ?"
            values.append(max(limit, 0))
        with self._told():
            rows = await self._database.read(lambda db: db.execute(sql, values).fetchall())
            return tuple(map(self._made, rows))

    async def scalar(self, sql: str, values: Sequence[object] = ()) -> object:
        """Return the first value of what a query of this table gives, or ``None``."""
        with self._told():
            row = await self._database.read(lambda db: db.execute(sql, list(values)).fetchone())
            return row[0] if row else None

    def _insert(self, db: Connection, verb: str, entity: Entity) -> None:
        names = tuple(self._entity.model_fields)
        marks = ", ".join("?" for _ in names)
        values = [_stored(getattr(entity, name)) for name in names]
        db.execute(f"{verb} INTO {self._table} ({_quoted(names)}) VALUES ({marks})", values)

    def _made(self, row: Sequence[object]) -> Entity:
        named = dict(zip(self._entity.model_fields, row, strict=True))
        for name, field in self._entity.model_fields.items():
            value = named[name]
            if isinstance(value, datetime):
                named[name] = aware(value)
            elif get_origin(field.annotation) is dict:
                named[name] = json.loads(str(value))
        return cast("Entity", self._entity.model_validate(named))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Translate errors of the database into those that ``repositories`` documents."""
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

    def _put(self, db: Connection, entity: Entity) -> None:
        if self._unique:
            values = [getattr(entity, name) for name in (self._unique, *self._key)]
            same = " AND ".join(f"{name} = ?" for name in self._key)
            taken = f"SELECT 1 FROM {self._table} WHERE {self._unique} = ? AND NOT ({same})"
            if db.execute(taken, values).fetchone() is not None:
                raise DuplicateRecordError(
                    f"another entry of {self._table} has this {self._unique}"
                )
        self._insert(db, "INSERT OR REPLACE", entity)

    async def get(self, *key: str) -> Entity | None:
        """Return the entity with this key, or ``None``."""
        wanted: dict[str, Any] = dict(zip(self._key, key, strict=True))
        return next(iter(await self.query(**wanted)), None)

    async def delete(self, *key: str) -> bool:
        """Delete the entity with this key and tell whether there was one."""
        return await self.remove(**dict(zip(self._key, key, strict=True))) > 0

    async def remove(self, **equal: str) -> int:
        """Delete the entities with these values in these columns, and return their number."""
        conditions = " AND ".join(f"{name} = ?" for name in equal)
        sql, values = f"DELETE FROM {self._table} WHERE {conditions}", list(equal.values())
        with self._told():
            row = await self._database.write(lambda db: db.execute(sql, values).fetchone())
            return int(row[0]) if row else 0

    async def count(self) -> int:
        """Return how many entities there are."""
        return int(str(await self.scalar(f"SELECT count(*) FROM {self._table}")))


def _stored(value: object) -> object:
    if isinstance(value, datetime):
        return naive_utc(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return json.dumps(value) if isinstance(value, dict) else value
