"""A data directory that is moved or restored keeps its skills: the ledger follows the folder."""

import shutil
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from synthorg_tui.agents.silenced import SilencedKind
from synthorg_tui.core.enums import SkillState
from synthorg_tui.curation.disk_sync import SyncReport
from synthorg_tui.curation.models import Lesson
from synthorg_tui.curation.registry import RegisteredSkill
from synthorg_tui.engine import Engine
from synthorg_tui.settings.loader import shipped_settings
from tests.curation.review_kit import PERSON, item_of, lesson


def engine_at(data_dir: Path, *, skills: Path | None = None) -> AbstractAsyncContextManager[Engine]:
    settings = shipped_settings()
    procedural = settings.memory.procedural.model_copy(update={"skill_md_directory": skills})
    memory = settings.memory.model_copy(update={"procedural": procedural})
    elsewhere = settings.skills.model_copy(update={"user_roots": (), "project_roots": ()})
    return Engine.open(
        settings.model_copy(update={"memory": memory, "skills": elsewhere}), data_dir=data_dir
    )


async def adopt(engine: Engine, what: Lesson | None = None) -> None:
    item = item_of(what or lesson())
    await engine.approvals.add(item)
    shown = (await engine.reviews.review(item.id)).shown
    await engine.reviews.approve(item.id, shown=shown, person=PERSON)


async def only(engine: Engine) -> RegisteredSkill:
    (record,) = await engine.ledger.active()
    return record


async def test_a_moved_directory_keeps_its_skills(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with engine_at(old) as engine:
        await adopt(engine)
        before = await only(engine)
    old.rename(new)
    async with engine_at(new) as engine:
        record = await only(engine)
        assert record.path == before.path.replace(str(old), str(new))
        assert record.root == str(new / "skills")
        assert (await engine.skills.sync()) == SyncReport()
        row, *shipped = (await engine.skills.overview()).rows
        assert (row.path, row.state) == (record.path, SkillState.VALID)
        assert {row.state for row in shipped} == {SkillState.SHIPPED}
        assert len((await engine.skills.skill(record.path)).versions) == 1


async def test_a_decision_made_before_the_move_can_be_undone_after_it(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with engine_at(old) as engine:
        await adopt(engine)
        first = await only(engine)
        better = lesson("b", discovery="Better.", supersedes=first.memory_ids)
        await adopt(engine, better)
    old.rename(new)
    async with engine_at(new) as engine:
        assert (await engine.reviews.undo(PERSON)) is not None
        record = await only(engine)
        assert record.name == first.name
        assert Path(record.path).is_relative_to(new)
        assert Path(record.path).exists()
        assert (await engine.reviews.undo(PERSON)) is not None
        assert await engine.ledger.all() == ()
    assert not old.exists()
    assert not list((new / "skills").rglob("SKILL.md"))


async def test_a_copy_of_a_directory_has_files_of_its_own(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with engine_at(old) as engine:
        await adopt(engine)
        before = await only(engine)
    shutil.copytree(old, new)
    async with engine_at(new) as engine:
        await engine.reviews.retire((await only(engine)).path, PERSON)
    assert Path(before.path).exists()
    async with engine_at(old) as engine:
        assert (await only(engine)).path == before.path


async def test_without_its_files_a_moved_store_can_write_them_in_the_new_place(
    tmp_path: Path,
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with engine_at(old) as engine:
        await adopt(engine)
    old.rename(new)
    shutil.rmtree(new / "skills")
    async with engine_at(new) as engine:
        record = await only(engine)
        await engine.reviews.restore_file(record.path, PERSON)
        assert Path(record.path).exists()
    assert (new / "skills").is_dir()
    assert not old.exists()


async def test_another_folder_in_the_settings_leaves_what_nobody_moved(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with engine_at(data) as engine:
        await adopt(engine)
        before = await only(engine)
    async with engine_at(data, skills=tmp_path / "elsewhere") as engine:
        assert await only(engine) == before


async def test_what_was_silenced_stays_silenced_where_the_skill_is_now(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with engine_at(old) as engine:
        await adopt(engine)
        path = (await only(engine)).path
        await engine.gateway.silence(SilencedKind.LESSON, path, actor="person")
    old.rename(new)
    async with engine_at(new) as engine:
        (silence,) = await engine.gateway.silenced()
        assert silence.subject == (await only(engine)).path != path
