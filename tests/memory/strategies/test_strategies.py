"""Every strategy as the injection service builds and explains it."""

import json
from typing import Any

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig, SelfEditingMemoryConfig
from synthorg_tui.memory.strategies.service import Injection, InjectionRequest, InjectionService
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.memory_kit import NOW, entry
from tests.memory.strategies.tool_kit import BROKEN, FakeBackend
from tests.scripted import BUSY, ScriptedProvider
from tests.tables import rows

FACTS = (entry("a", "first", relevance=0.9), entry("b", "second", relevance=0.8))


def service(
    backend: FakeBackend,
    provider: ScriptedProvider | None = None,
    **settings: Any,
) -> InjectionService:
    return InjectionService(
        memory=backend,
        retrieval=MemoryRetrievalConfig(**settings),
        model=lambda: provider,
        self_editing=SelfEditingMemoryConfig(),
        clock=FixedClock(NOW),
    )


async def prepare(service: InjectionService, budget: int = 500, **request: Any) -> Injection:
    given = await service.prepare(InjectionRequest("ada", "why", budget, **request))
    assert given.text == given.explanation.text
    return given


def included(given: Injection) -> list[str]:
    return [candidate.entry.id for candidate in given.explanation.included]


class TestToolBased:
    async def test_the_agent_gets_the_instruction_and_two_tools(self) -> None:
        given = await prepare(service(FakeBackend(), strategy=InjectionStrategy.TOOL_BASED))
        assert [tool.name for tool in given.tools] == ["search_memory", "recall_memory"]
        assert len(given.messages) == 1
        assert given.explanation.candidates == ()
        assert given.explanation.strategy == "tool_based"

    async def test_reformulation_without_a_model_is_left_out_and_reported(self) -> None:
        asking: dict[str, Any] = {"strategy": "tool_based", "query_reformulation_enabled": True}
        without = await prepare(service(FakeBackend(), **asking))
        assert without.explanation.degraded == ("there is no model: searches are not reformulated")
        with_model = await prepare(service(FakeBackend(), ScriptedProvider(), **asking))
        assert with_model.explanation.degraded == ""


class TestSelfEditing:
    async def test_the_agent_gets_its_core_and_six_tools(self) -> None:
        chosen = service(FakeBackend(*FACTS), strategy=InjectionStrategy.SELF_EDITING)
        given = await prepare(chosen)
        assert len(given.tools) == 6
        assert included(given) == ["a", "b"]
        assert "first" in given.text
        memories = sum(candidate.tokens for candidate in given.explanation.included)
        assert given.explanation.tokens_used == memories + given.explanation.frame_tokens

    async def test_each_core_memory_is_accounted_for(self) -> None:
        long = entry("long", "x" * 5000)
        backend = FakeBackend(FACTS[0], long, FACTS[1], entry("out", "no"))
        chosen = service(backend, strategy=InjectionStrategy.SELF_EDITING)
        given = await prepare(chosen, pinned=("b",), excluded=("out",))
        assert [(c.entry.id, c.verdict) for c in given.explanation.candidates] == [
            ("b", Verdict.PINNED),
            ("a", Verdict.INCLUDED),
            ("long", Verdict.OVER_BUDGET),
            ("out", Verdict.EXCLUDED),
        ]
        assert all(candidate.reason for candidate in given.explanation.candidates)

    async def test_a_core_that_can_not_be_read_is_reported(self) -> None:
        chosen = service(FakeBackend(failure=BROKEN), strategy=InjectionStrategy.SELF_EDITING)
        given = await prepare(chosen)
        assert given.messages == ()
        assert given.explanation.degraded == "reading the core memories failed: the index is gone"


class TestHierarchical:
    settings: dict[str, Any] = {"retriever": "hierarchical"}  # noqa: RUF012

    async def test_the_model_chooses_the_search(self) -> None:
        model = ScriptedProvider(json.dumps({"workers": ["procedural"]}))
        backend = FakeBackend(*FACTS)
        given = await prepare(service(backend, model, **self.settings))
        assert included(given) == ["a", "b"]
        assert backend.queries[0].categories == frozenset({MemoryCategory.PROCEDURAL})
        assert given.explanation.degraded == ""

    @rows(
        ("model", "reason"),
        [
            (None, "no language model is configured"),
            (ScriptedProvider(BUSY), "busy"),
            (ScriptedProvider("what?"), "the model answered with no JSON object"),
        ],
    )
    async def test_without_its_help_the_result_is_the_flat_one_and_says_so(
        self, model: ScriptedProvider | None, reason: str
    ) -> None:
        flat = await prepare(service(FakeBackend(*FACTS)))
        given = await prepare(service(FakeBackend(*FACTS), model, **self.settings))
        assert given.messages == flat.messages
        assert given.explanation.degraded == (
            f"the hierarchical search failed: {reason}; searched flat instead"
        )


class TestReranking:
    settings: dict[str, Any] = {"query_specific_rerank_enabled": True}  # noqa: RUF012

    async def test_the_model_orders_and_is_asked_once(self) -> None:
        model = ScriptedProvider('{"ranking": [1, 0]}')
        chosen = service(FakeBackend(*FACTS), model, **self.settings)
        assert included(await prepare(chosen)) == ["b", "a"]
        assert included(await prepare(chosen)) == ["b", "a"]

    async def test_it_orders_what_the_hierarchical_search_found(self) -> None:
        model = ScriptedProvider('{"workers": ["semantic"]}', '{"ranking": [1, 0]}')
        chosen = service(FakeBackend(*FACTS), model, retriever="hierarchical", **self.settings)
        assert included(await prepare(chosen)) == ["b", "a"]

    @rows("model", [None, ScriptedProvider(BUSY), ScriptedProvider("what?")])
    async def test_without_its_help_the_result_is_the_flat_one_and_says_so(
        self, model: ScriptedProvider | None
    ) -> None:
        flat = await prepare(service(FakeBackend(*FACTS)))
        given = await prepare(service(FakeBackend(*FACTS), model, **self.settings))
        assert given.messages == flat.messages
        assert given.explanation.degraded.startswith("reranking failed: ")


@rows("strategy", list(InjectionStrategy))
async def test_hostile_memories_leave_fences_and_directive_intact(
    strategy: InjectionStrategy,
) -> None:
    for text in HOSTILE:
        chosen = service(FakeBackend(entry("a", text, relevance=1.0)), strategy=strategy)
        given = await prepare(chosen, budget=100_000)
        if not given.messages:  # too long for the core memory
            continue
        assert " is untrusted external input" in given.messages[0].content
        for block in (message.content for message in given.messages[1:]):
            assert block.startswith("<memory-entry>\n")
            assert block.endswith("\n</memory-entry>")
            assert block.count("\n</memory-entry>") == 1
