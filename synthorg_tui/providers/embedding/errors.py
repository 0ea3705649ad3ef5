"""Embedding errors."""

from synthorg_tui.core.errors import DomainError


class EmbeddingError(DomainError):
    """A text could not be embedded, or the embedding model could not be loaded."""
