"""Builds the service that evaluates skills, and what keeps experiments out of experience."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.evaluation.folders import EVALUATIONS_DIR
from synthorg_tui.evaluation.service import EvaluationParts, EvaluationService
from synthorg_tui.evaluation.store import EvaluationStore
from synthorg_tui.evaluation.trigger import TriggerEvaluation
from synthorg_tui.executions.forgotten import forget_in
from synthorg_tui.wiring import Foundation

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from synthorg_tui.engine import Engine
    from synthorg_tui.runtime.protocol import RunExecutor


def build_evaluation(base: Foundation, engine: "Engine") -> EvaluationService:
    """Build the service of one open data directory, of the engine's other services."""
    runs = ExperimentRuns(base, engine)
    return EvaluationService(
        EvaluationParts(
            store=EvaluationStore(base.database),
            registry=engine.ledger,
            overview=engine.skills,
            executions=engine.executions,
            review=lambda item_id: engine.reviews.review(item_id),
            trigger=lambda: TriggerEvaluation(
                base.database,
                base.local().core,
                engine.injection,
                base.settings.agent_access.digest_token_budget,
            ),
            effects=lambda: engine.pruning.effects(),
            executors=runs.executors,
            worktrees=runs.worktree,
            forget=runs.forget,
            folder=base.data_dir / EVALUATIONS_DIR,
            clock=base.clock,
        )
    )
