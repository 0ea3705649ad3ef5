"""The task folders of Cline and Roo: what is said of the task, then one line a message.

Each writes the whole conversation anew as one JSON document; what the task is about stands in
another file, beside it or in the list of all tasks.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from synthorg_tui.ingest.databases import row_line
from synthorg_tui.ingest.readers.base import items, json_object
from synthorg_tui.ingest.records import mapping
from synthorg_tui.ingest.sources import MAX_DOCUMENT, ReadMeter, document_items, small_text

ENVELOPE: Final = "cline"
"""The key of each record that says what it is: ``task`` or ``message``."""
CONVERSATION: Final = "api_conversation_history.json"
MESSAGES: Final = ".messages.json"


_text = partial(small_text, limit=MAX_DOCUMENT)


def task_lines(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield the conversation of one task; a ``LineSource``."""
    parts = document_items(path, meter)
    if path.name.endswith(MESSAGES):
        identity, told = path.name.removesuffix(MESSAGES), {**_session(path), "agent": "cline"}
        told["lead"] = json_object(next(parts, b"{}")).get("agent")
    else:
        identity, told = path.parent.name, _task(path)
    yield row_line(ENVELOPE, "task", identity, json.dumps(told).encode())
    for number, item in enumerate(parts, 1):
        yield row_line(ENVELOPE, "message", number, item.strip())


def _session(path: Path) -> dict[str, object]:
    """What the file beside the messages says of a session."""
    told = json_object(_text(path.with_name(path.name.removesuffix(MESSAGES) + ".json")))
    return {
        "project": told.get("cwd") or told.get("workspace_root"),
        "model": told.get("model"),
        "at": told.get("created_at"),
        "title": mapping(told.get("metadata")).get("title"),
    }


def _task(path: Path) -> dict[str, object]:
    """What is said of a task, and which of the two agents it was of."""
    beside = path.with_name("history_item.json")
    is_roo = beside.exists() or any("roo" in part.lower() for part in path.parts[-4:-2])
    told = json_object(_text(beside)) or _in_history(path)
    return {
        "agent": "roo" if is_roo else "cline",
        "project": told.get("workspace") or told.get("cwdOnTaskInitialization"),
        "model": told.get("modelId"),
        "at": told.get("ts"),
        "parent": told.get("parentTaskId"),
        "input": told.get("tokensIn"),
        "output": told.get("tokensOut"),
        "cached": told.get("cacheReads"),
    }


def _in_history(path: Path) -> dict[str, object]:
    """The task's item of the list of all tasks."""
    text = _text(path.parent.parent.parent / "state" / "taskHistory.json") or "[]"
    known = items(json_object(f'{{"tasks":{text}}}').get("tasks"))
    return next((item for item in known if item.get("id") == path.parent.name), {})
