"""Of several conversations about one subject the latest stands first, or what says it amends."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import hypothesis
import numpy as np
from hypothesis import strategies as st

from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.hits import HitPlace
from synthorg_tui.memory.retrieval.latest import latest_first
from tests.memory.memory_kit import NOW, entry
from tests.tables import rows

KILN, NEAR_KILN, SHOP = (1.0, 0.0, 0.0), (0.9, 0.436, 0.0), (0.0, 0.0, 1.0)


def chat(
    key: str, score: float, days: int, *, text: str = "The ramp.", tag: str = "session"
) -> ScoredMemory:
    """A memory of a session so many days ago; of one ahead of the clock with fewer than none."""
    made = entry(key, f"{text} {key}", tags=(tag,))
    at = {"created_at": NOW - timedelta(days=days)}
    source = {"source": f"claude-code:{key}#L1-L9"}
    made = made.model_copy(update={**at, "metadata": made.metadata.model_copy(update=source)})
    return ScoredMemory(entry=made, relevance_score=score, recency_score=0, combined_score=score)


def places(**vectors: Sequence[float]) -> Mapping[str, HitPlace]:
    return {key: HitPlace(None, np.array(each, np.float32)) for key, each in vectors.items()}


def ordered(memories: Sequence[ScoredMemory], near: Mapping[str, HitPlace]) -> str:
    found, _ = latest_first(memories, near, now=NOW, moved=0.0)
    return "".join(memory.entry.id for memory in found)


AMENDS = "Amended rule, superseding the old one."


@rows(
    ("memories", "order"),
    [
        ((chat("a", 0.9, 9), chat("b", 0.8, 2)), "ba"),
        ((chat("a", 0.9, 2), chat("b", 0.8, 9)), "ab"),
        ((chat("a", 0.9, 9), chat("b", 0.5, 2)), "ab"),
        ((chat("a", 0.9, 9), chat("b", 0.5, 2, text=AMENDS)), "ba"),
        ((chat("a", 0.9, 9), chat("b", 0.3, 2, text=AMENDS)), "ab"),
        ((chat("a", 0.9, 2), chat("b", 0.8, 9, text=AMENDS)), "ba"),
        ((chat("a", 0.9, 9, text=AMENDS), chat("b", 0.8, 2)), "ab"),
        ((chat("a", 0.9, 9, text=AMENDS), chat("b", 0.8, 2, text=AMENDS)), "ba"),
        ((chat("a", 0.9, 9), chat("b", 0.8, 2, tag="recovery")), "ab"),
        ((chat("a", 0.9, -3), chat("b", 0.8, -9)), "ab"),
        ((chat("a", 0.9, 9), chat("x", 0.85, 5), chat("b", 0.8, 2)), "bax"),
    ],
)
def test_the_latest_about_a_subject_stands_first_and_before_it_what_amends(
    memories: tuple[ScoredMemory, ...], order: str
) -> None:
    assert ordered(memories, places(a=KILN, b=NEAR_KILN, x=SHOP)) == order


def test_what_is_nearer_to_another_is_about_another_subject() -> None:
    memories = (chat("a", 0.9, 9), chat("b", 0.8, 2, text=AMENDS), chat("c", 0.7, 9))
    assert ordered(memories, places(a=KILN, b=(0.7, 0.714, 0), c=(0.6, 0.8, 0))) == "abc"


def test_without_vectors_or_from_one_session_nothing_moves() -> None:
    memories = (chat("a", 0.9, 9), chat("b", 0.8, 2))
    assert ordered(memories, {}) == "ab"
    same = memories[1].entry.metadata.model_copy(update={"source": "claude-code:a#L11-L19"})
    entry_of_a = memories[1].entry.model_copy(update={"metadata": same})
    memories = (memories[0], memories[1].model_copy(update={"entry": entry_of_a}))
    assert ordered(memories, places(a=KILN, b=NEAR_KILN)) == "ab"


@hypothesis.given(
    st.lists(
        st.tuples(st.floats(0.3, 1), st.integers(-9, 9), st.sampled_from(("The ramp.", AMENDS))),
        max_size=12,
    )
)
def test_whatever_is_put_before_others_none_is_lost(made: list[tuple[float, int, str]]) -> None:
    memories = [
        chat(chr(97 + place), score, days, text=text)
        for place, (score, days, text) in enumerate(sorted(made, reverse=True))
    ]
    near = places(**{memory.entry.id: KILN for memory in memories})
    assert sorted(ordered(memories, near)) == [memory.entry.id for memory in memories]
