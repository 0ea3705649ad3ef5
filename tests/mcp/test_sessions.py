"""One session of a coding agent: its hooks and its MCP client share what is limited to it."""

import asyncio
import json
import sys
from pathlib import Path

from mcp import Client

from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.settings.root import RootConfig
from tests import REPO
from tests.mcp.mcp_kit import bridge, text_of

SETTINGS = RootConfig.model_validate(
    {"memory": {"level": "session", "retrieval": {"strategy": "self_editing"}}}
)
FACT = {"content": "The lighthouse has seven lamps."}


async def run_hook(event: str, data_dir: Path, session_id: str) -> str:
    """What the real hook prints."""
    payload = {"session_id": session_id, "cwd": str(REPO), "prompt": "how many lamps?"}
    command = ["-m", "synthorg_tui", "hook", "claude-code", event]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        *("--agent", "ada", "--data-dir", str(data_dir)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate(json.dumps(payload).encode())
    assert process.returncode == 0
    return output.decode()


async def test_a_session_is_one_over_hooks_and_mcp_and_over_reconnects_until_it_ends(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            await run_hook("SessionStart", data_dir, "s1")
            async with Client(bridge(data_dir)) as client:
                assert not (await client.call_tool("core_memory_write", FACT)).is_error
            assert "seven lamps" in await run_hook("UserPromptSubmit", data_dir, "s1")
            async with Client(bridge(data_dir)) as client:
                assert "seven lamps" in text_of(await client.call_tool("core_memory_read"))
            assert await run_hook("UserPromptSubmit", data_dir, "s2") == ""
            await run_hook("UserPromptSubmit", data_dir, "s1")
            await run_hook("SessionEnd", data_dir, "s1")
            assert await run_hook("UserPromptSubmit", data_dir, "s1") == ""
            deleted = await engine.desk.browse(BrowseFilter(deleted=True))
            assert [row.content for row in deleted.entries] == [FACT["content"]]
        finally:
            await owner.stop()
