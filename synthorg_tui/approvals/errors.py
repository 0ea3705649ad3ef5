"""What can go wrong with an approval."""

from synthorg_tui.core.errors import DomainError


class ApprovalError(DomainError):
    """The base of what the queue refuses."""


class ApprovalNotFoundError(ApprovalError):
    """There is no such item."""


class ApprovalConflictError(ApprovalError):
    """An item with this id is there already, or the item is no longer as expected."""


class StaleReviewError(ApprovalError):
    """What was shown is no longer what would be approved: it has to be read again."""


class DecisionRefusedError(ApprovalError):
    """The decision doesn't come from a person who could see what is decided."""
