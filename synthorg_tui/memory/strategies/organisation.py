"""What the organisation tells an agent, put before what a strategy found in its memories.

Policies come first and in any case: no relevance, sensitivity or filter keeps them back, and they
stand whatever the strategy is, since they are the organisation's and no agent's memories. A session
is handed the block once and again as soon as it reads otherwise: it is known by its mark like any
other text, and replaces the one before as a whole.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.failsafe import safely
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.org.models import OrgFact
from synthorg_tui.memory.org.policies import PolicyBlock, policy_block
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.retrieval.explanation import (
    OrgCandidate,
    PreparedMessages,
    Verdict,
    text_of,
)
from synthorg_tui.memory.retrieval.wording import HANDED_BEFORE, mark_of
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

if TYPE_CHECKING:
    from synthorg_tui.memory.strategies.service import InjectionRequest

_PARAGRAPH: Final = "\n\n"
_POLICIES: Final = "policies"

Policies = Callable[[datetime | None], Awaitable[Sequence[OrgFact]]]
"""Returns all core policies in force, or those that were at a time, in their order."""


@dataclass(frozen=True, slots=True)
class OrgBriefing:
    """What of organisation memory agents are told; ``policy_tokens`` bounds the policies."""

    policies: Policies
    policy_tokens: int

    async def prepare(self, request: "InjectionRequest", estimator: TokenEstimator) -> "OrgPart":
        """Return what is told in answer to a request; what can't be read is left out and named."""
        notes: list[str] = []
        budget = min(self.policy_tokens, request.token_budget)
        if request.token_budget <= 0:
            return OrgPart()
        call = self.policies(request.as_of)
        known = await safely(call, what="reading the policies", notes=notes) or ()
        policies = [policy for policy in known if _holds_for(policy, request)]
        block = policy_block(policies, budget, estimator)
        mark = mark_of(block.text, _POLICIES)
        part = OrgPart(notes="; ".join(notes), policies=tuple(policies), block=block, mark=mark)
        return replace(part, is_handed=True) if mark in request.handed else part


@dataclass(frozen=True, slots=True)
class OrgPart:
    """What stands before the memories of one digest.

    With ``is_handed`` the session has the very same block of policies already.
    """

    notes: str = ""
    policies: tuple[OrgFact, ...] = ()
    block: PolicyBlock = field(default_factory=PolicyBlock)
    mark: str = ""
    is_handed: bool = False

    @property
    def text(self) -> str:
        """The block of policies, unless the session has it."""
        return "" if self.is_handed else self.block.text

    def room(self, token_budget: int, estimator: TokenEstimator) -> int:
        """Return how many tokens of a budget are left to memories."""
        if not self.text:
            return token_budget
        # One more, since an estimator may round down what stands before and what follows.
        return token_budget - estimator.estimate_tokens(f"{self.text}{_PARAGRAPH}") - 1

    def before(
        self, prepared: PreparedMessages, token_budget: int, estimator: TokenEstimator
    ) -> PreparedMessages:
        """Return the messages with this before them, and the explanation of both."""
        found = prepared.explanation
        messages = prepared.messages
        if self.text:
            messages = (ChatMessage(role=MessageRole.SYSTEM, content=self.text), *messages)
        text = text_of(messages)
        told = self.block.tokens if self.text else 0
        used = found.tokens_used
        if self.text:
            used = max(estimator.estimate_tokens(text), told + used)
        notes = [self.notes, found.degraded]
        if told and found.degraded and not prepared.messages:
            notes.insert(1, f"policies take {told:,} tokens of the budget")
        explanation = replace(
            found,
            token_budget=token_budget,
            tokens_used=used,
            frame_tokens=found.frame_tokens + used - told - found.tokens_used,
            text=text,
            degraded="; ".join(note for note in notes if note),
            marks=(*([self.mark] if self.text else []), *found.marks),
            policies=self._explained(),
            policy_tokens=told,
        )
        return PreparedMessages(messages, explanation)

    def _explained(self) -> tuple[OrgCandidate, ...]:
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


def _holds_for(policy: OrgFact, request: "InjectionRequest") -> bool:
    """Whether a policy is for all projects or for that of the request; a person sees all."""
    project = OrgTraits.of(policy.tags).project
    if not project or request.visibility is None:
        return True
    here = request.visibility.project
    return here is not None and PurePath(here).is_relative_to(project)
