"""All strategies, hierarchical search, reformulation and re-ranking on the bundled model."""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.search_and_ask import (
    LLMQueryReformulator,
    LLMSufficiencyChecker,
)
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.memory.tools import ToolRegistry, registry_with_memory_tools
from synthorg_tui.providers.completion.config import AutoModelConfig
from synthorg_tui.providers.completion.factory import bundled_model, create_completion_provider
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage, ToolDefinition
from synthorg_tui.settings.loader import shipped_settings

QUESTION = "which port does the staging database use?"
MODEL = AutoModelConfig(threads=1, context_tokens=2048)  # a busy machine starves more threads
MEMORIES = (
    ("The staging database listens on port 6543.", MemoryCategory.SEMANTIC, ()),
    ("To reach the staging database, open a tunnel first.", MemoryCategory.PROCEDURAL, ()),
    ("The staging database was down yesterday.", MemoryCategory.EPISODIC, ()),
    ("I answer briefly.", MemoryCategory.SEMANTIC, ("core",)),
)


@pytest.fixture(scope="module", autouse=True)
def _needs_the_model() -> None:
    if bundled_model() is None or find_spec("llama_cpp") is None:
        pytest.skip("the local model runtime is not installed: make model")


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    providers = shipped_settings().providers.model_copy(update={"completion": MODEL})
    settings = shipped_settings().model_copy(update={"providers": providers})
    async with Engine.open(settings, data_dir=tmp_path) as opened:
        for content, category, tags in MEMORIES:
            metadata = MemoryMetadata(tags=tags)
            request = MemoryStoreRequest(category=category, content=content, metadata=metadata)
            await opened.memory.store("ada", request)
        yield opened


@pytest.fixture
async def model() -> AsyncIterator[CompletionProvider]:
    provider = create_completion_provider(MODEL)
    assert provider is not None
    yield provider
    await provider.close()


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (InjectionStrategy.CONTEXT, "port 6543"),
        (InjectionStrategy.TOOL_BASED, "search_memory"),
        (InjectionStrategy.SELF_EDITING, "I answer briefly."),
    ],
)
async def test_every_strategy_prepares_its_messages(
    engine: Engine, strategy: InjectionStrategy, told: str
) -> None:
    request = InjectionRequest("ada", QUESTION, 500, strategy=strategy)
    given = await engine.injection.prepare(request)
    assert told in given.text
    assert given.explanation.degraded == ""


async def test_hierarchical_search_and_reranking_answer_without_falling_back(
    engine: Engine,
) -> None:
    config = MemoryRetrievalConfig.model_validate(
        {
            **shipped_settings().memory.retrieval.model_dump(),
            "retriever": "hierarchical",
            "query_specific_rerank_enabled": True,
            "max_retry_count": 1,
        }
    )
    request = InjectionRequest("ada", QUESTION, 500, retrieval=config)
    given = await engine.injection.prepare(request)
    assert "staging database" in given.text
    assert "hierarchical search failed" not in given.explanation.degraded
    assert "model failed" not in given.explanation.degraded
    again = await engine.injection.prepare(request)
    assert again.text == given.text


async def test_a_tool_call_searches_and_asks(engine: Engine, model: CompletionProvider) -> None:
    config = MemoryRetrievalConfig(
        strategy=InjectionStrategy.TOOL_BASED,
        query_reformulation_enabled=True,
        max_reformulation_rounds=1,
    )
    strategy = ToolBasedInjectionStrategy(
        backend=engine.memory,
        config=config,
        reformulator=LLMQueryReformulator(model),
        sufficiency_checker=LLMSufficiencyChecker(model),
    )
    tools = registry_with_memory_tools(ToolRegistry(), strategy, "ada")
    result = await tools.get("search_memory").execute(arguments={"query": QUESTION})
    assert not result.is_error
    assert result.content.startswith("<tool-result>\n[")
    assert "port 6543" in result.content


async def test_the_model_words_another_question(engine: Engine, model: CompletionProvider) -> None:
    found = await engine.memory.retrieve("ada", MemoryQuery(text=QUESTION, limit=1))
    assert await LLMQueryReformulator(model).reformulate(QUESTION, found)


async def test_the_bundled_model_answers_when_tools_are_offered(
    model: CompletionProvider,
) -> None:
    """It is too small to call them well: whatever it writes is an answer, a call or an error."""
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    tool = ToolDefinition(name="read_file", description="Read a file.", parameters=parameters)
    question = ChatMessage(role=MessageRole.USER, content="Read README.md.")
    answer = await model.complete([question], CompletionOptions(max_tokens=40, tools=(tool,)))
    assert answer.text or answer.tool_uses or answer.format_error
    assert answer.usage.prompt_tokens > len(["Read", "README.md."])
