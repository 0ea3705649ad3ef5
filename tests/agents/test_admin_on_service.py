"""On the real service: an agent asks, a person approves, and searches change and change back."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.agents.tools import AdminTool
from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.engine import Engine
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.tui.fine_tune.adapter import FineTuneDesk
from synthorg_tui.tui.fine_tune.lines import rows, run_lines
from tests.curation.review_kit import PERSON
from tests.memory.fine_tune.tuning_kit import answers, engine_on, fill, plan, tuned
from tests.tui.tui_fakes import NOW

pytestmark = pytest.mark.asyncio(loop_scope="module")
SURE: dict[str, Any] = {"confirm": True, "reason": "compare with before"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("admin-service")
    settings = RootConfig.model_validate({"agent_access": {"administrator": "ada"}})
    async with engine_on(folder / "data", settings) as engine:
        await fill(engine, folder / "questions")
        run = await tuned(engine.memory_service, plan(folder / "questions"))
        assert run.checkpoint_id is not None, run
        await engine.gateway.open()
        yield engine


@pytest.fixture
def ada(opened: Engine) -> AgentSession:
    return opened.gateway.connect(AgentIdentity("ada", client="claude-code 2.1"))


async def call(session: AgentSession, tool: AdminTool, **arguments: Any) -> CallReply:
    return await session.call(tool.value, arguments)


async def data(session: AgentSession, tool: AdminTool, **arguments: Any) -> Any:
    reply = await call(session, tool, **arguments)
    assert not reply.is_error, reply.content
    return json.loads(reply.content)["data"]


async def approve(engine: Engine, reply: CallReply) -> None:
    (item_id,) = reply.waiting
    shown = (await engine.reviews.review(item_id)).shown
    await engine.reviews.approve(item_id, shown=shown, person=PERSON)


async def test_a_checkpoint_is_deployed_and_rolled_back_only_when_a_person_approves(
    opened: Engine, ada: AgentSession
) -> None:
    before = await answers(opened)
    (found,) = await data(ada, AdminTool.CHECKPOINTS)
    asked = await call(ada, AdminTool.DEPLOY, checkpoint_id=found["id"], reason="it finds more")
    assert await answers(opened) == before
    await approve(opened, asked)
    assert (await data(ada, AdminTool.ACTIVE))["checkpoint_id"] == found["id"]
    deployed = await answers(opened)
    assert deployed != before
    back = await call(ada, AdminTool.ROLL_BACK, checkpoint_id=found["id"], **SURE)
    assert await answers(opened) == deployed
    await approve(opened, back)
    assert await answers(opened) == before


async def test_what_agents_read_is_what_there_is(opened: Engine, ada: AgentSession) -> None:
    (run,) = await data(ada, AdminTool.RUNS)
    status = await data(ada, AdminTool.STATUS, run_id=run["id"])
    assert (status["stage"], status["run"]["pairs"]) == (run["stage"], run["pairs"])
    checks = (await data(ada, AdminTool.PREFLIGHT))["checks"]
    assert {check["name"]: check["status"] for check in checks}["pairs"] == "fail"
    told = json.loads((await call(ada, AdminTool.START)).content)
    assert (told["error_type"], told["domain_code"]) == ("TooFewPairs", "conflict")
    unknown = json.loads((await call(ada, AdminTool.STATUS, run_id="unknown")).content)
    assert unknown["domain_code"] == "not_found"


async def test_the_screen_shows_what_the_service_has(
    opened: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    desk = FineTuneDesk(lambda: opened)
    view = await desk.view()
    values = [value for value, _ in rows(view, 80, NOW) if value is not None]
    assert values == [
        ("active", ""),
        ("checkpoint", view.checkpoints[0].id),
        ("run", view.runs[0].id),
    ]
    told = "\n".join(row.plain for row in run_lines(view.runs[0], NOW))
    assert "✓ better" in told
    assert "loss" in told
    assert not (await desk.preflight()).can_proceed
    await desk.deploy(view.checkpoints[0].id)
    assert (await desk.view()).active.checkpoint_id == view.checkpoints[0].id
    await desk.roll_back(view.checkpoints[0].id)
    await desk.delete_checkpoint(view.checkpoints[0].id)
    await desk.delete_run(view.runs[0].id)
    assert (await desk.view()).runs == ()


async def test_where_an_agent_runs_the_app_the_screen_changes_nothing(
    opened: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthorg_tui.approvals.models import DecisionRefusedError

    monkeypatch.setenv("CLAUDECODE", "1")
    desk = FineTuneDesk(lambda: opened)
    for act in (desk.start(), desk.cancel(), desk.deploy("x"), desk.roll_back("x"),
                desk.resume("x"), desk.delete_checkpoint("x"), desk.delete_run("x")):  # fmt: skip
        with pytest.raises(DecisionRefusedError):
            await act
