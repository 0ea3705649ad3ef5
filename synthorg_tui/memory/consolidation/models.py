"""Models of retention."""

from collections.abc import Iterable

from pydantic import Field

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, reject


class RetentionRule(FrozenModel):
    """How many days memories of one category are kept."""

    category: MemoryCategory
    retention_days: int = Field(ge=1)


def require_unique_categories(
    field: str, rules: Iterable[RetentionRule]
) -> tuple[RetentionRule, ...]:
    """The rules as they are; raises ``ValueError`` naming the categories that repeat."""
    ordered = tuple(rules)
    names = [rule.category.value for rule in ordered]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        reject(field, names, f"Duplicate retention categories: {repeated}")
    return ordered
