"""An owner, and a bridge to it, for tests of the MCP server."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp_types import CallToolResult, TextContent

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.mcp.connections import ActingAgent
from synthorg_tui.settings.root import RootConfig
from tests import REPO
from tests.curation.review_kit import PERSON, item_of, lesson


def settings_data(strategy: str = "self_editing") -> dict[str, Any]:
    return {"memory": {"level": "persistent", "retrieval": {"strategy": strategy}}}


@asynccontextmanager
async def owned(
    data_dir: Path, strategy: str = "self_editing"
) -> AsyncIterator[tuple[Engine, Owner]]:
    settings = RootConfig.model_validate(settings_data(strategy))
    async with Engine.open(settings, data_dir=data_dir) as engine:
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            yield engine, owner
        finally:
            await owner.stop()


def acting(data_dir: Path, agent_id: str = "ada") -> ActingAgent:
    return ActingAgent(agent_id=agent_id, project="/srv/tidepool", data_dir=data_dir)


def bridge(data_dir: Path, *options: str, agent_id: str = "ada") -> StdioServerParameters:
    """A bridge process as a client's configuration names it."""
    config = data_dir.parent / "company.yaml"
    config.write_text(json.dumps(settings_data()))
    desk = ["-m", "synthorg_tui", "--data-dir", str(data_dir), "--config", str(config)]
    return StdioServerParameters(
        command=sys.executable, args=[*desk, "mcp", "--agent", agent_id, *options], cwd=REPO
    )


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def approve_skill(engine: Engine, **fields: object) -> str:
    """Approve a lesson of the agent's as a person; return the skill's description."""
    item = item_of(lesson(**fields))  # type: ignore[arg-type]
    await engine.approvals.add(item)
    sheet = await engine.reviews.review(item.id)
    await engine.reviews.approve(item.id, shown=sheet.shown, person=PERSON)
    session = engine.gateway.connect(AgentIdentity("ada"))
    (card,) = await session.skills()
    engine.gateway.disconnect(session)
    return card.description
