"""``memories``: adds, changes and removes single memories.

The subcommands that only read are in ``memories_reading``.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import (
    CATEGORIES,
    Subparsers,
    add_command,
    add_group,
    agent_id,
    coming_moment,
    fraction,
    past_moment,
    path,
    tags,
)
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.commands import memories_as_agent as as_agent
from synthorg_tui.cli.commands.memories_changes import add_changes
from synthorg_tui.cli.commands.memories_reading import (
    MAX_NAMED,
    SHORT_ID,
    add_reading,
    find_one,
    ids_of,
    report_changed,
)
from synthorg_tui.cli.erasing import WORD, add_erasing, erase_files, print_erased, tell_copies
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.errors import MemoryCapabilityError

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.curation.erasure import ErasureReview
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.memory.models import MemoryEdit

REDACT: Final = "redact"
FORGET: Final = "forget"
_SENSITIVITIES: Final = tuple(sensitivity.value for sensitivity in Sensitivity)


_EDITABLE = (
    *("content", "category", "tags", "confidence", "sensitivity", "fact_key"),
    *("valid_from", "valid_to"),
)


def add(commands: Subparsers) -> None:
    """Add the parser of ``memories`` to ``commands``."""
    actions = add_group(
        commands,
        "memories",
        COMMANDS["memories"].summary,
        "Work on memories. An ID may be shortened to its first characters.",
        examples=(
            "memories list --agent claude-code",
            "memories show 3f2a",
            "memories edit 3f2a --tags git,push",
            "memories delete 3f2a && synthorg-tui memories restore 3f2a",
        ),
    )
    add_reading(actions)
    _add_adding(actions)
    _add_editing(actions)
    _add_removing(actions)
    add_changes(actions)


def _add_adding(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "add",
        run_add,
        "add a memory",
        examples=(
            'memories add --agent claude-code --tags git "Push with -u the first time."',
            "memories add --agent claude-code - < note.txt",
        ),
    )
    parser.add_argument("content", metavar="TEXT", help="the text, or - to read it from stdin")
    parser.add_argument(
        "--agent", required=True, type=agent_id, metavar="ID", help="whose memory it is"
    )
    parser.add_argument(
        "--project", type=path, metavar="DIR", help="only for this project (default: for all)"
    )
    parser.add_argument(
        "--category",
        choices=CATEGORIES,
        default="semantic",
        metavar="NAME",
        help=f"{', '.join(CATEGORIES)} (default semantic)",
    )
    parser.add_argument(
        "--tags", metavar="A,B", type=tags, default=(), help="separated by commas or blanks"
    )
    parser.add_argument(
        "--fact-key", metavar="KEY", help="what it is the fact of: SUBJECT[@PROJECT][?CONDITION]"
    )
    _add_validity(parser)


def _add_editing(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "edit",
        run_edit,
        "change a memory",
        more="Without options the text opens in $EDITOR.",
        examples=("memories edit 3f2a", "memories edit 3f2a --category procedural --tags git,push"),
    )
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--content", metavar="TEXT", help="new text, or - to read it from stdin")
    parser.add_argument(
        "--category", choices=CATEGORIES, metavar="NAME", help=f"one of {', '.join(CATEGORIES)}"
    )
    parser.add_argument("--tags", metavar="A,B", type=tags, help="new tags, by commas or blanks")
    parser.add_argument("--confidence", metavar="X", type=fraction, help="new confidence, 0 to 1")
    parser.add_argument(
        "--sensitivity",
        choices=_SENSITIVITIES,
        metavar="LEVEL",
        help=f"one of {', '.join(_SENSITIVITIES)}",
    )
    parser.add_argument(
        "--fact-key", metavar="KEY", help="what the memory is the fact of; '' makes it a note"
    )
    _add_validity(parser)


def _add_validity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--valid-from", type=past_moment, metavar="WHEN", help="for facts: true since then"
    )
    parser.add_argument(
        "--valid-to", type=coming_moment, metavar="WHEN", help="for facts: true until then"
    )


def _add_removing(actions: Subparsers) -> None:
    for name, run, summary, more in (
        ("delete", run_delete, "delete memories", "They can be restored until they are purged."),
        ("restore", run_restore, "bring deleted and archived memories back", ""),
        (
            "purge",
            run_purge,
            "erase memories for good",
            "They can't be restored, nor imported again.",
        ),
    ):
        parser = add_command(actions, name, run, summary, more=more)
        parser.add_argument("ids", nargs="+", metavar="ID")
        if name == "delete":
            parser.add_argument("--yes", action="store_true", help="don't ask")
        if name == "purge":
            add_erasing(parser)
            parser.add_argument(
                "--transcript",
                choices=(REDACT, FORGET),
                help="redact the stored lines it was drawn from, or forget their session",
            )


async def run_add(context: "Context") -> int:
    """Store a memory as one of an agent's.

    Run by an agent, this and the other changes are the agent's, on its own memory.
    """
    from synthorg_tui.memory.extensions import BatchStore, add_by_hand
    from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
    from synthorg_tui.memory.retrieval.tags import tags_with

    args = context.args
    content = _content(args.content)
    request = MemoryStoreRequest(
        category=MemoryCategory(args.category),
        content=content,
        metadata=MemoryMetadata(tags=tags_with(args.tags, fact_key=args.fact_key)),
    )
    project = str(args.project.resolve()) if args.project else None
    valid = (args.valid_from, args.valid_to)
    if (agent := context.agent) is not None:
        as_agent.refuse_times(agent, valid)
        return await as_agent.add(context, agent, request, project)
    async with context.engine() as engine:
        if not isinstance(engine.memory, BatchStore):
            raise MemoryCapabilityError(f"the {engine.memory.backend_name} backend keeps no notes")
        added = await add_by_hand(
            engine.memory, args.agent, request, project=project, valid=valid, actor=context.actor
        )
        (stored,) = await engine.desk.entries([added])
    as_agent.tell_redacted(context, content, stored.content)
    return context.print_result({"id": added}, f"Added {added}")


async def run_edit(context: "Context") -> int:
    """Change a memory by the given options or, without any, in ``$EDITOR``."""
    import asyncio

    args = context.args
    content = _content(args.content) if args.content is not None else None
    agent = context.agent
    if agent is not None:
        as_agent.refuse_times(agent, (args.valid_from, args.valid_to))
    hands = context.acting_as(agent) if agent else nullcontext()
    async with hands as acting, context.engine() as engine:
        entry = await find_one(engine.desk, args.id)
        if all(getattr(args, field) is None for field in _EDITABLE):
            content = await asyncio.to_thread(_edit_in_editor, entry.content)
        change = _change(args, content)
        if acting is None:
            edited = await engine.desk.edit(entry.id, change, actor=context.actor)
        else:
            await acting.edit_memory(entry.id, change)
            (edited,) = await engine.desk.entries([entry.id])
        source = await shapes.SourceResolver(engine.executions).resolve(edited.source)
    as_agent.tell_redacted(context, content, edited.content)
    return context.print_result(shapes.memory(edited, source), f"Changed {edited.id}")


def _change(args: argparse.Namespace, content: str | None) -> "MemoryEdit":
    from synthorg_tui.memory.extensions import MemoryEdit

    return MemoryEdit(
        content=content,
        category=MemoryCategory(args.category) if args.category else None,
        tags=args.tags,
        confidence=args.confidence,
        sensitivity=Sensitivity(args.sensitivity) if args.sensitivity else None,
        fact_key=args.fact_key,
        valid_from=args.valid_from,
        valid_to=args.valid_to,
    )


async def run_delete(context: "Context") -> int:
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
    undo = "" if final else "Undo with: synthorg-tui memories restore ID"
    return report_changed(context, "deleted", count, undo)


async def run_restore(context: "Context") -> int:
    """Restore deleted memories."""
    if (agent := context.agent) is not None:
        return await as_agent.restore(context, agent)
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, deleted=True) for start in context.args.ids]
        count = await engine.desk.restore(ids_of(entries), actor=context.actor)
    return report_changed(context, "restored", count)


async def run_purge(context: "Context") -> int:
    """Erase memories for ever, and all that derives from them, after a typed confirmation."""
    args = context.args
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, deleted=True) for start in args.ids]
        ids = ids_of(entries)
        review = await engine.erasure.review(ids)
        sessions = list(dict.fromkeys(lines.partition("#")[0] for lines in review.lines))
        _name(context, entries)
        if not args.yes:
            await _tell_purge(context, engine, review, ids, sessions)
        count = counted(len(entries), "memory", "memories")
        context.confirm(f"Erase {count} for good?", word=WORD)
        erased = await engine.erasure.purge(
            ids, actor=context.actor, lines=args.transcript == REDACT
        )
        forgotten: tuple[str, ...] = ()
        if args.transcript == FORGET and sessions:
            forgotten = (await engine.sessions.purge(sessions, actor=context.actor)).sessions
        files = await erase_files(context, engine)
    if context.wants_json:
        left = [{"path": path, "reason": why} for path, why in erased.left]
        result = {"purged": erased.memories, "removed": list(erased.removed), "left": left}
        context.console.json(result | {"forgotten": list(forgotten)} | files.as_json())
        return 0
    print_erased(
        context, f"Purged {counted(erased.memories, 'memory', 'memories')}.", erased, files
    )
    if forgotten:
        context.console.line(f"Forgot {counted(len(forgotten), 'session', 'sessions')}.")
    elif args.transcript is None:
        for session in sessions:
            context.console.note(
                f"The transcript still has the text: synthorg-tui sessions delete {session}"
            )
    return 0


async def _tell_purge(
    context: "Context",
    engine: "AnyEngine",
    review: "ErasureReview",
    ids: list[str],
    sessions: list[str],
) -> None:
    """Say what else a purge erases, and what is left of the text elsewhere."""
    for consequence in review.told:
        context.console.note(consequence)
    if sessions and context.args.transcript is None:
        context.console.note(
            "--transcript redact blanks these lines, --transcript forget forgets the session"
        )
    elif sessions and context.args.transcript == FORGET:
        for consequence in (await engine.sessions.review(sessions)).told:
            context.console.note(consequence)
    await tell_copies(context, engine, memory_ids=ids)


def _name(context: "Context", entries: "Sequence[ListedMemory]") -> None:
    if context.args.yes:
        return
    for entry in entries[:MAX_NAMED]:
        context.console.note(f"{entry.id[:SHORT_ID]}  {' '.join(entry.content.split())[:70]}")
    if len(entries) > MAX_NAMED:
        context.console.note(f"and {len(entries) - MAX_NAMED} more")


def _content(given: str) -> str:
    content = sys.stdin.read() if given == "-" else given
    if not content.strip():
        raise UsageError("the text is empty")
    return content.strip("\n")


def _edit_in_editor(content: str) -> str | None:
    """The text as the person left it; ``None`` when it is unchanged."""
    import tempfile
    from pathlib import Path

    from synthorg_tui.core.editor import run_editor

    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        path = Path(folder, "memory.md")
        path.write_text(content, encoding="utf-8")
        run_editor(path)
        edited = path.read_text(encoding="utf-8")
    return None if edited.rstrip("\n") == content.rstrip("\n") else _content(edited)
