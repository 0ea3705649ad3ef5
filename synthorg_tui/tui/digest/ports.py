"""What the Digest pane asks of the engine, in plain data: no engine type crosses this line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from synthorg_tui.memory.listing import ListedMemory

Value: TypeAlias = str | int | float | bool
Settings: TypeAlias = tuple[tuple[str, Value], ...]
"""Settings of retrieval by field name; ``digest_v1`` is whether the digest is on, and
``sensitivities`` what it may hold: levels with blanks between, or ``all``."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What an agent is about to do, and under which settings to answer.

    ``overrides`` are the settings that differ from the configured ones.
    """

    agent_id: str
    query: str
    token_budget: int
    overrides: Settings = ()
    pinned: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Weighed:
    """A memory that was considered, with what the explanation says of it.

    ``dense`` is a cosine, ``sparse`` a raw BM25 score; the other scores are in [0, 1].
    ``tokens`` includes the fence; ``rank`` counts from 1, 0 when it wasn't ranked.
    """

    row: ListedMemory
    verdict: str
    is_in: bool
    reason: str
    is_shared: bool = False
    dense: float | None = None
    sparse: float | None = None
    relevance: float = 0.0
    recency: float = 0.0
    boost: float = 0.0
    combined: float = 0.0
    rank: int = 0
    similarity: float = 0.0
    similar_to: str | None = None
    tokens: int = 0

    @property
    def is_scored(self) -> bool:
        """Whether it has scores; not every way of choosing memories gives some."""
        scores = (self.dense, self.sparse, self.relevance, self.recency, self.combined)
        return any(scores)


@dataclass(frozen=True, slots=True)
class Answer:
    """The decision: exactly the text an agent would read, and every memory considered.

    ``stages`` are names with milliseconds; ``tools`` are the names of the tools an agent gets.
    ``text_tokens`` is the whole text's length, what stands around the memories included.
    """

    text: str
    strategy: str
    token_budget: int
    tokens_used: int
    candidates: tuple[Weighed, ...] = ()
    stages: tuple[tuple[str, float], ...] = ()
    degraded: str = ""
    tools: tuple[str, ...] = ()
    text_tokens: int = 0

    @property
    def included(self) -> tuple[Weighed, ...]:
        """Those the agent gets, in the order given."""
        return tuple(each for each in self.candidates if each.is_in)

    @property
    def left_out(self) -> tuple[Weighed, ...]:
        """Those it doesn't get."""
        return tuple(each for each in self.candidates if not each.is_in)

    @property
    def milliseconds(self) -> float:
        """What all stages took."""
        return sum(taken for _, taken in self.stages)


@dataclass(frozen=True, slots=True)
class SavedScenario:
    """A question kept under a name; ``expected`` are the ids included when it was saved."""

    name: str
    ask: Ask
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """What became of a scenario: ids that came and went since it was saved, or an error.

    ``notes`` say of each of these ids what the memory is and why it is in or out now.
    """

    name: str
    included: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    is_reordered: bool = False
    error: str = ""
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether an agent would get something else."""
        return bool(self.added or self.removed or self.is_reordered or self.error)


class DigestDesk(Protocol):
    """What an agent would be given, for a person. Failures are ``DomainError``."""

    async def agents(self) -> tuple[tuple[str, int], ...]:
        """Agent ids with how many memories each has."""
        ...

    def strategies(self) -> tuple[str, ...]:
        """The injection strategies there are."""
        ...

    def settings(self) -> Settings:
        """The configured values of everything that ``Ask.overrides`` may change."""
        ...

    async def digest(self, ask: Ask) -> Answer:
        """What the agent would be given, and why."""
        ...

    async def scenarios(self) -> tuple[SavedScenario, ...]:
        """The saved scenarios by name."""
        ...

    async def save_scenario(self, name: str, ask: Ask) -> SavedScenario:
        """Keep a question with what it includes now; one of the same name is replaced."""
        ...

    async def delete_scenario(self, name: str) -> bool:
        """Forget a scenario; ``False`` when there is none."""
        ...

    async def run_scenarios(self, names: Sequence[str] = ()) -> tuple[ScenarioRun, ...]:
        """Ask the named scenarios again, or all, and compare."""
        ...
