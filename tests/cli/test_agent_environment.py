"""What commands may do inside a coding agent's environment: what the agent may, and no more."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.agents.guarded import ORIGIN_TAG
from synthorg_tui.agents.models import AgentIdentity, AgentRefusedError
from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.approvals.person import Person
from synthorg_tui.core.actors import actor_words
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.memory.extensions import BrowseFilter, ListedMemory, MemoryEdit
from synthorg_tui.memory.models import MemoryDraft, MemoryStoreRequest
from synthorg_tui.settings.root import RootConfig
from tests.cli.cli_kit import Cli, Result, move_home, runner
from tests.curation.review_kit import item_of, lesson

Run = Callable[..., Awaitable[Result]]
TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
HERS = "Deploy on Fridays only after the smoke test."


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    move_home(monkeypatch, tmp_path)
    monkeypatch.setenv("CLAUDECODE", "1")
    return runner(tmp_path, capsys)


@asynccontextmanager
async def desk(cli: Cli, data_dir: Path, **access: object) -> AsyncIterator[tuple[Engine, Run]]:
    """The engine of an open app, and commands that an agent runs beside it."""
    settings = RootConfig.model_validate({"agent_access": access})
    async with Engine.open(settings, data_dir=data_dir) as engine:
        await engine.gateway.open()
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            yield engine, lambda *args: asyncio.to_thread(cli, *args)
        finally:
            await owner.stop()


async def hers(engine: Engine, agent: str = "codex") -> str:
    """A memory that a person added to an agent's."""
    draft = MemoryDraft(request=MemoryStoreRequest(category="semantic", content=HERS))
    outcome = await engine.memory.store_many(  # type: ignore[attr-defined]
        agent, [draft], actor=str(Person("tui"))
    )
    return str(outcome.added[0])


async def live(engine: Engine) -> dict[str, ListedMemory]:
    page = await engine.desk.browse(BrowseFilter())
    return {row.id: row for row in page.entries}


async def test_what_a_command_adds_is_the_agents_own_marked_and_redacted(
    cli: Cli, tmp_path: Path
) -> None:
    async with desk(cli, tmp_path) as (engine, run):
        text = f"Push with {TOKEN}"
        added = await run("memories", "add", "--agent", "claude-code", "--tags", "git", text)
        (memory,) = (await live(engine)).values()
        (revision,) = await engine.desk.history(memory.id)
        (call,) = await engine.gateway.calls()
    assert (added.code, memory.agent_id) == (0, "claude-code")
    assert "1 secret was replaced by [REDACTED:github-token]" in added.err
    assert memory.content == "Push with [REDACTED:github-token]"
    assert memory.tags == ("git", ORIGIN_TAG)
    assert memory.source == "agent:Claude Code"
    assert actor_words(revision.actor) == "agent claude-code, by a command it ran"
    assert (call.agent_id, call.name, call.wrote) == ("claude-code", "memories add", True)
    assert TOKEN not in call.arguments


async def test_another_agents_memory_is_not_added_to(cli: Cli, tmp_path: Path) -> None:
    async with desk(cli, tmp_path) as (engine, run):
        refused = await run("memories", "add", "--agent", "codex", "Always run curl")
        assert await live(engine) == {}
    assert refused.code == 1
    assert "it adds to the memory of claude-code, not of codex" in refused.err


@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_what_it_did_not_write_is_neither_changed_nor_deleted(
    cli: Cli, tmp_path: Path, agent: str
) -> None:
    async with desk(cli, tmp_path) as (engine, run):
        memory_id = await hers(engine, agent)
        for command in (("edit", memory_id, "--content", "evil"), ("delete", memory_id, "--yes")):
            refused = await run("memories", *command)
            assert refused.code == 1
            assert "Ask the person to do it in the app." in refused.err
        await engine.desk.remove([memory_id], actor=str(Person("tui")))
        assert (await run("memories", "restore", memory_id)).code == 1
        assert await live(engine) == {}


async def test_it_changes_deletes_and_brings_back_what_it_wrote(cli: Cli, tmp_path: Path) -> None:
    async with desk(cli, tmp_path) as (engine, run):
        args = ("add", "--agent", "claude-code", "one", "--json")
        memory_id = (await run("memories", *args)).json["id"]
        edited = await run("memories", "edit", memory_id, "--content", "two", "--tags", "b")
        assert edited.code == 0
        row = (await live(engine))[memory_id]
        assert (row.content, row.tags) == ("two", ("b", ORIGIN_TAG))
        assert (await run("memories", "delete", memory_id)).out == "Deleted 1 memory.\n"
        assert await live(engine) == {}
        assert (await run("memories", "restore", memory_id)).out == "Restored 1 memory.\n"
        assert list(await live(engine)) == [memory_id]


async def test_what_a_person_edited_or_deleted_is_no_longer_its_own(
    cli: Cli, tmp_path: Path
) -> None:
    async with desk(cli, tmp_path) as (engine, run):
        args = ("add", "--agent", "claude-code", "one", "--json")
        memory_id = (await run("memories", *args)).json["id"]
        me = str(Person("tui"))
        await engine.desk.edit(memory_id, MemoryEdit(content="hers now"), actor=me)
        refused = await run("memories", "edit", memory_id, "--content", "mine")
        assert "was edited by a person at the app and is theirs now" in refused.err
        await engine.desk.remove([memory_id], actor=me)
        refused = await run("memories", "restore", memory_id)
        assert "was deleted by a person at the app" in refused.err


async def test_where_writes_need_approval_they_become_proposals(cli: Cli, tmp_path: Path) -> None:
    async with desk(cli, tmp_path, writes="approval") as (engine, run):
        told = await run("memories", "add", "--agent", "claude-code", "x is y", "--json")
        (item,) = await engine.approvals.list(status=ApprovalStatus.PENDING)
        assert told.json == {"waiting": [item.id]}
        assert actor_words(item.requested_by) == "agent claude-code"
        assert await live(engine) == {}


@pytest.mark.parametrize("limit", ["off", "paused", "read-only"])
async def test_an_agent_that_may_not_write_adds_nothing(
    cli: Cli, tmp_path: Path, limit: str
) -> None:
    async with desk(cli, tmp_path, writes="off" if limit == "off" else "direct") as (engine, run):
        await engine.gateway.set_paused("claude-code", limit == "paused")
        await engine.gateway.set_read_only("claude-code", limit == "read-only")
        refused = await run("memories", "add", "--agent", "claude-code", "x is y")
        assert refused.code == 1
        words = "a person paused this agent" if limit == "paused" else "this agent may only read"
        assert words in refused.err
        assert await live(engine) == {}


async def test_its_allowance_is_counted_over_all_its_commands(cli: Cli, tmp_path: Path) -> None:
    async with desk(cli, tmp_path, writes_per_minute=1) as (engine, run):
        assert (await run("memories", "add", "--agent", "claude-code", "first")).code == 0
        assert (
            "too many writes"
            in (await run("memories", "add", "--agent", "claude-code", "second")).err
        )
        assert len(await live(engine)) == 1


async def test_nothing_that_only_a_person_may_do_is_done(cli: Cli, tmp_path: Path) -> None:
    async with desk(cli, tmp_path) as (engine, run):
        memory_id = await hers(engine)
        for command in (
            ("memories", "purge", memory_id, "--yes"),
            ("restore",),
            ("scenarios", "save", "s", "q", "--agent", "codex", "--token-budget", "9"),
            ("scenarios", "delete", "s"),
            ("connect", "codex", "--yes"),
            ("disconnect", "codex"),
            ("sessions", "delete", "codex:019a", "--yes"),
            ("agents", "resume", "codex"),
            ("agents", "undo", "1"),
            ("hints", "silence", "command", "git push"),
            ("hints", "unsilence", "command", "git push"),
        ):
            refused = await run(*command)
            assert refused.code == 1
            assert "Claude Code (CLAUDECODE is set) runs this; only a person decides" in refused.err
        assert list(await live(engine)) == [memory_id]
        assert (await run("memories", "show", memory_id)).code == 0


@pytest.mark.parametrize(
    "agent_id", ["person", "person (tui)", "root (terminal)", "policy (x)", "import", "agent x"]
)
async def test_no_agent_connects_under_a_name_that_reads_as_somebody_else(
    cli: Cli, tmp_path: Path, agent_id: str
) -> None:
    async with desk(cli, tmp_path) as (engine, _):
        with pytest.raises(AgentRefusedError, match="names somebody else"):
            engine.gateway.connect(AgentIdentity(agent_id))


@pytest.mark.parametrize("decision", [("approve",), ("reject", "--reason", "no"), ("snooze",)])
async def test_a_decision_is_refused_and_its_trail_names_the_agent(
    cli: Cli, tmp_path: Path, decision: tuple[str, ...]
) -> None:
    item = item_of(lesson())
    async with Engine.open(data_dir=tmp_path) as engine:
        await engine.approvals.add(item)
    verb, *more = decision
    refused = await asyncio.to_thread(
        cli, "proposals", verb, item.id, *more, *(["7d"] if verb == "snooze" else [])
    )
    async with Engine.open(data_dir=tmp_path) as engine:
        *_, last = await engine.approvals.events(item.id)
        (pending,) = await engine.approvals.list(status=ApprovalStatus.PENDING)
    assert refused.code == 1
    assert pending.id == item.id
    assert (last.kind, last.actor) == ("refused", "claude-code (environment)")
    assert "only a person decides" in last.reason
