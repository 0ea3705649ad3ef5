"""What a command ends with when it isn't given what it needs, or when the person stops it."""

from synthorg_tui.core.errors import DomainError

CANCELLED = 130
"""Exit code of a command that was stopped; what it did until then stays."""


class UsageError(DomainError):
    """The command was not given what it needs."""

    exit_code = 2


class DeclinedError(DomainError):
    """The person said no; nothing was changed."""

    exit_code = CANCELLED
