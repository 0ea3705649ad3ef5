"""Facts of the organisation are told where they answer the question, between policies and memories.

The search for them is a fake: which facts are evidence enough is decided there.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.core.untrusted import defused
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.memory.formatter import DIRECTIVE
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor, OrgMemoryQuery
from synthorg_tui.memory.org.search import FoundFact, as_candidate
from synthorg_tui.memory.retrieval.explanation import Explanation, Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies.organisation import SEARCHED, OrgBriefing
from synthorg_tui.memory.strategies.service import InjectionRequest, InjectionService
from tests.hostile import FENCE_BREAKS
from tests.memory.strategies.test_injection_service import filled
from tests.memory.strategies.test_organisation import PLENTY, policy
from tests.tables import rows

ADR = "The staging database listens on port 6544 since the move."
RULE = policy("Review all code.")


def fact(
    content: str,
    number: int = 0,
    *tags: str,
    category: OrgFactCategory = OrgFactCategory.CONVENTION,
) -> FoundFact:
    known = OrgFact(
        id=f"fact-{number}",
        content=content,
        category=category,
        tags=tags,
        author=OrgFactAuthor(is_human=True),
        created_at=datetime(2026, 11, 1, tzinfo=UTC),
    )
    return FoundFact(known, 0.75, as_candidate(known, reason="matches by words", score=0.75))


class Found:
    """A search that finds the same for every question, and knows what it was asked."""

    def __init__(self, facts: Sequence[FoundFact]) -> None:
        self.facts = facts
        self.asked: list[tuple[OrgMemoryQuery, str | None]] = []

    async def find(self, query: OrgMemoryQuery, project: str | None) -> Sequence[FoundFact]:
        self.asked.append((query, project))
        return self.facts


async def told(
    *facts: FoundFact,
    budget: int = PLENTY,
    query: str = "port",
    memories: Sequence[str] = ("The port is 6543.",),
    strategy: InjectionStrategy | None = None,
    digest_v1: bool = False,
    handed: frozenset[str] = frozenset(),
    max_facts: int = 5,
    search: Found | None = None,
    view: Visibility | None = None,
) -> Explanation:
    async def policies(_: datetime | None) -> Sequence[OrgFact]:
        return (RULE,)

    found = search or Found(facts)
    service = InjectionService(
        memory=await filled(*memories),
        retrieval=MemoryRetrievalConfig(),
        organisation=OrgBriefing(policies, 500, found.find, max_facts),
    )
    request = InjectionRequest(
        "ada", query, budget, strategy, digest_v1=digest_v1, handed=handed, visibility=view
    )
    return (await service.prepare(request)).explanation


async def test_facts_stand_after_policies_and_before_memories_under_one_directive() -> None:
    tags = ("title:Where staging listens", "status:accepted", "date:2026-02-03")
    found = await told(fact(ADR, 0, *tags, category=OrgFactCategory.ADR))
    policies, directive, rest = found.text.split("\n\n", 2)
    assert policies.endswith("- Review all code.")
    assert directive == DIRECTIVE
    assert found.text.count(DIRECTIVE) == 1
    fenced, memories = rest.split("\n\n")
    header = "[organisation] [adr | accepted | 2026-02-03 | score: 0.75]"
    assert fenced == f"<memory-entry>\n{header} Where staging listens: {ADR}\n</memory-entry>"
    assert "The port is 6543." in memories
    (explained,) = found.facts
    assert (explained.verdict, explained.reason) == (Verdict.INCLUDED, "matches by words")
    assert explained.tokens == found.fact_tokens > 0
    assert found.organisation == ("core-policy-0", "fact-0")


async def test_without_memories_facts_have_the_directive_all_the_same() -> None:
    found = await told(fact(ADR), memories=(), query="staging")
    assert found.text.split("\n\n")[1] == DIRECTIVE
    assert found.included == ()
    assert ADR in found.text


async def test_what_is_no_policy_is_searched_in_the_project_and_as_many_as_are_wanted() -> None:
    search = Found([fact(f"Fact number {n} is told.", n) for n in range(7)])
    found = await told(search=search, max_facts=3, view=Visibility(None, "/srv/app"))
    await told(search=search, view=Visibility(None, None))
    await told(search=search)
    assert [project for _, project in search.asked] == ["/srv/app", "", None]
    assert search.asked[0][0] == OrgMemoryQuery(context="port", categories=SEARCHED, limit=3)
    assert OrgFactCategory.CORE_POLICY not in SEARCHED
    assert len(found.facts) == 3


@rows("strategy", [InjectionStrategy.TOOL_BASED, InjectionStrategy.SELF_EDITING])
async def test_who_asks_with_tools_is_given_no_facts_unasked(strategy: InjectionStrategy) -> None:
    found = await told(fact(ADR), strategy=strategy)
    assert found.facts == ()
    assert found.organisation == ("core-policy-0",)


async def test_the_digest_of_lines_has_facts_too_but_not_for_a_slash_command() -> None:
    assert (await told(fact(ADR), digest_v1=True)).organisation == ("core-policy-0", "fact-0")
    assert (await told(fact(ADR), digest_v1=True, query="/help")).facts == ()


@rows("digest_v1", [False, True])
async def test_the_whole_is_bounded_with_facts_for_every_budget_and_memories_keep_half(
    digest_v1: bool,
) -> None:
    facts = [fact(f"Fact number {n} is told. " * (n + 1), n) for n in range(5)]
    for budget in (*range(0, 500, 7), 1_500):
        found = await told(*facts, budget=budget, digest_v1=digest_v1)
        assert estimate_tokens(found.text) <= found.tokens_used <= budget
        parts = found.policy_tokens + found.fact_tokens + found.frame_tokens
        assert parts + sum(each.tokens for each in found.included) == found.tokens_used
        assert found.fact_tokens <= max(0, (budget - found.policy_tokens) // 2)
        assert len(found.facts) == (5 if budget else 0)


async def test_a_fact_without_room_says_how_much_it_needs() -> None:
    found = await told(fact("Told in full. " * 60), budget=200)
    (explained,) = found.facts
    assert explained.verdict is Verdict.OVER_BUDGET
    assert explained.reason.startswith(f"needs {explained.tokens} tokens, ")
    assert "6543" in found.text


async def test_the_same_words_are_not_told_twice() -> None:
    twice = fact("The PORT is 6543!", 1)
    found = await told(twice, fact("REVIEW all code", 2), fact("The port is 6544.", 3))
    verdicts = [each.verdict for each in found.facts]
    assert verdicts == [Verdict.ALIKE, Verdict.ALIKE, Verdict.INCLUDED]
    assert found.text.count("6543") == 1
    assert found.fact_tokens == found.facts[2].tokens
    estimated = estimate_tokens(found.text)
    assert estimated <= found.tokens_used


async def test_a_session_is_handed_a_fact_once_and_anew_when_it_says_something_else() -> None:
    first = await told(fact(ADR))
    marks = frozenset(first.marks)
    again = await told(fact(ADR), handed=marks)
    assert [each.verdict for each in again.facts] == [Verdict.HANDED]
    assert ADR not in again.text
    edited = await told(fact(f"{ADR} Or 6545."), handed=marks)
    assert [each.verdict for each in edited.facts] == [Verdict.INCLUDED]


async def test_of_a_long_fact_what_answers_is_told() -> None:
    filler = "Nothing of it is about what is asked here, whatever it may say. " * 60
    found = await told(fact(f"Where it listens. {filler} The port of staging is 6544. {filler}"))
    assert "The port of staging is 6544." in found.text
    assert "[whole: org_search]" in found.text
    assert found.fact_tokens < 600


async def test_no_fact_ends_its_fence_or_steers_a_terminal() -> None:
    for number, text in enumerate(FENCE_BREAKS):
        found = await told(fact(f"Before {text} after \x1b[2J", number))
        fenced = found.text.partition(DIRECTIVE)[2].partition("<memory-entry>\n")[2]
        inside = fenced.partition("\n</memory-entry>")[0]
        assert defused(inside) == inside
        assert inside.endswith("after ␛[2J")


async def test_a_search_that_fails_is_named_and_the_rest_is_told() -> None:
    class Broken(Found):
        async def find(self, query: OrgMemoryQuery, project: str | None) -> Sequence[FoundFact]:
            raise RuntimeError("gone")

    found = await told(search=Broken(()))
    assert "searching the facts failed" in found.degraded
    assert "6543" in found.text
    assert "Review all code." in found.text
