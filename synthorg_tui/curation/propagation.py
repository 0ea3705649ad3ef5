"""Propagation: the choice of agents that get a copy of an approved lesson, and the copy itself.

Nothing here stores: the plan that adopts a lesson adds the copies too, so that an undo takes them
back with the rest.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.memory.config import PropagationConfig
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

PROPAGATED_PREFIX: Final = "propagated:"
"""The tag of a copy is this and the id of the agent that learnt the lesson."""


class KnownAgent(Protocol):
    """A configured agent with its place in the organisation.

    A protocol so that this package needn't import the settings, which declare the agents.
    """

    @property
    def id(self) -> str:
        """The id it is connected with."""

    @property
    def role(self) -> str | None:
        """The name of its role; ``None`` when unknown."""

    @property
    def department(self) -> str | None:
        """The name of its department; ``None`` when unknown."""


class PropagationStrategy(Protocol):
    """Chooses the agents that get a copy of another agent's lesson."""

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        """Return the ids of the chosen agents, without ``source``, in the order of ``agents``.

        Empty when ``source`` isn't among ``agents``.
        """


class NoPropagation:
    """Copies nothing: a lesson stays with the agent that learnt it."""

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        return ()


class RoleScopedPropagation:
    """Chooses agents of the same role, at most ``max_targets`` (at least 1) of them."""

    def __init__(self, max_targets: int) -> None:
        self._max_targets = max(1, max_targets)

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        return _alike(source, agents, lambda agent: agent.role)[: self._max_targets]


class DepartmentScopedPropagation:
    """Chooses agents of the same department, at most ``max_targets`` (at least 1) of them."""

    def __init__(self, max_targets: int) -> None:
        self._max_targets = max(1, max_targets)

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        return _alike(source, agents, lambda agent: agent.department)[: self._max_targets]


def propagation_for(
    config: PropagationConfig, scope: ProceduralMemoryScope = ProceduralMemoryScope.AGENT
) -> PropagationStrategy:
    """Return the strategy for lessons of a scope.

    A lesson for a role or department always goes to its agents; one for its own agent goes where
    ``config`` says. One for the organisation is published as a shared memory rather than copied.
    """
    kind = {
        ProceduralMemoryScope.AGENT: config.type,
        ProceduralMemoryScope.ROLE: "role_scoped",
        ProceduralMemoryScope.DEPARTMENT: "department_scoped",
    }.get(scope, "none")
    if kind == "role_scoped":
        return RoleScopedPropagation(config.max_propagation_targets)
    if kind == "department_scoped":
        return DepartmentScopedPropagation(config.max_propagation_targets)
    return NoPropagation()


class Propagation:
    """Chooses the agents that get copies, among those configured now.

    Args:
        config: Says how lessons of a single agent spread.
        agents: Returns the configured agents.
    """

    def __init__(
        self, config: PropagationConfig, agents: Callable[[], Sequence[KnownAgent]]
    ) -> None:
        self._config = config
        self._agents = agents

    def targets(self, source: str, scope: ProceduralMemoryScope) -> tuple[str, ...]:
        """Return the ids of the agents that get a copy of a lesson that ``source`` learnt."""
        return propagation_for(self._config, scope).targets(source, self._agents())

    def reach(
        self, source: str, scope: ProceduralMemoryScope, known: Sequence[str]
    ) -> tuple[str, ...]:
        """Return the ids of all agents that would be given it, ``source`` included, sorted.

        ``known`` are the agents that have memories; with the configured ones these are all.
        """
        if scope is ProceduralMemoryScope.ORG:
            return tuple(sorted({*known, source, *(agent.id for agent in self._agents())}))
        return tuple(sorted({source, *self.targets(source, scope)}))


def copy_for_others(request: MemoryStoreRequest, source: str) -> MemoryStoreRequest:
    """Return the memory as other agents get it: with a tag that names ``source``."""
    metadata = request.metadata
    tags = (*metadata.tags, f"{PROPAGATED_PREFIX}{source}")
    copied = MemoryMetadata(source=metadata.source, confidence=metadata.confidence, tags=tags)
    return request.model_copy(update={"metadata": copied})


def _alike(
    source: str, agents: Sequence[KnownAgent], place: Callable[[KnownAgent], str | None]
) -> tuple[str, ...]:
    own = next((place(agent) for agent in agents if agent.id == source), None)
    if own is None:
        return ()
    return tuple(agent.id for agent in agents if agent.id != source and place(agent) == own)
