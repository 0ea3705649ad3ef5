"""Records as JSON and as tables: a command names the fields and columns, and the rest follows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from operator import attrgetter
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar

from synthorg_tui.cli.output import Answer, Table

T = TypeVar("T")
Json: TypeAlias = dict[str, object]
Shape: TypeAlias = str | Callable[[T], Json]
"""How a record is made JSON: names as in ``fields``, or a function."""


def plain(value: object) -> Any:
    """Return a value as JSON: a time as ISO 8601, an enum as its value, a path as text."""
    if isinstance(value, Enum | date):
        return value.value if isinstance(value, Enum) else value.isoformat()
    if isinstance(value, Mapping):
        return {plain(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, PurePath) else value


def fields(record: object, names: str) -> Json:
    """Return the named attributes of a record as JSON.

    ``names`` are separated by blanks: ``told``; ``agent=request.agent_id`` where the field is
    called otherwise; ``item=item_id?`` where an empty value is ``null``.
    """
    found: Json = {}
    for each in names.split():
        name, _, path = each.rstrip("?").partition("=")
        value = attrgetter(path or name)(record)
        found[name] = plain((value or None) if each[-1] == "?" else value)
    return found


def shaped(found: Iterable[T], shape: Shape[T]) -> list[Json]:
    """Return each record as JSON."""
    return [fields(each, shape) if isinstance(shape, str) else shape(each) for each in found]


def pairs(found: Iterable[tuple[object, object]], first: str, second: str) -> list[Json]:
    """Return pairs as JSON, with the names of their halves."""
    return [{first: plain(one), second: plain(other)} for one, other in found]


def table(found: Sequence[T], columns: Mapping[str, Callable[[T], str]], empty: str = "") -> Any:
    """Return a table with a row for each record; ``columns`` make the cells, by their headers."""
    rows = [[cell(each) for cell in columns.values()] for each in found]
    return Table(tuple(columns), rows, empty=empty)


def listing(
    name: str,
    found: Sequence[T],
    shape: Shape[T],
    columns: Mapping[str, Callable[[T], str]],
    *,
    empty: str = "",
    note: str = "",
    more: Mapping[str, object] | None = None,
) -> Answer:
    """Return a list of records: as JSON under ``name`` with the fields ``more``, and as a table."""
    answer = {name: shaped(found, shape)} | dict(more or {})
    return Answer(answer, table(found, columns, empty), note=note)
