"""The administrator's tools answer, start runs and ask; only a person changes what holds."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import ORIGIN_TAG
from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.agents.tools import (
    ADMINISTRATION,
    MCP_HANDLER_CAPABILITY_GAP,
    MCP_HANDLER_NOT_IMPLEMENTED,
    MCP_HANDLER_SERVICE_FALLBACK,
    AdminTool,
)
from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.administration import MCP_ADMIN_OP_EXECUTED, AdminPayload
from synthorg_tui.curation.review import SubjectKind
from synthorg_tui.engine import Engine
from synthorg_tui.mcp.server import as_tool
from synthorg_tui.memory.errors import MemoryCapabilityError
from synthorg_tui.memory.fine_tune.errors import BackendUnsupportedError
from synthorg_tui.memory.fine_tune.models import FineTuneStage
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.settings.root import RootConfig
from tests.agents.admin_kit import WORSE, ScriptedService, checkpoint, tuning_run
from tests.curation.review_kit import PERSON
from tests.memory.store.hash_embedder import HashEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")
SURE: dict[str, Any] = {"confirm": True, "reason": "it answers worse since Monday"}
SECRET = "ghp_" + "a1B2" * 9


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("admin-tools")
    access = {"administrator": "ada", "writes_per_minute": 1_000}
    settings = RootConfig.model_validate(
        {"agent_access": access, "memory": {"level": "persistent"}}
    )
    async with Engine.open(settings, data_dir=folder, embedder=HashEmbedder()) as engine:
        await engine.gateway.open()
        yield engine


@pytest_asyncio.fixture(loop_scope="module")
async def service(opened: Engine) -> ScriptedService:
    """What the tools ask; no item of an earlier test waits or is decided for its checkpoints."""
    scripted = ScriptedService()
    vars(opened)["memory_service"] = scripted
    return scripted


@pytest.fixture
def ada(opened: Engine) -> AgentSession:
    return joined(opened)


def joined(engine: Engine, agent: str = "ada", **said: Any) -> AgentSession:
    return engine.gateway.connect(AgentIdentity(agent, client="claude-code 2.1", **said))


async def ask(session: AgentSession, tool: AdminTool, **arguments: Any) -> dict[str, Any]:
    reply = await session.call(tool.value, arguments)
    told: dict[str, Any] = json.loads(reply.content)
    assert reply.is_error is (told["status"] == "error")
    assert (told["status"] == "ok") is ("data" in told)
    return told


def waiting(told: dict[str, Any]) -> str:
    assert told["status"] == "ok", told
    (item_id,) = told["data"]["waiting"]
    return str(item_id)


async def approve(engine: Engine, item_id: str) -> None:
    shown = (await engine.reviews.review(item_id)).shown
    await engine.reviews.approve(item_id, shown=shown, person=PERSON)


async def reject(engine: Engine, item_id: str, reason: str) -> None:
    shown = (await engine.reviews.review(item_id)).shown
    await engine.reviews.reject(item_id, shown=shown, reason=reason, person=PERSON)


async def item(engine: Engine, item_id: str) -> ApprovalItem:
    found = await engine.approvals.get(item_id)
    assert found is not None
    return found


def events(caplog: pytest.LogCaptureFixture, name: str) -> list[logging.LogRecord]:
    return [each for each in caplog.records if getattr(each, "event", "") == name]


class TestWhoIsOffered:
    async def test_only_the_administrator_is_offered_them(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        offered = {tool.name for tool in await ada.tools()}
        assert offered >= {*ADMINISTRATION, tools.DELETE_ENTRY}
        assert not {tool.name for tool in await joined(opened, "bob").tools()} & ADMINISTRATION

    async def test_a_read_only_administrator_is_offered_those_that_read(
        self, opened: Engine, service: ScriptedService
    ) -> None:
        offered = {tool.name for tool in await joined(opened, read_only=True).tools()}
        assert offered & ADMINISTRATION == {
            AdminTool.STATUS,
            AdminTool.PREFLIGHT,
            AdminTool.CHECKPOINTS,
            AdminTool.RUNS,
            AdminTool.ACTIVE,
        }

    async def test_clients_are_told_which_of_them_destroy(self) -> None:
        hints = {
            tool.name: as_tool(tool).annotations for tool in tools.definitions(administrator=True)
        }
        destroying = {name for name, hint in hints.items() if hint and hint.destructive_hint}
        reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}
        assert destroying == tools.DESTRUCTIVE - {tools.DELETE_ENTRY}
        assert reading == ADMINISTRATION - tools.WRITING

    @pytest.mark.parametrize("tool", AdminTool)
    async def test_another_agent_is_told_what_it_lacks_and_nothing_is_asked(
        self,
        opened: Engine,
        service: ScriptedService,
        caplog: pytest.LogCaptureFixture,
        tool: AdminTool,
    ) -> None:
        service.error = AssertionError("asked")
        with caplog.at_level(logging.INFO):
            told = await ask(joined(opened, "bob"), tool, checkpoint_id="one", **SURE)
        assert (told["error_type"], told["domain_code"]) == ("NotSupportedInMCP", "not_supported")
        assert "agent_access.administrator" in told["message"]
        (event,) = events(caplog, MCP_HANDLER_CAPABILITY_GAP)
        assert event.levelno == logging.INFO


class TestReading:
    async def test_lists_have_their_place_in_the_whole_and_no_path_or_setting(
        self, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {name: checkpoint(name) for name in ("r1", "r2", "r3")}
        told = await ask(ada, AdminTool.CHECKPOINTS, limit=2, offset=1)
        assert [each["id"] for each in told["data"]] == ["r2", "r3"]
        assert told["pagination"] == {"total": 3, "offset": 1, "limit": 2}
        assert told["data"][0]["eval_metrics"]["gain_low"] == 0.012
        assert not {"model_path", "backup_config_json"} & told["data"][0].keys()

    async def test_runs_are_listed_without_paths(
        self, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.runs = {"one": tuning_run("one")}
        told = await ask(ada, AdminTool.RUNS)
        assert told["pagination"] == {"total": 1, "offset": 0, "limit": 20}
        assert "/srv/data" not in json.dumps(told)

    async def test_an_empty_list_is_data_too(
        self, service: ScriptedService, ada: AgentSession
    ) -> None:
        assert (await ask(ada, AdminTool.RUNS))["data"] == []

    async def test_status_preflight_and_what_is_active(
        self, service: ScriptedService, ada: AgentSession
    ) -> None:
        assert (await ask(ada, AdminTool.STATUS))["data"]["stage"] == "idle"
        service.runs = {"one": tuning_run("one")}
        assert (await ask(ada, AdminTool.STATUS))["data"]["run"]["id"] == "one"
        assert (await ask(ada, AdminTool.PREFLIGHT, epochs=5))["data"]["can_proceed"] is True
        assert (await ask(ada, AdminTool.ACTIVE))["data"]["checkpoint_id"] is None

    @pytest.mark.parametrize(
        ("error", "event", "level"),
        [
            (
                BackendUnsupportedError("no runs are kept here"),
                MCP_HANDLER_NOT_IMPLEMENTED,
                logging.WARNING,
            ),
            (
                MemoryCapabilityError("the inmemory backend embeds nothing"),
                MCP_HANDLER_SERVICE_FALLBACK,
                logging.WARNING,
            ),
        ],
    )
    async def test_what_the_store_lacks_is_not_supported(
        self,
        service: ScriptedService,
        ada: AgentSession,
        caplog: pytest.LogCaptureFixture,
        error: Exception,
        event: str,
        level: int,
    ) -> None:
        service.error = error
        with caplog.at_level(logging.INFO):
            told = await ask(ada, AdminTool.STATUS)
        assert (told["error_type"], told["domain_code"]) == ("NotSupportedInMCP", "not_supported")
        assert str(error) in told["message"]
        assert [each.levelno for each in events(caplog, event)] == [level]


class TestRuns:
    async def test_a_run_is_started_on_the_stores_own_memories(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        told = await ask(ada, AdminTool.START, epochs=7)
        assert told["data"]["stage"] == "training"
        (plan,) = service.plans
        assert (plan.epochs, plan.source_dir) == (7, str(opened.data_dir))
        again = await ask(ada, AdminTool.START)
        assert (again["error_type"], again["domain_code"]) == ("FineTuneActive", "conflict")

    @pytest.mark.parametrize(
        "named",
        [
            {"source_dir": "/etc"},
            {"output_dir": "../../tmp"},
            {"base_model": "anything"},
            {"trainer": "contrastive"},
            {"resume_run_id": "one"},
            {"execution": {"backend": "docker", "image": "evil"}},
        ],
    )
    async def test_where_and_by_what_is_trained_only_a_person_chooses(
        self, service: ScriptedService, ada: AgentSession, named: dict[str, Any]
    ) -> None:
        for tool in (AdminTool.START, AdminTool.PREFLIGHT):
            told = await ask(ada, tool, **named)
            assert told["domain_code"] == "not_supported"
        assert service.plans == []

    async def test_its_own_run_an_agent_stops_and_resumes_itself(
        self, service: ScriptedService, ada: AgentSession, caplog: pytest.LogCaptureFixture
    ) -> None:
        run_id = (await ask(ada, AdminTool.START))["data"]["id"]
        with caplog.at_level(logging.INFO):
            assert (await ask(ada, AdminTool.CANCEL, **SURE))["data"] == {"cancelled": run_id}
        (event,) = events(caplog, MCP_ADMIN_OP_EXECUTED)
        told = vars(event)
        assert (told["actor"], told["reason"], told["target_id"]) == (
            "ada",
            SURE["reason"],
            run_id,
        )
        assert (await ask(ada, AdminTool.RESUME, run_id=run_id))["data"]["stage"] == "training"
        assert service.done == [f"cancel {run_id}", f"resume {run_id}"]

    async def test_with_nothing_active_a_cancel_is_no_error_and_no_event(
        self, service: ScriptedService, ada: AgentSession, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO):
            assert (await ask(ada, AdminTool.CANCEL, **SURE))["data"] == {"cancelled": None}
        assert events(caplog, MCP_ADMIN_OP_EXECUTED) == []

    @pytest.mark.parametrize(
        ("tool", "stage", "verb"),
        [
            (AdminTool.CANCEL, FineTuneStage.TRAINING, "cancel"),
            (AdminTool.RESUME, FineTuneStage.FAILED, "resume"),
        ],
    )
    async def test_about_a_run_of_somebody_else_a_person_is_asked(
        self,
        opened: Engine,
        service: ScriptedService,
        ada: AgentSession,
        tool: AdminTool,
        stage: FineTuneStage,
        verb: str,
    ) -> None:
        run = tuning_run(f"by-hand-{verb}", stage)
        service.runs = {run.id: run}
        given = SURE if tool is AdminTool.CANCEL else {"run_id": run.id}
        item_id = waiting(await ask(ada, tool, **given))
        assert service.done == []
        await approve(opened, item_id)
        assert service.done == [f"{verb} {run.id}"]

    async def test_a_complete_run_is_not_gone_on_with(
        self, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.runs = {"over": tuning_run("over", FineTuneStage.COMPLETE)}
        told = await ask(ada, AdminTool.RESUME, run_id="over")
        assert (told["error_type"], told["domain_code"]) == ("FineTuneRunNotResumable", "conflict")


class TestAsking:
    async def test_what_is_asked_is_said_in_plain_words_with_the_figures(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {"plain": checkpoint("plain")}
        told = await ask(ada, AdminTool.DEPLOY, checkpoint_id="plain", reason=f"better {SECRET}")
        review = await opened.reviews.review(waiting(told))
        assert review.entry.kind is SubjectKind.ADMIN
        assert review.item.title == "Deploy checkpoint plain"
        words = review.item.description
        assert "Every search would then read questions with this checkpoint." in words
        assert "NDCG@10 0.581 -> 0.612" in words
        assert "1,204 memories trained on" in words
        assert "better" in words
        assert SECRET not in review.item.model_dump_json()

    async def test_it_is_done_once_when_the_person_approves_and_told_as_an_event(
        self,
        opened: Engine,
        service: ScriptedService,
        ada: AgentSession,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        service.checkpoints = {"once": checkpoint("once")}
        with caplog.at_level(logging.INFO):
            item_id = waiting(await ask(ada, AdminTool.DEPLOY, checkpoint_id="once", reason="why"))
            assert events(caplog, MCP_ADMIN_OP_EXECUTED) == []
            await approve(opened, item_id)
        assert service.done == ["deploy once"]
        (event,) = events(caplog, MCP_ADMIN_OP_EXECUTED)
        assert vars(event)["target_id"] == "once"
        assert (await item(opened, item_id)).consumed_at is not None
        assert "Deploy checkpoint once" not in await opened.reviews.undoable()
        told = await ask(ada, AdminTool.DEPLOY, checkpoint_id="once")
        assert told["data"]["note"] == "it is in force already"

    async def test_the_same_target_has_one_item_whoever_asks_and_why(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {"same": checkpoint("same")}
        first = waiting(await ask(ada, AdminTool.DELETE, checkpoint_id="same", **SURE))
        other = {"confirm": True, "reason": "another reason"}
        assert waiting(await ask(ada, AdminTool.DELETE, checkpoint_id="same", **other)) == first
        deployed = waiting(await ask(ada, AdminTool.DEPLOY, checkpoint_id="same"))
        assert deployed != first
        assert service.done == []

    async def test_what_was_rejected_is_refused_and_the_agent_reads_why(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {"no": checkpoint("no")}
        item_id = waiting(await ask(ada, AdminTool.DEPLOY, checkpoint_id="no"))
        await reject(opened, item_id, "I want to see more questions first")
        told = await ask(ada, AdminTool.DEPLOY, checkpoint_id="no")
        assert told["domain_code"] == "conflict"
        assert "I want to see more questions first" in told["message"]
        (request,) = [
            each
            for each in (await ask(ada, AdminTool.STATUS))["data"]["requests"]
            if each["item"] == item_id
        ]
        assert (request["status"], request["reason"]) == (
            "rejected",
            "I want to see more questions first",
        )
        assert service.done == []

    async def test_an_act_that_fails_is_told_and_nothing_is_tried_again(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {"gone": checkpoint("gone")}
        item_id = waiting(await ask(ada, AdminTool.DEPLOY, checkpoint_id="gone"))
        service.checkpoints = {}
        with pytest.raises(DomainError, match="is approved, but there is no such checkpoint"):
            await approve(opened, item_id)
        assert (await item(opened, item_id)).status is ApprovalStatus.APPROVED
        service.checkpoints = {"gone": checkpoint("gone")}
        assert await opened.reviews.undoable() is not None
        assert service.done == []

    @pytest.mark.parametrize(
        ("tool", "found", "kind"),
        [
            (AdminTool.DEPLOY, checkpoint("x", WORSE), "CheckpointRefused"),
            (AdminTool.DEPLOY, checkpoint("x", None), "CheckpointRefused"),
            (AdminTool.ROLL_BACK, checkpoint("x"), "CheckpointRollbackUnavailable"),
            (AdminTool.DELETE, checkpoint("x", is_active=True), "CheckpointActive"),
        ],
    )
    async def test_what_couldnt_be_done_isnt_asked_for(
        self,
        opened: Engine,
        service: ScriptedService,
        ada: AgentSession,
        tool: AdminTool,
        found: Any,
        kind: str,
    ) -> None:
        service.checkpoints = {"x": found}
        before = await opened.approvals.list()
        given = {"checkpoint_id": "x"} | ({} if tool is AdminTool.DEPLOY else SURE)
        told = await ask(ada, tool, **given)
        assert (told["error_type"], told["domain_code"]) == (kind, "conflict")
        assert await opened.approvals.list() == before

    async def test_rolling_back_and_deleting_are_done_when_approved(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {
            "old": checkpoint("old"),
            "live": checkpoint("live", is_active=True),
        }
        back = waiting(await ask(ada, AdminTool.ROLL_BACK, checkpoint_id="live", **SURE))
        gone = waiting(await ask(ada, AdminTool.DELETE, checkpoint_id="old", **SURE))
        await approve(opened, back)
        await approve(opened, gone)
        assert service.done == ["roll back live", "delete old"]

    async def test_it_is_approved_by_itself_and_not_with_others(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        service.checkpoints = {"bulk": checkpoint("bulk")}
        item_id = waiting(await ask(ada, AdminTool.DEPLOY, checkpoint_id="bulk"))
        shown = (await opened.reviews.review(item_id)).shown
        outcome = await opened.reviews.approve_many([(item_id, shown)], PERSON)
        assert [refused for refused, _ in outcome.refused] == [item_id]
        assert service.done == []


class TestGuardrails:
    @pytest.mark.parametrize("tool", sorted(tools.DESTRUCTIVE))
    async def test_they_come_in_order_before_anything_else(
        self, opened: Engine, service: ScriptedService, ada: AgentSession, tool: str
    ) -> None:
        service.error = AssertionError("asked")
        cases: tuple[tuple[dict[str, Any], str], ...] = (
            ({}, "missing_confirm"),
            ({"confirm": "true", "reason": "x"}, "missing_confirm"),
            ({"confirm": 1, "reason": "x"}, "missing_confirm"),
            ({"confirm": True}, "missing_reason"),
            ({"confirm": True, "reason": "  "}, "missing_reason"),
        )
        for given, code in cases:
            told = json.loads((await ada.call(tool, given)).content)
            assert told["domain_code"] == "guardrail_violated", given
            assert told["message"].startswith(code)

    async def test_whoever_has_no_name_is_told_first(self) -> None:
        reply = tools.guardrail({}, actor=" ")
        assert reply is not None
        assert "missing_actor" in reply.content


class TestDeletingMemories:
    async def test_a_memory_of_its_own_that_it_didnt_write_waits_for_a_person(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        learnt = await stored(opened, "ada", "Imported from a session.")
        reply = await delete(ada, learnt)
        (item_id,) = reply.waiting
        assert (await delete(ada, learnt)).waiting == (item_id,)
        assert await opened.memory.get("ada", learnt) is not None
        await approve(opened, item_id)
        assert await opened.memory.get("ada", learnt) is None

    async def test_another_agent_finds_no_such_memory_and_nobodys_is_found(
        self, opened: Engine, service: ScriptedService, ada: AgentSession
    ) -> None:
        bobs = await stored(opened, "bob", "Bob's, imported.")
        for session in (ada, joined(opened, "bob")):
            assert json.loads((await delete(session, bobs)).content)["domain_code"] == "not_found"

    async def test_what_it_wrote_goes_at_once_and_is_told_as_an_event(
        self,
        opened: Engine,
        service: ScriptedService,
        ada: AgentSession,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        own = await stored(opened, "ada", "I wrote this.", ORIGIN_TAG)
        with caplog.at_level(logging.INFO):
            assert not (await delete(ada, own)).is_error
        (event,) = events(caplog, MCP_ADMIN_OP_EXECUTED)
        assert vars(event)["target_id"] == own


async def stored(engine: Engine, agent: str, content: str, *tags: str) -> str:
    return await engine.memory.store(
        agent,
        MemoryStoreRequest(
            category=MemoryCategory.SEMANTIC, content=content, metadata=MemoryMetadata(tags=tags)
        ),
    )


async def delete(session: AgentSession, memory_id: str) -> CallReply:
    return await session.call(tools.DELETE_ENTRY, {"memory_id": memory_id, **SURE})


async def payload_of(engine: Engine, item_id: str) -> AdminPayload:
    subject = (await engine.reviews.review(item_id)).entry.subject
    assert isinstance(subject, AdminPayload)
    return subject
