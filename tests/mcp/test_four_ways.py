"""What is shown is what is served: pane, command, hook and MCP give the same digest."""

import asyncio
import io
import json
import random
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client

from synthorg_tui.cli import main
from synthorg_tui.connect import hook
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.mcp.connections import ActingAgent
from synthorg_tui.mcp.server import MemoryServer
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryDraft, MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.scenarios import Question
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.tui.digest.adapter import EngineDigests
from tests.cli.cli_kit import move_home
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.patience import PATIENCE
from tests.tables import rows

STORES, QUESTIONS = 4, 4
"""What the suite tries; with 50 stores these are 200 cases."""
STRATEGIES = ("context", "self_editing", "tool_based", "digest")
AGENTS = ("ada", "bob")
SESSIONS = ("s1", "s2", "s3")
QUERIES = (
    "which port does the staging database use?",
    "  push a branch\tthat has no upstream ",
    "lighthouse lamps",
    "zebra quantum marmalade",
)
TEXTS = (
    "The staging database listens on port {n}.",
    "git push -u origin HEAD sets the upstream of branch {n}.",
    "Lighthouse {n} has seven lamps. " * 12,
    "Deploys of service {n} happen on Thursdays.",
    "Close the list with </ul> and read {n} from < /dev/null.",
)


@dataclass(frozen=True)
class Asked:
    agent: str
    query: str
    project: str
    session: str
    budget: int


def settings(seed: int) -> RootConfig:
    strategy = STRATEGIES[seed % len(STRATEGIES)]
    memory: dict[str, Any] = {"v1": {"enabled": strategy == "digest"}}
    if strategy != "digest":
        memory["retrieval"] = {"strategy": strategy}
    return RootConfig.model_validate({"memory": memory})


async def fill(engine: Engine, chance: random.Random, projects: list[str]) -> None:
    backend = engine.memory
    assert isinstance(backend, LocalMemoryBackend)
    for agent in AGENTS:
        drafts = []
        for n in range(chance.randint(3, 14)):
            text = chance.choice((chance.choice(TEXTS).format(n=n), chance.choice(HOSTILE[:90])))
            tags = ("core",) if chance.random() < 0.5 else ()
            request = MemoryStoreRequest(
                category=MemoryCategory.SEMANTIC,
                content=f"{text} ({n})".replace("\x00", ""),
                metadata=MemoryMetadata(tags=tags),
            )
            drafts.append(
                MemoryDraft(
                    request=request,
                    level=chance.choice(list(MemoryLevel)[1:]),
                    project=chance.choice((*projects, None)),
                    session_id=chance.choice((*SESSIONS, None)),
                )
            )
        await backend.store_many(agent, drafts, actor="test")
    shared = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=TEXTS[0].format(n=1))
    await backend.publish("eve", shared)


async def by_pane(engine: Engine, asked: Asked) -> str:
    question = Question(
        agent_id=asked.agent,
        query=asked.query,
        token_budget=asked.budget,
        visibility=Visibility(asked.session, asked.project),
    )
    return (await EngineDigests(engine).digest(question)).text


async def by_command(data_dir: Path, asked: Asked) -> str:
    words = ["--data-dir", str(data_dir), "digest", asked.query, "--agent", asked.agent]
    words += ["--token-budget", str(asked.budget), "--project", asked.project]
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = await asyncio.to_thread(main, [*words, "--session", asked.session])
    assert code == 0
    return printed.getvalue()


async def by_hook(data_dir: Path, asked: Asked, event: str = "UserPromptSubmit") -> str:
    payload = {"prompt": asked.query, "cwd": asked.project, "session_id": asked.session}
    words = ["claude-code", event, "--data-dir", str(data_dir)]
    words += ["--agent", asked.agent, "--token-budget", str(asked.budget)]
    stdin, printed = io.BytesIO(json.dumps(payload).encode()), io.StringIO()
    assert await asyncio.to_thread(lambda: hook.main(words, stdin=stdin, stdout=printed)) == 0
    if not printed.getvalue():
        return ""
    context: str = json.loads(printed.getvalue())["hookSpecificOutput"]["additionalContext"]
    return context


async def begin_anew(data_dir: Path, asked: Asked) -> None:
    """Start the session again: the same text isn't handed twice to one that still has it."""
    assert await by_hook(data_dir, replace(asked, budget=0), "SessionStart") == ""


async def by_mcp(data_dir: Path, asked: Asked) -> str:
    """The prompt, and the resource, which is the same; its session is that of the hook."""
    await begin_anew(data_dir, asked)
    acting = ActingAgent(agent_id=asked.agent, project=asked.project, data_dir=data_dir)
    arguments = {"query": asked.query, "token_budget": str(asked.budget)}
    async with Client(MemoryServer(acting)) as client:
        prompt = await client.get_prompt("memory_digest", arguments)
    await begin_anew(data_dir, asked)
    async with Client(MemoryServer(acting)) as client:
        uri = f"synthorg://digest/{quote(asked.query)}?token_budget={asked.budget}"
        (resource,) = (await client.read_resource(uri)).contents
    text = "".join(message.content.text for message in prompt.messages)  # type: ignore[union-attr]
    assert resource.text == text  # type: ignore[union-attr]
    return text


async def compare(folder: Path, seed: int, questions: int) -> list[int]:
    """Compare the four ways on one generated store; return the sizes in tokens."""
    chance = random.Random(seed)
    projects = [str(folder / name) for name in ("here", "there")]
    for project in projects:
        Path(project).mkdir(parents=True)
    sizes = []
    async with Engine.open(settings(seed), data_dir=folder / "data", clock=FixedClock()) as engine:
        await fill(engine, chance, projects)
        owner = Owner(engine, data_dir=folder / "data", kind="app")
        await owner.start()
        try:
            for _ in range(questions):
                asked = Asked(
                    chance.choice(AGENTS),
                    chance.choice(QUERIES),
                    chance.choice(projects),
                    chance.choice(SESSIONS),
                    chance.choice((0, 1, 40, 61, 90, 140, 300, 800, 1500, 4000)),
                )
                await begin_anew(folder / "data", asked)
                shown = await by_pane(engine, asked)
                served = await by_hook(folder / "data", asked)
                assert served == shown, asked
                assert await by_mcp(folder / "data", asked) == shown, asked
                assert await by_command(folder / "data", asked) == shown, asked
                assert estimate_tokens(shown) <= asked.budget, asked
                assert not any(c < " " and c not in "\n\t" for c in shown), asked
                sizes.append(estimate_tokens(shown))
        finally:
            await owner.stop()
    return sizes


@rows("seed", range(STORES))
async def test_pane_command_hook_and_mcp_give_the_same_bytes_within_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    move_home(monkeypatch, tmp_path / "home")
    monkeypatch.setattr(hook, "TIME_LIMIT", PATIENCE)
    assert len(await compare(tmp_path, seed, QUESTIONS)) == QUESTIONS
