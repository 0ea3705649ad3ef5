"""The JSON files of evaluations: cases and summaries are read in two dialects, written in one.

The guide of the Agent Skills specification says ``assertions``, ``assertion_results`` and numbers
for differences; skill-creator says ``expectations``, lists its runs, and writes differences as
text. All of it may come from somebody else: sizes are bounded, what can't be used is left out and
counted, and nothing that a file says is ever run.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TypeAlias

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import FileTooLargeError, NotPlainFileError, read_plain
from synthorg_tui.core.text import safe_text
from synthorg_tui.evaluation.cases import (
    MAX_ASSERTIONS,
    MAX_CASE_TEXT,
    MAX_CASES,
    EvalCase,
    case_name,
)
from synthorg_tui.evaluation.models import ARMS, ArmFigure, GradedAssertion, ReplayResult, RunGrade

EVALS: Final = "evals.json"
GRADING: Final = "grading.json"
TIMING: Final = "timing.json"
BENCHMARK: Final = "benchmark.json"
MEASURES: Final = ("pass_rate", "time_seconds", "tokens")
MAX_EVAL_FILE: Final = 1024 * 1024
_MAX_ENTRIES: Final = 1000

_Object: TypeAlias = Mapping[str, object]


class Benchmark(NamedTuple):
    """The summary of an iteration: figures by arm and measure, and the differences.

    Measures are those of ``MEASURES``, as far as the file has them.
    """

    figures: Mapping[str, Mapping[str, ArmFigure]]
    delta: Mapping[str, float]


def read_file(path: Path) -> str:
    """Return the text of a file of an evaluation; raises ``DomainError``."""
    try:
        content, _ = read_plain(path, limit=MAX_EVAL_FILE)
    except (NotPlainFileError, FileTooLargeError) as error:
        raise DomainError(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise DomainError(f"{path} can't be read: {error.strerror}") from error
    return content.decode("utf-8", "replace")


def read_evals(text: str) -> tuple[EvalCase, ...]:
    """Read the cases of an ``evals.json``; entries without a prompt are left out.

    Raises ``DomainError`` when it is no such file. Each case gets a name of its own.
    """
    data = _parsed(text, EVALS)
    entries = data if isinstance(data, list) else _object(data, EVALS).get("evals")
    if not isinstance(entries, list):
        raise DomainError(f"{EVALS} has no list of evals")
    cases: dict[str, EvalCase] = {}
    for number, entry in enumerate(entries[:MAX_CASES], 1):
        case = _case(entry, number) if isinstance(entry, Mapping) else None
        if case is not None:
            name = case.name if case.name not in cases else f"case-{number}"
            cases[name] = case.model_copy(update={"name": name})
    return tuple(cases.values())


def write_evals(skill: str, cases: Sequence[EvalCase]) -> str:
    """Return the text of an ``evals.json`` with these cases."""
    entries = []
    for case in cases:
        entry: dict[str, object] = {
            "id": int(case.id) if case.id.isascii() and case.id.isdigit() else case.id,
            "name": case.name,
            "prompt": case.prompt,
            "expected_output": case.expected_output,
            "files": list(case.files),
            "assertions": list(case.assertions),
        }
        known = {"project": case.project, "ref": case.ref, "source": case.source}
        entries.append(entry | {name: value for name, value in known.items() if value})
    return _written({"skill_name": skill, "evals": entries})


def write_grading(results: Sequence[GradedAssertion]) -> str:
    """Return the text of a ``grading.json``; what no script decided is left out and counted."""
    decided = [result for result in results if result.passed is not None]
    passed = sum(bool(result.passed) for result in decided)
    summary = {
        "passed": passed,
        "failed": len(decided) - passed,
        "total": len(decided),
        "pass_rate": round(passed / len(decided), 4) if decided else 0.0,
    }
    told = [
        {"text": result.text, "passed": result.passed, "evidence": result.evidence}
        for result in decided
    ]
    undecided = [result.text for result in results if result.passed is None]
    extra = {"undecided": undecided} if undecided else {}
    return _written({"assertion_results": told, "summary": summary, **extra})


def write_timing(grades: Sequence[RunGrade]) -> str:
    """Return the text of a ``timing.json``: the mean of what runs took."""
    count = max(len(grades), 1)
    tokens = round(sum(grade.tokens for grade in grades) / count)
    milliseconds = round(sum(grade.milliseconds for grade in grades) / count)
    return _written({"total_tokens": tokens, "duration_ms": milliseconds})


def read_benchmark(text: str) -> Benchmark:
    """Read a ``benchmark.json``; what its summary lacks is worked out from its runs, if it has any.

    Raises ``DomainError``.
    """
    data = _object(_parsed(text, BENCHMARK), BENCHMARK)
    summary, runs = data.get("run_summary"), data.get("runs")
    if not isinstance(summary, Mapping) and not isinstance(runs, list):
        raise DomainError(f"{BENCHMARK} has neither a summary nor runs")
    figures = _of_runs(runs[:_MAX_ENTRIES]) if isinstance(runs, list) else {}
    summary = summary if isinstance(summary, Mapping) else {}
    for arm in ARMS:
        told = summary.get(arm)
        if isinstance(told, Mapping):
            own = {m: figure for m in MEASURES if (figure := _figure(told.get(m))) is not None}
            figures[arm] = {**figures.get(arm, {}), **own}
    delta = summary.get("delta")
    told = delta if isinstance(delta, Mapping) else {}
    known = {m: value for m in MEASURES if (value := _number(told.get(m))) is not None}
    return Benchmark(figures, known or _differences(figures))


def benchmark_of(result: ReplayResult) -> Benchmark:
    """Summarise a replay: every run counts once in the figures of its arm."""
    figures: dict[str, dict[str, ArmFigure]] = {}
    for arm in ARMS:
        grades = [grade for grade in result.grades if grade.arm == arm]
        values = {
            "pass_rate": [grade.pass_rate for grade in grades if grade.pass_rate is not None],
            "time_seconds": [grade.milliseconds / 1000 for grade in grades],
            "tokens": [float(grade.tokens) for grade in grades],
        }
        if grades:
            figures[arm] = _figures(values)
    delta = dict(_differences(figures))
    if result.delta is not None:
        delta["pass_rate"] = round(result.delta, 4)
    return Benchmark(figures, delta)


def write_benchmark(benchmark: Benchmark) -> str:
    """Return the text of a ``benchmark.json``."""
    arms: dict[str, object] = {
        arm: {measure: figure.model_dump() for measure, figure in measures.items()}
        for arm, measures in benchmark.figures.items()
    }
    return _written({"run_summary": {**arms, "delta": dict(benchmark.delta)}})


def _figures(values: Mapping[str, Sequence[float]]) -> dict[str, ArmFigure]:
    """The figure of each measure that has values."""
    found = {name: ArmFigure.of(known) for name, known in values.items()}
    return {name: figure for name, figure in found.items() if figure is not None}


def _differences(figures: Mapping[str, Mapping[str, ArmFigure]]) -> dict[str, float]:
    first = figures.get(ARMS[0], {})
    second = next((figures[arm] for arm in ARMS[1:] if arm in figures), {})
    return {name: first[name].mean - second[name].mean for name in first if name in second}


def _of_runs(runs: Sequence[object]) -> dict[str, dict[str, ArmFigure]]:
    """The figures of the runs that skill-creator lists."""
    values: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        if not isinstance(run, Mapping):
            continue
        arm, result = run.get("configuration"), run.get("result")
        if arm in ARMS and isinstance(result, Mapping):
            for measure in MEASURES:
                value = _number(result.get(measure))
                if value is not None:
                    values.setdefault(str(arm), {}).setdefault(measure, []).append(value)
    return {arm: _figures(own) for arm, own in values.items()}


def _case(entry: _Object, number: int) -> EvalCase | None:
    prompt = _text(entry.get("prompt"))
    if not prompt.strip():
        return None
    wanted = entry.get("assertions", entry.get("expectations"))
    files = [name for name in _texts(entry.get("files"), 20) if _is_inside(name)]
    given = entry.get("id")
    key = safe_text(str(given)) if isinstance(given, str | int) else ""
    return EvalCase(
        id=key.strip()[:100] or str(number),
        name=case_name(_text(entry.get("name")), number),
        prompt=prompt,
        expected_output=_text(entry.get("expected_output")),
        files=tuple(files),
        assertions=tuple(text for text in _texts(wanted, MAX_ASSERTIONS) if text.strip()),
        project=_text(entry.get("project")),
        ref=_text(entry.get("ref")),
        source=_text(entry.get("source")),
    )


def _figure(value: object) -> ArmFigure | None:
    if not isinstance(value, Mapping):
        return None
    mean = _number(value.get("mean"))
    spread = _number(value.get("stddev")) or 0.0
    return None if mean is None else ArmFigure(mean=mean, stddev=max(spread, 0.0))


def _is_inside(name: str) -> bool:
    path = Path(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts


def _number(value: object) -> float | None:
    """A finite number, also one that is written as text, such as ``+0.50``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value.strip()[:40] if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _text(value: object) -> str:
    """A text without what a terminal could take for more than text, within bounds."""
    return safe_text(value[:MAX_CASE_TEXT], multiline=True) if isinstance(value, str) else ""


def _texts(value: object, limit: int) -> list[str]:
    if not isinstance(value, list):
        return []
    return [_text(item) for item in value[:limit] if isinstance(item, str)]


def _object(data: object, name: str) -> _Object:
    if not isinstance(data, Mapping):
        raise DomainError(f"{name} holds no JSON object")
    return data


def _parsed(text: str, name: str) -> object:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number")

    try:
        return json.loads(text[:MAX_EVAL_FILE], parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise DomainError(f"{name} is no JSON: {error}") from error


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
