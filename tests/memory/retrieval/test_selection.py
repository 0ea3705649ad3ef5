"""What is given first, and how much of what merely tells what happened."""

import asyncio
import itertools

import hypothesis
from hypothesis import strategies as st

from synthorg_tui.memory.models import MemoryEntry
from tests.memory.memory_kit import entry
from tests.memory.retriever_kit import (
    Backend,
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
