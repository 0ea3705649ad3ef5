"""What a digest is made from, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import Sensitivity, SourceKind
from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.retrieval.explanation import Candidate
from synthorg_tui.memory.retrieval.tags import FACT_CATEGORIES, parse_tags

DISABLED: Final = "Memory digest disabled by config."
NO_SENSITIVITIES: Final = "Memory digest empty (no allowed sensitivities)."
EMPTY: Final = "Memory digest empty."
NO_TOKENS: Final = "Memory digest skipped (max_total_tokens=0)."
NOTHING_FOUND: Final = "No matching durable memory found."
UNAVAILABLE: Final = "Memory digest unavailable."
COMMAND_TURN: Final = "Skipped for command turns."

PART_TITLE: Final = "Memory digest:"
DATA_TAG: Final = "data"


class ItemKind(StrEnum):
    """What an item of the digest is."""

    FACT = "fact"
    NOTE = "note"
    PROCEDURE = "procedure"
    EPISODE = "episode"


@dataclass(frozen=True, slots=True)
class DigestItem:
    """A memory as the digest sees it: its kind, and where it came from."""

    entry: MemoryEntry
    source_kind: SourceKind
    session_id: str | None = None

    @property
    def kind(self) -> ItemKind:
        """Its kind, by category and fact key."""
        if self.entry.category is MemoryCategory.PROCEDURAL:
            return ItemKind.PROCEDURE
        if self.entry.category is MemoryCategory.EPISODIC:
            return ItemKind.EPISODE
        return ItemKind.FACT if self.fact_key is not None else ItemKind.NOTE

    @property
    def fact_key(self) -> str | None:
        """What it is the fact of."""
        if self.entry.category not in FACT_CATEGORIES:
            return None
        return parse_tags(self.entry.metadata.tags).fact_key

    @property
    def sensitivity(self) -> Sensitivity:
        """Who may read it."""
        return parse_tags(self.entry.metadata.tags).sensitivity

    @property
    def refs(self) -> tuple[str, ...]:
        """What it refers to as its origin."""
        source = self.entry.metadata.source
        return () if source is None else (source,)


class DigestSource(Protocol):
    """Where an agent's items are looked up. Everything raises ``MemoryRetrievalError``.

    A protocol because the digest decides what agents read and is to see no more of a store.
    """

    async def facts(self, agent_id: str, keys: Sequence[str]) -> Sequence[DigestItem]:
        """The newest fact of each key, in the order of the keys."""
        ...

    async def tagged(
        self, agent_id: str, tags: Sequence[str], *, limit: int
    ) -> Sequence[DigestItem]:
        """Items with any of the tags, newest first, ties by id."""
        ...

    async def by_words(
        self, agent_id: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[tuple[DigestItem, int]]:
        """Items that contain any of the lower-case terms, with their score; all without terms.

        A term scores 3 in a title, 2 in a key or an episode, 1 in other text. By score, then
        newest first, then by id.
        """
        ...

    async def by_meaning(
        self, agent_id: str, text: str, *, limit: int
    ) -> tuple[Sequence[tuple[DigestItem, float]], str]:
        """Items like the text with their cosine, unordered; and what was missing, in words."""
        ...

    async def by_id(self, agent_id: str, ids: Sequence[str]) -> Sequence[DigestItem]:
        """The agent's items with these ids, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class DigestResult:
    """A digest, or a fixed text that says why there is none.

    The hit counts are those of each search by itself; an item may be a hit of several.
    ``tokens`` is what the lines count. ``candidates`` are all hits and pinned memories, those
    that are in first. ``degraded`` says in words what was missing, else it is empty.
    """

    text: str
    included_ids: tuple[str, ...] = ()
    structured_hits: int = 0
    keyword_hits: int = 0
    semantic_hits: int = 0
    candidates: tuple[Candidate, ...] = ()
    tokens: int = 0
    degraded: str = ""

    @property
    def part(self) -> str:
        """The part of the prompt: title, and the digest fenced as data."""
        return fenced(self.text)


def fenced(text: str) -> str:
    """A sanitised digest as a part of a prompt."""
    return f'{PART_TITLE}\n<{DATA_TAG} source="memory">\n{text}\n</{DATA_TAG}>'
