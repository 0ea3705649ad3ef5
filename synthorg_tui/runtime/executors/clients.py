"""The agents of others that can carry out a run: how each is started, and what it may do.

None is ever started in a mode that asks for nothing and guards nothing. Where a client would ask a
person, nobody is there, so it is told no. To add one, write a function and an entry in ``CLIENTS``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from synthorg_tui.ingest.readers import claude_code, codex
from synthorg_tui.ingest.readers.base import named_place
from synthorg_tui.ingest.records import Record
from synthorg_tui.runtime.executors.dialects import claude_record, codex_record, opencode_record
from synthorg_tui.runtime.executors.stream import ClientSteps
from synthorg_tui.runtime.models import RunProfile, RunRequest

CLAUDE_SKILLS: Final = ".claude/skills"
AGENTS_SKILLS: Final = ".agents/skills"
OPENCODE_SKILLS: Final = ".opencode/skills"
_CLAUDE_MODES: Final = {
    RunProfile.READ_ONLY: "plan",
    RunProfile.ASK: "default",
    RunProfile.UNATTENDED: "acceptEdits",
}
_CLAUDE_WRITING: Final = "Bash,Edit,MultiEdit,NotebookEdit,Write"
_CLAUDE_SANDBOX: Final = {
    "sandbox": {
        "enabled": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
    }
}
"""Commands run by themselves where the system can shut them in; else they are refused."""


class Start(NamedTuple):
    """The words after the program, and variables that it is given besides the person's own."""

    words: tuple[str, ...]
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InstalledClient:
    """An agent of others.

    ``name`` is that of its executor and of its program, ``agent`` the one that its sessions have,
    ``reader`` what reads them. ``least`` is the first version that is known to be understood,
    ``package`` what npm installs it from. ``start`` says how it is started for a request, by home
    and environment; ``understand`` reads its records. ``skills`` is where it looks for a project's.
    ``tells_cost`` is whether it knows what it costs.
    """

    name: str
    title: str
    agent: str
    reader: str
    least: tuple[int, ...]
    package: str
    start: Callable[[RunRequest, Path, Mapping[str, str]], Start]
    understand: Callable[[Record, ClientSteps], bool]
    skills: str
    tells_cost: bool = True


def _claude(request: RunRequest, home: Path, environ: Mapping[str, str]) -> Start:
    """Its own sandbox shuts in what it runs unattended; without memory, it reads no own settings.

    The person's settings hold hooks and skills, of which some are ours.
    """
    words = ["--print", "--output-format", "stream-json", "--verbose"]
    words += ["--permission-mode", _CLAUDE_MODES[request.profile]]
    words += ["--max-turns", str(request.limits.turns)]
    settings: dict[str, object] = {}
    if request.limits.cost is not None:
        words += ["--max-budget-usd", f"{request.limits.cost:.6f}"]
    if request.profile is RunProfile.READ_ONLY:
        words += ["--disallowedTools", _CLAUDE_WRITING]
    if request.profile is RunProfile.UNATTENDED:
        settings |= _CLAUDE_SANDBOX
    if not request.memory:
        settings["disableAllHooks"] = True
        words += ["--setting-sources", "project,local", "--strict-mcp-config"]
        words += ["--no-session-persistence"]
        words += [] if request.skills else ["--disable-slash-commands"]
    if settings:
        words += ["--settings", json.dumps(settings)]
    return Start((*words, *_model(request)), {})


def _codex(request: RunRequest, home: Path, environ: Mapping[str, str]) -> Start:
    """Its sandbox is the profile; without memory, the person's skills and servers are left out."""
    sandbox = "workspace-write" if request.profile is RunProfile.UNATTENDED else "read-only"
    words = ["exec", "--json", "--skip-git-repo-check", "--color", "never", "--sandbox", sandbox]
    words += ["-c", 'approval_policy="never"']
    if not request.memory:
        folders = (home / AGENTS_SKILLS, named_place(environ, "CODEX_HOME", home / ".codex"))
        own = [each for folder in folders for each in sorted(folder.glob("**/SKILL.md"))]
        off = ",".join(f"{{path={json.dumps(str(each))},enabled=false}}" for each in own)
        words += ["--ephemeral", "-c", "mcp_servers={}", "-c", f"skills.config=[{off}]"]
        words += ["--disable", "hooks", "--disable", "memories"]
    return Start((*words, *_model(request), "-"), {})


def _opencode(request: RunRequest, home: Path, environ: Mapping[str, str]) -> Start:
    """It has no sandbox: what it may do is said by its permissions, which its variable sets.

    Without memory its session is kept nowhere either, as with the others.
    """
    can = "allow" if request.profile is RunProfile.UNATTENDED else "deny"
    permission = {"edit": can, "bash": can, "external_directory": "deny", "doom_loop": "deny"}
    more = {"OPENCODE_PERMISSION": json.dumps(permission), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    words = ["run", "--format", "json"]
    if not request.memory:
        more |= {"OPENCODE_DISABLE_EXTERNAL_SKILLS": "1", "OPENCODE_DB": ":memory:"}
        more["OPENCODE_CONFIG_CONTENT"] = json.dumps({"mcp": {"synthorg": {"enabled": False}}})
        words.append("--pure")
    return Start((*words, *_model(request)), more)


def _model(request: RunRequest) -> tuple[str, ...]:
    """In one word, so that no name is taken for an option."""
    return (f"--model={request.model}",) if request.model else ()


CLIENTS: Final = (
    InstalledClient(
        name="claude",
        title="Claude Code",
        agent=claude_code.AGENT,
        reader=claude_code.ClaudeCodeReader.name,
        least=(2, 0, 0),
        package="@anthropic-ai/claude-code",
        start=_claude,
        understand=claude_record,
        skills=CLAUDE_SKILLS,
    ),
    InstalledClient(
        name="codex",
        title="Codex CLI",
        agent=codex.AGENT,
        reader=codex.CodexReader.name,
        least=(0, 50, 0),
        package="@openai/codex",
        start=_codex,
        understand=codex_record,
        skills=AGENTS_SKILLS,
        tells_cost=False,
    ),
    InstalledClient(
        name="opencode",
        title="OpenCode",
        agent="opencode",
        reader="opencode",
        least=(1, 0, 0),
        package="opencode-ai",
        start=_opencode,
        understand=opencode_record,
        skills=OPENCODE_SKILLS,
    ),
)
