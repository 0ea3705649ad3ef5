"""Retention is a rule that is asked when somebody looks, and not a time that is stamped."""

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.store.policy import AgeRules, StorePolicy
from synthorg_tui.memory.store.reader import StoreReader
from synthorg_tui.persistence import DATABASE_FILE
from tests.conftest import FixedClock
from tests.memory.store.store_kit import AGENT, contents, opened, query, request

EXPIRED = BrowseFilter(states=("expired",))
ENDING = BrowseFilter(states=("expiring",))


def days(count: int) -> StorePolicy:
    return StorePolicy(retention_days=lambda *_: count)


def own_days(agent_id: str, category: MemoryCategory) -> int | None:
    """Episodes end after two days, and those of ``bob`` after five; nothing else ends."""
    if category is not MemoryCategory.EPISODIC:
        return None
    return 5 if agent_id == "bob" else 2


async def test_a_changed_rule_reaches_what_is_stored_already(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock, policy=days(2)) as store:
        await store.store(AGENT, request("alpha"))
        clock.advance(days=3)
        assert contents((await store.admin.browse(EXPIRED)).entries) == ["alpha"]
    for rule, is_live in ((StorePolicy(), True), (days(4), True), (days(3), False)):
        async with opened(tmp_path, clock=clock, policy=rule) as store:
            live = ["alpha"] if is_live else []
            assert contents((await store.admin.browse(BrowseFilter())).entries) == live
            assert contents((await store.admin.find(query("alpha"))).hits) == live
            assert contents(await store.retrieve(AGENT, query("alpha"))) == live
            assert await store.count(AGENT) == len(live)
            assert (await store.admin.browse(EXPIRED)).total == 1 - len(live)
            found = await store.admin.find(query("alpha"), within=EXPIRED)
            assert len(found.hits) == 1 - len(live)
            early = await store.core.database.read(lambda db: AgeRules.load(db))
            assert early == AgeRules.of(rule)


@pytest.mark.parametrize(("hours", "is_live"), [(47, True), (48, False)])
async def test_a_rule_ends_a_memory_at_its_age_to_the_moment(
    tmp_path: Path, clock: FixedClock, hours: int, is_live: bool
) -> None:
    async with opened(tmp_path, clock=clock, policy=days(2)) as store:
        key = await store.store(AGENT, request("alpha"))
        clock.advance(hours=hours)
        assert (await store.get(AGENT, key) is not None) is is_live
        assert bool((await store.admin.find(query("alpha"))).hits) is is_live


async def test_rules_differ_by_agent_and_category(tmp_path: Path, clock: FixedClock) -> None:
    async with opened(
        tmp_path,
        clock=clock,
        policy=StorePolicy(retention_days=own_days, agents_with_own_retention=("bob",)),
    ) as store:
        for agent in (AGENT, "bob"):
            await store.store(agent, request(f"episode {agent}", category=MemoryCategory.EPISODIC))
            await store.store(agent, request(f"note {agent}"))
        clock.advance(days=3)
        live = {"note ada", "note bob", "episode bob"}
        assert set(contents((await store.admin.browse(BrowseFilter())).entries)) == live
        assert set(contents((await store.admin.find(query("episode note"))).hits)) == live
        ending = (await store.admin.browse(ENDING)).entries
        assert contents(ending) == ["episode bob"]
        assert ending[0].expires_at == ending[0].created_at + timedelta(days=5)
        reader = StoreReader(store.core, clock)
        assert set(contents((await reader.browse(BrowseFilter())).entries)) == live
        assert (await reader.facets()).total == 3


async def test_what_is_restored_after_its_age_stays_as_long_again(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock, policy=days(2)) as store:
        key = await store.store(AGENT, request("alpha"))
        clock.advance(days=2)
        assert await store.admin.archive([key], actor="ada (tui)") == 1
        assert await store.admin.restore([key], actor="ada (tui)") == 1
        clock.advance(days=1)
        assert contents((await store.admin.find(query("alpha"))).hits) == ["alpha"]
        clock.advance(days=1)
        assert (await store.admin.find(query("alpha"))).hits == ()


async def test_a_store_with_stamped_times_gets_the_rule_and_keeps_what_somebody_set(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with opened(tmp_path, clock=clock) as store:
        await store.store(AGENT, request("stamped", expires_at=clock.now() + timedelta(days=30)))
        own = clock.now() + timedelta(days=30, microseconds=1)
        await store.store(AGENT, request("own", expires_at=own))
    with duckdb.connect(tmp_path / DATABASE_FILE) as db:
        for column in ("valid_from", "valid_to", "recorded_at"):
            db.execute(f"ALTER TABLE memories DROP COLUMN {column}")
        for column in ("archived_at", "archived_why", "archived_mode"):
            db.execute(f"ALTER TABLE memories DROP COLUMN {column}")
        db.execute("UPDATE meta SET value = '3' WHERE name = 'schema_version'")
    clock.advance(days=40)
    async with opened(tmp_path, clock=clock) as store:
        rows = {row.content: row for row in (await store.admin.browse(BrowseFilter())).entries}
        assert set(rows) == {"stamped"}
        assert rows["stamped"].expires_at is None
        assert contents((await store.admin.find(query("stamped own"))).hits) == ["stamped"]
        (expired,) = (await store.admin.browse(EXPIRED)).entries
        assert (expired.content, expired.expires_at) == ("own", own)
