"""What a session shows of how a project is worked on: its commands, its tools and their versions.

Versions are taken from what a tool printed of itself and from manifests that were read. Output of
programs that only show files or searches proves nothing of the tools, since anybody may have
written what they show.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.titles import commit_of
from synthorg_tui.knowledge.facts import Fact
from synthorg_tui.learning.project_commands import ALL_ROLES, command_uses, role_of

_ENDED: Final = frozenset({CallOutcome.OK, CallOutcome.FAILED})
_ORDINARY: Final = frozenset(
    re.findall(
        r"\S+",
        "ls cat head tail grep egrep rg find fd sed awk rm rmdir cp mv mkdir chmod chown touch ln"
        " curl wget diff wc sort uniq jq yq test [ tree which stat less more kill pkill ps tee"
        " xargs date bash sh zsh git pwd env node python python3 ruby perl php deno bun npx make"
        " cut tr basename dirname realpath readlink file du df tar zip unzip gzip open wait time"
        " for while if do done then else fi case esac function return exit local read eval trap"
        " set printf print sleep echo true false export source cd ssh scp rsync whoami uname id"
        " type hash command lsof netstat top watch man seq yes md5 md5sum shasum sha256sum od xxd"
        " strings column paste comm nl rev fold pip pip3 npm yarn pnpm brew apt apt-get tmux screen"
        " base64 openssl clear history alias hostname ping patch tac shuf split ifconfig nc mktemp",
    )
)
"""Programs of which it says nothing of a project that they were run."""
_SHOWING: Final = re.compile(
    r"cat|head|tail|e?grep|rg|find|fd|sed|awk|jq|less|more|ls|tree|diff|curl|wget|git|gh|echo|printf"
)
"""Programs whose output is text that others wrote."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{1,20}")
_VERSIONS: Final = tuple(
    (name, re.compile(pattern, re.MULTILINE))
    for name, pattern in (
        ("Node.js", r"\bNode\.js v(\d+\.\d+\.\d+)\b"),
        ("Python", r"(?:^|-- )Python (\d+\.\d+(?:\.\d+)?)\b"),
        ("pytest", r"\bpytest-(\d+\.\d+(?:\.\d+)?)\b"),
        ("Elixir", r"^Elixir (\d+\.\d+(?:\.\d+)?)\b"),
        ("Erlang/OTP", r"^Erlang/OTP (\d+)\b"),
        ("Rust", r"^rustc (\d+\.\d+\.\d+)\b"),
        ("Go", r"^go version go(\d+\.\d+(?:\.\d+)?)\b"),
        ("Ruby", r"^ruby (\d+\.\d+\.\d+)"),
        ("PHP", r"^PHP (\d+\.\d+\.\d+)\b"),
        ("Java", r"^(?:openjdk|java) version \"(\d+[\d._]*)\""),
        (".NET", r"^\.NET SDK:?\s+(?:Version:\s+)?(\d+\.\d+\.\d+)"),
        ("Vitest", r"^\s*(?:RUN|DEV)\s+v(\d+\.\d+\.\d+)\s"),
    )
)
_OWN_VERSION: Final = re.compile(r"(?:-v|-V|--version|version)")
_BARE_VERSION: Final = re.compile(r"\s*v?(\d+\.\d+\.\d+)\s*")
_ASKED: Final = {"node": "Node.js", "npm": "npm", "pnpm": "pnpm", "yarn": "Yarn", "bun": "Bun"}
_SCRIPT_HEAD: Final = re.compile(
    r"^> (?P<package>\S+?)(?:@\S+)? (?P<script>[\w:.-]+)(?: /\S+)?\n> (?P<command>\S.*)$",
    re.MULTILINE,
)
_CHECKED: Final = re.compile(r"^(?P<hook>[\w][\w ./()-]{1,50}?)\.{3,}(?:Passed|Failed)$", re.M)
_RUN_SCRIPT: Final = re.compile(r"(?:npm run(?:-script)?|pnpm(?: run)?|yarn(?: run)?) ([\w:.-]+)")
_NUMBERED: Final = re.compile(r"^\s*\d+(?:→|\t|\| ?)", re.MULTILINE)
_MANIFESTS: Final = {
    "mix.exs": ("Elixir", r"^\s*elixir: \"([^\"]{1,30})\""),
    "pyproject.toml": ("Python", r"^requires-python\s*=\s*[\"']([^\"']{1,30})[\"']"),
    "package.json": ("Node.js", r"^\s*\"node\":\s*\"([^\"]{1,30})\""),
    "go.mod": ("Go", r"^go (\d+\.\d+(?:\.\d+)?)\s*$"),
    "Cargo.toml": ("Rust", r"^rust-version\s*=\s*\"([^\"]{1,30})\""),
    "Gemfile": ("Ruby", r"^ruby [\"']([^\"']{1,30})[\"']"),
    ".nvmrc": ("Node.js", r"\A\s*v?([\d.]{1,12})\s*\Z"),
    ".python-version": ("Python", r"\A\s*([\d.]{1,12})\s*\Z"),
}
"""Manifests by name: which tool they ask for, and where they say in which version."""


def work_facts(execution: Execution) -> Iterator[Fact]:
    """Yield what a session shows of the project's commands, scripts, hooks, tools and versions."""
    yield from _commands(execution)
    yield from _tools(execution)
    for call in execution.calls:
        lines = call.call_line, call.last_line
        if call.is_shell and call.outcome in _ENDED:
            steps = command_steps(call.arguments)
            for fact in (*_scripts(call, steps), *_hooks(call), *_printed(call, steps)):
                yield Fact(**{**_plain(fact), "at": call.at, "lines": lines})
        for fact in _wanted(execution, call):
            yield Fact(**{**_plain(fact), "at": call.at, "lines": lines})
