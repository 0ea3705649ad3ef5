"""Whatever memories say, what an agent is handed takes no more tokens than it may."""

import asyncio
import math
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.digest.builder import MemoryDigest
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.explanation import PreparedMessages
from synthorg_tui.memory.retrieval.hits import CopiesOf, SearchHit, SearchResult
from synthorg_tui.memory.retrieval_config import SelfEditingMemoryConfig
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from synthorg_tui.memory.strategies import replies
from synthorg_tui.memory.strategies.self_editing import SelfEditingMemoryStrategy
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.digest import digest_kit
from tests.memory.memory_kit import NOW, entry
from tests.memory.retriever_kit import Source, config
from tests.memory.strategies.tool_kit import FakeBackend
from tests.soak import points


class Words:
    """A tokenizer that counts parts lower than the whole: a token begins at every other word."""

    def estimate_tokens(self, text: str) -> int:
        return math.ceil(len(text.split()) / 2)


class Clustered(Source):
    """A source of which every other hit has copies, and the first is a lesson made of others."""

    async def candidates(self, *args: Any, **named: Any) -> SearchResult:
        ids = [hit.entry.id for hit in self.hits]
        copies = {key: CopiesOf((f"{key}-copy",) * 9, NOW) for key in ids[::2]}
        made_of = {ids[0]: frozenset(ids[3:5])} if ids else {}
        return SearchResult(self.hits, copies=copies, made_of=made_of)


pieces = st.sampled_from(
    [
        *(text for text in HOSTILE if len(text) < 500),
        "</memory-entry>",
        "open ports\n",
        "\u202e",
        "# T\n",
        "é " * 40,
    ]
)
contents = (
    st.lists(
        st.one_of(
            st.text(min_size=1, max_size=40), pieces, st.integers(1, 3_000).map("ports ".__mul__)
        ),
        min_size=1,
        max_size=4,
    )
    .map("".join)
    .filter(str.strip)
)
memories = st.lists(contents, min_size=1, max_size=9)
budgets = st.integers(1, 1_200)
estimators = st.sampled_from([None, Words()])
FEW = settings(max_examples=points(10, 300), deadline=None)
KINDS = ("episodic", "procedural", "semantic")


def entries(texts: list[str]) -> list[MemoryEntry]:
    return [
        entry(f"m{place}", text, hours=place, tags=("core", f"fact:k{place % 3}"))
        for place, text in enumerate(texts)
    ]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def fits(prepared: PreparedMessages, budget: int, estimator: TokenEstimator | None) -> bool:
    count = estimate_tokens if estimator is None else estimator.estimate_tokens
    explanation = prepared.explanation
    text = "\n\n".join(message.content for message in prepared.messages)
    assert text == explanation.text
    return count(text) <= explanation.tokens_used <= budget


@given(memories, budgets, estimators, st.integers(16, 200))
@FEW
@example(["ports " * 3_000], 170, None, 48)
def test_memories_in_the_prompt_fit_their_budget(
    texts: list[str], budget: int, estimator: TokenEstimator | None, passage: int
) -> None:
    hits = [SearchHit(each, 0.9, 9.0, 0.9) for each in entries(texts)]
    strategy = ContextInjectionStrategy(
        backend=Clustered(*hits),
        config=config(max_passage_tokens=passage, min_relevance=0),
        token_estimator=estimator,
        clock=FixedClock(NOW + timedelta(days=1)),
    )
    assert fits(run(strategy.prepare("ada", "open ports", budget)), budget, estimator)


@given(memories, budgets, estimators)
@FEW
def test_core_memories_and_the_tools_directive_fit_their_budget(
    texts: list[str], budget: int, estimator: TokenEstimator | None
) -> None:
    backend = FakeBackend(*entries(texts))
    own = SelfEditingMemoryStrategy(
        backend=backend, config=SelfEditingMemoryConfig(), token_estimator=estimator
    )
    assert fits(run(own.prepare("ada", "open ports", budget)), budget, estimator)
    tools = ToolBasedInjectionStrategy(backend=backend, config=config(), token_estimator=estimator)
    assert fits(run(tools.prepare("ada", "open ports", budget)), budget, estimator)


@given(memories, budgets)
@FEW
def test_a_digest_with_its_title_and_fence_fits_its_budget(texts: list[str], budget: int) -> None:
    items = [
        digest_kit.item(text, number=place, category=KINDS[place % 3], tags=("fact:k",))
        for place, text in enumerate(texts)
    ]
    source = digest_kit.ListSource(found_words=[(item, 1) for item in items])
    digest = MemoryDigest(source, digest_kit.config(budgets=digest_kit.budgets()))
    result = run(digest.build("ada", "ports", token_budget=budget))
    assert not result.included_ids or estimate_tokens(result.part) <= budget


@given(st.lists(contents, min_size=1, max_size=20), estimators)
@settings(FEW, max_examples=8)
@example(["ports " * 3_000] * 3, Words())
def test_a_reply_to_a_search_fits_its_budget_and_names_what_it_tells(
    texts: list[str], estimator: TokenEstimator | None
) -> None:
    count = estimate_tokens if estimator is None else estimator.estimate_tokens
    backend = FakeBackend(*entries(texts))
    tools = ToolBasedInjectionStrategy(
        backend=backend, config=config(max_memories=50), token_estimator=estimator
    )
    own = SelfEditingMemoryStrategy(
        backend=backend, config=SelfEditingMemoryConfig(), token_estimator=estimator
    )
    asked = {"query": "ports", "limit": 50}
    reply = run(tools.answer("search_memory", asked, "ada"))
    assert count(reply.fenced) <= replies.MAX_REPLY_TOKENS
    assert reply.ids == tuple(f"m{place}" for place in range(len(reply.ids)))
    assert reply.ids
    for tool, arguments in (
        ("archival_memory_search", {"query": "ports"}),
        ("core_memory_read", {}),
    ):
        reply = run(own.answer(tool, arguments, "ada"))
        assert count(reply.fenced) <= replies.MAX_REPLY_TOKENS
        assert not reply.is_error
