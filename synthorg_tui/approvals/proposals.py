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
        """Add a pending item.

        Raises ``ApprovalConflictError`` when there is or was an item with its id, and
        ``DecisionRefusedError`` when it isn't pending.
        """
        ...

    async def get(self, item_id: str) -> ApprovalItem | None:
        """Return the item with this id, or ``None``."""
        ...

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
        """Change a pending item and return it; fields given as ``None`` stay as they are.

        Raises ``ApprovalNotFoundError``, and ``ApprovalConflictError`` when it isn't pending.
        """
        ...

    async def save(self, item: ApprovalItem) -> ApprovalItem | None:
        """Store a changed version of an undecided item and return it; ``None`` for an unknown id.

        An expired item may be made pending again. Raises ``DecisionRefusedError`` when the stored
        item or the new version is decided.
        """
        ...
