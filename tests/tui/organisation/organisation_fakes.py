"""What an organisation knows, in memory: what the Organisation pane is tested against."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import ListedMemory, MemoryUse
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.organisation.models import (
    EntryCriteria,
    EntryPage,
    OrgEntry,
    OrgOrigin,
    OrgVersion,
)
from synthorg_tui.tui.organisation.adapter import (
    EngineOrganisation,
    EntryText,
    PromptRoom,
    RefusedWrite,
)

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
SHOP = "/home/ada/shop"
POLICY, ADR = OrgFactCategory.CORE_POLICY, OrgFactCategory.ADR
PROCEDURE, CONVENTION = OrgFactCategory.PROCEDURE, OrgFactCategory.CONVENTION


def entry(
    key: str,
    category: OrgFactCategory,
    content: str,
    *,
    days: float = 1,
    origin: OrgOrigin = OrgOrigin.FACT,
    author: str = "a person",
    version: int = 1,
    **traits: object,
) -> OrgEntry:
    """An entry that was written so many days ago."""
    at = NOW - timedelta(days=days)
    said = OrgTraits(**traits)  # type: ignore[arg-type]
    shown = version if origin is OrgOrigin.FACT else 0
    begun = at - timedelta(days=max(shown - 1, 0))
    return OrgEntry(key, origin, category, content, said, author, begun, at, shown)


def knowledge() -> list[OrgEntry]:
    """One of each sort, and an ADR that another one replaces."""
    return [
        entry(
            "core-policy-0",
            POLICY,
            "Never commit secrets; use the vault.",
            days=0,
            origin=OrgOrigin.SETTINGS,
            author="the settings",
        ),
        entry(
            "0f1d-policy",
            POLICY,
            "Never push to main.\nOpen a pull request and let CI run first.",
            days=3,
            version=2,
            others=("git", "review"),
        ),
        entry("1a2b-policy", POLICY, "Ask before you delete data.", days=20, project=SHOP),
        entry(
            "2c3d-adr",
            ADR,
            "Settings are YAML, since people edit them by hand.",
            days=5,
            project=SHOP,
            source="docs/adr/0007.md#L1",
            title="7. Use YAML for settings",
            status="Accepted",
            date="2026-03-09",
            supersedes=("3e4f-adr",),
        ),
        entry(
            "3e4f-adr",
            ADR,
            "Settings are TOML.",
            days=40,
            project=SHOP,
            source="docs/adr/0003.md#L1",
            title="3. Use TOML for settings",
            status="Superseded by ADR 7",
            date="2026-02-02",
        ),
        entry("4a5b-procedure", PROCEDURE, "Release: bump, tag, wait for CI, publish.", days=9),
        entry(
            "set-upstream-first-push",
            PROCEDURE,
            "Run `git push -u origin HEAD`.",
            days=12,
            origin=OrgOrigin.SKILL,
            author="agent codex",
            title="Set the upstream with the first push",
        ),
        entry(
            "5c6d-convention",
            CONVENTION,
            "Tests mirror the rooms of the program.",
            days=2,
            author="agent claude-code (senior)",
        ),
        entry(
            "mem-00002",
            CONVENTION,
            "The staging database is read-only on weekends.",
            days=30,
            origin=OrgOrigin.SHARED,
            author="agent claude-code",
        ),
    ]


def many(count: int) -> list[OrgEntry]:
    """So many facts, with what is in ``knowledge``."""
    kinds = list(OrgFactCategory)
    made = [
        entry(f"{at:08x}", kinds[at % 4], f"Rule {at}: keep it short.", days=1 + at / 50)
        for at in range(count)
    ]
    return [*knowledge(), *made]


class FakeOrganisation(EngineOrganisation):
    """Entries in a list, each with its history; changes are made at once."""

    def __init__(self, held: Sequence[OrgEntry] = ()) -> None:
        self.held = {each.id: each for each in held}
        self.log: defaultdict[str, list[OrgVersion]] = defaultdict(list)
        for each in held:
            if each.origin is OrgOrigin.FACT:
                for number in range(1, each.version + 1):
                    text = each.content if number == each.version else each.content.split("\n")[0]
                    early = each.changed_at - timedelta(days=each.version - number)
                    self._note(replace(each, content=text, version=number), early)
        self.error: DomainError | None = None
        self.refusal: DomainError | None = None
        self.turned_down: tuple[RefusedWrite, ...] = ()
        self.memories: dict[str, ListedMemory] = {}
        self.given: dict[str, tuple[MemoryUse, ...]] = {}
        self.asked: list[tuple[EntryCriteria, datetime | None, int]] = []
        self.acts: list[tuple[str, OrgEntry | None]] = []

    def _note(self, after: OrgEntry, at: datetime, *, retracts: bool = False) -> None:
        content = None if retracts else after.content
        self.log[after.id].append(
            OrgVersion(after.version, at, "a person", content, after.category, after.traits.tags)
        )

    def _as_of(self, at: datetime | None) -> list[OrgEntry]:
        if at is None:
            return list(self.held.values())
        then = []
        for each in self.held.values():
            lines = [line for line in self.log[each.id] if line.at <= at]
            if each.origin is not OrgOrigin.FACT:
                is_timeless = each.origin is OrgOrigin.SETTINGS
                then += [each] if is_timeless or each.created_at <= at else []
            elif lines and lines[-1].content is not None:
                shown = replace(each, content=lines[-1].content, version=lines[-1].version)
                then.append(replace(shown, changed_at=lines[-1].at, retracted_at=None))
        return then

    async def page(
        self, what: EntryCriteria, *, at: datetime | None, offset: int, limit: int
    ) -> EntryPage:
        self.asked.append((what, at, offset))
        if self.error is not None:
            raise self.error
        every = self._as_of(at)
        found = [each for each in every if self._fits(each, what)]
        order = list(OrgFactCategory)
        first = list(OrgOrigin)
        found.sort(
            key=lambda e: (
                order.index(e.category),
                first.index(e.origin),
                -e.created_at.timestamp(),
            )
        )
        counts = [(kind, sum(e.category is kind for e in found)) for kind in order]
        return EntryPage(
            tuple(found[offset : offset + limit]),
            offset,
            tuple(each for each in counts if each[1]),
            {
                former: each.id
                for each in every
                if each.retracted_at is None
                for former in each.traits.supersedes
            },
            stored=sum(each.retracted_at is None for each in every),
            retracted=sum(each.retracted_at is not None for each in every),
            changes=sum(at is None or v.at <= at for lines in self.log.values() for v in lines),
        )

    def _fits(self, each: OrgEntry, what: EntryCriteria) -> bool:
        text = " ".join((each.content, *each.traits.tags)).lower()
        return (
            what.retracted is (each.retracted_at is not None)
            and (what.ids is None or each.id in what.ids)
            and (not what.categories or each.category in what.categories)
            and (not what.origins or each.origin in what.origins)
            and (not what.projects or any(p in each.traits.project for p in what.projects))
            and all(word in text for word in what.words)
            and not any(word in text for word in what.without)
        )

    async def moments(self) -> tuple[datetime, ...]:
        return tuple(sorted({line.at for lines in self.log.values() for line in lines}))

    async def history(self, fact_id: str) -> tuple[OrgVersion, ...]:
        return tuple(self.log[fact_id])

    async def search(self, text: str) -> tuple[OrgEntry, ...]:
        words = text.lower().split()
        return tuple(e for e in self.held.values() if any(w in e.content.lower() for w in words))

    async def uses(self, entry: OrgEntry, *, limit: int) -> tuple[MemoryUse, ...]:
        return self.given.get(entry.id, ())[:limit]

    async def memory(self, memory_id: str) -> ListedMemory | None:
        return self.memories.get(memory_id)

    async def room(self) -> PromptRoom:
        policies = [e for e in self.held.values() if e.category is POLICY and not e.retracted_at]
        told = {each.id: 12 for each in policies[:2]}
        return PromptRoom(400, 58, told, frozenset(each.id for each in policies[2:]))

    async def refused(self) -> tuple[RefusedWrite, ...]:
        return self.turned_down

    def _change(self, act: str, before: OrgEntry | None, after: OrgEntry) -> OrgEntry:
        if self.refusal is not None:
            raise self.refusal
        self.acts.append((act, before))
        self.held[after.id] = after
        self._note(after, NOW, retracts=after.retracted_at is not None)
        return after

    async def add(self, new: EntryText) -> OrgEntry:
        key = f"new-{len(self.acts)}"
        added = entry(key, new.category, new.content, days=0, project=new.project, others=new.tags)
        return self._change("add", None, added)

    async def edit(self, entry: OrgEntry, new: EntryText) -> OrgEntry:
        traits = replace(entry.traits, project=new.project, others=new.tags)
        after = replace(
            entry,
            content=new.content,
            category=new.category,
            traits=traits,
            version=entry.version + 1,
            changed_at=NOW,
        )
        return self._change("edit", entry, after)

    async def retract(self, fact_id: str) -> OrgEntry:
        before = self.held[fact_id]
        after = replace(before, retracted_at=NOW, version=before.version + 1)
        return self._change("retract", before, after)

    async def revive(self, fact_id: str) -> OrgEntry:
        before = self.held[fact_id]
        after = replace(before, retracted_at=None, version=before.version + 1)
        return self._change("revive", before, after)

    async def undo(self) -> tuple[str, OrgEntry]:
        if not self.acts:
            raise DomainError("there is nothing of facts to undo")
        act, before = self.acts.pop()
        assert before is not None
        self.held[before.id] = before
        return f"undid {act}: {before.content[:20]}", before
