"""Errors of the command line itself: wrong use, and a person's refusal."""

from synthorg_tui.core.errors import DomainError

CANCELLED = 130
"""Exit code of a command that was stopped; what it did until then stays."""


class UsageError(DomainError):
    """The arguments, or the input, of a command are missing or wrong."""

    exit_code = 2


class DeclinedError(DomainError):
    """The person refused to confirm; nothing was changed."""

    exit_code = CANCELLED
