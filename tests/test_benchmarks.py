"""Every benchmark reports in one shape, as a table and as data that a script can compare."""

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
from jsonschema import validate

import benchmarks
from benchmarks.table import Grid, Limit, Report, Row, print_report
from tests.tables import rows

FOLDER = Path(benchmarks.__file__).parent
RUNNABLE = sorted(
    path.stem for path in FOLDER.glob("*.py") if '\nif __name__ == "__main__":' in path.read_text()
)
LIMIT = {
    "type": "object",
    "properties": {"relation": {"enum": ["<", "<=", ">="]}, "limit": {"type": "number"}},
    "required": ["relation", "limit"],
    "additionalProperties": False,
}
ROW = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "value": {"type": "number"},
        "unit": {"type": "string"},
        "hold": {"anyOf": [LIMIT, {"type": "null"}]},
        "ok": {"type": ["boolean", "null"]},
    },
    "required": ["name", "value", "unit", "hold", "ok"],
    "additionalProperties": False,
}
SHAPE = {
    "type": "object",
    "properties": {
        "benchmark": {"type": "string", "minLength": 1},
        "parameters": {
            "type": "object",
            "additionalProperties": {"type": ["string", "integer", "null"]},
        },
        "rows": {"type": "array", "items": ROW, "minItems": 1},
    },
    "required": ["benchmark", "parameters", "rows"],
    "additionalProperties": False,
}


def run(
    name: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """What the benchmark prints on standard output."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    assert not import_module(f"benchmarks.{name}").main()
    return capsys.readouterr().out


def test_the_benchmarks_are_known() -> None:
    assert {"hooks", "scale", "startup", "synthetic"} <= set(RUNNABLE)
    assert "table" not in RUNNABLE


@rows("name", RUNNABLE)
def test_every_benchmark_offers_data(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(name, ["--help"], monkeypatch, capsys)
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out


@rows("name", RUNNABLE)
def test_the_readme_lists_every_benchmark(name: str) -> None:
    assert f"`python -m benchmarks.{name}" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("gcc"), reason="the fault library needs gcc"
)
def test_a_store_outlives_a_fault_at_one_of_its_file_operations(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(
        run("faults", ["--points", "1", "--fillings", "0", "--json"], monkeypatch, capsys)
    )
    validate(data, SHAPE)
    assert [row["name"] for row in data["rows"] if row["ok"] is False] == []
    assert sum(row["value"] for row in data["rows"] if row["name"].endswith("runs")) == 2


def test_the_index_prints_the_shape_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(run("index", ["--points", "50", "--json"], monkeypatch, capsys))
    validate(data, SHAPE)
    assert data["benchmark"] == "index"
    assert data["parameters"]["points"] == 50
    assert len({row["name"] for row in data["rows"]}) == len(data["rows"]) == 9


def test_a_synthetic_store_is_reported_as_a_table_and_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(tmp_path), "--memories", "20"]
    table = run("synthetic", arguments, monkeypatch, capsys)
    assert table.splitlines()[1] == "synthetic: memories 20"
    data = json.loads(run("synthetic", [*arguments, "--json"], monkeypatch, capsys))
    validate(data, SHAPE)
    stored, seconds = data["rows"]
    assert stored == {
        "name": "memories in the store",
        "value": 20,
        "unit": "",
        "hold": None,
        "ok": None,
    }
    assert seconds["unit"] == "s"


def test_a_limit_decides_whether_a_figure_is_ok(capsys: pytest.CaptureFixture[str]) -> None:
    told = [
        Row("free", 1234.5, "ms", digits=1),
        Row("at its limit", 2, "x", Limit("<=", 2), digits=2),
        Row("below its limit", 2, "s", Limit("<", 2)),
        Row("least", 0.8, "", Limit(">=", 0.8), digits=1),
        Row("too little", 0.79, "", Limit(">=", 0.8), digits=2),
    ]
    report = Report("made up", {"runs": 1_000, "data": None}, told)
    assert report.missed
    assert not Report("made up", {}, told[:2]).missed
    print_report(report, as_json=True)
    data = json.loads(capsys.readouterr().out)
    validate(data, SHAPE)
    assert [row["ok"] for row in data["rows"]] == [None, True, False, True, False]
    assert data["rows"][1]["hold"] == {"relation": "<=", "limit": 2}
    print_report(report, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "made up: runs 1,000"
    assert [line.split()[-1] for line in lines[3:]] == ["ms", "ok", "MISSED", "ok", "MISSED"]
    assert "1,234.5 ms" in lines[3]
    assert "<= 2.00 x" in lines[4]


def test_a_grid_is_a_row_for_each_figure() -> None:
    grid = Grid("search", ("recall", "rank"), {"dense": (0.5, 0.25), "fused": (1, 0.75)})
    told = grid.as_rows()
    assert [row.name for row in told] == [
        "search dense: recall",
        "search dense: rank",
        "search fused: recall",
        "search fused: rank",
    ]
    assert [row.value for row in told] == [0.5, 0.25, 1, 0.75]
    assert grid.as_table().splitlines()[1].split() == ["dense", "0.500", "0.250"]
