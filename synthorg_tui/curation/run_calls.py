"""Tool calls that wait for a person: what one would do, as things are now.

Approving such an item changes nothing but the item: the run that waits acts on the decision. So the
plan is empty, and what is worked out is what a person has to see: the command, the whole arguments,
and for a change of a file its difference from the file as it is. That is part of what an approval
is tied to: when the file changes meanwhile, it has to be read again.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.confined import (
    ConfinedFolder,
    ConfinedPathError,
    as_text,
    with_replacement,
)
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.plan import CurationPlan, Preview, preview_of
from synthorg_tui.curation.review import InboxEntry, RunCallPayload, text_in

WRITES: Final = "write_file"
EDITS: Final = "edit_file"
MAX_SHOWN_BYTES: Final = 2_000_000


def call_mark(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a call, by which it is known again."""
    said = json.dumps([tool, dict(arguments)], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def call_preview(entry: InboxEntry, call: RunCallPayload) -> Preview:
    """Return the preview of allowing a call; reads the file that it would change."""
    if call.tool in (WRITES, EDITS) and isinstance(call.arguments.get("path"), str):
        return _file_preview(entry, call, call.arguments["path"])
    return preview_of(entry, CurationPlan(), text=call_text(call))


def call_text(call: RunCallPayload) -> str:
    """Return what a call would do as text: its command, or its arguments one below the other."""
    others = {name: value for name, value in call.arguments.items() if name != "command"}
    told = "\n".join(f"{name}: {text_in(value)}" for name, value in others.items())
    return "\n\n".join(filter(None, (call.command, told)))


def _file_preview(entry: InboxEntry, call: RunCallPayload, path: str) -> Preview:
    """The change of a file as a difference; a problem when it couldn't be made."""
    where = str(Path(call.workspace) / path)
    try:
        folder = ConfinedFolder(Path(call.workspace))
        content = folder.read_if_there(path, limit=MAX_SHOWN_BYTES)
        before = None if content is None else as_text(content, path)
        # As what it is compared with: arguments have their secrets redacted.
        seen = None if before is None else redact_text(before, RedactionTally())
        after = _after(call, seen)
    except ConfinedPathError as error:
        return preview_of(entry, CurationPlan(), text=call_text(call), problem=f"{error.message}.")
    return preview_of(
        entry,
        CurationPlan(),
        path=where,
        text=after,
        before=seen or "",
        touched=((where, hashlib.sha256(content).hexdigest() if content is not None else ""),),
    )


def _after(call: RunCallPayload, before: str | None) -> str:
    if call.tool == WRITES:
        return text_in(call.arguments.get("content", ""))
    if before is None:
        raise ConfinedPathError("there is no such file")
    old, new = (text_in(call.arguments.get(name, "")) for name in ("old_string", "new_string"))
    return with_replacement(before, old, new, everywhere=bool(call.arguments.get("replace_all")))
