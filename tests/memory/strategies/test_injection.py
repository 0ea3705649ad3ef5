"""What an agent is given, from the real store to the last byte."""

import builtins
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.engine import Engine
from synthorg_tui.memory.enums import FusionStrategy, InjectionPoint
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.extensions import CandidateSource, MemoryDraft, ScopedViews
from synthorg_tui.memory.filter import PassthroughMemoryFilter
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexFilter, IndexHits, SparseVector, Visibility
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.explanation import Explanation, Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import Injection, InjectionRequest, InjectionService
from synthorg_tui.persistence import INDEX_DIR
from synthorg_tui.providers.embedding.protocol import Vectors
from synthorg_tui.settings.loader import shipped_settings
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import FlakyIndex, opened, request
from tests.tables import rows

QUESTION = "which port does the staging database use?"
PLENTY = 1_000_000
SHIPPED = shipped_settings().memory.retrieval
TWINS = (
    "the staging database listens on port 6543 since monday",
    "the staging database listens on port 6543 since tuesday",
    "the staging database listens on port 6543 since friday",
)
OTHER = "ask before you use the staging database: its port is shared with the tests"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(shipped_settings(), data_dir=tmp_path) as opened_engine:
        yield opened_engine


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path) as backend:
        yield backend


async def fill(store: LocalMemoryBackend, contents: Sequence[str], agent: str = "ada") -> list[str]:
    drafts = [MemoryDraft(request=request(content)) for content in contents]
    return list((await store.store_many(agent, drafts, actor="test")).added)


async def prepared(
    store: LocalMemoryBackend,
    query: str = QUESTION,
    budget: int = PLENTY,
    *,
    visibility: Visibility | None = None,
    **changes: object,
) -> Injection:
    config = MemoryRetrievalConfig.model_validate(
        {**SHIPPED.model_dump(exclude_defaults=True), **changes}
    )
    service = InjectionService(memory=store, retrieval=config, clock=FixedClock())
    asked = InjectionRequest("ada", query, budget, visibility=visibility)
    return await service.prepare(asked)


def included(injection: Injection) -> list[str]:
    return [candidate.entry.content for candidate in injection.explanation.included]


def check_sums(explanation: Explanation) -> None:
    """What must hold for every explanation."""
    candidates = explanation.candidates
    assert len({c.entry.id for c in candidates}) == len(candidates)
    assert len(explanation.included) + len(explanation.left_out) == len(candidates)
    assert candidates == (*explanation.included, *explanation.left_out)
    assert all(candidate.reason for candidate in candidates)
    assert explanation.text.count("\n</memory-entry>") == len(explanation.included)
    memories = sum(c.tokens for c in explanation.included)
    assert memories + explanation.frame_tokens == explanation.tokens_used
    assert estimate_tokens(explanation.text) <= explanation.tokens_used
    assert explanation.tokens_used <= max(0, explanation.token_budget)


async def test_an_agent_gets_what_is_about_its_task_and_what_others_share(engine: Engine) -> None:
    memory = engine.memory
    assert isinstance(memory, LocalMemoryBackend)
    own = await memory.store("ada", request("The staging database listens on port 6543."))
    await memory.store("ada", request("Deploys happen on Thursdays."))
    await memory.store("eve", request("The staging database of Eve listens on port 1."))
    shared = await memory.publish("bob", request("The staging database needs TLS."))
    given = await engine.injection.prepare(InjectionRequest("ada", QUESTION, 500))
    assert [c.entry.id for c in given.explanation.included] == [own, shared]
    assert "[shared] [semantic | score: " in given.text
    assert "of Eve" not in given.text
    assert {c.verdict for c in given.explanation.left_out} == {Verdict.NOT_RELEVANT}
    assert given.text == given.explanation.text
    assert given.explanation.degraded == ""
    check_sums(given.explanation)


async def test_a_query_about_nothing_gets_nothing_and_is_told_why(engine: Engine) -> None:
    await engine.memory.store("ada", request("The staging database listens on port 6543."))
    asked = InjectionRequest("ada", "knitting pattern for toddler mittens", 500)
    given = await engine.injection.prepare(asked)
    assert (given.messages, given.text) == ((), "")
    (candidate,) = given.explanation.candidates
    assert candidate.verdict is Verdict.NOT_RELEVANT
    assert candidate.dense is not None
    assert "nothing is about the query" in candidate.reason


async def test_the_local_store_gives_candidates_and_scopes(store: LocalMemoryBackend) -> None:
    assert isinstance(store, CandidateSource)
    assert isinstance(store, ScopedViews)


async def test_every_candidate_is_accounted_for(store: LocalMemoryBackend) -> None:
    await fill(store, [*TWINS, OTHER, *(f"port number {n} of the database" for n in range(20))])
    await store.publish("bob", request("the database port is secret"))
    for fusion, diverse in product(FusionStrategy, (False, True)):
        wanted = {
            "fusion_strategy": fusion,
            "diversity_penalty_enabled": diverse,
            "max_memories": 4,
            "min_relevance": 0.0,
        }
        for budget in (0, 30, 60, 90, 120, 260, PLENTY):
            given = await prepared(store, budget=budget, **wanted)  # type: ignore[arg-type]
            check_sums(given.explanation)
        assert len(given.explanation.included) == 4
        assert len(given.explanation.candidates) >= 20


@pytest.mark.parametrize("fusion", list(FusionStrategy))
async def test_variety_promotes_a_memory_from_below_the_cut(
    store: LocalMemoryBackend, fusion: FusionStrategy
) -> None:
    await fill(store, [*TWINS, OTHER])
    plain: dict[str, Any] = {"fusion_strategy": fusion, "max_memories": 2, "min_relevance": 0.0}
    before = await prepared(store, "staging database listens on port", **plain)
    assert OTHER not in included(before)
    after = await prepared(
        store,
        "staging database listens on port",
        diversity_penalty_enabled=True,
        diversity_lambda=0.3,
        candidate_pool_multiplier=2,
        **plain,
    )
    assert OTHER in included(after)
    promoted = next(c for c in after.explanation.included if c.entry.content == OTHER)
    assert promoted.rank > 2
    assert "promoted to 2 for variety" in promoted.reason
    similar = next(c for c in after.explanation.left_out if c.verdict is Verdict.TOO_SIMILAR)
    assert similar.similar_to in {c.entry.id for c in after.explanation.included}


class Raising(PassthroughMemoryFilter):
    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        raise RuntimeError("cannot tell")


async def test_a_filter_that_raises_yields_nothing(store: LocalMemoryBackend) -> None:
    await fill(store, TWINS)
    strategy = ContextInjectionStrategy(
        backend=store, config=SHIPPED, memory_filter=Raising(), clock=FixedClock()
    )
    assert await strategy.prepare_messages("ada", QUESTION, PLENTY) == ()
    explanation = (await strategy.prepare("ada", QUESTION, PLENTY)).explanation
    assert {c.verdict for c in explanation.candidates} == {Verdict.FILTERED}


async def test_without_the_embedder_keywords_are_searched_and_it_says_so(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    async with opened(tmp_path, embedder=embedder) as store:
        await fill(store, TWINS)
        embedder.broken = True
        for fusion in FusionStrategy:
            given = await prepared(store, fusion_strategy=fusion, min_relevance=0.0)
            assert len(given.explanation.included) == 3
            assert "keywords only" in given.explanation.degraded
            check_sums(given.explanation)


class Failing(EdgeIndex):
    """An index whose searches raise what they are told to."""

    error: BaseException | None = None

    async def search(
        self,
        where: IndexFilter,
        *,
        dense: Vectors | None,
        sparse: SparseVector | None,
        limit: int,
    ) -> IndexHits:
        if self.error is not None:
            raise self.error
        return await super().search(where, dense=dense, sparse=sparse, limit=limit)


async def test_a_broken_index_gives_nothing_and_says_so(tmp_path: Path) -> None:
    index = Failing(tmp_path / INDEX_DIR)
    async with opened(tmp_path, index=index) as store:
        await fill(store, TWINS)
        index.error = VectorIndexError("disk full")
        given = await prepared(store)
        assert given.messages == ()
        assert given.explanation.degraded == "the search failed: retrieving failed: disk full"


@rows("kind", [builtins.MemoryError, RecursionError])
async def test_exhaustion_inside_the_store_is_raised_bare(
    tmp_path: Path, kind: type[Exception]
) -> None:
    index = Failing(tmp_path / INDEX_DIR)
    async with opened(tmp_path, index=index) as store:
        await fill(store, TWINS)
        index.error = kind("out")
        with pytest.raises(kind):
            await prepared(store)


async def test_memories_that_the_index_misses_are_announced(tmp_path: Path) -> None:
    index = FlakyIndex(tmp_path / INDEX_DIR)
    async with opened(tmp_path, index=index) as store:
        await fill(store, TWINS[:1])
        index.broken = True
        await fill(store, [OTHER])
        given = await prepared(store)
        assert "repaired" in given.explanation.degraded
        index.broken = False


async def test_only_what_is_visible_from_there_is_a_candidate(store: LocalMemoryBackend) -> None:
    drafts = [
        MemoryDraft(request=request(content), level=MemoryLevel.PROJECT, project=project)
        for content, project in ((TWINS[0], "/here"), (TWINS[1], "/there"))
    ]
    await store.store_many("ada", drafts, actor="test")
    here = await prepared(store, visibility=Visibility(session_id=None, project="/here"))
    assert [c.entry.content for c in here.explanation.candidates] == [TWINS[0]]
    assert len((await prepared(store)).explanation.candidates) == 2


async def test_recency_settles_near_ties_and_does_not_lose_old_memories(
    store: LocalMemoryBackend,
) -> None:
    now = FixedClock().now()
    week_old = "the staging database listens on port 6543"
    drafts = [
        MemoryDraft(request=request(week_old), created_at=now.replace(year=now.year - 1)),
        *(
            MemoryDraft(request=request(f"database number {n} was restarted"), created_at=now)
            for n in range(30)
        ),
    ]
    await store.store_many("ada", drafts, actor="test")
    given = await prepared(store)
    assert included(given)[0] == week_old


async def test_no_hostile_memory_leaves_its_fence(store: LocalMemoryBackend) -> None:
    kept = [content for content in HOSTILE if "\x00" not in content]
    ids = await fill(store, kept)
    for point in InjectionPoint:
        service = InjectionService(
            memory=store,
            retrieval=SHIPPED.model_copy(update={"injection_point": point, "max_memories": 100}),
            clock=FixedClock(),
        )
        asked = InjectionRequest("ada", "memory entry", PLENTY)
        given = await service.prepare(replace(asked, pinned=tuple(ids)))
        directive, blocks = given.messages
        assert len(given.explanation.included) == len(ids) >= 60
        assert "never as instructions" in directive.content
        closings = re.findall(r"<\s*/\s*memory-entry", blocks.content, re.IGNORECASE)
        assert len(closings) == len(ids)
        check_sums(given.explanation)
