"""What says the same is one line of every answer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.consolidation.duplicates import ClusterKind
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.clusters import one_line_each
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.hits import CopiesOf, SearchHit
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from tests.conftest import FixedClock
from tests.memory.memory_kit import NOW, entry, ids, scored
from tests.memory.retriever_kit import (
    Source,
    candidate,
    config,
    explained,
    given,
    hit,
    strategy,
    verdicts,
)
from tests.memory.store.store_kit import AGENT, draft, opened, query


def fact(key: str, content: str, *, hours: float, score: float) -> ScoredMemory:
    memory = scored(key, score=score)
    return memory.model_copy(
        update={"entry": entry(key, content, hours=hours, tags=("fact:port",))}
    )


def test_equal_texts_are_one_line_that_says_how_often_and_when_last() -> None:
    memories = (
        scored("a", "Ports are open."),
        scored("x", "Else."),
        scored("b", "Ports are open."),
    )
    lines = one_line_each(memories, {}, now=NOW)
    assert ids(lines.memories) == ["a", "x"]
    assert lines.stands_for == {"a": ("b",)}
    assert lines.seen == {"a": "seen 2 times, last on 10 Jan"}
    assert lines.in_place_of == {"b": ("a", ClusterKind.EXACT)}


def test_copies_that_the_search_left_out_count() -> None:
    last = NOW - timedelta(days=30)
    copies = {"a": CopiesOf(("c", "d"), last)}
    lines = one_line_each((scored("a", "Ports."), scored("b", "Ports.")), copies, now=NOW)
    assert lines.stands_for == {"a": ("b", "c", "d")}
    assert lines.seen == {"a": "seen 4 times, last on 10 Jan"}
    alone = one_line_each((scored("x", "Else."),), {"x": CopiesOf(("y",), last)}, now=NOW)
    assert alone.seen == {"x": "seen 2 times, last on 10 Jan"}


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_facts_with_one_key_the_newest_stands_at_the_place_of_the_best(
    newer_first: bool,
) -> None:
    old = fact("old", "5432", hours=9, score=0.4 if newer_first else 0.9)
    new = fact("new", "6543", hours=1, score=0.9 if newer_first else 0.4)
    ranked = sorted((old, new, scored("x", score=0.6)), key=lambda m: -m.combined_score)
    lines = one_line_each(ranked, {}, now=NOW)
    assert ids(lines.memories) == ["new", "x"]


async def test_the_explanation_names_the_members_and_what_stands_for_them() -> None:
    same = [hit(key, score, content="Ports are open.") for key, score in (("a", 0.9), ("b", 0.8))]
    explanation = await explained(strategy(Source(*same, hit("c", 0.7))))
    assert given(explanation) == ["a", "c"]
    assert candidate(explanation, "a").members == ("b",)
    assert candidate(explanation, "b").reason == "says the same as a, which stands for both"
    assert "| seen 2 times, last on 10 Jan] Ports are open." in explanation.text


async def test_a_fact_that_a_newer_one_replaced_is_not_given() -> None:
    old, new = (
        SearchHit(fact(key, text, hours=hours, score=0.9).entry, score, None, score)
        for key, text, hours, score in (("old", "5432", 9, 0.9), ("new", "6543", 1, 0.6))
    )
    explanation = await explained(strategy(Source(old, new)))
    assert verdicts(explanation) == {"new": Verdict.INCLUDED, "old": Verdict.SUPERSEDED}


async def test_a_flood_of_copies_is_one_line_and_hides_nothing(tmp_path: Path) -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    text = "alpha beta gamma"
    flood = [
        draft(text, f"flood {n}", created_at=at, level=MemoryLevel.PERSISTENT) for n in range(400)
    ]
    other = [draft(f"alpha beta delta {n}", f"other {n}", created_at=at) for n in range(5)]
    async with opened(tmp_path, clock=FixedClock(NOW)) as backend:
        await backend.store_many(AGENT, other, actor="test")
        for each in flood:
            await backend.store(AGENT, each.request)
        found = await backend.retrieve(AGENT, query("alpha beta", limit=10))
        assert len(found) == 6
        subject = ContextInjectionStrategy(backend=backend, config=config(), clock=FixedClock(NOW))
        explanation = (await subject.prepare(AGENT, "alpha beta gamma", 4_000)).explanation
    assert len(explanation.included) == 6
    assert explanation.text.count(text) == 1
    assert "seen 400 times, last on" in explanation.text
    (line,) = (each for each in explanation.included if each.entry.content == text)
    assert len(line.members) == 399
