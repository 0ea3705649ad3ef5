"""What the database and the index raise, as errors of the memory contract."""

from collections.abc import Iterator
from contextlib import contextmanager

from synthorg_tui.memory.errors import MemoryError, VectorIndexError
from synthorg_tui.providers.embedding.errors import EmbeddingError


def duckdb_error() -> type[Exception]:
    """DuckDB's base error, imported when it is needed."""
    import duckdb

    return duckdb.Error


@contextmanager
def failing_as(kind: type[MemoryError], action: str) -> Iterator[None]:
    """Turn what the database and the index raise into one kind of memory error."""
    try:
        yield
    except (VectorIndexError, EmbeddingError) as error:
        raise kind(f"{action} failed: {error.message}", remedy=error.remedy) from error
    except duckdb_error() as error:
        raise kind(f"{action} failed: {str(error).splitlines()[0]}") from error
