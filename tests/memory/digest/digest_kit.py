"""Items for digests, and a source that holds them in a list."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.digest.config import BudgetsConfig, KindBudgets, MemoryV1Config
from synthorg_tui.memory.digest.models import DigestItem
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def item(
    content: str = "x",
    *,
    number: int = 0,
    category: str = "semantic",
    tags: Sequence[str] = (),
    confidence: float = 1.0,
    source: str | None = None,
    source_kind: SourceKind = SourceKind.TOOL,
    session: str | None = None,
) -> DigestItem:
    """An item; the higher its number the newer."""
    entry = MemoryEntry(
        id=f"00000000-0000-4000-8000-{number:012d}",
        agent_id="ada",
        category=MemoryCategory(category),
        content=content,
        metadata=MemoryMetadata(source=source, confidence=confidence, tags=tuple(tags)),
        created_at=NOW + timedelta(seconds=number),
    )
    return DigestItem(entry, source_kind, session)


@dataclass
class ListSource:
    """A source of items held in lists, one for each lookup; lookups named ``broken`` raise."""

    found_facts: Sequence[DigestItem] = ()
    found_tagged: Sequence[DigestItem] = ()
    found_words: Sequence[tuple[DigestItem, int]] = ()
    found_meaning: Sequence[tuple[DigestItem, float]] = ()
    all_items: Sequence[DigestItem] = ()
    missing: str = ""
    broken: dict[str, Exception] = field(default_factory=dict)
    asked: list[tuple[str, object]] = field(default_factory=list)

    async def facts(self, agent_id: str, keys: Sequence[str]) -> Sequence[DigestItem]:
        self._ask("facts", tuple(keys))
        return self.found_facts

    async def tagged(
        self, agent_id: str, tags: Sequence[str], *, limit: int
    ) -> Sequence[DigestItem]:
        self._ask("tagged", limit)
        return self.found_tagged[:limit]

    async def by_words(
        self, agent_id: str, terms: Sequence[str], *, limit: int
    ) -> Sequence[tuple[DigestItem, int]]:
        self._ask("by_words", tuple(terms))
        return self.found_words[:limit]

    async def by_meaning(
        self, agent_id: str, text: str, *, limit: int
    ) -> tuple[Sequence[tuple[DigestItem, float]], str]:
        self._ask("by_meaning", text)
        return self.found_meaning[:limit], self.missing

    async def by_id(self, agent_id: str, ids: Sequence[str]) -> Sequence[DigestItem]:
        self._ask("by_id", tuple(ids))
        return [each for each in self.all_items if each.entry.id in ids]

    def _ask(self, name: str, about: object) -> None:
        self.asked.append((name, about))
        if name in self.broken:
            raise self.broken[name]


def config(**fields: object) -> MemoryV1Config:
    return MemoryV1Config.model_validate(fields)


def budgets(**fields: object) -> BudgetsConfig:
    """Wide budgets for each kind unless ``per_kind`` is given."""
    wide = {"max_items": 1000, "max_chars": 200_000}
    per_kind = dict.fromkeys(KindBudgets.model_fields, wide)
    given = {"max_total_items": 1000, "max_total_chars": 200_000, "per_kind": per_kind}
    return BudgetsConfig.model_validate(given | fields)
