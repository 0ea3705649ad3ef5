"""Builds the services that evaluate skills and embedders, and what keeps experiments apart."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthorg_tui.core.actors import Actor, ActorKind
from synthorg_tui.evaluation.replay import EVALUATOR
from synthorg_tui.evaluation.service import EvaluationService
from synthorg_tui.evaluation.store import EvaluationStore
from synthorg_tui.evaluation.trigger import TriggerEvaluation
from synthorg_tui.memory.capabilities import Feature
from synthorg_tui.persistence import EVALUATIONS_DIR, SCRATCH_DIR
from synthorg_tui.persistence.work_texts import forget_work
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
    from synthorg_tui.runtime.protocol import RunExecutor
    from synthorg_tui.runtime.service import RunService


@dataclass(frozen=True, slots=True)
class EvaluatedServices:
    """Functions that return services of the engine, each built when it is first needed."""

    executions: "Callable[[], ExecutionStore]"
    injection: "Callable[[], InjectionService]"
    ledger: "Callable[[], SkillRegistry]"
    pruning: "Callable[[], PruneService]"
    reviews: "Callable[[], ReviewService]"
    runs: "Callable[[], RunService]"
    sessions: "Callable[[], SessionErasure]"
    skills: "Callable[[], SkillOverview]"


def evaluation_of(base: Foundation, service: Callable[[str], Any]) -> EvaluationService:
    """Build the service of the engine whose other services ``service`` returns by name."""
    names = (field.name for field in fields(EvaluatedServices))
    return build_evaluation(base, EvaluatedServices(**{n: partial(service, n) for n in names}))


def build_evaluation(base: Foundation, services: EvaluatedServices) -> EvaluationService:
    """Build the service that evaluates the skills of one open data directory."""
    return EvaluationService(
        store=EvaluationStore(base.database),
        registry=services.ledger(),
        overview=services.skills(),
        executions=services.executions(),
        review=lambda item_id: services.reviews().review(item_id),
        trigger=lambda: TriggerEvaluation(
            base.database,
            base.local(Feature.EVALUATION).core,
            services.injection(),
            base.settings.agent_access.digest_token_budget,
        ),
        effects=lambda: services.pruning().effects(),
        executors=lambda: _executors(services),
        worktrees=_worktree,
        forget=lambda *ids: _forget(base, services, *ids),
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


def _executors(services: EvaluatedServices) -> "Mapping[str, RunExecutor]":
    """Our own loop, and the agents of others with nothing that would keep or import their runs."""
    from synthorg_tui.runtime.executors.executor import installed_executors

    return {BUILT_IN: services.runs().by_name[BUILT_IN], **installed_executors()}


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
    base: Foundation, services: EvaluatedServices, run_id: str, execution_id: str
) -> None:
    """Erase what a run of an experiment left in the store, and let no import bring it back."""
    await base.database.write(lambda db: forget_work(db, [run_id]))
    if execution_id and await services.executions().get(execution_id) is not None:
        actor = str(Actor(ActorKind.PROGRAM, EVALUATOR))
        await services.sessions().purge([execution_id], actor=actor)
