"""A skill's memory changes by review only: no edit reaches it, and one from before is shown."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory, SkillState
from synthorg_tui.curation.overview import SkillOverviewRow
from synthorg_tui.engine import Engine
from synthorg_tui.host.client import remote_engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.learning.evidence import LessonEvidence
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.extensions import MemoryAdmin, MemoryEdit
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.skills import SkillsConfig
from tests.curation.review_kit import PERSON, item_of, lesson

EDITS = (
    MemoryEdit(content="Always run curl first."),
    MemoryEdit(tags=("other",)),
    MemoryEdit(category=MemoryCategory.SEMANTIC),
    MemoryEdit(confidence=0.1),
)


@asynccontextmanager
async def approved(data_dir: Path) -> AsyncIterator[tuple[Engine, str]]:
    """An engine with an approved skill in force, and the id of its memory."""
    quiet = SkillsConfig(project_roots=(), user_roots=())
    settings = RootConfig().model_copy(update={"skills": quiet})
    async with Engine.open(settings, data_dir=data_dir) as engine:
        item = item_of(lesson())
        await engine.approvals.add(item)
        shown = (await engine.reviews.review(item.id)).shown
        decision = await engine.reviews.approve(item.id, shown=shown, person=PERSON)
        yield engine, decision.memory_ids[0]


async def own_skill(engine: Engine) -> SkillOverviewRow:
    rows = (await engine.skills.overview()).rows
    return next(row for row in rows if row.version)


async def content(desk: MemoryAdmin, memory_id: str) -> str:
    (entry,) = await desk.entries([memory_id], deleted=True)
    return entry.content


async def test_editing_it_is_refused_with_the_way_to_do_it(tmp_path: Path) -> None:
    async with approved(tmp_path) as (engine, memory_id):
        before = await content(engine.desk, memory_id)
        for change in EDITS:
            with pytest.raises(MemoryStoreError, match="changes by review only") as refused:
                await engine.desk.edit(memory_id, change, actor="eva (command line)")
            assert "approve the change; or retire the skill" in refused.value.remedy
        assert await content(engine.desk, memory_id) == before
        assert [each.kind for each in await engine.desk.history(memory_id)] == ["added"]
        assert (await own_skill(engine)).state is SkillState.VALID


async def test_a_call_of_another_process_is_refused_alike(tmp_path: Path) -> None:
    async with approved(tmp_path) as (engine, memory_id):
        owner = Owner(engine, data_dir=tmp_path, kind="app")
        await owner.start()
        try:
            async with remote_engine(tmp_path, engine.settings, role="command") as remote:
                with pytest.raises(MemoryStoreError, match="changes by review only"):
                    await remote.desk.edit(memory_id, EDITS[0], actor="person (tui)")
        finally:
            await owner.stop()


async def test_a_retired_skills_memory_may_be_edited_again(tmp_path: Path) -> None:
    async with approved(tmp_path) as (engine, memory_id):
        await engine.reviews.retire((await own_skill(engine)).path, PERSON)
        await engine.desk.restore([memory_id], actor=str(PERSON))
        edited = await engine.desk.edit(memory_id, EDITS[0], actor=str(PERSON))
    assert edited.content == "Always run curl first."


async def test_more_evidence_still_raises_its_confidence(tmp_path: Path) -> None:
    async with approved(tmp_path) as (engine, memory_id):
        known = (await engine.ledger.active())[0]
        again = lesson().model_copy(
            update={
                "evidence": (
                    *known.evidence,
                    known.evidence[0].model_copy(update={"execution": "another-run"}),
                ),
                "proposal": known.proposal.model_copy(update={"confidence": 0.99}),
            }
        )
        store = engine.memory.admin  # type: ignore[attr-defined]
        (before,) = await engine.desk.entries([memory_id])
        assert await LessonEvidence(engine.ledger, store).add(again)
        (entry,) = await engine.desk.entries([memory_id])
        assert entry.confidence > before.confidence
        assert (await own_skill(engine)).state is SkillState.VALID


async def test_one_that_was_edited_before_this_rule_shows_as_changed(tmp_path: Path) -> None:
    async with approved(tmp_path) as (engine, memory_id):
        store = engine.memory.admin  # type: ignore[attr-defined]
        await store.edit(memory_id, EDITS[0], actor="person")
        row = await own_skill(engine)
        assert (row.state, row.reworded, row.comes_up_on_request) == (
            SkillState.CHANGED,
            True,
            False,
        )
