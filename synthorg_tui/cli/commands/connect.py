"""``connect``, ``disconnect`` and ``hook``: this program's entries in coding agents' settings."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import YES, Argument, ArgumentGroup, agent_id
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Note, View, Warn
from synthorg_tui.cli.records import Json, plain
from synthorg_tui.connect import CLIENT_NAMES, HOOK_EVENTS
from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.persistence.lock import has_store

if TYPE_CHECKING:
    from synthorg_tui.connect.changes import ClientInstaller, FileChange
    from synthorg_tui.connect.skills import PlacedSkills

_CLIENT: Final = Argument(
    "client", choices=CLIENT_NAMES, metavar="CLIENT", help=", ".join(CLIENT_NAMES)
)
_AGENT: Final = Argument(
    "--agent",
    type=agent_id,
    metavar="ID",
    help="whose memory it is (default: the client's name)",
)


def _scope(default: str) -> ArgumentGroup:
    """Where the client is configured; ``default`` says what holds without an option."""
    places = (("user", "in all projects"), ("project", f"in this directory ({default})"))
    return ArgumentGroup(
        *(
            Argument(f"--{name}", dest="scope", action="store_const", const=name, help=text)
            for name, text in places
        )
    )


@Command(
    "connect",
    more="It shows the\nexact change and asks first. Approved skills are linked where the "
    "agent looks.",
    examples=("connect claude-code --hooks", "connect cursor", "connect codex --agent me"),
    arguments=(
        _CLIENT,
        YES,
        _AGENT,
        Argument(
            "--hooks",
            action="store_true",
            help="Claude Code: hand out the digest with each prompt and hints with tool calls, "
            "import what was done; again after an update: adds the hooks that are new",
        ),
        _scope("default: --project for cursor and vscode, --user for the others"),
    ),
).runs
async def connect(context: Context) -> Answer:
    """Add the MCP server, and hooks if asked, to a client's configuration; link skills for it.

    Refused where an agent runs it, as it is in the app.
    """
    from dataclasses import asdict

    from synthorg_tui.connect.clients import CLIENTS, ConfigScope
    from synthorg_tui.connect.joining import link_skills, server_command

    args, client = context.args, CLIENTS[context.args.client]
    if args.hooks and not client.has_hooks:
        raise UsageError(
            f"{client.title} gets no hooks from us", remedy="Leave out --hooks: MCP is enough."
        )
    scope = ConfigScope(args.scope) if args.scope else client.usual
    installer = _installer(context)
    data_dir = context.data_dir.absolute()
    call = server_command(args.agent or client.name, data_dir=data_dir, config_path=args.config)
    changes = installer.plan(client, scope, call, hooks=args.hooks)
    if _confirmed(context, changes):
        installer.apply(changes)
    root, placed, unapproved = link_skills(
        installer,
        client,
        scope,
        call.agent_id,
        own=context.settings().own_skills(data_dir),
        wanted=await _approved(context, call.agent_id),
        rejected=await _rejected(context),
    )
    files = [(change, installer.backup_path(change)) for change in changes]
    return Answer(
        {
            "client": client.name,
            "agent": call.agent_id,
            "files": [{**_file(change), "backup": plain(backup)} for change, backup in files],
            "skills": {"root": str(root)} | asdict(placed) | {"unapproved": unapproved},
        },
        [
            [_written(change, backup) for change, backup in files],
            [_left_out(change) for change in changes],
            _placed(root, placed),
            _unapproved(unapproved) if unapproved else "",
            Note(client.notes.get(scope, "")),
            f"Start {client.title} again to use it.",
        ],
    )


@Command(
    "disconnect",
    more="A file that\nnobody changed since is restored byte for byte.",
    examples=("disconnect claude-code", "disconnect cursor --project"),
    arguments=(_CLIENT, YES, _scope("default: wherever it was connected")),
).runs
async def disconnect(context: Context) -> Answer:
    """Remove the entries and links that ``connect`` added to a client's configuration.

    Refused where an agent runs it.
    """
    from synthorg_tui.connect.clients import CLIENTS, ConfigScope

    args, client = context.args, CLIENTS[context.args.client]
    scope = ConfigScope(args.scope) if args.scope else None
    installer = _installer(context)
    changes = installer.plan_removal(client, scope)
    _confirmed(context, changes)
    cleared = installer.clear_skills(client, scope)
    installer.apply_removal(changes)
    states = {True: "is as it was", False: "was changed since; only ours was taken out"}
    return Answer(
        {
            "client": client.name,
            "files": [{**_file(change), "restored": change.is_whole} for change in changes],
            "skills": [{"root": str(root), "removed": names} for root, names in cleared.items()],
        },
        [
            [f"{short_path(str(each.path))} {states[each.is_whole]}." for each in changes],
            [
                f"Links removed from {short_path(str(root))}: {', '.join(names)}"
                for root, names in cleared.items()
                if names
            ],
            "" if changes or cleared else f"{client.title} isn't connected here.",
        ],
    )


def _written(change: "FileChange", backup: Path | None) -> View:
    if not change.is_needed:
        return f"{short_path(str(change.path))} is as it should be."
    return backup is not None and f"Written; the file as it was: {short_path(str(backup))}"


def _left_out(change: "FileChange") -> View:
    """Which hooks weren't installed because the Claude Code that is there is too old."""
    from synthorg_tui.connect.edits import missing_hooks

    missing = missing_hooks((change.after or b"").decode()) if change.record.is_hooks else ()
    return bool(missing) and Warn(
        f"this Claude Code is too old for {' and '.join(missing)}: it would ignore the "
        "whole file; update it and connect it again for hints with tool calls"
    )


def _placed(root: Path, placed: "PlacedSkills") -> View:
    where = short_path(str(root))
    changed = "isn't what was approved any more, so it isn't linked"
    left = "is somebody else's; the skill of that name isn't linked"
    return (
        f"Skills linked in {where}: {', '.join(placed.linked)}"
        if placed.linked
        else f"No approved skills yet; those to come are linked in {where}.",
        Warn(*(f"{name} {changed}" for name in placed.changed)),
        Warn(*(f"{where}/{name} {left}" for name in placed.left_alone)),
    )


def _unapproved(names: Sequence[str]) -> View:
    """The names of the skills that the program ships and nobody approved."""
    come, are = ("skill comes", "isn't") if len(names) == 1 else ("skills come", "aren't")
    listed = ", ".join(names)
    return (
        f"{len(names)} {come} with synthorg-tui and {are} in force: {listed}.",
        "`synthorg-tui skills review NAME` puts one up for your approval.",
    )


@Command(
    "hook",
    more="The event's JSON\ncomes on stdin. What fails or is late gives no output, exit code 0 "
    "and a line in hooks.log.\nA tool call is never stopped or changed: a hint is added to it, "
    "or nothing.",
    examples=("hook claude-code UserPromptSubmit < event.json",),
    arguments=(
        Argument("client", choices=CLIENT_NAMES[:1], metavar="CLIENT", help="claude-code"),
        Argument("event", choices=HOOK_EVENTS, metavar="EVENT", help=", ".join(HOOK_EVENTS)),
        Argument("--agent", type=agent_id, metavar="ID", help="whose memory it is"),
        Argument(
            "--token-budget", type=int, metavar="N", help="tokens of a digest (default: settings)"
        ),
    ),
).runs
async def hook(context: Context) -> int:
    """Run a hook that was called with options before its name.

    Without such options the hook is run before this parser is loaded, to save time.
    """
    from synthorg_tui.connect.hook import main

    args = context.args
    options = {
        "--data-dir": args.data_dir,
        "--config": args.config,
        "--agent": args.agent,
        "--token-budget": args.token_budget,
    }
    given = [(name, str(value)) for name, value in options.items() if value is not None]
    return main([args.client, args.event, *chain.from_iterable(given)])


def _installer(context: Context) -> "ClientInstaller":
    from synthorg_tui.connect.changes import ClientInstaller
    from synthorg_tui.connect.clients import here

    return ClientInstaller(context.data_dir.absolute(), here())


async def _approved(context: Context, agent_id: str) -> dict[str, str] | None:
    """The agent's skills: SHA-256 by name; ``None``, with a warning, when nobody can be asked."""
    from synthorg_tui.connect.skills import approved

    try:
        return await approved(
            context.data_dir.absolute(), agent_id, config_path=context.args.config
        )
    except DomainError as error:
        context.console.warning(f"skills will be linked later: {error.message}")
        return None


async def _rejected(context: Context) -> set[str]:
    """The names of shipped skills whose text the person refused; none when nobody can be asked."""
    if not has_store(context.data_dir):
        return set()
    try:
        async with context.engine() as engine:
            rows = (await engine.skills.overview()).rows
    except DomainError:
        return set()
    return {row.name for row in rows if row.was_rejected and row.state is SkillState.SHIPPED}


def _confirmed(context: Context, changes: "Sequence[FileChange]") -> bool:
    """Have the person agree to changes after they were shown; whether there are any."""
    needed = [change for change in changes if change.is_needed]
    for change in needed if not context.wants_json else ():
        context.console.diff(change.diff())
        context.console.line()
    if needed:
        context.confirm("Write this?")
    return bool(needed)


def _file(change: "FileChange") -> Json:
    return {"path": str(change.path), "changed": change.is_needed, "diff": change.diff()}
