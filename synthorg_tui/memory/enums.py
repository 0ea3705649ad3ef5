"""Choices in the memory configuration that several memory modules share."""

from enum import StrEnum
from typing import Final


class FusionStrategy(StrEnum):
    """Method of combining relevance scores or rankings into one order."""

    LINEAR = "linear"
    """Relevance and recency of one source, weighted."""
    RRF = "rrf"
    """Reciprocal rank fusion: only the ranks count."""
    SCORE = "score"
    """Relative score fusion: each source's scores, min-max normalised, averaged."""


class InjectionStrategy(StrEnum):
    """Way in which an agent receives memories: in its prompt, or by tools to search or edit."""

    CONTEXT = "context"
    TOOL_BASED = "tool_based"
    SELF_EDITING = "self_editing"


class Sensitivity(StrEnum):
    """Sensitivity of a memory, in ascending order; decides whether agents may be given it."""

    PUBLIC = "public"
    PRIVATE = "private"
    SENSITIVE = "sensitive"


GIVEN_BY_DEFAULT: Final = (Sensitivity.PUBLIC, Sensitivity.PRIVATE)
"""How sensitive a memory may be to be given to agents, unless configured otherwise."""


class SourceKind(StrEnum):
    """Kind of author that a memory came from."""

    USER = "user"
    OPERATOR = "operator"
    TOOL = "tool"
    SYSTEM = "system"
    IMPORT = "import"


class ArchiveReason(StrEnum):
    """Why a memory is archived: kept as it was, but given to no agent until it is restored."""

    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    CONSOLIDATED = "consolidated"
    EXPIRED = "expired"
    ROOM = "room"
    BY_HAND = "by_hand"


class EdgeKind(StrEnum):
    """How one memory stands to another; an edge goes from the newer or derived one."""

    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"
    DEPENDS_ON = "depends_on"
    DUPLICATE_OF = "duplicate_of"
    BESIDE = "beside"
    """A person said that both hold, whatever their words."""


class InjectionPoint(StrEnum):
    """Role of the chat message that carries injected memories."""

    SYSTEM = "system"
    USER = "user"
