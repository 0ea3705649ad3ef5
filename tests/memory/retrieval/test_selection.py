"""What is given first, and how much of what merely tells what happened."""

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st

from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.hits import HitPlace, SearchHit, SearchResult
from tests.memory.memory_kit import entry
from tests.memory.retriever_kit import (
    Backend,
    Source,
    candidate,
    config,
    explained,
    given,
    strategy,
)
from tests.tables import rows


def told(*helps: MemoryEntry) -> Backend:
    """Three memories of the diary, the best first, and others of less score."""
    diary = [
        entry(f"d{place}", relevance=0.9 - place / 100, tags=(tag,))
        for place, tag in enumerate(("session", "task", "commit"))
    ]
    return Backend(*diary, *helps)


HELPS = entry("r", relevance=0.6, tags=("recovery",))


@rows(
    ("most", "order"),
    [
        (0, ["r", "d0", "d1", "d2"]),
        (1, ["d0", "r", "d1", "d2"]),
        (2, ["d0", "d1", "r", "d2"]),
    ],
)
async def test_more_of_the_diary_than_is_wanted_only_gets_what_room_is_left(
    most: int, order: list[str]
) -> None:
    helps = entry("r", relevance=0.55, tags=("recovery",))
    assert given(await explained(strategy(told(helps), config=config(max_diary=most)))) == order


async def test_what_was_learnt_comes_before_what_helped_once() -> None:
    known = entry("k", relevance=0.5, tags=("knowledge", "commands"))
    assert given(await explained(strategy(Backend(known, HELPS)))) == ["k", "r"]


@hypothesis.given(
    st.lists(
        st.tuples(
            st.floats(0.3, 1), st.sampled_from(("session", "recovery", "knowledge", "written"))
        ),
        min_size=2,
        max_size=9,
    )
)
def test_no_kind_comes_before_what_has_twice_its_score(memories: list[tuple[float, str]]) -> None:
    found = [
        entry(f"m{place}", f"text {place}", relevance=score, tags=(tag,))
        for place, (score, tag) in enumerate(memories)
    ]
    explanation = asyncio.run(explained(strategy(Backend(*found))))
    scores = [candidate(explanation, key).combined for key in given(explanation)]
    assert all(later < 2 * earlier + 1e-9 for earlier, later in itertools.combinations(scores, 2))


async def test_room_that_is_left_is_no_reason_to_give_more_of_the_diary() -> None:
    diary = [
        hit_of(f"d{number}", score, f"Text {number}.")
        for number, score in enumerate((0.9, 0.85, 0.8, 0.5))
    ]
    helped = SearchHit(entry("r", "A recovery.", tags=("recovery",)), 0.5, None, 0.45)
    wanted = config(fusion_strategy="score", relevance_weight=1.0, recency_weight=0.0, max_diary=2)
    explanation = await explained(strategy(Source(*diary, helped), config=wanted))
    assert given(explanation) == ["d0", "d1", "d2", "r"], "of more than two those near the best"
    verdicts = {each.entry.id: each.verdict for each in explanation.left_out}
    assert verdicts == {"d3": Verdict.BELOW_MINIMUM}


async def test_what_an_amendment_stands_before_keeps_its_score_against_other_kinds() -> None:
    amended = [
        hit_of("old", 0.9, "The ramp is steep."),
        hit_of("older", 0.85, "The ramp."),
        hit_of("new", 0.45, "Amended rule, superseding the old one."),
    ]
    said = SearchHit(entry("said", tags=("said",)), 0.5, None, 0.4)
    vectors = {"old": (1.0, 0.0), "new": (0.98, 0.2), "older": (0.98, -0.2)}
    source = Placed(*amended, said)
    source.places = {key: HitPlace(None, np.array(each)) for key, each in vectors.items()}
    wanted = config(fusion_strategy="score", relevance_weight=1.0, recency_weight=0.0)
    explanation = await explained(strategy(source, config=wanted))
    assert given(explanation) == ["new", "old", "older", "said"]


def hit_of(key: str, score: float, text: str) -> SearchHit:
    return SearchHit(entry(key, text, tags=("session",)), 0.8, None, score)


class Placed(Source):
    """A source that knows the vectors of its hits."""

    places: Mapping[str, HitPlace]

    async def candidates(self, *args: Any, **named: Any) -> SearchResult:
        return SearchResult(self.hits, places=self.places)
