"""The error for a client's configuration that can't be changed safely."""

from synthorg_tui.core.errors import DomainError


class ClientConfigError(DomainError):
    """A client's configuration file can't be changed safely; it wasn't touched."""
