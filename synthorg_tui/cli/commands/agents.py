"""``agents``: lists agents and their calls, restricts agents, and undoes their calls.

Commands that lift a restriction, or change memories in the person's name, are refused inside an
agent's own environment, like decisions on proposals. Restricting an agent is never refused.
"""

import argparse
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands.agents_show import add_show, in_words
from synthorg_tui.cli.output import cut, local_time
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentRights, CallRecord
    from synthorg_tui.cli.context import AnyEngine, Context

MAX_CALLS: Final = 200
_ARGUMENTS_WIDTH: Final = 60
_PLACE_WIDTH: Final = 44
_KINDS_NAMED: Final = 3
_PERSON_ONLY: Final = "Only you can do that: it is refused where an agent runs it."
_IN_APP: Final = "While the app is open, do it there."


def add(commands: Subparsers) -> None:
    """Add the parser of ``agents`` to ``commands``; without a subcommand it lists the agents."""
    parser = add_command(
        commands,
        "agents",
        run_list,
        COMMANDS["agents"].summary,
        more="Without a command\nthe agents are listed.",
        examples=(
            "agents",
            "agents pause claude-code",
            "agents calls --agent claude-code",
            "agents undo 412",
        ),
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_show(actions)
    _add_rights(actions)
    _add_calls(actions)
    add_command(
        actions,
        "readers",
        run_readers,
        "list the agents whose sessions `import` reads, and what is found of them here",
        examples=("agents readers",),
    )


def _add_rights(actions: Subparsers) -> None:
    pausing = add_command(
        actions,
        "pause",
        run_pause,
        "refuse everything to an agent until it is resumed",
        more="It is told that a person paused it.",
        examples=("agents pause claude-code",),
    )
    resuming = add_command(
        actions,
        "resume",
        run_resume,
        "let a paused agent go on",
        more=f"{_PERSON_ONLY}\n{_IN_APP}",
        examples=("agents resume claude-code",),
    )
    reading = add_command(
        actions,
        "read-only",
        run_read_only,
        "refuse writes to an agent, or no more",
        more=f"`off` lets it write again. {_PERSON_ONLY}\n{_IN_APP}",
        examples=("agents read-only claude-code", "agents read-only claude-code off"),
    )
    disconnecting = add_command(
        actions,
        "disconnect",
        run_disconnect,
        "end the connections of an agent",
        more="It may come back at once; `agents pause` keeps it out.",
        examples=("agents disconnect claude-code",),
    )
    for parser in (pausing, resuming, reading, disconnecting):
        parser.add_argument("agent", metavar="ID", help="the agent's id, as `agents` lists it")
    reading.add_argument(
        "state", nargs="?", choices=("on", "off"), default="on", help="on unless given"
    )


def _add_calls(actions: Subparsers) -> None:
    listing = add_command(
        actions,
        "calls",
        run_calls,
        "list what agents called, newest first",
        more="With --json each has its arguments and its reply.",
        examples=("agents calls --agent claude-code", "agents calls --text port --limit 5 --json"),
    )
    listing.add_argument("--agent", metavar="ID", help="only this one's")
    listing.add_argument("--text", metavar="TEXT", help="occurs in the name or the arguments")
    listing.add_argument(
        "--limit",
        metavar="N",
        type=whole(1, MAX_CALLS),
        default=20,
        help=f"at most (default 20, up to {MAX_CALLS})",
    )
    undoing = add_command(
        actions,
        "undo",
        run_undo,
        "take back what a call wrote, or bring back what it deleted",
        more=f"Again, it brings back what was taken back.\n{_PERSON_ONLY}",
        examples=("agents undo 412",),
    )
    undoing.add_argument("number", metavar="NUMBER", type=_number, help="see `agents calls`")


async def run_list(context: "Context") -> int:
    """List the agents: those in the settings, and those that imports added."""
    async with context.engine() as engine:
        agents = await engine.agents()
        restricted = await engine.gateway.restrictions()
    if context.wants_json:
        from dataclasses import asdict

        context.console.json(
            {
                "agents": [asdict(agent) for agent in agents],
                "restricted": [_rights(agent, rights) for agent, rights in restricted.items()],
            }
        )
        return 0
    if agents:
        rows = [
            (
                agent.id,
                f"{agent.memories:,}{' (full)' if agent.is_full else ''}",
                str(agent.level),
                agent.role or "",
            )
            for agent in agents
        ]
        context.console.table(("AGENT", "MEMORIES", "LEVEL", "ROLE"), rows)
    else:
        context.console.line("No agents yet; they come with `synthorg-tui import`.")
    for agent, rights in restricted.items():
        context.console.note(f"{agent} {in_words(rights)}")
    return 0


async def run_pause(context: "Context") -> int:
    """Pause an agent, which is refused every call from then on."""
    async with context.engine() as engine:
        await _note_unknown(context, engine)
        await engine.gateway.restrict(context.args.agent, paused=True)
        return await _show_rights(context, engine)


async def run_resume(context: "Context") -> int:
    """Let a paused agent go on."""
    async with context.own_engine() as engine:
        await _require_open(context, engine)
        await engine.gateway.set_paused(context.args.agent, False)
        return await _show_rights(context, engine)


async def run_read_only(context: "Context") -> int:
    """Refuse writes to an agent, or allow them again."""
    agent = context.args.agent
    if context.args.state == "on":
        async with context.engine() as engine:
            await _note_unknown(context, engine)
            await engine.gateway.restrict(agent, read_only=True)
            return await _show_rights(context, engine)
    async with context.own_engine() as own_engine:
        await _require_open(context, own_engine)
        await own_engine.gateway.set_read_only(agent, False)
        return await _show_rights(context, own_engine)


async def run_disconnect(context: "Context") -> int:
    """End all connections of an agent, which may connect again."""
    agent = context.args.agent
    async with context.engine() as engine:
        count = await engine.gateway.hang_up(agent)
    return context.print_result(
        {"agent_id": agent, "disconnected": count},
        f"Ended {counted(count, 'connection')} of {agent}.",
    )


async def run_calls(context: "Context") -> int:
    """List the recorded calls of agents, newest first."""
    args = context.args
    async with context.engine() as engine:
        calls = await engine.gateway.calls(limit=args.limit, agent=args.agent, text=args.text)
    if context.wants_json:
        context.console.json({"calls": [_call(record) for record in calls]})
        return 0
    if not calls:
        context.console.line("No calls.")
        return 0
    rows = [
        (
            str(record.number),
            local_time(record.at),
            record.agent_id,
            record.name,
            "failed" if record.is_error else "wrote" if record.wrote else "",
            cut(record.arguments, _ARGUMENTS_WIDTH),
        )
        for record in calls
    ]
    context.console.table(("CALL", "WHEN", "AGENT", "NAME", "", "ARGUMENTS"), rows)
    return 0


async def run_undo(context: "Context") -> int:
    """Delete the memories that a call wrote, or restore those that it deleted."""
    async with context.engine() as engine:
        await _require_open(context, engine)
        undone = await engine.gateway.undo_call(context.args.number, actor=context.actor)
    if context.wants_json:
        from dataclasses import asdict

        context.console.json(asdict(undone))
        return 0
    count = counted(len(undone.memory_ids), "memory", "memories")
    if undone.restored:
        context.console.line(f"Brought back {count} of {undone.agent_id}.")
    else:
        context.console.line(f"Took back {count} of {undone.agent_id}.")
        context.console.note(f"`synthorg-tui agents undo {undone.number}` brings back")
    return 0


async def run_readers(context: "Context") -> int:
    """List the agents whose sessions are read: where they are, and what of them isn't known."""
    import os
    from pathlib import Path

    from synthorg_tui.core.paths import short_path
    from synthorg_tui.ingest.discovery import looked_for
    from synthorg_tui.ingest.readers import READERS

    places = looked_for(Path.home(), os.environ)
    verified = {reader.name: reader.verified for reader in READERS}
    unknown = await unknown_kinds(context)
    if context.wants_json:
        readers = [
            {"reader": name, "verified": tried, "unknown": unknown.get(name, {})}
            for name, tried in verified.items()
        ]
        shown = [
            {"reader": at.reader, "path": str(at.root), "files": at.files, "bytes": at.bytes}
            for at in places
        ]
        context.console.json({"readers": readers, "places": shown})
        return 0
    found = [at for at in places if at.files]
    first = {at.reader: at for at in reversed(places)}
    missing = [at for name, at in first.items() if name not in {each.reader for each in found}]
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
    header = ("READER", "FILES", "SIZE", "UNKNOWN", "PLACE", "LAST VERIFIED WITH")
    context.console.table(header, rows)
    return 0


async def unknown_kinds(context: "Context") -> dict[str, dict[str, int]]:
    """Return how many records of which kinds each reader didn't know in what was imported."""
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


async def _require_open(context: "Context", engine: "AnyEngine") -> None:
    """Refuse where the command line decides nothing."""
    from synthorg_tui.cli.terminal import require_open_to_decisions

    require_open_to_decisions((await context.held_settings(engine)).approvals)


async def _note_unknown(context: "Context", engine: "AnyEngine") -> None:
    """Say when nobody of this name was here yet: an id is easily mistyped."""
    agent = context.args.agent
    known = {summary.id for summary in await engine.agents()}
    if agent not in known and not await engine.gateway.calls(limit=1, agent=agent):
        context.console.note(f"no agent named {agent} was here yet; it holds once one is")


async def _show_rights(context: "Context", engine: "AnyEngine") -> int:
    from synthorg_tui.agents.models import AgentRights

    agent = context.args.agent
    rights = (await engine.gateway.restrictions()).get(agent, AgentRights())
    return context.print_result(_rights(agent, rights), f"{agent} {in_words(rights)}.")


def _rights(agent: str, rights: "AgentRights") -> Json:
    return {"agent_id": agent, "paused": rights.paused, "read_only": rights.read_only}


def _call(record: "CallRecord") -> Json:
    return {
        "number": record.number,
        "at": record.at.isoformat(),
        "agent_id": record.agent_id,
        "client": record.client,
        "project": record.project,
        "kind": record.kind.value,
        "name": record.name,
        "arguments": record.arguments,
        "reply": record.reply,
        "is_error": record.is_error,
        "tokens": record.tokens,
        "milliseconds": round(record.milliseconds, 1),
        "memory_ids": list(record.memory_ids),
        "wrote": record.wrote,
    }


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a call")
    return int(text)
