"""Words that leave organisation memory for good: erased facts, and secrets found later."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from synthorg_tui.approvals.person import Person
from synthorg_tui.curation.review import OrgPayload
from synthorg_tui.engine import Engine
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, OrgMemoryWriteError
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.organisation.models import OrgEntry
from synthorg_tui.organisation.proposals import propose
from synthorg_tui.persistence.texts import text_columns
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.memory.org.org_kit import SENIOR, fact, publish, retract
from tests.memory.store.hash_embedder import HashEmbedder

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

ME = "person (tui)"
TOKEN = "gsk_" + "Q9w8E7r6T5y4U3i2O1p0" * 2 + "a1B2c3D4e5F6"
CLOCK = FixedClock()
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("erasing")
    async with Engine.open(
        RootConfig(), data_dir=folder, clock=CLOCK, embedder=HashEmbedder()
    ) as opened:
        yield opened


async def add(engine: Engine, content: str, tags: tuple[str, ...] = ()) -> OrgEntry:
    CLOCK.advance(hours=1)
    return await engine.organisation.add(fact(content, tags=tags), actor=ME)


async def stored(engine: Engine) -> str:
    """All texts of all tables."""

    def work(db: "Connection") -> str:
        tables = sorted({column.table for column in text_columns(db)})
        return repr([db.execute(f"SELECT * FROM {table}").fetchall() for table in tables])

    assert isinstance(engine.memory, LocalMemoryBackend)
    return await engine.memory.core.read(work)


async def is_well(engine: Engine) -> bool:
    report = await engine.maintenance.doctor()
    return all(check.ok for check in report.checks if check.name != "lock")


async def test_an_erased_fact_leaves_lines_without_words(engine: Engine) -> None:
    entry = await add(engine, "The cellar key lies under the mat.", tags=("title:Cellar",))
    await engine.organisation.edit(entry.id, content="The cellar key lies elsewhere.", actor=ME)
    left = await engine.organisation.erase(entry.id, actor=ME)
    assert (left.content, left.retracted_at is None) == ("(erased)", False)
    found = await engine.organisation.history(entry.id)
    assert [line.content for line in found] == ["(erased)", "(erased)", None]
    texts = await stored(engine)
    assert "cellar" not in texts
    assert "Cellar" not in texts
    assert await is_well(engine)


async def test_what_was_retracted_can_be_erased_without_another_line(engine: Engine) -> None:
    entry = await add(engine, "The attic ladder is broken.")
    await engine.organisation.retract(entry.id, actor=ME)
    await engine.organisation.erase(entry.id, actor=ME)
    assert len(await engine.organisation.history(entry.id)) == 2
    assert "attic" not in await stored(engine)


async def test_the_past_says_that_something_was_erased(engine: Engine) -> None:
    entry = await add(engine, "The garage is pink.")
    CLOCK.advance(hours=1)
    await engine.organisation.edit(entry.id, content="The garage is blue.", actor=ME)
    before = {each.id: each for each in await engine.organisation.entries(at=entry.created_at)}
    assert before[entry.id].content == "The garage is pink."
    await engine.organisation.erase(entry.id, actor=ME)
    then = {each.id: each for each in await engine.organisation.entries(at=entry.created_at)}
    assert then[entry.id].content == "(erased)"


async def test_an_erased_text_does_not_come_back(engine: Engine) -> None:
    first = await add(engine, "Kept.")
    entry = await add(engine, "The pond is deep.")
    await engine.organisation.erase(entry.id, actor=ME)
    with pytest.raises(OrgMemoryWriteError, match="erased for good"):
        await engine.organisation.revive(entry.id, actor=ME)
    assert (await engine.organisation.undo(actor=ME))[1].id == first.id


async def test_what_is_no_fact_is_not_erased_here(engine: Engine) -> None:
    with pytest.raises(OrgMemoryQueryError):
        await engine.organisation.erase("7f8a2d5e-0000-4000-8000-000000000000", actor=ME)


async def test_the_file_is_written_anew(engine: Engine) -> None:
    assert isinstance(engine.memory, LocalMemoryBackend)
    database = engine.memory.core.database.path
    entry = await add(engine, "The greenhouse has wombats.")
    await engine.maintenance.backup(database.with_name("before.duckdb"))
    await engine.organisation.erase(entry.id, actor=ME)
    assert not engine.maintenance.remains.is_empty
    assert (await engine.maintenance.compact()).is_empty
    assert b"wombats" not in database.read_bytes()
    assert b"wombats" in database.with_name("before.duckdb").read_bytes()


async def test_a_backup_that_still_has_an_erased_fact_is_named(engine: Engine) -> None:
    entry = await add(engine, "The porch has bats.")
    copy = await engine.maintenance.backup()
    await engine.organisation.erase(entry.id, actor=ME)
    assert copy in [each.path for each in await engine.maintenance.copies()]


async def test_a_secret_found_later_leaves_every_line_and_the_index(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthorg_tui.memory.org import store

    with monkeypatch.context() as patch:
        patch.setattr(store, "redact_text", lambda text, _tally: text)
        entry = await add(engine, f"Deploy with {TOKEN}.", tags=(f"key {TOKEN}",))
        await engine.organisation.edit(entry.id, content=f"Build with {TOKEN}.", actor=ME)
        await engine.organisation.apply(
            [publish(fact("Plain."), entry.id, author=SENIOR)], actor=ME
        )
        other = await add(engine, f"Only {TOKEN}.")
    report = await engine.secrets.redact(actor=ME)
    assert {"org_operations", "org_facts"} <= {table.table for table in report.tables}
    assert not report.pending
    assert TOKEN not in await stored(engine)
    found = await engine.organisation.history(entry.id)
    assert [line.content for line in found] == [
        "Deploy with [REDACTED:groq-key].",
        "Build with [REDACTED:groq-key].",
        "Plain.",
    ]
    assert (await engine.organisation.entry(other.id)).content == "Only [REDACTED:groq-key]."
    assert await is_well(engine)
    assert (await engine.secrets.search()).tables == ()


async def test_what_was_proposed_and_decided_about_an_erased_fact_loses_its_words(
    engine: Engine,
) -> None:
    added = OrgPayload(changes=(publish(fact("The wombat sleeps at noon."), author=SENIOR),))
    item = await proposed(engine, added, "wombat")
    review = await engine.reviews.review(item)
    await engine.reviews.approve(item, shown=review.shown, person=Person("tui"))
    known = await engine.organisation.entries()
    (entry,) = [entry for entry in known if "wombat" in entry.content]
    gone = OrgPayload(changes=(retract(entry.id, author=SENIOR),), why="wombats left")
    await proposed(engine, gone, "wombat gone")
    await engine.organisation.erase(entry.id, actor=ME)
    assert "wombat" not in await stored(engine)
    assert await is_well(engine)


async def proposed(engine: Engine, payload: OrgPayload, title: str) -> str:
    return await propose(engine.approvals, payload, title=title, requested_by="coder", clock=CLOCK)
