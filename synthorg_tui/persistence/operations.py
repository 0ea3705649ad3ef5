"""Whether a decision waits to be finished; asked at every start, so it must be quick."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def has_open(db: "DuckDBPyConnection") -> bool:
    """Whether a decision is committed whose files may not be written yet."""
    found = db.execute("SELECT 1 FROM operations WHERE state = 'open' LIMIT 1").fetchone()
    return found is not None
