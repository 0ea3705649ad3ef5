"""Undo puts bytes on disk and the store back exactly, whatever was decided, after a restart too."""

from pathlib import Path

import pytest

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalEventKind,
    ApprovalItem,
    ApprovalNotFoundError,
)
from synthorg_tui.curation import journal
from synthorg_tui.curation.applications import Applications
from synthorg_tui.curation.models import Lesson, PrunePayload
from synthorg_tui.curation.registry import SkillStatus
from synthorg_tui.curation.review import BulkOutcome, DecisionKind
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.skills.document import SkillPathError
from tests.conftest import FixedClock
from tests.curation.review_kit import (
    OWN,
    PERSON,
    USER,
    Office,
    edit,
    lesson,
    office,
    on_disk,
    proposal,
    write_skill_file,
)
from tests.tables import rows

NAME = "pushing-a-new-branch-needs-its-upstream-set"
HAND_WRITTEN = "---\nname: deploy\ndescription: Use when deploying.\n---\n\nRun make deploy.\n"


async def reject(desk: Office, item_id: str) -> None:
    shown = (await desk.desk.review(item_id)).shown
    await desk.desk.reject(item_id, shown=shown, reason="no", person=PERSON)


async def test_undoing_an_approval_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        item_id = await desk.propose(lesson())
        before = await desk.state()
        await desk.approve(item_id)
        decision = await desk.desk.undo(PERSON)
        assert await desk.state() == before
        events = [event.kind for event in await desk.queue.events(item_id)]
    assert decision is not None
    assert (decision.kind, decision.item_id) == (DecisionKind.UNDONE, item_id)
    assert events[-2:] == [ApprovalEventKind.APPROVED, ApprovalEventKind.REOPENED]


async def test_undoing_an_edited_approval_brings_the_first_wording_back(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        item_id = await desk.propose(lesson())
        before = await desk.state()
        await desk.approve(item_id, edit=edit(proposal(action="Push with -u.")))
        await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def bulk_of(desk: Office, *words: str) -> BulkOutcome:
    """Approve lessons about these words in one go."""
    ids = [
        await desk.propose(lesson(each, discovery=each, condition=each, action=each))
        for each in words
    ]
    shown = [(each, (await desk.desk.review(each)).shown) for each in ids]
    return await desk.desk.approve_many(shown, PERSON)


async def test_what_was_approved_in_bulk_is_taken_back_as_one(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        first = await desk.approve(await desk.propose(lesson()))
        await bulk_of(desk, "Alpha comes first.", "Beta is next.", "Gamma waits.")
    async with office(tmp_path) as desk:
        assert len(await desk.desk.undoable()) == 3
        decision = await desk.desk.undo(PERSON)
        assert [entry.id for entry in await desk.memories()] == [first]
        assert len(await desk.desk.inbox()) == 3
        assert len(list(desk.skills.glob("*/SKILL.md"))) == 1
        assert len(await desk.desk.undoable()) == 1
    assert decision is not None
    assert (decision.title, decision.count, len(decision.paths)) == ("3 approvals", 3, 3)


async def test_two_bulks_are_taken_back_one_after_the_other(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await bulk_of(desk, "Alpha comes first.", "Beta is next.")
        await bulk_of(desk, "Gamma waits.", "Delta is a river.")
        await desk.desk.undo(PERSON)
        assert len(await desk.memories()) == 2
        await desk.desk.undo(PERSON)
        assert await desk.memories() == ()


async def test_of_a_bulk_one_of_which_was_undone_the_rest_is_taken_back(tmp_path: Path) -> None:
    """As a crash in the middle of it leaves it."""
    async with office(tmp_path) as desk:
        await bulk_of(desk, "Alpha comes first.", "Beta is next.", "Gamma waits.")
        last = (await desk.backend.core.database.read(journal.last_undoable))[0]
        await desk.backend.core.database.write(
            lambda db: db.execute(
                "UPDATE operations SET undone_by = 0 WHERE number = ?", [last.number]
            )
        )
        decision = await desk.desk.undo(PERSON)
    assert decision is not None
    assert decision.count == 2


async def test_a_file_that_changed_keeps_the_whole_bulk(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        outcome = await bulk_of(desk, "Alpha comes first.", "Beta is next.")
        path = Path(outcome.decisions[0].paths[0])
        path.write_text(path.read_text() + "Mine.\n")
        before = await desk.state()
        with pytest.raises(ApprovalConflictError, match="changed since"):
            await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def test_undoing_a_supersession_brings_the_old_skill_back(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        old = await desk.approve(await desk.propose(lesson()))
        item_id = await desk.propose(lesson("other", discovery="Better.", supersedes=(old,)))
        before = await desk.state()
        await desk.approve(item_id)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def test_undoing_a_rejection_lets_it_be_approved(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        item_id = await desk.propose(lesson())
        before = await desk.state()
        await reject(desk, item_id)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before
        await desk.approve(item_id)
        assert len(await desk.memories()) == 1


async def test_what_was_undone_can_be_approved_and_undone_again(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        item_id = await desk.propose(lesson())
        before = await desk.state()
        for _ in range(2):
            await desk.approve(item_id)
            await desk.desk.undo(PERSON)
            assert await desk.state() == before


async def test_undo_survives_a_restart_and_goes_back_step_by_step(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        first = await desk.propose(lesson())
        second = await desk.propose(lesson("b", discovery="Beta.", condition="b", action="b"))
        start = await desk.state()
        await desk.approve(first)
        middle = await desk.state()
        await reject(desk, second)
    async with office(tmp_path) as desk:
        await desk.desk.undo(PERSON)
        assert await desk.state() == middle
    async with office(tmp_path) as desk:
        await desk.desk.undo(PERSON)
        assert await desk.state() == start
        assert await desk.desk.undo(PERSON) is None


async def test_a_file_that_was_changed_since_is_not_lost_by_an_undo(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        path = write_skill_file(tmp_path / OWN, NAME, "edited since")
        before = await desk.state()
        with pytest.raises(ApprovalConflictError, match="changed since"):
            await desk.desk.undo(PERSON)
        assert await desk.state() == before
    assert path.read_text() == "edited since"


async def test_a_retired_skill_is_gone_and_comes_back(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        before = await desk.state()
        (record,) = await desk.ledger.active()
        decision = await desk.desk.retire(record.path, PERSON)
        assert decision.kind is DecisionKind.RETIRED
        assert await desk.memories() == ()
        assert on_disk(tmp_path) == {}
        retired = await desk.ledger.get(record.path)
        assert retired is not None
        assert retired.status is SkillStatus.RETIRED
        with pytest.raises(ApprovalNotFoundError):
            await desk.desk.retire(record.path, PERSON)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def test_a_retired_file_comes_back_as_it_was_found(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        Path(record.path).write_bytes(b"\xff\xfe not even text")
        await desk.desk.retire(record.path, PERSON)
        assert on_disk(tmp_path) == {}
        await desk.desk.undo(PERSON)
    assert Path(record.path).read_bytes() == b"\xff\xfe not even text"


@rows("content", [b"", b"x" * (2 << 20)])
async def test_only_what_can_be_brought_back_is_removed(tmp_path: Path, content: bytes) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        Path(record.path).write_bytes(content)
        before = await desk.state()
        if content:
            with pytest.raises(SkillPathError):
                await desk.desk.retire(record.path, PERSON)
        else:
            await desk.desk.retire(record.path, PERSON)
            assert on_disk(tmp_path) == {}
            await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def test_a_link_in_the_place_of_a_file_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("precious")
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        Path(record.path).unlink()
        Path(record.path).symlink_to(outside)
        for act in (desk.desk.retire, desk.desk.restore_file):
            with pytest.raises(SkillPathError):
                await act(record.path, PERSON)
        with pytest.raises(ApprovalConflictError):
            await desk.desk.undo(PERSON)
    assert outside.read_text() == "precious"
    assert Path(record.path).is_symlink()


async def test_our_text_can_be_written_back_and_theirs_again(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        ours = Path(record.path).read_bytes()
        with pytest.raises(ApprovalConflictError, match="as it should be"):
            await desk.desk.restore_file(record.path, PERSON)
        Path(record.path).write_bytes(b"theirs")
        before = await desk.state()
        await desk.desk.restore_file(record.path, PERSON)
        assert Path(record.path).read_bytes() == ours
        history = await desk.ledger.versions(record.path)
        await desk.desk.undo(PERSON)
        assert await desk.state() == before
    assert [version.event.value for version in history] == ["written", "set_aside", "written"]
    assert history[1].text == "theirs"


def prune_item(*memory_ids: str, clock: FixedClock) -> ApprovalItem:
    return ApprovalItem(
        id="prune-1",
        action_type="procedural:prune",
        title="Prune",
        requested_by="prune",
        created_at=clock.now(),
        payload=PrunePayload(agent_id="ada", memory_ids=memory_ids).model_dump_json(),
    )


async def test_pruning_retires_the_skills_whose_memories_go(
    tmp_path: Path, clock: FixedClock
) -> None:
    async with office(tmp_path) as desk:
        gone = await desk.approve(await desk.propose(lesson()))
        other = lesson("b", discovery="Beta.", condition="beta", action="beta")
        kept = await desk.approve(await desk.propose(other))
        await desk.queue.add(prune_item(gone, clock=clock))
        before = await desk.state()
        review = await desk.desk.review("prune-1")
        decision = await desk.desk.approve("prune-1", shown=review.shown, person=PERSON)
        assert [entry.id for entry in review.replaces] == [gone]
        assert decision.memory_ids == ()
        assert [entry.id for entry in await desk.memories()] == [kept]
        assert [record.name for record in await desk.ledger.active()] == ["beta"]
        assert list(on_disk(tmp_path)) == [f"{OWN}/beta/SKILL.md"]
        await desk.desk.undo(PERSON)
        assert await desk.state() == before


async def test_a_memory_that_was_purged_meanwhile_stays_gone(tmp_path: Path) -> None:
    async with office(tmp_path) as desk:
        memory_id = await desk.approve(await desk.propose(lesson()))
        (record,) = await desk.ledger.active()
        await desk.desk.retire(record.path, PERSON)
        await desk.backend.admin.purge([memory_id], actor="person")
        await desk.desk.undo(PERSON)
        assert await desk.memories() == ()
        assert Path(record.path).exists()


async def test_what_a_skill_gained_meanwhile_is_not_lost_by_an_undo(
    tmp_path: Path, clock: FixedClock
) -> None:
    path = write_skill_file(tmp_path / USER, "deploy", HAND_WRITTEN)
    async with office(tmp_path) as desk:
        await accept(desk)
        path.write_text(HAND_WRITTEN.replace("make deploy", "make release"))
        await accept(desk)
        (record,) = await desk.ledger.active()
        await Applications(desk.backend.core.database).applied(record.memory_ids, clock.now())
        await desk.desk.undo(PERSON)
        (record,) = await desk.ledger.active()
    assert (record.version, record.application_count) == (1, 1)
    assert "make deploy" in record.proposal.action


async def accept(desk: Office) -> None:
    (item_id,) = (await desk.changes.sync()).added
    await desk.approve(item_id)


class Steps:
    """Lessons that differ enough to be kept apart."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> Lesson:
        self.count += 1
        word = f"topic{self.count}"
        return lesson(word, discovery=f"{word}.", condition=f"{word} {word}x", action=f"{word} do")


async def test_many_decisions_are_undone_to_the_first_state(tmp_path: Path) -> None:
    moves = ("approve", "reject", "supersede", "retire", "approve", "supersede")
    async with office(tmp_path) as desk:
        steps = Steps()
        ids = [await desk.propose(steps.next()) for _ in moves]
        states = []
        for move, item_id in zip(moves, ids, strict=True):
            states.append(await desk.state())
            active = await desk.ledger.active()
            if move == "reject":
                await reject(desk, item_id)
            elif move == "retire" and active:
                await desk.desk.retire(active[0].path, PERSON)
            elif move == "supersede" and active:
                named = steps.next().model_copy(
                    update={"proposal": proposal(supersedes=active[0].memory_ids)}
                )
                payload = named.model_dump_json()
                await desk.queue.revise(item_id, payload=payload, actor="learn")
                states[-1] = await desk.state()
                await desk.approve(item_id)
            else:
                await desk.approve(item_id)
        for state in reversed(states):
            await desk.desk.undo(PERSON)
            now = await desk.state()
            assert without_items(now) == without_items(state)
        assert await desk.desk.undo(PERSON) is None
        assert (await desk.backend.admin.browse(BrowseFilter())).total == 0


def without_items(state: dict[str, object]) -> dict[str, object]:
    """Revisions of proposals are no decisions and aren't undone."""
    return {name: value for name, value in state.items() if name != "items"}
