"""Memories of an existing Mem0 store, made by the real package, come over once."""

import pickle
import shutil
import sqlite3
import struct
import threading
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.ingest.mem0 import (
    MAX_DEPTH,
    NO_OWNER,
    Mem0Import,
    Mem0ReadError,
    Mem0Report,
    Mem0Store,
    read_store,
)
from synthorg_tui.memory.backends.mem0.client import package
from synthorg_tui.memory.config import CompanyMemoryConfig
from synthorg_tui.memory.factory import BackendContext, create_memory_backend
from synthorg_tui.memory.listing import BrowseFilter, ChangeKind, ListedMemory
from synthorg_tui.memory.models import MemoryEdit
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.cli.cli_kit import Cli, move_home, runner
from tests.memory.mem0_kit import require_mem0

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"


class Made(NamedTuple):
    folder: Path
    port: str
    host: str
    gone: str
    token: str


class SomeVector:
    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [1.0, 0.0, 0.0]


def a_memory(folder: Path) -> Any:
    key = {"api_key": "unused"}
    vectors = {
        "collection_name": "mem0",
        "embedding_model_dims": 3,
        "path": str(folder / "qdrant"),
        "on_disk": True,
    }
    memory = package(folder).from_config(
        {
            "vector_store": {"provider": "qdrant", "config": vectors},
            "embedder": {"provider": "openai", "config": key},
            "llm": {"provider": "openai", "config": key},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = SomeVector()
    return memory


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A store of the package itself, with memories of an agent, of a user, a changed, a deleted."""
    require_mem0()
    folder = tmp_path_factory.mktemp("mem0")
    memory = a_memory(folder)

    def add(text: str, **owner: str) -> str:
        return str(memory.add(text, infer=False, **owner)["results"][0]["id"])

    port = add("The port is 8080.", agent_id="builder", user_id="ada", run_id="run-1")
    memory.update(port, data="The port is 9090.")
    memory.update(port, data="The port is 9443.")
    host = add("The host is staging.", user_id="ada")
    gone = add("Nobody needs this.", user_id="ada")
    memory.delete(gone)
    token = add(f"The token is {SECRET}.", user_id="ada")
    memory.close()
    memory.vector_store.client.close()
    return Made(folder, port, host, gone, token)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return create_embedder(MiniLMConfig())


@pytest.fixture
async def store(embedder: Embedder, tmp_path: Path) -> AsyncIterator[LocalMemoryBackend]:
    config = CompanyMemoryConfig(backend="local", level=MemoryLevel.PERSISTENT)
    context = BackendContext(data_dir=tmp_path / "data", embedder=embedder)
    backend = create_memory_backend(config, context=context)
    assert isinstance(backend, LocalMemoryBackend)
    await backend.connect()
    yield backend
    await backend.disconnect()


async def bring(store: LocalMemoryBackend, found: Mem0Store, **how: Any) -> Mem0Report:
    agent = how.pop("agent", None)
    return await Mem0Import(store, store.admin, SystemClock(), agent).run(found, **how)


async def all_of(store: LocalMemoryBackend) -> dict[str, ListedMemory]:
    page = await store.admin.browse(BrowseFilter())
    return {(entry.source or "").removeprefix("mem0:"): entry for entry in page.entries}


async def test_each_memory_becomes_one_of_its_agent_else_of_its_user(
    store: LocalMemoryBackend, made: Made
) -> None:
    report = await bring(store, read_store(made.folder))
    memories = await all_of(store)
    assert {key: (m.agent_id, m.category) for key, m in memories.items()} == {
        made.port: ("builder", MemoryCategory.SEMANTIC),
        made.host: ("ada", MemoryCategory.SEMANTIC),
        made.token: ("ada", MemoryCategory.SEMANTIC),
    }
    assert memories[made.port].session_id == "run-1"
    assert (report.added, report.deleted, report.agents) == (3, 1, {"builder": 1, "ada": 2})


async def test_what_a_memory_said_before_becomes_its_history(
    store: LocalMemoryBackend, made: Made
) -> None:
    report = await bring(store, read_store(made.folder))
    port = (await all_of(store))[made.port]
    assert port.content == "The port is 9443."
    changes = await store.admin.history(port.id)
    assert [(c.kind, c.after.get("content")) for c in changes] == [
        (ChangeKind.EDITED, "The port is 9443."),
        (ChangeKind.EDITED, "The port is 9090."),
        (ChangeKind.ADDED, "The port is 8080."),
    ]
    assert report.versions == 2


async def test_a_second_import_brings_nothing_and_changes_nothing(
    store: LocalMemoryBackend, made: Made
) -> None:
    await bring(store, read_store(made.folder))
    before = await all_of(store)
    again = await bring(store, read_store(made.folder))
    assert (again.added, again.updated, again.versions, again.known) == (0, 0, 0, 3)
    assert await all_of(store) == before


async def test_what_a_person_deleted_or_changed_here_stays_so(
    store: LocalMemoryBackend, made: Made
) -> None:
    await bring(store, read_store(made.folder))
    memories = await all_of(store)
    await store.admin.remove([memories[made.host].id], actor="person")
    await store.admin.edit(memories[made.port].id, MemoryEdit(content="Mine."), actor="person")
    again = await bring(store, read_store(made.folder))
    assert (again.added, again.updated) == (0, 0)
    assert (made.host, "deleted") in again.skipped
    assert (await all_of(store))[made.port].content == "Mine."


async def test_what_changed_there_since_is_changed_here(
    store: LocalMemoryBackend, made: Made
) -> None:
    found = read_store(made.folder)
    await bring(store, found)
    found.items[made.host]["memory"] = "The host is production."
    report = await bring(store, found)
    assert (report.added, report.updated, report.known) == (0, 1, 2)
    assert (await all_of(store))[made.host].content == "The host is production."


async def test_secrets_are_redacted_and_counted(store: LocalMemoryBackend, made: Made) -> None:
    report = await bring(store, read_store(made.folder))
    assert report.redactions == 1
    assert SECRET not in (await all_of(store))[made.token].content


async def test_a_dry_run_says_the_same_and_stores_nothing(
    store: LocalMemoryBackend, made: Made
) -> None:
    report = await bring(store, read_store(made.folder), dry_run=True)
    assert (report.added, report.versions, report.redactions) == (3, 2, 1)
    assert await all_of(store) == {}


async def test_all_can_become_one_agents(store: LocalMemoryBackend, made: Made) -> None:
    await bring(store, read_store(made.folder), agent="mine")
    assert {m.agent_id for m in (await all_of(store)).values()} == {"mine"}


async def test_a_stop_between_batches_is_told(store: LocalMemoryBackend, made: Made) -> None:
    cancel = threading.Event()
    cancel.set()
    report = await bring(store, read_store(made.folder), cancel=cancel)
    assert report.cancelled
    assert await all_of(store) == {}


async def test_from_its_history_alone_memories_need_an_agent(
    store: LocalMemoryBackend, made: Made
) -> None:
    found = read_store(made.folder / "history.db")
    assert set(found.items) == {made.port, made.host, made.token}
    assert {why for _, why in (await bring(store, found)).skipped} == {NO_OWNER}
    assert (await bring(store, found, agent="mine")).added == 3
    assert (await all_of(store))[made.port].content == "The port is 9443."


@pytest.mark.parametrize("inside", ["", "qdrant", "qdrant/collection"])
def test_the_folder_of_the_store_or_of_its_qdrant_can_be_named(made: Made, inside: str) -> None:
    assert set(read_store(made.folder / inside).items) == {made.port, made.host, made.token}


def test_the_store_is_only_read(made: Made) -> None:
    before = {file: file.read_bytes() for file in made.folder.rglob("*") if file.is_file()}
    read_store(made.folder)
    after = {file: file.read_bytes() for file in made.folder.rglob("*") if file.is_file()}
    assert after == before


def test_a_folder_without_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Mem0ReadError, match="no Mem0 store") as refused:
        read_store(tmp_path)
    assert "qdrant" in refused.value.remedy


class Harmful(NamedTuple):
    file: Path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.file,))


def test_a_pickle_that_would_run_something_is_only_counted(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "store")
    harmed = tmp_path / "harmed"
    (file,) = (tmp_path / "store" / "qdrant" / "collection" / "mem0").glob("*.sqlite")
    bad = pickle.dumps(Harmful(harmed))
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO points VALUES ('x', ?), ('y', ?)", [bad, b"nonsense"])
    db.close()
    found = read_store(tmp_path / "store")
    assert (len(found.items), found.unreadable) == (3, 2)
    assert not harmed.exists()
    pickle.loads(bad)
    assert harmed.exists()  # so it would have been


def point(payload: dict[str, Any]) -> bytes:
    from qdrant_client.http.models.models import PointStruct  # takes a second

    return pickle.dumps(PointStruct.model_construct(id="x", vector=[], payload=payload))


def nested(levels: int, width: int) -> object:
    """A value whose size as text is ``width ** levels``, in few bytes."""
    value: object = "x"
    for _ in range(levels):
        value = [value] * width
    return value


BIG = "x" * 100_000
HOSTILE_POINTS = (
    point({"data": "x", "user_id": nested(28, 2)}),
    point({"data": "x", "user_id": {"a": nested(9, 100)}}),
    point({"data": "x", "user_id": nested(MAX_DEPTH, 1)}),
    point({"data": "x", "user_id": [BIG] * 1_000}),
    point({"data": "x", "user_id": 1 << 100_000}),
    b"\x80\x02Nr" + struct.pack("<I", 1 << 24) + b".",
)
"""Pickles of plain values that take all memory when they are loaded, walked or written out."""


@pytest.mark.parametrize("bad", HOSTILE_POINTS, ids=range(len(HOSTILE_POINTS)))
def test_a_pickle_that_would_take_all_memory_is_only_counted(
    made: Made, tmp_path: Path, bad: bytes
) -> None:
    shutil.copytree(made.folder, tmp_path / "store")
    (file,) = (tmp_path / "store" / "qdrant" / "collection" / "mem0").glob("*.sqlite")
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO points VALUES ('x', ?)", [bad])
    db.close()
    tracemalloc.start()
    try:
        found = read_store(tmp_path / "store")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(found.items), found.unreadable) == (3, 1)
    assert most < 32 * 1024 * 1024


def test_what_a_memory_may_hold_is_read(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "store")
    (file,) = (tmp_path / "store" / "qdrant" / "collection" / "mem0").glob("*.sqlite")
    large = {"data": BIG, "more": nested(MAX_DEPTH - 1, 1), "numbers": list(range(1_000))}
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO points VALUES ('x', ?)", [point(large)])
    db.close()
    assert read_store(tmp_path / "store").items["x"]["memory"] == BIG


async def test_tags_that_would_give_weight_are_not_believed(store: LocalMemoryBackend) -> None:
    tags = ["plain", "non-inferable", "core", "fact:editor", "sensitivity:public"]
    about = {"_synthorg_tags": tags, "_synthorg_category": "procedural"}
    item = {"id": "1", "memory": "Use vim.", "user_id": "ada", "metadata": about}
    await bring(store, Mem0Store(items={"1": item}))
    memory = (await all_of(store))["1"]
    assert (memory.tags, memory.category) == (("plain",), MemoryCategory.PROCEDURAL)


@pytest.mark.parametrize("owner", ["__synthorg_shared__", "__synthorg_org__", "x" * 201])
async def test_who_can_be_no_agent_is_skipped(store: LocalMemoryBackend, owner: str) -> None:
    item = {"id": "1", "memory": "x", "user_id": owner, "metadata": {}}
    report = await bring(store, Mem0Store(items={"1": item}))
    assert report.skipped == [("1", "no agent can be called so")]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path / "home")
    return runner(tmp_path / "cli", capsys)


class TestCommand:
    def test_it_imports_once_and_says_so(self, cli: Cli, made: Made) -> None:
        assert cli("import", "mem0", str(made.folder), "--json").json["added"] == 3
        again = cli("import", "mem0", str(made.folder))
        assert again.code == 0
        assert "0 added" in again.out
        assert "3 known already" in again.out

    def test_only_a_store_of_mem0_can_be_tried(self, cli: Cli, tmp_path: Path) -> None:
        wrong = cli("import", str(tmp_path), "--dry-run")
        assert wrong.code == 2
        assert "import mem0 PATH" in wrong.err

    def test_a_path_is_needed(self, cli: Cli) -> None:
        assert cli("import", "mem0").code == 2
