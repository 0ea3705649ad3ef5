"""Points, vectors, conditions, hits and errors in the terms of Qdrant Edge."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.layout import (
    DENSE,
    KEYWORD_FIELDS,
    NUMBER_FIELDS,
    SPARSE,
    TENANT_FIELD,
    Absent,
    Between,
    Condition,
    FieldMatch,
    PayloadFilter,
    payload,
)
from synthorg_tui.memory.index.protocol import IndexPoint, SparseVector

if TYPE_CHECKING:
    import qdrant_edge as edge


FIELD_POINTS: Final = 200
"""Points from which the payload fields have indexes: their files take 70 MB and 40 ms to load for
however few points; without them a search of 200 points takes one millisecond more."""


def shard_config(dims: int) -> "edge.EdgeConfig":
    """Return the configuration of a shard for dense vectors of length ``dims`` and sparse terms."""
    import qdrant_edge as edge

    # Half precision changes a cosine by 5e-5 and takes 137 MB less memory and 74 MB less disk at
    # 100,000 points of 384 dimensions, at the same speed. The engine maps vectors and payloads
    # from files; keeping them out of memory until used ("cold") would make the first search
    # after opening take half a second.
    dense = edge.EdgeVectorParams(
        size=dims,
        distance=edge.Distance.Cosine,
        datatype=edge.VectorStorageDatatype.Float16,
    )
    # On disk, without a graph and however small: how a shard is packed. Searching all vectors is
    # exact, and quick enough at the sizes of one machine.
    sparse = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, on_disk=True)
    return edge.EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors={SPARSE: sparse},
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=10),
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),
    )


def create_field_indexes(shard: "edge.EdgeShard") -> None:
    """Create the indexes that don't exist yet on the payload fields that searches filter on."""
    import qdrant_edge as edge

    for field in KEYWORD_FIELDS:
        keyword = edge.KeywordIndexParams(is_tenant=field == TENANT_FIELD, on_disk=True)
        shard.update(edge.UpdateOperation.create_field_index(field, keyword))
    for field in NUMBER_FIELDS:
        number = edge.FloatIndexParams(on_disk=True)
        shard.update(edge.UpdateOperation.create_field_index(field, number))


def edge_point(point: IndexPoint) -> "edge.Point":
    """Convert a point to Qdrant Edge, with whichever of its two vectors it has."""
    import qdrant_edge as edge

    vectors: dict[str, list[float] | edge.SparseVector] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    if not point.sparse.is_empty:
        vectors[SPARSE] = edge_sparse(point.sparse)
    return edge.Point(point.id, vectors, payload(point))  # type: ignore[arg-type]


def edge_sparse(vector: SparseVector) -> "edge.SparseVector":
    """Convert a sparse vector to Qdrant Edge."""
    import qdrant_edge as edge

    return edge.SparseVector(list(vector.indices), list(vector.values))


def edge_filter(where: PayloadFilter) -> "edge.Filter":
    """Convert a filter to Qdrant Edge."""
    import qdrant_edge as edge

    return edge.Filter(
        must=[_condition(condition) for condition in where.must] or None,
        should=[_condition(condition) for condition in where.should] or None,
        must_not=[_condition(condition) for condition in where.must_not] or None,
    )


def _condition(
    condition: Condition,
) -> "edge.FieldCondition | edge.IsEmptyCondition | edge.Filter":
    import qdrant_edge as edge

    match condition:
        case FieldMatch(field, values):
            return edge.FieldCondition(field, match=edge.MatchAny(list(values)))
        case Between(field, at_least, less_than, at_most):
            bounds = edge.RangeFloat(gte=at_least, lt=less_than, lte=at_most)
            return edge.FieldCondition(field, range=bounds)
        case Absent(field):
            return edge.IsEmptyCondition(field)
        case PayloadFilter():
            return edge_filter(condition)


@contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Context manager that converts the engine's exceptions into ``VectorIndexError``.

    ``action`` completes the message "cannot ...".
    """
    try:
        yield
    except (VectorIndexError, MemoryError, RecursionError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the engine is no Exception
        raise VectorIndexError(f"cannot {action}: {error}") from error
