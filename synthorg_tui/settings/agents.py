"""Agents in the settings: their place in the organisation, and what holds for them alone.

An agent's own values of retrieval, digest and self-editing are named one by one; everything that
isn't named is the company's, also when that changes later.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeAlias, TypeVar

from pydantic import (
    Field,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)

from synthorg_tui.core.enums import MemoryLevel, SeniorityLevel
from synthorg_tui.core.text import agent_id_problem
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.consolidation.models import RetentionRule, require_unique_categories
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig, SelfEditingMemoryConfig

_Section = TypeVar("_Section", bound=FrozenModel)


class Overrides(FrozenModel):
    """Some settings of a section; only those that were named count, and only they are dumped."""

    @model_serializer(mode="plain")
    def named(self) -> dict[str, Any]:
        """Return the named values by their names, in the section's order."""
        fields = type(self).model_fields
        return {name: getattr(self, name) for name in fields if name in self.model_fields_set}


def overrides_of(section: type[FrozenModel]) -> type[Overrides]:
    """Return the model of a part of a section: the same names, bounds and choices, none required.

    A value that is ``null`` is refused wherever the section refuses it.
    """
    fields: dict[str, Any] = {}
    for name, info in section.model_fields.items():
        kind: Any = info.annotation
        if isinstance(kind, type) and issubclass(kind, FrozenModel):
            kind = overrides_of(kind)
        elif info.metadata:
            kind = Annotated[kind, *info.metadata]
        fields[name] = (kind, None)
    return create_model(f"{section.__name__}Overrides", __base__=Overrides, **fields)


if TYPE_CHECKING:
    RetrievalOverrides: TypeAlias = Overrides
    DigestOverrides: TypeAlias = Overrides
    SelfEditingOverrides: TypeAlias = Overrides
else:
    RetrievalOverrides = overrides_of(MemoryRetrievalConfig)
    DigestOverrides = overrides_of(MemoryV1Config)
    SelfEditingOverrides = overrides_of(SelfEditingMemoryConfig)

SECTIONS: Final[Mapping[str, tuple[str, type[FrozenModel]]]] = {
    "retrieval": ("retrieval", MemoryRetrievalConfig),
    "digest": ("v1", MemoryV1Config),
    "self_editing": ("self_editing", SelfEditingMemoryConfig),
}
"""The sections that an agent can override: the name below ``memory``, and the model."""


def merged(company: _Section, named: Overrides) -> _Section:
    """Return the company's values with those that are named in their place.

    Raises pydantic's ``ValidationError`` when they don't go together.
    """
    return type(company).model_validate(_merged(company, named))


def _merged(company: FrozenModel, named: Overrides) -> dict[str, object]:
    """Only what is set is carried over, so that defaults don't count as chosen."""
    values: dict[str, object] = {name: getattr(company, name) for name in company.model_fields_set}
    for name in named.model_fields_set:
        value = getattr(named, name)
        inner = isinstance(value, Overrides)
        values[name] = _merged(getattr(company, name), value) if inner else value
    return values


class AgentConfig(FrozenModel):
    """An agent declared in the settings; others are added when their sessions are imported.

    ``level`` ``None`` means the company's level. ``RootConfig.retention_days`` describes which of
    ``retention_days``, ``retention_overrides`` and the company's rules takes precedence. What
    ``retrieval``, ``digest`` (``memory.v1``) and ``self_editing`` name holds instead of the
    company's values; ``RootConfig.memory_of`` merges them.
    """

    id: NotBlankStr
    role: NotBlankStr | None = None
    department: NotBlankStr | None = None
    seniority: SeniorityLevel = SeniorityLevel.MID
    level: MemoryLevel | None = None
    retention_days: int | None = Field(default=None, ge=1)
    retention_overrides: tuple[RetentionRule, ...] = ()
    retrieval: RetrievalOverrides | None = None
    digest: DigestOverrides | None = None
    self_editing: SelfEditingOverrides | None = None

    @field_validator("id")
    @classmethod
    def _reject_impossible_id(cls, agent_id: str) -> str:
        if problem := agent_id_problem(agent_id):
            reject("id", agent_id, problem)
        return agent_id

    @field_validator("retention_overrides")
    @classmethod
    def _validate_unique_categories(
        cls, rules: tuple[RetentionRule, ...]
    ) -> tuple[RetentionRule, ...]:
        return require_unique_categories("retention_overrides", rules)

    @model_validator(mode="after")
    def _validate_retention_has_memories(self) -> Self:
        retains = self.retention_days is not None or bool(self.retention_overrides)
        if self.level is MemoryLevel.NONE and retains:
            reject("level", self.level, "an agent with level 'none' has nothing to retain")
        return self

    def overridden(self) -> tuple[str, ...]:
        """Return the settings that the agent has of its own, as ``retrieval.max_memories = 5``."""
        given = ((section, getattr(self, section)) for section in SECTIONS)
        return tuple(
            leaf
            for section, named in given
            if named is not None
            for leaf in _leaves(section, named)
        )


def _leaves(path: str, named: Overrides) -> Iterator[str]:
    for name, value in named.named().items():
        if isinstance(value, Overrides):
            yield from _leaves(f"{path}.{name}", value)
        else:
            yield f"{path}.{name} = {_plain(value)}"


def _plain(value: object) -> str:
    """A value as one writes it in the settings file."""
    if isinstance(value, (list, tuple, frozenset)):
        each = map(_plain, value)
        return f"[{', '.join(sorted(each) if isinstance(value, frozenset) else each)}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
