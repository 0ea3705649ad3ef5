"""``config set``, ``unset``, ``off``, ``on``, ``undo``, ``redo`` and ``changes``.

A value is kept in the store, beside an open app by the process that owns it. Only a person changes
settings: a command that a coding agent runs is refused.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer, Table, local_time
from synthorg_tui.cli.records import Json, fields, listing

if TYPE_CHECKING:
    from synthorg_tui.settings.changes import SettingChange

_TOLD: Final = {
    "now": "holds now",
    "restart": "holds from the next start of the app on",
    "agreement": "is looser than what you agreed to; the app asks you when it opens next",
}


_NAME: Final = Argument("name", metavar="NAME", help="the setting")
_SWITCH: Final = Argument(
    "switch",
    metavar="SWITCH",
    nargs="?",
    help="injection, learning, writes, consolidation, following or runtime; "
    "without it all are listed",
)


@Command(
    "set",
    "change a setting; the value is kept in the store",
    more="A value is written as in the settings file, such as 30, true, null or '[a, b]'.",
    examples=("config set memory.retrieval.max_memories 30",),
    arguments=(
        Argument("name", metavar="NAME", help="the setting, such as memory.level"),
        Argument("value", metavar="VALUE", help="the value"),
    ),
).asks
async def set_value(context: Context, engine: AnyEngine) -> Answer:
    """Keep a value; raises ``ConfigError`` with what is allowed."""
    name, value = context.args.name, context.args.value
    return _changed(engine, await engine.kept.set(name, value, actor=context.actor))


@Command(
    "unset",
    "forget a changed value: the file holds, or the default",
    arguments=(_NAME,),
).asks
async def unset(context: Context, engine: AnyEngine) -> Answer:
    """Keep nothing of a setting any more."""
    return _changed(engine, await engine.kept.unset(context.args.name, actor=context.actor))


async def _step(context: Context, engine: AnyEngine, *, undoes: bool) -> Answer:
    """Undo the last change of a setting, or make the one again that was undone last."""
    step = engine.kept.undo if undoes else engine.kept.redo
    return _changed(engine, await step(actor=context.actor))


@Command(
    "changes",
    "list who changed which setting, when",
    arguments=(limit(50, "how many, at most (default: {})"),),
).asks
async def list_changes(context: Context, engine: AnyEngine) -> Answer:
    """List the latest changes, newest first."""
    from synthorg_tui.core.actors import actor_words

    changes: Sequence[SettingChange] = await engine.kept.changes(limit=context.args.limit)
    return listing(
        "changes",
        changes,
        _shape,
        {
            "WHEN": lambda it: local_time(it.at),
            "SETTING": lambda it: it.path,
            "BEFORE": lambda it: it.before or "–",
            "AFTER": lambda it: it.after or "–",
            "": lambda it: it.done,
            "BY": lambda it: actor_words(it.by),
        },
        empty="No setting was changed in the app or by a command.",
    )


async def _switch(context: Context, engine: AnyEngine, *, on: bool) -> Answer:
    """Switch something on or off; without a name, list the switches."""
    from synthorg_tui.settings.kept import with_kept
    from synthorg_tui.settings.switches import switches, turned

    settings, name = context.settings(), context.args.switch
    if name is not None:
        change = await turned(engine.kept, settings, name, on=on, actor=context.actor)
        if change is not None:
            return _changed(engine, change)
        told = f"{name} is {'on' if on else 'off'} already."
        return Answer({"switch": name, "on": on, "change": None}, told)
    kept = {each.path: each for each in await engine.kept.kept()}
    found = switches(with_kept(settings, kept).settings)
    rows = [(it.name, "on" if is_on else "OFF", it.path, it.title) for it, is_on in found]
    return Answer(
        {"switches": [{"switch": it.name, "setting": it.path, "on": is_on} for it, is_on in found]},
        Table(("SWITCH", "", "SETTING", ""), rows),
    )


DECLARED: Final = (
    set_value,
    unset,
    Command(
        "off",
        "switch one thing off at once",
        examples=("config off learning",),
        arguments=(_SWITCH,),
    ).asks(partial(_switch, on=False)),
    Command(
        "on", "switch it on again", examples=("config on learning",), arguments=(_SWITCH,)
    ).asks(partial(_switch, on=True)),
    Command("undo", "undo the last change of a setting").asks(partial(_step, undoes=True)),
    Command("redo", "make the change again that was undone last").asks(
        partial(_step, undoes=False)
    ),
    list_changes,
)
"""The commands that change settings, for ``config``."""


def _changed(engine: AnyEngine, change: "SettingChange") -> Answer:
    """Say what was changed, and from when on it holds."""
    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.settings.changes import Takes

    if change.takes is Takes.RESTART and not isinstance(engine, RemoteEngine):
        change = replace(change, takes=Takes.NOW)  # nothing runs that would have to start again
    value = change.after or "not set here any more"
    takes = change.takes.value if change.takes is not None else "now"
    told = _TOLD.get(takes, f"doesn't hold: {change.why}")
    return Answer(_shape(change), f"{change.path}: {value}; it {told}.")


def _shape(change: "SettingChange") -> Json:
    takes = fields(change, "takes why") if change.takes is not None else {}
    return fields(change, "number setting=path before? after? done of? by at") | takes
