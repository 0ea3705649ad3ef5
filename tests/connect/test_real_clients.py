"""Claude Code and Codex themselves, with a model that is scripted: hints reach its requests.

They run in a home of their own and reach nothing but the loopback interface. ``SYNTHORG_CLIENTS``
names the folder that they were installed into:
``npm install --prefix DIR @anthropic-ai/claude-code @openai/codex``.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from synthorg_tui.agents.models import CallKind
from synthorg_tui.curation.models import Evidence, Lesson
from synthorg_tui.engine import Engine
from tests import REPO
from tests.connect.scripted_model import Json, listening
from tests.curation.review_kit import PERSON, item_of, lesson
from tests.mcp.mcp_kit import owned
from tests.patience import PATIENCE

NO_UPSTREAM = "The current branch retry-fetch has no upstream branch"
CODEX_CONFIG = """
model = "gpt-5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
"""


@dataclass(frozen=True)
class Place:
    """Where a client runs: its home, a project, and the data directory of the store."""

    home: Path
    project: Path
    data_dir: Path


def program(name: str) -> str:
    """Return the path of an installed client; without it the test is skipped."""
    folder = os.environ.get("SYNTHORG_CLIENTS", "")
    path = Path(folder, "node_modules", ".bin", name)
    if not folder or not path.exists():
        pytest.skip(f"SYNTHORG_CLIENTS names no folder in which npm installed {name}")
    return str(path)


async def ran(*command: str, place: Place, **more: str) -> str:
    """Run a program in its own home, and nothing of this one's environment; return its output."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place.home), "PYTHONPATH": str(REPO)}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=place.project,
        env={**env, **more},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, output.decode(errors="replace")
    return output.decode()


async def connected(client: str, place: Place, *options: str) -> None:
    """Have `connect` write the client's configuration."""
    connect = ("-m", "synthorg_tui", "--data-dir", str(place.data_dir), "connect", client, "--yes")
    await ran(sys.executable, *connect, *options, place=place)


async def on_a_new_branch(place: Place) -> None:
    """Make a repository in which a bare `git push` fails, since the branch has no upstream."""
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (
        ("init", "--quiet", "--bare", str(place.home / "origin.git")),
        ("init", "--quiet", "--initial-branch", "main", str(place.project)),
        ("remote", "add", "origin", str(place.home / "origin.git")),
        ("commit", "--quiet", "--allow-empty", "--message", "begin"),
        ("checkout", "--quiet", "-b", "retry-fetch"),
    ):
        await ran(*git, *words, place=place)


def taught(agent: str, failed: str, error: str, worked: str, project: Path) -> Lesson:
    """A lesson of what failed and then worked in the project."""
    seen = Evidence(
        execution="claude_code:old",
        lines="claude_code:old#L1-L2",
        agent_id=agent,
        failed=failed,
        error=error,
        resolved_by=worked,
        project=str(project),
    )
    return lesson(
        f"failure|{agent}|{failed}",
        agent=agent,
        seen=(seen,),
        discovery=f"Run `{worked}`, not `{failed}`",
        action=f"Run `{worked}`.",
    )


@asynccontextmanager
async def taught_to(client: str, tmp_path: Path) -> AsyncIterator[tuple[Engine, Place]]:
    """An open store with two approved lessons, and a client that is connected to it.

    The project is a new branch, so that a `git push` fails, with a folder that `rm` doesn't remove.
    """
    place = Place(*(tmp_path / name for name in ("home", "project", "data")))
    for folder in (place.home, place.project / "old", place.data_dir):
        folder.mkdir(parents=True)
    await on_a_new_branch(place)
    push, remove = "git push --set-upstream origin retry-fetch", "rm -r old"
    async with owned(place.data_dir) as (engine, _):
        for each in (
            taught(client, "git push", NO_UPSTREAM, push, place.project),
            taught(
                client, "rm old", "rm: cannot remove 'old': Is a directory", remove, place.project
            ),
        ):
            item = item_of(each)
            await engine.approvals.add(item)
            shown = (await engine.reviews.review(item.id)).shown
            await engine.reviews.approve(item.id, shown=shown, person=PERSON)
        yield engine, place


async def test_hints_reach_claude_code_with_the_result_of_the_call(tmp_path: Path) -> None:
    """It hands over what a hook says before a call beside the call's result, no sooner."""
    claude, commands = program("claude"), ("rm old", "git push origin")

    def plan(_: Json, number: int) -> tuple[str, Mapping[str, object]] | None:
        left = commands[number : number + 1]
        return ("Bash", {"command": left[0], "description": "as asked"}) if left else None

    async with taught_to("claude-code", tmp_path) as (engine, place):
        await connected("claude-code", place, "--hooks")
        with listening(plan) as model:
            api = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-scripted"}
            alone = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
            words = (claude, "--print", "Tidy up.", "--allowedTools", "Bash")
            await ran(*words, place=place, **api, **alone)
        calls = [call for call in await engine.gateway.calls() if call.kind is CallKind.HINT]
    before, after = model.after(1), model.after(2)
    assert "memory-hint" not in model.after(0)
    assert "PreToolUse:Bash hook additional context" in before
    assert "Run `rm -r old`" in before
    assert "PostToolUseFailure:Bash hook additional context" in after
    assert "Run `git push --set-upstream origin retry-fetch`" in after
    assert sorted(call.name for call in calls) == ["after_failure", "before_action"]


async def test_codex_asks_before_it_acts_over_mcp(tmp_path: Path) -> None:
    codex = program("codex")

    def plan(body: Json, _: int) -> tuple[str, Mapping[str, object]] | None:
        done = [item.get("name") for item in body["input"] if item.get("type") == "function_call"]
        if not any(tool.get("name") == "mcp__synthorg" for tool in body["tools"]):
            return ("exec_command", {"cmd": "sleep 0.5"}) if len(done) < PATIENCE else None
        asked = ("mcp__synthorg/before_action", {"command": "git push"})
        return None if "before_action" in done else asked

    async with taught_to("codex", tmp_path) as (engine, place):
        with listening(plan) as model:
            config = place.home / ".codex" / "config.toml"
            config.parent.mkdir()
            config.write_text(CODEX_CONFIG.format(url=model.url))
            await connected("codex", place)
            await ran(codex, "exec", "--skip-git-repo-check", "Push it.", place=place)
        calls = [call for call in await engine.gateway.calls() if call.name == "before_action"]
    last = model.requests[-1]["input"]
    (output,) = [item for item in last if item.get("call_id") == asked_in(last)][1:]
    assert "git push --set-upstream origin retry-fetch" in str(output["output"])
    assert len(calls) == 1


def asked_in(items: list[Json]) -> str:
    """The id of the call of `before_action`."""
    (call_id,) = [item["call_id"] for item in items if item.get("name") == "before_action"]
    return str(call_id)
