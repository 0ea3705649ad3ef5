"""Tags with a meaning: the key of a fact, and the sensitivity of a memory.

Every backend stores tags and every program sees them; typed columns are derived from them.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.kinds import FACT_PREFIX, IMPORTED

SENSITIVITY_PREFIX: Final = "sensitivity:"
FACT_CATEGORIES: Final = frozenset(
    {MemoryCategory.SEMANTIC, MemoryCategory.SOCIAL, MemoryCategory.WORKING}
)
"""Categories whose memories are facts when they have a key."""

ORIGIN_TAG: Final = "origin:agent"
"""Tag of memories that an agent wrote itself; an agent may delete no others."""


class MemoryTags(NamedTuple):
    """Fact key (``None`` if absent) and sensitivity, as stated by a memory's tags."""

    fact_key: str | None = None
    sensitivity: Sensitivity = Sensitivity.PRIVATE


class FactKey(NamedTuple):
    """What a fact is about: a subject, perhaps in one project, perhaps under a condition.

    Written ``subject@project?condition``, as in ``port@shop?in-ci``. Keys of other subjects,
    projects or conditions are of other facts; case and blanks at the ends don't matter.
    """

    subject: str
    project: str = ""
    condition: str = ""

    @classmethod
    def parse(cls, text: str) -> "FactKey":
        """Read a key; any text is one."""
        start, _, condition = text.partition("?")
        subject, _, project = start.partition("@")
        return cls(subject.strip(), project.strip(), condition.strip())

    @property
    def identity(self) -> tuple[str, str, str]:
        """What two keys of the same thing have in common."""
        return (self.subject.casefold(), self.project, self.condition.casefold())

    @property
    def words(self) -> str:
        """The key as a person reads it."""
        place = f" in {self.project}" if self.project else ""
        return f"{self.subject}{place}{f', if {self.condition}' if self.condition else ''}"


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags that a person wrote in one text, separated by commas or blanks."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def parse_tags(tags: Iterable[str]) -> MemoryTags:
    """Return the fact key and sensitivity that the tags state.

    The first ``fact:`` tag with a key is used. Of several sensitivities the strictest is used, and
    an unknown one is treated as ``sensitive``, so that a misspelt tag doesn't expose a memory.
    """
    tags = tuple(tags)
    keys = (tag.removeprefix(FACT_PREFIX).strip() for tag in tags if tag.startswith(FACT_PREFIX))
    named = [_sensitivity(tag) for tag in tags if tag.startswith(SENSITIVITY_PREFIX)]
    return MemoryTags(
        fact_key=next(filter(None, keys), None),
        sensitivity=max(named, key=tuple(Sensitivity).index, default=Sensitivity.PRIVATE),
    )


def tags_with(
    tags: Iterable[str],
    *,
    fact_key: str | None = None,
    sensitivity: Sensitivity | None = None,
) -> tuple[str, ...]:
    """Return the tags changed to state this fact key and sensitivity.

    ``None`` leaves what they state; a blank key removes the fact key. Private is the default
    sensitivity and gets no tag.
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
    """Return the tags ``after``, plus kind, fact key and sensitivity tags of ``before`` it lacks.

    So replacing the tags of a sensitive memory doesn't make it private by accident, and a commit
    stays one. The tag of the kind stands first, where the kind is read off.
    """
    before, after = tuple(before), tuple(after)
    if before and before[0] in IMPORTED:
        after = (before[0], *(tag for tag in after if tag != before[0]))
    for prefix in (FACT_PREFIX, SENSITIVITY_PREFIX):
        if not any(tag.startswith(prefix) for tag in after):
            after += tuple(tag for tag in before if tag.startswith(prefix))
    return after


def _sensitivity(tag: str) -> Sensitivity:
    try:
        return Sensitivity(tag.removeprefix(SENSITIVITY_PREFIX).strip())
    except ValueError:
        return Sensitivity.SENSITIVE
