"""Changes a person makes to memories, each with its undo, and exports of memories to files.

The Memories screen uses these, but nothing here needs a screen: no Textual.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory, UndoneAct, owner_words
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import memories
from synthorg_tui.tui.base.lines import one_line
from synthorg_tui.tui.engine_adapter import Change, Draft, EngineAdapter

Act: TypeAlias = Callable[[], Awaitable[str]]
"""Changes the store and returns a message for the person about it."""


_MARKDOWN = (".md", ".markdown")
_FORMATS = (".json", *_MARKDOWN)


class PersonChanges:
    """Makes the changes of a person, and keeps an edited text that couldn't be stored.

    What was done is in the store's history, where undo finds it, after a restart too.
    """

    def __init__(self) -> None:
        self._unsaved: dict[str, str] = {}
        self.final = False
        """Whether nothing can be taken back, as ``Facets`` tell."""

    async def step(self, desk: EngineAdapter, *, undoes: bool) -> str:
        """Undo or redo a change and return what was done; empty if there is none."""
        act = await (desk.undo() if undoes else desk.redo())
        return told_act(act, undoes=undoes) if act is not None else ""

    async def add(self, desk: EngineAdapter, draft: Draft, added: Callable[[str], None]) -> str:
        """Store a new memory, tell ``added`` its id, and return a message about it."""
        from synthorg_tui.core.redaction import RedactionTally, redact_text

        added(await desk.add(draft))
        stored = redact_text(draft.content, RedactionTally())  # as the store does
        return _told(f"Added{self._undo('takes it back')}", draft.content, stored)

    async def edit(self, desk: EngineAdapter, row: ListedMemory, change: Change) -> str:
        """Change a memory and return a message; an empty string if nothing was to change."""
        if change == Change():
            return ""
        after = await desk.edit(row.id, change)
        return _told(
            f"Saved · {key_of('memories.undo')} takes it back", change.content or "", after.content
        )

    def text_of(self, row: ListedMemory) -> str:
        """Return the content to edit: the stored one, or the edited one if storing it failed."""
        return self._unsaved.get(row.id, row.content)

    def forget_text(self, row: ListedMemory) -> None:
        """Discard an edited content that couldn't be stored."""
        self._unsaved.pop(row.id, None)

    async def edit_content(self, desk: EngineAdapter, row: ListedMemory, text: str) -> str:
        """Change a memory's content and return a message.

        If storing fails, the text is remembered for ``text_of``.
        """
        self._unsaved[row.id] = text
        content = text if text != row.content else None
        message = await self.edit(desk, row, Change(content=content))
        self.forget_text(row)
        return message

    async def delete(self, desk: EngineAdapter, memory_ids: Sequence[str]) -> str:
        """Soft-delete memories and return a message about it."""
        count = await desk.remove(memory_ids)
        return f"Deleted {memories(count)}{self._undo('brings back') or ' for good'}"

    async def archive(self, desk: EngineAdapter, memory_ids: Sequence[str]) -> str:
        """Archive memories and return a message about it, which says where they are."""
        count = await desk.archive(memory_ids)
        undo = f"{key_of('memories.undo')} brings back"
        return f"Archived {memories(count)} · {undo} · is:archived in the filter lists them"

    async def restore(self, desk: EngineAdapter, memory_ids: Sequence[str]) -> str:
        """Make archived memories live again and return a message about it."""
        count = await desk.restore(memory_ids)
        return f"Restored {memories(count)} · {key_of('memories.undo')} archives again"

    async def publish(self, desk: EngineAdapter, memory_ids: Sequence[str]) -> str:
        """Publish memories to all agents and return a message about it."""
        count = await desk.publish(memory_ids)
        if not count:
            return "All agents have it already: is:shared in the filter lists what is published"
        undo = self._undo("takes it back")
        return f"Published {memories(count)} to all agents{undo} · is:shared lists them"

    async def retract(self, desk: EngineAdapter, memory_ids: Sequence[str]) -> str:
        """Withdraw published memories and return a message about it."""
        count = await desk.retract(memory_ids)
        return f"Withdrew {memories(count)}{self._undo('publishes again')}"

    def _undo(self, does: str) -> str:
        return "" if self.final else f" · {key_of('memories.undo')} {does}"


_DONE = {
    "added": "adding",
    "edited": "editing",
    "deleted": "deleting",
    "archived": "archiving",
    "restored": "restoring",
}
_TITLE = 40


def told_act(act: UndoneAct, *, undoes: bool) -> str:
    """Return what was undone or redone, in words."""
    count = len(act.memory_ids)
    title = one_line(act.title[: 4 * _TITLE])
    what = memories(count) if count > 1 else f'"{title[:_TITLE]}"'
    name, again = ("Undone", "ctrl+r does it again") if undoes else ("Done again", "u undoes it")
    return f"{name}: {_DONE[act.kind.value]} {what} · {again}"


def _told(done: str, given: str, stored: str) -> str:
    """The message, with how many secrets were replaced in what was given."""
    from synthorg_tui.core.redaction import replaced_in

    return " · ".join(filter(None, (done, replaced_in(given, stored) if given else "")))


def write_file(name: str, rows: Sequence[ListedMemory]) -> str:
    """Write memories to a new file and return a message; the suffix decides on the format."""
    path = Path(name.strip()).expanduser()
    if path.suffix.lower() not in _FORMATS:
        ending = f"{path.suffix} can't be written" if path.suffix else "The name has no ending"
        raise DomainError(f"{ending}.", remedy="End the name with .json or .md.")
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(render(rows, path.name))
    except FileExistsError as error:
        raise DomainError(f"{path} exists.", remedy="Choose another name.") from error
    except OSError as error:
        raise DomainError(f"{path} can't be written: {error.strerror}.") from error
    return f"Wrote {memories(len(rows))} to {path}"


def as_json(rows: Sequence[ListedMemory]) -> str:
    """Return the memories as a JSON array; times are in ISO 8601."""
    return json.dumps([_record(row) for row in rows], ensure_ascii=False, indent=2) + "\n"


def as_markdown(rows: Sequence[ListedMemory]) -> str:
    """Return the memories as Markdown, a section each.

    Contents are in code fences longer than any fence they contain.
    """
    return "# Memories\n\n" + "\n".join(_section(row) for row in rows)


def render(rows: Sequence[ListedMemory], file_name: str) -> str:
    """Return the memories in the format for the file name: Markdown for ``.md``, otherwise JSON."""
    return as_markdown(rows) if Path(file_name).suffix.lower() in _MARKDOWN else as_json(rows)


def default_name(now: datetime) -> str:
    """Return a name for an export file, from the time ``now``."""
    return f"memories-{now.strftime('%Y%m%d-%H%M%S')}.json"


def _record(row: ListedMemory) -> dict[str, object]:
    return {
        "id": row.id,
        "agent_id": row.agent_id,
        "category": row.category.value,
        "content": row.content,
        "tags": list(row.tags),
        "source": row.source,
        "confidence": row.confidence,
        "namespace": row.namespace,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat() if row.updated_at else None,
        "expires_at": row.expires_at.isoformat() if row.expires_at else None,
    }


def _section(row: ListedMemory) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", row.content)), default=2)
    fence = "`" * (longest + 1)
    facts = [
        f"- agent: {_flat(owner_words(row.agent_id))}",
        f"- created: {row.created_at.isoformat()}",
    ]
    if row.tags:
        facts.append(f"- tags: {', '.join(map(_flat, row.tags))}")
    if row.source:
        facts.append(f"- source: {_flat(row.source)}")
    body = f"{fence}text\n{row.content}\n{fence}"
    return f"## {row.category.value} {row.id}\n\n" + "\n".join(facts) + f"\n\n{body}\n"


def _flat(text: str) -> str:
    return " ".join(text.split())
