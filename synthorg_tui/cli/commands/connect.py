"""``connect``, ``disconnect`` and ``hook``."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli.console import Console
from synthorg_tui.cli.context import Context, UsageError
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path

if TYPE_CHECKING:
    from synthorg_tui.connect.changes import FileChange
    from synthorg_tui.connect.clients import ServerCommand
    from synthorg_tui.connect.skills import Placed

_SCRIPT = "synthorg-tui"


async def run_connect(context: Context) -> int:
    """Add the server, and hooks when wanted, to a client's configuration; place skills."""
    from synthorg_tui.connect.changes import ClientInstaller
    from synthorg_tui.connect.clients import CLIENTS, ConfigScope, here

    args, client = context.args, CLIENTS[context.args.client]
    if args.hooks and not client.has_hooks:
        raise UsageError(
            f"{client.title} gets no hooks from us", remedy="Leave out --hooks: MCP is enough."
        )
    scope = ConfigScope(args.scope) if args.scope else client.usual
    connections = ClientInstaller(context.data_dir.absolute(), here())
    call = _call(context, args.agent or client.name)
    changes = connections.plan(client, scope, call, hooks=args.hooks)
    if _show(context.console, changes, wants_json=context.wants_json):
        context.confirm("Write this?")
        connections.apply(changes)
    source = context.settings().own_skills(context.data_dir.absolute())
    wanted = await _approved(context, call.agent_id)
    root, placed = connections.place_skills(client, scope, call.agent_id, source, wanted)
    backups = [connections.backup_path(each) for each in changes]
    if context.wants_json:
        files = [
            {**_file(change), "backup": str(backup) if backup else None}
            for change, backup in zip(changes, backups, strict=True)
        ]
        skills = {"root": str(root), **asdict(placed)}
        context.console.json(
            {"client": client.name, "agent": call.agent_id, "files": files, "skills": skills}
        )
        return 0
    for change, backup in zip(changes, backups, strict=True):
        if not change.is_needed:
            context.console.line(f"{short_path(str(change.path))} is as it should be.")
        elif backup is not None:
            context.console.line(f"Written; the file as it was: {short_path(str(backup))}")
    _tell_placed(context.console, root, placed)
    if scope in client.notes:
        context.console.note(client.notes[scope])
    context.console.line(f"Start {client.title} again to use it.")
    return 0


async def _approved(context: Context, agent_id: str) -> dict[str, str]:
    from synthorg_tui.connect.skills import approved

    try:
        return await approved(
            context.data_dir.absolute(), agent_id, config_path=context.args.config
        )
    except DomainError as error:
        context.console.warning(f"skills will be linked later: {error.message}")
        return {}


async def run_disconnect(context: Context) -> int:
    """Undo what ``connect`` did."""
    from synthorg_tui.connect.changes import ClientInstaller
    from synthorg_tui.connect.clients import CLIENTS, ConfigScope, here

    args, client = context.args, CLIENTS[context.args.client]
    scope = ConfigScope(args.scope) if args.scope else None
    connections = ClientInstaller(context.data_dir.absolute(), here())
    changes = connections.plan_removal(client, scope)
    if _show(context.console, changes, wants_json=context.wants_json):
        context.confirm("Write this?")
    cleared = connections.clear_skills(client, scope)
    connections.apply_removal(changes)
    if context.wants_json:
        files = [{**_file(each), "restored": each.is_whole} for each in changes]
        skills = [{"root": str(root), "removed": names} for root, names in cleared.items()]
        context.console.json({"client": client.name, "files": files, "skills": skills})
        return 0
    for change in changes:
        told = "is as it was" if change.is_whole else "was changed since; only ours was taken out"
        context.console.line(f"{short_path(str(change.path))} {told}.")
    for root, names in cleared.items():
        if names:
            context.console.line(f"Links removed from {short_path(str(root))}: {', '.join(names)}")
    if not changes and not cleared:
        context.console.line(f"{client.title} isn't connected here.")
    return 0


async def run_hook(context: Context) -> int:
    """Run a hook that was called with options before it; usually the parser isn't even loaded."""
    from synthorg_tui.connect.hook import main

    args = context.args
    words = [args.client, args.event]
    options = {
        "--data-dir": args.data_dir,
        "--config": args.config,
        "--agent": args.agent,
        "--token-budget": args.token_budget,
    }
    for name, value in options.items():
        words += [name, str(value)] if value is not None else []
    return main(words)


def _call(context: Context, agent_id: str) -> "ServerCommand":
    """How clients start us, with no more options than the same store needs."""
    from synthorg_tui.connect.clients import ServerCommand
    from synthorg_tui.settings.environment import config_file, default_config_file
    from synthorg_tui.settings.loader import load_settings

    source, data_dir = config_file(context.args.config), context.data_dir.absolute()
    config: tuple[str, ...] = ()
    if source is not None and source != default_config_file():
        config = ("--config", str(source.absolute()))
    # What this shell's variables say, the client's environment may not.
    usual = Path(load_settings(source, environ={}).memory.storage.data_dir).absolute()
    named = ("--data-dir", str(data_dir))
    options = config if data_dir == usual else (*named, *config)
    return ServerCommand(own_command(sys.argv[0]), options, (*named, *config), agent_id)


def own_command(called: str) -> tuple[str, ...]:
    """The words that start this program from anywhere; ``called`` is how it was started."""
    beside = Path(sys.executable).with_name(_SCRIPT)
    for script in (Path(called), beside):
        if script.name == _SCRIPT and script.is_file() and os.access(script, os.X_OK):
            return (str(script.absolute()),)
    return (sys.executable, "-m", "synthorg_tui")


def _show(console: Console, changes: "Sequence[FileChange]", *, wants_json: bool) -> bool:
    """Print what would change; whether anything would."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    needed = [each for each in changes if each.is_needed]
    for change in needed if not wants_json else ():
        for line in change.diff():
            style = styles.get(line[:1])
            console.line(line, *((style,) if style else ()))
        console.line()
    return bool(needed)


def _file(change: "FileChange") -> dict[str, object]:
    return {"path": str(change.path), "changed": change.is_needed, "diff": change.diff()}


def _tell_placed(console: Console, root: Path, placed: "Placed") -> None:
    where = short_path(str(root))
    if placed.linked:
        console.line(f"Skills linked in {where}: {', '.join(placed.linked)}")
    else:
        console.line(f"No approved skills yet; those to come are linked in {where}.")
    for name in placed.changed:
        console.warning(f"{name} isn't what was approved any more, so it isn't linked")
    for name in placed.left_alone:
        console.warning(f"{where}/{name} is somebody else's; the skill of that name isn't linked")
