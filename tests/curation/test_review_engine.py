"""From an approval to what an agent is given, with everything wired as programs have it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.curation.review import Decision
from synthorg_tui.engine import Engine
from synthorg_tui.learning.models import LearnVerdict
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.persistence.database import Database
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.skills import SkillsConfig
from synthorg_tui.skills.document import SkillWriteError
from tests.curation.review_kit import PERSON, item_of, lesson

ASKED = InjectionRequest("ada", "push a branch that has no upstream", 800)


@asynccontextmanager
async def engine_at(data_dir: Path) -> AsyncIterator[Engine]:
    settings = RootConfig(skills=SkillsConfig(project_roots=(), user_roots=()))
    async with Engine.open(settings, data_dir=data_dir) as engine:
        yield engine


async def approve(engine: Engine) -> Decision:
    item = item_of(lesson())
    await engine.approvals.add(item)
    shown = (await engine.reviews.review(item.id)).shown
    return await engine.reviews.approve(item.id, shown=shown, person=PERSON)


async def test_an_approved_lesson_is_given_and_counted_when_it_is_served(tmp_path: Path) -> None:
    async with engine_at(tmp_path) as engine:
        decision = await approve(engine)
        looked = await engine.injection.prepare(ASKED)
        (untouched,) = await engine.ledger.active()
        served = await engine.injection.serve(ASKED)
        (record,) = await engine.ledger.active()
    given = [each.entry.id for each in served.explanation.included]
    assert given == list(decision.memory_ids)
    assert looked.text == served.text
    assert (untouched.application_count, untouched.last_applied_at) == (0, None)
    assert record.application_count == record.proposal.application_count == 1
    assert record.last_applied_at is not None
    assert Path(record.path).is_relative_to(tmp_path / "skills")


async def test_what_is_served_without_a_skill_counts_for_none(tmp_path: Path) -> None:
    async with engine_at(tmp_path) as engine:
        await approve(engine)
        nothing = InjectionRequest("ada", "tune the piano", 800)
        assert (await engine.injection.serve(nothing)).text == ""
        (record,) = await engine.ledger.active()
    assert record.application_count == 0


async def test_counting_that_fails_costs_the_agent_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_at(tmp_path) as engine:
        await approve(engine)
        asked = await engine.injection.prepare(ASKED)

        async def broken(*args: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(Database, "write", broken)
        assert (await engine.injection.serve(ASKED)).text == asked.text
        monkeypatch.undo()


async def test_a_file_that_could_not_be_written_is_written_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    async with engine_at(tmp_path) as engine:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SkillWriteError, match=r"is approved, but .* No space left"):
            await approve(engine)
        monkeypatch.undo()
        (record,) = await engine.ledger.active()
        assert not Path(record.path).exists()
    async with engine_at(tmp_path) as engine:
        assert Path(record.path).exists()
        (item,) = await engine.approvals.list()
    assert item.consumed_at is not None


async def test_a_decision_whose_file_could_not_be_written_is_undone_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    async with engine_at(tmp_path) as engine:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SkillWriteError):
            await approve(engine)
        assert await engine.reviews.undo(PERSON) is not None
        monkeypatch.undo()
        assert await engine.ledger.all() == ()
        assert len(await engine.reviews.inbox()) == 1
    async with engine_at(tmp_path) as engine:
        assert not list((tmp_path / "skills").rglob("SKILL.md"))


async def test_whoever_listens_is_told_that_the_skills_changed(tmp_path: Path) -> None:
    told: list[str] = []
    async with engine_at(tmp_path) as engine:
        engine.events.subscribe(lambda topic, _: told.append(topic))
        await approve(engine)
        await engine.reviews.undo(PERSON)
    assert told == ["skills", "skills"]


async def test_what_two_sessions_taught_is_given_next_time_and_what_was_rejected_stays_away(
    tmp_path: Path, shared_dir: Path
) -> None:
    transcripts = [shared_dir / "data" / "transcripts"]
    async with engine_at(tmp_path) as engine:
        await engine.imports.run(transcripts)
        proposed = {entry.item.id: entry for entry in await engine.reviews.inbox()}
        twice = {each: entry for each, entry in proposed.items() if entry.recurrence == 2}
        (push,) = [each for each, entry in twice.items() if entry.lesson_kind == "failure"]
        for item_id in proposed:
            shown = (await engine.reviews.review(item_id)).shown
            if item_id == push:
                await engine.reviews.approve(item_id, shown=shown, person=PERSON)
            else:
                await engine.reviews.reject(item_id, shown=shown, reason="no", person=PERSON)
        (memory_id,) = (await engine.ledger.active())[0].memory_ids
        agent = proposed[push].evidence[0].agent_id
        given = await engine.injection.serve(
            InjectionRequest(agent, "git push: the branch has no upstream branch", 800)
        )
        await engine.imports.run(transcripts)
        report = await engine.learning.learn(word=False)
        (record,) = await engine.ledger.active()
        assert await engine.reviews.inbox() == ()
    assert memory_id in {each.entry.id for each in given.explanation.included}
    assert record.application_count == 1
    verdicts = {each.item_id: each.verdict for each in report.lessons}
    assert verdicts.pop(push) is LearnVerdict.ADOPTED
    assert set(verdicts.values()) == {LearnVerdict.REJECTED}
