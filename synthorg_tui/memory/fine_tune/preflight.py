"""What a run would need, looked at before it begins; nothing is changed here."""

import asyncio
import os
from pathlib import Path
from typing import Any, Final, Literal

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.fine_tune.base_models import base_folder, require_libraries
from synthorg_tui.memory.fine_tune.errors import (
    BackendUnsupportedError,
    FineTuneError,
    TooFewPairsError,
)
from synthorg_tui.memory.fine_tune.generating import few_pairs, usable
from synthorg_tui.memory.fine_tune.models import (
    MIN_JUDGES,
    MIN_PAIRS,
    FineTuneOverrides,
    FineTunePlan,
    FineTuneTrainer,
    PreflightCheck,
    PreflightResult,
)
from synthorg_tui.memory.fine_tune.pipeline import TuningParts
from synthorg_tui.memory.fine_tune.training import Numbers
from synthorg_tui.memory.fine_tune.weights_process import vectors_of
from synthorg_tui.persistence.port import Connection

PAIRS: Final = "pairs"
BASE: Final = "base_model"
ALIKE: Final = 0.9
"""Least mean cosine of a model's vectors to the stored ones, of the same texts."""
COMPARED: Final = 16
"""Memories that a model is compared on."""


async def preflight(plan: FineTunePlan, parts: TuningParts) -> PreflightResult:
    """Return what was found for a plan; ``can_proceed`` says whether it can begin."""
    source = await asyncio.to_thread(_source, plan.source_dir)
    checks = [source]
    if plan.output_dir is not None:
        checks.append(await asyncio.to_thread(_output, Path(plan.output_dir)))
    own = plan.model_dump(include=set(FineTuneOverrides.model_fields), exclude_none=True)
    told = ", ".join(f"{name} {value}" for name, value in own.items())
    checks.append(_check("override_bounds", "pass", told or "the trainer's own values", **own))
    checks += [await _base(plan, parts), await _embedded(parts)]
    if plan.write_about:
        can_write = parts.model() is not None
        none_set = "questions are to be written, and no language model is set"
        message = f"writes questions about {plan.write_about} memories" if can_write else none_set
        checks.append(_check("language_model", "pass" if can_write else "fail", message))
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
        require_libraries()
    for check in result.checks:
        if check.status == "fail":
            kind = TooFewPairsError if check.name == PAIRS else FineTuneError
            raise kind(check.message, remedy=str(check.detail.get("remedy", "")))


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


async def _base(plan: FineTunePlan, parts: TuningParts) -> PreflightCheck:
    used = parts.in_force.base_model
    if plan.trainer is FineTuneTrainer.CONTRASTIVE:
        try:
            return await _model(plan, parts)
        except DomainError as error:
            return _check(BASE, "fail", error.message, remedy=error.remedy)
    if plan.base_model not in (None, used):
        message = f"the adapter is trained for the embedder in use, {used}, not {plan.base_model}"
        return _check(BASE, "fail", message)
    return _check(BASE, "pass", used)


async def _model(plan: FineTunePlan, parts: TuningParts) -> PreflightCheck:
    """Whether the model to train gives texts the vectors that are stored of them.

    Raises ``DomainError`` when it can't be run.
    """
    require_libraries()
    used = parts.in_force.base_model
    folder = await asyncio.to_thread(base_folder, plan.base_model, used)
    texts, stored = await _sample(parts)
    if not texts:
        return _check(BASE, "fail", "no memory is embedded, so the model can't be compared")
    found = await vectors_of(str(folder), texts)
    if found.shape != stored.shape:
        told = f"its vectors have {found.shape[1]} numbers, and the stored ones {stored.shape[1]}"
        return _check(BASE, "fail", f"{folder} isn't the model in use: {told}")
    alike = float((found * stored).sum(axis=1).mean())
    if alike < ALIKE:
        told = f"on average its vectors are only {alike:.2f} like the stored ones"
        return _check(BASE, "fail", f"{folder} isn't the model in use: {told}", alike=alike)
    return _check(
        BASE, "pass", f"{alike:.3f} like the stored vectors: {folder}", alike=round(alike, 4)
    )


async def _sample(parts: TuningParts) -> tuple[list[str], Numbers]:
    """Texts of a few memories, and their stored vectors."""
    import numpy as np

    core = parts.core

    def load(db: Connection) -> list[tuple[str, bytes]]:
        found = db.execute(
            f"SELECT m.content, v.vector FROM memories m JOIN vectors v ON v.memory_id = m.id "
            f"WHERE {(where := core.live_where())} AND v.fingerprint = ? ORDER BY m.id LIMIT ?",
            [*where.values, core.embedder.fingerprint, COMPARED],
        ).fetchall()
        return [(str(text), bytes(vector)) for text, vector in found]

    rows = await core.read(load)
    vectors = [np.frombuffer(vector, np.float32) for _, vector in rows]
    stacked = np.stack(vectors) if vectors else np.zeros((0, core.embedder.dims), np.float32)
    return [text for text, _ in rows], stacked


async def _embedded(parts: TuningParts) -> PreflightCheck:
    waiting = await parts.core.unembedded()
    if waiting:
        message = f"{waiting} memories wait for embedding and aren't used"
        return _check("embedded", "warn", message, waiting=waiting)
    return _check("embedded", "pass", "all memories are embedded")


async def _pairs(plan: FineTunePlan, parts: TuningParts) -> PreflightCheck:
    """How many questions with known answers there are."""
    try:
        count = len(usable(*await parts.asked_for(plan)))
    except DomainError as error:
        return _check(PAIRS, "fail", error.message)
    needed = MIN_JUDGES if plan.write_about else MIN_PAIRS
    if problem := few_pairs(count, plan.write_about):
        return _check(PAIRS, "fail", problem, found=count, needed=needed)
    message = f"{count} questions with known answers"
    if plan.write_about:
        message += f", and the language model writes about {plan.write_about} memories"
    return _check(PAIRS, "pass", message, found=count, needed=needed)
