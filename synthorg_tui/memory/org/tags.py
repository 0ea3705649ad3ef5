"""What the tags of a fact say of it: project, source, title, status and date, what it replaces.

Facts keep the documented fields; a tag such as ``project:/home/me/app`` says what else is known, so
that the log has it, too. Other tags are free text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

_SEPARATOR: Final = ":"


@dataclass(frozen=True, slots=True)
class OrgTraits:
    """What is known of a fact beside its text; empty where nothing is.

    ``project`` is the folder of the only project that it is about, none for all. ``source`` is the
    file and line that it was read from, as ``docs/adr/0003.md#L1``. ``status`` and ``date`` are an
    ADR's own words for them; ``supersedes`` names the facts that it replaces, by id.
    """

    project: str = ""
    source: str = ""
    title: str = ""
    status: str = ""
    date: str = ""
    supersedes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, tags: Sequence[str]) -> "OrgTraits":
        """Read the tags of a fact; of a name that may be there once the first tag holds."""
        single: dict[str, str] = {}
        supersedes: list[str] = []
        others: list[str] = []
        for tag in tags:
            name, found, value = tag.partition(_SEPARATOR)
            if found and value and name == "supersedes":
                supersedes.append(value)
            elif found and value and name in _SINGLE:
                single.setdefault(name, value)
            else:
                others.append(tag)
        return cls(**single, supersedes=tuple(supersedes), others=tuple(others))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that say this; ``of`` reads them back."""
        named = [(name, getattr(self, name)) for name in _SINGLE]
        said = [f"{name}{_SEPARATOR}{value}" for name, value in named if value]
        replaced = [f"supersedes{_SEPARATOR}{fact_id}" for fact_id in self.supersedes]
        return (*said, *replaced, *self.others)


_SINGLE: Final = tuple(
    known.name for known in fields(OrgTraits) if known.name not in ("supersedes", "others")
)
