"""A store copied into another database: all of it, once, provably, and back."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.core.errors import CancelledByUserError
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.errors import MoveRefusedError
from synthorg_tui.persistence.moving import MoveStep, NamedStore, StoreMove
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.postgres.database import PostgresDatabase
from synthorg_tui.persistence.stored_tables import stored_tables
from tests.persistence.store_rows import all_rows, change, fill, forget_all
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

EACH = 5
FEW = ("memories", "vectors", "history", "approvals", "agent_rights", "cost_records")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NamedStore]:
    database = Database.in_dir(tmp_path_factory.mktemp("filled"))
    await database.open()
    await fill(database, EACH, *FEW)
    yield NamedStore("filled", database)
    await database.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StoreDatabase]:
    database = Database.in_dir(tmp_path_factory.mktemp("target"))
    await database.open()
    yield database
    await database.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[StoreDatabase]:
    url = postgres_server.new_store()
    database = PostgresDatabase(url, tmp_path_factory.mktemp("served"))
    await database.open()
    yield database
    await database.close()
    postgres_server.drop(url)


@pytest_asyncio.fixture(loop_scope="module")
async def target(opened: StoreDatabase) -> NamedStore:
    """A store without anything in it, not even the note of a move."""
    await forget_all(opened)
    await change(opened, "DELETE FROM meta WHERE name = 'move'")
    return NamedStore("target", opened)


async def test_every_row_of_every_table_arrives(target: NamedStore, tmp_path: Path) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await fill(database, EACH)
    filled = NamedStore("filled", database)
    report = await StoreMove(filled, target).run()
    assert await all_rows(target.database) == await all_rows(filled.database)
    assert report.rows.keys() == {table.name for table in stored_tables()}
    assert min(report.rows.values()) == EACH
    assert (report.copied, report.redone) == (sum(report.rows.values()), ())
    await database.close()


async def test_every_row_goes_to_a_server_and_comes_back_the_same(
    served: StoreDatabase, tmp_path: Path
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await fill(database, EACH)
    home, server, before = (
        NamedStore("h", database),
        NamedStore("s", served),
        await all_rows(database),
    )
    assert (await StoreMove(home, server).run()).redone == ()
    assert await all_rows(served) == before
    await forget_all(database)
    await change(database, "DELETE FROM meta WHERE name = 'move'")
    assert (await StoreMove(server, home).run()).redone == ()
    assert await all_rows(database) == before
    await database.close()


async def test_a_text_with_a_nul_goes_to_a_server_as_the_sign_for_it(
    served: StoreDatabase, tmp_path: Path
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    put = "INSERT INTO settings VALUES ('n', 'k', ?, TIMESTAMP '2026-01-01')"
    await database.write(lambda db: db.execute(put, ["a\x00b"]))
    await forget_all(served)
    await change(served, "DELETE FROM meta WHERE name = 'move'")
    report = await StoreMove(NamedStore("n", database), NamedStore("s", served)).run()
    assert report.redone == ()
    assert [row[2] for row in (await all_rows(served))["settings"]] == ["a\u2400b"]
    await database.close()


async def test_a_plan_writes_nothing(filled: NamedStore, target: NamedStore) -> None:
    plan = await StoreMove(filled, target).plan()
    assert (plan.present, plan.is_continued) == (0, False)
    assert plan.total == sum(len(rows) for rows in (await all_rows(filled.database)).values())
    assert sum(map(len, (await all_rows(target.database)).values())) == 0


async def test_progress_counts_up_to_all_rows_twice(filled: NamedStore, target: NamedStore) -> None:
    steps: list[MoveStep] = []
    await StoreMove(filled, target, progress=steps.append).run()
    copying = [step.done for step in steps if not step.is_comparing]
    comparing = [step.done for step in steps if step.is_comparing]
    assert copying == sorted(copying)
    assert comparing == sorted(comparing)
    assert copying[-1] == comparing[-1] == steps[0].total


class StopAt:
    """Cancels a move once a table was begun."""

    def __init__(self, table: str) -> None:
        self.table, self.event = table, threading.Event()

    def __call__(self, step: MoveStep) -> None:
        if step.table == self.table:
            self.event.set()


@pytest.mark.parametrize("table", ["meta", "vectors", "cost_records"])
async def test_a_move_that_was_stopped_goes_on_where_it_was(
    filled: NamedStore, target: NamedStore, table: str
) -> None:
    stop = StopAt(table)
    with pytest.raises(CancelledByUserError):
        await StoreMove(filled, target, progress=stop, cancel=stop.event).run()
    plan = await StoreMove(filled, target).plan()
    report = await StoreMove(filled, target).run()
    assert report.copied == plan.total - plan.present
    assert await all_rows(target.database) == await all_rows(filled.database)


async def test_what_changed_since_a_move_was_stopped_is_copied_anew(
    tmp_path: Path, target: NamedStore
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await fill(database, 3, *FEW)
    source, stop = NamedStore("changing", database), StopAt("history")
    with pytest.raises(CancelledByUserError):
        await StoreMove(source, target, progress=stop, cancel=stop.event).run()
    await change(database, "UPDATE memories SET content = 'another' WHERE confidence < 1")
    await change(database, "DELETE FROM vectors WHERE fingerprint LIKE 'plain%'")
    report = await StoreMove(source, target).run()
    assert report.redone == ("memories", "vectors")
    assert await all_rows(target.database) == await all_rows(database)
    await database.close()


async def test_a_target_with_something_else_is_refused(
    filled: NamedStore, target: NamedStore
) -> None:
    await change(target.database, "INSERT INTO agent_rights VALUES ('mine', true, false)")
    before = await all_rows(target.database)
    for act in (StoreMove(filled, target).run, StoreMove(filled, target).plan):
        with pytest.raises(MoveRefusedError, match="1 row of another store: agent_rights 1"):
            await act()
    assert await all_rows(target.database) == before


async def test_a_target_of_another_stores_move_is_refused(
    filled: NamedStore, target: NamedStore
) -> None:
    await StoreMove(filled, target).run()
    with pytest.raises(MoveRefusedError):
        await StoreMove(NamedStore("another", filled.database), target).run()


async def test_a_move_again_writes_nothing_until_somebody_worked_in_the_target(
    filled: NamedStore, target: NamedStore
) -> None:
    await StoreMove(filled, target).run()
    again = await StoreMove(filled, target).run()
    assert (again.copied, again.redone) == (0, ())
    await change(target.database, "DELETE FROM agent_rights WHERE agent_id = 'plain1'")
    with pytest.raises(MoveRefusedError):
        await StoreMove(filled, target).run()


async def test_moving_back_gives_equal_rows_and_takes_what_was_done_meanwhile(
    tmp_path: Path, target: NamedStore
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await fill(database, 4, *FEW)
    home, before = NamedStore("home", database), await all_rows(database)
    await StoreMove(home, target).run()
    await StoreMove(target, home).run()
    assert await all_rows(database) == before
    await change(target.database, "DELETE FROM approvals WHERE risk_level LIKE 'plain%'")
    assert (await StoreMove(target, home).run()).redone == ("approvals",)
    assert await all_rows(database) == await all_rows(target.database)
    await database.close()


async def test_a_home_where_somebody_worked_since_is_not_written_over(
    tmp_path: Path, target: NamedStore
) -> None:
    database = Database.in_dir(tmp_path)
    await database.open()
    await fill(database, 2, *FEW)
    home = NamedStore("home", database)
    await StoreMove(home, target).run()
    await change(database, "INSERT INTO agent_rights VALUES ('since', true, true)")
    with pytest.raises(MoveRefusedError, match="home has"):
        await StoreMove(target, home).run()
    await database.close()
