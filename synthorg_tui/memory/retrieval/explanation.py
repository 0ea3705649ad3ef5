"""Why each memory is or isn't in what an agent is given.

Every strategy makes an explanation; commands and screens show it as it is. It is plain data, so
nothing here may import pydantic or a store.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from synthorg_tui.memory.listing import ListedMemory

if TYPE_CHECKING:
    from synthorg_tui.providers.models import ChatMessage


class Verdict(StrEnum):
    """Why a candidate is in or out."""

    INCLUDED = "included"
    PINNED = "pinned"
    NOT_RELEVANT = "not_relevant"
    BELOW_MINIMUM = "below_minimum"
    BEYOND_MAXIMUM = "beyond_maximum"
    TOO_SIMILAR = "too_similar"
    FILTERED = "filtered"
    SENSITIVE = "sensitive"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    EXCLUDED = "excluded"
    OVER_BUDGET = "over_budget"

    @property
    def is_in(self) -> bool:
        """Whether the agent gets it."""
        return self in (Verdict.INCLUDED, Verdict.PINNED)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One memory that was considered.

    ``dense`` is a cosine, ``sparse`` a raw BM25 score; ``None`` where a source didn't return it.
    ``relevance``, ``recency``, ``boost`` and ``combined`` are in [0, 1]. ``rank`` is the place by
    ``combined`` before diversity, from 1; ``similarity`` the greatest one to a memory chosen
    before it, ``similar_to`` that memory's id. ``tokens`` includes the fence. ``reason`` is a
    sentence for a person.
    """

    entry: ListedMemory
    verdict: Verdict
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


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the pipeline and the milliseconds it took."""

    name: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole decision: every candidate, those that are in first and in the order given.

    ``text`` is exactly what the agent reads; ``token_budget`` and ``tokens_used`` are for the
    memory blocks. ``degraded`` says in words what was missing, else empty.
    """

    strategy: str
    agent_id: str
    query: str
    token_budget: int
    tokens_used: int
    text: str
    candidates: tuple[Candidate, ...]
    stages: tuple[Stage, ...] = ()
    degraded: str = ""

    @property
    def included(self) -> tuple[Candidate, ...]:
        """Those the agent gets, in order."""
        return tuple(each for each in self.candidates if each.verdict.is_in)

    @property
    def left_out(self) -> tuple[Candidate, ...]:
        """Those it doesn't get."""
        return tuple(each for each in self.candidates if not each.verdict.is_in)


def text_of(messages: "tuple[ChatMessage, ...]") -> str:
    """Exactly what an agent reads: the messages, a blank line between them."""
    return "\n\n".join(message.content for message in messages)


class PreparedMessages(NamedTuple):
    """Messages for an agent, and how they came to be; ``explanation.text`` is their text."""

    messages: "tuple[ChatMessage, ...]"
    explanation: Explanation


class Stopwatch:
    """Collects how long each stage took."""

    def __init__(self) -> None:
        self._stages: list[Stage] = []

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages so far, in order."""
        return tuple(self._stages)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the body."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages.append(Stage(name, (time.perf_counter() - started) * 1_000))
