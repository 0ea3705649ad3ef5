"""The port of the Digest pane: what it asks of the engine.

Questions, explanations and scenarios are the engine's own plain data. Only the protocol belongs
here: the app imports this module before its first paint, so it loads nothing of the engine.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from synthorg_tui.memory.scenarios import Question, Scenario, ScenarioOutcome, Value
    from synthorg_tui.memory.strategies.service import Injection


class DigestDesk(Protocol):
    """What an agent would be given, for a person. Failures are ``DomainError``.

    The program has one implementation; it is a protocol so that the pane is tested without a store
    and its models.
    """

    async def agents(self) -> tuple[tuple[str, int], ...]:
        """Agent ids with how many memories each has."""
        ...

    def strategies(self) -> tuple[str, ...]:
        """The injection strategies there are."""
        ...

    def settings(self) -> "Mapping[str, Value]":
        """The configured values of everything that ``Question.overrides`` may change."""
        ...

    async def digest(self, question: "Question") -> "Injection":
        """What the agent would be given, and why; it isn't counted as applied."""
        ...

    def count_tokens(self, text: str) -> int:
        """The length of a text as the configured model counts it."""
        ...

    async def scenarios(self) -> "tuple[Scenario, ...]":
        """The saved scenarios by name."""
        ...

    async def save_scenario(self, name: str, question: "Question") -> "Scenario":
        """Save a question with what it includes now; one of the same name is replaced."""
        ...

    async def delete_scenario(self, name: str) -> bool:
        """Delete a scenario; ``False`` when there is none."""
        ...

    async def run_scenarios(self, names: Sequence[str] = ()) -> "tuple[ScenarioOutcome, ...]":
        """Ask the named scenarios again, or all, and compare."""
        ...
