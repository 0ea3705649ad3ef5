"""``memories``: reading, writing and removing single memories."""

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.cli import shapes
from synthorg_tui.cli.console import local_time, plural
from synthorg_tui.cli.context import ACTOR, Context, UsageError
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.paths import short_path
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.memory.enums import Sensitivity, SourceKind
from synthorg_tui.memory.errors import MemoryCapabilityError, MemoryNotFoundError, MemoryStoreError
from synthorg_tui.memory.extensions import (
    BatchStore,
    BrowseFilter,
    ListedMemory,
    MemoryAdmin,
    MemoryDraft,
    MemoryEdit,
)
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.retrieval.tags import parse_tags
from synthorg_tui.memory.shared import SHARED_OWNER

if TYPE_CHECKING:
    from synthorg_tui.executions.store import Excerpt

_NAMED_AT_MOST = 10
_SHORT_ID = 8


async def run_list(context: Context) -> int:
    """Print a window on the memories that match."""
    args = context.args
    what = BrowseFilter(
        agents=tuple(args.agent),
        categories=tuple(MemoryCategory(name) for name in args.category),
        tags=tuple(args.tag),
        since=args.since,
        until=args.until,
        words=tuple(args.word),
        without=tuple(args.without),
        deleted=args.deleted,
    )
    async with context.engine() as engine:
        page = await engine.desk.browse(what, sort=args.sort, offset=args.offset, limit=args.limit)
        resolver = shapes.SourceResolver(engine.executions)
        if context.wants_json:
            listed = [
                shapes.memory(entry, await resolver.resolve(entry.source)) for entry in page.entries
            ]
            context.console.json({"total": page.total, "offset": page.offset, "memories": listed})
            return 0
        is_empty = not page.total and not (await engine.desk.facets()).agents
    if not page.entries:
        told = "Nothing that far down." if page.total else "No memory matches."
        context.console.line(
            "No memories yet; they come with `synthorg-tui import`." if is_empty else told
        )
        return 0
    rows = [
        (e.id[:_SHORT_ID], local_time(e.created_at), e.agent_id, e.category.value, e.content)
        for e in page.entries
    ]
    context.console.table(("ID", "CREATED", "AGENT", "CATEGORY", "CONTENT"), rows)
    context.console.line(f"{len(rows):,} of {plural(page.total, 'memory', 'memories')}", "dim")
    return 0


async def run_show(context: Context) -> int:
    """Print one memory, its metadata and the transcript lines it comes from."""
    async with context.engine() as engine:
        entry = await find_one(engine.desk, context.args.id, deleted=True)
        source = await shapes.SourceResolver(engine.executions).resolve(entry.source)
        ref = SourceRef.parse(entry.source or "")
        excerpt = (
            await engine.executions.excerpt(ref, context=context.args.context) if ref else None
        )
    if context.wants_json:
        lines = (
            [{"line": number, "text": text} for number, text in excerpt.lines] if excerpt else []
        )
        context.console.json({**shapes.memory(entry, source), "excerpt": lines})
    else:
        _show_entry(context, entry, shapes.place(source), excerpt)
    return 0


def _show_entry(
    context: Context, entry: ListedMemory, place: str, excerpt: "Excerpt | None"
) -> None:
    console = context.console
    traits = parse_tags(entry.tags)
    console.block(entry.content)
    console.line()
    for label, value in (
        ("id", entry.id),
        ("agent", entry.agent_id),
        ("category", entry.category.value),
        ("namespace", entry.namespace),
        ("fact key", traits.fact_key or ""),
        ("sensitivity", traits.sensitivity.value),
        ("tags", ", ".join(entry.tags)),
        ("confidence", f"{entry.confidence:g}"),
        ("created", local_time(entry.created_at)),
        ("updated", local_time(entry.updated_at)),
        ("expires", local_time(entry.expires_at)),
        ("source", place),
    ):
        if value:
            console.parts([(f"{label:<11}", "dim"), (value,)])
    if excerpt:
        console.line()
        for number, text in excerpt.lines:
            inside = excerpt.ref.first_line <= number <= excerpt.ref.last_line
            console.parts([(f"{number:>6}", "cyan" if inside else "dim"), (text[:2000],)])


async def run_history(context: Context) -> int:
    """Print every change to a memory, newest first."""
    async with context.engine() as engine:
        memory_id = await _any_id(engine.desk, context.args.id)
        changes = await engine.desk.history(memory_id)
    if not changes:
        raise _not_found(context.args.id)
    if context.wants_json:
        history = [shapes.revision(change) for change in changes]
        context.console.json({"id": memory_id, "history": history})
        return 0
    for change in changes:
        context.console.parts(
            [(local_time(change.at), "dim"), (change.kind.value, "bold"), (f"by {change.actor}",)]
        )
        for field in dict.fromkeys((*change.before, *change.after)):
            before, after = change.before.get(field), change.after.get(field)
            context.console.block(f"{field}: {_shown(before)} -> {_shown(after)}", indent=4)
    return 0


async def run_add(context: Context) -> int:
    """Store a memory in an agent's name."""
    args = context.args
    content = _content(args.content)
    if args.agent.strip() in ("", SHARED_OWNER):
        raise UsageError(f"no agent may be called {args.agent!r}")
    request = MemoryStoreRequest(
        category=MemoryCategory(args.category),
        content=content,
        metadata=MemoryMetadata(tags=args.tags),
    )
    project = str(args.project.resolve()) if args.project else None
    level = MemoryLevel.PROJECT if project else MemoryLevel.PERSISTENT
    draft = MemoryDraft(
        request=request, level=level, project=project, source_kind=SourceKind.OPERATOR
    )
    async with context.engine() as engine:
        if not isinstance(engine.memory, BatchStore):
            raise MemoryCapabilityError(f"the {engine.memory.backend_name} backend keeps no notes")
        outcome = await engine.memory.store_many(args.agent, [draft], actor=ACTOR)
    if not outcome.added:
        raise MemoryStoreError("the memory was not stored: " + outcome.skipped[0][1])
    if context.wants_json:
        context.console.json({"id": outcome.added[0]})
    else:
        context.console.line(f"Added {outcome.added[0]}")
    return 0


async def run_edit(context: Context) -> int:
    """Change a memory, with $EDITOR when no option says how."""
    args = context.args
    given = (
        args.content,
        args.category,
        args.tags,
        args.confidence,
        args.sensitivity,
        args.fact_key,
    )
    content = _content(args.content) if args.content is not None else None
    async with context.engine() as engine:
        entry = await find_one(engine.desk, args.id)
        if all(value is None for value in given):
            content = await asyncio.to_thread(_edit_in_editor, entry.content)
        change = MemoryEdit(
            content=content,
            category=MemoryCategory(args.category) if args.category else None,
            tags=args.tags,
            confidence=args.confidence,
            sensitivity=Sensitivity(args.sensitivity) if args.sensitivity else None,
            fact_key=args.fact_key,
        )
        edited = await engine.desk.edit(entry.id, change, actor=ACTOR)
        source = await shapes.SourceResolver(engine.executions).resolve(edited.source)
    if context.wants_json:
        context.console.json(shapes.memory(edited, source))
    else:
        context.console.line(f"Changed {edited.id}")
    return 0


async def run_delete(context: Context) -> int:
    """Soft-delete memories after asking."""
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start) for start in context.args.ids]
        _name(context, entries)
        context.confirm(f"Delete {plural(len(entries), 'memory', 'memories')}?")
        count = await engine.desk.remove(_ids(entries), actor=ACTOR)
    return _told(context, "deleted", count, "Undo with: synthorg-tui memories restore ID")


async def run_restore(context: Context) -> int:
    """Bring soft-deleted memories back."""
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, deleted=True) for start in context.args.ids]
        count = await engine.desk.restore(_ids(entries), actor=ACTOR)
    return _told(context, "restored", count)


async def run_purge(context: Context) -> int:
    """Erase memories for good, with what was made of them, after a typed confirmation."""
    async with context.engine() as engine:
        entries = [await find_one(engine.desk, start, deleted=True) for start in context.args.ids]
        _name(context, entries)
        if not context.args.yes:
            for line in (await engine.erasure.review(_ids(entries))).told:
                context.console.note(line)
        count = plural(len(entries), "memory", "memories")
        context.confirm(f"Erase {count} for good?", word="purge")
        erased = await engine.erasure.purge(_ids(entries), actor=ACTOR)
    if context.wants_json:
        left = [{"path": path, "reason": why} for path, why in erased.left]
        removed = list(erased.removed)
        context.console.json({"purged": erased.memories, "removed": removed, "left": left})
        return 0
    context.console.line(f"Purged {plural(erased.memories, 'memory', 'memories')}.")
    for path in erased.removed:
        context.console.line(f"Removed {short_path(path)}")
    for path, why in erased.left:
        context.console.warning(f"{short_path(path)} stays: {why}")
    return 0


async def find_one(desk: MemoryAdmin, id_start: str, *, deleted: bool = False) -> ListedMemory:
    """The one memory whose id starts so.

    Raises ``MemoryNotFoundError``, and ``UsageError`` when there are several.
    """
    found = await desk.lookup(id_start.lower(), deleted=deleted, limit=_NAMED_AT_MOST)
    if not found:
        raise _not_found(id_start)
    if len(found) > 1:
        names = ", ".join(entry.id for entry in found)
        raise UsageError(f"several ids start with {id_start!r}: {names}")
    return found[0]


async def _any_id(desk: MemoryAdmin, id_start: str) -> str:
    """The full id; one that is looked up in vain may belong to a purged memory."""
    try:
        return (await find_one(desk, id_start, deleted=True)).id
    except MemoryNotFoundError:
        return id_start


def _not_found(id_start: str) -> MemoryNotFoundError:
    remedy = "See `synthorg-tui memories list`, also with --deleted."
    return MemoryNotFoundError(f"no memory has an id that starts with {id_start!r}", remedy=remedy)


def _ids(entries: Sequence[ListedMemory]) -> list[str]:
    return list(dict.fromkeys(entry.id for entry in entries))


def _name(context: Context, entries: Sequence[ListedMemory]) -> None:
    if context.args.yes:
        return
    for entry in entries[:_NAMED_AT_MOST]:
        context.console.note(f"{entry.id[:_SHORT_ID]}  {' '.join(entry.content.split())[:70]}")
    if len(entries) > _NAMED_AT_MOST:
        context.console.note(f"and {len(entries) - _NAMED_AT_MOST} more")


def _told(context: Context, what: str, count: int, hint: str = "") -> int:
    if context.wants_json:
        context.console.json({what: count})
    else:
        context.console.line(f"{what.capitalize()} {plural(count, 'memory', 'memories')}.")
        if hint and count:
            context.console.note(hint)
    return 0


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)


def _content(given: str) -> str:
    content = sys.stdin.read() if given == "-" else given
    if not content.strip():
        raise UsageError("the text is empty")
    return content.strip("\n")


def _edit_in_editor(content: str) -> str | None:
    """The text as the person left it; ``None`` when it is unchanged."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    descriptor, name = tempfile.mkstemp(suffix=".md", prefix="memory-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        try:
            code = subprocess.run([*command, name], check=False).returncode
        except OSError as error:
            remedy = "Set EDITOR, or use --content."
            raise UsageError(f"{command[0]}: {error.strerror}", remedy=remedy) from error
        if code:
            raise UsageError(f"{command[0]} ended with {code}; nothing was changed")
        edited = path.read_text(encoding="utf-8")
    finally:
        path.unlink(missing_ok=True)
    return None if edited.rstrip("\n") == content.rstrip("\n") else _content(edited)
