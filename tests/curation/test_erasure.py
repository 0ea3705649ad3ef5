"""Purging a memory that a skill stands for: nothing of its words stays in what is ours."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synthorg_tui.agents.silenced import SilencedHints, SilencedKind
from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.curation.applications import Applications
from synthorg_tui.curation.disk_sync import SyncReport
from synthorg_tui.curation.erasure import EDITED, NOT_OURS, Erased, ErasureReview
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.registry import RegisteredSkill
from synthorg_tui.memory.config import PropagationConfig
from synthorg_tui.memory.strategies.service import Use, UseKind
from tests.conftest import FixedClock
from tests.curation.review_kit import (
    PERSON,
    USER,
    Colleague,
    Office,
    lesson,
    office,
    write_skill_file,
)
from tests.memory.store.store_kit import AGENT, request
from tests.postgres_switch import files_only

WORD = "xylophone"
FOREIGN = f"---\nname: deploy\ndescription: Use when the {WORD} plays.\n---\n\nPlay it.\n"


def holding(folder: Path, word: str = WORD) -> list[str]:
    """The files whose bytes or names have the word in them."""
    return [
        file.name
        for file in folder.rglob("*")
        if not file.name.startswith("tmp-open-")  # a log segment that is renamed once it is ready
        and file.is_file()
        and (word.encode() in file.read_bytes().lower() or word in str(file))
    ]


async def adopted(desk: Office, **fields: Any) -> tuple[str, RegisteredSkill]:
    """A lesson that says the word, approved: its memory and its skill."""
    said = {"discovery": f"The {WORD} needs tuning.", "action": f"Tune the {WORD}."} | fields
    memory_id = await desk.approve(await desk.propose(lesson("x", **said)))
    records = [each for each in await desk.ledger.active() if memory_id in each.memory_ids]
    return memory_id, records[0]


async def purge(desk: Office, *memory_ids: str) -> Erased:
    return await desk.parts.erasure.purge(memory_ids, actor="person")


async def test_what_goes_is_told_before(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, record = await adopted(desk)
        review = await desk.parts.erasure.review([memory_id])
        assert (await desk.memories())[0].id == memory_id
    assert review == ErasureReview(skills=(record.name,), removed=(record.path,))
    assert any(record.path in line for line in review.told)


async def test_memory_ledger_proposal_history_and_file_go(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, record = await adopted(desk)
        assert holding(tmp_path)
        erased = await purge(desk, memory_id)
        assert await desk.ledger.all() == ()
        assert await desk.ledger.versions(record.path) == ()
        (item,) = await desk.queue.list()
        assert (item.status, item.payload) == (ApprovalStatus.APPROVED, "")
    assert erased == Erased(1, (record.path,))
    assert not Path(record.path).parent.exists()
    assert holding(tmp_path) == []


async def test_with_a_skill_goes_the_record_of_its_uses(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, _ = await adopted(desk)
        kept = await desk.approve(await desk.propose(lesson("hinges", discovery="Oil the hinges.")))
        log = Applications(desk.backend.core.database)
        for each in (memory_id, kept):
            use = Use(UseKind.BEFORE, AGENT, "/work/demo", "s-1")
            assert await log.applied([each], datetime.now(UTC), use) == 1
        await purge(desk, memory_id)
        (left,) = await desk.ledger.active()
        paths = await desk.backend.core.database.read(
            lambda db: db.execute("SELECT path FROM lesson_uses").fetchall()
        )
        assert paths == [(left.path,)]


async def test_a_deleted_memory_of_a_retired_skill_takes_all_of_it_along(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, record = await adopted(desk)
        await desk.desk.retire(record.path, PERSON)
        await purge(desk, memory_id)
        assert await desk.ledger.all() == ()
        assert await desk.desk.undo(PERSON) is None
    assert holding(tmp_path) == []


async def test_an_approval_that_was_undone_waits_no_longer(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, _ = await adopted(desk)
        await desk.desk.undo(PERSON)
        assert len(await desk.desk.inbox()) == 1
        await purge(desk, memory_id)
        assert await desk.desk.inbox() == ()
    assert holding(tmp_path) == []


async def test_the_same_lesson_is_not_proposed_again(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        again = lesson("x")
        await desk.propose(again)
        item = (await desk.queue.list())[0]
        memory_id = await desk.approve(item.id)
        await purge(desk, memory_id)
        assert not await desk.parts.evidence.add(again)
        assert (await desk.queue.get(item.id)) is not None


async def test_a_file_that_was_edited_since_stays_and_does_not_come_up(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, record = await adopted(desk)
        path = Path(record.path)
        path.write_text(path.read_text() + "Mine.\n")
        await desk.changes.sync()
        assert (await desk.parts.erasure.review([memory_id])).left == ((str(path), EDITED),)
        erased = await purge(desk, memory_id)
        assert erased == Erased(1, (), ((str(path), EDITED),))
        assert await desk.desk.inbox() == ()
        assert await desk.changes.sync() == SyncReport()
    assert path.read_text().endswith("Mine.\n")
    path.unlink()
    path.parent.rmdir()
    assert holding(tmp_path) == []


async def test_an_edit_that_was_accepted_is_ours_to_remove(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        _, record = await adopted(desk)
        path = Path(record.path)
        path.write_text(path.read_text().replace("Tune the", "Always tune the"))
        (change,) = (await desk.changes.sync()).added
        memory_id = await desk.approve(change)
        assert (await purge(desk, memory_id)).removed == (record.path,)
    assert not path.exists()


async def test_a_file_of_somebody_else_is_never_touched(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    async with office(data) as desk:
        path = write_skill_file(data / USER, "deploy", FOREIGN)
        (change,) = (await desk.changes.sync()).added
        memory_id = await desk.approve(change)
        erased = await purge(desk, memory_id)
        assert erased == Erased(1, (), ((str(path), NOT_OURS),))
        assert await desk.changes.sync() == SyncReport()
    assert path.read_text() == FOREIGN
    path.unlink()
    assert holding(data) == []


async def test_of_a_skill_that_counts_only_the_past_goes(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        old, record = await adopted(desk)
        path = Path(record.path)
        text = path.read_text()
        path.write_text(text.replace(f"Tune the {WORD}.", "Tune it."))
        (change,) = (await desk.changes.sync()).added
        new = await desk.approve(change)
        review = await desk.parts.erasure.review([old])
        await purge(desk, old)
        (kept,) = await desk.ledger.active()
        assert kept.memory_ids == (new,)
        assert [version.sha256 for version in await desk.ledger.versions(str(path))] == [
            kept.sha256
        ]
        assert await desk.desk.undo(PERSON) is None
        assert await desk.changes.sync() == SyncReport()
    assert review == ErasureReview(earlier=(record.name,))
    assert path.exists()
    assert holding(tmp_path, f"tune the {WORD}") == []


async def test_a_skill_stays_while_another_agent_has_a_copy(tmp_path: Path) -> None:
    propagation = PropagationConfig(type="role_scoped")
    team = (Colleague("claude-code", "dev"), Colleague("codex", "dev"))
    async with office(tmp_path, agents=team, propagation=propagation) as desk:
        first, record = await adopted(desk, agent="claude-code", scope="role")
        copies = tuple(each for each in record.memory_ids if each != first)
        assert copies
        review = await desk.parts.erasure.review([first])
        assert review == ErasureReview(copied=(record.name,))
        await purge(desk, first)
        (kept,) = await desk.ledger.active()
        assert kept.memory_ids == copies
        assert Path(record.path).exists()
        await purge(desk, *copies)
        assert await desk.ledger.all() == ()
    assert holding(tmp_path) == []


async def test_what_took_its_place_stays_and_can_be_undone(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        old, record = await adopted(desk)
        better = lesson("b", discovery="Better.", supersedes=(old,))
        new = await desk.approve(await desk.propose(better))
        await purge(desk, old)
        assert [each.memory_ids for each in await desk.ledger.all()] == [(new,)]
        assert (await desk.desk.undo(PERSON)) is not None
        assert await desk.memories() == ()
        assert await desk.ledger.all() == ()
    assert not Path(record.path).exists()
    assert holding(tmp_path) == []


async def test_a_proposal_to_prune_says_nothing_of_it_any_more(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, _ = await adopted(desk)
        other = await desk.approve(await desk.propose(lesson("o", discovery="Else.", action="No.")))
        reasons = {memory_id: f"{WORD} (never given)", other: "Else (never given)"}
        payload = PrunePayload(agent_id="a", memory_ids=(memory_id, other), reasons=reasons)
        await desk.queue.add(
            ApprovalItem(
                id="prune-1",
                action_type="procedural:prune",
                title="Remove 2",
                description="\n".join(reasons.values()),
                requested_by="pruner",
                created_at=desk.backend.core.clock.now(),
                payload=payload.model_dump_json(),
            )
        )
        await purge(desk, memory_id)
        item = await desk.queue.get("prune-1")
        assert item is not None
        assert item.description == "Else (never given)"
        assert PrunePayload.model_validate_json(item.payload).memory_ids == (other,)
    assert holding(tmp_path) == []


async def test_a_memory_that_is_no_skill_is_just_purged(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await adopted(desk)
        memory_id = await desk.backend.store(AGENT, request("a note"))
        assert await desk.parts.erasure.review([memory_id]) == ErasureReview()
        assert await purge(desk, memory_id) == Erased(1)
        assert len(await desk.ledger.active()) == 1


@files_only
async def test_what_was_erased_leaves_the_file_after_a_crash_too(tmp_path: Path) -> None:
    """A program that is killed can't write the file anew; the next one does."""
    home, killed = tmp_path / "home", tmp_path / "killed"
    async with office(home) as desk:
        memory_id, _ = await adopted(desk)
    async with office(home) as desk:
        await purge(desk, memory_id)
        shutil.copytree(home, killed)  # what a kill at this moment leaves
    assert holding(killed)
    async with office(killed):
        pass
    assert holding(killed) == []


async def test_with_a_skill_goes_the_silence_about_it(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id, _ = await adopted(desk)
        (record,) = await desk.ledger.active()
        hints = SilencedHints(desk.backend.core.database, clock=FixedClock())
        await hints.silence(SilencedKind.LESSON, record.path, actor="person")
        await hints.silence(SilencedKind.COMMAND, "git push", actor="person")
        await purge(desk, memory_id)
        assert [each.subject for each in await hints.all()] == ["git push"]
