"""Models of retention."""

from collections.abc import Iterable

from pydantic import Field

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, reject


class RetentionRule(FrozenModel):
    """Number of days after which memories of one category expire."""

    category: MemoryCategory
    retention_days: int = Field(ge=1)


def require_unique_categories(
    field: str, rules: Iterable[RetentionRule]
) -> tuple[RetentionRule, ...]:
    """Return the rules unchanged as a tuple.

    Raises ``ValueError`` when a category occurs more than once.
    """
    ordered = tuple(rules)
    names = [rule.category.value for rule in ordered]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        reject(field, names, f"Duplicate retention categories: {repeated}")
    return ordered
