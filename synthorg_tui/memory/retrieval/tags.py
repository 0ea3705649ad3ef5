"""What some tags say about a memory: the key of a fact, and how sensitive it is.

Tags are what every backend keeps and every program sees; typed columns are derived from them.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import Sensitivity

FACT_PREFIX: Final = "fact:"
SENSITIVITY_PREFIX: Final = "sensitivity:"
FACT_CATEGORIES: Final = frozenset(
    {MemoryCategory.SEMANTIC, MemoryCategory.SOCIAL, MemoryCategory.WORKING}
)
"""Categories whose memories are facts when they have a key."""

_STRICTNESS: Final = tuple(Sensitivity)


class MemoryTags(NamedTuple):
    """The key of a fact, ``None`` without one, and the sensitivity of a memory."""

    fact_key: str | None = None
    sensitivity: Sensitivity = Sensitivity.PRIVATE


def parse_tags(tags: Iterable[str]) -> MemoryTags:
    """What the tags say.

    The first ``fact:`` tag with a key counts. Of several sensitivities the strictest does, and one
    that isn't known counts as sensitive: a misspelt tag must not give a memory away.
    """
    tags = tuple(tags)
    keys = (tag.removeprefix(FACT_PREFIX).strip() for tag in tags if tag.startswith(FACT_PREFIX))
    named = [_sensitivity(tag) for tag in tags if tag.startswith(SENSITIVITY_PREFIX)]
    return MemoryTags(
        fact_key=next(filter(None, keys), None),
        sensitivity=max(named, key=_STRICTNESS.index, default=Sensitivity.PRIVATE),
    )


def tags_with(
    tags: Iterable[str],
    *,
    fact_key: str | None = None,
    sensitivity: Sensitivity | None = None,
) -> tuple[str, ...]:
    """The tags saying this instead; ``None`` leaves what they say, a blank key takes it away.

    Being private is the default and needs no tag.
    """
    remaining = list(tags)
    if fact_key is not None:
        remaining = [tag for tag in remaining if not tag.startswith(FACT_PREFIX)]
        if fact_key.strip():
            remaining.append(FACT_PREFIX + fact_key.strip())
    if sensitivity is not None:
        remaining = [tag for tag in remaining if not tag.startswith(SENSITIVITY_PREFIX)]
        if sensitivity is not Sensitivity.PRIVATE:
            remaining.append(SENSITIVITY_PREFIX + sensitivity.value)
    return tuple(remaining)


def retagged(before: Iterable[str], after: Iterable[str]) -> tuple[str, ...]:
    """``after`` in the place of ``before``, keeping the traits it doesn't name.

    A new list of tags is no reason for a sensitive memory to become private.
    """
    after = tuple(after)
    for prefix in (FACT_PREFIX, SENSITIVITY_PREFIX):
        if not any(tag.startswith(prefix) for tag in after):
            after += tuple(tag for tag in before if tag.startswith(prefix))
    return after


def _sensitivity(tag: str) -> Sensitivity:
    try:
        return Sensitivity(tag.removeprefix(SENSITIVITY_PREFIX).strip())
    except ValueError:
        return Sensitivity.SENSITIVE
