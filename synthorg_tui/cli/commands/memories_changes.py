"""``memories publish`` and ``retract``, ``undo`` and ``redo``, older versions, uses, what is alike.

What a person changed, taken back in order; an older version; and what to know before deleting.
"""

from functools import partial
from typing import TYPE_CHECKING

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Subparsers, add_command, whole
from synthorg_tui.cli.commands.memories_reading import SHORT_ID, find_one
from synthorg_tui.cli.output import local_time
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.memory.listing import UndoneAct

_TITLE = 70
_DONE = {
    "added": "adding",
    "edited": "editing",
    "deleted": "deleting",
    "archived": "archiving",
    "restored": "restoring",
}


def add_changes(actions: Subparsers) -> None:
    """Add these subcommands of ``memories`` to ``actions``."""
    for name, done, summary in (
        ("publish", "published", "give memories of an agent to all other agents"),
        ("retract", "retracted", "withdraw memories that were published"),
    ):
        more = "The memory itself stays its agent's. `synthorg-tui memories undo` takes it back."
        share, examples = partial(run_share, name=done), (f"memories {name} 3f2a",)
        parser = add_command(actions, name, share, summary, more=more, examples=examples)
        parser.add_argument("ids", nargs="+", metavar="ID")
    for name, summary in (
        ("undo", "undo the last change a person made"),
        ("redo", "make the change again that was undone last"),
    ):
        more = "Changes of agents and imports stay, and so does what was changed again since."
        add_command(actions, name, partial(run_step, undoes=name == "undo"), summary, more=more)
    parser = add_command(
        actions,
        "restore-version",
        run_restore_version,
        "give a memory an older version of itself",
        more="It becomes the newest version; `memories history ID` lists all, with their numbers.",
        examples=("memories restore-version 3f2a 118",),
    )
    parser.add_argument("id", metavar="ID")
    parser.add_argument("version", metavar="N", type=whole(1), help="number of the version")
    for name, run, summary in (
        ("uses", run_uses, "list the digests and replies that a memory was given with"),
        ("similar", run_similar, "list memories that say nearly the same"),
    ):
        parser = add_command(actions, name, run, summary)
        parser.add_argument("id", metavar="ID")
        parser.add_argument(
            "--limit", metavar="N", type=whole(1, 1000), default=20, help="at most N (default 20)"
        )


async def run_share(context: "Context", *, name: str) -> int:
    """Publish memories to all agents, or withdraw published ones; ``name`` is the result."""
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start) for start in context.args.ids]
        act = engine.desk.publish if name == "published" else engine.desk.retract
        done = await act(list(dict.fromkeys(each.id for each in entries)), actor=context.actor)
    count = counted(len(done), "memory", "memories")
    nothing = "They are published already." if name == "published" else "None is published."
    told = f"{name.capitalize()} {count}." if done else nothing
    code = context.print_result({name: list(done)}, told)
    if done and not context.wants_json:
        context.console.note("`synthorg-tui memories undo` takes it back")
    return code


async def run_step(context: "Context", *, undoes: bool) -> int:
    """Undo the last change of a person, or make the one again that was undone last."""
    async with context.engine() as engine:
        step = engine.desk.undo if undoes else engine.desk.redo
        act = await step(actor=context.actor)
    name = "undone" if undoes else "redone"
    if act is None:
        return context.print_result({name: None}, f"Nothing can be {name}.")
    told = {"kind": act.kind.value, "ids": list(act.memory_ids), "at": act.at.isoformat()}
    return context.print_result({name: told}, f"{name.capitalize()}: {_words(act)}")


def _words(act: "UndoneAct") -> str:
    """Say what was done, to how many memories, and when."""
    count = len(act.memory_ids)
    what = f'"{act.title[:_TITLE]}"' if count == 1 else counted(count, "memory", "memories")
    return f"{_DONE[act.kind.value]} {what}, {local_time(act.at)}"


async def run_restore_version(context: "Context") -> int:
    """Restore an older version of a memory as its newest."""
    args = context.args
    async with context.engine() as engine:
        entry = await find_one(engine.desk, args.id)
        restored = await engine.desk.restore_version(entry.id, args.version, actor=context.actor)
        source = await shapes.SourceResolver(engine.executions).resolve(restored.source)
    done = f"Restored version {args.version} of {entry.id}. Undo with: synthorg-tui memories undo"
    return context.print_result(shapes.memory(restored, source), done)


async def run_uses(context: "Context") -> int:
    """List the calls of agents that were given a memory, newest first."""
    args = context.args
    async with context.engine() as engine:
        entry = await find_one(engine.desk, args.id)
        uses = await engine.desk.uses(entry.id, limit=args.limit)
    if context.wants_json:
        listed = [
            {
                "call": use.number,
                "at": use.at.isoformat(),
                "agent": use.agent_id,
                "name": use.name,
                "task": use.task,
                "score": use.score,
            }
            for use in uses
        ]
        context.console.json({"id": entry.id, "uses": listed})
        return 0
    if not uses:
        context.console.note("No agent was given it, as far as the recorded calls go.")
    for use in uses:
        score = "-" if use.score is None else f"{use.score:.2f}"
        parts = (use.agent_id, use.name, score, " ".join(use.task.split())[:_TITLE])
        context.console.parts([(local_time(use.at), "dim"), *((part,) for part in parts)])
    return 0


async def run_similar(context: "Context") -> int:
    """List memories that say nearly the same, most similar first."""
    args = context.args
    async with context.engine() as engine:
        entry = await find_one(engine.desk, args.id)
        found = await engine.desk.similar(entry.id, limit=args.limit)
    if context.wants_json:
        listed = [
            {"id": hit.id, "agent": hit.agent_id, "similarity": hit.dense, "content": hit.content}
            for hit in found
        ]
        context.console.json({"id": entry.id, "similar": listed})
        return 0
    if not found:
        context.console.note("No memory says nearly the same.")
    for hit in found:
        title = " ".join(hit.content[: 10 * _TITLE].split())[:_TITLE]
        parts = (f"{hit.dense or 0:.2f}", hit.agent_id, title)
        context.console.parts([(hit.id[:SHORT_ID], "dim"), *((part,) for part in parts)])
    return 0
