"""``memories``: adds, changes and removes single memories.

The subcommands that only read are in ``memories_reading``.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import (
    CATEGORIES,
    ID,
    IDS,
    PROJECT,
    YES,
    Argument,
    agent_id,
    coming_moment,
    edited_text,
    given_text,
    number,
    past_moment,
    tags,
)
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import memories_as_agent as as_agent
from synthorg_tui.cli.commands import memories_changes as changes
from synthorg_tui.cli.commands.memories_reading import (
    MAX_NAMED,
    SHORT_ID,
    changed,
    find_one,
    ids_of,
    list_memories,
    show_history,
    show_memory,
)
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.erasing import ERASING, WORD, erase_files, erased_view, tell_copies
from synthorg_tui.cli.naming import agent_named, project_named
from synthorg_tui.cli.output import Answer, Note
from synthorg_tui.cli.records import pairs
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.errors import MemoryCapabilityError

if TYPE_CHECKING:
    from synthorg_tui.curation.erasure import ErasureReview
    from synthorg_tui.memory.listing import ListedMemory

REDACT: Final = "redact"
FORGET: Final = "forget"
_SENSITIVITIES: Final = tuple(sensitivity.value for sensitivity in Sensitivity)
_EDITABLE: Final = (
    *("content", "category", "tags", "confidence", "sensitivity", "fact_key"),
    *("valid_from", "valid_to"),
)
_VALIDITY: Final = (
    Argument("--valid-from", type=past_moment, metavar="WHEN", help="for facts: true since then"),
    Argument("--valid-to", type=coming_moment, metavar="WHEN", help="for facts: true until then"),
)


@Command(
    "add",
    "add a memory",
    examples=(
        'memories add --agent claude-code --tags git "Push with -u the first time."',
        "memories add --agent claude-code - < note.txt",
    ),
    arguments=(
        Argument("content", metavar="TEXT", help="the text, or - to read it from stdin"),
        Argument(
            "--agent",
            type=agent_id,
            metavar="ID",
            help="whose memory it is (default: the only one, else the last one in the project)",
        ),
        Argument(
            "--project", metavar="NAME", help=f"only for this one: {PROJECT} (default: for all)"
        ),
        Argument(
            "--category",
            choices=CATEGORIES,
            default="semantic",
            metavar="NAME",
            help=f"{', '.join(CATEGORIES)} (default semantic)",
        ),
        Argument(
            "--tags", metavar="A,B", type=tags, default=(), help="separated by commas or blanks"
        ),
        Argument(
            "--fact-key",
            metavar="KEY",
            help="what it is the fact of: SUBJECT[@PROJECT][?CONDITION]",
        ),
        *_VALIDITY,
    ),
).runs
async def add_memory(context: Context) -> Answer:
    """Store a memory as one of an agent's.

    Run by an agent, this and the other changes are the agent's, on its own memory.
    """
    from synthorg_tui.memory.extensions import BatchStore, add_by_hand
    from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
    from synthorg_tui.memory.retrieval.tags import tags_with

    args = context.args
    content = given_text(args.content)
    request = MemoryStoreRequest(
        category=MemoryCategory(args.category),
        content=content,
        metadata=MemoryMetadata(tags=tags_with(args.tags, fact_key=args.fact_key)),
    )
    valid = (args.valid_from, args.valid_to)
    if (agent := context.agent) is not None:
        as_agent.refuse_times(agent, valid)
        return await as_agent.add(context, agent, request)
    async with context.engine() as engine:
        if not isinstance(engine.memory, BatchStore):
            raise MemoryCapabilityError(f"the {engine.memory.backend_name} backend keeps no notes")
        project = await project_named(engine, args.project, is_new=True) if args.project else None
        owner = await agent_named(engine, args.agent, project)
        added = await add_by_hand(
            engine.memory, owner, request, project=project, valid=valid, actor=context.actor
        )
        (stored,) = await engine.desk.entries([added])
    context.note_redacted(content, stored.content)
    return Answer({"id": added}, f"Added {added}")


@Command(
    "edit",
    "change a memory",
    more="Without options the text opens in $EDITOR.",
    examples=("memories edit 3f2a", "memories edit 3f2a --category procedural --tags git,push"),
    arguments=(
        ID,
        Argument("--content", metavar="TEXT", help="new text, or - to read it from stdin"),
        Argument(
            "--category", choices=CATEGORIES, metavar="NAME", help=f"one of {', '.join(CATEGORIES)}"
        ),
        Argument("--tags", metavar="A,B", type=tags, help="new tags, by commas or blanks"),
        Argument(
            "--confidence",
            metavar="X",
            type=number("from 0 to 1", lambda given: 0 <= given <= 1),
            help="new confidence, 0 to 1",
        ),
        Argument(
            "--sensitivity",
            choices=_SENSITIVITIES,
            metavar="LEVEL",
            help=f"one of {', '.join(_SENSITIVITIES)}",
        ),
        Argument(
            "--fact-key", metavar="KEY", help="what the memory is the fact of; '' makes it a note"
        ),
        *_VALIDITY,
    ),
).runs
async def edit_memory(context: Context) -> Answer:
    """Change a memory by the given options or, without any, in ``$EDITOR``."""
    import asyncio

    from synthorg_tui.memory.extensions import MemoryEdit

    args = context.args
    content = given_text(args.content) if args.content is not None else None
    agent = context.agent
    if agent is not None:
        as_agent.refuse_times(agent, (args.valid_from, args.valid_to))
    hands = context.acting_as(agent) if agent else nullcontext()
    async with hands as acting, context.engine() as engine:
        entry = await find_one(engine.desk, args.id)
        if all(getattr(args, field) is None for field in _EDITABLE):
            content = await asyncio.to_thread(edited_text, entry.content, "memory.md")
        change = MemoryEdit(
            content=content,
            category=MemoryCategory(args.category) if args.category else None,
            tags=args.tags,
            confidence=args.confidence,
            sensitivity=Sensitivity(args.sensitivity) if args.sensitivity else None,
            fact_key=args.fact_key,
            valid_from=args.valid_from,
            valid_to=args.valid_to,
        )
        if acting is None:
            edited = await engine.desk.edit(entry.id, change, actor=context.actor)
        else:
            await acting.edit_memory(entry.id, change)
            (edited,) = await engine.desk.entries([entry.id])
        source = await shapes.SourceResolver(engine.executions).resolve(edited.source)
    context.note_redacted(content, edited.content)
    return Answer(shapes.memory(edited, source), f"Changed {edited.id}")


@Command(
    "delete",
    "delete memories",
    more="They can be restored until they are purged.",
    arguments=(IDS, YES),
).runs
async def delete(context: Context) -> Answer:
    """Delete memories after a confirmation; ``restore`` brings them back."""
    if (agent := context.agent) is not None:
        return await as_agent.delete(context, agent)
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, archived=True) for start in context.args.ids]
        _name(context, entries)
        final = (await engine.desk.facets()).final
        how = " for good, as this backend restores nothing" if final else ""
        context.confirm(f"Delete {counted(len(entries), 'memory', 'memories')}{how}?")
        count = await engine.desk.remove(ids_of(entries), actor=context.actor)
    return changed("deleted", count, "" if final else "Undo with: synthorg-tui memories restore ID")


@Command("restore", "bring deleted and archived memories back", arguments=(IDS,)).runs
async def restore(context: Context) -> Answer:
    """Restore deleted memories."""
    if (agent := context.agent) is not None:
        return await as_agent.restore(context, agent)
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, deleted=True) for start in context.args.ids]
        count = await engine.desk.restore(ids_of(entries), actor=context.actor)
    return changed("restored", count)


@Command(
    "purge",
    "erase memories for good",
    more="They can't be restored, nor imported again.",
    arguments=(
        IDS,
        *ERASING,
        Argument(
            "--transcript",
            choices=(REDACT, FORGET),
            help="redact the stored lines it was drawn from, or forget their session",
        ),
    ),
).asks
async def purge(context: Context, engine: AnyEngine) -> Answer:
    """Erase memories for ever, and all that derives from them, after a typed confirmation."""
    args = context.args
    entries = [await find_one(engine.desk, start, deleted=True) for start in args.ids]
    ids = ids_of(entries)
    review = await engine.erasure.review(ids)
    sessions = list(dict.fromkeys(lines.partition("#")[0] for lines in review.lines))
    _name(context, entries)
    if not args.yes:
        await _tell_purge(context, engine, review, ids, sessions)
    count = counted(len(entries), "memory", "memories")
    context.confirm(f"Erase {count} for good?", word=WORD)
    erased = await engine.erasure.purge(ids, actor=context.actor, lines=args.transcript == REDACT)
    forgotten: tuple[str, ...] = ()
    if args.transcript == FORGET and sessions:
        forgotten = (await engine.sessions.purge(sessions, actor=context.actor)).sessions
    files = await erase_files(context, engine)
    told = "The transcript still has the text: synthorg-tui sessions delete"
    lines = [Note(f"{told} {session}") for session in sessions] if args.transcript is None else []
    forgot = f"Forgot {counted(len(forgotten), 'session', 'sessions')}."
    done = f"Purged {counted(erased.memories, 'memory', 'memories')}."
    return Answer(
        {
            "purged": erased.memories,
            "removed": list(erased.removed),
            "left": pairs(erased.left, "path", "reason"),
            "forgotten": list(forgotten),
            **files.as_json(),
        },
        [erased_view(done, erased, files), forgot if forgotten else lines],
    )


GROUP: Final = Command(
    "memories",
    about="Work on memories. An ID may be shortened to its first characters.",
    examples=(
        "memories list --agent claude-code",
        "memories show 3f2a",
        "memories edit 3f2a --tags git,push",
        "memories delete 3f2a && synthorg-tui memories restore 3f2a",
    ),
    commands=(
        list_memories,
        show_memory,
        show_history,
        add_memory,
        edit_memory,
        delete,
        restore,
        purge,
        *changes.DECLARED,
    ),
)


async def _tell_purge(
    context: Context,
    engine: AnyEngine,
    review: "ErasureReview",
    ids: list[str],
    sessions: list[str],
) -> None:
    """Say what else a purge erases, and what is left of the text elsewhere."""
    context.console.note(*review.told)
    if sessions and context.args.transcript is None:
        context.console.note(
            "--transcript redact blanks these lines, --transcript forget forgets the session"
        )
    elif sessions and context.args.transcript == FORGET:
        context.console.note(*(await engine.sessions.review(sessions)).told)
    await tell_copies(context, engine, memory_ids=ids)


def _name(context: Context, entries: "Sequence[ListedMemory]") -> None:
    if context.args.yes:
        return
    for entry in entries[:MAX_NAMED]:
        context.console.note(f"{entry.id[:SHORT_ID]}  {' '.join(entry.content.split())[:70]}")
    if len(entries) > MAX_NAMED:
        context.console.note(f"and {len(entries) - MAX_NAMED} more")
