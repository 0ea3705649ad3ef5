"""Publishing into files of projects: planned, approved, recorded, checked, and taken back."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.approvals.person import Person
from synthorg_tui.organisation.marked_block import BEGIN, END
from synthorg_tui.organisation.models import OrgEntry
from synthorg_tui.organisation.project_block import (
    FILES,
    BlockPlan,
    BlockState,
    PublishError,
)
from synthorg_tui.organisation.publications import ERASED_BLOCK, PublicationStore
from synthorg_tui.organisation.publishing import (
    CONVENTIONS,
    Publishing,
    plan_undo,
    take_back,
    write,
)
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.conftest import FixedClock
from tests.organisation.publish_kit import CONVENTION, WRITTEN, entry

PERSON = Person("terminal", "ada")
PUSH, TESTS = entry("Never push to main."), entry("Run the tests first.")
pytestmark = pytest.mark.asyncio(loop_scope="module")
MDC = ".cursor/rules/synthorg.mdc"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StoreDatabase]:
    base = Database(tmp_path_factory.mktemp("store") / "store.duckdb")
    await base.open()
    yield base
    await base.close()


@pytest_asyncio.fixture(loop_scope="module")
async def records(database: StoreDatabase) -> PublicationStore:
    await database.write(lambda db: db.execute("DELETE FROM org_publications"))
    return PublicationStore(database, FixedClock(WRITTEN))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def plan(project: Path, *entries: OrgEntry, name: str = "AGENTS.md") -> BlockPlan:
    return Publishing(entries or (PUSH,), ()).plan(project, name)


async def publish(
    records: PublicationStore, project: Path, *entries: OrgEntry, name: str = "AGENTS.md"
) -> BlockPlan:
    made = Publishing(entries, await records.standing()).plan(project, name)
    await write([made], records, person=PERSON)
    return made


async def remove(records: PublicationStore, project: Path) -> None:
    publishing = Publishing((), await records.standing())
    plans = [publishing.plan_removal(project, name) for name in publishing.names_in(project)]
    await write(plans, records, person=PERSON)


async def undo(records: PublicationStore) -> None:
    await take_back(plan_undo(await records.last_act()), records, person=PERSON)


async def state(records: PublicationStore, *entries: OrgEntry) -> list[BlockState]:
    found = Publishing(entries, await records.standing()).published()
    return [one.state for one in found]


async def test_publish_then_remove_leaves_the_file_as_it_was(
    records: PublicationStore, project: Path
) -> None:
    file = project / "AGENTS.md"
    for content in (b"", b"# Mine\r\n\r\nText", b"\xef\xbb\xbfx\n", b"a\nb\r\n", b"```\nopen"):
        file.write_bytes(content)
        file.chmod(0o640)
        await publish(records, project, PUSH)
        assert b"- Never push to main." in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        await remove(records, project)
        assert file.read_bytes() == content
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert list(project.iterdir()) == [file]


@pytest.mark.parametrize("name", FILES)
async def test_a_file_that_was_made_goes_with_its_folders(
    records: PublicationStore, project: Path, name: str
) -> None:
    await publish(records, project, PUSH, name=name)
    content = (project / name).read_bytes()
    assert content.startswith(b"---\ndescription: " if name == MDC else BEGIN)
    await remove(records, project)
    assert list(project.iterdir()) == []


async def test_a_file_that_was_made_stays_when_it_has_something_else(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    file = project / "AGENTS.md"
    file.write_bytes(file.read_bytes() + b"Mine.\n")
    await publish(records, project, PUSH, TESTS)
    await remove(records, project)
    assert file.read_bytes() == b"Mine.\n"


async def test_folders_with_something_else_stay(records: PublicationStore, project: Path) -> None:
    await publish(records, project, PUSH, name=MDC)
    (project / ".cursor" / "mine").write_text("x")
    await remove(records, project)
    assert [path.name for path in (project / ".cursor").iterdir()] == ["mine"]


async def test_publishing_again_changes_nothing_and_is_no_act(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    before = (project / "AGENTS.md").stat()
    again = await publish(records, project, PUSH)
    assert (again.is_needed, again.state) == (False, BlockState.CURRENT)
    assert (project / "AGENTS.md").stat() == before
    assert [one.act for one in await records.standing()] == [1]


async def test_the_record_says_what_is_where(records: PublicationStore, project: Path) -> None:
    await publish(records, project, PUSH, TESTS)
    (one,) = await records.standing()
    assert (one.path, one.project) == (str(project / "AGENTS.md"), str(project))
    assert one.entries == (PUSH.id, TESTS.id)
    assert (one.actor, one.made_at, one.name) == ("ada (terminal)", WRITTEN, "AGENTS.md")


async def test_a_check_tells_how_each_block_is(records: PublicationStore, project: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("# Mine\n")
    await publish(records, project, PUSH)
    published = file.read_bytes()
    assert await state(records, PUSH) == [BlockState.CURRENT]
    assert await state(records, PUSH, TESTS) == [BlockState.STALE]
    file.write_bytes(b"Above.\n" + published.replace(b"\n", b"\r\n"))
    assert await state(records, PUSH) == [BlockState.CURRENT]
    file.write_bytes(published.replace(b"Never", b"Always"))
    assert await state(records, PUSH) == [BlockState.EDITED]
    file.write_bytes(b"# Mine\n")
    assert await state(records, PUSH) == [BlockState.GONE]
    file.write_bytes(published.replace(END, b""))
    (damaged,) = Publishing([PUSH], await records.standing()).published()
    assert not damaged.is_current
    assert damaged.problem.startswith("line 3: ")
    file.unlink()
    assert await state(records, PUSH) == [BlockState.GONE]


async def test_a_block_that_nothing_is_recorded_of_is_found_in_a_named_project(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    assert Publishing([PUSH], ()).published() == ()
    (one,) = Publishing([PUSH], ()).published([project])
    assert one.state is BlockState.CURRENT
    (one,) = Publishing([TESTS], ()).published([project])
    assert one.state is BlockState.UNKNOWN


async def test_a_block_that_somebody_edited_would_be_lost(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    file = project / "AGENTS.md"
    file.write_bytes(file.read_bytes().replace(b"Never", b"Rarely"))
    publishing = Publishing([PUSH], await records.standing())
    assert publishing.plan(project, "AGENTS.md").would_lose
    assert publishing.plan_removal(project, "AGENTS.md").would_lose
    assert any(
        line == "-- Rarely push to main." for line in publishing.plan(project, file.name).diff()
    )


async def test_what_is_gone_from_the_file_leaves_the_record_too(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    (project / "AGENTS.md").unlink()
    await remove(records, project)
    assert await records.standing() == ()


async def test_what_is_gone_with_its_project_leaves_the_record_too(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    (project / "AGENTS.md").unlink()
    project.rmdir()
    (lost,) = Publishing([PUSH], await records.standing()).published()
    assert "is no folder" in lost.problem
    await remove(records, project)
    assert await records.standing() == ()


async def test_undo_takes_the_last_act_back(records: PublicationStore, project: Path) -> None:
    file = project / "AGENTS.md"
    await publish(records, project, PUSH)
    first = file.read_bytes()
    await publish(records, project, PUSH, TESTS)
    second = file.read_bytes()
    await remove(records, project)
    assert not file.exists()
    await undo(records)
    assert file.read_bytes() == second
    await undo(records)
    assert file.read_bytes() == first
    assert await state(records, PUSH) == [BlockState.CURRENT]
    await undo(records)
    assert not file.exists()
    assert await records.last_act() == ()


async def test_an_entry_that_was_erased_leaves_the_record_too(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    await publish(records, project, TESTS)
    await records.forget("another")
    assert [one.before.count("Never push") for one in await records.last_act()] == [1]
    await records.forget(PUSH.id)
    assert [one.before for one in await records.last_act()] == [ERASED_BLOCK]
    with pytest.raises(PublishError, match="was erased"):
        await undo(records)


async def test_undo_leaves_a_block_that_was_edited_since(
    records: PublicationStore, project: Path
) -> None:
    await publish(records, project, PUSH)
    file = project / "AGENTS.md"
    file.write_bytes(file.read_bytes().replace(b"Never", b"Rarely"))
    edited = file.read_bytes()
    with pytest.raises(PublishError, match="changed since"):
        await undo(records)
    assert file.read_bytes() == edited


async def test_what_changed_since_it_was_shown_is_not_touched(
    records: PublicationStore, project: Path
) -> None:
    file = project / "AGENTS.md"
    for before, after in ((b"x\n", b"y\n"), (None, b"y\n"), (b"x\n", None)):
        file.unlink(missing_ok=True)
        if before is not None:
            file.write_bytes(before)
        planned = plan(project)
        file.unlink(missing_ok=True)
        if after is not None:
            file.write_bytes(after)
        with pytest.raises(PublishError, match="changed since it was shown"):
            await write([planned], records, person=PERSON)
        assert (file.read_bytes() if file.exists() else None) == after
    assert await records.standing() == ()


async def test_parts_that_were_asked_for_are_kept(records: PublicationStore, project: Path) -> None:
    known = [PUSH, entry("Four spaces.", CONVENTION)]
    planned = Publishing(known, ()).plan(project, "AGENTS.md", [CONVENTIONS])
    await write([planned], records, person=PERSON)
    publishing = Publishing([*known, TESTS], await records.standing())
    again = publishing.plan(project, "AGENTS.md")
    assert again.after is not None
    assert b"Four spaces." in again.after
    without = publishing.plan(project, "AGENTS.md", [])
    assert without.after is not None
    assert b"Four spaces." not in without.after
