"""The documented data of organisation memory: facts, who wrote them, questions, and the log.

What a person is shown of them is in ``organisation.models``.
"""

from typing import Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from synthorg_tui.core.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from synthorg_tui.core.types import FrozenModel, NotBlankStr

Tags = tuple[NotBlankStr, ...]


class OrgFactAuthor(FrozenModel):
    """The author of a fact: a person, or an agent with its seniority when it wrote.

    A person has no ``agent_id``, ``seniority`` or ``autonomy_level``; an agent has the first two.
    """

    agent_id: NotBlankStr | None = None
    seniority: SeniorityLevel | None = None
    is_human: bool = False
    autonomy_level: AutonomyLevel | None = None

    @model_validator(mode="after")
    def _validate_author_consistency(self) -> Self:
        named = {
            "agent_id": self.agent_id,
            "seniority": self.seniority,
            "autonomy_level": self.autonomy_level,
        }
        for name, value in named.items():
            article = "an" if name[0] in "ao" else "a"
            if self.is_human and value is not None:
                raise ValueError(f"Human authors must not have {article} {name}")
            if not self.is_human and value is None and name != "autonomy_level":
                raise ValueError(f"Non-human authors must have {article} {name}")
        return self


class OrgFact(FrozenModel):
    """One piece of knowledge that all agents share; ``created_at`` is when it was first written.

    ``tags`` may say more, see ``memory.org.tags``.
    """

    id: NotBlankStr
    content: NotBlankStr
    category: OrgFactCategory
    tags: Tags = ()
    author: OrgFactAuthor
    created_at: AwareDatetime


class OrgFactWriteRequest(FrozenModel):
    """A fact to be written."""

    content: NotBlankStr
    category: OrgFactCategory
    tags: Tags = ()


class OrgMemoryQuery(FrozenModel):
    """A question: facts about ``context``, of some categories; ``None`` is no condition."""

    context: NotBlankStr | None = None
    categories: frozenset[OrgFactCategory] | None = None
    limit: int = Field(default=5, ge=1, le=100)


class OperationLogEntry(FrozenModel):
    """One line of the append-only log; ``version`` counts the lines of its fact from 1.

    ``PUBLISH`` has the content, ``RETRACT`` none; category and tags are those at that time.
    """

    operation_id: NotBlankStr
    fact_id: NotBlankStr
    operation_type: Literal["PUBLISH", "RETRACT"]
    content: NotBlankStr | None = None
    category: OrgFactCategory | None = None
    tags: Tags = ()
    author_agent_id: NotBlankStr | None = None
    author_seniority: SeniorityLevel | None = None
    author_is_human: bool = False
    author_autonomy_level: AutonomyLevel | None = None
    timestamp: AwareDatetime
    version: int = Field(ge=1)

    @property
    def author(self) -> OrgFactAuthor:
        """Who wrote the line."""
        return OrgFactAuthor(
            agent_id=self.author_agent_id,
            seniority=self.author_seniority,
            is_human=self.author_is_human,
            autonomy_level=self.author_autonomy_level,
        )

    @model_validator(mode="after")
    def _validate_content_alignment(self) -> Self:
        if self.operation_type == "PUBLISH" and self.content is None:
            raise ValueError("PUBLISH operations must have content")
        if self.operation_type == "RETRACT" and self.content is not None:
            raise ValueError("RETRACT operations must not have content")
        return self


class OperationLogSnapshot(FrozenModel):
    """The state of a fact at a moment; an active one has no ``retracted_at``."""

    fact_id: NotBlankStr
    content: NotBlankStr
    category: OrgFactCategory
    tags: Tags = ()
    created_at: AwareDatetime
    retracted_at: AwareDatetime | None = None
    version: int = Field(ge=1)

    @model_validator(mode="after")
    def _validate_retraction_after_creation(self) -> Self:
        if self.retracted_at is not None and self.retracted_at < self.created_at:
            raise ValueError(
                f"retracted_at ({self.retracted_at}) must be >= created_at ({self.created_at})"
            )
        return self
