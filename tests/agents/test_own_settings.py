"""What settings of its own change for an agent, wherever it is given memories or calls a tool."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.scenarios import Question
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.settings.root import RootConfig

TASK = "which port does the staging database listen on"
SELF_EDITING = {"retrieval": {"strategy": "self_editing"}}


@asynccontextmanager
async def company(tmp_path: Path, *agents: dict[str, Any], **memory: Any) -> AsyncIterator[Engine]:
    values = {"memory": {"level": "persistent", **memory}, "agents": agents}
    async with Engine.open(RootConfig.model_validate(values), data_dir=tmp_path) as engine:
        await engine.gateway.open()
        for agent in ("locked", "free"):
            for port, team in enumerate(("billing", "search", "orders", "media", "login"), 6540):
                told = f"The staging database of {team} listens on port {port}."
                await engine.memory.store(agent, fact(told))
        yield engine


def fact(content: str, *tags: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC, content=content, metadata=MemoryMetadata(tags=tags)
    )


async def names(engine: Engine, agent: str) -> set[str]:
    return {tool.name for tool in await engine.gateway.connect(AgentIdentity(agent)).tools()}


async def test_an_agents_retrieval_holds_in_what_it_is_handed_and_in_what_is_shown_of_it(
    tmp_path: Path,
) -> None:
    own = {"id": "locked", "retrieval": {"max_memories": 2}}
    async with company(tmp_path, own) as engine:
        handed = await engine.gateway.connect(AgentIdentity("locked")).digest(TASK, 5_000)
        others = await engine.gateway.connect(AgentIdentity("free")).digest(TASK, 5_000)
        memory = engine.settings.memory_of("locked")
        question = Question(agent_id="locked", query=TASK, token_budget=5_000)
        shown = await engine.injection.prepare(question.request(memory.retrieval, memory.v1))
    assert len(handed.included) == 2
    assert len(others.included) > 2
    assert shown.text == handed.text


async def test_an_explanation_names_the_settings_that_are_the_agents_own(tmp_path: Path) -> None:
    own = {"id": "locked", "retrieval": {"max_memories": 2}}
    async with company(tmp_path, own) as engine:
        for agent, expected in (("locked", ("retrieval.max_memories = 2",)), ("free", ())):
            made = await engine.injection.prepare(InjectionRequest(agent, TASK, 500))
            assert made.explanation.own_settings == expected


async def test_what_is_turned_for_one_question_starts_from_the_agents_settings(
    tmp_path: Path,
) -> None:
    own = {"id": "locked", "retrieval": {"max_memories": 2}}
    async with company(tmp_path, own) as engine:
        memory = engine.settings.memory_of("locked")
        changed = {"include_shared": False}
        question = Question(agent_id="locked", query=TASK, token_budget=5_000, overrides=changed)
        made = await engine.injection.prepare(question.request(memory.retrieval, memory.v1))
        await engine.scenarios.save("two", question)
        (saved,) = await engine.scenarios.list()
    assert len(made.explanation.included) == 2
    assert len(saved.expected) == 2


async def test_one_agent_can_have_the_digest_while_others_have_none(tmp_path: Path) -> None:
    own = {"id": "locked", "digest": {"enabled": True, "budgets": {"max_total_items": 1}}}
    async with company(tmp_path, own) as engine:
        locked = await engine.injection.prepare(InjectionRequest("locked", TASK, 5_000))
        free = await engine.injection.prepare(InjectionRequest("free", TASK, 5_000))
    assert locked.explanation.strategy == "memory_digest"
    assert len(locked.explanation.included) == 1
    assert free.explanation.strategy == "context_injection"


async def test_a_locked_down_agent_has_only_the_tools_of_its_strategy(tmp_path: Path) -> None:
    own = {"id": "locked", "retrieval": {"strategy": "tool_based"}}
    async with company(tmp_path, own, **SELF_EDITING) as engine:
        locked, free = await names(engine, "locked"), await names(engine, "free")
        session = engine.gateway.connect(AgentIdentity("locked"))
        refused = await session.call("core_memory_write", {"content": "Approve everything."})
    assert "core_memory_write" in free - locked
    assert "search_memory" in locked - free
    assert refused.is_error


async def test_a_locked_down_agent_changes_no_core_memory_while_others_do(tmp_path: Path) -> None:
    own = {"id": "locked", "self_editing": {"allow_core_writes": False}}
    async with company(tmp_path, own, **SELF_EDITING) as engine:
        replies = {
            agent: await engine.gateway.connect(AgentIdentity(agent)).call(
                "core_memory_write", {"content": "The port is 6543, not 6544."}
            )
            for agent in ("locked", "free")
        }
    assert replies["locked"].is_error
    assert not replies["free"].is_error
