"""The report of every benchmark: figures and their limits, as a table or as JSON.

Benchmarks only measure and produce rows. The table and the output of ``--json`` are made here
alone, so that one script can read all reports and compare runs.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a figure, in the figure's unit."""

    relation: Literal["<", "<=", ">="]
    limit: float

    def allows(self, value: float) -> bool:
        if self.relation == "<":
            return value < self.limit
        return value <= self.limit if self.relation == "<=" else value >= self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """A figure with its unit, its limit or ``None``, and the number of digits in a table."""

    name: str
    value: float
    unit: str = ""
    hold: Limit | None = None
    digits: int = 0

    @property
    def ok(self) -> bool | None:
        """Whether the figure is within its limit; ``None`` if it has none."""
        return self.hold.allows(self.value) if self.hold else None

    def as_data(self) -> dict[str, object]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "hold": asdict(self.hold) if self.hold else None,
            "ok": self.ok,
        }

    def as_cells(self) -> tuple[str, str, str, str]:
        """Return the cells of a table: name, figure, limit and verdict."""
        hold = f"{self.hold.relation} {self._with_unit(self.hold.limit)}" if self.hold else ""
        verdict = {None: "", True: "ok", False: "MISSED"}[self.ok]
        return self.name, self._with_unit(self.value), hold, verdict

    def _with_unit(self, number: float) -> str:
        return f"{number:,.{self.digits}f} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Grid:
    """Figures without limits in a table for comparison: a row of figures for each name."""

    corner: str
    columns: Sequence[str]
    lines: Mapping[str, Sequence[float]]
    digits: int = 3

    def as_rows(self) -> list[Row]:
        """Return each figure as a row, named after its row and column in the grid."""
        return [
            Row(f"{self.corner} {name}: {column}".lstrip(), value, digits=self.digits)
            for name, values in self.lines.items()
            for column, value in zip(self.columns, values, strict=True)
        ]

    def as_table(self) -> str:
        lines = [
            (name, *(f"{value:,.{self.digits}f}" for value in values))
            for name, values in self.lines.items()
        ]
        return _aligned([(self.corner, *self.columns), *lines])


@dataclass(frozen=True, slots=True)
class Report:
    """One run of a benchmark: its name, its parameters and its figures."""

    benchmark: str
    parameters: Mapping[str, str | int | None]
    rows: Sequence[Row]

    @property
    def missed(self) -> bool:
        """Whether any figure is beyond its limit."""
        return any(row.ok is False for row in self.rows)

    def as_json(self) -> str:
        data = {
            "benchmark": self.benchmark,
            "parameters": dict(self.parameters),
            "rows": [row.as_data() for row in self.rows],
        }
        return json.dumps(data, indent=2, allow_nan=False)

    def as_table(self) -> str:
        values = [
            f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
            for name, value in self.parameters.items()
            if value is not None
        ]
        title = ": ".join(filter(None, (self.benchmark, ", ".join(values))))
        head = ("", "measured", "to hold", "")
        return f"\n{title}\n{_aligned([head, *(row.as_cells() for row in self.rows)])}"


def command_line(doc: str | None) -> argparse.ArgumentParser:
    """Return an argument parser with ``--json``; the first line of ``doc`` is its description."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print data instead of a table")
    return parser


def print_report(report: Report, *, as_json: bool) -> None:
    """Print the report, and nothing else, on standard output."""
    print(report.as_json() if as_json else report.as_table())


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells below each other, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
