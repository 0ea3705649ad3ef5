"""What is given first, and how much of what merely tells what happened."""

from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.explanation import Verdict
from tests.memory.memory_kit import entry
from tests.memory.retriever_kit import (
    Backend,
    candidate,
    config,
    explained,
    given,
    strategy,
    verdicts,
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


@rows(("most", "left"), [(0, ["r"]), (1, ["r", "d0"]), (2, ["r", "d0", "d1"])])
async def test_of_the_diary_so_much_is_given_beside_what_helps(most: int, left: list[str]) -> None:
    explanation = await explained(strategy(told(HELPS), config=config(max_diary=most)))
    assert given(explanation) == left
    out = set(verdicts(explanation)) - set(left)
    assert {verdicts(explanation)[key] for key in out} == {Verdict.BEYOND_MAXIMUM}
    assert f"of which {most} are given" in candidate(explanation, "d2").reason


async def test_where_there_is_nothing_else_the_diary_is_given() -> None:
    explanation = await explained(strategy(told(), config=config(max_diary=0)))
    assert given(explanation) == ["d0", "d1", "d2"]


async def test_what_was_learnt_comes_before_what_helped_once() -> None:
    known = entry("k", relevance=0.5, tags=("knowledge", "commands"))
    explanation = await explained(strategy(told(HELPS, known)))
    assert given(explanation) == ["k", "r", "d0"]
