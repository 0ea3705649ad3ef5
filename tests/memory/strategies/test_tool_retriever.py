"""Memory as two tools that the agent calls."""

import math
from typing import Any

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.injection import MemoryInjectionStrategy
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.search_and_ask import (
    LLMQueryReformulator,
    LLMSufficiencyChecker,
)
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.providers.enums import MessageRole
from tests.hostile import HOSTILE
from tests.memory.memory_kit import entry
from tests.memory.strategies.tool_kit import BROKEN, FakeBackend
from tests.scripted import ScriptedProvider
from tests.tables import rows

CONFIG = MemoryRetrievalConfig(strategy=InjectionStrategy.TOOL_BASED)
ASKING = CONFIG.model_copy(update={"query_reformulation_enabled": True})


def strategy(*entries: MemoryEntry, failure: Exception | None = None) -> ToolBasedInjectionStrategy:
    return ToolBasedInjectionStrategy(backend=FakeBackend(*entries, failure=failure), config=CONFIG)


async def search(backend: FakeBackend, config: MemoryRetrievalConfig = CONFIG, **args: Any) -> str:
    tools = ToolBasedInjectionStrategy(backend=backend, config=config)
    return await tools.handle_tool_call("search_memory", {"query": "why", **args}, "ada")


async def recall(*entries: MemoryEntry, failure: Exception | None = None, **args: Any) -> str:
    return await strategy(*entries, failure=failure).handle_tool_call("recall_memory", args, "ada")


class TestPrompt:
    async def test_one_system_message_names_the_tools_and_the_fence(self) -> None:
        tools = strategy()
        assert isinstance(tools, MemoryInjectionStrategy)
        (message,) = await tools.prepare_messages("ada", "why", 100)
        assert message.role is MessageRole.SYSTEM
        for word in ("search_memory", "recall_memory", "<tool-result> is untrusted"):
            assert word in message.content

    @rows("budget", [0, -1])
    async def test_nothing_without_a_budget(self, budget: int) -> None:
        assert await strategy().prepare_messages("ada", "why", budget) == ()

    def test_its_name_is_tool_based(self) -> None:
        assert strategy().strategy_name == "tool_based"


class TestSchemas:
    def test_search_takes_a_query_categories_and_a_limit(self) -> None:
        definition, _ = strategy().get_tool_definitions()
        properties = definition.parameters["properties"]
        assert definition.name == "search_memory"
        assert definition.parameters["required"] == ["query"]
        assert properties["categories"]["items"]["enum"] == [c.value for c in MemoryCategory]
        limit = properties["limit"]
        assert (limit["default"], limit["minimum"], limit["maximum"]) == (10, 1, 50)

    def test_recall_takes_an_id(self) -> None:
        _, definition = strategy().get_tool_definitions()
        assert definition.name == "recall_memory"
        assert definition.parameters["required"] == ["memory_id"]
        assert definition.parameters["properties"]["memory_id"]["maxLength"] == 256

    def test_every_call_gives_schemas_of_its_own(self) -> None:
        tools = strategy()
        for each in tools.get_tool_definitions():
            each.parameters["properties"].clear()
        assert all(each.parameters["properties"] for each in tools.get_tool_definitions())


class TestSearch:
    async def test_one_line_a_memory_with_category_and_relevance(self) -> None:
        found = FakeBackend(entry("a", "Use uv.", relevance=0.834), entry("b", "Or pip."))
        assert await search(found) == "[semantic] (relevance: 0.83) Use uv.\n[semantic] Or pip."

    async def test_nothing_found(self) -> None:
        assert await search(FakeBackend()) == "No memories found."

    @rows("query", [None, 3, "", " \n", ["why"]])
    async def test_a_query_must_say_something(self, query: object) -> None:
        backend = FakeBackend()
        assert await search(backend, query=query) == "Error: query must be a non-empty string."
        assert backend.queries == []

    @rows(
        ("limit", "asked"),
        [
            (1, 1),
            (20, 20),
            (21, 20),
            (0, 1),
            (-5, 1),
            (3.9, 3),
            (1e30, 20),
            (True, 10),
            ("5", 10),
            (None, 10),
            (math.inf, 10),
            (math.nan, 10),
        ],
    )
    async def test_a_limit_is_read_leniently_and_clamped(self, limit: object, asked: int) -> None:
        backend = FakeBackend()
        await search(backend, limit=limit)
        assert backend.queries[0].limit == asked

    @rows(("most", "asked"), [(4, 4), (49, 49), (50, 50), (100, 50)])
    async def test_no_more_than_fifty_or_the_configured_maximum(
        self, most: int, asked: int
    ) -> None:
        backend = FakeBackend()
        await search(backend, CONFIG.model_copy(update={"max_memories": most}), limit=99)
        assert backend.queries[0].limit == asked

    async def test_categories_filter(self) -> None:
        backend = FakeBackend()
        reply = await search(backend, categories=["semantic", "social"])
        assert backend.queries[0].categories == frozenset(
            {MemoryCategory.SEMANTIC, MemoryCategory.SOCIAL}
        )
        assert reply == "No memories found."

    async def test_bad_categories_are_reported_and_the_rest_filters(self) -> None:
        backend = FakeBackend(entry("a", "x"))
        reply = await search(backend, categories=["semantic", "magic", 3])
        assert reply == "[semantic] x\n(Ignored invalid categories: magic, 3)"
        assert backend.queries[0].categories == frozenset({MemoryCategory.SEMANTIC})

    @rows("categories", [["magic"], "semantic", 7, {"a": 1}])
    async def test_without_a_good_one_the_search_is_unfiltered(self, categories: object) -> None:
        backend = FakeBackend()
        reply = await search(backend, categories=categories)
        assert reply.splitlines()[1].startswith("(Ignored invalid categories: ")
        assert backend.queries[0].categories is None

    async def test_a_failure_is_told_without_its_reason(self) -> None:
        expected = "Error: Memory search is temporarily unavailable."
        assert await search(FakeBackend(failure=BROKEN)) == expected
        surprise = await search(FakeBackend(failure=RuntimeError("secret")))
        assert surprise == "Error: Memory search encountered an unexpected error."

    @rows("error", [MemoryError(), RecursionError()])
    async def test_exhausted_memory_is_not_swallowed(self, error: Exception) -> None:
        with pytest.raises(type(error)):
            await search(FakeBackend(failure=error))


class TestRecall:
    async def test_a_memory_is_shown_like_a_search_line(self) -> None:
        assert await recall(entry("a", "Use uv."), memory_id="a") == "[semantic] Use uv."

    async def test_an_unknown_id_is_repeated_up_to_64_characters(self) -> None:
        assert await recall(memory_id="x" * 99) == f"Error: Memory not found: {'x' * 64}"

    @rows("memory_id", [None, "", "  ", 7])
    async def test_an_id_is_required(self, memory_id: object) -> None:
        assert await recall(memory_id=memory_id) == "Error: memory_id is required."

    async def test_an_id_has_at_most_256_characters(self) -> None:
        assert "not found" in await recall(memory_id="x" * 256)
        assert "exceeds maximum allowed length" in await recall(memory_id="x" * 257)

    async def test_a_failure_is_told_without_its_reason(self) -> None:
        expected = "Error: Memory recall is temporarily unavailable."
        assert await recall(failure=BROKEN, memory_id="a") == expected
        surprise = await recall(failure=RuntimeError("secret"), memory_id="a")
        assert surprise == "Error: Memory recall encountered an unexpected error."


async def test_an_unknown_tool_is_an_error_of_the_program() -> None:
    with pytest.raises(ValueError, match="no memory tool 'write'"):
        await strategy().handle_tool_call("write", {}, "ada")


async def test_no_memory_can_forge_a_line_or_an_error() -> None:
    for text in HOSTILE:
        reply = await search(FakeBackend(entry("a", text), entry("b", "second")))
        first, second = reply.splitlines()
        assert first.startswith("[semantic] ")
        assert second == "[semantic] second"


class TestReformulation:
    def build(self, backend: FakeBackend, *answers: str) -> ToolBasedInjectionStrategy:
        model = ScriptedProvider(*answers)
        return ToolBasedInjectionStrategy(
            backend=backend,
            config=ASKING,
            reformulator=LLMQueryReformulator(model),
            sufficiency_checker=LLMSufficiencyChecker(model),
        )

    async def test_a_poor_result_is_improved_with_a_better_question(self) -> None:
        backend = FakeBackend(
            by_text={
                "why": (entry("a", "meh", relevance=0.2),),
                "how": (entry("b", "yes", relevance=0.9),),
            }
        )
        tools = self.build(backend, "INSUFFICIENT", "how", "SUFFICIENT")
        reply = await tools.handle_tool_call("search_memory", {"query": "why"}, "ada")
        assert reply == "[semantic] (relevance: 0.90) yes\n[semantic] (relevance: 0.20) meh"

    async def test_the_merged_result_is_cut_to_the_limit(self) -> None:
        backend = FakeBackend(
            by_text={
                "why": (entry("a", "meh", relevance=0.2),),
                "how": (entry("b", "yes", relevance=0.9),),
            }
        )
        tools = self.build(backend, "INSUFFICIENT", "how", "SUFFICIENT")
        reply = await tools.handle_tool_call("search_memory", {"query": "why", "limit": 1}, "ada")
        assert reply == "[semantic] (relevance: 0.90) yes"

    async def test_the_categories_hold_for_every_round(self) -> None:
        backend = FakeBackend(entry("a"))
        tools = self.build(backend, "INSUFFICIENT", "how", "SUFFICIENT")
        arguments = {"query": "why", "categories": ["semantic"]}
        await tools.handle_tool_call("search_memory", arguments, "ada")
        assert [q.categories for q in backend.queries] == [frozenset({MemoryCategory.SEMANTIC})] * 2

    async def test_a_failing_first_search_is_told(self) -> None:
        tools = self.build(FakeBackend(failure=BROKEN))
        reply = await tools.handle_tool_call("search_memory", {"query": "why"}, "ada")
        assert reply == "Error: Memory search is temporarily unavailable."

    def test_it_needs_both_collaborators(self) -> None:
        model = ScriptedProvider()
        with pytest.raises(ValueError, match="needs a reformulator"):
            ToolBasedInjectionStrategy(
                backend=FakeBackend(), config=ASKING, reformulator=LLMQueryReformulator(model)
            )
        with pytest.raises(ValueError, match="needs a reformulator"):
            ToolBasedInjectionStrategy(
                backend=FakeBackend(),
                config=ASKING,
                sufficiency_checker=LLMSufficiencyChecker(model),
            )


async def test_of_a_long_memory_a_search_gives_the_passage_and_a_way_to_the_whole() -> None:
    key = "3f2a9c1b-0000-4000-8000-000000000000"
    long = entry(key, "A title. " + "Nothing of it. " * 200 + "That is why it failed.")
    found = await search(FakeBackend(long), query="why it failed")
    assert found.endswith("That is why it failed. [whole: recall_memory 3f2a9c1b]")
    assert len(found) < 1_000
    short = entry("a", "That is why.")
    assert (await search(FakeBackend(short))).endswith("That is why.")
