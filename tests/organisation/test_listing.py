"""Pages of the list of entries: the same list as ``entries``, by category, in windows."""

from collections.abc import AsyncIterator
from datetime import datetime

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.organisation.models import EntryCriteria, EntryPage, OrgEntry, OrgOrigin
from synthorg_tui.organisation.service import OrganisationService
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.memory.org.org_kit import fact
from tests.memory.store.hash_embedder import HashEmbedder

ME = "person (tui)"
POLICY, ADR = OrgFactCategory.CORE_POLICY, OrgFactCategory.ADR
PROCEDURE, CONVENTION = OrgFactCategory.PROCEDURE, OrgFactCategory.CONVENTION
SETTINGS = RootConfig(org_memory=OrgMemoryConfig(core_policies=("Review first.", "No secrets.")))
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[OrganisationService]:
    """Facts of every category with an edit, a retraction, and an ADR that replaces another."""
    clock = FixedClock()
    folder = tmp_path_factory.mktemp("listing")
    async with Engine.open(
        SETTINGS, data_dir=folder, clock=clock, embedder=HashEmbedder()
    ) as engine:
        known = engine.organisation
        added = list[OrgEntry]()
        for at, category in enumerate((CONVENTION, ADR, POLICY, PROCEDURE) * 3):
            clock.advance(hours=1)
            tags = (f"project:/home/me/App{at % 2}", "git")
            text = fact(f"Number {at}: 100% \\of_it.", category, tags)
            added.append(await known.add(text, actor=ME))
        clock.advance(hours=1)
        newer = (f"supersedes:{added[1].id}", "title:Newer")
        await known.add(fact("The newer decision.", ADR, newer), actor=ME)
        clock.advance(hours=1)
        await known.edit(added[2].id, content="Number 2, reworded.", actor=ME)
        clock.advance(hours=1)
        await known.retract(added[3].id, actor=ME)
        clock.advance(hours=1)
        await known.edit(added[0].id, category=PROCEDURE, actor=ME)
        yield known


async def page(
    service: OrganisationService, at: datetime | None = None, **criteria: object
) -> EntryPage:
    return await service.page(EntryCriteria(**criteria), at=at)  # type: ignore[arg-type]


def by_category(entries: tuple[OrgEntry, ...]) -> list[OrgEntry]:
    order = list(OrgFactCategory)
    return sorted(entries, key=lambda entry: order.index(entry.category))


async def test_a_page_is_the_whole_list_by_category(service: OrganisationService) -> None:
    listed = await page(service)
    assert list(listed.entries) == by_category(await service.entries())
    assert listed.counts == ((POLICY, 5), (ADR, 4), (PROCEDURE, 3), (CONVENTION, 2))
    assert (listed.total, listed.stored, listed.retracted) == (14, 14, 1)


async def test_at_every_moment_it_is_the_list_of_then(service: OrganisationService) -> None:
    moments = await service.moments()
    assert len(moments) == 16
    for number, at in enumerate(moments, start=1):
        listed = await page(service, at)
        assert list(listed.entries) == by_category(await service.entries(at=at))
        assert listed.changes == number


async def test_windows_of_any_size_join_to_the_list(service: OrganisationService) -> None:
    whole = (await page(service)).entries
    for size in (1, 2, 3, 5, 14, 20):
        windows = [
            await service.page(EntryCriteria(), offset=offset, limit=size)
            for offset in range(0, len(whole), size)
        ]
        assert tuple(entry for each in windows for entry in each.entries) == whole
        assert all(each.total == len(whole) for each in windows)


async def test_beyond_the_end_and_before_the_beginning_is_nothing(
    service: OrganisationService,
) -> None:
    beyond = await service.page(EntryCriteria(), offset=1000)
    assert (beyond.entries, beyond.total) == ((), 14)
    before = await service.page(EntryCriteria(), at=datetime.fromisoformat("2000-01-01T00:00Z"))
    assert [entry.origin for entry in before.entries] == [OrgOrigin.SETTINGS] * 2
    assert before.changes == 0


async def test_what_is_replaced_says_by_what(service: OrganisationService) -> None:
    listed = await page(service)
    newer = next(entry for entry in listed.entries if entry.traits.title == "Newer")
    assert listed.superseded == {newer.traits.supersedes[0]: newer.id}
    replaced = await page(service, superseded=True)
    assert [entry.id for entry in replaced.entries] == list(newer.traits.supersedes)
    earlier = await page(service, (await service.moments())[11])
    assert earlier.superseded == {}


@pytest.mark.parametrize(
    ("criteria", "found"),
    [
        ({"words": ("NUMBER 1:",)}, 1),
        ({"words": ("100% \\of_",)}, 10),
        ({"words": ("number",), "without": ("reworded",)}, 10),
        ({"categories": (ADR, CONVENTION)}, 6),
        ({"origins": (OrgOrigin.SETTINGS,)}, 2),
        ({"origins": (OrgOrigin.FACT,), "categories": (POLICY,)}, 3),
        ({"projects": ("app0",)}, 6),
        ({"projects": ("app.",)}, 0),
        ({"projects": ('"',)}, 0),
        ({"retracted": True}, 1),
        ({"ids": ()}, 0),
        ({"words": ("git",), "origins": (OrgOrigin.SKILL,)}, 0),
    ],
)
async def test_each_condition_lists_what_meets_it(
    service: OrganisationService, criteria: dict[str, object], found: int
) -> None:
    listed = await service.page(EntryCriteria(**criteria))  # type: ignore[arg-type]
    assert (len(listed.entries), listed.total) == (found, found)
    assert listed.stored == 14


async def test_a_page_holds_a_thousand_entries_at_most(service: OrganisationService) -> None:
    listed = await service.page(EntryCriteria(), offset=-5, limit=10**9)
    assert (listed.offset, len(listed.entries)) == (0, 14)
    assert (await service.page(EntryCriteria(), limit=-1)).entries == ()
