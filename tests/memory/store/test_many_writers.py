"""Writers on one server, one killed, the server stopped and crashed: all confirmed stays.

They store, edit, archive, restore, delete and purge. What was purged is nowhere afterwards.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.texts import text_columns
from tests.memory.store import postgres_writer
from tests.memory.store.shared_kit import app, live_ids
from tests.memory.store.store_kit import AGENT, query, request
from tests.postgres_server import PostgresServer, running_server
from tests.pty_kit import LOADED
from tests.soak import points

WRITERS = points(3, 8)
KILLED = 1
CHANGES = points(3, 100)
"""Changes that each writer is confirmed at least in each part of its life."""
DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")
TRIED = 40
WORD = re.compile(rb"w\d+s\d+n\d+(?:i\d+)?")


@dataclass
class Expected:
    """What the records must hold of one writer's memories, from what it was confirmed.

    Of what began and wasn't confirmed either outcome is right. ``worded`` are all texts that a
    memory may ever have had.
    """

    texts: dict[str, set[str]] = field(default_factory=dict)
    worded: dict[str, set[str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    purged: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    unsure_purged: set[str] = field(default_factory=set)
    unsure_new: set[str] = field(default_factory=set)
    done: Counter[str] = field(default_factory=Counter)
    shared_unsure: int = 0
    failures: list[str] = field(default_factory=list)

    def read(self, lines: list[list[object]]) -> "Expected":
        """Take in a writer's notes, in order; a new life of the writer goes on in the same file."""
        open_act: list[object] | None = None
        for phase, *rest in lines:
            if phase == "failed":
                self.failures.append(str(rest[0]))
            elif phase == "begin":
                self._give_up(open_act)
                open_act = rest
            else:
                self._take(*rest)  # type: ignore[arg-type]
                open_act = None
        self._give_up(open_act)
        return self

    def _take(self, kind: str, ids: list[str], texts: list[str]) -> None:
        self.done[kind] += max(len(ids), 1)
        if kind in ("delete", "archive"):
            self.gone.update(ids)
        elif kind == "restore":
            self.gone.difference_update(ids)
        elif kind == "purge":
            self.purged.update(ids)
        elif kind != "share":
            for key, text in zip(ids, texts, strict=True):
                self.texts[key] = {text}
                self.worded.setdefault(key, set()).add(text)

    def _give_up(self, act: list[object] | None) -> None:
        if act is None:
            return
        kind, ids, texts = act
        if kind == "share":
            self.shared_unsure += 1
        elif kind == "purge":
            self.unsure_purged.update(ids)  # type: ignore[arg-type]
        elif kind in ("delete", "archive", "restore"):
            self.unsure.update(ids)  # type: ignore[arg-type]
        elif kind == "edit":
            self.texts[ids[0]] |= set(texts)  # type: ignore[index, call-overload]
            self.worded[ids[0]] |= set(texts)  # type: ignore[index, call-overload]
        else:
            self.unsure_new.update(texts)  # type: ignore[arg-type]

    def check(self, rows: dict[str, StoredMemory]) -> None:
        """Compare with the rows of the writer's memories."""
        assert not self.purged & rows.keys(), "what was purged is back"
        for key in self.texts.keys() - self.purged - (self.unsure_purged - rows.keys()):
            assert key in rows, f"stored {key} is lost"
            assert rows[key].content in self.texts[key], f"{key} has an older text"
            assert rows[key].is_current is (key not in self.gone) or key in self.unsure
        unknown = [row for key, row in rows.items() if key not in self.texts]
        words = {row.content.split(" ")[1] for row in unknown}
        assert words <= {text.split(" ")[1] for text in self.unsure_new}, "nobody stored it"

    @property
    def erased(self) -> set[str]:
        """The words of what was purged."""
        return {text.split(" ")[1] for key in self.purged for text in self.worded[key]}


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with running_server() as server:
        server.stop()
        server.start(*DURABLE)
        yield server


def start(url: str, folder: Path, number: int, seed: int, common: str) -> BaseProcess:
    arguments = (url, str(folder), number, seed, common)
    writer = LOADED.Process(target=postgres_writer.run, args=arguments)
    writer.start()
    return writer


def notes(folder: Path, number: int) -> list[list[object]]:
    """What a writer noted; the last line of one that was killed may be torn."""
    found = []
    for line in postgres_writer.journal(folder, number).read_text().splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def wait_until(condition: Callable[[], bool], writers: list[BaseProcess]) -> None:
    while not condition():
        assert all(writer.is_alive() for writer in writers), "a writer has ended"
        time.sleep(0.05)


def write_more(folder: Path, writers: list[BaseProcess]) -> None:
    """Wait until every writer was confirmed more changes."""
    before = [done(folder, number) for number in range(WRITERS)]

    def have_done() -> bool:
        return all(done(folder, number) >= count + CHANGES for number, count in enumerate(before))

    wait_until(have_done, writers)


def done(folder: Path, number: int) -> int:
    file = postgres_writer.journal(folder, number)
    return file.read_text().count('"done"') if file.exists() else 0


def live_through(server: PostgresServer, url: str, folder: Path, common: str) -> list[int | None]:
    """Have all write while one is killed and the server ends twice; return how each ended."""
    writers = [start(url, folder, number, number, common) for number in range(WRITERS)]
    try:
        write_more(folder, writers)
        writers[KILLED].kill()
        writers[KILLED].join()
        assert writers[KILLED].exitcode == -9
        writers[KILLED] = start(url, folder, KILLED, WRITERS, common)
        write_more(folder, writers)
        server.stop()
        server.start(*DURABLE)
        write_more(folder, writers)
        server.stop(crash=True)
        server.start(*DURABLE)
        write_more(folder, writers)
        (folder / "stop").touch()
        stopped = [folder / f"stopped-{number}" for number in range(WRITERS)]
        wait_until(lambda: all(file.exists() for file in stopped), writers)
        (folder / "look").touch()
        for writer in writers:
            writer.join()
    finally:
        for writer in writers:
            if writer.is_alive():
                writer.kill()
    return [writer.exitcode for writer in writers]


@pytest.mark.soak
async def test_writers_lose_nothing_that_was_confirmed(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = server.new_store()
    async with app(url, tmp_path / "first") as backend:
        common = await backend.store(AGENT, request("note of all"))
    ended = live_through(server, url, tmp_path, common)
    assert ended == [0] * WRITERS
    expected = [Expected().read(notes(tmp_path, number)) for number in range(WRITERS)]
    async with app(url, tmp_path / "last") as backend:
        await check_records(backend, expected, common)
        await check_revisions(backend)
        await check_indexes(backend, url, tmp_path)
        await check_purged(backend, expected, tmp_path)
    done = sum((each.done for each in expected), Counter[str]())
    failed = sum(len(each.failures) for each in expected)
    unsure = sum(len(each.unsure | each.unsure_purged | each.unsure_new) for each in expected)
    words = sum(len(each.erased) for each in expected)
    print(f"{done.total()} confirmed, {failed} calls failed, {unsure} unsure: {dict(done)}")
    print(f"{words} purged words are in no table and in no index")


async def check_records(backend: LocalMemoryBackend, expected: list[Expected], common: str) -> None:
    for number, each in enumerate(expected):
        each.check(await rows_of(backend, f"agent-{number}"))
    edits = await backend.admin.history(common)
    made = sum(revision.kind == "edited" for revision in edits)
    sure = sum(each.done["share"] for each in expected)
    assert sure <= made <= sure + sum(each.shared_unsure for each in expected)


async def check_purged(backend: LocalMemoryBackend, expected: list[Expected], folder: Path) -> None:
    """No word of what was purged is in a column of a table, nor in a file of an app."""
    erased = set[str]().union(*(each.erased for each in expected))
    assert erased or CHANGES < 100
    stored = await backend.core.read(all_words)
    assert stored & erased == set(), "a table has what was purged"
    live = {row.content.split(" ")[1] for row in (await rows_of(backend, "agent-0")).values()}
    assert live <= stored, "the words of what stays are found"
    for file in folder.glob("app-*/**/*"):
        if file.is_file():
            assert not {word.decode() for word in WORD.findall(file.read_bytes())} & erased, file
    left = "SELECT count(*) FROM vectors WHERE memory_id NOT IN (SELECT id FROM memories)"
    assert await backend.core.read(lambda db: db.execute(left).fetchone()) == (0,)


def all_words(db: Connection) -> set[str]:
    """The writers' words in any text of any table."""
    found = set[bytes]()
    for column in text_columns(db):
        for (value,) in db.execute(f'SELECT "{column.name}" FROM "{column.table}"').fetchall():
            text = value if isinstance(value, bytes) else repr(value).encode()
            found.update(WORD.findall(text))
    return {word.decode() for word in found}


async def rows_of(backend: LocalMemoryBackend, agent: str) -> dict[str, StoredMemory]:
    def read(db: object) -> dict[str, StoredMemory]:
        found = db.execute(  # type: ignore[attr-defined]
            "SELECT id::VARCHAR FROM memories WHERE agent_id = ?", [agent]
        ).fetchall()
        return queries.rows_by_id(db, [key for (key,) in found])  # type: ignore[arg-type]

    return await backend.core.read(read)


async def check_revisions(backend: LocalMemoryBackend) -> None:
    """Each revision was given once, in an unbroken sequence, and rows agree with the history."""
    count, distinct, last = await backend.core.read(
        lambda db: db.execute(
            "SELECT count(*), count(DISTINCT revision), max(revision) FROM history"
        ).fetchone()
    ) or (0, 0, 0)
    assert count == distinct == last
    wrong = await backend.core.read(
        lambda db: db.execute(
            "SELECT count(*) FROM memories m WHERE m.revision <> "
            "(SELECT max(h.revision) FROM history h WHERE h.memory_id = m.id)"
        ).fetchone()
    )
    assert wrong == (0,)
    double = await backend.core.read(
        lambda db: db.execute("SELECT count(*) - count(DISTINCT revision) FROM memories").fetchone()
    )
    assert double == (0,)


async def check_indexes(backend: LocalMemoryBackend, url: str, folder: Path) -> None:
    """Each writer's own index has exactly the live memories, with the texts they have now."""
    live = sorted(await live_ids(backend))
    for number in range(WRITERS):
        assert json.loads((folder / f"index-{number}.json").read_text()) == live
    async with app(url, folder / f"app-{KILLED}") as other:
        for number in range(WRITERS):
            rows = await rows_of(backend, f"agent-{number}")
            current = [row for row in rows.values() if row.is_current][:TRIED]
            for row in current[:: max(1, len(current) // 5)]:
                found = await other.retrieve(f"agent-{number}", query(row.content))
                assert row.id in {entry.id for entry in found}
