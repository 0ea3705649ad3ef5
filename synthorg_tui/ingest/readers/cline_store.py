"""The task folders of Cline and Roo: what is said of the task, then one line a message.

Each writes the whole conversation anew as one JSON document; what the task is about stands in
another file, beside it or in the list of all tasks.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from synthorg_tui.ingest.databases import row_line
from synthorg_tui.ingest.records import mapping
from synthorg_tui.ingest.sources import MAX_DOCUMENT, ReadMeter, document_items

ENVELOPE: Final = "cline"
"""The key of each record that says what it is: ``task`` or ``message``."""
CONVERSATION: Final = "api_conversation_history.json"
MESSAGES: Final = ".messages.json"


def task_lines(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield the conversation of one task; a ``LineSource``."""
    items = document_items(path, meter)
    if path.name.endswith(MESSAGES):
        identity, told = path.name.removesuffix(MESSAGES), {**_session(path), "agent": "cline"}
        told["lead"] = _object(next(items, b"{}").decode()).get("agent")
    else:
        identity, told = path.parent.name, _task(path)
    yield row_line(ENVELOPE, "task", identity, json.dumps(told).encode())
    for number, item in enumerate(items, 1):
        yield row_line(ENVELOPE, "message", number, item.strip())


def _session(path: Path) -> dict[str, object]:
    """What the file beside the messages says of a session."""
    told = _object(_text(path.with_name(path.name.removesuffix(MESSAGES) + ".json")))
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
    told = _object(_text(beside)) or _in_history(path)
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
    text = _text(path.parent.parent.parent / "state" / "taskHistory.json")
    try:
        tasks = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return {}
    items = tasks if isinstance(tasks, list) else []
    known = (item for item in items if isinstance(item, dict))
    return next((item for item in known if item.get("id") == path.parent.name), {})


def _text(path: Path) -> str:
    """A file's text; empty when it isn't there, is a link, or is larger than a document may be."""
    try:
        if path.is_symlink() or path.stat().st_size > MAX_DOCUMENT:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
