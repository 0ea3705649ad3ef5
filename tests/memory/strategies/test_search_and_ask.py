"""The loop that searches again with a better question."""

from collections.abc import Sequence
from typing import TypeVar

import pytest

from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.strategies.search_and_ask import SearchAndAsk, merge_entries
from tests.memory.memory_kit import entry
from tests.memory.strategies.tool_kit import BROKEN
from tests.tables import rows

T = TypeVar("T")
A, B, C = entry("a", relevance=0.5), entry("b", relevance=0.4), entry("c", relevance=0.9)


class Script:
    """Scripted answers to all three questions of the loop; exceptions are raised."""

    def __init__(
        self,
        *,
        suffices: Sequence[bool | Exception] = (),
        better: Sequence[str | Exception | None] = (),
        found: Sequence[tuple[MemoryEntry, ...] | Exception] = (),
    ) -> None:
        self.suffices, self.better, self.found = list(suffices), list(better), list(found)
        self.searched: list[str] = []
        self.checked: list[tuple[str, list[str]]] = []

    async def check_sufficiency(self, query: str, results: tuple[MemoryEntry, ...]) -> bool:
        self.checked.append((query, [each.id for each in results]))
        return _said(self.suffices.pop(0))

    async def reformulate(self, query: str, results: tuple[MemoryEntry, ...]) -> str | None:
        return _said(self.better.pop(0))

    async def search(self, text: str) -> tuple[MemoryEntry, ...]:
        self.searched.append(text)
        return _said(self.found.pop(0))

    async def run(self, rounds: int = 2) -> list[str]:
        loop = SearchAndAsk(self, self, rounds=rounds)
        return [each.id for each in await loop.run("why", self.search)]


def _said(value: T | Exception) -> T:
    if isinstance(value, Exception):
        raise value
    return value


async def test_what_suffices_is_not_searched_again() -> None:
    script = Script(suffices=[True], found=[(A, B)])
    assert await script.run() == ["a", "b"]
    assert script.searched == ["why"]


async def test_each_round_searches_with_the_better_question_and_merges() -> None:
    script = Script(
        suffices=[False, False, True], better=["how", "whence"], found=[(A,), (B,), (C,)]
    )
    assert await script.run() == ["c", "a", "b"]
    assert script.searched == ["why", "how", "whence"]


async def test_sufficiency_is_judged_by_the_original_question_on_everything_found() -> None:
    script = Script(suffices=[False, True], better=["how"], found=[(A,), (C,)])
    await script.run()
    assert script.checked == [("why", ["a"]), ("why", ["c", "a"])]


@rows("rounds", [1, 2, 5])
async def test_rounds_are_bounded_and_followed_by_one_last_check(rounds: int) -> None:
    script = Script(
        suffices=[False] * 9, better=[f"q{n}" for n in range(9)], found=[(A,) for _ in range(9)]
    )
    assert await script.run(rounds) == ["a"]
    assert len(script.searched) == 1 + rounds
    assert len(script.checked) == rounds + 1


@rows("better", [None, "", "  ", "why", " why ", RuntimeError("no")])
async def test_without_another_question_the_loop_ends(better: str | Exception | None) -> None:
    script = Script(suffices=[False], better=[better], found=[(A,)])
    assert await script.run() == ["a"]


async def test_a_failing_check_counts_as_enough() -> None:
    assert await Script(suffices=[RuntimeError("no")], found=[(A,)]).run() == ["a"]


async def test_a_failing_second_search_keeps_what_was_found() -> None:
    script = Script(suffices=[False], better=["how"], found=[(A,), BROKEN])
    assert await script.run() == ["a"]


async def test_a_failing_first_search_is_raised() -> None:
    with pytest.raises(type(BROKEN)):
        await Script(found=[BROKEN]).run()


@rows("error", [MemoryError(), ExceptionGroup("g", [RecursionError()])])
async def test_exhausted_memory_is_raised_bare(error: Exception) -> None:
    with pytest.raises((MemoryError, RecursionError)):
        await Script(suffices=[False], better=[error], found=[(A,)]).run()


class TestMerging:
    def test_the_more_relevant_version_of_a_memory_is_kept(self) -> None:
        low, high = entry("a", "low", relevance=0.1), entry("a", "high", relevance=0.2)
        assert merge_entries((low,), (high,)) == merge_entries((high,), (low,)) == (high,)

    def test_of_equals_the_first_version_stays(self) -> None:
        first, second = entry("a", "first", relevance=0.1), entry("a", "second", relevance=0.1)
        assert merge_entries((first,), (second,)) == (first,)

    def test_no_relevance_counts_as_zero(self) -> None:
        none, some = entry("a"), entry("a", relevance=0.01)
        assert merge_entries((none,), (some,)) == (some,)

    def test_most_relevant_first_and_equals_as_first_seen(self) -> None:
        x, y, z = entry("x"), entry("y", relevance=0.0), entry("z", relevance=0.3)
        assert [e.id for e in merge_entries((x, y), (z,))] == ["z", "x", "y"]
