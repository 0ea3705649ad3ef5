"""No sequence of tool calls decides, writes for everybody, or raises an agent's rights."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui import __version__
from synthorg_tui.agents.guarded import ORIGIN_TAG
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.host import endpoint
from synthorg_tui.host.owner import Owner
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.skills import SkillsConfig
from tests.curation.review_kit import item_of, lesson
from tests.patience import PATIENCE
from tests.soak import points
from tests.tables import rows

STRATEGIES = ("context", "tool_based", "self_editing")


def config(strategy: str, writes: str) -> RootConfig:
    memory = {"level": "persistent", "retrieval": {"strategy": strategy}}
    access = {"writes": writes, "writes_per_minute": 10_000, "administrator": "ada"}
    given = {"memory": memory, "agent_access": access}
    quiet = SkillsConfig(project_roots=(), user_roots=())
    return RootConfig.model_validate(given).model_copy(update={"skills": quiet})


@asynccontextmanager
async def desk(
    data_dir: Path, strategy: str, writes: str = "direct"
) -> AsyncIterator[tuple[Engine, str]]:
    """An engine with one proposal waiting; its id."""
    async with Engine.open(config(strategy, writes), data_dir=data_dir) as engine:
        await engine.gateway.open()
        item = item_of(lesson())
        await engine.approvals.add(item)
        yield engine, item.id


async def untouchable(engine: Engine, item_id: str) -> dict[str, Any]:
    """What no agent may change: decisions, shared memories, facts, skills, settings, rights."""
    shared = await engine.memory.search_shared(MemoryQuery(limit=100))  # type: ignore[attr-defined]
    return {
        "item": await engine.approvals.get(item_id),
        "shared": shared,
        "skills": await engine.ledger.all(),
        "settings": engine.settings.model_dump(mode="json"),
        "facts": await engine.organisation.entries(retracted=True),
        "rights": engine.gateway.rights("ada"),
        "files": sorted(str(path) for path in (engine.data_dir / "skills").rglob("*")),
    }


def tries(schema: dict[str, Any], item_id: str, random_: random.Random) -> list[dict[str, Any]]:
    """Arguments that fit, that don't, and that name what an agent has no business with."""
    names = [
        *schema.get("properties", {}),
        "person",
        "approve",
        "decision",
        "status",
        "actor",
        "scope",
    ]
    texts = (
        item_id,
        "approved",
        "../../config/company.yaml",
        "__synthorg_shared__",
        "person (tui)",
    )
    values: tuple[Any, ...] = (*texts, True, 1, None, [item_id], {"status": "approved"})
    fitting = {
        "query": "git push", "content": f"approve {item_id}", "category": "semantic",
        "memory_id": item_id, "name": "skill", "task": f"approve {item_id}",
        "outcome": "completed", "confirm": True, "reason": "because",
    }  # fmt: skip
    known = {key: value for key, value in fitting.items() if key in schema.get("properties", {})}
    mixed = [
        {name: random_.choice(values) for name in random_.sample(names, 3)}
        for _ in range(points(4, 16))
    ]
    return [known, *({**known, **each} for each in mixed), *mixed]


@pytest.mark.soak
@rows("strategy", STRATEGIES)
async def test_every_tool_leaves_decisions_and_rights_alone(tmp_path: Path, strategy: str) -> None:
    random_ = random.Random(strategy)
    async with desk(tmp_path, strategy) as (engine, item_id):
        session = engine.gateway.connect(AgentIdentity("ada", client="test"))
        before = await untouchable(engine, item_id)
        offered = await session.tools()
        for tool in offered:
            for arguments in tries(dict(tool.parameters), item_id, random_):
                reply = await session.call(tool.name, arguments)
                assert "unexpected" not in reply.content
        assert await untouchable(engine, item_id) == before
        calls = await engine.gateway.calls(limit=1000)
    assert {each.name for each in calls} == {tool.name for tool in offered}


@pytest.mark.soak
@rows("strategy", STRATEGIES)
async def test_where_writes_wait_no_tool_lets_any_of_them_count(
    tmp_path: Path, strategy: str
) -> None:
    """Twice each: neither repeating a write nor naming the items that wait moves them."""
    random_ = random.Random(strategy)
    async with desk(tmp_path, strategy, "approval") as (engine, item_id):
        memory_id = await engine.memory.store("ada", _own_writing())
        session = engine.gateway.connect(AgentIdentity("ada", client="test"))
        before, waiting = await untouchable(engine, item_id), {item_id}
        for tool in await session.tools():
            for arguments in tries(dict(tool.parameters), item_id, random_):
                for named in (arguments, {**arguments, "memory_id": memory_id}):
                    waiting |= {*(await session.call(tool.name, named)).waiting}
        for tool in await session.tools():
            known = tries(dict(tool.parameters), sorted(waiting)[0], random_)[0]
            for waits in sorted(waiting):
                reply = await session.call(tool.name, {**known, "memory_id": waits})
                assert set(reply.waiting) <= waiting
        entries = await engine.reviews.inbox(status=None)
        assert await untouchable(engine, item_id) == before
        assert [each.id for each in (await engine.desk.browse(BrowseFilter())).entries] == [
            memory_id
        ]
    writes = {"write"} if strategy == "self_editing" else set()
    assert {"delete", *writes} <= {each.kind.value for each in entries}
    assert {each.item.status for each in entries} == {ApprovalStatus.PENDING}
    assert {each.item.id for each in entries if each.kind != "lesson"} == waiting - {item_id}


def _own_writing() -> MemoryStoreRequest:
    tags = MemoryMetadata(tags=(ORIGIN_TAG,))
    return MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC, content="I wrote this.", metadata=tags
    )


async def test_a_thousand_fuzzed_messages_leave_the_owner_alive_and_nothing_changed(
    tmp_path: Path,
) -> None:
    random_ = random.Random(7)
    methods = (
        "host.hello",
        "agent.call",
        "agent.digest",
        "reviews.approve",
        "desk.purge",
        "$/cancel",
        "",
    )
    async with desk(tmp_path, "context") as (engine, item_id):
        owner = Owner(engine, data_dir=tmp_path, kind="app")
        await owner.start()
        before = await untouchable(engine, item_id)
        for _ in range(20):
            await _fuzz(tmp_path, random_, methods, item_id)
        await asyncio.wait_for(owner.idle.wait(), PATIENCE)
        assert await untouchable(engine, item_id) == before
        assert await _greets(tmp_path)
        await owner.stop()


async def _fuzz(
    data_dir: Path, random_: random.Random, methods: tuple[str, ...], item_id: str
) -> None:
    """Fifty messages on one connection, then silence."""
    reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(data_dir))
    hello = {"version": __version__, "agent": {"agent_id": "ada"}}
    parts: tuple[Any, ...] = (
        {},
        hello,
        {"name": "x", "arguments": {}},
        {"item_id": item_id},
        [],
        None,
    )
    for number in range(50):
        message = {
            "jsonrpc": "2.0",
            "id": random_.choice((number, str(number), None, {}, -1)),
            "method": random_.choice(methods),
            "params": random_.choice(parts),
        }
        data = bytearray(json.dumps(message).encode())
        for _ in range(random_.choice((0, 0, 1, 5))):
            data[random_.randrange(len(data))] = random_.choice(b'\x00{}[]",:\xff\\1a')
        writer.write(bytes(data).replace(b"\n", b" ") + b"\n")
    try:
        await asyncio.wait_for(writer.drain(), PATIENCE)
        await asyncio.wait_for(reader.read(1024), PATIENCE)
    except (OSError, TimeoutError):
        pass
    writer.close()


async def _greets(data_dir: Path) -> bool:
    reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(data_dir))
    message = {"id": 1, "method": "host.hello", "params": {"version": __version__}}
    writer.write(json.dumps(message).encode() + b"\n")
    answer = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
    writer.close()
    return "result" in answer
