"""From configuration to a backend."""

from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.config import (
    CompanyMemoryConfig,
    CompositeBackendConfig,
    EmbedderOverrideConfig,
    MemoryOptionsConfig,
    MemoryStorageConfig,
    QdrantServerConfig,
)
from synthorg_tui.memory.errors import MemoryConfigError, MemoryStoreError
from synthorg_tui.memory.factory import (
    BackendContext,
    MemoryBackendRegistry,
    create_memory_backend,
    create_vector_index,
    default_registry,
)
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.server import ServerIndex
from synthorg_tui.memory.mem0_config import Mem0EmbedderConfig
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.tables import rows

NOTE = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="x")


def config(backend: str, **fields: object) -> CompanyMemoryConfig:
    return CompanyMemoryConfig.model_validate({"backend": backend, **fields})


def composite(default: str, **routes: str) -> CompanyMemoryConfig:
    routing = CompositeBackendConfig(default=default, routes=dict(routes))
    return config("composite", composite=routing)


def test_every_name_that_configuration_accepts_is_known() -> None:
    assert default_registry().names == ("composite", "inmemory", "local", "mem0")


@rows(("name", "kind"), [("inmemory", InMemoryBackend), ("local", LocalMemoryBackend)])
def test_a_name_makes_its_backend_disconnected(name: str, kind: type, tmp_path: Path) -> None:
    backend = create_memory_backend(config(name), context=BackendContext(data_dir=tmp_path))
    assert isinstance(backend, kind)
    assert backend.backend_name == name
    assert not backend.is_connected


def test_each_call_makes_a_new_backend() -> None:
    made = [create_memory_backend(config("inmemory")) for _ in range(2)]
    assert made[0] is not made[1]


def test_an_unknown_name_lists_the_valid_ones_sorted() -> None:
    with pytest.raises(
        MemoryConfigError,
        match=r"Unknown backend 'redis'\. Valid backends: "
        r"\['composite', 'inmemory', 'local', 'mem0'\]",
    ):
        default_registry().build("redis", CompanyMemoryConfig(), BackendContext())


def test_mem0_needs_an_embedder() -> None:
    with pytest.raises(MemoryConfigError, match="needs an embedder") as caught:
        create_memory_backend(config("mem0"))
    assert "Mem0EmbedderConfig" in caught.value.remedy


def test_mem0_takes_a_description_of_its_embedder(tmp_path: Path) -> None:
    described = Mem0EmbedderConfig(provider="minilm", model="all-MiniLM-L6-v2", dims=384)
    context = BackendContext(data_dir=tmp_path)
    backend = create_memory_backend(config("mem0"), embedder=described, context=context)
    assert backend.backend_name == "mem0"
    assert not backend.is_connected


def test_a_provider_without_an_embedder_of_ours_is_a_configuration_error() -> None:
    described = Mem0EmbedderConfig(provider="azure", model="m")
    with pytest.raises(MemoryConfigError, match="'azure'") as caught:
        create_memory_backend(config("mem0"), embedder=described)
    assert "Pass the embedder itself" in caught.value.remedy


def test_another_registry_can_be_used() -> None:
    mine = InMemoryBackend()
    registry = MemoryBackendRegistry({"inmemory": lambda config, context: mine})
    assert create_memory_backend(config("inmemory"), registry=registry) is mine


async def test_options_reach_the_backend() -> None:
    options = MemoryOptionsConfig(max_memories_per_agent=1)
    backend = create_memory_backend(config("inmemory", options=options))
    await backend.connect()
    await backend.store("ada", NOTE)
    with pytest.raises(MemoryStoreError):
        await backend.store("ada", NOTE)


def test_building_a_local_backend_opens_nothing(tmp_path: Path) -> None:
    create_memory_backend(config("local"), context=BackendContext(data_dir=tmp_path / "new"))
    assert list((tmp_path / "new").iterdir()) == []


def test_an_embedder_override_needs_the_embedder(tmp_path: Path) -> None:
    override = EmbedderOverrideConfig(provider="openai", model="m", dims=3)
    wanted = config("local", embedder=override)
    with pytest.raises(MemoryConfigError, match=r"memory\.embedder"):
        create_memory_backend(wanted, context=BackendContext(data_dir=tmp_path))


async def test_namespaces_routed_to_the_same_name_share_one_child() -> None:
    options = MemoryOptionsConfig(max_memories_per_agent=2)
    routing = CompositeBackendConfig(default="inmemory", routes={"work": "inmemory"})
    backend = create_memory_backend(config("composite", composite=routing, options=options))
    await backend.connect()
    await backend.store("ada", NOTE)
    await backend.store("ada", NOTE.model_copy(update={"namespace": "work"}))
    with pytest.raises(MemoryStoreError):
        await backend.store("ada", NOTE)


async def test_a_composite_can_mix_backends(tmp_path: Path) -> None:
    context = BackendContext(data_dir=tmp_path)
    backend = create_memory_backend(composite("inmemory", work="local"), context=context)
    await backend.connect()
    ids = {
        await backend.store("ada", NOTE.model_copy(update={"namespace": namespace}))
        for namespace in ("work", "default")
    }
    found = await backend.retrieve("ada", MemoryQuery())
    await backend.disconnect()
    assert {entry.id for entry in found} == ids


def test_a_composite_in_a_composite_is_refused() -> None:
    with pytest.raises(MemoryConfigError, match="composite backend can't be part"):
        create_memory_backend(composite("inmemory", work="composite"))


def test_an_unknown_child_is_refused_with_the_names_that_a_child_may_have() -> None:
    with pytest.raises(MemoryConfigError, match=r"'redis'.*\['inmemory', 'local', 'mem0'\]"):
        create_memory_backend(composite("inmemory", work="redis"))


def test_the_storage_configuration_picks_the_index(tmp_path: Path) -> None:
    embedded = create_vector_index(MemoryStorageConfig(), tmp_path)
    server = QdrantServerConfig(url="http://localhost:6333")
    external = MemoryStorageConfig(vector_store="qdrant-external", server=server)
    assert isinstance(embedded, EdgeIndex)
    assert isinstance(create_vector_index(external, tmp_path), ServerIndex)
