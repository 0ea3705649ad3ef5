"""Writes small stores of agents that keep sessions in databases or folders, for tests."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.ingest.discovery import Refusal, TranscriptFile, collect
from synthorg_tui.ingest.reading import FileReading, read_file

START_MS = 1_748_768_400_000


def samples(*parts: str) -> Path:
    """A folder of the shared transcripts; the test is skipped where there are none."""
    shared = os.environ.get("SYNTHORG_SHARED")
    folder = Path(shared or "/", "data", "agents", *parts)
    if not shared or not folder.exists():
        pytest.skip("needs the shared transcripts: set SYNTHORG_SHARED")
    return folder


def found(*roots: Path) -> list[TranscriptFile]:
    return collect(roots)[0]


def refused(*roots: Path) -> list[Refusal]:
    return collect(roots)[1]


def only(root: Path) -> FileReading:
    (file,) = found(root)
    return read_file(file)


def names(folder: Path) -> list[str]:
    """The names of what is in a folder now."""
    return sorted(path.name for path in folder.iterdir())


class OpenCodeDatabase:
    """Builds OpenCode's database, a session with its messages and their parts."""

    def __init__(self, path: Path, *, wal: bool = False) -> None:
        self.path, self.count, self.session, self.message = path, 0, "", ""
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as db:
            if wal:
                db.execute("PRAGMA journal_mode = WAL")
            db.executescript(
                "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT,"
                " title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);"
                "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,"
                " data TEXT);"
                "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT);"
            )

    def _put(self, table: str, *values: object) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)

    def _next(self, kind: str) -> str:
        self.count += 1
        return f"{kind}_{self.count:06}"

    def begin(self, session: str = "ses_1", parent: str | None = None) -> "OpenCodeDatabase":
        self.session = session
        self._put("session", session, parent, "/srv/tidepool", "T", "1.3", START_MS, START_MS)
        return self

    def said(self, role: str, **fields: Any) -> "OpenCodeDatabase":
        self.message = self._next("msg")
        at = START_MS + self.count * 1000
        data = {"role": role, "time": {"created": at}, **fields}
        self._put("message", self.message, self.session, at, json.dumps(data))
        return self

    def raw(self, data: str) -> "OpenCodeDatabase":
        self._put("part", self._next("prt"), self.message, data)
        return self

    def part(self, kind: str, **fields: Any) -> "OpenCodeDatabase":
        return self.raw(json.dumps({"type": kind, **fields}))

    def user(self, text: str) -> "OpenCodeDatabase":
        return self.said("user").part("text", text=text)

    def assistant(self, text: str, **fields: Any) -> "OpenCodeDatabase":
        return self.said("assistant", modelID="model-x", **fields).part("text", text=text)

    def tool(self, tool: str, given: dict[str, Any], **state: Any) -> "OpenCodeDatabase":
        call = f"call_{self.count + 1}"
        return self.part("tool", callID=call, tool=tool, state={"input": given, **state})

    def bash(self, command: str, output: str, code: int | None) -> "OpenCodeDatabase":
        state = {"status": "completed", "output": output, "metadata": {"exit": code}}
        return self.tool("bash", {"command": command}, **state)


class GooseDatabase:
    """Builds the database of Goose, a session with its messages."""

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.session = path, 0, ""
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as db:
            db.executescript(
                "CREATE TABLE sessions (id TEXT PRIMARY KEY, session_type TEXT, working_dir TEXT,"
                " model_config_json TEXT, accumulated_input_tokens INTEGER,"
                " accumulated_output_tokens INTEGER);"
                "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT,"
                " role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);"
            )

    def _run(self, sql: str, *values: object) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(sql, values)

    def begin(self, session: str = "20250601_1", kind: str = "user") -> "GooseDatabase":
        self.session = session
        config = json.dumps({"model_name": "model-x"})
        row = (session, kind, "/srv/tidepool", config, 120, 16)
        self._run("INSERT INTO sessions VALUES (?,?,?,?,?,?)", *row)
        return self

    def raw(self, role: str, content: str, metadata: str = "{}") -> "GooseDatabase":
        self.count += 1
        at = START_MS // 1000 + self.count
        row = (None, f"m{self.count}", self.session, role, content, at, metadata)
        self._run("INSERT INTO messages VALUES (?,?,?,?,?,?,?)", *row)
        return self

    def say(self, role: str, text: str, metadata: str = "{}") -> "GooseDatabase":
        return self.raw(role, json.dumps([{"type": "text", "text": text}]), metadata)

    def call(self, tool: str, result: dict[str, Any], **arguments: Any) -> "GooseDatabase":
        self.raw("assistant", json.dumps([request(f"c{self.count}", tool, arguments)]))
        return self.raw("user", json.dumps([response(f"c{self.count - 1}", result)]))


def request(call: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    value = {"name": tool, "arguments": arguments}
    return {"type": "toolRequest", "id": call, "toolCall": {"status": "success", "value": value}}


def response(call: str, result: dict[str, Any]) -> dict[str, Any]:
    return {"type": "toolResponse", "id": call, "toolResult": result}


def worked(text: str, *, error: bool = False) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"status": "success", "value": {"content": content, "isError": error}}


class ClineTask:
    """Builds the task folder of Cline, or with a ``history_item.json`` that of Roo."""

    def __init__(self, folder: Path, **roo: Any) -> None:
        self.folder, self.messages = folder, list[dict[str, Any]]()
        folder.mkdir(parents=True)
        if roo:
            (folder / "history_item.json").write_text(json.dumps(roo))

    def add(self, role: str, *content: Any) -> "ClineTask":
        blocks = [
            {"type": "text", "text": block} if isinstance(block, str) else block
            for block in content
        ]
        at = START_MS + len(self.messages) * 1000
        self.messages.append({"role": role, "content": blocks, "ts": at})
        return self

    def use(self, tool: str, result: str, *, error: bool = False, **given: Any) -> "ClineTask":
        call = f"toolu_{len(self.messages)}"
        self.add("assistant", {"type": "tool_use", "id": call, "name": tool, "input": given})
        block = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": error}
        return self.add("user", block)

    def tags(self, tool: str, result: str, **given: str) -> "ClineTask":
        """A call as it was written before tools were called natively."""
        arguments = "\n".join(f"<{key}>{value}</{key}>" for key, value in given.items())
        self.add("assistant", f"I'll see.\n<{tool}>\n{arguments}\n</{tool}>")
        about = next(iter(given.values()), "")
        return self.add("user", f"[{tool} for '{about}'] Result:", result)

    def write(self, name: str = "api_conversation_history.json") -> Path:
        path = self.folder / name
        path.write_text(json.dumps(self.messages))
        return path


class CursorDatabase:
    """Builds the database of Cursor's editor, a chat with its messages."""

    def __init__(self, path: Path, *, wal: bool = False) -> None:
        self.path, self.chat, self.count = path, "", 0
        self.headers: list[dict[str, Any]] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as db:
            if wal:
                db.execute("PRAGMA journal_mode = WAL")
            db.executescript(
                "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
                "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
            )

    def put(self, key: str, value: object) -> "CursorDatabase":
        data = value if isinstance(value, str) else json.dumps(value)
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, data.encode()))
        return self

    def begin(self, chat: str = "chat-1", **fields: Any) -> "CursorDatabase":
        self.chat, self.headers = chat, []
        return self._head(**fields)

    def _head(self, **fields: Any) -> "CursorDatabase":
        told = {
            "composerId": self.chat,
            "createdAt": START_MS,
            "lastUpdatedAt": START_MS + self.count * 1000,
            "modelConfig": {"modelName": "model-x"},
            "fullConversationHeadersOnly": self.headers,
            **fields,
        }
        return self.put(f"composerData:{self.chat}", told)

    def bubble(self, kind: int, **fields: Any) -> "CursorDatabase":
        self.count += 1
        name = f"b-{self.count:04}"
        self.headers.append({"bubbleId": name, "type": kind})
        timing = {"clientStartTime": START_MS + self.count * 1000}
        told = {"type": kind, "bubbleId": name, "timingInfo": timing, **fields}
        return self.put(f"bubbleId:{self.chat}:{name}", told)._head()

    def ask(self, text: str) -> "CursorDatabase":
        return self.bubble(1, text=text, workspaceProjectDir="/srv/tidepool")

    def say(self, text: str) -> "CursorDatabase":
        return self.bubble(2, text=text)

    def tool(self, name: str, given: dict[str, Any], **told: Any) -> "CursorDatabase":
        call = {"name": name, "toolCallId": f"c-{self.count}", "rawArgs": json.dumps(given)}
        if isinstance(told.get("result"), dict):
            told["result"] = json.dumps(told["result"])
        return self.bubble(2, text="", toolFormerData={**call, **told})

    def shell(self, command: str, output: str, code: int) -> "CursorDatabase":
        result = {"output": output, "exitCodeV2": code}
        given = {"command": command}
        return self.tool("run_terminal_cmd", given, status="completed", result=result)

    def story(self) -> "CursorDatabase":
        """The session of the contract: a failed call, the same again with success, an answer."""
        self.begin().ask("Make it build.").shell("make", "no rule to make target", 2)
        return self.shell("make", "done", 0).say("It builds.")
