"""The interface between the Digest pane and the engine.

Questions, explanations and scenarios are the engine's own plain data. Only the protocol belongs
here: the app imports this module before its first paint, so it loads nothing of the engine.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome, Value
    from synthorg_tui.memory.strategies.service import Injection


class DigestDesk(Protocol):
    """The interface to digests: what an agent would be given for a task. Raises ``DomainError``.

    The program has one implementation; it is a protocol so that the pane is tested without a store
    and its models.
    """

    async def agents(self) -> tuple[tuple[str, int], ...]:
        """Return pairs of an agent id and the agent's number of memories."""
        ...

    def strategies(self) -> tuple[str, ...]:
        """Return the names of the injection strategies."""
        ...

    def settings(self) -> "Mapping[str, Value]":
        """Return the configured values of the settings that ``Question.overrides`` may change."""
        ...

    async def digest(self, question: "Question") -> "Injection":
        """Return the digest for the question with its explanation.

        The memories in it are not recorded as used, as they would be for an agent.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, by the configured model."""
        ...

    async def scenarios(self) -> "tuple[Scenario, ...]":
        """Return the saved scenarios, sorted by name."""
        ...

    async def save_scenario(self, name: str, question: "Question") -> "Scenario":
        """Save a question with the memories its digest has now.

        A scenario of the same name is replaced.
        """
        ...

    async def delete_scenario(self, name: str) -> bool:
        """Delete a scenario; return ``False`` if there is none of that name."""
        ...

    async def run_scenarios(self, names: Sequence[str] = ()) -> "tuple[ScenarioOutcome, ...]":
        """Run the named scenarios, or all, and compare their digests with the saved ones."""
        ...
