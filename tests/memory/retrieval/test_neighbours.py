"""What a hit lends to what stands before and after it in its session."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryDraft, MemoryMetadata, short_id
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.neighbours import (
    AFTER_A_QUESTION,
    MAX_LENDERS,
    Beside,
    asks,
    lend,
)
from tests.memory.memory_kit import ids, scored
from tests.memory.retriever_kit import Source, candidate, config, explained, given, hit, strategy
from tests.memory.store.store_kit import AGENT, contents, draft, opened, query, request
from tests.tables import rows

AT = datetime(2026, 1, 5, tzinfo=UTC)
IN_LINE = {"a": Beside(None, "b"), "b": Beside("a", "c"), "c": Beside("b")}


def test_a_hit_lends_a_share_of_its_score_of_what_its_neighbour_lacks() -> None:
    ranked = (scored("a", score=0.8), scored("x", score=0.6), scored("b", score=0.5))
    lent = lend(ranked, {"a"}, IN_LINE, factor=0.3)
    assert ids(lent.memories) == ["a", "b", "x"]
    assert lent.memories[1].combined_score == pytest.approx(0.5 + 0.3 * 0.8 * 0.5)
    assert [(key, loan.lender) for key, loan in lent.loans.items()] == [("b", "a")]


@rows(
    ("text", "is_question"),
    [
        ("Bo: which port is it?", True),
        ('Bo: "which port?" ', True),
        ("Which port? Tell me.", False),
        ("", False),
    ],
)
def test_a_text_asks_when_it_ends_with_a_question(text: str, is_question: bool) -> None:
    assert asks(text) is is_question


def test_what_follows_a_question_is_lent_more_than_what_stands_before_it() -> None:
    asking = scored("b", "Which port?", score=0.5)
    ranked = (asking, scored("a", score=0.2), scored("c", score=0.2))
    lent = lend(ranked, {"b"}, IN_LINE, factor=0.3)
    assert lent.loans["a"].amount == pytest.approx(0.3 * 0.5 * 0.8)
    assert lent.loans["c"].amount == pytest.approx(AFTER_A_QUESTION * 0.3 * 0.5 * 0.8)
    all_of_it = lend((asking, scored("c", score=0.0)), {"b"}, IN_LINE, factor=0.5)
    assert all_of_it.loans["c"].amount == pytest.approx(0.5)


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


@rows("score", [0.0, 0.5, 1.0])
def test_no_score_exceeds_one_and_a_factor_of_none_changes_nothing(score: float) -> None:
    ranked = (scored("a", score=1.0), scored("b", score=score))
    assert lend(ranked, {"a", "b"}, IN_LINE, factor=0.5).memories[1].combined_score <= 1.0
    assert lend(ranked, {"a", "b"}, IN_LINE, factor=0.0).memories == ranked


def test_only_the_best_hits_lend() -> None:
    ranked = [scored(f"k{n:02}", score=0.9 - n / 100) for n in range(MAX_LENDERS + 1)]
    beside = {f"k{n:02}": Beside(f"n{n:02}") for n in range(MAX_LENDERS + 1)}
    others = [scored(f"n{n:02}", score=0.1) for n in range(MAX_LENDERS + 1)]
    lent = lend([*ranked, *others], {memory.entry.id for memory in ranked}, beside, factor=0.3)
    assert len(lent.loans) == MAX_LENDERS
    assert f"n{MAX_LENDERS:02}" not in lent.loans


class TestGiven:
    """``b`` stands beside ``a``, which answers the question; ``c`` stands beside nothing."""

    HITS = (hit("a", 0.9), hit("b", 0.25, fused=0.25), hit("c", 0.25, fused=0.25))
    SCORED = config(fusion_strategy="score", relevance_weight=1.0, recency_weight=0.0)

    async def test_what_stands_beside_a_hit_is_given_and_the_explanation_says_by_whom(self) -> None:
        source = Source(*self.HITS, neighbours={"a": Beside("b")})
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
        source = Source(*self.HITS, neighbours={"a": Beside("b")})
        alone = self.SCORED.model_copy(update={"neighbour_factor": 0.0})
        assert given(await explained(strategy(source, config=alone))) == ["a"]

    async def test_nothing_is_lent_when_nothing_is_about_the_question(self) -> None:
        weak = (hit("a", 0.45), hit("b", 0.25))
        explanation = await explained(strategy(Source(*weak, neighbours={"a": Beside("b")})))
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
        assert found.neighbours[one] == Beside(None, two)
        assert found.neighbours[two] == Beside(one, three)
        assert found.neighbours[three] == Beside(two)
        assert elsewhere not in found.neighbours


async def test_what_an_agent_does_not_see_stands_beside_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        shown = _of_session("alpha 1", "s1", 1)
        place = {"project": str(tmp_path / "p"), "level": MemoryLevel.PROJECT}
        hidden = _of_session("beta 2", "s1", 5, **place)
        outcome = await backend.store_many(AGENT, [shown, hidden], actor="test")
        first, second = outcome.added
        asked = query("alpha beta")
        for view, beside in (
            (Visibility("x", str(tmp_path / "other")), None),
            (None, Beside(None, second)),
        ):
            seen = backend if view is None else backend.scoped(view)
            found = await seen.candidates(AGENT, asked, include_shared=True)
            assert found.neighbours.get(first) == beside
        await backend.delete(AGENT, second)
        found = await backend.candidates(AGENT, asked, include_shared=True)
        assert first not in found.neighbours


async def test_the_answer_to_a_question_is_found_that_neither_meaning_nor_words_find(
    tmp_path: Path,
) -> None:
    question, answer = "Which port has the gateway of the shop?", "Eighty, I say."
    others = [draft(f"The port {n} of gateway {n} of the shop is open.") for n in range(60)]
    said = [_of_session(question, "s1", 1), _of_session(answer, "s1", 5)]
    async with opened(tmp_path) as backend:
        await backend.store_many(AGENT, [*others, *said], actor="test")
        found = await backend.retrieve(AGENT, query("which port has the gateway", limit=5))
        assert [each.content for each in found][:2] == [question, answer]
        scores = [each.relevance_score or 0.0 for each in found]
        assert scores == sorted(scores, reverse=True)
        near = await backend.candidates(
            AGENT, query("which port has the gateway"), include_shared=True
        )
        last = near.hits[-1]
        assert (last.entry.content, last.dense, last.sparse) == (answer, None, None)


async def test_what_stands_beside_a_hit_has_to_pass_the_filters_of_the_question(
    tmp_path: Path,
) -> None:
    others = [draft(f"The port {n} of gateway {n} of the shop is open.") for n in range(60)]
    said = [
        _of_session("Which port has the gateway of the shop?", "s1", 1),
        _of_session("Eighty, I say.", "s1", 5, created_at=AT.replace(year=2025)),
    ]
    async with opened(tmp_path) as backend:
        await backend.store_many(AGENT, [*others, *said], actor="test")
        asked = query("which port has the gateway", limit=5, since=AT)
        assert "Eighty, I say." not in contents(await backend.retrieve(AGENT, asked))


async def test_a_memory_is_read_by_the_start_of_its_id_that_no_other_has(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        kept = await backend.store(AGENT, request("alpha"))
        found = await backend.get(AGENT, short_id(kept))
        assert found is not None
        assert found.id == kept
        assert await backend.get("bob", short_id(kept)) is None
        assert await backend.get(AGENT, kept[:7]) is None
