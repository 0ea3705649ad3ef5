"""Errors of the command line itself: wrong use, and a person's refusal."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from synthorg_tui.core.errors import DomainError

CANCELLED = 130
"""Exit code of a command that was stopped; what it did until then stays."""


class UsageError(DomainError):
    """The arguments, or the input, of a command are missing or wrong."""

    exit_code = 2


class DeclinedError(DomainError):
    """The person refused to confirm; nothing was changed."""

    exit_code = CANCELLED


@contextmanager
def usage_errors(names: Mapping[str, str]) -> Iterator[None]:
    """Raise a validation error of what the arguments make as a ``UsageError``.

    ``names`` has what a field is called on the command line, where that isn't its own name.
    """
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{names.get(field, field)}: {reason}") from error
