"""The files of a replay: one iteration below a skill's workspace, laid out as the guide says.

``<skill>-workspace/iteration-N/eval-<case>/<arm>/{outputs/,timing.json,grading.json}`` with
``benchmark.json`` beside the cases. An arm's grading and timing are of all its runs; each run's own
lie in ``outputs/run-N``. Those below the data directory are removed once no result names them.
"""

import re
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from synthorg_tui.core.files import ensure_private_dir, write_atomically
from synthorg_tui.core.text import counted
from synthorg_tui.evaluation import dialects
from synthorg_tui.evaluation.cases import EvalCase
from synthorg_tui.evaluation.models import GradedAssertion, ReplayResult, RunGrade
from synthorg_tui.evaluation.replay import GradedRun

_ITERATION: Final = re.compile(r"iteration-(\d{1,6})")
_FILE_MODE: Final = 0o600


class EvaluationFolder:
    """The next iteration in the workspace of a skill; its folders are made when it is written to.

    Args:
        base: The folder that holds workspaces.
        skill: The skill's name.
    """

    def __init__(self, base: Path, skill: str) -> None:
        self.workspace = workspace_of(base, skill)
        names = (_ITERATION.fullmatch(path.name) for path in self.workspace.glob("iteration-*"))
        last = max((int(match[1]) for match in names if match), default=0)
        self.path = self.workspace / f"iteration-{last + 1}"
        self._skill = skill

    def begin(self, cases: Sequence[EvalCase]) -> None:
        """Write the cases that are run; raises ``OSError``."""
        _write(self.path / dialects.EVALS, dialects.write_evals(self._skill, cases))

    def add(self, run: GradedRun) -> None:
        """Write what a run left: its record, its answer, and how it was graded."""
        grade = run.grade
        outputs = (self.path / f"eval-{grade.case}" / grade.arm) / "outputs" / f"run-{grade.number}"
        _write(outputs / "record.json", run.execution.model_dump_json(indent=2) + "\n")
        _write(outputs / "answer.md", run.answer + "\n")
        _write(outputs / dialects.GRADING, dialects.write_grading(grade.results))
        _write(outputs / dialects.TIMING, dialects.write_timing([grade]))

    def finish(self, result: ReplayResult) -> None:
        """Write the grading and timing of each arm, and the summary of the iteration."""
        by_arm: dict[Path, list[RunGrade]] = {}
        for grade in result.grades:
            by_arm.setdefault(self.path / f"eval-{grade.case}" / grade.arm, []).append(grade)
        for folder, grades in by_arm.items():
            _write(folder / dialects.GRADING, dialects.write_grading(pooled(grades)))
            _write(folder / dialects.TIMING, dialects.write_timing(grades))
        summary = dialects.write_benchmark(dialects.benchmark_of(result))
        _write(self.path / dialects.BENCHMARK, summary)


def workspace_of(base: Path, skill: str) -> Path:
    """Return the folder of a skill's iterations and of the cases that a person wrote for it."""
    return base / f"{skill}-workspace"


def write_cases(path: Path, skill: str, cases: Sequence[EvalCase]) -> None:
    """Write cases to a file for a person to edit; raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = dialects.write_evals(skill, cases).encode("utf-8", "replace")
    write_atomically(path, content, mode=_FILE_MODE, durable=False)


def pooled(grades: Sequence[RunGrade]) -> tuple[GradedAssertion, ...]:
    """Return what holds in all runs of an arm: passed when it passed in each that decided it."""
    told: dict[str, list[bool]] = {}
    for grade in grades:
        for result in grade.results:
            told.setdefault(result.text, [])
            if result.passed is not None:
                told[result.text].append(result.passed)
    return tuple(
        GradedAssertion(
            text=text,
            passed=all(passed) if passed else None,
            evidence=f"passed in {sum(passed)} of {counted(len(passed), 'run')}",
        )
        for text, passed in told.items()
    )


def remove_unnamed(base: Path, named: Collection[str]) -> int:
    """Remove the iterations below ``base`` that no stored result names; returns how many.

    Their results were erased, or their runs never ended. What a person wrote there stays.
    """
    removed = 0
    if not base.is_dir():
        return 0
    for workspace in sorted(base.glob("*-workspace")):
        for folder in sorted(workspace.glob("iteration-*")):
            is_ours = _ITERATION.fullmatch(folder.name) and not folder.is_symlink()
            if is_ours and str(folder) not in named:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def _write(path: Path, text: str) -> None:
    ensure_private_dir(path.parent)
    write_atomically(path, text.encode("utf-8", "replace"), mode=_FILE_MODE, durable=False)
