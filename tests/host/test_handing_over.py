"""A long command is ready for agents before it listens; then an owner follows that goes on."""

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.engine import Engine
from synthorg_tui.host import headless, opening, owner
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.host.client import connect, remote_engine
from synthorg_tui.host.opening import engine_or_owner, served
from synthorg_tui.persistence.lock import DataDirLock
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig
from tests.cli.cli_kit import move_home
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only

SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})
ADA = AgentIdentity("ada", project="/srv/tidepool", client="test 1")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own settings aren't read, neither here nor by an owner that is started."""
    move_home(monkeypatch, tmp_path / "home")


LISTENING = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.core.enums import MemoryCategory
    from synthorg_tui.engine import Engine
    from synthorg_tui.host.agent import AgentConnection
    from synthorg_tui.host.client import remote_engine
    from synthorg_tui.host.opening import served
    from synthorg_tui.host.owner import Owner
    from synthorg_tui.learning.actions import AgentAction
    from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
    from synthorg_tui.settings.root import RootConfig

    loaded, start = set(), Owner.start

    async def starting(owner):
        loaded.update(sys.modules)
        await start(owner)

    async def main(data_dir):
        settings = RootConfig.model_validate({"memory": {"level": "persistent"}})
        agent = AgentConnection(data_dir, AgentIdentity("ada", project="/srv/tidepool"))
        fact = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="The port is 6543.")
        async with Engine.open(settings, data_dir=data_dir) as engine:
            await engine.memory.store("ada", fact)
            async with served(engine, is_long=True), remote_engine(
                data_dir, settings, role="test"
            ) as remote:
                assert "6543" in (await agent.digest("which port?")).text
                await agent.hint("before", AgentAction("Bash", "git push"))
                await remote.desk.find(MemoryQuery(text="port"))
                await agent.close()
                late = sorted(each for each in sys.modules.keys() - loaded if "synthorg" in each)
        print(*late, sep="\\n")

    Owner.start = starting
    asyncio.run(main(Path(sys.argv[1])))
    """
)


def test_what_agents_and_searches_need_is_loaded_before_a_long_command_listens(
    tmp_path: Path,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LISTENING, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout.split()) == (0, []), ran.stderr


async def test_the_services_of_agents_wait_for_one_where_the_command_is_short(
    tmp_path: Path,
) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine, served(engine):
        assert "gateway" not in vars(engine)
        await (await connect(tmp_path, role="test")).close()
        assert "gateway" in vars(engine)


async def test_a_command_answers_until_the_owner_that_follows_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "HELLO_TIMEOUT", PATIENCE)
    begun = asyncio.Event()
    monkeypatch.setattr(opening, "spawn", lambda *_: begun.set())
    agent = AgentConnection(tmp_path, ADA)
    opened = engine_or_owner(load_settings(), data_dir=tmp_path, role="test")
    await opened.__aenter__()
    await agent.tools()
    leaving = asyncio.create_task(opened.__aexit__(None, None, None))
    await begun.wait()
    assert await agent.skills() == ()
    async with remote_engine(tmp_path, SETTINGS, role="test") as remote:
        assert await remote.memory.count("ada") == 0
    lock = DataDirLock(tmp_path)
    waiting = asyncio.create_task(lock.wait())  # it isn't turned away
    await asyncio.sleep(0)
    assert not leaving.done()
    assert not waiting.done()
    await (await connect(tmp_path, role=owner.NEXT)).close()
    await leaving
    await waiting
    lock.release()
    await agent.close()


async def test_nobody_follows_a_command_that_answered_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(opening, "spawn", lambda *given: begun.append(given))
    async with (
        engine_or_owner(load_settings(), data_dir=tmp_path, role="test"),
        remote_engine(tmp_path, SETTINGS, role="test") as remote,
    ):
        await remote.agents()
    assert begun == []


@files_only
async def test_an_agent_goes_on_with_the_owner_that_its_command_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "HELLO_TIMEOUT", PATIENCE)
    monkeypatch.setattr(opening, "PATIENCE", PATIENCE)
    started, spawn = list["subprocess.Popen[bytes]"](), headless.spawn

    def starting(*args: object, **options: object) -> "subprocess.Popen[bytes]":
        started.append(spawn(*args, **options))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(opening, "spawn", starting)
    agent = AgentConnection(tmp_path / "store", ADA, patience=PATIENCE)
    async with engine_or_owner(load_settings(), data_dir=tmp_path / "store", role="test"):
        await agent.tools()
    assert len(started) == 1
    await agent.tools()
    assert (await agent.open()).owner.pid in [each.pid for each in started]
    await agent.close()
    for each in started:
        each.terminate()
        await until(lambda process=each: process.poll() is not None)  # type: ignore[misc]
