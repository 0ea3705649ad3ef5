"""What an owner that is started for a first digest does, and what it leaves for later.

An agent waits for it, and nearly all of that time goes into what is imported.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.settings.loader import shipped_settings

FACT = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC, content="The staging database listens on port 6543."
)

LATER = (
    # tools of agents, skills, what waits for a person
    "agents.reports",
    "agents.toolbox",
    "agents.tools",
    "agents.pending",
    "approvals.models",
    "curation.registry",
    "curation.models",
    "skills.library",
    # strategies that aren't configured, and language models
    "memory.digest.builder",
    "memory.retrieval.hierarchical",
    "memory.retrieval.rerank",
    "memory.strategies.search_and_ask",
    "memory.strategies.self_editing",
    "memory.tool_retriever",
    "providers.completion.llama",
    "providers.completion.protocol",
    # writing, listing and sessions
    "executions.models",
    "ingest.discovery",
    "ingest.following",
    "ingest.readers",
    "ingest.service",
    "ingest.watching",
    "memory.store.writer",
    "memory.store.reader",
    "memory.store.writes",
    "memory.extensions",
    "executions.store",
    "memory.scenarios",
    "persistence.usage",
)
"""Modules of ours that a first digest has no use for."""


def told(program: str, home: Path) -> Any:
    """What a program prints as JSON, run by an interpreter of its own, for a user with nothing."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(home)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )
    return json.loads(done.stdout)


def test_settings_build_one_validator_and_only_when_there_is_something_to_validate(
    tmp_path: Path,
) -> None:
    program = """
import json
from synthorg_tui.core.types import FrozenModel
from synthorg_tui.settings.loader import load_settings

def built(model=FrozenModel):
    found = [model.__name__] if model.__pydantic_complete__ else []
    return found + [name for each in model.__subclasses__() for name in built(each)]

load_settings()
shipped = built()
load_settings(environ={"SYNTHORG__MEMORY__LEVEL": "none"})
print(json.dumps([shipped, built()]))
"""
    shipped, changed = told(program, tmp_path)
    assert shipped == []
    assert changed == ["RootConfig"]


async def test_a_first_digest_loads_only_what_makes_it(tmp_path: Path) -> None:
    async with Engine.open(shipped_settings(), data_dir=tmp_path) as engine:
        assert isinstance(engine.memory, LocalMemoryBackend)
        await engine.memory.scoped(Visibility(None, str(tmp_path))).store("builder", FACT)
    program = """
import asyncio, json, sys
from pathlib import Path
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.engine import Engine
from synthorg_tui.host.calls import AGENT_CALLS
from synthorg_tui.host.owner import Owner
from synthorg_tui.settings.loader import load_settings

async def answered(directory):
    async with Engine.open(load_settings(), data_dir=directory) as engine:
        owner = Owner(engine, data_dir=directory, kind="headless")
        await owner.start()
        session = engine.gateway.connect(AgentIdentity("builder", project=str(directory)))
        call = AGENT_CALLS["agent.digest"]
        asked = call.decode({"query": "which port does the staging database listen on?"})
        digest = call.result.dump_python(await session.digest(**asked), mode="json")
        loaded = list(sys.modules)
        await owner.stop()
    return digest, loaded

print(json.dumps(asyncio.run(answered(Path(sys.argv[1])))))
"""
    digest, loaded = told(program, tmp_path)
    assert "6543" in digest["text"]
    assert "synthorg_tui.memory.retriever" in loaded
    assert {f"synthorg_tui.{name}" for name in LATER} & set(loaded) == set()
    assert not {"httpx", "llama_cpp", "mcp", "yaml", "zstandard"} & set(loaded)
