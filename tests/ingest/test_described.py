"""Formats that are read by a description alone, and descriptions that can't be used."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest.discovery import NOTHING_KNOWN, collect
from synthorg_tui.ingest.readers.described import (
    DescribedReader,
    Description,
    descriptions,
    find,
    fits,
)
from synthorg_tui.ingest.reading import COPY, read_file
from synthorg_tui.ingest.records import TranscriptLines
from synthorg_tui.ingest.service import ImportService
from synthorg_tui.persistence.database import Database
from tests import REPO
from tests.conftest import FixedClock
from tests.ingest.agent_kit import KimiSession
from tests.ingest.ingest_fakes import FakeBackend
from tests.ingest.stores_kit import OpenCodeDatabase, found, only, refused
from tests.ingest.transcript_kit import CodexTranscript
from tests.tables import rows

OK, FAILED, UNKNOWN = CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN
DENIED = CallOutcome.DENIED_BY_USER


def database(path: Path, tables: str, *inserts: tuple[str, Sequence[Any]]) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(tables)
        for query, values in inserts:
            db.execute(query, values)
        db.commit()
    return path


def execution(path: Path) -> Execution:
    (extracted,) = only(path).executions
    return extracted.execution


def told(done: Execution) -> list[tuple[str, CallOutcome, int | None]]:
    return [(call.intent, call.outcome, call.exit_code) for call in done.calls]


def kiro(tmp_path: Path, **result: Any) -> Path:
    use = {"content": "Look.", "tool_uses": [{"id": "t", "name": "execute_bash", "args": GIVEN}]}
    results = {"tool_use_results": [{"tool_use_id": "t", **result}]}
    history = [
        {"user": {"content": {"Prompt": {"prompt": "Fix it"}}}, "assistant": {"ToolUse": use}},
        {
            "user": {"content": {"ToolUseResults": results}},
            "assistant": {"Response": {"content": "Done."}},
        },
    ]
    path = tmp_path / "saved.json"
    path.write_text(json.dumps({"conversation_id": "k1", "history": history}))
    return path


GIVEN = {"command": "make"}


@rows(
    ("result", "outcome", "code"),
    [
        ({"content": [{"Text": "fine"}], "status": "Success"}, OK, None),
        ({"content": [{"Text": "no rule"}], "status": "Error"}, FAILED, None),
        ({"content": [{"Json": {"exit_status": "2"}}], "status": "Success"}, FAILED, 2),
        ({"content": [{"Json": {"exit_status": "0"}}], "status": "Success"}, OK, 0),
        (
            {"content": [{"Text": "Tool use was cancelled by the user"}], "status": "Error"},
            DENIED,
            None,
        ),
        ({"content": []}, UNKNOWN, None),
    ],
)
def test_a_result_of_kiro_says_how_its_call_ended(
    result: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    assert told(execution(kiro(tmp_path, **result))) == [("make", outcome, code)]


def test_a_conversation_of_kiro_is_read_from_its_database_too(tmp_path: Path) -> None:
    value = kiro(tmp_path, content=[{"Text": "fine"}], status="Success").read_text()
    tables = "create table conversations_v2(key, conversation_id, value, created_at, updated_at)"
    insert = "insert into conversations_v2 values (?, ?, ?, 1, 2)"
    path = database(tmp_path / "data.sqlite3", tables, (insert, ("/srv/a", "k1", value)))
    done = execution(path)
    assert (done.id, done.project, done.task) == ("kiro:k1", "/srv/a", "Fix it")
    assert [turn.text for turn in done.turns] == ["Fix it", "Look.", "Done."]


CRUSH = """
create table sessions(id text primary key, parent_session_id text, title text, created_at int,
    updated_at int);
create table messages(id text primary key, session_id text, role text, parts text, model text,
    created_at int);
"""


def crush(tmp_path: Path, **result: Any) -> Path:
    call = {"id": "c", "name": "bash", "input": json.dumps(GIVEN)}
    said: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [{"type": "text", "data": {"text": "Fix it"}}]),
        ("assistant", [{"type": "tool_call", "data": call}, {"type": "finish", "data": {}}]),
        ("tool", [{"type": "tool_result", "data": {"tool_call_id": "c", **result}}]),
        ("assistant", [{"type": "text", "data": {"text": "Done."}}]),
    ]
    messages = [
        (
            "insert into messages values (?, 's1', ?, ?, 'model-x', ?)",
            (f"m{number}", role, json.dumps(parts), 1_780_000_000 + number),
        )
        for number, (role, parts) in enumerate(said)
    ]
    folder = tmp_path / "project" / ".crush"
    folder.mkdir(parents=True)
    session = ("insert into sessions values ('s1', null, '[wip] fix', 1780000000, 1)", ())
    return database(folder / "crush.db", CRUSH, session, *messages)


@rows(
    ("result", "outcome", "code"),
    [
        ({"content": "fine", "is_error": False}, OK, None),
        ({"content": "no rule\nExit code 2", "is_error": False}, FAILED, 2),
        ({"content": "no such file", "is_error": True}, FAILED, None),
        ({"content": "User denied permission", "is_error": True}, DENIED, None),
    ],
)
def test_a_result_of_crush_says_how_its_call_ended(
    result: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    done = execution(crush(tmp_path, **result))
    assert told(done) == [("make", outcome, code)]
    assert (done.id, done.project, done.summary) == (
        "crush:s1",
        str(tmp_path / "project"),
        "[wip] fix",
    )


def test_a_session_of_a_database_changes_with_its_messages(tmp_path: Path) -> None:
    path = crush(tmp_path, content="fine", is_error=False)
    before = found(path)
    database(path, "", ("delete from messages where id = 'm3'", ()))
    assert found(path) != before


def test_another_database_of_that_name_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "crush.db", "create table sessions(id text, updated_at int)")
    (refusal,) = refused(path)
    assert refusal.reason == "can't be read: a database of no known agent, with the tables sessions"


@rows(
    ("run", "outcome", "code"),
    [
        ({"status": "done", "result": {"output": "fine", "exitCode": 0}}, OK, 0),
        ({"status": "done", "result": {"output": "no rule", "exitCode": 2}}, FAILED, 2),
        ({"status": "done", "result": "read"}, OK, None),
        ({"status": "error", "error": {"message": "no"}}, FAILED, None),
        ({"status": "rejected-by-user"}, DENIED, None),
        ({"status": "rejected-by-user", "result": ""}, DENIED, None),
    ],
)
def test_a_run_of_amp_says_how_its_call_ended(
    run: dict[str, Any], outcome: CallOutcome, code: int | None, tmp_path: Path
) -> None:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make"}}
    messages = [
        {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Fix it"}]},
        {"role": "assistant", "messageId": 1, "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseID": "t", "run": run}]},
    ]
    path = tmp_path / "any name.json"
    path.write_text(json.dumps({"id": "T-1", "created": 1_780_000_000_000, "messages": messages}))
    assert told(execution(path)) == [("make", outcome, code)]


def test_both_shapes_of_zeds_threads_are_read(tmp_path: Path) -> None:
    from zstandard import ZstdCompressor

    use = {"ToolUse": {"id": "t", "name": "terminal", "input": GIVEN}}
    results = {"t": {"tool_use_id": "t", "is_error": True, "content": {"Text": "no rule"}}}
    new = [
        {"User": {"id": "u", "content": [{"Text": "Fix it"}]}},
        {"Agent": {"content": [{"Thinking": {"text": "hm"}}, use], "tool_results": results}},
        "Resume",
    ]
    old = [{"id": 1, "role": "user", "segments": [{"type": "text", "text": "Fix it"}]}]
    tables = "create table threads(id text primary key, summary, updated_at, data_type, data blob)"
    insert = "insert into threads values (?, 'A thread', '2026-07-19T08:00:02Z', ?, ?)"
    packed = ZstdCompressor().compress(json.dumps({"messages": new}).encode())
    path = database(
        tmp_path / "threads.db",
        tables,
        (insert, ("new", "zstd", packed)),
        (insert, ("old", "json", json.dumps({"messages": old}))),
    )
    done = {each.path.name: execution(each.path) for each in found(path)}
    assert [each.task for each in done.values()] == ["Fix it", "Fix it"]
    assert told(done["threads.db#new"]) == [("make", FAILED, None)]


def test_the_request_to_a_subagent_of_kimi_is_its_parents(tmp_path: Path) -> None:
    session = KimiSession()
    session.ask("Count the files").answer("Three.")
    session.records[1]["message"]["origin"] = {"kind": "system_trigger", "name": "subagent"}
    done = execution(session.write(tmp_path / "wire.jsonl"))
    assert [turn.role for turn in done.turns] == ["parent", "assistant"]


@rows(
    ("place", "value"),
    [
        ("a.b", 1),
        ("x|a.b", 1),
        ("a.*", [1, None]),
        ("a.c|x", None),
        ("", None),
        ("a.b.c", None),
        ("e|a.b", 1),
        ("e|x", ""),
        ("l.k", 2),
        ("j{}.k", 3),
        ("e{}.k", None),
        ("a{}.b", 1),
        ("t{}.input", "{torn"),
        ("none{}", {}),
    ],
)
def test_a_place_is_looked_up_in_a_record(place: str, value: object) -> None:
    record = {"a": {"b": 1, "c": None}, "e": "", "l": [0, {"k": 2}], "j": '{"k": 3}', "t": "{torn"}
    assert find(record, place) == value


@rows(
    ("when", "is_so"),
    [
        ({"a": "x|y"}, True),
        ({"a": "X"}, False),
        ({"b": "*"}, True),
        ({"c": "*"}, False),
        ({"c": "!*"}, True),
        ({"a": "!y"}, False),
        ({"b": "true"}, True),
        ({}, True),
    ],
)
def test_a_record_fits_what_all_places_say(when: dict[str, str], is_so: bool) -> None:
    assert fits({"a": "y", "b": True, "d": {}}, when) is is_so


@rows(
    ("text", "problem"),
    [
        ("name = 1", "name"),
        ('name = "x"', "verified"),
        ('name = "x"\nverified = "y"\ndecides = "z"\nnames = 1', "names"),
        ("name = ", "Invalid value"),
    ],
)
def test_a_description_that_cant_be_used_names_its_file_and_field(
    text: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=problem) as caught:
        descriptions(tmp_path)
    assert str(path) in str(caught.value)


def test_names_of_tables_are_no_place_for_queries() -> None:
    tables = {"sessions": "a; drop table b", "id": "id", "changed": "id"}
    about = Description(name="x", verified="y", decides="z", database=tables)
    with pytest.raises(ValueError, match="letters, digits"):
        DescribedReader(about)


HISTORY = """<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-03-02 10:00:00Z

<!-- Claude Code Session s-1 (2026-03-02 10:00:00Z) -->

_**User (2026-03-02 10:00:00Z)**_

Why does it fail?

---

_**Agent (model-x 2026-03-02 10:00:05Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash** Run `it`</summary>
`npm test`

```text
Exit code 1
_**User (2026-03-02 10:00:00Z)**_
```
</details></tool-use>

It needs a variable.

```md
_**User**_
```
"""
OLD_HISTORY = """<!-- Generated by SpecStory -->

## Fix the login

_**User**_

Fix it

---

_**Assistant**_

Done.
"""


def test_a_history_of_specstory_is_read(tmp_path: Path) -> None:
    path = tmp_path / "project" / ".specstory" / "history" / "2026.md"
    path.parent.mkdir(parents=True)
    path.write_text(HISTORY)
    done = execution(path)
    assert (done.id, done.project) == ("specstory:s-1", str(tmp_path / "project"))
    assert [(turn.role, turn.text.partition("\n")[0]) for turn in done.turns] == [
        ("user", "Why does it fail?"),
        ("assistant", "It needs a variable."),
    ]
    assert told(done) == [("npm test", FAILED, 1)]
    assert str(done.started_at)[:19] == "2026-03-02 10:00:00"


def test_a_history_of_its_first_version_is_read(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text(OLD_HISTORY)
    done = execution(tmp_path / "old.md")
    assert [(turn.role, turn.text) for turn in done.turns] == [
        ("user", "Fix it"),
        ("assistant", "Done."),
    ]
    assert (done.session_id, done.summary) == ("old", "Fix the login")


def test_sessions_of_opencode_2_are_read_beside_those_of_1(tmp_path: Path) -> None:
    old = OpenCodeDatabase(tmp_path / "opencode.db").begin("ses_old").user("of old")
    state = {"status": "completed", "input": GIVEN, "content": [{"type": "text", "text": "no"}]}
    use = {"type": "tool", "id": "c", "name": "bash", "state": {**state, "metadata": {"exit": 2}}}
    tables = """
    create table session_v2(id text primary key, directory text, title text, time_updated int);
    create table session_message(id text, session_id text, seq int, type text, data text);
    insert into session_v2 values ('ses_new', '/srv/a', 'A title', 1);
    """
    insert = "insert into session_message values (?, 'ses_new', ?, ?, ?)"
    database(
        old.path,
        tables,
        (insert, ("m1", 1, "user", json.dumps({"text": "Drain it"}))),
        (insert, ("m2", 2, "assistant", json.dumps({"content": [use]}))),
    )
    done = [execution(each.path) for each in found(old.path)]
    assert [each.id for each in done] == ["opencode:ses_old", "opencode2:ses_new"]
    assert (done[1].task, told(done[1])) == ("Drain it", [("make", FAILED, 2)])


def test_a_session_is_read_whatever_its_file_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    kiro(tmp_path, content=[], status="Success").rename(folder / "a.txt")
    crush(tmp_path, content="", is_error=False).rename(folder / "b.bin")
    (folder / "c.text").write_text(OLD_HISTORY)
    (folder / "package.json").write_text('{"name": "x"}')
    files, refusals = collect([folder], ())
    read = [each.execution.reader for file in files for each in read_file(file).executions]
    assert (read, refusals) == (["kiro", "crush", "specstory"], [])


@rows("named", [{"a.json": '{"x": 1}'}, {}])
def test_a_named_folder_without_sessions_is_refused(named: dict[str, str], tmp_path: Path) -> None:
    for name, text in named.items():
        (tmp_path / name).write_text(text)
    files, (refusal,) = collect([tmp_path], ())
    assert (files, refusal.reason) == ([], NOTHING_KNOWN)
    assert collect([tmp_path], [tmp_path]) == ([], [])


def test_a_file_of_unknown_records_says_whose_they_look_like(tmp_path: Path) -> None:
    head = {"type": "session_start", "id": "s"}
    lines = map(json.dumps, (head, {"type": "x"}, {"type": "y"}))
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert only(tmp_path / "a.jsonl").skipped == (
        "looks like droid; 2 records have a shape that isn't known"
    )


def test_the_description_in_the_documentation_reads_its_sample(tmp_path: Path) -> None:
    text = (REPO / "CONTRIBUTING.md").read_text()
    sample, description = (
        text.split(f"```{kind}\n")[1].split("```")[0] for kind in ("json", "toml")
    )
    (tmp_path / "invented.toml").write_text(description)
    (tmp_path / "a.jsonl").write_text(sample)
    lines = TranscriptLines(tmp_path / "a.jsonl")
    (read,) = DescribedReader(descriptions(tmp_path)[0]).read(lines, lines.records()).executions
    assert (read.execution.id, read.execution.task) == ("invented:c1", "Fix it")
    assert told(read.execution) == [("make", FAILED, 2)]


async def test_a_history_of_a_session_that_was_read_natively_adds_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    stored = Database.in_dir(folder)
    await stored.open()
    service = ImportService(
        backend=FakeBackend(),
        executions=ExecutionStore(stored),
        clock=FixedClock(datetime(2026, 12, 31, tzinfo=UTC)),
        home=tmp_path,
        environ={},
    )
    native = CodexTranscript("s-1").message("user", "Why does it fail?")
    native.message("assistant", "It needs a variable.").write(tmp_path / "a.jsonl")
    (tmp_path / "b.md").write_text(HISTORY)
    first = await service.run([tmp_path / "a.jsonl"])
    second = await service.run([tmp_path / "b.md"])
    await stored.close()
    assert (first.executions, second.executions) == (1, 0)
    assert [reason for _, reason in second.skipped] == [COPY]
