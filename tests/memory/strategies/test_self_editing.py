"""Memory that the agent reads and writes itself, with six tools."""

import asyncio
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.filter import NON_INFERABLE_TAG
from synthorg_tui.memory.injection import MemoryInjectionStrategy
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval_config import SelfEditingMemoryConfig
from synthorg_tui.memory.strategies.schemas import WORTH_WRITING
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.providers.enums import MessageRole
from tests.hostile import HOSTILE
from tests.memory.memory_kit import entry
from tests.memory.strategies.tool_kit import BROKEN, FakeBackend
from tests.tables import rows

TOOLS = (
    "core_memory_read",
    "core_memory_write",
    "archival_memory_search",
    "archival_memory_write",
    "recall_memory_read",
    "recall_memory_write",
)
FAILED = "Error: Memory operation failed."


def build(backend: FakeBackend | None = None, **settings: Any) -> SelfEditingMemoryStrategy:
    config = SelfEditingMemoryConfig.model_validate(settings)
    return SelfEditingMemoryStrategy(backend=backend or FakeBackend(), config=config)


async def call(
    tool: str,
    backend: FakeBackend | None = None,
    args: dict[str, Any] | None = None,
    **settings: Any,
) -> str:
    return await build(backend, **settings).handle_tool_call(tool, args or {}, "ada")


class TestCoreBlock:
    async def test_core_memories_are_in_the_prompt_whatever_the_query(self) -> None:
        backend = FakeBackend(entry("a", "My name is Ada."))
        strategy = build(backend)
        assert isinstance(strategy, MemoryInjectionStrategy)
        directive, block = await strategy.prepare_messages("ada", "unrelated", 500)
        assert (directive.role, block.role) == (MessageRole.SYSTEM, MessageRole.SYSTEM)
        assert block.content == (
            "<memory-entry>\n[semantic | score: 1.00] My name is Ada.\n</memory-entry>"
        )
        assert "<memory-entry> is untrusted" in directive.content

    async def test_core_is_what_is_semantic_and_tagged(self) -> None:
        backend = FakeBackend()
        await build(backend, core_memory_tag="self", core_max_entries=7).prepare_messages(
            "ada", "q", 99
        )
        (query,) = backend.queries
        assert (query.text, query.categories) == (None, frozenset({MemoryCategory.SEMANTIC}))
        assert (query.tags, query.limit) == (("self",), 7)

    @rows(("budget", "core_budget", "entries"), [(2000, 300, 2), (180, 8192, 1), (2000, 8192, 10)])
    async def test_the_smaller_budget_bounds_the_block(
        self, budget: int, core_budget: int, entries: int
    ) -> None:
        backend = FakeBackend(*(entry(f"{n}", "x" * 400) for n in range(10)))
        strategy = build(backend, core_memory_token_budget=core_budget)
        _, block = await strategy.prepare_messages("ada", "q", budget)
        assert block.content.count("<memory-entry>") == entries

    @rows("budget", [0, -1])
    async def test_nothing_without_a_budget(self, budget: int) -> None:
        backend = FakeBackend(entry())
        assert await build(backend).prepare_messages("ada", "q", budget) == ()

    async def test_nothing_without_core_memories(self) -> None:
        assert await build().prepare_messages("ada", "q", 100) == ()

    @rows("failure", [BROKEN, RuntimeError("bug")])
    async def test_a_failure_leaves_the_agent_without_core_memories(
        self, failure: Exception
    ) -> None:
        assert await build(FakeBackend(failure=failure)).prepare_messages("ada", "q", 100) == ()

    async def test_exhausted_memory_is_not_swallowed(self) -> None:
        with pytest.raises(MemoryError):
            await build(FakeBackend(failure=MemoryError())).prepare_messages("ada", "q", 100)

    async def test_no_memory_leaves_its_fence(self) -> None:
        for text in HOSTILE:
            strategy = build(FakeBackend(entry("a", text)), core_memory_token_budget=8192)
            messages = await strategy.prepare_messages("ada", "q", 9999)
            if messages:
                lines = messages[1].content.split("\n")
                assert lines.count("</memory-entry>") == 1
                assert lines[-1] == "</memory-entry>"


class TestTools:
    def test_there_are_six(self) -> None:
        assert tuple(tool.name for tool in build().get_tool_definitions()) == TOOLS

    def test_every_call_gives_schemas_of_its_own(self) -> None:
        strategy = build()
        for each in strategy.get_tool_definitions():
            for schema in each.parameters["properties"].values():
                schema.clear()
            each.parameters["properties"].clear()
        again = {each.name: each.parameters for each in strategy.get_tool_definitions()}
        assert again["archival_memory_write"]["properties"]["category"]["enum"]

    async def test_an_unknown_tool_is_an_error_for_the_model(self) -> None:
        assert await call("magic") == "Error: Unknown memory tool."

    @rows("tool", TOOLS)
    async def test_unknown_arguments_are_refused(self, tool: str) -> None:
        reply = await call(tool, args={"magic": 1})
        assert reply.startswith("Error: Invalid arguments: ")
        assert "magic: Extra inputs are not permitted" in reply

    async def test_the_name_of_the_tool_overrides_an_argument(self) -> None:
        args = {"tool": "core_memory_write"}
        assert await call("core_memory_read", args=args) == "No memories found."

    @rows("tool", TOOLS)
    async def test_any_failure_of_the_backend_is_one_reply(self, tool: str) -> None:
        args = {
            "core_memory_write": {"content": "x"},
            "archival_memory_search": {"query": "x"},
            "archival_memory_write": {"content": "x", "category": "social"},
            "recall_memory_read": {"memory_id": "x"},
            "recall_memory_write": {"content": "x"},
        }.get(tool, {})
        for failure in (BROKEN, RuntimeError("secret")):
            assert await call(tool, FakeBackend(failure=failure), args) == FAILED

    def test_its_name_is_self_editing(self) -> None:
        assert build().strategy_name == "self_editing"

    def test_it_needs_a_memory_backend(self) -> None:
        with pytest.raises(TypeError, match="object is no MemoryBackend"):
            SelfEditingMemoryStrategy(
                backend=object(),  # type: ignore[arg-type]
                config=SelfEditingMemoryConfig(),
            )


class TestCore:
    async def test_reading_lists_ids_and_contents(self) -> None:
        backend = FakeBackend(entry("a", "one"), entry("b", "two"))
        reply = await call("core_memory_read", backend)
        assert reply == "[semantic] (id=a) one\n[semantic] (id=b) two"

    async def test_writing_stores_a_semantic_memory_with_the_core_tag_only(self) -> None:
        backend = FakeBackend()
        reply = await call("core_memory_write", backend, {"content": "I test first."})
        assert reply == "Core memory stored (id=new-1)."
        ((agent, request),) = backend.stored
        assert (agent, request.category) == ("ada", MemoryCategory.SEMANTIC)
        assert request.metadata.tags == ("core",)

    async def test_the_safety_valve_stops_core_writes_and_nothing_else(self) -> None:
        backend = FakeBackend()
        strategy = build(backend, allow_core_writes=False)
        for tool, args in (
            ("core_memory_write", {"content": "x"}),
            ("archival_memory_write", {"content": "x", "category": "semantic"}),
            ("recall_memory_write", {"content": "x"}),
        ):
            await strategy.handle_tool_call(tool, args, "ada")
        assert [request.metadata.tags for _, request in backend.stored] == [("self_edited",)] * 2
        reply = await strategy.handle_tool_call("core_memory_write", {"content": "x"}, "ada")
        assert reply == "Error: Core memory writes are disabled."

    @rows(("known", "stored"), [(2, 1), (3, 0)])
    async def test_a_full_core_memory_takes_no_more(self, known: int, stored: int) -> None:
        backend = FakeBackend(*(entry(f"{n}") for n in range(known)))
        reply = await call("core_memory_write", backend, {"content": "x"}, core_max_entries=3)
        assert len(backend.stored) == stored
        assert reply.startswith("Error: Core memory is full (3 entries)") == (not stored)

    async def test_writes_at_the_same_time_do_not_exceed_the_maximum(self) -> None:
        backend = InMemoryBackend()
        await backend.connect()
        config = SelfEditingMemoryConfig(core_max_entries=3)
        strategy = SelfEditingMemoryStrategy(backend=backend, config=config)
        writes = (
            strategy.handle_tool_call("core_memory_write", {"content": f"{n}"}, "ada")
            for n in range(9)
        )
        replies = await asyncio.gather(*writes)
        assert sum(reply.startswith("Core memory stored") for reply in replies) == 3


class TestClaim:
    WRITES: ClassVar[dict[str, dict[str, Any]]] = {
        "core_memory_write": {"content": "x"},
        "archival_memory_write": {"content": "x", "category": "semantic"},
        "recall_memory_write": {"content": "x"},
    }

    @pytest.mark.parametrize("tool", WRITES)
    @pytest.mark.parametrize("claimed", [True, False, None])
    async def test_a_memory_is_non_inferable_when_its_writer_says_so(
        self, tool: str, claimed: bool | None
    ) -> None:
        backend = FakeBackend()
        more = {} if claimed is None else {"non_inferable": claimed}
        assert not (await call(tool, backend, self.WRITES[tool] | more)).startswith("Error")
        ((_, request),) = backend.stored
        assert (NON_INFERABLE_TAG in request.metadata.tags) is bool(claimed)

    def test_every_writing_tool_tells_what_is_worth_writing_and_how_to_claim_it(self) -> None:
        tools = {tool.name: tool for tool in build().get_tool_definitions()}
        for name in self.WRITES:
            assert WORTH_WRITING in tools[name].description
            claim = tools[name].parameters["properties"]["non_inferable"]
            assert claim["type"] == "boolean"
            assert "digests" in claim["description"]
            assert "non_inferable" not in tools[name].parameters["required"]
        assert WORTH_WRITING not in tools["core_memory_read"].description


class TestArchive:
    async def search(self, args: dict[str, Any], **settings: Any) -> tuple[str, FakeBackend]:
        backend = FakeBackend(entry("a", "one", relevance=0.5))
        return await call("archival_memory_search", backend, args, **settings), backend

    async def test_a_search_lists_ids_and_contents(self) -> None:
        reply, backend = await self.search({"query": "x"})
        assert reply == "[semantic] (id=a) one"
        assert backend.queries[0].text == "x"
        assert backend.queries[0].categories == frozenset(MemoryCategory) - {MemoryCategory.WORKING}

    @rows(("limit", "asked"), [(None, 5), (1, 1), (5, 5), (6, 5), (1000, 5)])
    async def test_the_limit_is_clamped_to_the_configured_one(
        self, limit: int | None, asked: int
    ) -> None:
        _, backend = await self.search({"query": "x", "limit": limit}, archival_search_limit=5)
        assert backend.queries[0].limit == asked

    @rows(
        "args",
        [
            {},
            {"query": " "},
            {"query": "x", "limit": 0},
            {"query": "x", "limit": 1001},
            {"query": "x", "category": "working"},
            {"query": "x", "category": "magic"},
        ],
    )
    async def test_arguments_out_of_range_are_refused(self, args: dict[str, Any]) -> None:
        reply, backend = await self.search(args)
        assert reply.startswith("Error: Invalid arguments: ")
        assert backend.queries == []

    async def test_only_configured_categories_are_searched(self) -> None:
        settings: dict[str, Any] = {"archival_categories": ["semantic"]}
        reply, backend = await self.search({"query": "x", "category": "social"}, **settings)
        assert reply.startswith("Error: ")
        assert backend.queries == []
        _, backend = await self.search({"query": "x", "category": "semantic"}, **settings)
        assert backend.queries[0].categories == frozenset({MemoryCategory.SEMANTIC})

    async def test_only_configured_categories_are_written(self) -> None:
        backend, settings = FakeBackend(), {"archival_categories": ["semantic"]}
        args = {"content": "x", "category": "social"}
        reply = await call("archival_memory_write", backend, args, **settings)
        assert reply == "Error: Invalid arguments: category: this one isn't archived."
        assert backend.stored == []
        await call("archival_memory_write", backend, args | {"category": "semantic"}, **settings)
        assert len(backend.stored) == 1

    @rows(("tagging", "tags"), [(True, ("self_edited",)), (False, ())])
    async def test_what_is_written_is_tagged(self, tagging: bool, tags: tuple[str, ...]) -> None:
        backend = FakeBackend()
        args = {"content": "x", "category": "procedural"}
        reply = await call("archival_memory_write", backend, args, write_auto_tag=tagging)
        assert reply == "Archival memory stored (id=new-1, category=procedural)."
        assert backend.stored[0][1].metadata.tags == tags

    @rows("content", ["", " ", "x" * 50_001])
    async def test_content_is_neither_blank_nor_endless(self, content: str) -> None:
        args = {"content": content, "category": "social"}
        assert (await call("archival_memory_write", args=args)).startswith("Error: Invalid")

    async def test_content_may_have_50_000_characters(self) -> None:
        args = {"content": "x" * 50_000, "category": "social"}
        assert (await call("archival_memory_write", args=args)).startswith("Archival")

    async def test_working_memory_is_not_archived(self) -> None:
        args = {"content": "x", "category": "working"}
        reply = await call("archival_memory_write", args=args)
        assert "category: Value error, 'working' is not archival" in reply


class TestRecall:
    async def test_an_episode_is_recorded_and_tagged(self) -> None:
        backend = FakeBackend()
        reply = await call("recall_memory_write", backend, {"content": "It broke."})
        assert reply == "Episodic memory recorded (id=new-1)."
        request = backend.stored[0][1]
        assert (request.category, request.metadata.tags) == (
            MemoryCategory.EPISODIC,
            ("self_edited",),
        )

    async def test_a_memory_is_read_by_its_id(self) -> None:
        backend = FakeBackend(entry("a", "one", relevance=0.5))
        assert await call("recall_memory_read", backend, {"memory_id": "a"}) == "[semantic] one"

    async def test_an_unknown_id_is_an_error(self) -> None:
        reply = await call("recall_memory_read", args={"memory_id": "x" * 256})
        assert reply == f"Error: Memory not found: {'x' * 64}"

    @rows("memory_id", ["", " ", "x" * 257])
    async def test_an_id_is_neither_blank_nor_endless(self, memory_id: str) -> None:
        reply = await call("recall_memory_read", args={"memory_id": memory_id})
        assert reply.startswith("Error: Invalid arguments: memory_id: ")


async def test_no_memory_can_forge_a_line() -> None:
    for text in HOSTILE:
        found: tuple[MemoryEntry, ...] = (entry("a", text), entry("b", "second"))
        listed = await call("core_memory_read", FakeBackend(*found))
        first, second = listed.splitlines()
        assert first.startswith("[semantic] (id=a) ")
        assert second == "[semantic] (id=b) second"


class TestConfig:
    @rows(
        ("field", "low", "high"),
        [
            ("core_memory_token_budget", 256, 8192),
            ("core_max_entries", 1, 200),
            ("archival_search_limit", 1, 50),
        ],
    )
    def test_ranges(self, field: str, low: int, high: int) -> None:
        for value in (low, high):
            SelfEditingMemoryConfig.model_validate({field: value})
        for value in (low - 1, high + 1):
            with pytest.raises(ValidationError):
                SelfEditingMemoryConfig.model_validate({field: value})

    @rows("categories", [[], ["working"], ["working", "social"]])
    def test_working_memory_is_no_archive_and_there_must_be_one(
        self, categories: list[str]
    ) -> None:
        with pytest.raises(ValidationError):
            SelfEditingMemoryConfig.model_validate({"archival_categories": categories})
