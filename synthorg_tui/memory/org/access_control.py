"""Write permissions for the categories of organisation facts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pydantic import Field, field_serializer, field_validator, model_validator

from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.core.types import FrozenModel, reject
from synthorg_tui.memory.org.errors import OrgMemoryAccessDeniedError
from synthorg_tui.memory.org.models import OrgFactAuthor

_SHORTHAND_KEYS: Final = {
    "policies": OrgFactCategory.CORE_POLICY,
    "adrs": OrgFactCategory.ADR,
    "procedures": OrgFactCategory.PROCEDURE,
    "conventions": OrgFactCategory.CONVENTION,
}
_SENIORITIES: Final = tuple(level.value for level in SeniorityLevel)


class CategoryWriteRule(FrozenModel):
    """Rule on who may write facts of one category.

    ``allowed_seniority`` is the lowest seniority of agents that may; ``None`` excludes all agents.
    """

    allowed_seniority: SeniorityLevel | None = None
    human_allowed: bool = True


def _default_rules() -> Mapping[OrgFactCategory, CategoryWriteRule]:
    senior = CategoryWriteRule.model_construct(allowed_seniority=SeniorityLevel.SENIOR)
    rules = dict.fromkeys(OrgFactCategory, senior)
    rules[OrgFactCategory.CORE_POLICY] = CategoryWriteRule.model_construct()
    return MappingProxyType(rules)


class WriteAccessConfig(FrozenModel):
    """Read-only write rules by category; nobody may write a category without a rule.

    The short form ``{policies: [human], adrs: [human, senior], ...}`` is accepted too: it lists who
    may write, the lowest seniority listed is the minimum, and categories that it omits have their
    default rule.
    """

    rules: Mapping[OrgFactCategory, CategoryWriteRule] = Field(default_factory=_default_rules)

    @model_validator(mode="before")
    @classmethod
    def _expand_shorthand(cls, data: object) -> object:
        if not isinstance(data, Mapping) or not data.keys() & _SHORTHAND_KEYS.keys():
            return data
        others = sorted(str(key) for key in data.keys() - _SHORTHAND_KEYS.keys())
        if others:
            reject("write_access", others, f"{others} can't be mixed with the short form")
        rules = dict(_default_rules())
        for key, writers in data.items():
            rules[_SHORTHAND_KEYS[key]] = _rule_from_writers(key, writers)
        return {"rules": rules}

    @field_validator("rules")
    @classmethod
    def _wrap_rules_readonly(
        cls, rules: Mapping[OrgFactCategory, CategoryWriteRule]
    ) -> Mapping[OrgFactCategory, CategoryWriteRule]:
        return MappingProxyType(dict(rules))

    @field_serializer("rules")
    def _plain_rules(
        self, rules: Mapping[OrgFactCategory, CategoryWriteRule]
    ) -> dict[str, dict[str, object]]:
        return {category.value: rule.model_dump(mode="json") for category, rule in rules.items()}


def _rule_from_writers(key: str, writers: object) -> CategoryWriteRule:
    allowed = ["human", *_SENIORITIES]
    if not isinstance(writers, list | tuple):
        reject(f"write_access.{key}", writers, f"{key} must be a list of {allowed}")
    unknown = [writer for writer in writers if writer not in allowed]
    if unknown:
        reject(f"write_access.{key}", unknown, f"{key} names {unknown}; valid: {allowed}")
    levels = [level for level in SeniorityLevel if level.value in writers]
    return CategoryWriteRule(
        allowed_seniority=levels[0] if levels else None, human_allowed="human" in writers
    )


def check_write_access(
    config: WriteAccessConfig, category: OrgFactCategory, author: OrgFactAuthor
) -> bool:
    """Return whether the author may write facts of a category; a category without a rule has none.

    Seniorities compare by their position in ``SeniorityLevel``.
    """
    rule = config.rules.get(category)
    if rule is None:
        return False
    if author.is_human:
        return rule.human_allowed
    if rule.allowed_seniority is None or author.seniority is None:
        return False
    levels = list(SeniorityLevel)
    return levels.index(author.seniority) >= levels.index(rule.allowed_seniority)


def require_write_access(
    config: WriteAccessConfig, category: OrgFactCategory, author: OrgFactAuthor
) -> None:
    """Raise ``OrgMemoryAccessDeniedError`` unless the author may write facts of a category."""
    if check_write_access(config, category, author):
        return
    who = "human" if author.is_human else f"agent {author.agent_id} ({author.seniority})"
    raise OrgMemoryAccessDeniedError(
        f"Write access denied: {who} cannot write to category '{category}'"
    )
