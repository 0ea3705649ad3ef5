"""Errors between a client and the owner, and how errors cross the wire."""

from synthorg_tui.core.errors import DomainError


class WireError(DomainError):
    """The other side sent something that is not a message of the protocol."""


class OwnerGoneError(DomainError):
    """The owner ended, or closed the connection, before it answered."""


class NoOwnerError(DomainError):
    """No process listens on the socket of this data directory."""


class VersionMismatchError(DomainError):
    """The owner and the client are of different versions and may not understand each other."""


class RefusedError(DomainError):
    """The owner refuses the request, or the socket belongs to another user."""


class UnexpectedRemoteError(DomainError):
    """An unexpected exception ended the call in the owner; the owner itself runs on."""


def to_data(error: DomainError) -> dict[str, str]:
    """Return the name of the error's type, and its remedy; the message is sent beside them."""
    return {"type": type(error).__name__, "remedy": error.remedy}


def from_data(message: str, data: object) -> DomainError:
    """Return the error that ``to_data`` described.

    An unknown type, or data of another form, gives an ``UnexpectedRemoteError``.
    """
    if not isinstance(data, dict):
        return UnexpectedRemoteError(message)
    kind = _by_name().get(str(data.get("type")), UnexpectedRemoteError)
    # Subclasses take arguments of their own: what every one has is set past their constructors.
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.message = message
    error.remedy = str(data.get("remedy") or "")
    return error


def _by_name() -> dict[str, type[DomainError]]:
    kinds: dict[str, type[DomainError]] = {}
    waiting: list[type[DomainError]] = [DomainError]
    while waiting:
        kind = waiting.pop()
        kinds.setdefault(kind.__name__, kind)
        waiting += kind.__subclasses__()
    return kinds
