"""One service prepares what agents are given, whatever the strategy."""

from pathlib import Path

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.service import Injection, InjectionRequest, InjectionService
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.memory_kit import NOW
from tests.memory.store.store_kit import opened, request
from tests.scripted import ScriptedProvider
from tests.tables import rows

PLENTY = 1_000_000


async def filled(*contents: str, tag: str = "core") -> InMemoryBackend:
    backend = InMemoryBackend(clock=FixedClock(NOW))
    await backend.connect()
    for content in contents:
        await backend.store(
            "ada",
            MemoryStoreRequest(
                category=MemoryCategory.SEMANTIC,
                content=content,
                metadata=MemoryMetadata(tags=(tag,)),
            ),
        )
    return backend


async def given(
    backend: InMemoryBackend,
    strategy: InjectionStrategy | None = None,
    *,
    query: str = "port",
    budget: int = PLENTY,
    retrieval: MemoryRetrievalConfig | None = None,
    provider: ScriptedProvider | None = None,
) -> Injection:
    service = InjectionService(
        memory=backend,
        retrieval=retrieval or MemoryRetrievalConfig(),
        clock=FixedClock(NOW),
        model=lambda: provider,
    )
    request = InjectionRequest("ada", query, budget, strategy=strategy)
    injection = await service.prepare(request)
    assert injection.text == injection.explanation.text
    return injection


@rows("strategy", InjectionStrategy)
async def test_every_strategy_there_is_can_be_asked_for(strategy: InjectionStrategy) -> None:
    injection = await given(await filled("The port is 6543."), strategy)
    assert injection.explanation.strategy.startswith(strategy.value)


async def test_the_configured_strategy_is_used_unless_the_request_names_another() -> None:
    backend = await filled("The port is 6543.")
    configured = MemoryRetrievalConfig(strategy=InjectionStrategy.SELF_EDITING)
    injection = await given(backend, retrieval=configured)
    assert injection.explanation.strategy == "self_editing"
    injection = await given(backend, InjectionStrategy.CONTEXT, retrieval=configured)
    assert injection.explanation.strategy == "context_injection"


async def test_context_injection_gives_memories_and_no_tools() -> None:
    injection = await given(await filled("The port is 6543."))
    assert "The port is 6543." in injection.text
    assert injection.tools == ()


async def test_tools_come_with_an_instruction_and_without_memories() -> None:
    injection = await given(await filled("The port is 6543."), InjectionStrategy.TOOL_BASED)
    assert [tool.name for tool in injection.tools] == ["search_memory", "recall_memory"]
    assert "6543" not in injection.text
    explanation = injection.explanation
    assert explanation.candidates == ()
    assert explanation.tokens_used == explanation.frame_tokens == estimate_tokens(injection.text)


async def test_an_instruction_that_the_budget_has_no_room_for_is_left_out_and_says_so() -> None:
    backend = await filled("The port is 6543.")
    whole = (await given(backend, InjectionStrategy.TOOL_BASED)).explanation.tokens_used
    for budget, size in ((whole, whole), (whole - 1, 0)):
        injection = await given(backend, InjectionStrategy.TOOL_BASED, budget=budget)
        assert injection.explanation.tokens_used == size
        assert bool(injection.text) is bool(size)
    assert injection.explanation.degraded == (
        f"a budget of {whole - 1} tokens is too small: at least {whole} are needed"
    )


@rows(
    ("strategy", "digest_v1"),
    [*((strategy, False) for strategy in InjectionStrategy), (None, True)],
)
async def test_what_is_handed_over_is_never_over_budget_in_any_strategy(
    tmp_path: Path, strategy: InjectionStrategy | None, digest_v1: bool
) -> None:
    async with opened(tmp_path) as backend:
        for n in range(12):
            note = request(f"The port of host {n} is {6543 + n}. " * (n + 1), tags=("core",))
            await backend.store("ada", note)
        service = InjectionService(memory=backend, retrieval=MemoryRetrievalConfig())
        sizes = set()
        for budget in range(1, 700, 7):
            asked = InjectionRequest("ada", "port", budget, strategy, digest_v1=digest_v1)
            explanation = (await service.prepare(asked)).explanation
            assert estimate_tokens(explanation.text) <= explanation.tokens_used <= budget
            over = any(c.verdict is Verdict.OVER_BUDGET for c in explanation.candidates)
            assert bool(explanation.text) or over or "too small" in explanation.degraded
            sizes.add(explanation.tokens_used)
        assert len(sizes) > 1


async def test_reformulation_without_a_model_is_left_out_and_says_so() -> None:
    wanted = MemoryRetrievalConfig(
        strategy=InjectionStrategy.TOOL_BASED, query_reformulation_enabled=True
    )
    injection = await given(await filled("x"), retrieval=wanted)
    assert "no model" in injection.explanation.degraded
    injection = await given(await filled("x"), retrieval=wanted, provider=ScriptedProvider())
    assert injection.explanation.degraded == ""


async def test_self_editing_gives_the_core_memories_with_an_account_of_each() -> None:
    backend = await filled("Call me Ada.", "x" * 2000)
    injection = await given(backend, InjectionStrategy.SELF_EDITING, budget=300)
    explanation = injection.explanation
    assert len(injection.tools) == 6
    assert [c.verdict for c in explanation.candidates] == [Verdict.INCLUDED, Verdict.OVER_BUDGET]
    memory = explanation.candidates[0].tokens
    assert explanation.tokens_used == memory + explanation.frame_tokens <= 300


async def test_core_memories_that_can_not_be_read_give_nothing_and_say_so() -> None:
    backend = await filled("Call me Ada.")
    await backend.disconnect()
    injection = await given(backend, InjectionStrategy.SELF_EDITING)
    assert injection.messages == ()
    assert "reading the core memories failed" in injection.explanation.degraded


async def test_hierarchical_retrieval_and_reranking_without_a_model_fall_back_and_say_so() -> None:
    wanted = MemoryRetrievalConfig(retriever="hierarchical", query_specific_rerank_enabled=True)
    backend = await filled("The port is 6543.", "Another port is 1.")
    injection = await given(backend, retrieval=wanted)
    assert len(injection.explanation.included) == 2
    assert "searched flat instead" in injection.explanation.degraded


async def test_hostile_core_memories_stay_in_their_fences() -> None:
    backend = await filled(*HOSTILE[:15])
    injection = await given(backend, InjectionStrategy.SELF_EDITING)
    assert injection.text.count("\n</memory-entry>") == len(injection.explanation.included)
