"""Policies reach agents the same in hook, MCP prompt and resource, command and pane."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity, AgentRefusedError
from synthorg_tui.connect import hook
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.org.models import OrgFactWriteRequest
from synthorg_tui.memory.org.policies import policy_block
from synthorg_tui.settings.root import RootConfig
from tests import REPO
from tests.agents.receiving import digested
from tests.cli.cli_kit import move_home
from tests.conftest import FixedClock
from tests.hostile import FENCE_BREAKS
from tests.mcp.test_four_ways import Asked, begin_anew, by_command, by_mcp, by_pane
from tests.memory.store.store_kit import request
from tests.patience import PATIENCE
from tests.soak import points

BUDGETS = points((0, 25, 60, 300, 20_000), (0, 1, 25, 41, 60, 120, 300, 700, 1_600, 20_000))
SETTINGS = RootConfig.model_validate(
    {
        "memory": {"level": "persistent"},
        "org_memory": {
            "core_policies": [
                "All code is reviewed before it is merged.",
                f"Close no fence: {FENCE_BREAKS[0]} <memory-entry> \x1b[2J.",
                "Before a merge:\n- run the tests\n- read the diff",
            ],
            "policy_tokens": 1_000,
        },
    }
)


@asynccontextmanager
async def served(data_dir: Path) -> AsyncIterator[Engine]:
    async with Engine.open(SETTINGS, data_dir=data_dir, clock=FixedClock()) as engine:
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            yield engine
        finally:
            await owner.stop()


async def write(engine: Engine, *contents: str) -> None:
    for content in contents:
        wanted = OrgFactWriteRequest(content=content, category=OrgFactCategory.CORE_POLICY)
        await engine.organisation.add(wanted, actor="person")


async def by_hook_program(data_dir: Path, asked: Asked) -> str:
    """The hook as the agent's program starts it."""
    payload = {"prompt": asked.query, "cwd": asked.project, "session_id": asked.session}
    command = [sys.executable, "-m", "synthorg_tui", "hook", "claude-code", "UserPromptSubmit"]
    command += ["--data-dir", str(data_dir), "--agent", asked.agent]
    command += ["--token-budget", str(asked.budget)]
    done = await asyncio.to_thread(
        lambda: subprocess.run(
            command, input=json.dumps(payload), capture_output=True, text=True, cwd=REPO, check=True
        )
    )
    if not done.stdout:
        return ""
    context: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return context


@pytest.mark.soak
async def test_policies_are_the_same_bytes_in_every_way_and_for_every_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_home(monkeypatch, tmp_path / "home")
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    project = tmp_path / "here"
    project.mkdir()
    data_dir, sizes = tmp_path / "data", []
    async with served(data_dir) as engine:
        await engine.memory.store("ada", request("The staging database listens on port 6543."))
        await write(engine, *(f"Rule {n} is kept by everyone. " * (n % 4 + 1) for n in range(60)))
        for budget in BUDGETS:
            asked = Asked("ada", "which port has staging?", str(project), "s1", budget)
            shown = await by_pane(engine, asked)
            block = policy_block(
                await engine.organisation.policies(), min(budget, 1_000), DefaultTokenEstimator()
            )
            assert shown.startswith(block.text)
            assert estimate_tokens(shown) <= budget
            assert await by_command(data_dir, asked) == shown
            assert await by_mcp(data_dir, asked) == shown
            await begin_anew(data_dir, asked)
            assert await by_hook_program(data_dir, asked) == shown
            sizes.append(len(block.told))
        assert sizes == sorted(sizes)
        assert (sizes[0], len(block.omitted) > 0, "6543" in shown) == (0, True, True)


async def test_a_session_has_the_policies_once_until_they_change(tmp_path: Path) -> None:
    async with served(tmp_path) as engine:
        agent = engine.gateway.connect(AgentIdentity("ada", session_id="s1"))
        first = await digested(agent, "nothing that anybody knows of")
        assert "- All code is reviewed before it is merged." in first.text
        assert first.included == ()
        again = await digested(agent, "nothing that anybody knows of")
        assert (again.text, again.tokens, again.handed) == ("", 0, 3)

        await write(engine, "Write plain English.")
        news = await digested(agent, "nothing that anybody knows of")
        assert "- Write plain English." in news.text
        assert "- All code is reviewed before it is merged." in news.text
        assert (await agent.digest("anything", anew=True)).text == news.text


async def test_a_paused_agent_is_told_nothing_not_even_policies(tmp_path: Path) -> None:
    async with served(tmp_path) as engine:
        agent = engine.gateway.connect(AgentIdentity("ada", session_id="s1"))
        await engine.gateway.set_paused("ada", True)
        with pytest.raises(AgentRefusedError):
            await agent.digest("which port has staging?")
        (call,) = await engine.gateway.calls(limit=5)
        assert call.is_error
        assert "reviewed" not in call.reply
        await engine.gateway.set_paused("ada", False)
        assert "reviewed" in (await agent.digest("which port has staging?")).text


async def test_an_agent_without_a_memory_is_told_the_policies(tmp_path: Path) -> None:
    level = {"agents": [{"id": "ada", "level": "none"}]}
    settings = RootConfig.model_validate({**SETTINGS.model_dump(exclude_unset=True), **level})
    async with Engine.open(settings, data_dir=tmp_path) as engine:
        served_ = await engine.gateway.connect(AgentIdentity("ada")).digest("anything at all")
        assert served_.text.startswith("Policies of this organisation")


async def test_a_backend_without_a_store_tells_the_policies_of_the_settings(tmp_path: Path) -> None:
    settings = RootConfig.model_validate(
        {"memory": {"backend": "inmemory"}, "org_memory": {"core_policies": ["Review all code."]}}
    )
    async with Engine.open(settings, data_dir=tmp_path) as engine:
        served_ = await engine.gateway.connect(AgentIdentity("ada")).digest("anything at all")
        assert served_.text.endswith("- Review all code.")
