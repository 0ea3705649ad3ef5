"""The documented backend: policies in order, the text search, and who may write."""

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.memory.org.access_control import WriteAccessConfig, check_write_access
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import (
    OrgMemoryAccessDeniedError,
    OrgMemoryConfigError,
    OrgMemoryConnectionError,
    OrgMemoryWriteError,
)
from synthorg_tui.memory.org.factory import create_org_backend
from synthorg_tui.memory.org.hybrid_backend import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgMemoryQuery
from synthorg_tui.memory.org.protocol import OrgMemoryBackend
from synthorg_tui.memory.org.store import MAX_FACT_CHARS, OrgStore
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.memory.org.org_kit import JUNIOR, PERSON, SENIOR, ever_written, fact
from tests.memory.store.store_kit import opened
from tests.tables import rows

STATIC = ("Review first.", "No secrets.")
CLOCK = FixedClock()
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalMemoryBackend]:
    folder: Path = tmp_path_factory.mktemp("hybrid")
    async with opened(folder, clock=CLOCK) as backend:
        yield backend


@pytest_asyncio.fixture(loop_scope="module")
async def backend(local: LocalMemoryBackend) -> HybridPromptRetrievalBackend:
    """Connected, with nothing written but by the test itself."""
    store = OrgStore(local.core)
    for each in await store.matching(None):
        await store.delete(each.id, author=PERSON)
    CLOCK.advance(hours=1)
    made = HybridPromptRetrievalBackend(
        core_policies=STATIC, store=store, access_config=WriteAccessConfig()
    )
    await made.connect()
    return made


async def write(
    backend: HybridPromptRetrievalBackend,
    content: str,
    category: OrgFactCategory = OrgFactCategory.CONVENTION,
) -> str:
    CLOCK.advance(minutes=1)
    return await backend.write(fact(content, category), author=PERSON)


async def found(backend: HybridPromptRetrievalBackend, **fields: object) -> list[str]:
    query = OrgMemoryQuery.model_validate(fields)
    return [each.content for each in await backend.query(query)]


async def test_it_is_the_backend_that_the_settings_name(local: LocalMemoryBackend) -> None:
    made = create_org_backend(OrgMemoryConfig(), OrgStore(local.core))
    assert isinstance(made, OrgMemoryBackend)
    assert made.backend_name == "hybrid_prompt_retrieval"
    unknown = OrgMemoryConfig.model_construct(backend="telepathy")  # type: ignore[arg-type]
    with pytest.raises(OrgMemoryConfigError, match=r"'telepathy'.*hybrid_prompt_retrieval"):
        create_org_backend(unknown, OrgStore(local.core))


async def test_before_it_is_connected_it_answers_nothing(local: LocalMemoryBackend) -> None:
    made = HybridPromptRetrievalBackend(store=OrgStore(local.core))
    assert not made.is_connected
    assert not await made.health_check()
    for call in (
        made.query(OrgMemoryQuery()),
        made.write(fact(), author=PERSON),
        made.list_policies(),
        made.count_policies(),
    ):
        with pytest.raises(OrgMemoryConnectionError):
            await call
    await made.connect()
    assert made.is_connected
    assert await made.health_check()
    await made.disconnect()
    await made.disconnect()
    assert not made.is_connected


async def test_it_does_not_connect_to_a_closed_store(tmp_path: Path) -> None:
    async with opened(tmp_path) as local:
        made = HybridPromptRetrievalBackend(store=OrgStore(local.core))
        await made.connect()
    assert not made.is_connected
    with pytest.raises(OrgMemoryConnectionError):
        await made.connect()


async def test_policies_of_the_settings_come_first_then_written_ones_newest_first(
    backend: HybridPromptRetrievalBackend,
) -> None:
    await write(backend, "older", OrgFactCategory.CORE_POLICY)
    await write(backend, "newer", OrgFactCategory.CORE_POLICY)
    await write(backend, "no policy")
    policies = await backend.list_policies()
    assert [each.content for each in policies] == [*STATIC, "newer", "older"]
    assert [each.id for each in policies[:2]] == ["core-policy-0", "core-policy-1"]
    assert policies[0].author.is_human
    assert await backend.count_policies() == 4


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        (None, 0, ["Review first.", "No secrets.", "newer", "older"]),
        (2, 1, ["No secrets.", "newer"]),
        (None, 3, ["older"]),
        (9, 9, []),
        (0, 0, []),
        (-1, 0, []),
        (1, -5, ["Review first."]),
    ],
)
async def test_pages_of_policies_cut_the_whole_list(
    backend: HybridPromptRetrievalBackend, limit: int | None, offset: int, expected: list[str]
) -> None:
    await write(backend, "older", OrgFactCategory.CORE_POLICY)
    await write(backend, "newer", OrgFactCategory.CORE_POLICY)
    page = await backend.list_policies(limit=limit, offset=offset)
    assert [each.content for each in page] == expected


async def test_a_text_is_found_in_any_case_the_earliest_shortest_newest_first(
    backend: HybridPromptRetrievalBackend,
) -> None:
    await write(backend, "we always Deploy on Mondays")
    await write(backend, "DEPLOY on Tuesdays")
    await write(backend, "deploy fast")
    await write(backend, "deploy soon")
    await write(backend, "nothing else")
    assert await found(backend, context="deploy") == [
        "deploy soon",
        "deploy fast",
        "DEPLOY on Tuesdays",
        "we always Deploy on Mondays",
    ]


@pytest.mark.parametrize("text", ["100%", "a_b", r"c:\d", "it's", "[x]"])
async def test_no_character_of_the_text_is_a_wildcard(
    backend: HybridPromptRetrievalBackend, text: str
) -> None:
    await write(backend, f"say {text} here")
    await write(backend, "say 1000 aXb c:d its x here")
    assert await found(backend, context=text) == [f"say {text} here"]


async def test_without_a_text_the_newest_come_first(backend: HybridPromptRetrievalBackend) -> None:
    for content in ("one", "two", "three"):
        await write(backend, content)
    assert await found(backend, limit=2) == ["three", "two"]


async def test_only_the_categories_asked_for_are_found(
    backend: HybridPromptRetrievalBackend,
) -> None:
    await write(backend, "an adr", OrgFactCategory.ADR)
    await write(backend, "a convention")
    assert await found(backend, categories=["adr"]) == ["an adr"]
    assert await found(backend, categories=[]) == []


RULES = (
    WriteAccessConfig(),
    WriteAccessConfig.model_validate({"policies": ["lead"], "adrs": ["human", "mid"]}),
)


@rows("rules, category, seniority", product(RULES, OrgFactCategory, [None, *SeniorityLevel]))
async def test_what_the_rules_forbid_leaves_no_line(
    local: LocalMemoryBackend,
    rules: WriteAccessConfig,
    category: OrgFactCategory,
    seniority: SeniorityLevel | None,
) -> None:
    author = PERSON if seniority is None else OrgFactAuthor(agent_id="coder", seniority=seniority)
    store = OrgStore(local.core)
    made = HybridPromptRetrievalBackend(store=store, access_config=rules)
    await made.connect()
    before = len(await ever_written(store))
    if check_write_access(rules, category, author):
        fact_id = await made.write(fact("allowed", category), author=author)
        assert [line.author_seniority for line in await store.log(fact_id)] == [seniority]
        return
    with pytest.raises(OrgMemoryAccessDeniedError, match=f"cannot write to category '{category}'"):
        await made.write(fact("forbidden", category), author=author)
    assert len(await ever_written(store)) == before


async def test_a_refusal_names_the_agent_its_level_and_the_category(
    backend: HybridPromptRetrievalBackend,
) -> None:
    with pytest.raises(OrgMemoryAccessDeniedError) as denied:
        await backend.write(fact(), author=JUNIOR)
    assert denied.value.message == (
        "Write access denied: agent intern (junior) cannot write to category 'convention'"
    )


async def test_a_write_that_fails_says_why(backend: HybridPromptRetrievalBackend) -> None:
    with pytest.raises(OrgMemoryWriteError, match="characters at most"):
        await backend.write(fact("x" * (MAX_FACT_CHARS + 1)), author=SENIOR)
