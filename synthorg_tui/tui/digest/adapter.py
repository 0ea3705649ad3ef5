"""The engine behind the digest port."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synthorg_tui.tui.digest.ports import (
    Answer,
    Ask,
    SavedScenario,
    ScenarioRun,
    Settings,
    Value,
    Weighed,
)

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome

_FIELDS = (
    "strategy",
    "fusion_strategy",
    "relevance_weight",
    "min_relevance",
    "max_memories",
    "diversity_penalty_enabled",
    "diversity_lambda",
    "non_inferable_only",
    "include_shared",
)


class EngineDigests:
    """The digest port over an open engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def agents(self) -> tuple[tuple[str, int], ...]:
        """Agent ids with how many memories each has."""
        return tuple((agent.id, agent.memories) for agent in await self._engine.agents())

    def strategies(self) -> tuple[str, ...]:
        """The injection strategies there are."""
        from synthorg_tui.memory.enums import InjectionStrategy

        return tuple(each.value for each in InjectionStrategy)

    def settings(self) -> Settings:
        """The configured values of what may be changed."""
        from synthorg_tui.memory.scenarios import sensitivity_words

        memory = self._engine.settings.memory
        fields = tuple((name, _plain(getattr(memory.retrieval, name))) for name in _FIELDS)
        levels = sensitivity_words(memory.v1.allow_sensitivities)
        return (*fields, ("digest_v1", memory.v1.enabled), ("sensitivities", levels))

    async def digest(self, ask: Ask) -> Answer:
        """What the agent would be given, and why."""
        memory = self._engine.settings.memory
        request = _question(ask).request(memory.retrieval, memory.v1)
        service = self._engine.injection
        injection = await service.prepare(request)
        return answer_of(
            injection.explanation,
            tokens=service.estimator.estimate_tokens(injection.text),
            tools=tuple(tool.name for tool in injection.tools),
        )

    async def scenarios(self) -> tuple[SavedScenario, ...]:
        """The saved scenarios by name."""
        return tuple(map(_saved, await self._engine.scenarios.list()))

    async def save_scenario(self, name: str, ask: Ask) -> SavedScenario:
        """Keep a question with what it includes now."""
        return _saved(await self._engine.scenarios.save(name, _question(ask)))

    async def delete_scenario(self, name: str) -> bool:
        """Forget a scenario."""
        return await self._engine.scenarios.delete(name)

    async def run_scenarios(self, names: Sequence[str] = ()) -> tuple[ScenarioRun, ...]:
        """Ask the named scenarios again, or all."""
        return tuple(map(_run, await self._engine.scenarios.run(names)))


def _plain(value: object) -> Value:
    return value if isinstance(value, (bool, int, float)) else str(value)


def _question(ask: Ask) -> "Question":
    from synthorg_tui.memory.scenarios import Question

    return Question(
        agent_id=ask.agent_id,
        query=ask.query,
        token_budget=ask.token_budget,
        overrides=dict(ask.overrides),
        pinned=ask.pinned,
        excluded=ask.excluded,
    )


def answer_of(explained: "Explanation", *, tokens: int, tools: tuple[str, ...] = ()) -> Answer:
    """An explanation as the screens show it; ``tokens`` is the length of the whole text."""
    return Answer(
        text=explained.text,
        strategy=explained.strategy,
        token_budget=explained.token_budget,
        tokens_used=explained.tokens_used,
        candidates=tuple(map(_weighed, explained.candidates)),
        stages=tuple((stage.name, stage.milliseconds) for stage in explained.stages),
        degraded=explained.degraded,
        tools=tools,
        text_tokens=tokens,
    )


def _weighed(candidate: "Candidate") -> Weighed:
    return Weighed(
        row=candidate.entry,
        verdict=candidate.verdict.value,
        is_in=candidate.verdict.is_in,
        reason=candidate.reason,
        is_shared=candidate.is_shared,
        dense=candidate.dense,
        sparse=candidate.sparse,
        relevance=candidate.relevance,
        recency=candidate.recency,
        boost=candidate.boost,
        combined=candidate.combined,
        rank=candidate.rank,
        similarity=candidate.similarity,
        similar_to=candidate.similar_to,
        tokens=candidate.tokens,
    )


def _saved(scenario: "Scenario") -> SavedScenario:
    asked = scenario.question
    ask = Ask(
        asked.agent_id,
        asked.query,
        asked.token_budget,
        tuple(sorted(asked.overrides.items())),
        asked.pinned,
        asked.excluded,
    )
    return SavedScenario(scenario.name, ask, scenario.expected)


def _run(outcome: "ScenarioOutcome") -> ScenarioRun:
    return ScenarioRun(
        outcome.scenario.name,
        outcome.included,
        outcome.added,
        outcome.removed,
        outcome.is_reordered,
        outcome.error,
        tuple((each, outcome.about(each)) for each in (*outcome.added, *outcome.removed)),
    )
