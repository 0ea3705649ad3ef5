"""What of earlier decisions a start has to see to; asked every time, so it must be quick."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def has_open(db: "DuckDBPyConnection") -> bool:
    """Whether a decision is committed whose files may not be written yet."""
    found = db.execute("SELECT 1 FROM operations WHERE state = 'open' LIMIT 1").fetchone()
    return found is not None


def former_roots(db: "DuckDBPyConnection", own_root: str) -> frozenset[str]:
    """The folders besides ``own_root`` that skills drawn from lessons were written to."""
    found = db.execute(
        "SELECT DISTINCT root FROM skills WHERE kind IS NOT NULL AND root <> ?", [own_root]
    ).fetchall()
    return frozenset(row[0] for row in found)
