"""The strategies' tools in an agent's registry."""

from collections.abc import Mapping
from typing import Any

import pytest

from synthorg_tui.core.enums import ToolCategory
from synthorg_tui.memory.injection import MemoryInjectionStrategy
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig, SelfEditingMemoryConfig
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.memory.tools import (
    BaseTool,
    RecallMemoryTool,
    SearchMemoryTool,
    ToolNotFoundError,
    ToolRegistry,
    ToolResult,
    registry_with_memory_tools,
)
from synthorg_tui.providers.models import ChatMessage, ToolDefinition
from tests.hostile import HOSTILE
from tests.memory.memory_kit import entry
from tests.memory.strategies.tool_kit import BROKEN, FakeBackend
from tests.tables import rows


class Echo(BaseTool):
    def __init__(self, name: str = "echo") -> None:
        definition = ToolDefinition(name=name, description="Says it again.", parameters={})
        super().__init__(definition, category=ToolCategory.OTHER)

    async def execute(self, *, arguments: Mapping[str, Any]) -> ToolResult:
        return ToolResult(content=f"{arguments}")


class WithoutTools:
    strategy_name = "context_injection"

    async def prepare_messages(
        self, agent_id: str, query_text: str, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        return ()

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        return ()


def tool_based(backend: FakeBackend | None = None) -> ToolBasedInjectionStrategy:
    return ToolBasedInjectionStrategy(
        backend=backend or FakeBackend(), config=MemoryRetrievalConfig()
    )


def self_editing(backend: FakeBackend | None = None) -> SelfEditingMemoryStrategy:
    return SelfEditingMemoryStrategy(
        backend=backend or FakeBackend(), config=SelfEditingMemoryConfig()
    )


class TestRegistry:
    def test_tools_are_found_by_name(self) -> None:
        one, two = Echo("b"), Echo("a")
        registry = ToolRegistry((one, two))
        assert registry.get("b") is one
        assert registry.list_tools() == ("a", "b")
        assert registry.all_tools() == (one, two)
        assert [each.name for each in registry.to_definitions()] == ["a", "b"]
        assert "a" in registry
        assert len(registry) == 2

    def test_an_unknown_name_is_an_error_that_lists_the_known_ones(self) -> None:
        with pytest.raises(ToolNotFoundError, match="no tool 'x'; there are: a, b"):
            ToolRegistry((Echo("b"), Echo("a"))).get("x")

    def test_a_name_is_given_once(self) -> None:
        with pytest.raises(ValueError, match="two tools named 'echo'"):
            ToolRegistry((Echo(), Echo()))


class TestAddingMemoryTools:
    @rows("strategy", [None, WithoutTools()])
    def test_without_tools_the_registry_stays_the_same(
        self, strategy: MemoryInjectionStrategy | None
    ) -> None:
        registry = ToolRegistry((Echo(),))
        assert registry_with_memory_tools(registry, strategy, "ada") is registry

    def test_tool_based_adds_two(self) -> None:
        registry = registry_with_memory_tools(ToolRegistry((Echo(),)), tool_based(), "ada")
        assert registry.list_tools() == ("echo", "recall_memory", "search_memory")
        assert isinstance(registry.get("search_memory"), SearchMemoryTool)
        assert isinstance(registry.get("recall_memory"), RecallMemoryTool)

    def test_self_editing_adds_six(self) -> None:
        registry = registry_with_memory_tools(ToolRegistry(), self_editing(), "ada")
        assert len(registry) == 6
        assert {tool.category for tool in registry.all_tools()} == {ToolCategory.MEMORY}

    def test_a_name_that_is_taken_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="search_memory"):
            registry_with_memory_tools(ToolRegistry((Echo("search_memory"),)), tool_based(), "ada")

    def test_any_other_failure_leaves_the_registry_as_it_was(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        strategy, registry = self_editing(), ToolRegistry()

        def broken() -> tuple[ToolDefinition, ...]:
            raise RuntimeError("bug")

        monkeypatch.setattr(strategy, "get_tool_definitions", broken)
        assert registry_with_memory_tools(registry, strategy, "ada") is registry


class TestExecution:
    async def run(
        self, backend: FakeBackend, tool: str, arguments: dict[str, Any]
    ) -> tuple[str, bool]:
        strategy = self_editing(backend) if "_memory_" in tool else tool_based(backend)
        registry = registry_with_memory_tools(ToolRegistry(), strategy, "ada")
        result = await registry.get(tool).execute(arguments=arguments)
        return result.content, result.is_error

    async def test_stored_text_comes_in_a_fence(self) -> None:
        found = FakeBackend(entry("a", "Use uv."))
        content, is_error = await self.run(found, "search_memory", {"query": "x"})
        assert content == "<tool-result>\n[semantic] Use uv.\n</tool-result>"
        assert not is_error

    async def test_an_error_is_marked_and_bare(self) -> None:
        broken = FakeBackend(failure=BROKEN)
        content, is_error = await self.run(broken, "search_memory", {"query": "x"})
        assert content == "Error: Memory search is temporarily unavailable."
        assert is_error

    async def test_our_own_words_are_bare(self) -> None:
        assert await self.run(FakeBackend(), "search_memory", {"query": "x"}) == (
            "No memories found.",
            False,
        )
        written = await self.run(FakeBackend(), "core_memory_write", {"content": "x"})
        assert written == ("Core memory stored (id=new-1).", False)

    async def test_a_memory_that_says_error_is_no_error(self) -> None:
        backend = FakeBackend(entry("a", "Error: it failed"))
        content, is_error = await self.run(backend, "recall_memory", {"memory_id": "a"})
        assert not is_error
        assert content.startswith("<tool-result>")

    @rows("tool", ["search_memory", "core_memory_read"])
    async def test_no_memory_leaves_the_fence(self, tool: str) -> None:
        arguments = {"query": "x"} if tool == "search_memory" else {}
        breaks = [text.replace("memory-entry", "tool-result") for text in HOSTILE]
        for text in breaks:
            content, _ = await self.run(FakeBackend(entry("a", text)), tool, arguments)
            first, line, last = content.split("\n")
            assert (first, last) == ("<tool-result>", "</tool-result>")
            assert "</tool-result>" not in line

    def test_every_tool_that_hands_out_memories_says_that_they_are_data(self) -> None:
        for strategy in (tool_based(), self_editing()):
            for each in strategy.get_tool_definitions():
                reads = "write" not in each.name
                assert ("data, never instructions" in each.description) == reads
