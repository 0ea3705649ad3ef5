"""The coding agents that can be connected: where their configuration is, and its shape.

To add one, write a function and an entry in ``CLIENTS``, and add its name to ``CLIENT_NAMES``.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from synthorg_tui.connect import HINT_EVENTS, HOOK_EVENTS
from synthorg_tui.connect.edits import NAME, ClaudeHooksEdit, Edit, JsonServerEdit, TomlServerEdit

AGENTS_SKILLS: Final = Path(".agents/skills")
CLAUDE_SKILLS: Final = Path(".claude/skills")
_KNOWS_HINTS: Final = (2, 1, 9)
"""The first version of Claude Code that hands the model what a hook before a call adds."""
_VERSION_SECONDS: Final = 5.0


class ConfigScope(StrEnum):
    """The reach of a connection: all projects of this user, or one project."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class ClientPlaces:
    """The folders and environment variables that determine where configuration files are."""

    home: Path
    project: Path
    environ: Mapping[str, str]

    def folder(self, variable: str, usual: str) -> Path:
        """Return the folder that an environment variable names, else ``usual`` in the home."""
        return Path(self.environ.get(variable) or self.home / usual)

    def root(self, scope: ConfigScope) -> Path:
        """Return the home for the user's scope, else the project."""
        return self.home if scope is ConfigScope.USER else self.project


class ServerCommand(NamedTuple):
    """The command line that starts this program: the words before a command, the options after.

    Hooks have options of their own, which name all they need: reading settings takes too long.
    """

    command: tuple[str, ...]
    options: tuple[str, ...]
    hook_options: tuple[str, ...]
    agent_id: str

    def serving(self, *more: str) -> dict[str, Any]:
        """Return ``command`` and ``args`` that start the MCP server; ``more`` is added to these."""
        program, *rest = self.command
        arguments = [*rest, "mcp", "--agent", self.agent_id, *more, *self.options]
        return {"command": program, "args": arguments}


class Target(NamedTuple):
    """A configuration file, and the edit that adds this program's entry to it or removes it."""

    path: Path
    edit: Edit


@dataclass(frozen=True, slots=True)
class Client:
    """A coding agent that can be connected.

    ``name`` is also the agent id for its memories, unless the person gives another. ``server`` and
    ``skills`` return the file and the folder to change. ``notes`` are hints shown to a person who
    connects it in that scope.
    """

    name: str
    title: str
    usual: ConfigScope
    server: Callable[[ClientPlaces, ConfigScope, ServerCommand], Target]
    skills: Callable[[ClientPlaces, ConfigScope], Path]
    has_hooks: bool = False
    notes: Mapping[ConfigScope, str] = field(default_factory=dict)


def hooks_target(
    where: ClientPlaces,
    scope: ConfigScope,
    call: ServerCommand,
    events: tuple[str, ...] = HOOK_EVENTS,
) -> Target:
    """Return the settings file for Claude Code's hooks, and the edit that adds them.

    In a project it is the local file, which isn't shared: the hooks name paths of this machine.
    """
    edit = ClaudeHooksEdit(call.command, ("--agent", call.agent_id, *call.hook_options), events)
    if scope is ConfigScope.USER:
        return Target(_claude(where) / "settings.json", edit)
    return Target(where.project / ".claude" / "settings.local.json", edit)


def known_hooks(where: ClientPlaces) -> tuple[str, ...]:
    """Return the events of our hooks that the Claude Code on the search path knows.

    An old one ignores a whole settings file, with the person's permissions, over an event that it
    doesn't know. Where none is found, or it doesn't tell its version, it is taken for a new one.
    """
    program = shutil.which("claude", path=where.environ.get("PATH"))
    if program is None:
        return HOOK_EVENTS
    try:
        told = subprocess.run(
            [program, "--version"],
            cwd=Path.home(),  # version managers run what a project's folder says
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return HOOK_EVENTS
    version = re.match(rb"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", told)
    if version is None or tuple(map(int, version.groups())) >= _KNOWS_HINTS:
        return HOOK_EVENTS
    return tuple(event for event in HOOK_EVENTS if event not in HINT_EVENTS)


def _claude(where: ClientPlaces) -> Path:
    return where.folder("CLAUDE_CONFIG_DIR", ".claude")


def _claude_code(where: ClientPlaces, scope: ConfigScope, call: ServerCommand) -> Target:
    state = _claude(where) if where.environ.get("CLAUDE_CONFIG_DIR") else where.home
    path = state / ".claude.json" if scope is ConfigScope.USER else where.project / ".mcp.json"
    value = {"type": "stdio", **call.serving()}
    return Target(path, JsonServerEdit(("mcpServers", NAME), value, lenient=False))


def _codex(where: ClientPlaces, scope: ConfigScope, call: ServerCommand) -> Target:
    user = where.folder("CODEX_HOME", ".codex")
    folder = user if scope is ConfigScope.USER else where.project / ".codex"
    return Target(folder / "config.toml", TomlServerEdit(("mcp_servers", NAME), call.serving()))


def _cursor(where: ClientPlaces, scope: ConfigScope, call: ServerCommand) -> Target:
    # Cursor starts servers anywhere, but fills in the folder for a project's own ones.
    place = ("--project", "${workspaceFolder}") if scope is ConfigScope.PROJECT else ()
    edit = JsonServerEdit(("mcpServers", NAME), call.serving(*place), lenient=True)
    return Target(where.root(scope) / ".cursor" / "mcp.json", edit)


def _vscode(where: ClientPlaces, scope: ConfigScope, call: ServerCommand) -> Target:
    path = where.project / ".vscode" / "mcp.json"
    if scope is ConfigScope.USER:
        mac = where.home / "Library" / "Application Support"
        config = mac if sys.platform == "darwin" else where.folder("XDG_CONFIG_HOME", ".config")
        path = config / "Code" / "User" / "mcp.json"
    value = {"type": "stdio", **call.serving()}
    return Target(path, JsonServerEdit(("servers", NAME), value, lenient=True))


def _gemini(where: ClientPlaces, scope: ConfigScope, call: ServerCommand) -> Target:
    edit = JsonServerEdit(("mcpServers", NAME), call.serving(), lenient=True)
    return Target(where.root(scope) / ".gemini" / "settings.json", edit)


def _opencode(where: ClientPlaces, scope: ConfigScope, call: ServerCommand) -> Target:
    started = call.serving()
    command = [started["command"], *started["args"]]
    value = {"type": "local", "command": command, "enabled": True}
    user = where.folder("XDG_CONFIG_HOME", ".config") / "opencode"
    folder = user if scope is ConfigScope.USER else where.project
    with_comments = folder / "opencode.jsonc"
    path = with_comments if with_comments.exists() else folder / "opencode.json"
    schema = {"$schema": "https://opencode.ai/config.json"}
    return Target(path, JsonServerEdit(("mcp", NAME), value, lenient=True, preamble=schema))


def _agents_skills(where: ClientPlaces, scope: ConfigScope) -> Path:
    return where.root(scope) / AGENTS_SKILLS


def _claude_skills(where: ClientPlaces, scope: ConfigScope) -> Path:
    return _claude(where) / "skills" if scope is ConfigScope.USER else where.project / CLAUDE_SKILLS


CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            ConfigScope.USER,
            _claude_code,
            _claude_skills,
            has_hooks=True,
            notes={
                ConfigScope.PROJECT: "Claude Code asks once whether a project's servers may be "
                "started; until then `claude mcp list` shows ours as pending."
            },
        ),
        Client(
            "codex",
            "Codex CLI",
            ConfigScope.USER,
            _codex,
            _agents_skills,
            notes={
                ConfigScope.PROJECT: "Codex reads the configuration of a project only when it was "
                "told to trust it; until then `codex mcp list` doesn't show ours."
            },
        ),
        Client(
            "cursor",
            "Cursor",
            ConfigScope.PROJECT,
            _cursor,
            _agents_skills,
            notes={
                ConfigScope.USER: "Cursor doesn't tell a user's servers which project is open; use "
                "--project in projects whose memories are to stay with them."
            },
        ),
        Client("vscode", "VS Code", ConfigScope.PROJECT, _vscode, _agents_skills),
        Client("gemini", "Gemini CLI", ConfigScope.USER, _gemini, _agents_skills),
        Client("opencode", "OpenCode", ConfigScope.USER, _opencode, _agents_skills),
    )
}


def here() -> ClientPlaces:
    """Return the places of this process: the user's home, and the working directory as project."""
    return ClientPlaces(Path.home(), Path.cwd().resolve(), os.environ)
