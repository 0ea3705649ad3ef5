"""Opening a whole engine on PostgreSQL by its settings, and what it tells of itself."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.persistence import DATABASE_FILE, SERVER_FILE
from synthorg_tui.persistence.config import PersistenceConfig
from synthorg_tui.persistence.lock import has_store, own_database
from synthorg_tui.settings.root import RootConfig
from tests.memory.store.hash_embedder import HashEmbedder


def settings_for(url: str) -> RootConfig:
    server = PersistenceConfig(backend="postgres", url=SecretStr(url))
    memory = RootConfig().memory.model_copy(update={"level": MemoryLevel.PERSISTENT})
    return RootConfig(persistence=server, memory=memory)


async def test_memories_are_on_the_server_whichever_directory_opens_it(
    postgres_url: str, tmp_path: Path
) -> None:
    settings = settings_for(postgres_url)
    request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="The key is outside.")
    async with Engine.open(settings, data_dir=tmp_path / "a", embedder=HashEmbedder()) as engine:
        await engine.memory.store("ada", request)
        assert engine.operations.backend_name == "postgres"
        report = await engine.maintenance.doctor()
        assert [check for check in report.checks if not check.ok and check.name != "lock"] == []
        with pytest.raises(DomainError) as refused:
            await engine.maintenance.backup()
        assert "pg_dump" in refused.value.remedy
        assert await engine.maintenance.back_up_daily(keep=3) is None
    assert has_store(tmp_path / "a")
    assert not (tmp_path / "a" / DATABASE_FILE).exists()
    assert "@" not in (tmp_path / "a" / SERVER_FILE).read_text()
    async with Engine.open(settings, data_dir=tmp_path / "b", embedder=HashEmbedder()) as engine:
        found = await engine.memory.retrieve("ada", MemoryQuery(text="key outside"))
    assert [entry.content for entry in found] == ["The key is outside."]


async def test_an_address_that_is_not_set_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESK_DATABASE", raising=False)
    server = PersistenceConfig(backend="postgres", url_env="DESK_DATABASE")
    with pytest.raises(ConfigError, match="DESK_DATABASE"):
        async with own_database(tmp_path, server):
            pass
    assert not has_store(tmp_path)
