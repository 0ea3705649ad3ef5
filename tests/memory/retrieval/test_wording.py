"""How much of each memory is told: the best as a whole, and as much of the others as fits."""

from collections.abc import Sequence

import hypothesis
from hypothesis import strategies as st

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.formatter import MemoryWording, memory_block
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.wording import Worder
from tests.memory.memory_kit import entry, scored
from tests.memory.retriever_kit import Backend, given, strategy, verdicts

SENTENCE = "The lamp number {} was lit in the evening of that day. "
LONG = "A title. " + "".join(SENTENCE.format(place) for place in range(40))


def size(memory: ScoredMemory, wording: MemoryWording) -> int:
    return estimate_tokens(memory_block(memory, wording)) + 1


def told(texts: Sequence[str], room: int) -> list[MemoryWording]:
    """How memories of these texts are told in a room, the best first."""
    memories = [scored(f"m{place}", text) for place, text in enumerate(texts)]
    worder = Worder("lamp", 48)
    filled = worder.filling(memories, worder.wordings(memories, {}), room, size)
    return [filled[f"m{place}"] for place in range(len(texts))]


def test_where_there_is_room_all_are_told_as_a_whole() -> None:
    assert [(each.text, each.whole) for each in told([LONG, LONG], 2_000)] == [(LONG, "")] * 2


def test_the_best_gets_half_and_each_after_it_half_of_the_rest() -> None:
    lengths = [len(each.text) for each in told([LONG] * 4, 700)]
    assert lengths == sorted(lengths, reverse=True)
    assert 1.7 < lengths[0] / lengths[1] < 2.3
    assert 1.7 < lengths[1] / lengths[2] < 2.3


def test_what_short_ones_leave_makes_the_best_longer() -> None:
    alone, beside = told([LONG, LONG], 500), told([LONG, "Short."], 500)
    assert len(beside[0].text) > 1.2 * len(alone[0].text)


@hypothesis.given(
    st.lists(st.integers(0, 60).map(lambda many: LONG[: 20 + 40 * many]), min_size=1, max_size=9),
    st.integers(80, 1_500),
)
@hypothesis.settings(deadline=None)
def test_the_room_is_full_or_everything_is_told(texts: list[str], room: int) -> None:
    memories = [scored(f"m{place}", text) for place, text in enumerate(texts)]
    taken = [size(memory, way) for memory, way in zip(memories, told(texts, room), strict=True)]
    fits = [many for place, many in enumerate(taken) if sum(taken[:place]) + many <= room]
    whole = all(way.text == text for way, text in zip(told(texts, room), texts, strict=True))
    assert whole or sum(fits) > room - 110  # less than one more passage


async def test_what_was_told_in_full_is_not_given_again_for_another_question() -> None:
    backend = Backend(entry("a", LONG, relevance=0.9))
    first = await strategy(backend).prepare("ada", "evening", 2_000)
    marks = first.explanation.marks
    again = await strategy(backend, handed=marks).prepare("ada", "lamp number 17", 2_000)
    assert verdicts(again.explanation) == {"a": Verdict.HANDED}


async def test_what_was_told_in_part_is_given_for_another_question() -> None:
    backend = Backend(entry("a", LONG, relevance=0.9))
    first = await strategy(backend).prepare("ada", "evening", 300)
    marks = first.explanation.marks
    again = await strategy(backend, handed=marks).prepare("ada", "lamp number 17", 300)
    assert given(again.explanation) == ["a"]


async def test_spare_diary_is_given_once_a_session_however_it_is_worded() -> None:
    diary = [entry(key, f"{key} {LONG}", relevance=0.9, tags=("session",)) for key in "ab"]
    first = await strategy(Backend(*diary)).prepare("ada", "evening", 500)
    assert given(first.explanation) == ["a", "b"]
    marks = first.explanation.marks
    again = await strategy(Backend(*diary), handed=marks).prepare("ada", "lamp number 17", 500)
    assert verdicts(again.explanation) == {"a": Verdict.INCLUDED, "b": Verdict.HANDED}
