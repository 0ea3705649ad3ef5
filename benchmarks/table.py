"""How every benchmark prints what it measured."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, what it has to hold, and whether it does (``None``: nothing to hold)."""

    what: str
    measured: str
    hold: str = ""
    holds: bool | None = None


def print_table(title: str, rows: Sequence[Row]) -> None:
    """A plain table; figures that don't hold are marked."""
    width = max(len(row.what) for row in rows)
    print(f"\n{title}")
    print(f"{'':{width}}  {'measured':>14}  {'to hold':>14}")
    for row in rows:
        verdict = {None: "", True: "ok", False: "MISSED"}[row.holds]
        print(f"{row.what:{width}}  {row.measured:>14}  {row.hold:>14}  {verdict}")
