"""Both dialects of the files of evaluations: read alike, and written as the guide has them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.evaluation import dialects
from synthorg_tui.evaluation.cases import MAX_ASSERTIONS, MAX_CASES, EvalCase
from synthorg_tui.evaluation.models import ArmFigure, GradedAssertion, ReplayResult, RunGrade
from tests.tables import rows

TEXT = st.text(min_size=1, max_size=60).map(safe_text).filter(str.strip)
NUMBER = st.floats(min_value=-1000, max_value=1000).map(lambda value: round(value, 4))
CASES = st.builds(
    EvalCase,
    id=st.integers(min_value=1, max_value=99).map(str),
    name=st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True),
    prompt=TEXT,
    expected_output=TEXT | st.just(""),
    files=st.lists(st.from_regex(r"[a-z]{1,5}/[a-z]{1,5}\.csv", fullmatch=True), max_size=2).map(
        tuple
    ),
    assertions=st.lists(TEXT, max_size=3).map(tuple),
    project=TEXT | st.just(""),
    ref=TEXT | st.just(""),
    source=TEXT | st.just(""),
)
GRADES = st.lists(st.builds(GradedAssertion, text=TEXT.map(str.strip), passed=st.booleans()))


@given(st.lists(CASES, max_size=4, unique_by=lambda case: case.name))
def test_cases_are_read_back_as_they_were_written(cases: list[EvalCase]) -> None:
    assert dialects.read_evals(dialects.write_evals("a-skill", cases)) == tuple(cases)


@given(st.lists(CASES, max_size=4, unique_by=lambda case: case.name))
def test_skill_creators_cases_are_the_same(cases: list[EvalCase]) -> None:
    data = json.loads(dialects.write_evals("a-skill", cases))
    for entry in data["evals"]:
        entry["expectations"] = entry.pop("assertions")
    assert dialects.read_evals(json.dumps(data)) == tuple(cases)


@given(GRADES)
def test_grades_are_written_with_their_numbers(results: list[GradedAssertion]) -> None:
    data = json.loads(dialects.write_grading(results))
    assert [GradedAssertion.model_validate(each) for each in data["assertion_results"]] == results
    passed = sum(bool(result.passed) for result in results)
    assert data["summary"]["passed"] == passed
    assert data["summary"]["failed"] == len(results) - passed


def test_what_no_script_decided_counts_neither_way() -> None:
    results = [
        GradedAssertion(text="one", passed=True),
        GradedAssertion(text="polite", passed=None),
    ]
    data = json.loads(dialects.write_grading(results))
    assert data["summary"] == {"passed": 1, "failed": 0, "total": 1, "pass_rate": 1.0}
    assert data["undecided"] == ["polite"]


def test_timings_are_written_with_tokens_and_milliseconds() -> None:
    graded = RunGrade(case="a", arm="with_skill", number=1, tokens=84852, milliseconds=23300)
    written = json.loads(dialects.write_timing([graded]))
    assert written == {"total_tokens": 84852, "duration_ms": 23300}


FIGURES = st.dictionaries(
    st.sampled_from(dialects.MEASURES),
    st.builds(ArmFigure, mean=NUMBER, stddev=NUMBER.map(abs)),
    min_size=1,
)


@given(FIGURES, FIGURES, st.dictionaries(st.sampled_from(dialects.MEASURES), NUMBER, min_size=1))
def test_summaries_are_read_in_both_dialects(
    first: dict[str, ArmFigure], second: dict[str, ArmFigure], delta: dict[str, float]
) -> None:
    figures = {"with_skill": first, "without_skill": second}
    written = dialects.write_benchmark(dialects.Benchmark(figures, delta))
    assert dialects.read_benchmark(written) == dialects.Benchmark(figures, delta)
    data = json.loads(written)
    data["run_summary"]["delta"] = {name: f"{value:+.4f}" for name, value in delta.items()}
    for arm in figures:
        for figure in data["run_summary"][arm].values():
            figure |= {"min": 0.0, "max": 1.0}
    read = dialects.read_benchmark(json.dumps(data))
    assert read.figures == figures
    assert read.delta == pytest.approx(delta)


def test_a_summary_that_is_missing_is_made_of_the_runs() -> None:
    runs = [
        {"configuration": arm, "run_number": at, "result": {"pass_rate": rate, "tokens": 100}}
        for arm, rates in (("with_skill", (1.0, 0.5)), ("without_skill", (0.0, 0.5)))
        for at, rate in enumerate(rates, 1)
    ]
    read = dialects.read_benchmark(json.dumps({"metadata": {}, "runs": [*runs, 7, {}]}))
    assert read.figures["with_skill"]["pass_rate"].mean == 0.75
    assert read.delta == {"pass_rate": 0.5, "tokens": 0.0}


def test_a_replay_is_summarised_by_its_arms() -> None:
    grades = [
        RunGrade(
            case="c",
            arm=arm,
            number=1,
            results=(GradedAssertion(text="t", passed=arm == "with_skill"),),
            tokens=10,
            milliseconds=1500,
        )
        for arm in ("with_skill", "without_skill")
    ]
    made = dialects.benchmark_of(ReplayResult(executor="x", grades=tuple(grades)))
    assert made.delta == {"pass_rate": 1.0, "time_seconds": 0.0, "tokens": 0.0}
    assert made.figures["with_skill"]["time_seconds"].mean == 1.5


@rows("text", ["", "[1", "7", "{}", '{"evals": 3}', "[" * 100_000, '{"evals": [NaN]}'])
def test_what_is_no_such_file_is_said_to_be_none(text: str) -> None:
    with pytest.raises(DomainError):
        dialects.read_evals(text)


def test_a_hostile_file_is_bounded_and_made_safe() -> None:
    entries = [
        {
            "id": {"a": 1},
            "name": "../../etc",
            "prompt": "Do \x1b]0;x\x07it" + "y" * 50_000,
            "files": ["/etc/passwd", "../x", "evals/a.csv", 9],
            "assertions": ["The command `rm -rf ~` exits 0.", 3] + ["a"] * 500,
        },
        {"prompt": "  "},
        "no object",
    ] + [{"prompt": "p", "name": "same"}] * 500
    cases = dialects.read_evals(json.dumps({"evals": entries}))
    assert len(cases) <= MAX_CASES
    assert len({case.name for case in cases}) == len(cases)
    assert cases[0].name == "case-1"
    assert cases[0].files == ("evals/a.csv",)
    assert len(cases[0].assertions) < MAX_ASSERTIONS
    assert "\x1b" not in cases[0].prompt


def test_a_file_that_is_a_link_or_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "large").write_text(" " * (dialects.MAX_EVAL_FILE + 1))
    for name in ("link", "large", "gone"):
        with pytest.raises(DomainError):
            dialects.read_file(tmp_path / name)
    assert dialects.read_file(tmp_path / "real") == "{}"
