"""Explanation of why each memory is or isn't given to an agent.

Every strategy makes an explanation; commands and screens show it as it is. It is plain data, so
nothing here may import pydantic or a store.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from synthorg_tui.core.text import counted
from synthorg_tui.memory.listing import ListedMemory

if TYPE_CHECKING:
    from synthorg_tui.providers.models import ChatMessage


class Verdict(StrEnum):
    """Reason category for including or leaving out a candidate."""

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
    DELETED = "deleted"
    PURGED = "purged"
    ELSEWHERE = "elsewhere"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"
    EXCLUDED = "excluded"
    OVER_BUDGET = "over_budget"
    HANDED = "handed"
    ALIKE = "alike"
    REPLACED = "replaced"

    @property
    def is_in(self) -> bool:
        """Whether the verdict means that the agent is given the memory."""
        return self in (Verdict.INCLUDED, Verdict.PINNED)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that was considered for an agent, with its scores and the verdict.

    ``dense`` is a cosine and ``sparse`` a raw BM25 score, each ``None`` when the respective search
    didn't return the memory. ``relevance``, ``recency``, ``boost`` and ``combined`` are in [0, 1].
    ``lent`` is the part of ``combined`` that a hit beside it in its session gave, whose id is
    ``beside``. ``rank`` is the position by ``combined`` before diversification, from 1;
    ``reordered`` is where reranking put the memory, 0 when it left the order as it was.
    ``similarity`` is the greatest similarity to a memory chosen earlier, whose id is
    ``similar_to``. ``members`` are the ids of other memories that say the same, for which this one
    stands; ``seen`` says how often that was seen and when last. ``tokens`` includes the fence.
    ``reason`` is a sentence for a person. ``author`` is who wrote the memory, as recorded; empty
    until ``with_authors`` sets it.
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
    author: str = ""
    lent: float = 0.0
    beside: str | None = None
    members: tuple[str, ...] = ()
    seen: str = ""
    reordered: int = 0


@dataclass(frozen=True, slots=True)
class OrgCandidate:
    """A policy or fact of the organisation that was considered for an agent, and the verdict.

    ``category`` is that of the fact; scores are those of ``Candidate``, which policies don't have,
    since they aren't searched. ``tokens`` is the size of a fact with its fence; what a policy
    takes is in the size of the whole block.
    """

    id: str
    category: str
    content: str
    verdict: Verdict
    reason: str
    dense: float | None = None
    sparse: float | None = None
    combined: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """Name and duration (milliseconds) of a step of the pipeline."""

    name: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Account of how memories were chosen for an agent.

    ``candidates`` are all memories considered, the included ones first in the order given. ``text``
    is exactly what the agent reads, and ``tokens_used`` its size: never more than ``token_budget``.
    ``frame_tokens`` of them are no memory's, such as the directive. ``degraded`` says in words
    which source was missing, or that the budget has no room for the frame; else it is empty.
    ``former`` are memories that aren't given any more, though they fit the query by words; they are
    looked up for a person only, and no part of ``candidates``. ``marks`` tell the blocks that were
    given from all others, so that a session is handed each once. ``own_settings`` name
    the settings that the agent has instead of the company's.

    ``policies`` are those of the organisation in the order in which they are told, and ``facts``
    what else it knows that fits the query; ``policy_tokens`` and ``fact_tokens`` are what they
    take of ``tokens_used``. Neither is among ``candidates``, which are an agent's memories.
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
    frame_tokens: int = 0
    former: tuple[Candidate, ...] = ()
    marks: tuple[str, ...] = ()
    policies: tuple[OrgCandidate, ...] = ()
    policy_tokens: int = 0
    facts: tuple[OrgCandidate, ...] = ()
    fact_tokens: int = 0
    own_settings: tuple[str, ...] = ()

    @property
    def included(self) -> tuple[Candidate, ...]:
        """Candidates that the agent is given, in order."""
        return tuple(candidate for candidate in self.candidates if candidate.verdict.is_in)

    @property
    def left_out(self) -> tuple[Candidate, ...]:
        """Candidates that the agent is not given."""
        return tuple(candidate for candidate in self.candidates if not candidate.verdict.is_in)

    @property
    def organisation(self) -> tuple[str, ...]:
        """Ids of the organisation's policies and facts that the agent is given, in order."""
        told = (*self.policies, *self.facts)
        return tuple(candidate.id for candidate in told if candidate.verdict.is_in)

    @property
    def handed(self) -> int:
        """How much is left out only since the session was handed it before."""
        verdicts = [candidate.verdict for candidate in self.candidates]
        verdicts += [told.verdict for told in (*self.policies, *self.facts)]
        return verdicts.count(Verdict.HANDED)


def too_small(token_budget: int, needed: int) -> str:
    """Return why a budget gives an agent nothing, or an empty text if it has what is ``needed``.

    A budget of 0 asks for nothing and needs no reason.
    """
    if not 0 < token_budget < needed:
        return ""
    budget = counted(token_budget, "token")
    return f"a budget of {budget} is too small: at least {needed:,} are needed"


def with_authors(explanation: Explanation, authors: Mapping[str, str]) -> Explanation:
    """Return the explanation with the author of each memory in it, by the memory's id."""

    def named(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        return tuple(
            replace(candidate, author=authors.get(candidate.entry.id, ""))
            for candidate in candidates
        )

    return replace(
        explanation, candidates=named(explanation.candidates), former=named(explanation.former)
    )


def text_of(messages: "tuple[ChatMessage, ...]") -> str:
    """Return exactly what an agent reads: the messages, separated by blank lines."""
    return "\n\n".join(message.content for message in messages)


class PreparedMessages(NamedTuple):
    """Messages for an agent and the explanation of how their memories were chosen."""

    messages: "tuple[ChatMessage, ...]"
    explanation: Explanation


class Stopwatch:
    """Measures the durations of the stages of a run."""

    def __init__(self) -> None:
        self._stages: list[Stage] = []

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Stages measured so far, in the order in which they ended."""
        return tuple(self._stages)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Context manager that measures the duration of its block."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages.append(Stage(name, (time.perf_counter() - started) * 1_000))
