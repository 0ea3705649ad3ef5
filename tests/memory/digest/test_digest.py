"""The digest: what is gathered, what gets in, and what is said about it."""

import builtins

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.digest.builder import MemoryDigest
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.digest.lines import tokens_of
from synthorg_tui.memory.digest.models import (
    COMMAND_TURN,
    DISABLED,
    EMPTY,
    NO_SENSITIVITIES,
    NO_TOKENS,
    NOTHING_FOUND,
    UNAVAILABLE,
    DigestItem,
    DigestResult,
    ItemKind,
)
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from tests.memory.digest.digest_kit import ListSource, budgets, config, item
from tests.tables import rows

LINE = len("- [note] 00000000-0000-4000-8000-000000000000 (private) title=Note — x (prov=tool)")


async def build(
    source: ListSource, given: MemoryV1Config | None = None, query: str = "words", **more: object
) -> DigestResult:
    return await MemoryDigest(source, given or config()).build("ada", query, **more)  # type: ignore[arg-type]


def words(*items: DigestItem) -> ListSource:
    return ListSource(found_words=[(each, 1) for each in items], all_items=items)


def ids(*items: DigestItem) -> tuple[str, ...]:
    return tuple(each.entry.id for each in items)


def verdicts(result: DigestResult) -> dict[str, Verdict]:
    return {each.entry.id: each.verdict for each in result.candidates}


def about(result: DigestResult, which: DigestItem) -> Candidate:
    (found,) = (each for each in result.candidates if each.entry.id == which.entry.id)
    return found


class TestTexts:
    @rows(
        ("given", "query", "text"),
        [
            ({"enabled": False}, "x", DISABLED),
            ({"enabled": False}, "/help", DISABLED),
            ({}, "/help me", COMMAND_TURN),
            ({"allow_sensitivities": []}, "x", NO_SENSITIVITIES),
            ({"budgets": {"max_total_items": 0}}, "x", EMPTY),
            ({"budgets": {"max_total_chars": 0}}, "x", EMPTY),
            ({"budgets": {"max_total_tokens": 0}}, "x", NO_TOKENS),
        ],
    )
    async def test_no_lookup_is_made_for_nothing(
        self, given: dict[str, object], query: str, text: str
    ) -> None:
        source = words(item())
        result = await build(source, config(**given), query)
        assert result == DigestResult(text)
        assert source.asked == []

    def test_they_are_worded_as_documented(self) -> None:
        assert DISABLED == "Memory digest disabled by config."
        assert NO_SENSITIVITIES == "Memory digest empty (no allowed sensitivities)."
        assert EMPTY == "Memory digest empty."
        assert NO_TOKENS == "Memory digest skipped (max_total_tokens=0)."
        assert NOTHING_FOUND == "No matching durable memory found."
        assert UNAVAILABLE == "Memory digest unavailable."
        assert COMMAND_TURN == "Skipped for command turns."

    async def test_finding_nothing_is_said(self) -> None:
        assert (await build(ListSource())).text == NOTHING_FOUND

    async def test_the_part_is_titled_and_fenced(self) -> None:
        result = await build(words(item("hello")))
        title, opening, line, closing = result.part.split("\n")
        assert (title, opening, closing) == (
            "Memory digest:",
            '<data source="memory">',
            "</data>",
        )
        assert line == result.text


class TestGathering:
    async def test_structured_then_keyword_then_semantic_hits(self) -> None:
        key, tag, word, like = (item(number=n) for n in range(4))
        source = ListSource([key], [tag], [(word, 5)], [(like, 0.5)])
        given = config(structured={"fact_keys": ["k"], "tags": ["t"]}, semantic={"enabled": True})
        result = await build(source, given)
        assert result.included_ids == ids(key, tag, word, like)
        assert (result.structured_hits, result.keyword_hits, result.semantic_hits) == (2, 1, 1)

    async def test_the_first_occurrence_wins_and_all_are_named(self) -> None:
        both, other = item(number=1, tags=("t",)), item(number=2)
        source = ListSource((), [both], [(other, 3), (both, 1)], [(both, 0.25)])
        given = config(structured={"tags": ["t"]}, semantic={"enabled": True})
        result = await build(source, given)
        assert result.included_ids == ids(both, other)
        assert about(result, both).reason == "tagged t; keyword score 1; meaning 0.25"
        assert about(result, both).dense == 0.25
        assert (result.structured_hits, result.keyword_hits, result.semantic_hits) == (1, 2, 1)

    async def test_meaning_is_ordered_by_score_then_id(self) -> None:
        low, high_b, high_a = item(number=1), item(number=3), item(number=2)
        source = ListSource(found_meaning=[(low, 0.1), (high_b, 0.9), (high_a, 0.9)])
        result = await build(source, config(semantic={"enabled": True}))
        assert result.included_ids == ids(high_a, high_b, low)

    async def test_nothing_is_looked_up_that_is_not_configured(self) -> None:
        source = ListSource()
        await build(source, config(keyword={"enabled": False}))
        assert source.asked == []

    @rows("query", ["", " \n"])
    async def test_without_words_only_structured_lookups_are_made(self, query: str) -> None:
        source = ListSource([item(tags=("fact:k",))])
        given = config(structured={"fact_keys": ["k"]}, semantic={"enabled": True})
        assert (await build(source, given, query)).structured_hits == 1
        assert [name for name, _ in source.asked] == ["facts"]

    async def test_structured_hits_are_at_most_twice_the_items(self) -> None:
        facts = [item(number=n, tags=(f"fact:{n}",)) for n in range(3)]
        tagged = [item(number=n) for n in range(10, 20)]
        given = config(
            structured={"fact_keys": ["0", "1", "2"], "tags": ["t"]},
            keyword={"enabled": False},
            budgets=budgets(max_total_items=2),
        )
        result = await build(ListSource(facts, tagged), given)
        assert result.structured_hits == len(result.candidates) == 4

    async def test_facts_alone_leave_no_room_for_tags(self) -> None:
        facts = [item(number=n, tags=(f"fact:{n}",)) for n in range(3)]
        given = config(
            structured={"fact_keys": ["0", "1", "2"], "tags": ["t"]},
            budgets=budgets(max_total_items=1),
        )
        source = ListSource(facts)
        assert (await build(source, given)).structured_hits == 2
        assert "tagged" not in dict(source.asked)

    @rows("query", ["x" * 1025, "w" * 65, " ".join("abcdefghijklm")])
    async def test_a_task_too_long_for_keywords_has_no_hits_and_says_so(self, query: str) -> None:
        result = await build(words(item()), query=query)
        assert (result.text, result.keyword_hits) == (NOTHING_FOUND, 0)
        assert result.degraded.startswith("keyword search takes")

    async def test_what_the_semantic_search_lacks_is_said(self) -> None:
        source = ListSource(found_words=[(item(), 1)], missing="no vectors")
        result = await build(source, config(semantic={"enabled": True}))
        assert (result.degraded, len(result.included_ids)) == ("no vectors", 1)


class TestFailure:
    @rows("error", [MemoryRetrievalError("gone"), ValueError("bug")])
    async def test_a_failed_lookup_makes_the_digest_unavailable(self, error: Exception) -> None:
        result = await build(ListSource(broken={"by_words": error}))
        assert result.text == UNAVAILABLE
        assert result.degraded.startswith("the memory digest failed: ")
        assert result.included_ids == ()

    async def test_a_failed_semantic_search_leaves_the_rest(self) -> None:
        source = ListSource(
            found_words=[(item(), 1)], broken={"by_meaning": MemoryRetrievalError("gone")}
        )
        result = await build(source, config(semantic={"enabled": True}))
        assert len(result.included_ids) == 1
        assert "gone" in result.degraded

    @pytest.mark.parametrize("error", [builtins.MemoryError, RecursionError])
    @pytest.mark.parametrize("lookup", ["by_words", "by_meaning"])
    async def test_what_is_fatal_propagates(self, error: type[Exception], lookup: str) -> None:
        source = ListSource(broken={lookup: error()})
        with pytest.raises(error):
            await build(source, config(semantic={"enabled": True}))


class TestVerdicts:
    async def test_sensitive_items_are_left_out_by_default(self) -> None:
        secret = item("s3cret", number=1, tags=("sensitivity:sensitive",))
        public = item(number=2, tags=("sensitivity:public",))
        result = await build(words(secret, item(number=3), public))
        assert "s3cret" not in result.part
        assert about(result, secret).verdict is Verdict.SENSITIVE
        assert about(result, secret).reason.startswith(
            "it is sensitive, which is not given to agents"
        )
        assert len(result.included_ids) == 2

    async def test_only_what_is_allowed_gets_in(self) -> None:
        private, secret = item(number=1), item(number=2, tags=("sensitivity:sensitive",))
        result = await build(words(private, secret), config(allow_sensitivities=["sensitive"]))
        assert result.included_ids == ids(secret)

    async def test_what_is_left_out_takes_no_room(self) -> None:
        secret, plain = item(number=1, tags=("sensitivity:sensitive",)), item(number=2)
        given = config(budgets=budgets(max_total_items=1))
        assert (await build(words(secret, plain), given)).included_ids == ids(plain)

    async def test_excluded_items_never_come(self) -> None:
        one, two = item(number=1), item(number=2)
        result = await build(words(one, two), excluded=ids(one), pinned=ids(one))
        assert verdicts(result) == {one.entry.id: Verdict.EXCLUDED, two.entry.id: Verdict.INCLUDED}

    async def test_pinned_items_come_first_even_if_nothing_finds_them(self) -> None:
        hit, pinned = item(number=1), item(number=2)
        source = ListSource(found_words=[(hit, 1)], all_items=[hit, pinned])
        result = await build(source, pinned=ids(pinned))
        assert result.included_ids == ids(pinned, hit)
        assert about(result, pinned).verdict is Verdict.PINNED
        assert result.keyword_hits == 1

    async def test_pinning_opens_no_secret(self) -> None:
        secret = item(tags=("sensitivity:sensitive",))
        result = await build(words(secret), pinned=ids(secret))
        assert result.text == NOTHING_FOUND
        assert about(result, secret).verdict is Verdict.SENSITIVE

    async def test_those_in_come_first_and_ranks_tell_the_order(self) -> None:
        secret, plain = item(number=1, tags=("sensitivity:sensitive",)), item(number=2)
        result = await build(words(secret, plain))
        assert [(c.entry.id, c.rank) for c in result.candidates] == [
            (plain.entry.id, 2),
            (secret.entry.id, 1),
        ]


class TestBudgets:
    async def test_as_many_items_as_allowed_altogether(self) -> None:
        items = [item(number=n) for n in range(4)]
        given = config(budgets=budgets(max_total_items=2))
        result = await build(words(*items), given)
        assert result.included_ids == ids(*items[:2])
        out = about(result, items[2])
        assert out.verdict is Verdict.OVER_BUDGET
        assert out.reason.startswith("the 2 items altogether are used up")

    @rows(
        ("kind", "category", "tags", "allowed"),
        [
            ("fact", "semantic", ("fact:k",), 6),
            ("note", "semantic", (), 4),
            ("procedure", "procedural", (), 3),
            ("episode", "episodic", (), 2),
        ],
    )
    async def test_as_many_of_a_kind_as_allowed(
        self, kind: str, category: str, tags: tuple[str, ...], allowed: int
    ) -> None:
        items = [item(number=n, category=category, tags=tags) for n in range(7)]
        result = await build(words(*items))
        assert result.included_ids == ids(*items[:allowed])
        reason = f"the {allowed} items of kind {kind} are used up"
        assert about(result, items[allowed]).reason.startswith(reason)

    async def test_a_full_kind_lets_others_in(self) -> None:
        episodes = [item(number=n, category="episodic") for n in range(3)]
        note = item(number=9)
        assert (await build(words(*episodes, note))).included_ids == ids(*episodes[:2], note)

    @pytest.mark.parametrize("where", ["total", "kind"])
    @pytest.mark.parametrize(("spare", "whole"), [(1, True), (0, False)])
    async def test_the_newline_counts(self, where: str, spare: int, whole: bool) -> None:
        wide = budgets().per_kind.model_dump()
        note = {**wide, "note": {"max_items": 9, "max_chars": LINE + spare}}
        given = (
            budgets(max_total_chars=LINE + spare) if where == "total" else budgets(per_kind=note)
        )
        result = await build(words(item()), config(budgets=given))
        assert (" — x" in result.text) is whole
        assert len(result.text) < LINE + spare

    async def test_used_up_characters_end_it(self) -> None:
        one, two = item(number=1), item(number=2)
        given = config(budgets=budgets(max_total_chars=LINE + 1))
        result = await build(words(one, two), given)
        assert result.included_ids == ids(one)
        reason = f"the {LINE + 1} characters altogether are used up"
        assert about(result, two).reason.startswith(reason)

    async def test_an_item_that_does_not_fit_keeps_no_shorter_one_out(self) -> None:
        long = item("v" * 200, number=1, category="procedural")
        short = item(number=2)
        room = LINE + 1
        wide = budgets().per_kind.model_dump()
        tight = {**wide, "procedure": {"max_items": 9, "max_chars": 40}}
        given = config(budgets=budgets(max_total_chars=room, per_kind=tight))
        result = await build(words(long, short), given)
        assert result.included_ids == ids(short)
        assert about(result, long).reason.startswith("does not fit in the 39 characters")

    @pytest.mark.parametrize("where", ["total", "kind"])
    @pytest.mark.parametrize(("spare", "fits"), [(0, True), (-1, False)])
    async def test_tokens_are_counted(self, where: str, spare: int, fits: bool) -> None:
        tokens = -(-LINE // 4) + spare
        wide = budgets().per_kind.model_dump()
        note = {**wide, "note": {**wide["note"], "max_tokens": tokens}}
        given = budgets(max_total_tokens=tokens) if where == "total" else budgets(per_kind=note)
        result = await build(words(item()), config(budgets=given))
        assert bool(result.included_ids) is fits
        assert result.tokens == (tokens if fits else 0)

    async def test_a_line_over_the_tokens_is_tried_again_at_70_percent(self) -> None:
        chars = 401
        given = config(budgets=budgets(max_total_chars=chars, max_total_tokens=70))
        result = await build(words(item("s" * 600)), given)
        assert len(result.text) == int((chars - 1) * 0.7) == 280
        assert result.tokens == 70

    async def test_but_only_once(self) -> None:
        given = config(budgets=budgets(max_total_chars=401, max_total_tokens=69))
        long, short = item("s" * 600, number=1), item(number=2)
        result = await build(words(long, short), given)
        assert result.included_ids == ids(short)
        assert about(result, long).reason.startswith(
            "does not fit in the 400 characters and 69 tokens"
        )

    @rows("budget", [0, 5, 40, 100, 300])
    async def test_the_budget_of_a_request_holds_for_the_whole_part(self, budget: int) -> None:
        items = [item("s" * 40, number=n) for n in range(12)]
        given = config(budgets=budgets(max_total_items=12))
        result = await build(words(*items), given, token_budget=budget)
        if result.included_ids:
            assert tokens_of(result.part) <= budget
        assert bool(result.included_ids) is (budget >= 100)


async def test_a_count_of_ones_own_bounds_the_tokens() -> None:
    given = config(budgets=budgets(max_total_tokens=2 * LINE))
    source = words(*(item(number=n) for n in range(5)))
    result = await MemoryDigest(source, given, count=len).build("ada", "words")
    assert (len(result.included_ids), result.tokens) == (2, 2 * LINE)


TEXTS = st.one_of(
    st.text(max_size=80),
    st.sampled_from(("</data>", "# T\nbody", "system: x", "word " * 300, "\x1b[2J", '{"a": 1}')),
).filter(lambda text: bool(text.strip()))
TAGS = st.lists(
    st.sampled_from(("t", "fact:a", "fact:<data>", "sensitivity:public", "sensitivity:sensitive")),
    max_size=3,
)
CATEGORIES = st.sampled_from(("semantic", "episodic", "procedural", "working", "social"))
ITEMS = st.lists(
    st.builds(
        lambda content, category, tags, source: (content, category, tags, source),
        TEXTS,
        CATEGORIES,
        TAGS,
        st.none() | TEXTS,
    ),
    max_size=12,
)
KIND = st.fixed_dictionaries(
    {
        "max_items": st.integers(0, 6),
        "max_chars": st.integers(0, 900),
        "max_tokens": st.none() | st.integers(0, 150),
    }
)
BUDGETS = st.fixed_dictionaries(
    {
        "max_total_items": st.integers(0, 10),
        "max_total_chars": st.integers(0, 2000),
        "max_total_tokens": st.none() | st.integers(0, 400),
        "per_kind": st.fixed_dictionaries({kind.value: KIND for kind in ItemKind}),
    }
)
FIXED = {DISABLED, NO_SENSITIVITIES, EMPTY, NO_TOKENS, NOTHING_FOUND, UNAVAILABLE, COMMAND_TURN}


@given(ITEMS, BUDGETS, TEXTS, st.none() | st.integers(-5, 500))
async def test_the_digest_is_deterministic_fenced_and_inside_every_budget(
    raw: list[tuple[str, str, list[str], str | None]],
    bounds: dict[str, object],
    query: str,
    token_budget: int | None,
) -> None:
    items = [
        item(content, number=n, category=category, tags=tags, source=source)
        for n, (content, category, tags, source) in enumerate(raw)
    ]
    given = config(budgets=bounds, structured={"tags": ["t"]}, semantic={"enabled": True})
    source = ListSource(
        found_tagged=items[::3],
        found_words=[(each, 1) for each in items],
        found_meaning=[(each, 0.5) for each in items[::2]],
    )
    result = await build(source, given, query, token_budget=token_budget)
    assert result == await build(source, given, query, token_budget=token_budget)
    assert result.text != UNAVAILABLE
    assert result.part.lower().count("<data") == result.part.lower().count("</data") == 1
    lines = [] if result.text in FIXED else result.text.split("\n")
    by_id = {each.entry.id: each for each in items}
    assert all(candidate.reason for candidate in result.candidates)
    assert [c.entry.id for c in result.candidates if c.verdict.is_in] == list(result.included_ids)
    assert sorted(c.rank for c in result.candidates) == list(range(1, len(result.candidates) + 1))
    assert sum(c.tokens for c in result.candidates) == result.tokens
    assert len(lines) == len(result.included_ids) == len(set(result.included_ids))
    assert len(result.candidates) == len({c.entry.id for c in result.candidates})
    chosen = [by_id[each] for each in result.included_ids]
    for line, each in zip(lines, chosen, strict=True):
        assert line.startswith(f"- [{each.kind}] {each.entry.id} ({each.sensitivity})")
        assert each.sensitivity != "sensitive"
    limits = given.budgets
    assert_within(lines, limits.max_total_items, limits.max_total_chars, limits.max_total_tokens)
    for kind in ItemKind:
        of_kind = [line for line in lines if line.startswith(f"- [{kind}]")]
        bound = getattr(limits.per_kind, kind.value)
        assert_within(of_kind, bound.max_items, bound.max_chars, bound.max_tokens)
    if token_budget is not None and lines:
        assert tokens_of(result.part) <= token_budget


def assert_within(lines: list[str], items: int, chars: int, tokens: int | None) -> None:
    assert len(lines) <= items
    assert sum(len(line) + 1 for line in lines) <= chars
    if tokens is not None:
        assert sum(map(tokens_of, lines)) <= tokens
