"""Choices in the memory configuration that several memory modules share."""

from enum import StrEnum
from typing import Final


class FusionStrategy(StrEnum):
    """How the rankings of several sources become one."""

    LINEAR = "linear"
    """Relevance and recency of one source, weighted."""
    RRF = "rrf"
    """Reciprocal rank fusion: only the ranks count."""
    SCORE = "score"
    """Relative score fusion: each source's scores, min-max normalised, averaged."""


class InjectionStrategy(StrEnum):
    """How memories reach an agent."""

    CONTEXT = "context"
    TOOL_BASED = "tool_based"
    SELF_EDITING = "self_editing"


class Sensitivity(StrEnum):
    """Who may read a memory; ascending."""

    PUBLIC = "public"
    PRIVATE = "private"
    SENSITIVE = "sensitive"


GIVEN_BY_DEFAULT: Final = (Sensitivity.PUBLIC, Sensitivity.PRIVATE)
"""How sensitive a memory may be to be given to agents, unless configured otherwise."""


class SourceKind(StrEnum):
    """Who a memory came from."""

    USER = "user"
    OPERATOR = "operator"
    TOOL = "tool"
    SYSTEM = "system"
    IMPORT = "import"


class InjectionPoint(StrEnum):
    """The role of the message that carries injected memories."""

    SYSTEM = "system"
    USER = "user"
