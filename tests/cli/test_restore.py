"""``restore`` and ``move`` answer others from the store that is there; they can be killed."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.connect import hook
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.host.client import RemoteEngine, remote_engine
from synthorg_tui.host.errors import RefusedError
from synthorg_tui.host.opening import lock_of, reach
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.persistence.backups import restore_backup
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.settings.root import RootConfig
from tests.cli.cli_kit import move_home
from tests.memory.store.store_kit import AGENT, opened, request
from tests.patience import PATIENCE
from tests.persistence.damage_kit import BLOCK, FIRST_BLOCK, flip
from tests.postgres_switch import files_only
from tests.tables import rows

pytestmark = files_only

SETTINGS = RootConfig.model_validate(
    {"memory": {"level": "persistent", "retrieval": {"strategy": "self_editing"}}}
)
HELD = textwrap.dedent(
    """
    import importlib, sys
    from synthorg_tui.cli import main
    module, _, path = sys.argv[1].partition(":")
    target, (*parts, name) = importlib.import_module(module), path.split(".")
    for part in parts:
        target = getattr(target, part)
    original = getattr(target, name)

    def held(*args, **options):
        print("held", flush=True)
        sys.stdin.readline()
        return original(*args, **options)

    setattr(target, name, held)
    sys.exit(main(sys.argv[2:]))
    """
)
"""A command that, before it calls one of its functions, says so and waits for a line."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the processes that a test starts find no settings of the person's own."""
    move_home(monkeypatch, tmp_path / "user")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return tmp_path / "home"


@pytest.fixture
async def backup(home: Path, tmp_path: Path) -> Path:
    """A backup of a store that got another memory since."""
    path = tmp_path / "old.duckdb"
    async with opened(home) as backend:
        await backend.store(AGENT, request("the backup has the port 6543"))
    path.write_bytes((home / "memory.duckdb").read_bytes())
    async with opened(home) as backend:
        await backend.store(AGENT, request("the port is 7654 by now"))
    return path


@asynccontextmanager
async def held(data_dir: Path, function: str, *command: str) -> AsyncIterator[None]:
    """Run a command that stops before a function; it goes on, to its end, with the block's end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HELD, function, "--data-dir", str(data_dir), *command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert (await process.stdout.readline()).strip() == b"held"
    try:
        yield
    finally:
        await process.communicate(b"\n" * 10)
    assert process.returncode == 0


async def assert_only_reads(remote: RemoteEngine, data_dir: Path, why: str) -> None:
    """Searches, hooks and agents are answered; whoever would change something is refused."""
    found = await remote.desk.find(MemoryQuery(text="which port?"))
    assert any("7654" in hit.content for hit in found.hits)
    assert "7654" in await asyncio.to_thread(digest, data_dir)
    with pytest.raises(RefusedError, match=why):
        await remote.memory.store(AGENT, request("never acknowledged"))
    agent = AgentConnection(data_dir, AgentIdentity(AGENT))
    with pytest.raises(RefusedError, match=why):
        await agent.call("archival_memory_write", {"content": "x", "category": "semantic"})
    assert await agent.tools()
    await agent.close()


def digest(data_dir: Path) -> str:
    """What the hook of a prompt hands to the agent."""
    given, output = io.BytesIO(b'{"prompt": "which port?"}'), io.StringIO()
    arguments = ["claude-code", "UserPromptSubmit", "--data-dir", str(data_dir), "--agent", AGENT]
    assert hook.main(arguments, stdin=given, stdout=output) == 0
    return output.getvalue()


async def test_others_are_answered_while_a_backup_is_read(
    home: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    verify = "synthorg_tui.persistence.backups:verify_copy"
    async with (
        held(home, verify, "restore", str(backup), "--yes"),
        remote_engine(home, SETTINGS, role="test") as remote,
    ):
        await assert_only_reads(remote, home, "a backup is being restored")
    assert await counted_by_the_next_owner(home) == 1


async def counted_by_the_next_owner(data_dir: Path) -> int:
    """How many memories the owner has that follows the command, which the agent was a reason for.

    It is ended.
    """
    connection = await reach(data_dir, role="test", patience=PATIENCE)
    count: int = await RemoteEngine(connection, SETTINGS).memory.count(AGENT)
    os.kill(connection.owner.pid, signal.SIGTERM)
    await asyncio.wait_for(connection.ended(), PATIENCE)
    await connection.close()
    return count


async def test_an_owner_without_a_screen_makes_room_for_a_restore(home: Path, backup: Path) -> None:
    before = await reach(home, role="test", patience=PATIENCE)
    await restore_backup(home, backup, lock=await lock_of(home))
    await asyncio.wait_for(before.ended(), PATIENCE)
    await before.close()
    async with opened(home) as backend:
        assert await backend.count(AGENT) == 1


async def test_a_store_that_can_not_be_opened_is_restored_alone(home: Path, backup: Path) -> None:
    present = home / "memory.duckdb"
    flip(present, present.read_bytes(), FIRST_BLOCK + BLOCK + 50_000)
    command = ["--data-dir", str(home), "restore", str(backup), "--yes"]
    ran = await asyncio.create_subprocess_exec(sys.executable, "-m", "synthorg_tui", *command)
    assert await ran.wait() == 0
    async with opened(home) as backend:
        assert await backend.count(AGENT) == 1


KILLED = HELD.replace(
    'print("held", flush=True)', "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
)
STEPS = {
    "synthorg_tui.persistence.backups:copy_in_child": 2,
    "synthorg_tui.persistence.backups:verify_copy": 2,
    "synthorg_tui.persistence.backups:_start_new_epoch": 2,
    "synthorg_tui.persistence.backups:_set_aside": 2,
    "synthorg_tui.persistence.backups:_logs_aside": 2,
    "synthorg_tui.persistence.backups:remove_file": 1,
}
"""The steps of a restore, and how many memories are there after it was killed before one."""


@rows("step", list(STEPS))
async def test_a_restore_that_is_killed_leaves_one_store_whole(
    home: Path, backup: Path, step: str
) -> None:
    command = ["--data-dir", str(home), "restore", str(backup), "--yes"]
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, step, *command)
    assert await ran.wait() == -signal.SIGKILL
    loose = [path.name for path in home.iterdir() if path.is_file() and path.stat().st_mode & 0o077]
    assert loose == []
    async with own_database(home):
        assert not list(home.glob("*.restored*"))
    async with opened(home) as backend:
        assert await backend.count(AGENT) == STEPS[step]


@pytest.fixture
def url(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server without a store, as the environment names it."""
    monkeypatch.setenv("STORE_URL", postgres_url)
    return postgres_url


async def test_others_are_answered_while_a_store_is_moved(
    home: Path, backup: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    copying = "synthorg_tui.persistence.moving:_Copying.run"
    move = ("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes")
    async with held(home, copying, *move), remote_engine(home, SETTINGS, role="test") as remote:
        await assert_only_reads(remote, home, "the store is being moved")
    assert await counted_by_the_next_owner(home) == 2
