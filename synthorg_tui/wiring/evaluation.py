"""Builds the services that evaluate skills and embedders, and the worktrees of experiments."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.evaluation.replay import EVALUATOR
from synthorg_tui.evaluation.service import EvaluationService
from synthorg_tui.evaluation.store import EvaluationStore
from synthorg_tui.evaluation.trigger import TriggerEvaluation
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.persistence import EVALUATIONS_DIR, SCRATCH_DIR
from synthorg_tui.persistence.work_texts import forget_work
from synthorg_tui.runtime.executors.executor import installed_executors
from synthorg_tui.runtime.models import BUILT_IN
from synthorg_tui.wiring.foundation import Foundation

if TYPE_CHECKING:
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.overview import SkillOverview
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.curation.registry import SkillRegistry
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.memory.evaluation.comparing import EmbedderComparison
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.runtime.service import RunService


def build_evaluation(
    base: Foundation,
    *,
    executions: "ExecutionStore",
    registry: "SkillRegistry",
    overview: "SkillOverview",
    injection: "Callable[[], InjectionService]",
    pruning: "Callable[[], PruneService]",
    reviews: "Callable[[], ReviewService]",
    runs: "Callable[[], RunService]",
    sessions: "Callable[[], SessionErasure]",
) -> EvaluationService:
    """Build the service that evaluates the skills of one open data directory.

    The functions return services of the engine, each built when it is first needed.
    """
    return EvaluationService(
        store=EvaluationStore(base.database),
        registry=registry,
        overview=overview,
        executions=executions,
        review=lambda item_id: reviews().review(item_id),
        trigger=lambda: TriggerEvaluation(
            base.database,
            base.local(Feature.EVALUATION).core,
            injection(),
            base.settings.agent_access.digest_token_budget,
        ),
        effects=lambda: pruning().effects(),
        executors=lambda: {BUILT_IN: runs().by_name[BUILT_IN], **installed_executors()},
        worktrees=_worktree,
        forget=partial(_forget, base, executions, sessions),
        folder=base.data_dir / EVALUATIONS_DIR,
        clock=base.clock,
    )


def build_comparison(
    base: Foundation, injection: "InjectionService", registry: "SkillRegistry"
) -> "EmbedderComparison":
    """Build the service that tries embedders on the memories of one open data directory."""
    from synthorg_tui.curation.asked import approved_questions
    from synthorg_tui.memory.evaluation.comparing import ComparisonParts, EmbedderComparison
    from synthorg_tui.memory.evaluation.recorded import OpenedHits, RecordedQuestions

    recorded = RecordedQuestions(base.database)
    return EmbedderComparison(
        ComparisonParts(
            core=base.local().core,
            injection=injection,
            opened=OpenedHits(base.database, base.clock),
            active=base.settings.embedding(),
            reranking=base.settings.reranking(),
            sources=(recorded.all, partial(approved_questions, registry)),
            folder=base.data_dir / SCRATCH_DIR,
        )
    )


@asynccontextmanager
async def _worktree(source: Path, ref: str | None) -> AsyncIterator[Path]:
    """A clean copy of a project; of a branch that isn't there any more, as the project lies.

    The agents of others, which work in copies of their own, take this one as theirs.
    """
    from synthorg_tui.core.errors import DomainError
    from synthorg_tui.runtime.worktrees import scratch_worktree

    async with AsyncExitStack() as stack:
        try:
            copy = await stack.enter_async_context(scratch_worktree(source, ref=ref))
        except DomainError:
            if ref is None:
                raise
            copy = await stack.enter_async_context(scratch_worktree(source))
        yield copy


async def _forget(
    base: Foundation,
    executions: "ExecutionStore",
    sessions: "Callable[[], SessionErasure]",
    run_id: str,
    execution_id: str,
) -> None:
    """Erase what a run of an experiment left in the store, and let no import bring it back."""
    await base.database.write(lambda db: forget_work(db, [run_id]))
    if execution_id and await executions.get(execution_id) is not None:
        actor = str(Actor(ActorKind.PROGRAM, EVALUATOR))
        await sessions().purge([execution_id], actor=actor)
