"""Every agent there is, with all that is known of it: its place, its memories, rights and reach.

Agents are known from the settings, from their memories, from imported sessions and from what a
person restricted. Read for a person; what holds for an agent is decided where it is used.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from synthorg_tui.agents.models import AgentRights, CallRecord
from synthorg_tui.core.enums import SeniorityLevel
from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.curation.propagation import Propagation
from synthorg_tui.executions.sessions import StoredSession
from synthorg_tui.memory.listing import SHARED_OWNER, AgentSummary, Facets
from synthorg_tui.settings.root import RootConfig


@dataclass(frozen=True, slots=True)
class AgentFacts(AgentSummary):
    """What is known of one agent.

    ``seniority`` is ``None`` for one that isn't ``declared`` in the settings. ``last_seen``
    is its latest session or call, ``None`` when it was never here. ``own_settings`` are those that
    hold instead of the company's, such as ``retrieval.max_memories = 5``. ``reach`` names
    for each scope of its lessons who gets them. ``waits`` tells that the running program has other
    settings of it.
    """

    seniority: SeniorityLevel | None = None
    sessions: int = 0
    last_seen: datetime | None = None
    paused: bool = False
    read_only: bool = False
    own_settings: tuple[str, ...] = ()
    reach: Mapping[ProceduralMemoryScope, tuple[str, ...]] = field(default_factory=dict)
    waits: bool = False


async def roster(
    settings: RootConfig,
    *,
    running: RootConfig | None = None,
    facets: Callable[[], Awaitable[Facets]],
    sessions: Callable[[], Awaitable[Sequence[StoredSession]]],
    restrictions: Callable[[], Awaitable[Mapping[str, AgentRights]]],
    last_call: Callable[[str], Awaitable[Sequence[CallRecord]]],
) -> tuple[AgentFacts, ...]:
    """Return the facts of every agent, sorted by id.

    The functions read what the store has: numbers of memories, sessions, rights, and an agent's
    latest call. ``running`` are the settings that the program runs with, if these are others.
    """
    counted, seen, rights = await facets(), _seen(await sessions()), await restrictions()
    known = {agent.id for agent in settings.agents} | dict(counted.agents).keys()
    ids = sorted((known | seen.keys() | rights.keys()) - {SHARED_OWNER})
    found = []
    for agent_id in ids:
        number, latest = seen.get(agent_id, (0, None))
        moments = [latest, *(call.at for call in await last_call(agent_id))]
        declared = settings.agent(agent_id)
        agent = AgentFacts(
            **asdict(settings.summary(agent_id, counted)),
            seniority=declared.seniority if declared else None,
            own_settings=declared.overridden() if declared else (),
            sessions=number,
            last_seen=max((each for each in moments if each is not None), default=None),
            paused=rights.get(agent_id, AgentRights()).paused,
            read_only=rights.get(agent_id, AgentRights()).read_only,
            reach=_reach(settings, agent_id, ids),
            waits=running is not None and running.agent(agent_id) != settings.agent(agent_id),
        )
        found.append(agent)
    return tuple(found)


def _seen(sessions: Iterable[StoredSession]) -> dict[str, tuple[int, datetime | None]]:
    """The number of sessions of each agent, and when the latest ended."""
    found: dict[str, tuple[int, datetime | None]] = {}
    for session in sessions:
        number, latest = found.get(session.agent_id, (0, None))
        moments = [moment for moment in (latest, session.latest) if moment is not None]
        found[session.agent_id] = (number + 1, max(moments, default=None))
    return found


def _reach(
    settings: RootConfig, agent_id: str, ids: Sequence[str]
) -> dict[ProceduralMemoryScope, tuple[str, ...]]:
    propagation = Propagation(settings.memory.procedural.propagation, lambda: settings.agents)
    return {scope: propagation.reach(agent_id, scope, ids) for scope in ProceduralMemoryScope}
