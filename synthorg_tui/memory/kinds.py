"""What sort of thing a memory tells: a session, a task, a commit, what a person said, and so on.

An import names the kind by the first tag of a memory; lessons and facts are told by what approving
and fact keys leave in the row. No kind is stored, so a memory of any age has one. The first rows
are listed with this: nothing here may import pydantic, DuckDB or a model.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from synthorg_tui.core.enums import MemoryCategory

LESSON_START: Final = "[DISCOVERY] "
"""What the text of every approved lesson starts with."""
FACT_PREFIX: Final = "fact:"
"""What the tag with the key of a fact starts with."""


class MemoryKind(StrEnum):
    """Kind of a memory, in the order in which kinds are listed."""

    SESSION = "session"
    TASK = "task"
    RECOVERY = "recovery"
    COMMIT = "commit"
    REFUSED = "refused"
    SAID = "said"
    LESSON = "lesson"
    FACT = "fact"
    KNOWLEDGE = "knowledge"
    WRITTEN = "written"


IMPORTED: Final = (
    MemoryKind.SESSION,
    MemoryKind.TASK,
    MemoryKind.RECOVERY,
    MemoryKind.COMMIT,
    MemoryKind.REFUSED,
    MemoryKind.SAID,
    MemoryKind.KNOWLEDGE,
)
"""Kinds that an import names by the first tag; later tags are names of tools and projects."""

_QUOTED: Final = ", ".join(f"'{kind}'" for kind in IMPORTED)
KIND_SQL: Final = (
    f"CASE WHEN m.tags[1] IN ({_QUOTED}) THEN m.tags[1]"
    f" WHEN m.category = '{MemoryCategory.PROCEDURAL}'"
    f" AND starts_with(m.content, '{LESSON_START}') THEN '{MemoryKind.LESSON}'"
    f" WHEN m.fact_key IS NOT NULL THEN '{MemoryKind.FACT}' ELSE '{MemoryKind.WRITTEN}' END"
)
"""``kind_of`` as SQL on ``memories m``."""


DECIDED: Final = "Decided: "
"""What the line of an imported memory with what was settled in it starts with."""
ENDINGS: Final = {
    "Then worked: ": 4.0,
    "Result: ": 3.0,
    DECIDED: 3.0,
    "Committed: ": 3.0,
    "In between ": 2.0,
}
"""What the lines start with that tell how something ended, and how much each of them tells."""
FRAME: Final = ("Asked: ", "Then: ", "Ran ", "Worked in ", "A task in ")
"""What the lines start with that tell what was asked and where: whoever searches knows that."""
TITLE_STARTS: Final = {MemoryKind.LESSON: LESSON_START, MemoryKind.COMMIT: "Committed: "}
"""What a text starts with and its kind says already: left out where the kind is shown."""


def kind_of(category: MemoryCategory, tags: Sequence[str], content: str) -> MemoryKind:
    """Return the kind of a memory; what is none of the others was written by somebody."""
    if tags and tags[0] in IMPORTED:
        return MemoryKind(tags[0])
    if category is MemoryCategory.PROCEDURAL and content.startswith(LESSON_START):
        return MemoryKind.LESSON
    if any(tag.startswith(FACT_PREFIX) and tag[len(FACT_PREFIX) :].strip() for tag in tags):
        return MemoryKind.FACT
    return MemoryKind.WRITTEN
