"""Which agents get a copy of an approved lesson, and what the copy looks like.

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
    """An agent that is active, with its place in the organisation.

    A protocol so that this room needs nothing of the settings: those declare the agents.
    """

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def role(self) -> str | None:
        """What it is, as a plain name; ``None`` when unknown."""
        ...

    @property
    def department(self) -> str | None:
        """Where it belongs, as a plain name; ``None`` when unknown."""
        ...


class PropagationStrategy(Protocol):
    """Chooses the agents that get a copy."""

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        """Ids of agents besides ``source``, in the order of ``agents``.

        There are none when ``source`` isn't among ``agents``.
        """
        ...


class NoPropagation:
    """A lesson stays with the agent that learnt it."""

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        return ()


class RoleScopedPropagation:
    """Agents of the same role get a copy, ``max_targets`` (at least 1) of them at most."""

    def __init__(self, max_targets: int) -> None:
        self._max_targets = max(1, max_targets)

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        return _alike(source, agents, lambda agent: agent.role)[: self._max_targets]


class DepartmentScopedPropagation:
    """Agents of the same department get a copy, ``max_targets`` (at least 1) of them at most."""

    def __init__(self, max_targets: int) -> None:
        self._max_targets = max(1, max_targets)

    def targets(self, source: str, agents: Sequence[KnownAgent]) -> tuple[str, ...]:
        return _alike(source, agents, lambda agent: agent.department)[: self._max_targets]


def propagation_for(
    config: PropagationConfig, scope: ProceduralMemoryScope = ProceduralMemoryScope.AGENT
) -> PropagationStrategy:
    """How a lesson of that scope spreads.

    A lesson that was approved for a role or department goes there whatever is configured, one
    for its agent goes where the configuration says. One for the organisation is published rather
    than copied.
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
    """Chooses who gets copies among the agents there are now.

    Args:
        config: How lessons of a single agent spread.
        agents: The declared agents, as of now.
    """

    def __init__(
        self, config: PropagationConfig, agents: Callable[[], Sequence[KnownAgent]]
    ) -> None:
        self._config = config
        self._agents = agents

    def targets(self, source: str, scope: ProceduralMemoryScope) -> tuple[str, ...]:
        """Ids of the agents that get a copy of a lesson of this scope that ``source`` learnt."""
        return propagation_for(self._config, scope).targets(source, self._agents())


def copy_for_others(request: MemoryStoreRequest, source: str) -> MemoryStoreRequest:
    """``request`` as other agents get it: the same with a tag that names the agent it is from."""
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
