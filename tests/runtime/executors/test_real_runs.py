"""Claude Code, Codex and OpenCode themselves, with a model that is scripted, as executors.

They run in a home of their own and reach nothing but the loopback interface. ``SYNTHORG_CLIENTS``
names the folder that they were installed into:
``npm install --prefix DIR @anthropic-ai/claude-code @openai/codex opencode-ai``. Codex shuts in its
commands, and a folder of which those see nothing (``/dev/shm``) won't do.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.core.paths import scratch_root
from synthorg_tui.engine import Engine
from synthorg_tui.runtime.executors.patches import KeptPatches
from synthorg_tui.runtime.models import GivenSkill, RunProfile, RunRequest
from synthorg_tui.settings.root import RootConfig
from tests.connect.scripted_model import Json, listening
from tests.runtime.executors.client_kit import Place, git, place, ran
from tests.tables import rows

CODEX_CONFIG = """
model = "gpt-5"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
"""
COMMANDS = ("rm old", "rm -r old", "cp readme.txt copied.txt")
SKILL = GivenSkill(name="tidy-up", text="---\nname: tidy-up\ndescription: SEEN IT.\n---\nTidy.\n")


def call(name: str, command: str) -> tuple[str, Mapping[str, object]]:
    if name == "codex":
        return "exec_command", {"cmd": command}
    tool = "Bash" if name == "claude" else "bash"
    return tool, {"command": command, "description": "as asked"}


def configure(name: str, home: Path, url: str, environ: pytest.MonkeyPatch) -> None:
    """Tell a client which model to ask."""
    if name == "claude":
        environ.setenv("ANTHROPIC_BASE_URL", url)
        environ.setenv("ANTHROPIC_API_KEY", "sk-scripted")
        environ.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    elif name == "codex":
        (home / ".codex").mkdir(exist_ok=True)
        (home / ".codex" / "config.toml").write_text(CODEX_CONFIG.format(url=url))
    else:
        model = {"name": "m", "cost": {"input": 1, "output": 2}}
        options = {"baseURL": f"{url}/v1", "apiKey": "sk-scripted"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": model}}
        config = {"model": "s/m", "small_model": "s/m", "provider": {"s": provider}}
        (home / ".config" / "opencode").mkdir(parents=True)
        (home / ".config" / "opencode" / "opencode.json").write_text(json.dumps(config))


def installed(name: str) -> Path:
    """Return the folder of the programs; without this one the test is skipped."""
    folder = os.environ.get("SYNTHORG_CLIENTS", "")
    programs = Path(folder, "node_modules", ".bin")
    if not folder or not (programs / name).exists():
        pytest.skip(f"SYNTHORG_CLIENTS names no folder in which npm installed {name}")
    return programs


def at_home(tmp_path: Path, programs: Path, environ: pytest.MonkeyPatch) -> Place:
    """A home of its own, and a project with a folder that `rm` doesn't remove."""
    where = place(tmp_path)
    (where.project / "old").mkdir()
    (where.project / "old" / "file.txt").write_text("x\n")
    git(where.project, "add", "--all")
    git(where.project, "commit", "--quiet", "--message", "old")
    environ.setenv("HOME", str(where.home))
    environ.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME"):
        environ.delenv(variable, raising=False)
    return where


@rows("name", ["claude", "codex", "opencode"])
async def test_a_real_client_runs_is_recorded_and_teaches(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = installed(name)
    where = at_home(tmp_path, programs, monkeypatch)

    def plan(_: Json, number: int) -> tuple[str, Mapping[str, object]] | None:
        return call(name, COMMANDS[number]) if number < len(COMMANDS) else None

    settings = RootConfig.model_validate({"memory": {"level": "persistent"}})
    with listening(plan) as model:
        configure(name, where.home, model.url, monkeypatch)
        async with Engine.open(settings, data_dir=tmp_path / "data") as engine:
            asked = RunRequest(
                task="-- Remove the folder old.",
                agent_id="builder",
                workspace=where.project,
                executor=name,
                profile=RunProfile.UNATTENDED,
                skills=(SKILL,),
            )
            started = await engine.runs.start(asked)
            run = await engine.runs.wait(started.id)
            steps = await engine.runs.steps(run.id)
            record = await engine.executions.get(run.execution_id)
            items = await engine.approvals.list()
    assert run.reason is TerminationReason.COMPLETED, [step.text for step in steps]
    assert record is not None
    assert record.reader != "generic"
    assert (record.agent_id, record.project) == ("builder", str(where.project))
    assert record.task == "-- Remove the folder old."
    outcomes = [(each.arguments, each.outcome) for each in record.calls]
    expected = (CallOutcome.FAILED, CallOutcome.OK, CallOutcome.OK)
    assert outcomes == list(zip(COMMANDS, expected, strict=True))
    assert [item.title for item in items] == ["Run `rm` with `-r`"]
    assert any("SEEN IT." in json.dumps(request) for request in model.requests)
    patch = KeptPatches(tmp_path / "data").path(run.id)
    assert patch is not None
    assert "SKILL.md" not in patch.read_text()
    assert (where.project / "old").exists()
    git(where.project, "apply", str(patch))
    assert not (where.project / "old").exists()
    assert (where.project / "copied.txt").exists()
    assert list(scratch_root().iterdir()) == []


@rows("name", ["claude", "codex", "opencode"])
async def test_a_real_client_without_memory_is_given_the_skill_and_keeps_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = at_home(tmp_path, installed(name), monkeypatch)
    for folder in (".claude/skills/own", ".agents/skills/own", ".codex/skills/own"):
        (where.home / folder).mkdir(parents=True)
        (where.home / folder / "SKILL.md").write_text(SKILL.text.replace("SEEN IT", "OF OURS"))
    hook = {"type": "command", "command": "echo OF OURS"}
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}
    (where.home / ".claude" / "settings.json").write_text(json.dumps(hooks))
    with listening(lambda *_: None) as model:
        configure(name, where.home, model.url, monkeypatch)
        executor = where.executor(name, environ=dict(os.environ))
        result, _ = await ran(executor, where, memory=False, skills=(SKILL,))
    asked = json.dumps(model.requests)
    assert result.termination_reason is TerminationReason.COMPLETED
    assert "SEEN IT." in asked
    assert "OF OURS" not in asked
    kept = [*where.home.rglob("*.jsonl"), *where.home.rglob("opencode*.db")]
    assert [path for path in kept if path.stat().st_size] == []
