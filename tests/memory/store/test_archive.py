"""What is archived is kept as it is: listed, searched, restored, deleted, erased."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.memory.enums import ArchiveReason, EdgeKind
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.listing import ChangeKind
from synthorg_tui.memory.store import edges, queries
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.doctor import Check
from synthorg_tui.memory.store.maintenance import Maintenance
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, contents, draft, opened, query, request

ME = "ada (tui)"
ARCHIVED = BrowseFilter(states=("archived",))
DELETED = BrowseFilter(deleted=True)


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def listed(store: LocalMemoryBackend, what: BrowseFilter) -> list[str]:
    return contents((await store.admin.browse(what)).entries)


async def test_an_archived_memory_is_in_the_archive_alone(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    kept, gone = await store.store(AGENT, request("alpha")), await store.store("bob", request("b"))
    clock.advance(minutes=1)
    assert await store.admin.archive([gone, gone, "nonsense"], actor=ME) == 1
    assert await store.admin.archive([gone], actor=ME) == 0
    assert await listed(store, BrowseFilter()) == ["alpha"]
    assert await listed(store, DELETED) == []
    (row,) = (await store.admin.browse(ARCHIVED)).entries
    assert (row.id, row.archived_at, row.archived_why) == (gone, clock.now(), "by_hand")
    facets = await store.admin.facets()
    assert (facets.agents, facets.archived) == (((AGENT, 1),), 1)
    assert await store.count("bob") == 0
    assert await store.get("bob", gone) is None
    assert await store.retrieve("bob", query("b")) == ()
    assert (await store.admin.history(gone))[0].kind is ChangeKind.ARCHIVED
    assert (await store.admin.entries([kept, gone])) == (await store.admin.entries([kept]))


async def test_a_listing_tells_archived_memories_apart_by_reason(
    store: LocalMemoryBackend,
) -> None:
    first = await store.store(AGENT, request("alpha"))
    await store.admin.archive([first], actor=ME)
    by_hand, for_room = (
        BrowseFilter(states=("archived",), archived_for=(why,))
        for why in (ArchiveReason.BY_HAND, ArchiveReason.ROOM)
    )
    assert (await listed(store, by_hand), await listed(store, for_room)) == (["alpha"], [])


async def test_the_archive_is_searched_by_meaning_and_words_and_nothing_else_is(
    store: LocalMemoryBackend,
) -> None:
    texts = ("the harbour opens early", "the harbour closes late", "a recipe for bread")
    ids = [await store.store(AGENT, request(text)) for text in texts]
    await store.admin.archive(ids[1:], actor=ME)
    found = await store.admin.find(query("harbour closes"), within=ARCHIVED)
    assert contents(found.hits)[:1] == ["the harbour closes late"]
    assert "the harbour opens early" not in contents(found.hits)
    assert found.hits[0].sparse is not None
    assert found.hits[0].dense is not None
    elsewhere = await store.admin.find(query("bread"), agents=frozenset({"bob"}), within=ARCHIVED)
    assert elsewhere.hits == ()
    live = await store.admin.find(query("harbour"))
    assert contents(live.hits) == ["the harbour opens early"]


async def test_a_restored_memory_is_live_again_byte_for_byte(store: LocalMemoryBackend) -> None:
    key = await store.store(AGENT, request("alpha", tags=("x", "fact:port")))
    before = await store.admin.entries([key])
    await store.admin.archive([key], actor=ME)
    assert await store.admin.restore([key], actor=ME) == 1
    assert await store.admin.entries([key]) == before
    assert contents(await store.retrieve(AGENT, query("alpha"))) == ["alpha"]


async def test_what_is_deleted_from_the_archive_is_there_again_when_that_is_undone(
    store: LocalMemoryBackend, clock: FixedClock
) -> None:
    key = await store.store(AGENT, request("alpha"))
    await store.admin.archive([key], actor=ME)
    archived = (await store.admin.browse(ARCHIVED)).entries
    clock.advance(minutes=1)
    assert await store.admin.remove([key], actor=ME) == 1
    assert (await listed(store, ARCHIVED), await listed(store, DELETED)) == ([], ["alpha"])
    clock.advance(minutes=1)
    await store.admin.undo(actor=ME)
    assert (await store.admin.browse(ARCHIVED)).entries == archived
    clock.advance(minutes=1)
    await store.admin.undo(actor=ME)
    assert await listed(store, BrowseFilter()) == ["alpha"]


async def test_erasing_an_archived_memory_leaves_nothing_of_it(store: LocalMemoryBackend) -> None:
    kept, key = [await store.store(AGENT, request(text)) for text in ("alpha", "xylophone")]
    link = edges.MemoryEdge(key, kept, EdgeKind.DUPLICATE_OF)
    await store.core.change(lambda c: edges.add_edges(c.db, [link], made_at=c.now, made_by=ME))
    await store.admin.archive([key], actor=ME)
    assert await store.admin.purge([key], actor=ME) == 1
    assert (await store.admin.find(query("xylophone"), within=ARCHIVED)).hits == ()
    left = await store.core.read(
        lambda db: db.execute(
            "SELECT id FROM memories WHERE id = $1::UUID UNION ALL "
            "SELECT memory_id FROM vectors WHERE memory_id = $1::UUID UNION ALL "
            "SELECT from_id FROM memory_edges WHERE from_id = $1::UUID",
            [key],
        ).fetchall()
    )
    assert left == []
    assert "xylophone" not in str(await store.admin.history(key))


async def test_an_import_does_not_bring_an_archived_memory_back(
    store: LocalMemoryBackend,
) -> None:
    (key,) = (await store.store_many(AGENT, [draft("alpha", "k")], actor="import")).added
    await store.admin.archive([key], actor=ME)
    outcome = await store.store_many(AGENT, [draft("changed", "k")], actor="import")
    assert outcome.skipped == (("k", "archived"),)


class TestDoctor:
    async def test_a_half_archived_memory_and_a_loose_edge_are_found_and_repaired(
        self, tmp_path: Path, clock: FixedClock
    ) -> None:
        async with opened(tmp_path, clock=clock) as store:
            one, two, three = [await store.store(AGENT, request(text)) for text in "abc"]
            await store.admin.archive([one], actor=ME)
            maintenance = Maintenance(store, data_dir=tmp_path)
            assert _archive_check(await maintenance.doctor()).ok
            await store.core.database.write(
                lambda db: db.execute(
                    "UPDATE memories SET archived_why = NULL WHERE id = ?::UUID", [one]
                )
            )
            await store.core.database.write(
                lambda db: db.execute(
                    "INSERT INTO memory_edges VALUES (?::UUID, uuid(), 'supersedes', now(), 'x')",
                    [two],
                )
            )
            report = await maintenance.doctor()
            assert _archive_check(report).detail == (
                "1 without a clear reason, 1 links to no memory"
            )
            report = await maintenance.doctor(fix=True)
            assert _archive_check(report).ok
            assert sorted(await listed(store, BrowseFilter())) == ["b", "c"]
            assert three


def _archive_check(report: object) -> Check:
    checks: tuple[Check, ...] = getattr(report, "checks")  # noqa: B009
    return next(check for check in checks if check.name == "archive")


@pytest.mark.parametrize(
    ("why", "kind", "is_from_archived"),
    [
        (ArchiveReason.DUPLICATE, EdgeKind.DUPLICATE_OF, True),
        (ArchiveReason.SUPERSEDED, EdgeKind.SUPERSEDES, False),
        (ArchiveReason.CONSOLIDATED, EdgeKind.DERIVED_FROM, False),
    ],
)
async def test_what_stands_for_an_archived_memory_is_known(
    store: LocalMemoryBackend, why: ArchiveReason, kind: EdgeKind, is_from_archived: bool
) -> None:
    gone, stands = [await store.store(AGENT, request(text)) for text in ("alpha", "beta")]
    assert await store.admin.stands_for(gone) is None, "it is live"
    ends = (gone, stands) if is_from_archived else (stands, gone)
    edge = edges.MemoryEdge(*ends, kind)
    now = store.core.clock.now().replace(tzinfo=None)
    await store.core.database.write(lambda db: edges.add_edges(db, [edge], made_at=now, made_by=ME))
    (row,) = await store.core.read(lambda db: queries.rows_by_id(db, [gone]).values())
    await store.core.change(lambda changes: changes.archive([row], why=why, actor=ME))
    found = await store.admin.stands_for(gone)
    assert found is not None
    assert found.id == stands
    assert await store.admin.stands_for(stands) is None


async def test_nothing_stands_for_what_a_person_archived(store: LocalMemoryBackend) -> None:
    gone = await store.store(AGENT, request("alpha"))
    await store.admin.archive([gone], actor=ME)
    assert await store.admin.stands_for(gone) is None
    assert await store.admin.stands_for("nonsense") is None
