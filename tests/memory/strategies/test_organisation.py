"""What the organisation tells stands before an agent's memories, whatever finds these."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.backends.inmemory import InMemoryBackend
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.filter import NON_INFERABLE_TAG
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor
from synthorg_tui.memory.org.policies import policy_block
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.organisation import OrgBriefing
from synthorg_tui.memory.strategies.service import Injection, InjectionRequest, InjectionService
from tests.memory.strategies.test_injection_service import filled
from tests.tables import rows

WAYS: list[tuple[InjectionStrategy | None, bool]] = [
    *((strategy, False) for strategy in InjectionStrategy),
    (None, True),
]
"""Every strategy, and the digest that replaces them."""
RULES = ("All code is reviewed before it is merged.", "Never push to main.")
PLENTY = 100_000


def policy(content: str, number: int = 0, *tags: str) -> OrgFact:
    return OrgFact(
        id=f"core-policy-{number}",
        content=content,
        category=OrgFactCategory.CORE_POLICY,
        tags=tags,
        author=OrgFactAuthor(is_human=True),
        created_at=datetime(2026, 11, 1, tzinfo=UTC),
    )


def service(
    backend: InMemoryBackend,
    policies: Sequence[OrgFact] | Exception,
    *,
    policy_tokens: int = 500,
    **fields: Any,
) -> InjectionService:
    async def known(_: datetime | None) -> Sequence[OrgFact]:
        if isinstance(policies, Exception):
            raise policies
        return policies

    return InjectionService(
        memory=backend,
        retrieval=MemoryRetrievalConfig(),
        organisation=OrgBriefing(known, policy_tokens),
        **fields,
    )


def rules() -> list[OrgFact]:
    return [policy(content, number) for number, content in enumerate(RULES)]


def nameless(text: str) -> str:
    """The text without ids, which are others in each store."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)


async def told(
    strategy: InjectionStrategy | None = None,
    digest_v1: bool = False,
    *,
    budget: int = PLENTY,
    query: str = "port",
    policies: Sequence[OrgFact] | Exception | None = None,
    handed: frozenset[str] = frozenset(),
    **fields: Any,
) -> Injection:
    of = service(
        await filled("The port is 6543."), rules() if policies is None else policies, **fields
    )
    asked = InjectionRequest("ada", query, budget, strategy, digest_v1=digest_v1, handed=handed)
    return await of.prepare(asked)


@rows(("strategy", "digest_v1"), WAYS)
async def test_policies_stand_first_in_every_strategy_and_what_follows_is_as_without(
    strategy: InjectionStrategy | None, digest_v1: bool
) -> None:
    block = policy_block(rules(), 500, DefaultTokenEstimator())
    injection = await told(strategy, digest_v1)
    without = await told(strategy, digest_v1, policies=())
    assert nameless(injection.text) == nameless(f"{block.text}\n\n{without.text}")
    assert injection.text == injection.explanation.text
    assert injection.tools == without.tools
    assert injection.messages[0].role.value == "system"
    assert injection.explanation.policy_tokens == block.tokens
    given_, alone = injection.explanation.candidates, without.explanation.candidates
    assert [each.verdict for each in given_] == [each.verdict for each in alone]


@rows(("strategy", "digest_v1"), WAYS)
async def test_the_whole_is_bounded_and_adds_up_for_every_budget(
    strategy: InjectionStrategy | None, digest_v1: bool
) -> None:
    for budget in (*range(0, 260, 3), 1_000):
        found = (await told(strategy, digest_v1, budget=budget)).explanation
        assert found.token_budget == budget
        assert estimate_tokens(found.text) <= found.tokens_used <= budget
        memories = sum(each.tokens for each in found.included)
        assert found.policy_tokens + found.frame_tokens + memories == found.tokens_used
        assert found.policy_tokens <= 500


async def test_their_own_budget_bounds_policies_and_leaves_the_rest_to_memories() -> None:
    many = [policy(f"Rule number {number} is kept by all.", number) for number in range(40)]
    found = (await told(policies=many, policy_tokens=120)).explanation
    assert 60 < found.policy_tokens <= 120
    assert [each.entry.content for each in found.included] == ["The port is 6543."]
    out = [each for each in found.policies if each.verdict is Verdict.OVER_BUDGET]
    assert f"({len(out)} more policies don't fit here: org_policies lists them.)" in found.text
    assert len(found.policies) == 40


async def test_without_a_budget_of_their_own_no_policy_is_told() -> None:
    found = (await told(policy_tokens=0)).explanation
    assert (found.policy_tokens, found.organisation) == (0, ())
    assert "6543" in found.text
    assert "reviewed" not in found.text


async def test_a_question_about_nothing_is_answered_with_the_policies_alone() -> None:
    backend = await filled()
    injection = await service(backend, rules()).prepare(InjectionRequest("ada", "zebra", PLENTY))
    assert injection.text == policy_block(rules(), 500, DefaultTokenEstimator()).text
    assert injection.explanation.tokens_used == injection.explanation.policy_tokens
    assert injection.explanation.included == ()


async def test_no_filter_keeps_a_policy_back() -> None:
    backend = await filled("The port is 6543.", tag="note")
    of = service(backend, rules())
    only = MemoryRetrievalConfig(non_inferable_only=True)
    found = (await of.prepare(InjectionRequest("ada", "port", PLENTY, retrieval=only))).explanation
    assert NON_INFERABLE_TAG not in found.text
    assert found.included == ()
    assert found.organisation == ("core-policy-0", "core-policy-1")


@rows(("strategy", "digest_v1"), WAYS)
async def test_a_session_is_handed_the_block_once_and_anew_when_it_reads_otherwise(
    strategy: InjectionStrategy | None, digest_v1: bool
) -> None:
    first = await told(strategy, digest_v1)
    marks = frozenset(first.explanation.marks)
    again = await told(strategy, digest_v1, handed=marks)
    assert "reviewed" not in again.text
    assert again.explanation.policy_tokens == 0
    assert again.explanation.organisation == ()
    assert [each.verdict for each in again.explanation.policies] == [Verdict.HANDED] * 2
    assert again.explanation.handed >= len(RULES)

    changed = [*rules(), policy("Write plain English.", 2)]
    news = await told(strategy, digest_v1, policies=changed, handed=marks)
    assert news.text.startswith(policy_block(changed, 500, DefaultTokenEstimator()).text)
    assert news.explanation.organisation == tuple(each.id for each in changed)


async def test_who_has_all_policies_is_not_handed_fewer_of_them_for_a_smaller_budget() -> None:
    many = [policy(f"Rule number {number} is kept by all.", number) for number in range(10)]
    small = (await told(query="zebra", budget=80, policies=many)).explanation
    assert 0 < len(small.organisation) < 10
    marks = frozenset(small.marks)
    every = (await told(query="zebra", policies=many, handed=marks)).explanation
    assert len(every.organisation) == 10
    marks |= frozenset(every.marks)
    again = (await told(query="zebra", budget=80, policies=many, handed=marks)).explanation
    assert (again.text, again.organisation) == ("", ())
    assert [each.verdict for each in again.policies] == [Verdict.HANDED] * 10


async def test_what_is_handed_later_has_the_whole_budget_for_memories() -> None:
    marks = frozenset((await told(query="zebra")).explanation.marks)
    needed = (await told(policies=())).explanation.tokens_used
    found = (await told(budget=needed, handed=marks)).explanation
    assert [each.entry.content for each in found.included] == ["The port is 6543."]


async def test_policies_that_cannot_be_read_are_named_and_memories_are_given_all_the_same() -> None:
    found = (await told(policies=RuntimeError("gone"))).explanation
    assert "6543" in found.text
    assert found.degraded.startswith("reading the policies failed")


async def test_a_budget_that_only_holds_policies_says_what_memories_lack() -> None:
    block = policy_block(rules(), 500, DefaultTokenEstimator())
    found = (await told(budget=block.tokens + 5)).explanation
    assert found.text == block.text
    assert found.degraded.startswith(f"policies take {block.tokens} tokens of the budget; a budget")


async def test_a_project_is_told_its_own_policies_and_those_for_all(tmp_path: Path) -> None:
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    known = [
        policy("Holds in all.", 0),
        policy("Holds here.", 1, f"project:{here}"),
        policy("Holds there.", 2, f"project:{there}"),
    ]
    of = service(await filled(), known)
    for view, expected in (
        (Visibility(None, here), (0, 1)),
        (Visibility(None, f"{here}/part"), (0, 1)),
        (Visibility(None, f"{here}-else"), (0,)),
        (Visibility(None, None), (0,)),
        (None, (0, 1, 2)),
    ):
        request = InjectionRequest("ada", "zebra", PLENTY, visibility=view)
        found = (await of.prepare(request)).explanation
        assert found.organisation == tuple(f"core-policy-{number}" for number in expected)


class Greedy:
    """A tokenizer that counts a whole higher than its parts."""

    def estimate_tokens(self, text: str) -> int:
        return len(text) // 4 + text.count("\n\n") * 7


@rows(("strategy", "digest_v1"), WAYS)
async def test_the_budget_holds_by_a_tokenizer_that_counts_parts_lower_than_the_whole(
    strategy: InjectionStrategy | None, digest_v1: bool
) -> None:
    for budget in range(0, 400, 5):
        found = (await told(strategy, digest_v1, budget=budget, estimator=Greedy())).explanation
        assert Greedy().estimate_tokens(found.text) <= found.tokens_used <= budget
