"""Sensitive memories on the real store: no way of asking gives one to an agent."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.enums import InjectionStrategy, Sensitivity
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.strategies.service import Injection, InjectionRequest
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from synthorg_tui.settings.loader import shipped_settings
from tests.tables import rows

QUESTION = "which port does the staging database use?"
pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "The staging database lives on s3crethost, its port is 6543."
PLAIN = "The staging database listens on port 6543."
EVERY_WAY = [*InjectionStrategy, "digest"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    data_dir = tmp_path_factory.mktemp("withholding")
    async with Engine.open(shipped_settings(), data_dir=data_dir) as opened:
        yield opened


async def store(engine: Engine, content: str, *tags: str) -> str:
    request = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC,
        content=content,
        metadata=MemoryMetadata(tags=("core", *tags)),
    )
    return await engine.memory.store("ada", request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secret(engine: Engine) -> str:
    return await store(engine, SECRET, "sensitivity:sensitive")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plain(engine: Engine) -> str:
    return await store(engine, PLAIN)


async def prepared(engine: Engine, way: str, **asked: Any) -> Injection:
    is_digest = way == "digest"
    strategy = None if is_digest else InjectionStrategy(way)
    request = InjectionRequest("ada", QUESTION, 2000, strategy, digest_v1=is_digest, **asked)
    return await engine.injection.prepare(request)


async def searched(engine: Engine, tool: str, **arguments: Any) -> str:
    tools = ToolBasedInjectionStrategy(
        backend=engine.memory, config=engine.settings.memory.retrieval
    )
    return await tools.handle_tool_call(tool, arguments, "ada")


async def edited(engine: Engine, tool: str, **arguments: Any) -> str:
    tools = SelfEditingMemoryStrategy(
        backend=engine.memory, config=engine.settings.memory.self_editing
    )
    return await tools.handle_tool_call(tool, arguments, "ada")


def about(injection: Injection, memory_id: str) -> Candidate:
    return next(c for c in injection.explanation.candidates if c.entry.id == memory_id)


@rows("way", EVERY_WAY)
async def test_no_prompt_holds_one_even_when_pinned(
    engine: Engine, secret: str, plain: str, way: str
) -> None:
    given = await prepared(engine, way, pinned=(secret,))
    assert "s3crethost" not in given.text
    assert ("6543" in given.text) is (way != InjectionStrategy.TOOL_BASED)


@rows("way", [each for each in EVERY_WAY if each != "tool_based"])
async def test_each_explanation_gives_the_same_reason(
    engine: Engine, secret: str, plain: str, way: str
) -> None:
    candidate = about(await prepared(engine, way), secret)
    assert candidate.verdict is Verdict.SENSITIVE
    assert candidate.reason.startswith("it is sensitive, which is not given to agents")


@rows("way", [each for each in EVERY_WAY if each != "tool_based"])
async def test_each_gives_it_where_the_request_allows_it(
    engine: Engine, secret: str, way: str
) -> None:
    digest = engine.settings.memory.v1.model_copy(
        update={"allow_sensitivities": tuple(Sensitivity)}
    )
    assert "s3crethost" in (await prepared(engine, way, digest=digest)).text


async def test_search_memory_finds_only_what_may_be_given(
    engine: Engine, secret: str, plain: str
) -> None:
    reply = await searched(engine, "search_memory", query=QUESTION)
    assert PLAIN in reply
    assert "s3crethost" not in reply


async def test_a_withheld_memory_takes_no_place_in_a_search(
    engine: Engine, secret: str, plain: str
) -> None:
    about_the_secret = "staging database s3crethost port 6543"
    assert PLAIN in await searched(engine, "search_memory", query=about_the_secret, limit=1)
    found = await edited(engine, "archival_memory_search", query=about_the_secret, limit=1)
    assert PLAIN in found


async def test_archival_search_finds_only_what_may_be_given(
    engine: Engine, secret: str, plain: str
) -> None:
    reply = await edited(engine, "archival_memory_search", query=QUESTION)
    assert plain in reply
    assert secret not in reply


async def test_the_core_is_read_without_it(engine: Engine, secret: str, plain: str) -> None:
    assert await edited(engine, "core_memory_read") == f"[semantic] (id={plain}) {PLAIN}"


@rows(("ask", "tool"), [(searched, "recall_memory"), (edited, "recall_memory_read")])
async def test_by_its_id_it_reads_like_a_missing_one(
    engine: Engine, secret: str, ask: Any, tool: str
) -> None:
    assert await ask(engine, tool, memory_id=secret) == f"Error: Memory not found: {secret}"
