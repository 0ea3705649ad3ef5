"""Re-ranking errors."""

from synthorg_tui.core.errors import DomainError


class RerankingError(DomainError):
    """Texts could not be compared with a question, or the re-ranker could not be loaded."""
