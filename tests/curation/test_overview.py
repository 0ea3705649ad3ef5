"""The shelf: skills on disk next to what the memory has of them, on real stores."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.disk_sync import FileChanges
from synthorg_tui.curation.overview import SkillOverview, SkillOverviewRow
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.skills import SkillsConfig
from synthorg_tui.skills.document import SkillRoot
from synthorg_tui.skills.library import SkillLibrary, skill_roots
from tests.curation.review_kit import (
    OWN,
    PERSON,
    SHIPPED,
    USER,
    Office,
    lesson,
    office,
    write_skill_file,
)
from tests.patience import PATIENCE

TEXT = '---\nname: {name}\ndescription: "Use when {why}."\n---\n\nDo it.\n'


@dataclass(frozen=True)
class Desk:
    """A shelf over the roots of an office."""

    office: Office
    shelf: SkillOverview

    async def rows(self) -> dict[str, SkillOverviewRow]:
        return {row.path: row for row in (await self.shelf.overview()).rows}

    async def only(self) -> SkillOverviewRow:
        (row,) = (await self.rows()).values()
        return row

    async def adopt(self) -> Path:
        """Approve a lesson; the file that was written."""
        await self.office.approve(await self.office.propose(lesson()))
        (path,) = self.office.skills.glob("*/SKILL.md")
        return path

    def put(self, name: str, why: str = "asked") -> Path:
        text = TEXT.format(name=name, why=why)
        return write_skill_file(self.office.data_dir / USER, name, text)


def shelf_of(place: Office, *, watches: bool = True) -> SkillOverview:
    config = SkillsConfig(project_roots=(Path("agents"),), user_roots=(place.data_dir / USER,))
    library = SkillLibrary(())
    executions = ExecutionStore(place.backend.core.database)

    async def roots() -> tuple[SkillRoot, ...]:
        projects = [Path(project) for project in await executions.projects()]
        return skill_roots(
            config,
            own=place.data_dir / OWN,
            projects=projects,
            shipped=[place.data_dir / SHIPPED],
        )

    base = replace(place.parts.base, library=library)
    return SkillOverview(base, FileChanges(base), roots=roots, watches=watches)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with office(tmp_path) as place:
        yield Desk(place, shelf_of(place))


async def test_an_approved_lesson_is_valid_and_in_memory(desk: Desk) -> None:
    path = await desk.adopt()
    row = await desk.only()
    assert (row.path, row.state, row.version) == (str(path), SkillState.VALID, 1)
    assert row.findings == ()


async def test_a_skill_of_somebody_else_is_new(desk: Desk) -> None:
    desk.put("theirs")
    row = await desk.only()
    assert (row.state, row.version, row.description) == (SkillState.NEW, 0, "Use when asked.")


async def test_what_was_here_before_us_is_found(tmp_path: Path) -> None:
    async with office(tmp_path, knows_roots=False) as place:
        desk = Desk(place, shelf_of(place))
        path = desk.put("theirs")
        assert (await desk.only()).state is SkillState.FOUND
        await desk.shelf.sync()
        assert (await desk.only()).state is SkillState.FOUND
        item_id = await desk.shelf.offer(str(path))
        assert ((await desk.only()).state, (await desk.only()).waiting) == (SkillState.NEW, item_id)


async def test_a_file_that_can_not_be_read_is_invalid(desk: Desk) -> None:
    desk.put("theirs").write_text("no front matter")
    row = await desk.only()
    assert row.state is SkillState.INVALID
    assert row.findings


async def test_an_edited_file_is_changed_until_it_is_approved(desk: Desk) -> None:
    path = await desk.adopt()
    path.write_text(path.read_text() + "\n## Notes\n\nMind the gap.\n")
    assert (await desk.only()).state is SkillState.CHANGED
    report = await desk.shelf.sync()
    row = await desk.only()
    assert (row.waiting,) == report.added
    await desk.office.approve(row.waiting)
    row = await desk.only()
    assert (row.state, row.version, row.waiting) == (SkillState.VALID, 2, "")


async def test_a_removed_file_is_gone_and_its_text_still_known(desk: Desk) -> None:
    path = await desk.adopt()
    text = path.read_text()
    path.unlink()
    assert (await desk.only()).state is SkillState.GONE
    assert (await desk.shelf.skill(str(path))).text == text


async def test_a_retired_skill_stays_listed(desk: Desk) -> None:
    path = await desk.adopt()
    await desk.office.desk.retire(str(path), person=PERSON)
    assert (await desk.only()).state is SkillState.RETIRED


async def test_the_one_of_two_that_gives_way_says_to_which(desk: Desk) -> None:
    path = await desk.adopt()
    winner = desk.put(path.parent.name)
    rows = await desk.rows()
    assert rows[str(path)].state is SkillState.SHADOWED
    assert rows[str(path)].shadowed_by == str(winner)


async def test_what_strict_readers_refuse_is_a_warning(desk: Desk) -> None:
    path = desk.put("theirs")
    path.write_text(path.read_text().replace("---\n\n", "author: me\n---\n\n"))
    await desk.shelf.sync()
    await desk.office.approve((await desk.only()).waiting)
    assert (await desk.only()).state is SkillState.WARNINGS


async def test_a_skill_in_full_has_its_history_and_what_taught_it(desk: Desk) -> None:
    path = await desk.adopt()
    found = await desk.shelf.skill(str(path))
    assert found.text == path.read_text()
    assert len(found.memory_ids) == len(found.versions) == len(found.evidence) == 1


async def test_a_skill_that_is_nowhere_is_told(desk: Desk) -> None:
    with pytest.raises(DomainError):
        await desk.shelf.skill("/nowhere/SKILL.md")


async def test_projects_of_imported_sessions_are_looked_in(desk: Desk, tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_skill_file(project / "agents", "theirs", TEXT.format(name="theirs", why="asked"))
    assert await desk.rows() == {}
    executions = ExecutionStore(desk.office.backend.core.database)
    for number, folder in enumerate((str(project), str(project), "relative", None)):
        session = Execution(
            id=f"claude:{number}",
            reader="claude",
            session_id="s",
            agent_id="a",
            task="t",
            project=folder,
        )
        await executions.save(session, PackedLines(), FileMark(str(number), 1, 1, "d"))
    assert await executions.projects() == (str(project), "relative")
    row = await desk.only()
    assert (row.name, row.scope) == ("theirs", "project")


async def test_changes_on_disk_come_up_while_it_watches(desk: Desk) -> None:
    before = desk.put("before")
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE), aclosing(desk.shelf.watch(stop)) as reports:
        first = await anext(reports)
        desk.put("during")
        second = await anext(reports)
        before.unlink()
        third = await anext(reports)
    assert (len(first.added), len(second.added)) == (1, 1)
    assert third.withdrawn == first.added


async def test_our_own_writes_do_not_come_up(desk: Desk) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(PATIENCE), aclosing(desk.shelf.watch(stop)) as reports:
        await anext(reports)
        await desk.adopt()
        report = await anext(reports)
    assert (report.added, report.withdrawn) == ((), ())


async def test_it_watches_nothing_where_the_settings_say_so(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        reports = shelf_of(place, watches=False).watch(asyncio.Event())
        assert [report async for report in reports] == []
