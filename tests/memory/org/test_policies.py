"""The block of policies: their order, the budget, and that each is told whole or not at all."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import defused
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor
from synthorg_tui.memory.org.policies import LIST_TOOL, PolicyBlock, policy_block, policy_line
from tests.hostile import DISGUISED_CLOSINGS, HOSTILE
from tests.tables import rows

ESTIMATOR = DefaultTokenEstimator()
PLENTY = 1_000_000


class Bytes:
    """An estimator that sees a token in every byte: parts add up to no less than the whole."""

    def estimate_tokens(self, text: str) -> int:
        return len(text.encode("utf-8", "replace"))


def policy(content: str, number: int = 0) -> OrgFact:
    return OrgFact(
        id=f"core-policy-{number}",
        content=content,
        category=OrgFactCategory.CORE_POLICY,
        author=OrgFactAuthor(is_human=True),
        created_at=datetime(2026, 11, 1, tzinfo=UTC),
    )


def policies(contents: Sequence[str]) -> list[OrgFact]:
    return [policy(content, number) for number, content in enumerate(contents)]


TEXTS = st.text(min_size=1, max_size=120).filter(lambda text: bool(text.strip()))
MANY = st.lists(TEXTS, max_size=12).map(policies)


def test_the_block_tells_all_policies_in_their_order_as_instructions() -> None:
    block = policy_block(policies(["Review all code.", "Never push to main."]), PLENTY, ESTIMATOR)
    first, *rest = block.text.split("\n")
    assert first.startswith("Policies of this organisation")
    assert rest == ["- Review all code.", "- Never push to main."]
    assert (block.told, block.omitted) == (("core-policy-0", "core-policy-1"), ())
    assert block.tokens == ESTIMATOR.estimate_tokens(block.text)


@given(MANY, st.integers(min_value=0, max_value=900), st.sampled_from((ESTIMATOR, Bytes())))
def test_every_budget_is_kept_and_every_policy_is_told_whole_or_named_as_left_out(
    given_: list[OrgFact], budget: int, estimator: DefaultTokenEstimator | Bytes
) -> None:
    block = policy_block(given_, budget, estimator)
    assert block.tokens == estimator.estimate_tokens(block.text) <= budget
    every = [each.id for each in given_]
    assert sorted((*block.told, *block.omitted), key=every.index) == every
    told = [each for each in given_ if each.id in block.told]
    items = "\n".join(policy_line(each.content) for each in told)
    assert block.told == tuple(each.id for each in told)
    assert items in block.text
    if block.text and block.omitted:
        assert str(len(block.omitted)) in block.text.removeprefix("Policies")
        assert LIST_TOOL in block.text
    assert policy_block(given_, budget, estimator) == block


@given(MANY, st.integers(min_value=1, max_value=900))
def test_a_policy_is_left_out_only_if_it_has_no_room_beside_those_before_it(
    given_: list[OrgFact], budget: int
) -> None:
    block = policy_block(given_, budget, ESTIMATOR)
    for place, each in enumerate(given_):
        if each.id in block.omitted:
            before = [other for other in given_[:place] if other.id in block.told]
            alone = policy_block([*before, each], PLENTY, ESTIMATOR)
            room = ESTIMATOR.estimate_tokens(f"(1 more policy doesn't fit here: {LIST_TOOL})") + 20
            assert alone.tokens + room > budget


@given(MANY)
def test_a_budget_of_exactly_the_whole_leaves_nothing_out_and_one_less_does(
    given_: list[OrgFact],
) -> None:
    whole = policy_block(given_, PLENTY, Bytes())
    assert whole.omitted == ()
    assert policy_block(given_, whole.tokens, Bytes()) == (whole if given_ else PolicyBlock())
    if given_:
        assert policy_block(given_, whole.tokens - 1, Bytes()).omitted != ()


def test_there_is_no_block_for_a_budget_of_nothing_nor_without_policies() -> None:
    assert policy_block(policies(["Review all code."]), 0, ESTIMATOR) == PolicyBlock(
        omitted=("core-policy-0",)
    )
    assert policy_block([], PLENTY, ESTIMATOR) == PolicyBlock()


def test_where_only_the_number_of_policies_has_room_it_is_told() -> None:
    long = policies(["Review all code. " * 40, "Test all of it. " * 40])
    block = policy_block(long, 40, ESTIMATOR)
    assert block.text.startswith("This organisation has 2 policies: org_policies lists them.")
    assert (block.told, len(block.omitted)) == ((), 2)
    nothing = policy_block(long, 5, ESTIMATOR)
    assert (nothing.text, nothing.tokens, len(nothing.omitted)) == ("", 0, 2)


def test_after_one_that_is_too_large_smaller_ones_still_fit() -> None:
    given_ = policies(["Review all code.", "long " * 400, "Never push to main."])
    block = policy_block(given_, 120, ESTIMATOR)
    assert block.told == ("core-policy-0", "core-policy-2")
    last = "(1 more policy doesn't fit here: org_policies lists it.)"
    assert block.text.endswith(f"- Never push to main.\n{last}")


@rows("budget", [0, 100, PLENTY])
def test_no_policy_ends_a_fence_or_steers_a_terminal_whatever_it_says(budget: int) -> None:
    for text in (*HOSTILE, *DISGUISED_CLOSINGS):
        if not text.strip():
            continue
        block = policy_block([policy(text), policy("Review all code.", 1)], budget, ESTIMATOR)
        assert defused(block.text, unfenced=True) == block.text
        assert safe_text(block.text, multiline=True) == block.text


@rows(
    "opening",
    ["<memory-entry>", "<data source='memory'>", "< DATA >", "<skill>", "<Skill name=x>", "[INST]"],
)
def test_no_policy_opens_a_fence_that_those_after_it_would_stand_in(opening: str) -> None:
    line = policy_line(f"Use it: {opening} always")
    assert opening not in line
    assert "always" in line


@rows("plain", ["a < b", "List<int>", "send it to <database>", "< /dev/null"])
def test_what_opens_no_fence_stays_as_it_was_written(plain: str) -> None:
    assert policy_line(plain) == f"- {plain}"


def test_the_lines_of_a_policy_stay_one_item() -> None:
    line = policy_line("  Before a merge:\r\n- run the tests  \n\n(0 more policies)\n")
    assert line == "- Before a merge:\n  - run the tests\n\n  (0 more policies)"
