"""The desk over the real engine: every act of the port on a store on disk."""

import threading
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.tui.desk import EngineHost
from synthorg_tui.tui.ports import Change, Criteria, Draft, ImportStep

DRAFT = Draft("codex", MemoryCategory.PROCEDURAL, "git push -u origin HEAD sets it", ("git",))


async def test_a_memory_lives_through_every_act_of_the_desk(tmp_path: Path) -> None:
    host = EngineHost(data_dir=tmp_path)
    desk = await host.open()
    try:
        memory_id = await desk.add(DRAFT)
        page = await desk.page(Criteria(words=("push",)), sort="newest", offset=0, limit=10)
        assert [row.id for row in page.rows] == [memory_id]
        assert (await desk.facets()).agents == (("codex", 1),)
        hits = await desk.search("push without upstream", Criteria(), limit=5)
        assert hits.rows[0].id == memory_id
        assert hits.rows[0].fused is not None
        assert not (await desk.search("push", Criteria(without=("origin",)), limit=5)).rows
        edited = await desk.edit(memory_id, Change(tags=("git", "push")))
        assert (edited.content, edited.tags) == (DRAFT.content, ("git", "push"))
        assert await desk.remove([memory_id]) == 1
        gone = await desk.page(Criteria(deleted=True), sort="newest", offset=0, limit=10)
        assert gone.total == 1
        assert await desk.restore([memory_id]) == 1
        kinds = [revision.kind for revision in await desk.history(memory_id)]
        assert kinds == ["restored", "deleted", "edited", "added"]
    finally:
        await host.close()


async def test_tags_taken_out_of_the_form_are_gone(tmp_path: Path) -> None:
    """The form shows all of them: unlike a list of new tags it leaves none out by accident."""
    host = EngineHost(data_dir=tmp_path)
    desk = await host.open()
    try:
        tags = ("git", "fact:push", "sensitivity:sensitive")
        memory_id = await desk.add(Draft("codex", MemoryCategory.SEMANTIC, "with -u", tags))
        edited = await desk.edit(memory_id, Change(tags=("git", "fact:push")))
        assert edited.tags == ("git", "fact:push")
        assert (await desk.edit(memory_id, Change(tags=("git",)))).tags == ("git",)
    finally:
        await host.close()


async def test_a_second_opener_is_told_who_owns_the_store(tmp_path: Path) -> None:
    first, second = EngineHost(data_dir=tmp_path), EngineHost(data_dir=tmp_path)
    await first.open()
    try:
        with pytest.raises(StoreLockedError):
            await second.open()
    finally:
        await second.close()
        await first.close()


async def test_an_imported_memory_leads_to_its_transcript_lines(
    tmp_path: Path, shared_dir: Path
) -> None:
    host = EngineHost(data_dir=tmp_path)
    desk = await host.open()
    steps: list[ImportStep] = []
    try:
        roots = [str(shared_dir / "data" / "transcripts")]
        outcome = await desk.run_import(roots, progress=steps.append, cancel=threading.Event())
        assert outcome.memories_added > 0
        assert outcome.malformed_lines == 0
        assert steps
        page = await desk.page(Criteria(), sort="newest", offset=0, limit=1)
        assert page.rows[0].source is not None
        excerpt = await desk.excerpt(page.rows[0].source, context=2)
        assert excerpt is not None
        numbers = [number for number, _ in excerpt.lines]
        assert excerpt.first_line in numbers
        assert excerpt.last_line in numbers
    finally:
        await host.close()
