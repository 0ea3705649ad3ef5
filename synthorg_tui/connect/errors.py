"""What can be wrong with a client's configuration."""

from synthorg_tui.core.errors import DomainError


class ClientConfigError(DomainError):
    """A client's configuration file can't be changed safely; it wasn't touched."""
