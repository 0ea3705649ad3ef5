"""``config set``, ``unset``, ``off``, ``on``, ``undo``, ``redo`` and ``changes``.

A value is kept in the store, beside an open app by the process that owns it. Only a person changes
settings: a command that a coding agent runs is refused.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, whole
from synthorg_tui.cli.output import local_time
from synthorg_tui.cli.shapes import Json

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.settings.changes import SettingChange

_MAX_LISTED: Final = 50
_TOLD: Final = {
    "now": "holds now",
    "restart": "holds from the next start of the app on",
    "agreement": "is looser than what you agreed to; the app asks you when it opens next",
}


def add(actions: Subparsers) -> None:
    """Add the commands that change settings to those of ``config``."""
    setting = add_command(
        actions,
        "set",
        run_set,
        "change a setting; the value is kept in the store",
        more="A value is written as in the settings file, such as 30, true, null or '[a, b]'.",
        examples=("config set memory.retrieval.max_memories 30",),
    )
    setting.add_argument("name", metavar="NAME", help="the setting, such as memory.level")
    setting.add_argument("value", metavar="VALUE", help="the value")
    unsetting = add_command(
        actions, "unset", run_unset, "forget a changed value: the file holds, or the default"
    )
    unsetting.add_argument("name", metavar="NAME", help="the setting")
    for name, summary in (("off", "switch one thing off at once"), ("on", "switch it on again")):
        run = partial(run_switch, on=name == "on")
        switching = add_command(actions, name, run, summary, examples=(f"config {name} learning",))
        switching.add_argument(
            "switch",
            metavar="SWITCH",
            nargs="?",
            help="injection, learning, writes, consolidation, following or runtime; "
            "without it all are listed",
        )
    undo, redo = partial(run_step, undoes=True), partial(run_step, undoes=False)
    add_command(actions, "undo", undo, "undo the last change of a setting")
    add_command(actions, "redo", redo, "make the change again that was undone last")
    listing = add_command(actions, "changes", run_changes, "list who changed which setting, when")
    listing.add_argument(
        "--limit",
        type=whole(1, 1000),
        default=_MAX_LISTED,
        metavar="N",
        help=f"how many, at most (default: {_MAX_LISTED})",
    )


async def run_set(context: "Context") -> int:
    """Keep a value; raises ``ConfigError`` with what is allowed."""
    async with context.engine() as engine:
        name, value = context.args.name, context.args.value
        change = await engine.kept.set(name, value, actor=context.actor)
    return _print(context, engine, change)


async def run_unset(context: "Context") -> int:
    """Keep nothing of a setting any more."""
    async with context.engine() as engine:
        change = await engine.kept.unset(context.args.name, actor=context.actor)
    return _print(context, engine, change)


async def run_step(context: "Context", *, undoes: bool) -> int:
    """Undo the last change of a setting, or make the one again that was undone last."""
    async with context.engine() as engine:
        step = engine.kept.undo if undoes else engine.kept.redo
        change = await step(actor=context.actor)
    return _print(context, engine, change)


async def run_changes(context: "Context") -> int:
    """List the latest changes, newest first."""
    from synthorg_tui.core.actors import actor_words

    async with context.engine() as engine:
        changes = await engine.kept.changes(limit=context.args.limit)
    if context.wants_json:
        context.console.json({"changes": [_shape(change) for change in changes]})
        return 0
    if not changes:
        context.console.line("No setting was changed in the app or by a command.")
        return 0
    rows = [
        (local_time(it.at), it.path, it.before or "–", it.after or "–", it.done, actor_words(it.by))
        for it in changes
    ]
    context.console.table(("WHEN", "SETTING", "BEFORE", "AFTER", "", "BY"), rows)
    return 0


async def run_switch(context: "Context", *, on: bool) -> int:
    """Switch something on or off; without a name, list the switches."""
    from synthorg_tui.settings.switches import turned

    async with context.engine() as engine:
        if context.args.switch is None:
            return await _list_switches(context, engine)
        settings, name = context.settings(), context.args.switch
        change = await turned(engine.kept, settings, name, on=on, actor=context.actor)
    if change is None:
        told = f"{name} is {'on' if on else 'off'} already."
        return context.print_result({"switch": name, "on": on, "change": None}, told)
    return _print(context, engine, change)


async def _list_switches(context: "Context", engine: "AnyEngine") -> int:
    from synthorg_tui.settings.kept import with_kept
    from synthorg_tui.settings.switches import switches

    kept = {each.path: each for each in await engine.kept.kept()}
    found = switches(with_kept(context.settings(), kept).settings)
    if context.wants_json:
        rows: list[Json] = [
            {"switch": switch.name, "setting": switch.path, "on": on} for switch, on in found
        ]
        context.console.json({"switches": rows})
        return 0
    context.console.table(
        ("SWITCH", "", "SETTING", ""),
        [(it.name, "on" if on else "OFF", it.path, it.title) for it, on in found],
    )
    return 0


def _print(context: "Context", engine: "AnyEngine", change: "SettingChange") -> int:
    """Say what was changed, and from when on it holds."""
    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.settings.changes import Takes

    if change.takes is Takes.RESTART and not isinstance(engine, RemoteEngine):
        change = replace(change, takes=Takes.NOW)  # nothing runs that would have to start again
    value = change.after or "not set here any more"
    takes = change.takes.value if change.takes is not None else "now"
    told = _TOLD.get(takes, f"doesn't hold: {change.why}")
    return context.print_result(_shape(change), f"{change.path}: {value}; it {told}.")


def _shape(change: "SettingChange") -> Json:
    shape: Json = {
        "number": change.number,
        "setting": change.path,
        "before": change.before or None,
        "after": change.after or None,
        "done": change.done.value,
        "of": change.of or None,
        "by": change.by,
        "at": change.at.isoformat(),
    }
    if change.takes is not None:
        shape |= {"takes": change.takes.value, "why": change.why}
    return shape
