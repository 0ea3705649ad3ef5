"""What the Digest pane asks of the engine: each method is one call of it.

The app imports this module before its first paint, so the engine is imported inside functions.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from synthorg_tui.tui.approvals.adapter import person

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.listing import AgentPlaces, ListedMemory
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome, Value
    from synthorg_tui.memory.strategies.service import Injection


class EngineDigests:
    """What an agent would be given, asked of an open engine. Failures are ``DomainError``."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def agents(self) -> tuple[tuple[str, int], ...]:
        """Return pairs of an agent id and the agent's number of memories."""
        return tuple((agent.id, agent.memories) for agent in await self._engine.agents())

    async def places(self, agent_id: str) -> "tuple[AgentPlaces, str | None, str]":
        """Return the agent's projects and sessions, and the project that it usually works in.

        The last one is what to tell in a folder that is no project: where is answered instead.
        """
        from pathlib import Path

        from synthorg_tui.memory.listing import answered_elsewhere

        places, here = await self._engine.desk.places(agent_id), Path.cwd().resolve()
        usual, counts = places.usual(here), (await self._engine.desk.facets()).projects
        return places, usual, answered_elsewhere(usual, here, agent_id, counts)

    def budget(self) -> int:
        """Return the token budget of digests for which an agent names none."""
        return self._engine.settings.agent_access.digest_token_budget

    def strategies(self) -> tuple[str, ...]:
        """Return the names of the injection strategies."""
        from synthorg_tui.memory.enums import InjectionStrategy

        return tuple(strategy.value for strategy in InjectionStrategy)

    def settings(self, agent_id: str) -> "Mapping[str, Value]":
        """The agent's configured values of everything that ``Question.overrides`` may change."""
        from synthorg_tui.memory.scenarios import DIGEST_V1, SENSITIVITIES, sensitivity_words
        from synthorg_tui.tui.digest.options import OPTIONS

        memory = self._engine.settings.memory_of(agent_id)
        others: dict[str, Value] = {
            DIGEST_V1: memory.v1.enabled,
            SENSITIVITIES: sensitivity_words(memory.v1.allow_sensitivities),
        }
        names = ("strategy", *(option.name for option in OPTIONS if option.name not in others))
        return {name: _plain(getattr(memory.retrieval, name)) for name in names} | others

    async def digest(self, question: "Question") -> "Injection":
        """What the agent would be given, why, by whom, and what it isn't given any more.

        It isn't counted as applied.
        """
        from dataclasses import replace

        from synthorg_tui.memory.retrieval.explanation import with_authors

        memory = self._engine.settings.memory_of(question.agent_id)
        request = question.request(memory.retrieval, memory.v1)
        injection = await self._engine.injection.prepare(request)
        ids = [candidate.entry.id for candidate in injection.explanation.candidates]
        former = await self._engine.absences.former(request, ids)
        authors = await self._engine.desk.authors([*ids, *(each.entry.id for each in former)])
        explanation = replace(injection.explanation, former=former)
        return replace(injection, explanation=with_authors(explanation, authors))

    async def memories(self, memory_ids: Sequence[str]) -> "tuple[ListedMemory, ...]":
        """Return the memories of these ids that are there, newest first."""
        found = await self._engine.desk.entries(memory_ids)
        return tuple(sorted(found, key=lambda row: row.created_at, reverse=True))

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, by the configured model."""
        return self._engine.injection.estimator.estimate_tokens(text)

    async def scenarios(self) -> "tuple[Scenario, ...]":
        """Return the saved scenarios, sorted by name."""
        return await self._engine.scenarios.list()

    async def save_scenario(self, name: str, question: "Question") -> "Scenario":
        """Save a question with what it includes now; one of the same name is replaced."""
        person()
        return await self._engine.scenarios.save(name, question)

    async def delete_scenario(self, name: str) -> bool:
        """Delete a scenario; ``False`` when there is none."""
        person()
        return await self._engine.scenarios.delete(name)

    async def run_scenarios(self, names: Sequence[str] = ()) -> "tuple[ScenarioOutcome, ...]":
        """Ask the named scenarios again, or all, and compare."""
        return await self._engine.scenarios.run(names)


def _plain(value: object) -> "Value":
    return value if isinstance(value, (bool, int, float)) else str(value)
