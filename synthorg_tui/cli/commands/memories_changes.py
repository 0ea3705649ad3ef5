"""``memories publish`` and ``retract``, ``undo`` and ``redo``, older versions, uses, what is alike.

What a person changed, taken back in order; an older version; and what to know before deleting.
"""

from functools import partial
from typing import Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import ID, IDS, Argument, limit, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands.memories_reading import SHORT_ID, find_one, ids_of
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import Answer, Parts, local_time
from synthorg_tui.cli.records import fields, shaped
from synthorg_tui.core.text import counted

_TITLE: Final = 70
_DONE: Final = {
    "added": "adding",
    "edited": "editing",
    "deleted": "deleting",
    "archived": "archiving",
    "restored": "restoring",
}
_UNDO: Final = "`synthorg-tui memories undo` takes it back"
_SHARING: Final = f"The memory itself stays its agent's. {_UNDO}."
_STEPS: Final = "Changes of agents and imports stay, and so does what was changed again since."
_LIMIT: Final = limit(20, "at most N (default {})")


async def _share(context: Context, engine: AnyEngine, *, done: str) -> Answer:
    """Publish memories to all agents, or withdraw published ones; ``done`` is the result."""
    entries = [await find_one(engine.desk, start) for start in context.args.ids]
    act = engine.desk.publish if done == "published" else engine.desk.retract
    ids = await act(ids_of(entries), actor=context.actor)
    told = "They are published already." if done == "published" else "None is published."
    if ids:
        told = f"{done.capitalize()} {counted(len(ids), 'memory', 'memories')}."
    return Answer({done: list(ids)}, told, note=_UNDO if ids else "")


async def _step(context: Context, engine: AnyEngine, *, done: str) -> Answer:
    """Undo the last change of a person, or make the one again that was undone last."""
    step = engine.desk.undo if done == "undone" else engine.desk.redo
    act = await step(actor=context.actor)
    if act is None:
        return Answer({done: None}, f"Nothing can be {done}.")
    count = len(act.memory_ids)
    what = f'"{act.title[:_TITLE]}"' if count == 1 else counted(count, "memory", "memories")
    return Answer(
        {done: fields(act, "kind ids=memory_ids at")},
        f"{done.capitalize()}: {_DONE[act.kind.value]} {what}, {local_time(act.at)}",
    )


@Command(
    "restore-version",
    "give a memory an older version of itself",
    more="It becomes the newest version; `memories history ID` lists all, with their numbers.",
    examples=("memories restore-version 3f2a 118",),
    arguments=(
        ID,
        Argument("version", metavar="N", type=whole(1), help="number of the version"),
    ),
).asks
async def restore_version(context: Context, engine: AnyEngine) -> Answer:
    """Restore an older version of a memory as its newest."""
    version = context.args.version
    entry = await find_one(engine.desk, context.args.id)
    restored = await engine.desk.restore_version(entry.id, version, actor=context.actor)
    source = await shapes.SourceResolver(engine.executions).resolve(restored.source)
    return Answer(
        shapes.memory(restored, source),
        f"Restored version {version} of {entry.id}. Undo with: synthorg-tui memories undo",
    )


@Command(
    "uses",
    "list the digests and replies that a memory was given with",
    arguments=(ID, _LIMIT),
).asks
async def list_uses(context: Context, engine: AnyEngine) -> Answer:
    """List the calls of agents that were given a memory, newest first."""
    entry = await find_one(engine.desk, context.args.id)
    uses = await engine.desk.uses(entry.id, limit=context.args.limit)
    return Answer(
        {"id": entry.id, "uses": shaped(uses, "call=number at agent=agent_id name task score")},
        [
            Parts(
                [
                    (local_time(use.at), "dim"),
                    (use.agent_id,),
                    (use.name,),
                    ("-" if use.score is None else f"{use.score:.2f}",),
                    (" ".join(use.task.split())[:_TITLE],),
                ]
            )
            for use in uses
        ],
        note="" if uses else "No agent was given it, as far as the recorded calls go.",
    )


@Command("similar", "list memories that say nearly the same", arguments=(ID, _LIMIT)).asks
async def list_similar(context: Context, engine: AnyEngine) -> Answer:
    """List memories that say nearly the same, most similar first."""
    entry = await find_one(engine.desk, context.args.id)
    found = await engine.desk.similar(entry.id, limit=context.args.limit)
    return Answer(
        {"id": entry.id, "similar": shaped(found, "id agent=agent_id similarity=dense content")},
        [
            Parts(
                [
                    (hit.id[:SHORT_ID], "dim"),
                    (f"{hit.dense or 0:.2f}",),
                    (hit.agent_id,),
                    (" ".join(hit.content[: 10 * _TITLE].split())[:_TITLE],),
                ]
            )
            for hit in found
        ],
        note="" if found else "No memory says nearly the same.",
    )


DECLARED: Final = (
    Command(
        "publish",
        "give memories of an agent to all other agents",
        more=_SHARING,
        examples=("memories publish 3f2a",),
        arguments=(IDS,),
    ).asks(partial(_share, done="published")),
    Command(
        "retract",
        "withdraw memories that were published",
        more=_SHARING,
        examples=("memories retract 3f2a",),
        arguments=(IDS,),
    ).asks(partial(_share, done="retracted")),
    Command("undo", "undo the last change a person made", more=_STEPS).asks(
        partial(_step, done="undone")
    ),
    Command("redo", "make the change again that was undone last", more=_STEPS).asks(
        partial(_step, done="redone")
    ),
    restore_version,
    list_uses,
    list_similar,
)
"""The commands about changes, for ``memories``."""
