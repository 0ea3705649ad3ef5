"""The tools of both strategies on the real store, as an agent calls them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.memory.tools import ToolRegistry, registry_with_memory_tools
from synthorg_tui.settings.loader import shipped_settings
from tests.hostile import HOSTILE


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(shipped_settings(), data_dir=tmp_path) as opened:
        yield opened


class Agent:
    """Calls tools and gets what a model would read."""

    def __init__(self, engine: Engine, agent_id: str = "ada") -> None:
        settings = engine.settings.memory
        searching = ToolBasedInjectionStrategy(backend=engine.memory, config=settings.retrieval)
        editing = SelfEditingMemoryStrategy(backend=engine.memory, config=settings.self_editing)
        registry = registry_with_memory_tools(ToolRegistry(), searching, agent_id)
        self.tools = registry_with_memory_tools(registry, editing, agent_id)

    async def call(self, tool: str, **arguments: Any) -> str:
        return (await self.tools.get(tool).execute(arguments=arguments)).content

    async def write(self, tool: str, **arguments: Any) -> str:
        """The id of what was stored."""
        found = re.search(r"\(id=([0-9a-f-]+)", await self.call(tool, **arguments))
        assert found
        return found[1]


async def test_what_an_agent_writes_it_finds_again(engine: Engine) -> None:
    ada = Agent(engine)
    core = await ada.write("core_memory_write", content="I answer briefly.")
    archived = await ada.write(
        "archival_memory_write", content="Staging listens on port 6543.", category="semantic"
    )
    episode = await ada.write("recall_memory_write", content="The deploy of Monday failed.")
    assert await ada.call("core_memory_read") == (
        f"<tool-result>\n[semantic] (id={core}) I answer briefly.\n</tool-result>"
    )
    found = await ada.call("archival_memory_search", query="which port does staging use?", limit=1)
    assert f"[semantic] (id={archived}) Staging listens on port 6543." in found
    read = await ada.call("recall_memory_read", memory_id=episode)
    assert "[episodic] The deploy of Monday failed." in read
    assert "port 6543" in await ada.call("search_memory", query="which port does staging use?")
    assert "The deploy of Monday" in await ada.call("recall_memory", memory_id=episode)


async def test_core_memories_are_in_the_next_prompt(engine: Engine) -> None:
    await Agent(engine).write("core_memory_write", content="I answer briefly.")
    request = InjectionRequest("ada", "unrelated", 500, strategy=InjectionStrategy.SELF_EDITING)
    assert "I answer briefly." in (await engine.injection.prepare(request)).text


async def test_a_question_about_nothing_finds_nothing(engine: Engine) -> None:
    ada = Agent(engine)
    await ada.write("recall_memory_write", content="The deploy of Monday failed.")
    assert await ada.call("search_memory", query="zebra quartz") == "No memories found."


async def test_other_agents_memories_are_out_of_reach(engine: Engine) -> None:
    secret = await Agent(engine, "eve").write("recall_memory_write", content="Eve's deploy failed.")
    ada = Agent(engine)
    assert await ada.call("search_memory", query="whose deploy failed?") == "No memories found."
    for tool in ("recall_memory", "recall_memory_read"):
        assert await ada.call(tool, memory_id=secret) == f"Error: Memory not found: {secret}"


async def test_hostile_memories_stay_in_the_fence_of_a_reply(engine: Engine) -> None:
    ada = Agent(engine)
    for text in HOSTILE:
        hostile = text.replace("memory-entry", "tool-result")
        request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=hostile)
        stored = await engine.memory.store("ada", request)
        lines = (await ada.call("recall_memory", memory_id=stored)).split("\n")
        assert [lines[0], lines[2:]] == ["<tool-result>", ["</tool-result>"]]
        assert lines[1].startswith("[semantic] ")
