"""The part of the approval queue that those who propose may hold.

Learning, pruning, the evolver and agents put items into the queue and keep them up to date. They
get this protocol instead of ``ApprovalQueue``, which can also decide: with no decider in reach, no
text that they read can make them approve something. So nothing that approves, rejects, reopens or
names a person may be added here.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Final, Protocol

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, ApprovalStatus

MAX_PENDING: Final = 100
"""Proposals of one agent that may wait at a time: a person still reads so many."""
_AGENT: Final = "agent "


def asked_by(agent_id: str) -> str:
    """Return how an agent is named as the one that requested an item."""
    return f"{_AGENT}{agent_id}"


def is_agents(requested_by: str) -> bool:
    """Tell whether an agent requested an item, rather than a part of the program."""
    return requested_by.startswith(_AGENT)


def crowding(items: Iterable[ApprovalItem]) -> str:
    """Return one sentence on the agents of which no more is taken; empty when there is none."""
    waiting = Counter(
        item.requested_by
        for item in items
        if item.status is ApprovalStatus.PENDING and is_agents(item.requested_by)
    )
    full = sorted(requester for requester, count in waiting.items() if count >= MAX_PENDING)
    if not full:
        return ""
    more = f" and of {len(full) - 1} more" if len(full) > 1 else ""
    return f"{MAX_PENDING} proposals of {full[0]}{more} wait: more is refused until you decide"


class ProposalBox(Protocol):
    """Takes proposals for a person to decide about; ``ApprovalQueue`` is one.

    A protocol for safety: whoever proposes holds nothing that could decide.
    """

    async def add(self, item: ApprovalItem) -> None:
        """Add a pending item.

        Raises ``ApprovalConflictError`` when there is or was an item with its id,
        ``DecisionRefusedError`` when it isn't pending, and ``QueueFullError`` when an agent asks
        that has ``MAX_PENDING`` waiting already.
        """

    async def require_room(self, requested_by: str) -> None:
        """Raise ``QueueFullError`` when nothing more of this requester would be added."""

    async def get(self, item_id: str) -> ApprovalItem | None:
        """Return the item with this id, or ``None``."""

    async def list(
        self,
        *,
        status: ApprovalStatus | None = None,
        action_type: str | None = None,
        snoozed: bool = False,
    ) -> tuple[ApprovalItem, ...]:
        """Return the items that match all given filters, newest first.

        Snoozed ones are left out unless ``snoozed`` is set.
        """

    async def revise(
        self,
        item_id: str,
        *,
        actor: str,
        payload: str | None = None,
        metadata: Mapping[str, str] | None = None,
        title: str | None = None,
        description: str | None = None,
    ) -> ApprovalItem:
        """Change a pending item and return it; fields given as ``None`` stay as they are.

        Raises ``ApprovalNotFoundError``, and ``ApprovalConflictError`` when it isn't pending.
        """

    async def use(self, item_id: str) -> ApprovalItem:
        """Record that whoever asked acts on the decision, which can't be taken back from then on.

        Raises ``ApprovalNotFoundError``, and ``ApprovalConflictError`` when it isn't decided.
        """

    async def save(self, item: ApprovalItem) -> ApprovalItem | None:
        """Store a changed version of an undecided item and return it; ``None`` for an unknown id.

        An expired item may be made pending again. Raises ``DecisionRefusedError`` when the stored
        item or the new version is decided.
        """


async def ask_once(
    queue: ProposalBox, item: ApprovalItem, wording: Sequence[object]
) -> ApprovalItem:
    """Add an item unless the same waits already; return the new or the waiting one.

    What is the same is told by ``wording``, of which its id is made; ``item.id`` is how that
    begins. What was approved or has expired is asked anew. Raises ``ApprovalConflictError`` when a
    person rejected the same, and ``QueueFullError``.
    """
    for number in count():
        digest = hashlib.sha256(json.dumps([*wording, number]).encode()).hexdigest()
        new = item.model_copy(update={"id": f"{item.id}-{digest[:12]}"})
        known = await queue.get(new.id)
        if known is None:
            with suppress(ApprovalConflictError):  # asked at the same moment elsewhere
                await queue.add(new)
            return new
        if known.status is ApprovalStatus.PENDING:
            return known
        if known.status is ApprovalStatus.REJECTED:
            raise ApprovalConflictError("a person rejected this before; it isn't asked for again")
    raise AssertionError("there is always a next number")
