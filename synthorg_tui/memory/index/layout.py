"""Layout of memory points in Qdrant, the same in Qdrant Edge and on a server."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.index.protocol import (
    EndedByAge,
    IndexFilter,
    IndexHit,
    IndexPoint,
    Visibility,
)
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER, SHARED_OWNER

FORMAT_VERSION = 4
"""Changes with the layout and with the terms of texts: an index of another one is rebuilt."""

DENSE = "dense"
SPARSE = "bm25"

TENANT_FIELD = "owner"
KEYWORD_FIELDS = ("owner", "agent", "category", "namespace", "tags", "level", "session", "project")
NUMBER_FIELDS = ("created_at", "expires_at")


def payload(point: IndexPoint) -> dict[str, object]:
    """Return the fields of a point that searches filter on; fields that are ``None`` are omitted.

    ``owner`` is the agent of a private point, so that the most frequent filter, an agent's own
    memories, is a single condition. (A boolean ``shared`` would not do in any case: Qdrant Edge 0.9
    matches no point on one.) Times are seconds since the epoch, which a double represents to the
    microsecond.
    """
    fields: dict[str, object] = {
        "owner": SHARED_OWNER if point.shared else point.agent_id,
        "agent": point.agent_id,
        "category": point.category.value,
        "namespace": point.namespace,
        "level": point.level,
        "created_at": point.created_at.timestamp(),
    }
    if point.tags:
        fields["tags"] = list(point.tags)
    if point.expires_at is not None:
        fields["expires_at"] = point.expires_at.timestamp()
    if point.session_id is not None:
        fields["session"] = point.session_id
    if point.project is not None:
        fields["project"] = point.project
    return fields


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """Condition that a field has one of the values."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """Condition that a number is within the given bounds; points without the field fail it."""

    field: str
    at_least: float | None = None
    less_than: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """Condition that a point doesn't have the field."""

    field: str


@dataclass(frozen=True, slots=True)
class PayloadFilter:
    """Filter that requires all of ``must``, any of ``should``, and none of ``must_not``.

    An empty ``should`` is ignored.
    """

    must: "tuple[Condition, ...]" = ()
    should: "tuple[Condition, ...]" = ()
    must_not: "tuple[Condition, ...]" = ()


Condition: TypeAlias = FieldMatch | Between | Absent | PayloadFilter


def conditions(where: IndexFilter) -> PayloadFilter:
    """Translate a search filter into conditions on payload fields.

    What the organisation knows is found only by a search that names its namespace.
    """
    must: list[Condition] = [FieldMatch("tags", (tag,)) for tag in where.tags]
    must_not: list[Condition] = [Between("expires_at", at_most=where.now.timestamp())]
    must_not += map(_ended, where.ended)
    if ORG_NAMESPACE not in where.namespaces:
        must_not.append(FieldMatch("agent", (ORG_OWNER,)))
    if where.shared is False and not where.agents:
        must_not.append(FieldMatch("owner", (SHARED_OWNER,)))
    if where.shared:
        must.append(FieldMatch("owner", (SHARED_OWNER,)))
    if where.agents:
        field = "owner" if where.shared is False else "agent"
        must.append(FieldMatch(field, tuple(sorted(where.agents))))
    if where.exclude_agent is not None:
        must_not.append(FieldMatch("agent", (where.exclude_agent,)))
    for field, values in (
        ("project", where.projects),
        ("category", where.categories),
        ("namespace", where.namespaces),
    ):
        if values:
            must.append(FieldMatch(field, tuple(sorted(values))))
    if where.since is not None or where.until is not None:
        must.append(
            Between(
                "created_at",
                at_least=where.since.timestamp() if where.since else None,
                less_than=where.until.timestamp() if where.until else None,
            )
        )
    if where.visibility is not None:
        must.append(_visible(where.visibility))
    return PayloadFilter(must=tuple(must), must_not=tuple(must_not))


def ranking(points: Iterable[Any]) -> tuple[IndexHit, ...]:
    """Convert the scored points of an engine to hits, best first; equal scores ordered by id."""
    hits = [IndexHit(str(point.id), point.score) for point in points]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id)))


def _ended(old: EndedByAge) -> PayloadFilter:
    agents = (FieldMatch("agent", old.agents),) if old.agents else ()
    return PayloadFilter(
        must=(
            FieldMatch("category", old.categories),
            Absent("expires_at"),
            Between("created_at", at_most=old.until.timestamp()),
            *(() if old.is_for_others else agents),
        ),
        must_not=agents if old.is_for_others else (),
    )


def _visible(visibility: Visibility) -> PayloadFilter:
    """A memory that names no project or session of its level isn't limited to one."""
    should: list[Condition] = [FieldMatch("level", (MemoryLevel.PERSISTENT.value,))]
    session = () if visibility.session_id is None else (visibility.session_id,)
    for level, field, values in (
        (MemoryLevel.PROJECT, "project", visibility.projects),
        (MemoryLevel.SESSION, "session", session),
    ):
        of_level = FieldMatch("level", (level.value,))
        should.append(PayloadFilter(must=(of_level, Absent(field))))
        if values:
            should.append(PayloadFilter(must=(of_level, FieldMatch(field, values))))
    return PayloadFilter(should=tuple(should))
