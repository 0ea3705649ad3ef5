"""Which facts agents are told of a real store, and which digests carried what."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.core.enums import MemoryCategory, OrgFactCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.org.errors import OrgMemoryQueryError
from synthorg_tui.memory.org.models import OrgFactWriteRequest
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import Injection, InjectionRequest
from synthorg_tui.settings.root import RootConfig
from tests.agents.receiving import digested

POLICIES = ("All code is reviewed before it is merged.", "Never push to main.")
PORT = "The staging database listens on port 6543, behind the tunnel."
WHEN = "Deploys of the billing service happen on Thursdays only."


@asynccontextmanager
async def opened(data_dir: Path, *policies: str, **org: object) -> AsyncIterator[Engine]:
    settings = {"memory": {"level": "persistent"}, "org_memory": {"core_policies": policies, **org}}
    async with Engine.open(RootConfig.model_validate(settings), data_dir=data_dir) as engine:
        yield engine


async def write(
    engine: Engine, content: str, category: OrgFactCategory = OrgFactCategory.CONVENTION, *tags: str
) -> str:
    request = OrgFactWriteRequest(content=content, category=category, tags=tags)
    return (await engine.organisation.add(request, actor="person")).id


async def asked(engine: Engine, query: str, project: str | None = None) -> Injection:
    view = Visibility(None, project)
    return await engine.injection.prepare(InjectionRequest("ada", query, 2_000, visibility=view))


def agent(engine: Engine, session: str) -> AgentSession:
    return engine.gateway.connect(AgentIdentity("ada", session_id=session))


async def test_a_fact_is_told_where_it_is_evidence_for_the_question(tmp_path: Path) -> None:
    async with opened(tmp_path, *POLICIES) as engine:
        port = await write(engine, PORT, OrgFactCategory.ADR)
        await write(engine, WHEN)
        found = await asked(engine, "which port does the staging database use?")
        assert [each.id for each in found.explanation.facts if each.verdict.is_in] == [port]
        assert PORT in found.text
        assert WHEN not in found.text
        nothing = await asked(engine, "zebra quantum marmalade")
        assert nothing.explanation.facts == ()
        assert nothing.text.endswith("- Never push to main.")


async def test_a_fact_of_a_project_is_told_in_it_alone_and_a_retracted_one_nowhere(
    tmp_path: Path,
) -> None:
    question = "which port does the staging database use?"
    async with opened(tmp_path) as engine:
        port = await write(engine, PORT, OrgFactCategory.CONVENTION, "project:/srv/app")
        assert PORT in (await asked(engine, question, "/srv/app")).text
        assert PORT not in (await asked(engine, question, "/srv/other")).text
        await engine.organisation.retract(port, actor="person")
        assert PORT not in (await asked(engine, question, "/srv/app")).text


async def test_what_a_shared_memory_says_is_not_told_again_as_a_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        backend = engine.memory
        assert isinstance(backend, LocalMemoryBackend)
        shared = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=PORT)
        await backend.publish("eve", shared)
        await write(engine, PORT)
        found = await asked(engine, "which port does the staging database use?")
        assert found.text.count("6543") == 1
        assert [each.verdict for each in found.explanation.facts] == [Verdict.ALIKE]
        assert [each.is_shared for each in found.explanation.included] == [True]


async def test_at_most_as_many_facts_as_the_settings_say(tmp_path: Path) -> None:
    async with opened(tmp_path, extended_store={"max_retrieved_per_query": 2}) as engine:
        for host in range(5):
            await write(engine, f"The staging database of host {host} listens on port 654{host}.")
        found = await asked(engine, "which port does the staging database use?")
        assert sum(each.verdict.is_in for each in found.explanation.facts) == 2


async def test_who_looks_back_is_told_the_policies_of_that_time(tmp_path: Path) -> None:
    async with opened(tmp_path, POLICIES[0]) as engine:
        await write(engine, "Write plain English.", OrgFactCategory.CORE_POLICY)
        between = datetime.now(UTC)
        await write(engine, "Measure first.", OrgFactCategory.CORE_POLICY)
        request = InjectionRequest("ada", "anything", 2_000, as_of=between)
        then = (await engine.injection.prepare(request)).text
        assert [line for line in then.split("\n") if line.startswith("- ")] == [
            f"- {POLICIES[0]}",
            "- Write plain English.",
        ]
        assert "- Measure first.\n- Write plain English." in (await asked(engine, "anything")).text


async def test_a_person_can_ask_which_digests_carried_a_policy_or_a_fact(tmp_path: Path) -> None:
    question = "which port does the staging database use?"
    async with opened(tmp_path, *POLICIES) as engine:
        written = await write(engine, "Write plain English.", OrgFactCategory.CORE_POLICY)
        port = await write(engine, PORT)
        await digested(agent(engine, "s1"), "anything at all")
        await digested(agent(engine, "s1"), question)
        await digested(agent(engine, "s2"), question)
        (newest,) = await engine.gateway.calls(limit=1)
        assert newest.memory_ids == ("core-policy-0", "core-policy-1", written, port)

        organisation = engine.organisation
        tasks = [use.task for use in await organisation.uses(written)]
        assert tasks == [question, "anything at all"]
        assert [use.task for use in await organisation.uses(port)] == [question, question]
        assert len(await organisation.uses(port, limit=1)) == 1
        assert len(await organisation.uses("core-policy-1")) == 2
        (use,) = await organisation.uses(written[:13], limit=1)
        assert (use.agent_id, use.name, use.number) == ("ada", "digest", newest.number)
        with pytest.raises(OrgMemoryQueryError):
            await organisation.uses("nobody-wrote-this")


async def test_a_policy_of_the_settings_is_asked_for_by_its_words_not_by_its_place(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, *POLICIES) as engine:
        await agent(engine, "s1").digest("anything at all")
    async with opened(tmp_path, POLICIES[1], "Measure first.") as engine:
        assert await engine.organisation.uses("core-policy-0") == ()
        assert await engine.organisation.uses("core-policy-1") == ()
    async with opened(tmp_path, POLICIES[0]) as engine:
        assert len(await engine.organisation.uses("core-policy-0")) == 1


async def test_erasing_a_fact_reaches_the_digests_that_carried_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        port = await write(engine, PORT)
        await agent(engine, "s1").digest("which port does the staging database use?")
        (call,) = await engine.gateway.calls(limit=1)
        assert PORT in call.reply
        await engine.organisation.erase(port, actor="person")
        (call,) = await engine.gateway.calls(limit=1)
        assert "port 6543" not in f"{call.reply}{call.explanation}"
