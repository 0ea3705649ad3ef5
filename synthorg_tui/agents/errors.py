"""What agents are refused."""

from synthorg_tui.core.errors import DomainError


class AgentRefusedError(DomainError):
    """The agent may not do that, or not now."""


class SkillNotFoundError(DomainError):
    """No skill that the agent may read has this name."""
