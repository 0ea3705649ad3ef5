"""What the organisation tells an agent, put before what a strategy found in its memories.

Policies come first and in any case: no relevance, sensitivity or filter keeps them back, and they
stand whatever the strategy is, since they are the organisation's and no agent's memories. A session
is handed the block once and again as soon as it reads otherwise: it is known by its mark like any
other text, and replaces the one before as a whole. So whoever has as many as the settings allow
isn't handed fewer of the same for a smaller budget. Facts that answer the question follow, fenced
as memories are, with at most half of the room that is left: a decision may be long.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.failsafe import safely
from synthorg_tui.core.text import CHARS_PER_TOKEN, safe_text
from synthorg_tui.core.untrusted import wrap_untrusted
from synthorg_tui.memory.formatter import DIRECTIVE, TAG_MEMORY_ENTRY, frame_tokens
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.org.models import OrgFact, OrgMemoryQuery
from synthorg_tui.memory.org.policies import PolicyBlock, policy_block
from synthorg_tui.memory.org.search import FoundFact
from synthorg_tui.memory.org.standing import is_for
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.retrieval.explanation import (
    Explanation,
    OrgCandidate,
    PreparedMessages,
    Verdict,
    text_of,
)
from synthorg_tui.memory.retrieval.passages import PassageFinder
from synthorg_tui.memory.retrieval.wording import (
    HANDED_BEFORE,
    ROOM_OF_LEARNT,
    WORTH_CUTTING,
    mark_of,
)
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

SEARCH_TOOL: Final = "org_search"
"""The tool that finds facts; named to agents for what an excerpt leaves out."""
SEARCHED: Final = frozenset(OrgFactCategory) - {OrgFactCategory.CORE_POLICY}
"""What is told only where it answers the question."""
SAID_ALREADY: Final = "what is handed over besides says it in the same words"
_PARAGRAPH: Final = "\n\n"
_LINE: Final = "\n"
_POLICIES: Final = "policies"
_WORD: Final = re.compile(r"\w+")

Policies = Callable[[datetime | None], Awaitable[Sequence[OrgFact]]]
"""Returns all core policies in force, or those that were at a time, in their order."""
Facts = Callable[[OrgMemoryQuery, str | None], Awaitable[Sequence[FoundFact]]]
"""Returns the facts that answer a question asked in a project, the best first; see ``OrgSearch``.

None if nothing is evidence enough. The project is empty for a place in none, ``None`` for all.
"""


@dataclass(frozen=True, slots=True)
class OrgBriefing:
    """What of organisation memory agents are told before their memories.

    ``policy_tokens`` bounds the policies; at most ``max_facts`` facts are told.
    """

    policies: Policies
    policy_tokens: int
    facts: Facts | None = None
    max_facts: int = 5

    async def prepare(
        self,
        token_budget: int,
        estimator: TokenEstimator,
        *,
        view: Visibility | None,
        query: str = "",
        passage_tokens: int = 120,
        handed: Collection[str] = (),
        at: datetime | None = None,
    ) -> "OrgPart":
        """Return what is told to an agent in a project; what can't be read is named as missing.

        ``view`` ``None`` is a person, who sees what is known of all projects. No facts are told
        without a ``query``; a long one is told by about thrice ``passage_tokens``, as what was
        learnt is. ``handed`` are the marks of what the session was handed before, ``at`` is a time
        to look back to.
        """
        if token_budget <= 0:
            return OrgPart()
        notes: list[str] = []
        project = None if view is None else view.project or ""
        reading = safely(self.policies(at), what="reading the policies", notes=notes)
        known, found = await asyncio.gather(reading, self._find(query, project, notes))
        policies = tuple(
            policy for policy in known or () if is_for(OrgTraits.of(policy.tags).project, project)
        )
        block = policy_block(policies, self.policy_tokens, estimator)
        if token_budget < self.policy_tokens and mark_of(block.text, _POLICIES) not in handed:
            block = policy_block(policies, token_budget, estimator)
        mark = mark_of(block.text, _POLICIES)
        part = OrgPart(policies, block, mark, is_handed=mark in handed)
        if found:
            limit = ROOM_OF_LEARNT * passage_tokens * CHARS_PER_TOKEN
            told = [_worded(each, query, limit) for each in found]
            part = _with_facts(part, told, token_budget, estimator, frozenset(handed))
        return replace(part, notes="; ".join(notes))

    async def _find(self, query: str, project: str | None, notes: list[str]) -> Sequence[FoundFact]:
        if self.facts is None or not query.strip():
            return ()
        asked = OrgMemoryQuery(context=query, categories=SEARCHED, limit=self.max_facts)
        call = self.facts(asked, project)
        found = await safely(call, what="searching the facts", notes=notes)
        return (found or ())[: self.max_facts]


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact as it is explained to a person, and the block that tells it to an agent.

    ``mark`` tells what the block says of the fact from all others.
    """

    candidate: OrgCandidate
    block: str
    mark: str

    def judged(self, verdict: Verdict, reason: str) -> "ToldFact":
        """Return it with another verdict."""
        return replace(self, candidate=replace(self.candidate, verdict=verdict, reason=reason))

    @property
    def is_in(self) -> bool:
        """Whether the agent is told it."""
        return self.candidate.verdict.is_in


@dataclass(frozen=True, slots=True)
class OrgPart:
    """What stands before the memories of one digest.

    With ``is_handed`` the session has the very same block of policies already.
    """

    policies: tuple[OrgFact, ...] = ()
    block: PolicyBlock = field(default_factory=PolicyBlock)
    mark: str = ""
    is_handed: bool = False
    facts: tuple[ToldFact, ...] = ()
    notes: str = ""

    @property
    def text(self) -> str:
        """The block of policies, unless the session has it."""
        return "" if self.is_handed else self.block.text

    @property
    def fact_tokens(self) -> int:
        """What the facts take that are told, with their fences."""
        return sum(fact.candidate.tokens for fact in self.facts if fact.is_in)

    def room(self, token_budget: int, estimator: TokenEstimator) -> int:
        """Return how many tokens of a budget are left to memories."""
        taken = self.fact_tokens
        if self.text:
            # One more, since an estimator may round down what stands before and what follows.
            taken += estimator.estimate_tokens(f"{self.text}{_PARAGRAPH}") + 1
        return token_budget - taken

    def before(
        self, prepared: PreparedMessages, token_budget: int, estimator: TokenEstimator
    ) -> PreparedMessages:
        """Return the messages with this before them, and the explanation of both."""
        found = prepared.explanation
        part = replace(self, facts=_once(self, found)) if self.facts else self
        messages = part.messages(prepared.messages)
        text = text_of(messages)
        told, facts = part.block.tokens if part.text else 0, part.fact_tokens
        alone = told + facts + found.tokens_used
        used = max(estimator.estimate_tokens(text), alone) if told or facts else alone
        notes = [self.notes, found.degraded]
        if told and found.degraded and not prepared.messages:
            notes.insert(1, f"policies take {told:,} tokens of the budget")
        marks = [part.mark] if part.text else []
        marks += [fact.mark for fact in part.facts if fact.is_in]
        explanation = replace(
            found,
            token_budget=token_budget,
            tokens_used=used,
            frame_tokens=found.frame_tokens + used - alone,
            text=text,
            degraded="; ".join(note for note in notes if note),
            marks=(*marks, *found.marks),
            policies=part.explained_policies(),
            policy_tokens=told,
            facts=tuple(fact.candidate for fact in part.facts),
            fact_tokens=facts,
        )
        return PreparedMessages(messages, explanation)

    def messages(self, memories: tuple[ChatMessage, ...] = ()) -> tuple[ChatMessage, ...]:
        """Return the messages: policies, then the directive with the facts, then the memories.

        Where the memories begin with the same directive it stands once, before both.
        """
        first = [ChatMessage(role=MessageRole.SYSTEM, content=self.text)] if self.text else []
        facts = _LINE.join(fact.block for fact in self.facts if fact.is_in)
        if not facts:
            return (*first, *memories)
        if memories and memories[0].content == DIRECTIVE:
            memories = memories[1:]
        first.append(ChatMessage(role=MessageRole.SYSTEM, content=DIRECTIVE))
        role = memories[0].role if memories else MessageRole.SYSTEM
        return (*first, ChatMessage(role=role, content=facts), *memories)

    def explained_policies(self) -> tuple[OrgCandidate, ...]:
        """Return every policy with whether it is told, and why."""
        told, place = frozenset(self.block.told), 0
        explained = []
        for policy in self.policies:
            verdict, reason = Verdict.OVER_BUDGET, "no room is left for it among the policies"
            if policy.id in told:
                place += 1
                verdict, reason = Verdict.INCLUDED, f"policy {place}: every agent is told it"
                if self.is_handed:
                    verdict, reason = Verdict.HANDED, HANDED_BEFORE
            explained.append(
                OrgCandidate(policy.id, policy.category.value, policy.content, verdict, reason)
            )
        return tuple(explained)


async def prepare_within(
    part: OrgPart,
    token_budget: int,
    estimator: TokenEstimator,
    prepare: Callable[[int], Awaitable[PreparedMessages]],
) -> PreparedMessages:
    """Return what ``prepare`` makes of the budget that is left, with the part before it.

    All of it together stays within the budget, also by a tokenizer that counts parts lower than
    the whole.
    """
    room = part.room(token_budget, estimator)
    while True:
        whole = part.before(await prepare(room), token_budget, estimator)
        beyond = whole.explanation.tokens_used - token_budget
        if beyond <= 0 or room <= 0:
            return whole
        room -= beyond


def _worded(found: FoundFact, query: str, limit: int) -> ToldFact:
    """A fact in its fence: what it is, how it stands, and its text or what of it answers."""
    fact, why = found.fact, found.explained
    traits, text, rest = OrgTraits.of(fact.tags), fact.content.strip(), ""
    if len(text) > limit * WORTH_CUTTING:
        excerpt = PassageFinder(query).excerpt(text, limit)
        text, rest = excerpt.text, f" [whole: {SEARCH_TOOL}]" if excerpt.is_cut else ""
    named = f"{traits.title}: " if traits.title and traits.title not in text else ""
    stands = (fact.category.value.replace("_", " "), traits.status, traits.date)
    header = " | ".join(filter(None, (*stands, f"score: {found.score:.2f}")))
    block = wrap_untrusted(TAG_MEMORY_ENTRY, f"[organisation] [{header}] {named}{text}{rest}")
    candidate = OrgCandidate(
        id=fact.id,
        category=fact.category.value,
        content=fact.content,
        verdict=Verdict.INCLUDED,
        reason=found.why,
        dense=why.dense,
        sparse=why.sparse,
        combined=found.score,
    )
    return ToldFact(candidate, safe_text(block, multiline=True), mark_of(text, fact.id))


def _with_facts(
    part: OrgPart,
    found: Sequence[ToldFact],
    token_budget: int,
    estimator: TokenEstimator,
    handed: frozenset[str],
) -> OrgPart:
    """The part with the facts that fit half of what policies leave, and the session lacks."""
    room = part.room(token_budget, estimator) // 2 - frame_tokens(estimator)
    facts: list[ToldFact] = []
    for fact in found:
        if fact.mark in handed:
            facts.append(fact.judged(Verdict.HANDED, HANDED_BEFORE))
            continue
        tokens = estimator.estimate_tokens(f"{fact.block}{_LINE}") + 1
        fact = replace(fact, candidate=replace(fact.candidate, tokens=tokens))
        whole = text_of(replace(part, facts=(*facts, fact)).messages())
        if tokens > room or estimator.estimate_tokens(whole) > token_budget:
            reason = f"needs {tokens} tokens, {max(0, room)} were left"
            facts.append(fact.judged(Verdict.OVER_BUDGET, reason))
            continue
        room -= tokens
        facts.append(fact)
    return replace(part, facts=tuple(facts))


def _once(part: OrgPart, memories: Explanation) -> tuple[ToldFact, ...]:
    """The facts without those whose words stand in what the agent is handed besides, or was."""
    handed = [each for each in memories.candidates if each.verdict is Verdict.HANDED]
    others = [part.block.text, memories.text, *(each.entry.content for each in handed)]
    said = [_words(text) for text in others]
    return tuple(
        fact.judged(Verdict.ALIKE, SAID_ALREADY)
        if fact.is_in and _stands_in(_words(fact.candidate.content), said)
        else fact
        for fact in part.facts
    )


def _words(text: str) -> str:
    """The words of a text between blanks, without their case and what stands between them."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _stands_in(words: str, said: Iterable[str]) -> bool:
    return bool(words.strip()) and any(words in text for text in said)
