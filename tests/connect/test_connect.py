"""Connecting coding agents: exactly the change that is shown, and back again byte for byte."""

import hashlib
import json
import os
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli import main
from synthorg_tui.connect import CLIENT_NAMES, HINT_EVENTS, HINT_TOOLS, HOOK_EVENTS
from synthorg_tui.connect.clients import CLIENTS
from synthorg_tui.connect.hook import LOG_FILE
from synthorg_tui.connect.joining import own_command
from tests import REPO
from tests.odd_files import KINDS, put_kind

CLAUDE_STATE = b"""{
  "numStartups": 41,
  "tipsHistory": {"new-user-warmup": 3},
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://example.org/mcp"
    }
  },
  "projects": {
    "/home/me/shop": {
      "allowedTools": [],
      "mcpServers": {}
    }
  },
  "unknown \\u00e9": null
}
"""
CLAUDE_SETTINGS = b"""{
  "permissions": {"allow": ["Bash(git log:*)"]},
  "hooks": {
    "Stop": [
      {"matcher": "", "hooks": [{"type": "command", "command": "notify done"}]}
    ]
  }
}"""
COMMENTED = b"""// what we use here
{
\t"inputs": [], /* none */
\t"servers": {
\t\t// kept for the old ones
\t\t"fetch": {"command": "uvx", "args": ["mcp-server-fetch"]},
\t},
}
"""
CODEX = b"""model = "o4"  # the usual one
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]

[projects."/home/me/shop"]
trust_level = "trusted"
"""
OPENCODE = b'{\r\n    "$schema": "https://opencode.ai/config.json",\r\n    "theme": "x"\r\n}\r\n'
SERVERS = b'{"mcpServers": {"a": {"command": "b"}}}'

# Client, file below the home (user) or the project, and what may stand in it.
USER_FILES = {
    "claude-code": (".claude.json", [CLAUDE_STATE, SERVERS]),
    "codex": (".codex/config.toml", [CODEX, CODEX.replace(b"\n", b"\r\n"), b"# nothing yet\n"]),
    "cursor": (".cursor/mcp.json", [SERVERS, COMMENTED.replace(b"servers", b"mcpServers")]),
    "vscode": ("config/Code/User/mcp.json", [COMMENTED, b'\xef\xbb\xbf{"servers": {}}']),
    "gemini": (".gemini/settings.json", [SERVERS, b'{\n  // dark\n  "theme": "Default"\n}\n']),
    "opencode": ("config/opencode/opencode.json", [OPENCODE, b'{"mcp": {},}']),
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
}
SHAPES = [
    (client, name, shape) for client, (name, shapes) in USER_FILES.items() for shape in shapes
]


@dataclass(frozen=True)
class Machine:
    """A home, a project in which commands run, and the data directory."""

    home: Path
    project: Path
    data: Path

    def files(self) -> dict[str, bytes | str]:
        """All files and links below home and project but our own, with what they hold."""
        return {
            str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes()
            for top in (self.home, self.project)
            for path in sorted(top.rglob("*"))
            if path.is_symlink() or path.is_file()
        }

    def folders(self) -> set[Path]:
        tops = (self.home, self.project)
        return {path for top in tops for path in top.rglob("*") if path.is_dir()}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in [name for name in os.environ if name.startswith("SYNTHORG_")]:
        monkeypatch.delenv(name)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    found = Machine(tmp_path / "home", tmp_path / "project", tmp_path / "data" / "synthorg-tui")
    for folder in (found.home, found.project):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(found.home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(found.project)
    return found


@pytest.fixture
def cli(machine: Machine, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    def run(*args: str) -> tuple[int, Any]:
        """Exit code and JSON, or what was said where it failed."""
        code = main([*args, "--yes", "--json"])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return run


Cli = Callable[..., tuple[int, Any]]


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def server(client: str, text: str) -> list[str]:
    """The words that the client's configuration starts us with."""
    if client == "codex":
        entry = tomllib.loads(text)["mcp_servers"]["synthorg"]
    else:
        key = {"vscode": "servers", "opencode": "mcp"}.get(client, "mcpServers")
        entry = json.loads(text)[key]["synthorg"]
    command = entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


@pytest.mark.parametrize(("client", "name", "content"), SHAPES)
def test_what_was_there_is_restored_byte_for_byte(
    machine: Machine, cli: Cli, client: str, name: str, content: bytes
) -> None:
    path = put(machine.home / name, content)
    path.chmod(0o640)
    before = machine.files()
    code, told = cli("connect", client, "--user")
    (file,) = told["files"]
    assert code == 0
    assert path.read_bytes() != content
    assert Path(file["backup"]).read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o640
    assert cli("disconnect", client)[1]["files"][0]["restored"] is True
    assert machine.files() == before
    assert not (machine.data / "connections").exists()


@pytest.mark.parametrize("client", CLIENT_NAMES)
@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_missing_or_empty_file_is_missing_or_empty_again(
    machine: Machine, cli: Cli, client: str, scope: str, content: bytes | None
) -> None:
    user = scope == "user"
    path = machine.home / USER_FILES[client][0] if user else machine.project / PROJECT_FILES[client]
    if content is not None:
        put(path, content)
    before, folders = machine.files(), machine.folders()
    assert cli("connect", client, f"--{scope}")[0] == 0
    words = server(client, path.read_text())
    start = words.index("mcp")
    assert words[start : start + 3] == ["mcp", "--agent", client]
    assert Path(words[0]).is_absolute()
    assert cli("disconnect", client, f"--{scope}")[0] == 0
    assert (machine.files(), machine.folders()) == (before, folders)


@pytest.mark.parametrize("client", CLIENT_NAMES)
@pytest.mark.parametrize("content", [b"{", b"[", b"\xff\xfe{\x00}\x00", b"[1, 2]", b'a = "'])
def test_an_invalid_file_is_refused_and_stays(
    machine: Machine, cli: Cli, client: str, content: bytes
) -> None:
    path = put(machine.home / USER_FILES[client][0], content)
    code, told = cli("connect", client, "--user")
    assert code == 1
    assert str(path) in told
    assert machine.files() == {str(path): content}
    assert not (machine.data / "connections").exists()


@pytest.mark.parametrize("client", CLIENT_NAMES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "dangling"])
def test_what_is_no_plain_file_in_a_project_is_refused_at_once(
    machine: Machine, cli: Cli, client: str, kind: str
) -> None:
    path = machine.project / PROJECT_FILES[client]
    put_kind(path, kind)
    for command in ("connect", "disconnect"):
        code, told = cli(command, client, "--project")
        assert code == 1
        assert str(path) in told
        assert "unexpected" not in told


@pytest.mark.parametrize("client", CLIENT_NAMES)
def test_a_project_whose_name_is_no_text_is_connected(
    machine: Machine, cli: Cli, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = machine.project / os.fsdecode(b"not\xffutf8")
    project.mkdir()
    monkeypatch.chdir(project)
    path = put(project / PROJECT_FILES[client], b"" if client == "codex" else b"{}")
    before = path.read_bytes()
    assert cli("connect", client, "--project")[0] == 0
    assert path.read_bytes() != before
    assert cli("disconnect", client, "--project")[0] == 0
    assert path.read_bytes() == before


def test_strict_clients_get_no_comments_past(machine: Machine, cli: Cli) -> None:
    put(machine.home / ".claude.json", b"{} // mine")
    assert cli("connect", "claude-code")[0] == 1


@pytest.mark.parametrize("content", [None, CLAUDE_SETTINGS, b"{}"])
def test_hooks_come_and_go(machine: Machine, cli: Cli, content: bytes | None) -> None:
    path = machine.home / ".claude" / "settings.json"
    if content is not None:
        put(path, content)
    before = machine.files()
    assert cli("connect", "claude-code", "--hooks")[0] == 0
    hooks = json.loads(path.read_bytes())["hooks"]
    for event in HOOK_EVENTS:
        words = shlex.split(hooks[event][-1]["hooks"][0]["command"])
        start = words.index("hook")
        assert words[start : start + 3] == ["hook", "claude-code", event]
        assert words[words.index("--data-dir") + 1] == str(machine.data)
    assert cli("connect", "claude-code")[0] == 0  # those that are there stay
    assert json.loads(path.read_bytes())["hooks"] == hooks
    assert cli("disconnect", "claude-code")[0] == 0
    assert machine.files() == before


def installed(path: Path) -> set[str]:
    """The events that the file has hooks of ours for."""
    hooks = json.loads(path.read_bytes()).get("hooks", {})
    return {event for event, entries in hooks.items() if "hook claude-code" in json.dumps(entries)}


def claude(machine: Machine, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a Claude Code of that version on the search path, and nothing else."""
    program = put(machine.home / "bin" / "claude", f"#!/bin/sh\necho '{version}'\n".encode())
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))


def as_before_hints(path: Path, machine: Machine) -> None:
    """Make what is installed that of a version that had no hooks for hints."""
    before = json.loads(path.read_bytes())
    for event in HINT_EVENTS:
        del before["hooks"][event]
    path.write_text(json.dumps(before))
    records = machine.data / "connections" / "records.json"
    written = json.loads(records.read_bytes())
    for record in written["files"]:
        if record["path"] == str(path):
            record["written"] = hashlib.sha256(path.read_bytes()).hexdigest()
    records.write_text(json.dumps(written))


def test_hooks_for_hints_run_only_for_tools_that_there_can_be_one_for(
    machine: Machine, cli: Cli
) -> None:
    cli("connect", "claude-code", "--hooks")
    hooks = json.loads((machine.home / ".claude" / "settings.json").read_bytes())["hooks"]
    matchers = {event: entries[0].get("matcher") for event, entries in hooks.items()}
    of_hints = {event: "|".join(HINT_TOOLS) for event in HINT_EVENTS}
    assert matchers == {**dict.fromkeys(HOOK_EVENTS), **of_hints}


@pytest.mark.parametrize("options", [[], ["--hooks"]])
def test_connecting_again_adds_hooks_that_an_earlier_version_did_not_have(
    machine: Machine, cli: Cli, options: list[str]
) -> None:
    path = put(machine.home / ".claude" / "settings.json", CLAUDE_SETTINGS)
    cli("connect", "claude-code", "--hooks")
    today = path.read_bytes()
    as_before_hints(path, machine)
    assert installed(path) == set(HOOK_EVENTS) - set(HINT_EVENTS)
    assert cli("connect", "claude-code", *options)[0] == 0
    assert path.read_bytes() == today
    cli("disconnect", "claude-code")
    assert path.read_bytes() == CLAUDE_SETTINGS


def test_doctor_names_settings_that_lack_hooks_of_this_version(
    machine: Machine, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    path = machine.home / ".claude" / "settings.json"
    cli("connect", "claude-code", "--hooks")
    main(["doctor"])
    assert "earlier version" not in capsys.readouterr().err
    as_before_hints(path, machine)
    assert main(["doctor"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "without PreToolUse and PostToolUseFailure" in told
    assert "connect claude-code --user" in told


@pytest.mark.parametrize(
    ("version", "has_hints"),
    [("2.1.8 (Claude Code)", False), ("2.1.9 (Claude Code)", True), ("whatever", True)],
)
def test_a_claude_code_that_would_ignore_the_whole_file_gets_no_hooks_for_hints(
    machine: Machine,
    cli: Cli,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    has_hints: bool,
) -> None:
    claude(machine, version, monkeypatch)
    path = machine.home / ".claude" / "settings.json"
    assert main(["connect", "claude-code", "--hooks", "--yes"]) == 0
    assert ("too old for PreToolUse" in capsys.readouterr().err) is not has_hints
    assert (installed(path) >= set(HINT_EVENTS)) is has_hints
    main(["doctor"])
    assert "earlier version" not in capsys.readouterr().err


def test_the_hook_that_is_installed_runs(
    machine: Machine, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("connect", "claude-code", "--hooks", "--project")
    settings = json.loads((machine.project / ".claude" / "settings.local.json").read_bytes())
    command = settings["hooks"]["Stop"][0]["hooks"][0]["command"]
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    assert os.system(f"echo '{{}}' | {command}") == 0
    assert "the event names no transcript" in (machine.data / LOG_FILE).read_text()


def test_only_claude_code_has_hooks(cli: Cli) -> None:
    assert cli("connect", "codex", "--hooks")[0] == 2


def test_what_others_changed_since_stays_and_only_ours_goes(machine: Machine, cli: Cli) -> None:
    path = put(machine.home / ".claude.json", b'{\n  "numStartups": 1\n}\n')
    hooks = put(machine.home / ".claude" / "settings.json", CLAUDE_SETTINGS)
    cli("connect", "claude-code", "--hooks")
    path.write_bytes(path.read_bytes().replace(b'"numStartups": 1', b'"numStartups": 2'))
    hooks.write_bytes(hooks.read_bytes().replace(b"notify done", b"notify end"))
    told = cli("disconnect", "claude-code")[1]
    assert [each["restored"] for each in told["files"]] == [False, False]
    assert path.read_bytes() == b'{\n  "numStartups": 2\n}\n'
    assert hooks.read_bytes() == CLAUDE_SETTINGS.replace(b"notify done", b"notify end")


def test_a_file_that_is_gone_since_stays_gone(machine: Machine, cli: Cli) -> None:
    path = put(machine.home / ".gemini" / "settings.json", SERVERS)
    cli("connect", "gemini")
    path.unlink()
    assert cli("disconnect", "gemini")[0] == 0
    assert not path.exists()


def test_connecting_again_changes_only_what_is_different(machine: Machine, cli: Cli) -> None:
    path = put(machine.home / ".codex" / "config.toml", CODEX)
    cli("connect", "codex")
    once = path.read_bytes()
    assert cli("connect", "codex")[1]["files"][0]["changed"] is False
    assert cli("connect", "codex", "--agent", "me")[1]["files"][0]["changed"] is True
    assert path.read_bytes() == once.replace(b'"codex"', b'"me"')
    cli("disconnect", "codex")
    assert path.read_bytes() == CODEX


def test_an_entry_that_a_person_made_comes_back(machine: Machine, cli: Cli) -> None:
    content = b'{"mcpServers": {"synthorg": {"command": "mine"}}}'
    path = put(machine.home / ".gemini" / "settings.json", content)
    cli("connect", "gemini")
    assert server("gemini", path.read_text()) != ["mine"]
    cli("disconnect", "gemini")
    assert path.read_bytes() == content


def test_our_entry_goes_even_when_nothing_is_recorded(machine: Machine, cli: Cli) -> None:
    path = put(machine.project / ".cursor" / "mcp.json", SERVERS)
    cli("connect", "cursor", "--data-dir", str(machine.home / "elsewhere"))
    assert "--data-dir" in server("cursor", path.read_text())
    cli("disconnect", "cursor")
    assert path.read_bytes() == SERVERS


def test_other_projects_are_disconnected_too(
    machine: Machine, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("connect", "vscode")
    other = machine.home / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert len(cli("disconnect", "vscode")[1]["files"]) == 1
    assert machine.files() == {}


def test_nothing_is_written_without_consent(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["connect", "codex"]) == 2  # nobody is at a terminal to ask
    printed = capsys.readouterr()
    assert "+[mcp_servers.synthorg]" in printed.out
    assert "--yes" in printed.err
    assert machine.files() == {}
    assert not machine.data.exists()


def test_the_diff_can_not_steer_the_terminal(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    put(machine.home / ".codex" / "config.toml", "# \x9b31m\u202e\n".encode())
    main(["connect", "codex"])
    assert not {"\x9b", "\u202e"} & set(capsys.readouterr().out)


def test_links_of_a_project_can_not_lead_out_of_it(machine: Machine, cli: Cli) -> None:
    victim = put(machine.home / "victim.json", b"{}")
    (machine.project / ".mcp.json").symlink_to(victim)
    code, told = cli("connect", "claude-code", "--project")
    assert (code, victim.read_bytes()) == (1, b"{}")
    assert "leads out of the project" in told
    (machine.project / ".agents").symlink_to(machine.home)
    assert cli("connect", "cursor")[0] == 1
    assert not (machine.project / ".cursor").exists()


def test_a_linked_file_of_the_user_stays_a_link(machine: Machine, cli: Cli) -> None:
    real = put(machine.home / "dotfiles" / "claude.json", SERVERS)
    link = machine.home / ".claude.json"
    link.symlink_to(real)
    cli("connect", "claude-code")
    assert link.is_symlink()
    assert b"synthorg" in real.read_bytes()
    cli("disconnect", "claude-code")
    assert real.read_bytes() == SERVERS


def test_damaged_records_are_told(machine: Machine, cli: Cli) -> None:
    cli("connect", "codex")
    put(machine.data / "connections" / "records.json", b"{}")
    code, told = cli("disconnect", "codex")
    assert code == 1
    assert "damaged" in told


def test_settings_of_ones_own_are_named(machine: Machine, cli: Cli) -> None:
    config = put(machine.home / "mine.yaml", b"memory: {storage: {data_dir: /tmp/else}}\n")
    path = machine.home / ".codex" / "config.toml"
    cli("connect", "codex")
    assert server("codex", path.read_text())[-3:] == ["mcp", "--agent", "codex"]
    cli("connect", "codex", "--config", str(config), "--data-dir", str(machine.data))
    words = server("codex", path.read_text())
    assert words[-4:] == ["--data-dir", str(machine.data), "--config", str(config)]


def test_the_installed_script_is_what_clients_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = put(tmp_path / "bin" / "python", b"")
    monkeypatch.setattr("sys.executable", str(python))
    assert own_command("-c") == (str(python), "-P", "-m", "synthorg_tui")
    script = put(tmp_path / "bin" / "synthorg-tui", b"")
    script.chmod(0o755)
    assert own_command("-c") == (str(script),)
    shim = put(tmp_path / "shims" / "synthorg-tui", b"")
    shim.chmod(0o755)
    assert own_command(str(shim)) == (str(shim),)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("claude-code --project", "asks once"),
        ("claude-code", ""),
        ("codex --project", "trust"),
        ("codex", ""),
        ("cursor --user", "use --project"),
        ("cursor", ""),
    ],
)
def test_what_is_special_about_a_scope_is_told(
    machine: Machine, capsys: pytest.CaptureFixture[str], command: str, told: str
) -> None:
    assert main(["connect", *command.split(), "--yes"]) == 0
    said = capsys.readouterr().err
    assert told in said if told else not said


def test_the_names_are_those_of_the_clients() -> None:
    assert tuple(CLIENTS) == CLIENT_NAMES
