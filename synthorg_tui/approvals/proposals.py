"""The part of the approval queue that those who propose may hold.

Learning, pruning, the evolver and agents put items into the queue and keep them up to date. They
get this protocol instead of ``ApprovalQueue``, which can also decide: with no decider in reach, no
text that they read can make them approve something. So nothing that approves, rejects, reopens or
names a person may be added here.
"""

from collections.abc import Mapping
from typing import Protocol

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus


class ProposalBox(Protocol):
    """Takes proposals for a person to decide about; ``ApprovalQueue`` is one.

    A protocol for safety: whoever proposes holds nothing that could decide.
    """

    async def add(self, item: ApprovalItem) -> None:
        """Add a pending item; raises ``ApprovalConflictError`` when its id is known."""
        ...

    async def get(self, item_id: str) -> ApprovalItem | None:
        """The item, or ``None``."""
        ...

    async def list(
        self,
        *,
        status: ApprovalStatus | None = None,
        action_type: str | None = None,
        snoozed: bool = False,
    ) -> tuple[ApprovalItem, ...]:
        """The items that match, newest first; pending ones that are snoozed only on request."""
        ...

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
        """Change a pending item; what is ``None`` stays.

        Raises ``ApprovalConflictError`` when it isn't pending.
        """
        ...

    async def save(self, item: ApprovalItem) -> ApprovalItem | None:
        """Replace an undecided item by itself changed; ``None`` when it isn't known.

        An expired one may be made pending again. Raises ``DecisionRefusedError`` when either is
        decided.
        """
        ...
