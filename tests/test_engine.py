"""The engine as programs use it: one ``async with``, everything wired."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.agents.gateway import AgentGateway
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.engine import Engine
from synthorg_tui.memory.errors import MemoryCapabilityError, MemoryStoreError
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.persistence.entities import Setting
from synthorg_tui.persistence.errors import PersistenceConnectionError
from synthorg_tui.persistence.operational import DuckDBPersistence
from synthorg_tui.providers.reranking.errors import RerankingError
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.providers.model_files import write_pair_onnx, write_tokenizer

FACT = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC, content="The staging database listens on port 6543."
)


def settings(**memory: object) -> RootConfig:
    return RootConfig.model_validate({"memory": {"level": "persistent"} | memory})


async def test_a_stored_memory_is_found_after_reopening(tmp_path: Path) -> None:
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        assert isinstance(engine.memory, MemoryBackend)
        stored = await engine.memory.store("builder", FACT)
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        query = MemoryQuery(text="which port does the staging database use?")
        found = await engine.memory.retrieve("builder", query)
    assert [entry.id for entry in found] == [stored]


async def test_a_data_directory_has_one_owner(tmp_path: Path) -> None:
    async with Engine.open(settings(), data_dir=tmp_path):
        with pytest.raises(StoreLockedError) as refused:
            async with Engine.open(settings(), data_dir=tmp_path):
                pass
    assert refused.value.owner_pid is not None
    async with Engine.open(settings(), data_dir=tmp_path):
        pass


async def test_operational_data_is_in_the_store_and_open_as_long_as_it_is(tmp_path: Path) -> None:
    made = Setting(namespace="memory", key="level", value="session", updated_at=datetime.now(UTC))
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        assert isinstance(engine.operations, DuckDBPersistence)
        await engine.operations.settings.save(made)
    with pytest.raises(PersistenceConnectionError):
        _ = engine.operations.settings
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        assert await engine.operations.settings.query() == (made,)
    assert [each.name for each in tmp_path.glob("*.duckdb")] == ["memory.duckdb"]


async def test_the_level_of_an_agent_comes_from_the_settings(tmp_path: Path) -> None:
    silent = RootConfig.model_validate({"agents": [{"id": "silent", "level": "none"}]})
    async with Engine.open(silent, data_dir=tmp_path) as engine:
        with pytest.raises(MemoryStoreError, match="level none"):
            await engine.memory.store("silent", FACT)


async def test_agents_are_those_declared_and_those_with_memories(tmp_path: Path) -> None:
    declared = RootConfig.model_validate(
        {"memory": {"level": "persistent"}, "agents": [{"id": "planner", "role": "plans"}]}
    )
    async with Engine.open(declared, data_dir=tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        agents = await engine.agents()
    assert [(a.id, a.declared, a.memories) for a in agents] == [
        ("builder", False, 1),
        ("planner", True, 0),
    ]
    assert {agent.level for agent in agents} == {MemoryLevel.PERSISTENT}


async def test_other_backends_have_a_desk_and_say_what_they_lack(tmp_path: Path) -> None:
    async with Engine.open(settings(backend="inmemory"), data_dir=tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        (listed,) = (await engine.desk.browse(BrowseFilter())).entries
        assert (listed.agent_id, listed.content) == ("builder", FACT.content)
        assert await engine.desk.remove([listed.id], actor="person") == 1
        with pytest.raises(MemoryCapabilityError, match="deletes for good") as refused:
            await engine.desk.restore([listed.id], actor="person")
        assert refused.value.remedy == "Set memory.backend to local."


async def test_what_was_built_on_use_is_closed_with_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[AgentGateway] = []

    async def close(gateway: AgentGateway) -> None:
        closed.append(gateway)

    monkeypatch.setattr(AgentGateway, "close", close)
    async with Engine.open(settings(), data_dir=tmp_path):
        pass
    assert closed == []
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        gateway = engine.gateway
        assert engine.gateway is gateway
    assert closed == [gateway]


async def test_a_reranker_of_the_settings_reorders_rests_and_is_closed(
    tmp_path: Path, clock: FixedClock
) -> None:
    write_tokenizer(tmp_path)
    write_pair_onnx(tmp_path / "cross.onnx")
    reranking = {"type": "onnx", "path": str(tmp_path / "cross.onnx")}
    wanted = RootConfig.model_validate(
        {
            "memory": {"retrieval": {"query_specific_rerank_enabled": True}},
            "providers": {"reranking": reranking},
        }
    )
    texts = ("A pear is a fruit", "An apple and a pear and an apple", "The pear fell off")
    async with Engine.open(wanted, data_dir=tmp_path / "store", clock=clock) as engine:
        for text in texts:
            await engine.memory.store(
                "ada", MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text)
            )
        request = InjectionRequest("ada", "pear apple apple", 10_000)
        explanation = (await engine.injection.prepare(request)).explanation
        assert explanation.degraded == ""
        assert explanation.included[0].entry.content == texts[1]
        encoder = engine.injection.cross_encoder
        assert encoder is not None
        assert encoder.is_loaded
        assert isinstance(engine.memory, LocalMemoryBackend)
        clock.advance(minutes=3)
        assert await engine.memory.core.idle.release_if_due()
        assert not encoder.is_loaded
    with pytest.raises(RerankingError, match="closed"):
        await encoder.scores("pear", ["apple"])


async def test_without_one_nothing_of_it_is_made(tmp_path: Path) -> None:
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        assert engine.injection.cross_encoder is None
