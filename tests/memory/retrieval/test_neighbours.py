"""What a hit lends to what stands before and after it in its session."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryDraft, MemoryMetadata, short_id
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.neighbours import MAX_LENDERS, lend
from tests.memory.memory_kit import ids, scored
from tests.memory.retriever_kit import Source, candidate, config, explained, given, hit, strategy
from tests.memory.store.store_kit import AGENT, draft, opened, query, request

AT = datetime(2026, 1, 5, tzinfo=UTC)
IN_LINE = {"a": ("b",), "b": ("a", "c"), "c": ("b",)}


def test_a_hit_lends_a_share_of_its_score_of_what_its_neighbour_lacks() -> None:
    ranked = (scored("a", score=0.8), scored("x", score=0.6), scored("b", score=0.5))
    lent = lend(ranked, {"a"}, IN_LINE, factor=0.3)
    assert ids(lent.memories) == ["a", "b", "x"]
    assert lent.memories[1].combined_score == pytest.approx(0.5 + 0.3 * 0.8 * 0.5)
    assert [(key, loan.lender) for key, loan in lent.loans.items()] == [("b", "a")]


def test_of_two_hits_beside_it_the_one_that_lends_most_counts_alone() -> None:
    ranked = (scored("c", score=0.9), scored("a", score=0.4), scored("b", score=0.2))
    lent = lend(ranked, {"a", "c"}, IN_LINE, factor=0.5)
    assert lent.loans["b"].lender == "c"
    assert lent.loans["b"].amount == pytest.approx(0.5 * 0.9 * 0.8)


def test_what_is_no_hit_itself_lends_nothing() -> None:
    ranked = (scored("a", score=0.8), scored("b", score=0.5))
    lent = lend(ranked, {"b"}, IN_LINE, factor=0.3)
    assert list(lent.loans) == ["a"]


def test_what_was_lent_is_not_lent_on() -> None:
    ranked = (scored("a", score=0.9), scored("b", score=0.1), scored("c", score=0.1))
    lent = lend(ranked, {"a", "b"}, IN_LINE, factor=0.5)
    assert lent.loans["c"].amount == pytest.approx(0.5 * 0.1 * 0.9)


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_no_score_exceeds_one_and_a_factor_of_none_changes_nothing(score: float) -> None:
    ranked = (scored("a", score=1.0), scored("b", score=score))
    assert lend(ranked, {"a", "b"}, IN_LINE, factor=0.5).memories[1].combined_score <= 1.0
    assert lend(ranked, {"a", "b"}, IN_LINE, factor=0.0).memories == ranked


def test_only_the_best_hits_lend() -> None:
    ranked = [scored(f"k{n:02}", score=0.9 - n / 100) for n in range(MAX_LENDERS + 1)]
    beside = {f"k{n:02}": (f"n{n:02}",) for n in range(MAX_LENDERS + 1)}
    others = [scored(f"n{n:02}", score=0.1) for n in range(MAX_LENDERS + 1)]
    lent = lend([*ranked, *others], {memory.entry.id for memory in ranked}, beside, factor=0.3)
    assert len(lent.loans) == MAX_LENDERS
    assert f"n{MAX_LENDERS:02}" not in lent.loans


class TestGiven:
    """``b`` stands beside ``a``, which answers the question; ``c`` stands beside nothing."""

    HITS = (hit("a", 0.9), hit("b", 0.25, fused=0.25), hit("c", 0.25, fused=0.25))
    SCORED = config(fusion_strategy="score", relevance_weight=1.0, recency_weight=0.0)

    async def test_what_stands_beside_a_hit_is_given_and_the_explanation_says_by_whom(self) -> None:
        source = Source(*self.HITS, neighbours={"a": ("b",)})
        explanation = await explained(strategy(source, config=self.SCORED))
        assert given(explanation) == ["a", "b"]
        near = candidate(explanation, "b")
        assert (near.beside, near.reason) == (
            "a",
            f"place 2 by score, {near.lent:.2f} of it lent by a beside it",
        )
        assert near.lent > 0
        assert candidate(explanation, "c").verdict is Verdict.NOT_RELEVANT

    async def test_with_a_factor_of_none_each_memory_stands_for_itself(self) -> None:
        source = Source(*self.HITS, neighbours={"a": ("b",)})
        alone = self.SCORED.model_copy(update={"neighbour_factor": 0.0})
        assert given(await explained(strategy(source, config=alone))) == ["a"]

    async def test_nothing_is_lent_when_nothing_is_about_the_question(self) -> None:
        weak = (hit("a", 0.45), hit("b", 0.25))
        explanation = await explained(strategy(Source(*weak, neighbours={"a": ("b",)})))
        assert given(explanation) == []
        assert not any(each.lent for each in explanation.candidates)


def _of_session(text: str, session: str, line: int, **fields: object) -> MemoryDraft:
    metadata = MemoryMetadata(source=f"claude:{session}#L{line}-L{line + 3}")
    known = {"session_id": session, "created_at": AT, "level": MemoryLevel.PERSISTENT, **fields}
    return draft(text).model_copy(update={"request": request(text, metadata=metadata), **known})


async def test_the_order_in_a_session_is_that_of_its_lines_not_of_what_came_first(
    tmp_path: Path,
) -> None:
    texts = [("gamma 3", 30), ("alpha 1", 4), ("beta 2", 10)]
    drafts = [_of_session(text, "s1", line) for text, line in texts]
    other = [_of_session("alpha elsewhere", "s2", 5)]
    async with opened(tmp_path) as backend:
        outcome = await backend.store_many(AGENT, [*drafts, *other], actor="test")
        three, one, two, elsewhere = outcome.added
        found = await backend.candidates(AGENT, query("alpha beta gamma"), include_shared=True)
        assert found.neighbours[one] == (two,)
        assert found.neighbours[two] == (one, three)
        assert found.neighbours[three] == (two,)
        assert found.neighbours.get(elsewhere, ()) == ()


async def test_what_an_agent_does_not_see_stands_beside_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        shown = _of_session("alpha 1", "s1", 1)
        place = {"project": str(tmp_path / "p"), "level": MemoryLevel.PROJECT}
        hidden = _of_session("beta 2", "s1", 5, **place)
        outcome = await backend.store_many(AGENT, [shown, hidden], actor="test")
        first, second = outcome.added
        asked = query("alpha beta")
        for view, beside in (
            (Visibility("x", str(tmp_path / "other")), ()),
            (None, (second,)),
        ):
            seen = backend if view is None else backend.scoped(view)
            found = await seen.candidates(AGENT, asked, include_shared=True)
            assert found.neighbours.get(first, ()) == beside
        await backend.delete(AGENT, second)
        found = await backend.candidates(AGENT, asked, include_shared=True)
        assert found.neighbours.get(first, ()) == ()


async def test_a_memory_is_read_by_the_start_of_its_id_that_no_other_has(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        kept = await backend.store(AGENT, request("alpha"))
        found = await backend.get(AGENT, short_id(kept))
        assert found is not None
        assert found.id == kept
        assert await backend.get("bob", short_id(kept)) is None
        assert await backend.get(AGENT, kept[:7]) is None
