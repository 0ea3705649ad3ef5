"""``agents``: lists agents and their calls, restricts agents, and undoes their calls.

Commands that lift a restriction, or change memories in the person's name, are refused inside an
agent's own environment, like decisions on proposals. Restricting an agent is never refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Facts, Line, Note, Table, View, cut, local_time
from synthorg_tui.cli.records import Json, fields, listing, plain, shaped, table
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentRights, CallRecord
    from synthorg_tui.engine import AgentSummary, Engine
    from synthorg_tui.settings.roster import AgentFacts

MAX_CALLS: Final = 200
_ARGUMENTS_WIDTH: Final = 60
_PLACE_WIDTH: Final = 44
_KINDS_NAMED: Final = 3
_PERSON_ONLY: Final = "Only you can do that: it is refused where an agent runs it."
_IN_APP: Final = "While the app is open, do it there."
_AGENT: Final = Argument("agent", metavar="ID", help="the agent's id, as `agents` lists it")


@Command(
    "show",
    "show all that is known of an agent",
    more="Its place and its own settings are\nchanged in the settings file: `config path` says "
    "where that is, `config check` what is wrong.",
    examples=("agents show claude-code",),
    arguments=(_AGENT,),
).asks
async def show_agent(context: Context, engine: AnyEngine) -> Answer:
    """Show one agent: its place, memories, rights, own settings, and whom its lessons reach."""
    from synthorg_tui.settings.roster import roster

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
    return Answer(
        fields(
            agent,
            "id role department seniority level declared memories is_full sessions last_seen"
            " paused read_only own_settings reach",
        ),
        _facts(agent),
    )


def _facts(agent: "AgentFacts") -> View:
    from synthorg_tui.agents.models import AgentRights

    full = " (full)" if agent.is_full else ""
    return Line(agent.id, "bold"), Facts(
        (
            ("role", agent.role or ""),
            ("department", agent.department or ""),
            ("seniority", agent.seniority.value if agent.seniority else ""),
            ("level", agent.level.value),
            ("memories", f"{agent.memories:,}{full}"),
            ("sessions", f"{agent.sessions:,}"),
            ("last seen", local_time(agent.last_seen) or "never"),
            ("rights", _in_words(AgentRights(agent.paused, agent.read_only))),
            *(("own setting", each) for each in agent.own_settings),
            *((f"reaches, {scope.value}", ", ".join(ids)) for scope, ids in agent.reach.items()),
        )
    )


@Command(
    "pause",
    "refuse everything to an agent until it is resumed",
    more="It is told that a person paused it.",
    examples=("agents pause claude-code",),
    arguments=(_AGENT,),
).asks
async def pause(context: Context, engine: AnyEngine) -> Answer:
    """Pause an agent, which is refused every call from then on."""
    await _note_unknown(context, engine)
    await engine.gateway.restrict(context.args.agent, paused=True)
    return await _rights_now(context, engine)


@Command(
    "resume",
    "let a paused agent go on",
    more=f"{_PERSON_ONLY}\n{_IN_APP}",
    examples=("agents resume claude-code",),
    arguments=(_AGENT,),
).owns
async def resume(context: Context, engine: "Engine") -> Answer:
    """Let a paused agent go on."""
    await _require_open(context, engine)
    await engine.gateway.set_paused(context.args.agent, False)
    return await _rights_now(context, engine)


@Command(
    "read-only",
    "refuse writes to an agent, or no more",
    more=f"`off` lets it write again. {_PERSON_ONLY}\n{_IN_APP}",
    examples=("agents read-only claude-code", "agents read-only claude-code off"),
    arguments=(
        _AGENT,
        Argument("state", nargs="?", choices=("on", "off"), default="on", help="on unless given"),
    ),
).runs
async def read_only(context: Context) -> Answer:
    """Refuse writes to an agent, or allow them again."""
    agent = context.args.agent
    if context.args.state == "on":
        async with context.engine() as engine:
            await _note_unknown(context, engine)
            await engine.gateway.restrict(agent, read_only=True)
            return await _rights_now(context, engine)
    async with context.own_engine() as own_engine:
        await _require_open(context, own_engine)
        await own_engine.gateway.set_read_only(agent, False)
        return await _rights_now(context, own_engine)


@Command(
    "disconnect",
    "end the connections of an agent",
    more="It may come back at once; `agents pause` keeps it out.",
    examples=("agents disconnect claude-code",),
    arguments=(_AGENT,),
).asks
async def disconnect(context: Context, engine: AnyEngine) -> Answer:
    """End all connections of an agent, which may connect again."""
    agent = context.args.agent
    count = await engine.gateway.hang_up(agent)
    return Answer(
        {"agent_id": agent, "disconnected": count},
        f"Ended {counted(count, 'connection')} of {agent}.",
    )


@Command(
    "calls",
    "list what agents called, newest first",
    more="With --json each has its arguments and its reply.",
    examples=("agents calls --agent claude-code", "agents calls --text port --limit 5 --json"),
    arguments=(
        Argument("--agent", metavar="ID", help="only this one's"),
        Argument("--text", metavar="TEXT", help="occurs in the name or the arguments"),
        Argument(
            "--limit",
            metavar="N",
            type=whole(1, MAX_CALLS),
            default=20,
            help=f"at most (default 20, up to {MAX_CALLS})",
        ),
    ),
).asks
async def list_calls(context: Context, engine: AnyEngine) -> Answer:
    """List the recorded calls of agents, newest first."""
    args = context.args
    calls: Sequence[CallRecord] = await engine.gateway.calls(
        limit=args.limit, agent=args.agent, text=args.text
    )
    return listing(
        "calls",
        calls,
        lambda call: {
            **fields(call, "number at agent_id client project kind name arguments reply is_error"),
            **fields(call, "tokens memory_ids wrote"),
            "milliseconds": round(call.milliseconds, 1),
        },
        {
            "CALL": lambda call: str(call.number),
            "WHEN": lambda call: local_time(call.at),
            "AGENT": lambda call: call.agent_id,
            "NAME": lambda call: call.name,
            "": lambda call: "failed" if call.is_error else "wrote" if call.wrote else "",
            "ARGUMENTS": lambda call: cut(call.arguments, _ARGUMENTS_WIDTH),
        },
        empty="No calls.",
    )


@Command(
    "undo",
    "take back what a call wrote, or bring back what it deleted",
    more=f"Again, it brings back what was taken back.\n{_PERSON_ONLY}",
    examples=("agents undo 412",),
    arguments=(
        Argument("number", metavar="NUMBER", type=whole(1, 2**63 - 1), help="see `agents calls`"),
    ),
).asks
async def undo_call(context: Context, engine: AnyEngine) -> Answer:
    """Delete the memories that a call wrote, or restore those that it deleted."""
    await _require_open(context, engine)
    undone = await engine.gateway.undo_call(context.args.number, actor=context.actor)
    back, note = "Brought", ""
    if not undone.restored:
        back, note = "Took", f"`synthorg-tui agents undo {undone.number}` brings back"
    count = counted(len(undone.memory_ids), "memory", "memories")
    return Answer(asdict(undone), f"{back} back {count} of {undone.agent_id}.", note=note)


@Command(
    "readers",
    "list the agents whose sessions `import` reads, and what is found of them here",
    examples=("agents readers",),
).runs
async def list_readers(context: Context) -> Answer:
    """List the agents whose sessions are read: where they are, and what of them isn't known."""
    import os
    from pathlib import Path

    from synthorg_tui.core.paths import short_path
    from synthorg_tui.ingest.discovery import looked_for
    from synthorg_tui.ingest.readers import READERS

    places = looked_for(Path.home(), os.environ)
    verified = {reader.name: reader.verified for reader in READERS}
    unknown = await _unknown_kinds(context)
    found = [at for at in places if at.files]
    first = {at.reader: at for at in reversed(places)}
    missing = [at for name, at in first.items() if name not in {each.reader for each in found}]
    header = ("READER", "FILES", "SIZE", "UNKNOWN", "PLACE", "LAST VERIFIED WITH")
    rows = [
        (
            at.reader,
            f"{at.files:,}" if at.files else "-",
            f"{at.bytes / 1_000:,.0f} kB" if at.files else "-",
            _unknown_words(unknown.get(at.reader, {})),
            cut(short_path(str(at.root)), _PLACE_WIDTH),
            verified[at.reader],
        )
        for at in (*found, *sorted(missing, key=lambda at: at.reader))
    ]
    return Answer(
        {
            "readers": [
                {"reader": name, "verified": tried, "unknown": unknown.get(name, {})}
                for name, tried in verified.items()
            ],
            "places": shaped(places, "reader path=root files bytes"),
        },
        Table(header, rows),
    )


@Command(
    "agents",
    more="Without a command\nthe agents are listed.",
    examples=(
        "agents",
        "agents pause claude-code",
        "agents calls --agent claude-code",
        "agents undo 412",
    ),
    commands=(
        show_agent,
        pause,
        resume,
        read_only,
        disconnect,
        list_calls,
        undo_call,
        list_readers,
    ),
).asks
async def list_agents(context: Context, engine: AnyEngine) -> Answer:
    """List the agents: those in the settings, and those that imports added."""
    agents = await engine.agents()
    restricted = await engine.gateway.restrictions()
    columns: Mapping[str, Callable[[AgentSummary], str]] = {
        "AGENT": lambda agent: agent.id,
        "MEMORIES": lambda agent: f"{agent.memories:,}{' (full)' if agent.is_full else ''}",
        "LEVEL": lambda agent: str(agent.level),
        "ROLE": lambda agent: agent.role or "",
    }
    none = "No agents yet; they come with `synthorg-tui import`."
    return Answer(
        {
            "agents": [plain(asdict(agent)) for agent in agents],
            "restricted": [_rights(agent, rights) for agent, rights in restricted.items()],
        },
        [
            table(agents, columns, none),
            [Note(f"{agent} {_in_words(rights)}") for agent, rights in restricted.items()],
        ],
    )


async def _unknown_kinds(context: Context) -> dict[str, dict[str, int]]:
    """How many records of which kinds each reader didn't know in what was imported."""
    from synthorg_tui.persistence.lock import has_store

    kinds: dict[str, dict[str, int]] = {}
    if has_store(context.data_dir):
        async with context.engine() as engine:
            for each in await engine.executions.unknown_kinds():
                kinds.setdefault(each.reader, {})[each.kind] = each.count
    return kinds


def _unknown_words(kinds: dict[str, int]) -> str:
    """The number of unknown records with the names of the most frequent kinds."""
    if not kinds:
        return "-"
    named = ", ".join(list(kinds)[:_KINDS_NAMED])
    more = ", …" if len(kinds) > _KINDS_NAMED else ""
    return f"{sum(kinds.values()):,} ({named}{more})"


async def _require_open(context: Context, engine: AnyEngine) -> None:
    """Refuse where the command line decides nothing."""
    from synthorg_tui.cli.terminal import require_open_to_decisions

    require_open_to_decisions((await context.held_settings(engine)).approvals)


async def _note_unknown(context: Context, engine: AnyEngine) -> None:
    """Say when nobody of this name was here yet: an id is easily mistyped."""
    agent = context.args.agent
    known = {summary.id for summary in await engine.agents()}
    if agent not in known and not await engine.gateway.calls(limit=1, agent=agent):
        context.console.note(f"no agent named {agent} was here yet; it holds once one is")


async def _rights_now(context: Context, engine: AnyEngine) -> Answer:
    from synthorg_tui.agents.models import AgentRights

    agent = context.args.agent
    rights = (await engine.gateway.restrictions()).get(agent, AgentRights())
    return Answer(_rights(agent, rights), f"{agent} {_in_words(rights)}.")


def _rights(agent: str, rights: "AgentRights") -> Json:
    return {"agent_id": agent, **fields(rights, "paused read_only")}


def _in_words(rights: "AgentRights") -> str:
    if rights.paused:
        more = ", and may only read once it is resumed" if rights.read_only else ""
        return f"is paused{more}"
    return "may only read" if rights.read_only else "may read and write"
