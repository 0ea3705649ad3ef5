"""What a person approved of an agent's administration is done once, also after a crash."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.agents.administration import AdminServices, AdminTools
from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.pending import PendingWrites
from synthorg_tui.agents.tools import AdminTool
from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalStatus
from synthorg_tui.cli import shapes
from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.review import Decision
from synthorg_tui.curation.review_sheet import is_doubtful
from synthorg_tui.memory.fine_tune.models import FineTuneStage
from synthorg_tui.tui.approvals.lines import decision_line
from synthorg_tui.tui.approvals.review_lines import whole_lines
from synthorg_tui.tui.base.lines import plain
from tests.agents.admin_kit import NOW, Killed, ScriptedService, checkpoint, tuning_run
from tests.conftest import FixedClock
from tests.curation.review_kit import PERSON, Office, office
from tests.tables import rows

SURE = {"confirm": True, "reason": "it answers worse"}
ASKED: Mapping[str, tuple[AdminTool, dict[str, Any]]] = {
    "deploy one": (AdminTool.DEPLOY, {"checkpoint_id": "one"}),
    "roll back live": (AdminTool.ROLL_BACK, {"checkpoint_id": "live", **SURE}),
    "delete one": (AdminTool.DELETE, {"checkpoint_id": "one", **SURE}),
    "cancel working": (AdminTool.CANCEL, SURE),
    "resume broken": (AdminTool.RESUME, {"run_id": "broken"}),
}


def scripted() -> ScriptedService:
    return ScriptedService(
        checkpoint("one"),
        checkpoint("live", is_active=True),
        runs=(tuning_run("working"), tuning_run("broken", FineTuneStage.FAILED)),
    )


async def asked(desk: Office, service: ScriptedService, deed: str) -> str:
    """Have an agent ask for it; the id of the item."""
    tool, arguments = ASKED[deed]
    clock = FixedClock()
    services = AdminServices(
        service=lambda: service,
        queue=desk.queue,
        clock=clock,
        source_dir=str(desk.data_dir),
        pending=PendingWrites(desk.queue, clock=clock, level=lambda _: MemoryLevel.PERSISTENT),
    )
    tools = AdminTools(AgentIdentity("ada"), services, WriteAllowance(60))
    (item_id,) = (await tools.answer(tool.value, arguments)).waiting
    return item_id


async def approve(desk: Office, item_id: str) -> Decision:
    shown = (await desk.desk.review(item_id)).shown
    return await desk.desk.approve(item_id, shown=shown, person=PERSON)


@rows("deed", ASKED)
async def test_killed_after_the_act_it_is_not_done_again_at_the_next_start(
    tmp_path: Path, deed: str
) -> None:
    service = scripted()
    async with office(tmp_path, memory_service=service) as desk:
        item_id = await asked(desk, service, deed)
        service.is_killed = True
        with pytest.raises(Killed):
            await approve(desk, item_id)
    service.is_killed = False
    async with office(tmp_path, memory_service=service) as desk:
        item = await desk.queue.get(item_id)
        assert item is not None
        assert (item.status, item.consumed_at is not None) == (ApprovalStatus.APPROVED, True)
    assert service.done == [deed]


async def test_killed_before_the_act_it_is_done_at_the_next_start(tmp_path: Path) -> None:
    service = scripted()
    async with office(tmp_path, memory_service=service) as desk:
        item_id = await asked(desk, service, "deploy one")
        service.error = None

        async def killed(checkpoint_id: str) -> None:
            raise Killed

        service.get_checkpoint = killed  # type: ignore[assignment]
        with pytest.raises(Killed):
            await approve(desk, item_id)
    del service.get_checkpoint
    assert service.done == []
    async with office(tmp_path, memory_service=service) as desk:
        assert not await desk.desk.undoable()
    async with office(tmp_path, memory_service=service):
        assert service.done == ["deploy one"]


async def test_two_who_approve_at_the_same_moment_have_it_done_once(tmp_path: Path) -> None:
    service = scripted()
    async with office(tmp_path, memory_service=service) as desk:
        item_id = await asked(desk, service, "delete one")
        shown = (await desk.desk.review(item_id)).shown
        both = await asyncio.gather(
            desk.desk.approve(item_id, shown=shown, person=PERSON),
            desk.desk.approve(item_id, shown=shown, person=PERSON),
            return_exceptions=True,
        )
    assert sum(isinstance(each, ApprovalConflictError) for each in both) == 1
    assert service.done == ["delete one"]


async def test_without_a_service_the_decision_stands_and_says_why_nothing_was_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = scripted()
    async with office(tmp_path) as desk:
        item_id = await asked(desk, service, "deploy one")
        with (
            caplog.at_level(logging.WARNING),
            pytest.raises(DomainError, match="no service in this test"),
        ):
            await approve(desk, item_id)
        assert not await desk.parts.journal.roll_forward()


async def test_a_rejection_does_nothing_and_can_be_undone(tmp_path: Path) -> None:
    service = scripted()
    async with office(tmp_path, memory_service=service) as desk:
        item_id = await asked(desk, service, "deploy one")
        shown = (await desk.desk.review(item_id)).shown
        await desk.desk.reject(item_id, shown=shown, reason="not yet", person=PERSON)
        await desk.desk.undo(PERSON)
        item = await desk.queue.get(item_id)
        assert item is not None
        assert item.status is ApprovalStatus.PENDING
        decision = await approve(desk, item_id)
    assert decision_line("Approved", decision) == "Approved and done"
    assert service.done == ["deploy one"]


async def test_a_person_reads_what_would_happen_with_the_figures_and_the_agents_reason(
    tmp_path: Path,
) -> None:
    service = scripted()
    async with office(tmp_path, memory_service=service) as desk:
        review = await desk.desk.review(await asked(desk, service, "delete one"))
    told = " ".join(plain(whole_lines(review, (), NOW)).split())
    assert "ada asks for this: delete checkpoint one." in told
    assert "The checkpoint and its file would be gone for good" in told
    assert "NDCG@10 0.581 -> 0.612" in told
    assert "Its reason: it answers worse" in told
    act = shapes.review(review, ())["act"]
    assert isinstance(act, dict)
    assert (act["action"], act["target_id"], act["agent_id"]) == ("delete", "one", "ada")


async def test_no_policy_adopts_it_and_a_sheet_leaves_it_for_later(tmp_path: Path) -> None:
    service = scripted()
    async with office(tmp_path, memory_service=service, require_approval=False) as desk:
        item_id = await asked(desk, service, "deploy one")
        assert await desk.desk.adopt_by_policy() == ()
        assert is_doubtful(await desk.desk.review(item_id))
    assert service.done == []
