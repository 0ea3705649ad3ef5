"""What says the same is one line of every answer."""

from datetime import UTC, datetime, timedelta
from math import cos, sin
from pathlib import Path

import numpy as np

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.digest.builder import MemoryDigest
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.clusters import lessons_alone, one_line_each
from synthorg_tui.memory.retrieval.hits import CopiesOf, HitPlace
from synthorg_tui.memory.retriever import ContextInjectionStrategy
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.tool_retriever import ToolBasedInjectionStrategy
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
)
from tests.memory.store.store_kit import AGENT, draft, opened, query
from tests.tables import rows


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
    assert lines.in_place_of == {"b": "a"}


def test_copies_that_the_search_left_out_count() -> None:
    last = NOW - timedelta(days=30)
    copies = {"a": CopiesOf(("c", "d"), last)}
    lines = one_line_each((scored("a", "Ports."), scored("b", "Ports.")), copies, now=NOW)
    assert lines.stands_for == {"a": ("b", "c", "d")}
    assert lines.seen == {"a": "seen 4 times, last on 10 Jan"}
    alone = one_line_each((scored("x", "Else."),), {"x": CopiesOf(("y",), last)}, now=NOW)
    assert alone.seen == {"x": "seen 2 times, last on 10 Jan"}


def test_facts_of_one_key_that_both_hold_are_two_lines_and_equal_ones_one() -> None:
    ranked = (
        fact("his", "5432", hours=9, score=0.9),
        fact("agents", "6543", hours=1, score=0.8),
        fact("again", "5432", hours=1, score=0.7),
    )
    assert ids(one_line_each(ranked, {}, now=NOW).memories) == ["his", "agents"]


NEAR = (
    "The staging server needs the tunnel to be open before any deploy",
    "The staging server needs the tunnel to be open before any deploy starts",
)


@rows(
    ("texts", "projects", "angle", "lines"),
    [
        ((NEAR[0], NEAR[0]), ("/a", "/a"), 0.0, ["a"]),
        ((NEAR[0], NEAR[0]), ("/a", "/b"), 0.0, ["a", "b"]),
        (NEAR, ("/a", "/a"), 0.1, ["a"]),
        (NEAR, ("/a", "/b"), 0.1, ["a", "b"]),
        (NEAR, ("/a", "/a"), 1.5, ["a", "b"]),
    ],
)
def test_texts_are_one_line_of_one_project_if_words_and_meaning_are_nearly_equal(
    texts: tuple[str, str], projects: tuple[str, str], angle: float, lines: list[str]
) -> None:
    memories = [scored(key, text) for key, text in zip("ab", texts, strict=True)]
    vectors = (np.array([1, 0], np.float32), np.array([cos(angle), sin(angle)], np.float32))
    places = {
        key: HitPlace(project, vector)
        for key, project, vector in zip("ab", projects, vectors, strict=True)
    }
    found = one_line_each(memories, {}, now=NOW, places=places)
    assert ids(found.memories) == lines


def test_a_lesson_stands_at_the_place_of_the_best_of_what_it_was_made_of() -> None:
    ranked = [scored(key, score=score) for key, score in (("one", 0.9), ("x", 0.8), ("two", 0.5))]
    memories = [*ranked, scored("lesson", score=0.4)]
    found, replaced = lessons_alone(memories, {"lesson": {"one", "two", "gone"}})
    assert [memory.entry.id for memory in found] == ["lesson", "x"]
    assert replaced == {"one": "lesson", "two": "lesson"}
    alone, none = lessons_alone(ranked, {"lesson": {"one"}})
    assert (alone, none) == (ranked, {})


def test_a_lesson_that_is_more_sensitive_replaces_nothing() -> None:
    lesson = scored("lesson", score=0.9)
    lesson = lesson.model_copy(update={"entry": entry("lesson", "L", tags=("sensitivity:secret",))})
    memories = [lesson, scored("one", score=0.8)]
    assert lessons_alone(memories, {"lesson": {"one"}}) == (memories, {})


async def test_the_explanation_names_the_members_and_what_stands_for_them() -> None:
    same = [hit(key, score, content="Ports are open.") for key, score in (("a", 0.9), ("b", 0.8))]
    explanation = await explained(strategy(Source(*same, hit("c", 0.7))))
    assert given(explanation) == ["a", "c"]
    assert candidate(explanation, "a").members == ("b",)
    assert candidate(explanation, "b").reason == "says the same as a, which stands for both"
    assert "| seen 2 times, last on 10 Jan] Ports are open." in explanation.text


async def one_line_of_the_digest(backend: LocalMemoryBackend, text: str) -> None:
    for changes in (
        {},
        {"structured": {"tags": ["non-inferable"]}},
        {"semantic": {"enabled": True}},
    ):
        settings = MemoryV1Config.model_validate({**changes, "budgets": {"max_total_items": 50}})
        digest = MemoryDigest(backend.digest_items(), settings)
        for asked in ("alpha beta", "*"):
            result = await digest.build(AGENT, asked)
            assert result.text.count(text) == 1
            assert len(result.included_ids) >= 4


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
        assert [each.seen_times for each in found if each.content == text] == [400]
        listed = await backend.admin.find(query("alpha beta", limit=10))
        assert [hit.seen_times for hit in listed.hits if hit.content == text] == [400]
        tools = ToolBasedInjectionStrategy(backend=backend, config=config(max_memories=10))
        reply = await tools.answer("search_memory", {"query": "alpha beta"}, AGENT)
        assert reply.text.count(f"{text} [seen 400 times, last on ") == 1
        await one_line_of_the_digest(backend, text)
        subject = ContextInjectionStrategy(backend=backend, config=config(), clock=FixedClock(NOW))
        explanation = (await subject.prepare(AGENT, "alpha beta gamma", 4_000)).explanation
    assert len(explanation.included) == 6
    assert explanation.text.count(text) == 1
    assert "seen 400 times, last on" in explanation.text
    (line,) = (each for each in explanation.included if each.entry.content == text)
    assert len(line.members) == 399
