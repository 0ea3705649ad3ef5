"""Facts in the vector index: found by meaning and words, beside the memories and never as such."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexFilter
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER
from synthorg_tui.memory.org.store import OrgAct, OrgStore
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.persistence import INDEX_DIR
from tests.conftest import FixedClock
from tests.memory.org.org_kit import PERSON, fact, publish, retract
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import FlakyIndex, opened, request

ME = OrgAct("person (tui)")
CLOCK = FixedClock()
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexed")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend(folder: Path) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(folder, clock=CLOCK, index=FlakyIndex(folder / INDEX_DIR)) as local:
        yield local


@pytest.fixture
def store(backend: LocalMemoryBackend) -> OrgStore:
    CLOCK.advance(hours=1)
    return OrgStore(backend.core)


async def write(store: OrgStore, content: str, **fields: object) -> str:
    (applied,) = await store.change([publish(fact(content).model_copy(update=fields))], ME)
    return applied.fact_id


async def hits(backend: LocalMemoryBackend, text: str, **fields: object) -> tuple[str, ...]:
    """Ids by words, and they must be the same by meaning where something is alike."""
    core = backend.core
    where = IndexFilter(
        now=CLOCK.now(),
        agents=frozenset({ORG_OWNER}),
        namespaces=frozenset({ORG_NAMESPACE}),
        **fields,  # type: ignore[arg-type]
    )
    index = (await core.indexed()).index
    vector = await core.embedder.embed_query(text)
    found = await index.search(where, dense=vector, sparse=core.tokenizer.encode(text), limit=9)
    words = tuple(hit.id for hit in found.sparse)
    alike = {hit.id for hit in found.dense if hit.score > 0.5}
    assert alike <= set(words)
    return words


async def vector_of(backend: LocalMemoryBackend, key: str) -> bytes | None:
    row = await backend.core.read(
        lambda db: db.execute("SELECT vector FROM vectors WHERE memory_id = ?", [key]).fetchone()
    )
    return None if row is None else bytes(row[0])


async def is_well(backend: LocalMemoryBackend, folder: Path) -> bool:
    report = await Maintenance(backend, data_dir=folder).doctor()
    return all(check.ok for check in report.checks if check.name != "lock")


async def test_a_fact_is_found_by_its_words_category_and_project(
    backend: LocalMemoryBackend, store: OrgStore
) -> None:
    key = await write(store, "zebra crossing", tags=("project:/app",))
    assert await hits(backend, "zebra") == (key,)
    assert await hits(backend, "zebra", tags=("convention",)) == (key,)
    assert await hits(backend, "zebra", tags=("adr",)) == ()
    assert await hits(backend, "zebra", projects=frozenset({"/app"})) == (key,)


async def test_what_is_retracted_leaves_the_index_and_what_is_revived_comes_back(
    backend: LocalMemoryBackend, store: OrgStore
) -> None:
    key = await write(store, "yak shaving")
    await store.delete(key, author=PERSON)
    assert await hits(backend, "yak") == ()
    await store.change([publish(fact("yak shaving"), key)], ME)
    assert await hits(backend, "yak") == (key,)


async def test_an_edited_text_gets_its_own_vector_and_other_edits_keep_it(
    backend: LocalMemoryBackend, store: OrgStore
) -> None:
    key = await write(store, "xylophone music")
    before = await vector_of(backend, key)
    await store.change([publish(fact("xylophone music", tags=("loud",)), key)], ME)
    assert await vector_of(backend, key) == before
    await store.change([publish(fact("walrus music"), key)], ME)
    assert await vector_of(backend, key) not in (before, None)
    assert await hits(backend, "xylophone") == ()
    assert await hits(backend, "walrus") == (key,)


async def test_doctor_counts_facts_with_the_memories(
    backend: LocalMemoryBackend, store: OrgStore, folder: Path
) -> None:
    await backend.store("ada", request("a memory"))
    await write(store, "vole")
    gone = await write(store, "urchin")
    await store.change([retract(gone)], ME)
    assert await is_well(backend, folder)


async def test_a_rebuilt_index_has_the_facts(
    backend: LocalMemoryBackend, store: OrgStore, folder: Path
) -> None:
    key = await write(store, "toucan")
    await Maintenance(backend, data_dir=folder).reindex()
    assert await hits(backend, "toucan") == (key,)
    assert await is_well(backend, folder)


async def test_an_index_that_failed_catches_up_with_facts(
    backend: LocalMemoryBackend, store: OrgStore, folder: Path
) -> None:
    index = (await backend.core.indexed()).index
    assert isinstance(index, FlakyIndex)
    index.broken = True
    key = await write(store, "starling")
    index.broken = False
    await backend.core.with_index(lambda projection: projection.catch_up())
    assert await hits(backend, "starling") == (key,)


async def test_facts_written_while_the_embedder_failed_are_embedded_later(
    backend: LocalMemoryBackend, store: OrgStore, folder: Path
) -> None:
    embedder = backend.core.embedder
    assert isinstance(embedder, HashEmbedder)
    embedder.broken = True
    key = await write(store, "raccoon")
    embedder.broken = False
    assert await backend.core.unembedded() == 1
    assert await Maintenance(backend, data_dir=folder).reembed() == 1
    assert await vector_of(backend, key) is not None
    assert await is_well(backend, folder)


async def test_doctor_finds_and_repairs_a_fact_that_is_not_what_its_log_says(
    backend: LocalMemoryBackend, store: OrgStore, folder: Path
) -> None:
    key = await write(store, "quokka")
    await backend.core.database.write(
        lambda db: db.execute("UPDATE org_facts SET content = 'x' WHERE fact_id = ?", [key])
    )
    maintenance = Maintenance(backend, data_dir=folder)
    report = await maintenance.doctor()
    (check,) = [check for check in report.checks if check.name == "organisation"]
    assert (check.ok, key in check.detail) == (False, True)
    await maintenance.doctor(fix=True)
    assert await is_well(backend, folder)
    assert await hits(backend, "quokka") == (key,)


async def test_another_model_embeds_facts_anew_and_a_backup_has_them(
    backend: LocalMemoryBackend, store: OrgStore, folder: Path, tmp_path: Path
) -> None:
    key = await write(store, "puffin")
    other = HashEmbedder(fingerprint="hash-2")
    copy = tmp_path / "memory.duckdb"
    await Maintenance(backend, data_dir=folder).backup(copy)
    async with opened(
        tmp_path, clock=CLOCK, embedder=other, index=EdgeIndex(tmp_path / INDEX_DIR)
    ) as again:
        assert await again.core.unembedded() > 0
        await Maintenance(again, data_dir=tmp_path).reembed()
        assert await hits(again, "puffin") == (key,)
        assert await again.core.unembedded() == 0
