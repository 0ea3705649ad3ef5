"""An administrator that loops, guesses ids or overdoes it changes nothing and floods no inbox."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.agents.tools import AdminTool
from synthorg_tui.engine import Engine
from synthorg_tui.settings.root import RootConfig
from tests.agents.admin_kit import ScriptedService, checkpoint, tuning_run
from tests.hostile import HOSTILE
from tests.memory.store.hash_embedder import HashEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")
SURE: dict[str, Any] = {"confirm": True, "reason": "because"}
CHECKPOINT_TOOLS = (AdminTool.DEPLOY, AdminTool.ROLL_BACK, AdminTool.DELETE)
HUGE = 10**30
BAD_IDS: tuple[object, ...] = (
    "../../../etc/passwd",
    "/etc/passwd",
    "C:\\windows",
    "live\0",
    "live' OR 1=1 --",
    "live/../live",
    "x" * 10_000,
    "",
    "  ",
    None,
    7,
    ["live"],
    {"id": "live"},
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("hostile-admin")
    settings = RootConfig.model_validate(
        {"agent_access": {"administrator": "eve", "writes_per_minute": 100}}
    )
    async with Engine.open(settings, data_dir=folder, embedder=HashEmbedder()) as engine:
        await engine.gateway.open()
        yield engine


@pytest_asyncio.fixture(loop_scope="module")
async def service(opened: Engine) -> ScriptedService:
    scripted = ScriptedService(
        checkpoint("good"),
        checkpoint("live", is_active=True),
        runs=(tuning_run("by-a-person"),),
    )
    vars(opened)["memory_service"] = scripted
    return scripted


def eve(engine: Engine) -> AgentSession:
    return engine.gateway.connect(AgentIdentity("eve", client="loop 1.0"))


async def waiting(engine: Engine) -> int:
    return len(await engine.approvals.list(snoozed=True))


@pytest.mark.parametrize("tool", CHECKPOINT_TOOLS)
@pytest.mark.parametrize("bad", BAD_IDS, ids=lambda each: repr(each)[:20])
async def test_no_id_leads_anywhere(
    opened: Engine, service: ScriptedService, tool: AdminTool, bad: object
) -> None:
    before, kept = await waiting(opened), dict(service.checkpoints)
    told = json.loads((await eve(opened).call(tool.value, {"checkpoint_id": bad, **SURE})).content)
    assert told["domain_code"] in ("not_found", "invalid_argument")
    assert (await waiting(opened), service.checkpoints, service.done) == (before, kept, [])


@pytest.mark.parametrize(
    "given",
    [
        {"epochs": HUGE},
        {"epochs": 0},
        {"batch_size": 10**9},
        {"learning_rate": 1e308},
        {"learning_rate": float("inf")},
        {"temperature": -1},
        {"top_k": 10**6},
        {"validation_split": 1},
        {"epochs": "a" * 1_000_000},
        {"reason": "x"},
        {"x" * 100_000: 1},
    ],
    ids=lambda each: repr(each)[:24],
)
async def test_huge_and_unknown_values_start_nothing(
    opened: Engine, service: ScriptedService, given: dict[str, Any]
) -> None:
    for tool in (AdminTool.START, AdminTool.PREFLIGHT):
        reply = await eve(opened).call(tool.value, given)
        assert json.loads(reply.content)["domain_code"] == "invalid_argument"
        assert len(reply.content) < 2_000
    assert service.plans == []


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": HUGE}, {"offset": -1}, {"offset": HUGE}])
async def test_pages_have_bounds(
    opened: Engine, service: ScriptedService, given: dict[str, Any]
) -> None:
    for tool in (AdminTool.RUNS, AdminTool.CHECKPOINTS):
        told = json.loads((await eve(opened).call(tool.value, given)).content)
        assert told["domain_code"] == "invalid_argument"


async def test_a_hostile_reason_is_one_flagged_line_of_the_item(
    opened: Engine, service: ScriptedService
) -> None:
    service.checkpoints = {f"h{at}": checkpoint(f"h{at}") for at in range(len(HOSTILE))}
    for at, text in enumerate(HOSTILE[::3]):
        given = {"confirm": True, "reason": text[:400], "checkpoint_id": f"h{at}"}
        reply = await eve(opened).call(AdminTool.DELETE.value, given)
        for item_id in reply.waiting:
            review = await opened.reviews.review(item_id)
            assert len(review.item.description.splitlines()) <= 4
            assert review.item.title == f"Delete checkpoint h{at}"
    assert service.done == []


async def test_a_run_of_somebody_else_goes_on_until_a_person_says_otherwise(
    opened: Engine, service: ScriptedService
) -> None:
    before = await waiting(opened)
    for _ in range(10):
        told = json.loads((await eve(opened).call(AdminTool.CANCEL.value, SURE)).content)
        assert "waiting" in told["data"]
    assert await waiting(opened) == before + 1
    assert service.runs["by-a-person"].stage.is_active
    assert service.done == []


async def test_two_hundred_calls_to_deploy_leave_one_item_and_then_are_slowed_down(
    opened: Engine, service: ScriptedService
) -> None:
    before, session = await waiting(opened), eve(opened)
    codes = []
    for at in range(200):
        given = {"checkpoint_id": "good", "reason": f"try {at}"}
        told = json.loads((await session.call(AdminTool.DEPLOY.value, given)).content)
        codes.append(told.get("domain_code", "waits"))
    assert set(codes) == {"waits", "conflict"}
    assert codes.count("waits") <= 110
    assert await waiting(opened) == before + 1
    assert service.done == []
