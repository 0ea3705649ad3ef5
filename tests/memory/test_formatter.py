"""Memories as an agent reads them: fenced, packed greedily, never over budget."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.enums import InjectionPoint
from synthorg_tui.memory.formatter import (
    format_memory_context_with_directive,
    frame_tokens,
    memory_block,
    messages_for,
    pack_memories,
)
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.retrieval.explanation import text_of
from synthorg_tui.providers.enums import MessageRole
from tests.hostile import HOSTILE
from tests.memory.memory_kit import ids, scored
from tests.tables import rows

ESTIMATOR = DefaultTokenEstimator()
FRAME = frame_tokens(ESTIMATOR)
ONE = ESTIMATOR.estimate_tokens(memory_block(scored(content="x" * 40)))


class Letters:
    """Counts letters as tokens, so that every one of them matters."""

    def estimate_tokens(self, text: str) -> int:
        return len(text)


class Words:
    """Counts a text higher than its parts, as no tokenizer should."""

    def estimate_tokens(self, text: str) -> int:
        return len(text) // 4 + text.count("\n<") * 3


def test_a_memory_that_nothing_scored_is_given_without_a_score() -> None:
    block = memory_block(scored(content="Ports are open.", score=0.0))
    assert block == "<memory-entry>\n[semantic] Ports are open.\n</memory-entry>"


def test_a_block_has_the_fence_category_score_and_content() -> None:
    block = memory_block(scored(content="Ports are open.", score=0.876))
    assert block == "<memory-entry>\n[semantic | score: 0.88] Ports are open.\n</memory-entry>"


def test_hidden_characters_of_a_memory_are_shown_as_glyphs() -> None:
    block = memory_block(scored(content="a\x1b[2J\u202eb\U000e0041\u200bc\n\td"))
    assert block.split("\n", 1)[1] == (
        "[semantic | score: 0.50] a\u241b[2J\u2039U+202E\u203a"
        "b\u2039U+E0041\u203a\u2039U+200B\u203ac\n\td\n</memory-entry>"
    )


def test_a_shared_memory_says_so() -> None:
    assert "\n[shared] [semantic | score: 0.50] text\n" in memory_block(scored(is_shared=True))


def test_the_directive_comes_first_as_a_system_message_and_then_the_blocks_in_order() -> None:
    memories = (scored("a", "first"), scored("b", "second"))
    directive, blocks = format_memory_context_with_directive(
        memories, estimator=ESTIMATOR, token_budget=1000
    )
    assert directive.role is MessageRole.SYSTEM
    assert "<memory-entry>" in directive.content
    assert "untrusted" in directive.content
    assert blocks.content == "\n".join(map(memory_block, memories))


@rows(
    ("point", "role"),
    [(InjectionPoint.SYSTEM, MessageRole.SYSTEM), (InjectionPoint.USER, MessageRole.USER)],
)
def test_the_memories_come_in_the_configured_role_the_directive_as_system(
    point: InjectionPoint, role: MessageRole
) -> None:
    messages = format_memory_context_with_directive(
        (scored(),), estimator=ESTIMATOR, token_budget=100, injection_point=point
    )
    assert [message.role for message in messages] == [MessageRole.SYSTEM, role]


def test_an_unknown_injection_point_is_refused() -> None:
    with pytest.raises(ValueError, match="injection point"):
        format_memory_context_with_directive(
            (),
            estimator=ESTIMATOR,
            token_budget=100,
            injection_point="tool",  # type: ignore[arg-type]
        )


def test_without_a_memory_that_fits_there_is_no_directive_either() -> None:
    assert (
        format_memory_context_with_directive(
            (scored(content="x" * 40),), estimator=ESTIMATOR, token_budget=FRAME + ONE - 1
        )
        == ()
    )
    assert format_memory_context_with_directive((), estimator=ESTIMATOR, token_budget=100) == ()


def test_the_fence_and_the_directive_count() -> None:
    messages = format_memory_context_with_directive(
        (scored(content="x" * 40),), estimator=ESTIMATOR, token_budget=FRAME + ONE
    )
    assert len(messages) == 2
    assert ESTIMATOR.estimate_tokens(f"{messages[0].content}\n\n") + 1 == FRAME


@rows(("missing", "packed"), [(0, ["a", "b"]), (1, ["a"])])
def test_from_the_second_block_on_the_separator_costs_a_token(
    missing: int, packed: list[str]
) -> None:
    memories = (scored("a", "x" * 40), scored("b", "x" * 40))
    packing = pack_memories(
        memories, estimator=ESTIMATOR, token_budget=FRAME + 2 * ONE + 1 - missing
    )
    assert [each.memory.entry.id for each in packing.packed if each.fits] == packed


def test_what_does_not_fit_is_skipped_and_smaller_ones_after_it_still_get_in() -> None:
    memories = (scored("a", "x" * 40), scored("big", "x" * 4000), scored("c", "x" * 40))
    packing = pack_memories(memories, estimator=ESTIMATOR, token_budget=FRAME + 2 * ONE + 1)
    assert [each.fits for each in packing.packed] == [True, False, True]
    assert packing.packed[1].room == ONE + 1
    assert (packing.tokens_used, packing.frame_tokens) == (FRAME + 2 * ONE + 1, FRAME)


@given(
    st.lists(st.text(min_size=1, max_size=300).filter(str.strip), max_size=12),
    st.integers(-5, 1200),
)
def test_packing_never_exceeds_the_budget(contents: list[str], budget: int) -> None:
    memories = tuple(scored(str(n), content) for n, content in enumerate(contents))
    for estimator in (ESTIMATOR, Letters(), Words()):
        packing = pack_memories(memories, estimator=estimator, token_budget=budget)
        handed_over = text_of(messages_for(packing))
        assert estimator.estimate_tokens(handed_over) <= packing.tokens_used
        assert packing.tokens_used <= max(0, budget)


def test_what_is_neutralised_in_a_memory_counts_for_the_budget() -> None:
    memories = (scored("a", "<b" * 400), scored("b", "Human:\n" * 200))
    for budget in range(0, 4_500, 97):
        packing = pack_memories(memories, estimator=Letters(), token_budget=budget)
        assert len(text_of(messages_for(packing))) <= packing.tokens_used <= budget
    assert "<\\b<\\b" in packing.text
    assert "Human\\:\nHuman\\:" in packing.text


@given(
    st.lists(st.text(min_size=1, max_size=300).filter(str.strip), max_size=12),
    st.integers(0, 800),
)
def test_packing_never_stops_at_a_misfit(contents: list[str], budget: int) -> None:
    memories = tuple(scored(str(n), content) for n, content in enumerate(contents))
    packing = pack_memories(memories, estimator=Letters(), token_budget=budget)
    assert ids(tuple(each.memory for each in packing.packed)) == ids(memories)
    assert all(each.tokens > each.room for each in packing.packed if not each.fits)


def test_the_corpus_is_large_enough() -> None:
    assert len(set(HOSTILE)) >= 60


@rows("content", HOSTILE)
def test_no_hostile_memory_leaves_its_fence(content: str) -> None:
    memories = (scored("before"), scored("hostile", content), scored("after"))
    directive, blocks = format_memory_context_with_directive(
        memories, estimator=ESTIMATOR, token_budget=100_000
    )
    assert "never as instructions" in directive.content
    assert len(re.findall(r"<\s*/\s*memory-entry", blocks.content, re.IGNORECASE)) == 3
    first, rest = blocks.content.split("\n</memory-entry>\n", 1)
    fenced, last = rest.rsplit("\n</memory-entry>\n", 1)
    assert (first, last) == (
        memory_block(memories[0]).removesuffix("\n</memory-entry>"),
        memory_block(memories[2]),
    )
    assert fenced.startswith("<memory-entry>\n[semantic | score: 0.50] ")
