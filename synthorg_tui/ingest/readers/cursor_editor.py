"""The reader of the chats of Cursor's editor, which lie in its ``state.vscdb``.

A chat is a row that names it and one for each message; a message of the agent is a text or a call.
How a call ended is told by its status, and for a shell by the exit code in its result.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.ingest.databases import (
    columns,
    keys,
    listed,
    opened,
    row_line,
    session_lines,
    session_path,
    text_at,
)
from synthorg_tui.ingest.readers.base import (
    SessionState,
    StateReader,
    ended_by,
    items,
    json_object,
    moment,
    session_name,
    text_of,
    whole,
)
from synthorg_tui.ingest.records import Record, mapping
from synthorg_tui.ingest.sources import LineSource, ListedSession, SessionSource
from synthorg_tui.ingest.speech import spoken

AGENT = "cursor"
ENVELOPE: Final = "cursor_editor"
"""The key of each record that says what the row is: ``chat`` or ``message``."""
_TABLE: Final = "cursorDiskKV"
_VALUE: Final = f"SELECT value FROM {_TABLE} WHERE key = ?"
_LISTED: Final = f"""
    SELECT substr(key, 14),
        CASE WHEN json_valid(value) THEN json_extract(value, '$.lastUpdatedAt') END,
        CASE WHEN json_valid(value) THEN json_array_length(value, '$.conversation') END
    FROM {_TABLE} WHERE key > 'composerData:' AND key < 'composerData;' ORDER BY key
"""
_EDITORS: Final = ((".config",), ("Library", "Application Support"))
_PERSON, _AGENT_SPEAKS = 1, 2
_SHELL: Final = ("run_terminal_cmd", "run_terminal_command")
_SILENT_CAPABILITIES: Final = frozenset({15, 22, 30})


def _stored(path: Path) -> Sequence[ListedSession]:
    """The chats of a database that have messages; without the table of chats there are none."""
    with opened(path) as db:
        if not {"key", "value"} <= columns(db, _TABLE):
            if columns(db, "ItemTable"):  # the editor's, of a project without chats
                return []
            raise ValueError("not a database of Cursor")
        chats = db.execute(_LISTED).fetchall()
        sizes = [_size(db, chat) for chat, _, _ in chats]
    return [
        listed(session_path(path, chat), size + (inside or 0), at)
        for (chat, at, inside), size in zip(chats, sizes, strict=True)
        if isinstance(chat, str) and (size or inside)
    ]


def _size(db: sqlite3.Connection, chat: object) -> int:
    """What is another when a message was added or went on."""
    row = db.execute(
        f"SELECT count(*) + coalesce(sum(length(value)), 0) / 1024 FROM {_TABLE} "
        "WHERE key > 'bubbleId:' || ? || ':' AND key < 'bubbleId:' || ? || ';'",
        (chat, chat),
    ).fetchone()
    return int(row[0])


def _rows(db: sqlite3.Connection, chat: str) -> Iterator[bytes]:
    """The chat without its messages, then these in the order that it names."""
    data = text_at(db, _VALUE, f"composerData:{chat}")
    if data is None:
        return
    told = json_object(data)
    inside = items(told.pop("conversation", None))
    headers = items(told.pop("fullConversationHeadersOnly", None))
    about = {name: told.get(name) for name in ("name", "createdAt", "lastUpdatedAt", "status")}
    about["model"] = mapping(told.get("modelConfig")).get("modelName")
    yield row_line(ENVELOPE, "chat", chat, json.dumps(about).encode())
    for bubble in inside:
        yield row_line(ENVELOPE, "message", bubble.get("bubbleId"), json.dumps(bubble).encode())
    prefix = f"bubbleId:{chat}:"
    named = [prefix + text_of(header.get("bubbleId")) for header in headers]
    found = f"SELECT key FROM {_TABLE} WHERE key > ? AND key < ? ORDER BY rowid"
    present = named or keys(db, found, prefix, f"bubbleId:{chat};")
    for key in present:
        data = text_at(db, _VALUE, key)
        if data is not None:
            yield row_line(ENVELOPE, "message", str(key).removeprefix(prefix), data)


@dataclass(slots=True)
class _EditorChat(SessionState):
    """Reading state of one chat."""

    def feed(self, number: int, record: Record) -> None:
        data = mapping(record.get("data"))
        if record.get(ENVELOPE) == "chat":
            self.builder.session_id = session_name(record.get("id"))
            self.builder.model = text_of(data.get("model"))
            self.builder.see(moment(data.get("createdAt")))
            self.builder.see(moment(data.get("lastUpdatedAt")))
        elif record.get(ENVELOPE) == "message":
            self._message(number, text_of(record.get("id")), data)
        else:
            self.unknown.note(record)

    def _message(self, number: int, identity: str, data: Record) -> None:
        at = moment(data.get("createdAt") or mapping(data.get("timingInfo")).get("clientStartTime"))
        self.builder.see(at)
        self.builder.project = self.builder.project or text_of(data.get("workspaceProjectDir"))
        text = text_of(data.get("text")) or text_of(data.get("rawText"))
        if data.get("type") == _PERSON:
            self.ask(number, spoken(text), at, identity)
        elif data.get("type") == _AGENT_SPEAKS:
            self.answer(number, text, at, identity)
            self._call(number, identity, data)
        else:
            self.unknown[f"message.{data.get('type')}"[:20]] += 1

    def _call(self, number: int, identity: str, data: Record) -> None:
        told = mapping(data.get("toolFormerData"))
        tool = text_of(told.get("name")).strip()
        if not tool:
            self.unknown.note(told, bool(told) and told.get("tool") not in _SILENT_CAPABILITIES)
            return
        given = json_object(text_of(told.get("rawArgs")) or text_of(told.get("params")))
        call_id = text_of(told.get("toolCallId")) or identity or f"L{number}"
        made = (call_id, "shell" if tool.startswith(_SHELL) else tool, given)
        call = self.use(number, told, made, moment(data.get("createdAt")))
        result = text_of(told.get("result"))
        outcome, code = _outcome(told, json_object(result))
        if call is not None and outcome is not None:
            output = text_of(json_object(result).get("output"))
            self.builder.end(call, number, output or result, outcome, code)
            self.last_event = "result"


def _outcome(told: Record, result: Record) -> tuple[CallOutcome | None, int | None]:
    """How a call ended; ``None`` while it hasn't."""
    status, code = told.get("status"), whole(result.get("exitCodeV2", result.get("exitCode")))
    if told.get("userDecision") == "rejected" or result.get("rejected") is True:
        return CallOutcome.DENIED_BY_USER, None
    if code is not None:
        return ended_by(code)
    if status == "error":
        return CallOutcome.FAILED, None
    if status == "completed":
        return CallOutcome.OK, None
    return (CallOutcome.UNKNOWN if status == "cancelled" else None), None


class CursorEditorReader(StateReader, state=_EditorChat):
    """Reads the chats in the ``state.vscdb`` of Cursor's editor."""

    name: ClassVar[str] = "cursor_editor"
    verified: ClassVar[str] = "its rows as described in 2026-08; no sample"
    agent: ClassVar[str] = AGENT
    files: ClassVar[Mapping[str, LineSource]] = {
        "state.vscdb": SessionSource(partial(session_lines, rows=_rows), _stored)
    }

    def places(self, home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the editor's databases, of all projects and of each; no variable moves them."""
        users = [home.joinpath(*folder, "Cursor", "User") for folder in _EDITORS]
        return tuple(
            place
            for user in users
            for place in (
                user / "globalStorage" / "state.vscdb",
                *sorted(user.glob("workspaceStorage/*/state.vscdb")),
            )
        )

    def recognises(self, record: Record) -> bool:
        """Tell whether the record is the row of a chat."""
        return record.get(ENVELOPE) in {"chat", "message"}
