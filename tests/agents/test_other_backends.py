"""What a connected agent can do with a backend that isn't the local one."""

import asyncio
from pathlib import Path
from typing import Any

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.engine import Engine
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.settings.root import RootConfig
from tests.memory.mem0_kit import require_mem0
from tests.tables import rows

BACKENDS: dict[str, dict[str, Any]] = {
    "inmemory": {"backend": "inmemory"},
    "mem0": {"backend": "mem0", "mem0": {"sparse_search_enabled": True}},
    "composite": {
        "backend": "composite",
        "composite": {"default": "inmemory", "routes": {"work": "local"}},
    },
}
NOTE = {"content": "The staging database listens on port 6543.", "category": "semantic"}


def settings(backend: str, **fields: Any) -> RootConfig:
    memory = fields | BACKENDS[backend]
    return RootConfig.model_validate({"memory": memory})


@rows("backend", BACKENDS)
async def test_it_writes_searches_and_is_given_digests_in_its_project(
    backend: str, tmp_path: Path
) -> None:
    if backend == "mem0":
        require_mem0()
    config = settings(backend, level="project", retrieval={"strategy": "self_editing"})
    async with Engine.open(config, data_dir=tmp_path / "data") as engine:
        await engine.gateway.open()
        here, there = (
            engine.gateway.connect(AgentIdentity("ada", str(tmp_path / name), session_id=name))
            for name in ("here", "there")
        )
        written = await here.call("archival_memory_write", NOTE)
        assert not written.is_error, written.content
        again = await here.call("archival_memory_write", NOTE)
        assert "already" in again.content.lower() or not again.is_error
        found = await here.call("archival_memory_search", {"query": "staging database"})
        assert "port 6543" in found.content
        hidden = await there.call("archival_memory_search", {"query": "staging database"})
        assert "port 6543" not in hidden.content
        await asyncio.gather(here.end_session(), there.end_session())
        assert (await engine.desk.browse(BrowseFilter())).total == 1


@rows("backend", BACKENDS)
@rows("v1", [True, False], ids=["digest of v1", "context"])
async def test_a_digest_is_made_of_what_it_has(backend: str, v1: bool, tmp_path: Path) -> None:
    if backend == "mem0":
        require_mem0()
    config = settings(backend, level="persistent", v1={"enabled": v1})
    async with Engine.open(config, data_dir=tmp_path / "data") as engine:
        await engine.gateway.open()
        session = engine.gateway.connect(AgentIdentity("ada"))
        await engine.memory.store("ada", MemoryStoreRequest.model_validate(NOTE))
        served = await session.digest("on which port is the staging database?", 1000)
        assert "6543" in served.text
