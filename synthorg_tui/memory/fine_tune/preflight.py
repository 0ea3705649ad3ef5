"""What a run would need, looked at before it begins; nothing is changed here."""

import asyncio
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.bench import Bench
from synthorg_tui.memory.fine_tune.errors import (
    BackendUnsupportedError,
    FineTuneDependencyError,
    FineTuneError,
    TooFewPairsError,
)
from synthorg_tui.memory.fine_tune.generating import few_pairs, questions_in, usable
from synthorg_tui.memory.fine_tune.models import (
    MIN_JUDGES,
    MIN_PAIRS,
    FineTuneOverrides,
    FineTunePlan,
    FineTuneTrainer,
    PreflightCheck,
    PreflightResult,
)
from synthorg_tui.memory.fine_tune.pipeline import TuningParts, source_of

PAIRS: Final = "pairs"
_LIBRARIES: Final = ("sentence_transformers", "torch")


async def preflight(plan: FineTunePlan, parts: TuningParts) -> PreflightResult:
    """Return what was found for a plan; ``can_proceed`` says whether it can begin."""
    source = await asyncio.to_thread(_source, plan.source_dir)
    checks = [source]
    if plan.output_dir is not None:
        checks.append(await asyncio.to_thread(_output, Path(plan.output_dir)))
    checks += [_overrides(plan), _base(plan, parts), await _embedded(parts)]
    if plan.write_about:
        checks.append(_writer(plan, parts))
    if source.status != "fail":
        checks.append(await _pairs(plan, parts))
    return PreflightResult(checks=tuple(checks))


def require_ready(plan: FineTunePlan, result: PreflightResult) -> None:
    """Raise the error of what keeps a plan from beginning; return when nothing does."""
    if plan.execution.backend != "in-process":
        raise BackendUnsupportedError(
            "no container is started here: training runs in this process",
            remedy="Leave execution.backend as in-process.",
        )
    if plan.trainer is FineTuneTrainer.CONTRASTIVE:
        _require_libraries()
    for check in result.checks:
        if check.status == "fail":
            kind = TooFewPairsError if check.name == PAIRS else FineTuneError
            raise kind(check.message)


def _require_libraries() -> None:
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise FineTuneDependencyError(
            f"training all weights needs {' and '.join(missing)}, which isn't installed",
            remedy="`pip install sentence-transformers torch`, or use the adapter, which needs "
            "nothing more.",
        )
    raise BackendUnsupportedError(
        "training all weights isn't part of this version",
        remedy="Use the adapter; a model trained elsewhere is used by providers.embedding.",
    )


def _check(
    name: str, status: Literal["pass", "warn", "fail"], message: str, **detail: Any
) -> PreflightCheck:
    return PreflightCheck(name=name, status=status, message=message, detail=detail)


def _source(path: str) -> PreflightCheck:
    name, folder = "source_dir_exists", Path(path)
    if not folder.exists():
        return _check(name, "fail", f"there is no folder {path}")
    if not folder.is_dir():
        return _check(name, "fail", f"{path} is not a folder")
    if not os.access(folder, os.R_OK | os.X_OK):
        return _check(name, "fail", f"{path} can't be read")
    return _check(name, "pass", f"{path} can be read")


def _output(folder: Path) -> PreflightCheck:
    name = "output_dir_writable"
    if folder.is_symlink() and not folder.exists():
        return _check(name, "warn", f"{folder} is a link to nothing")
    if not folder.exists():
        return _check(name, "warn", f"there is no folder {folder} yet")
    if not folder.is_dir():
        return _check(name, "fail", f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        return _check(name, "fail", f"nothing can be written to {folder}")
    return _check(name, "pass", f"{folder} can be written to")


def _overrides(plan: FineTunePlan) -> PreflightCheck:
    own = plan.model_dump(include=set(FineTuneOverrides.model_fields), exclude_none=True)
    told = ", ".join(f"{name} {value}" for name, value in own.items())
    return _check("override_bounds", "pass", told or "the trainer's own values", **own)


def _base(plan: FineTunePlan, parts: TuningParts) -> PreflightCheck:
    used = parts.in_force.base_model
    is_other = plan.base_model not in (None, used)
    if is_other and plan.trainer is FineTuneTrainer.ADAPTER:
        message = f"the adapter is trained for the embedder in use, {used}, not {plan.base_model}"
        return _check("base_model", "fail", message)
    return _check("base_model", "pass", used)


async def _embedded(parts: TuningParts) -> PreflightCheck:
    waiting = await parts.core.unembedded()
    if waiting:
        message = f"{waiting} memories wait for embedding and aren't used"
        return _check("embedded", "warn", message, waiting=waiting)
    return _check("embedded", "pass", "all memories are embedded")


async def _pairs(plan: FineTunePlan, parts: TuningParts) -> PreflightCheck:
    """How many questions with known answers there are."""
    try:
        count = await count_pairs(plan, parts)
    except DomainError as error:
        return _check(PAIRS, "fail", error.message)
    needed = MIN_JUDGES if plan.write_about else MIN_PAIRS
    if problem := few_pairs(count, plan.write_about):
        return _check(PAIRS, "fail", problem, found=count, needed=needed)
    message = f"{count} questions with known answers"
    if plan.write_about:
        message += f", and the language model writes about {plan.write_about} memories"
    return _check(PAIRS, "pass", message, found=count, needed=needed)


def _writer(plan: FineTunePlan, parts: TuningParts) -> PreflightCheck:
    """Whether there is a model that can write."""
    name = "language_model"
    if parts.model() is None:
        return _check(name, "fail", "questions are to be written, and no language model is set")
    return _check(name, "pass", f"writes questions about {plan.write_about} memories")


async def count_pairs(plan: FineTunePlan, parts: TuningParts) -> int:
    """Return how many questions a plan could use."""
    asked = list(await parts.asked())
    folder = source_of(plan.source_dir, parts.data_dir)
    if folder is not None:
        asked += await asyncio.to_thread(questions_in, folder)
    agents: Sequence[str] = sorted({question.agent_id for question in asked})
    bench = Bench(parts.core, [key for question in asked for key in question.relevant])
    pools = {agent: await bench.pool(agent) for agent in agents}
    return len(usable(asked, pools))
