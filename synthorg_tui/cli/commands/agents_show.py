"""``agents show``: all that is known of one agent."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import local_time
from synthorg_tui.cli.shapes import Json

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentRights
    from synthorg_tui.cli.context import Context
    from synthorg_tui.settings.roster import AgentFacts


def add_show(actions: Subparsers) -> None:
    """Add the parser of ``agents show`` to those of ``agents``."""
    showing = add_command(
        actions,
        "show",
        run_show,
        "show all that is known of an agent",
        more="Its place and its own settings are\nchanged in the settings file: `config path` says "
        "where that is, `config check` what is wrong.",
        examples=("agents show claude-code",),
    )
    showing.add_argument("agent", metavar="ID", help="the agent's id, as `agents` lists it")


async def run_show(context: "Context") -> int:
    """Show one agent: its place, memories, rights, own settings, and whom its lessons reach."""
    from synthorg_tui.agents.models import AgentRights
    from synthorg_tui.settings.roster import roster

    async with context.engine() as engine:
        agents = await roster(
            engine.settings,
            facets=engine.desk.facets,
            sessions=engine.sessions.list,
            restrictions=engine.gateway.restrictions,
            last_call=lambda agent_id: engine.gateway.calls(limit=1, agent=agent_id),
        )
    agent = next((each for each in agents if each.id == context.args.agent), None)
    if agent is None:
        raise UsageError(
            f"there is no agent {context.args.agent!r}",
            remedy="`synthorg-tui agents` lists them.",
        )
    rights = AgentRights(agent.paused, agent.read_only)
    if context.wants_json:
        context.console.json(_facts(agent))
        return 0
    full = " (full)" if agent.is_full else ""
    context.console.line(agent.id, "bold")
    context.console.facts(
        (
            ("role", agent.role or ""),
            ("department", agent.department or ""),
            ("seniority", agent.seniority.value if agent.seniority else ""),
            ("level", agent.level.value),
            ("memories", f"{agent.memories:,}{full}"),
            ("sessions", f"{agent.sessions:,}"),
            ("last seen", local_time(agent.last_seen) if agent.last_seen else "never"),
            ("rights", in_words(rights)),
            *(("own setting", each) for each in agent.own_settings),
            *((f"reaches, {scope.value}", ", ".join(ids)) for scope, ids in agent.reach.items()),
        )
    )
    return 0


def _facts(agent: "AgentFacts") -> Json:
    return {
        "id": agent.id,
        "role": agent.role,
        "department": agent.department,
        "seniority": agent.seniority.value if agent.seniority else None,
        "level": agent.level.value,
        "declared": agent.declared,
        "memories": agent.memories,
        "is_full": agent.is_full,
        "sessions": agent.sessions,
        "last_seen": agent.last_seen.isoformat() if agent.last_seen else None,
        "paused": agent.paused,
        "read_only": agent.read_only,
        "own_settings": list(agent.own_settings),
        "reach": {scope.value: list(ids) for scope, ids in agent.reach.items()},
    }


def in_words(rights: "AgentRights") -> str:
    """Return what an agent may do, in words."""
    if rights.paused:
        return (
            "is paused, and may only read once it is resumed" if rights.read_only else "is paused"
        )
    return "may only read" if rights.read_only else "may read and write"
