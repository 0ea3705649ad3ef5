"""Data that a digest is built from, and its result."""

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
    """Kind of a digest item, derived from the memory's category and fact key."""

    FACT = "fact"
    NOTE = "note"
    PROCEDURE = "procedure"
    EPISODE = "episode"


@dataclass(frozen=True, slots=True)
class DigestItem:
    """A memory considered for a digest, with the kind of its author and its session."""

    entry: MemoryEntry
    source_kind: SourceKind
    session_id: str | None = None

    @property
    def kind(self) -> ItemKind:
        """Kind of the item, by its category and whether it has a fact key."""
        if self.entry.category is MemoryCategory.PROCEDURAL:
            return ItemKind.PROCEDURE
        if self.entry.category is MemoryCategory.EPISODIC:
            return ItemKind.EPISODE
        return ItemKind.FACT if self.fact_key is not None else ItemKind.NOTE

    @property
    def fact_key(self) -> str | None:
        """Key of the fact that the memory states; ``None`` if it isn't a fact."""
        if self.entry.category not in FACT_CATEGORIES:
            return None
        return parse_tags(self.entry.metadata.tags).fact_key

    @property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the memory, which decides whether agents may be given it."""
        return parse_tags(self.entry.metadata.tags).sensitivity

    @property
    def refs(self) -> tuple[str, ...]:
        """References to the memory's origin; empty when it has none."""
        source = self.entry.metadata.source
        return () if source is None else (source,)


class DigestSource(Protocol):
    """Read access to one agent's digest items; all methods raise ``MemoryRetrievalError``.

    A protocol because the digest decides what agents read and should have no further access to a
    store.
    """

    async def facts(self, agent_id: str, keys: Sequence[str]) -> Sequence[DigestItem]:
        """Return the newest fact for each key, in the order of the keys."""

    async def tagged(
        self, agent_id: str, tags: Sequence[str], *, limit: int
    ) -> Sequence[DigestItem]:
        """Return at most ``limit`` items with any of the tags, newest first, ties by id."""

    async def by_words(
        self, agent_id: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[tuple[DigestItem, int]]:
        """Return items that contain any of the lower-case terms, each with its score.

        A term scores 3 in a title, 2 in a key or an episode, 1 in other text. Items are ordered by
        score, then newest first, then by id. Without terms any item matches.
        """

    async def by_meaning(
        self, agent_id: str, text: str, *, limit: int
    ) -> tuple[Sequence[tuple[DigestItem, float]], str]:
        """Return items similar to the text, each with its cosine similarity, unordered.

        The second value says in words which source was missing; empty when none was.
        """

    async def by_id(self, agent_id: str, ids: Sequence[str]) -> Sequence[DigestItem]:
        """Return the agent's items with these ids, in the order of the ids."""


@dataclass(frozen=True, slots=True)
class DigestResult:
    """A digest, or a fixed text that says why there is none.

    Hit counts are separate for each search, so an item may be counted in several. ``tokens`` is the
    size of the lines. ``candidates`` are all hits and pinned memories, included ones first.
    ``degraded`` says in words which source was missing; empty when none was.
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
        """The part of the prompt: a title and the digest, fenced as data."""
        return fenced(self.text)


def fenced(text: str) -> str:
    """Format a sanitised digest as a prompt part: a title and the text, fenced as data."""
    return f'{PART_TITLE}\n<{DATA_TAG} source="memory">\n{text}\n</{DATA_TAG}>'
