"""What a session shows of how a project is worked on: its commands, its tools and their versions.

Versions are taken from what a tool printed of itself and from manifests that were read. Output of
programs that only show files or searches proves nothing of the tools, since anybody may have
written what they show.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.titles import commit_of
from synthorg_tui.knowledge.facts import Fact
from synthorg_tui.knowledge.places import inside
from synthorg_tui.learning.project_commands import (
    ALL_ROLES,
    command_uses,
    passed_before_commits,
)

_SEEN: Final = 0.6
"""The certainty of a version that was printed or read."""
_ENDED: Final = frozenset({CallOutcome.OK, CallOutcome.FAILED})
_SHOWING: Final = re.compile(
    r"cat|head|tail|e?grep|rg|find|fd|sed|awk|jq|less|more|ls|tree|diff|curl|wget|git|gh|echo|printf"
)
"""Programs whose output is text that others wrote."""
_VERSIONS: Final = tuple(
    (name, re.compile(pattern, re.MULTILINE))
    for name, pattern in (
        ("Node.js", r"\bNode\.js v(\d+\.\d+\.\d+)\b"),
        ("Python", r"(?:^|-- )Python (\d+\.\d+(?:\.\d+)?)\b"),
        ("Elixir", r"^Elixir (\d+\.\d+(?:\.\d+)?)\b"),
        ("Erlang/OTP", r"^Erlang/OTP (\d+)\b"),
        ("Rust", r"^rustc (\d+\.\d+\.\d+)\b"),
        ("Go", r"^go version go(\d+\.\d+(?:\.\d+)?)\b"),
        ("Ruby", r"^ruby (\d+\.\d+\.\d+)"),
        ("PHP", r"^PHP (\d+\.\d+\.\d+)\b"),
        ("Java", r"^(?:openjdk|java) version \"(\d+[\d._]*)\""),
        (".NET", r"^\.NET SDK:?\s+(?:Version:\s+)?(\d+\.\d+\.\d+)"),
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
_PIPED: Final = re.compile(r"(?<!\|)\|(?!\|)")
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
    """Yield what a session shows of the project's commands, scripts, hooks and versions."""
    yield from _commands(execution)
    yield from _before_commits(execution)
    for call in execution.calls:
        found = [_wanted(execution, call)]
        if call.is_shell and call.outcome in _ENDED:
            steps = command_steps(call.arguments)
            found += [_scripts(execution, call, steps), _hooks(call), _printed(call, steps)]
        for facts in found:
            for fact in facts:
                yield replace(fact, at=call.at, lines=(call.call_line, call.last_line))


def content_of(call: ToolCall, name: str) -> str:
    """Return what a call that read a file showed of it, without line numbers; else empty."""
    if call.outcome is not CallOutcome.OK:
        return ""
    reads = call.intent.startswith("read ")
    if call.is_shell:
        steps = command_steps(call.arguments)
        reads = len(steps) == 1 and steps[0].words[0] == "cat" and name in steps[0].words[-1]
    return _NUMBERED.sub("", call.output) if reads else ""


def _commands(execution: Execution) -> Iterator[Fact]:
    for plain, use in command_uses(execution, ALL_ROLES).items():
        yield Fact(
            "command",
            f"{use.role}|{plain}",
            use.command,
            good=use.passed,
            bad=use.ran - use.passed,
            at=use.last.at,
            lines=(use.first.call_line, use.last.last_line),
        )


def _before_commits(execution: Execution) -> Iterator[Fact]:
    """What passed before commits: of a run before it what had been changed was examined."""
    for role, command, call in passed_before_commits(execution):
        lines = call.call_line, call.last_line
        yield Fact("before", f"{role}|{command}", command, at=call.at, lines=lines)


def _scripts(execution: Execution, call: ToolCall, steps: tuple[Step, ...]) -> Iterator[Fact]:
    """What a script of a package stands for, as its runner printed it first.

    Of an output that was cut by a pipe the first line may be of another package.
    """
    named = [match[1] for step in steps if (match := _RUN_SCRIPT.match(" ".join(step.words)))]
    head = _SCRIPT_HEAD.search(call.output)
    if (
        head is None
        or len(named) != 1
        or named[0] != head["script"]
        or _PIPED.search(call.arguments)
    ):
        return
    place = inside(execution, ".", steps[0].directory) if steps[0].directory else ""
    yield Fact("script", f"{named[0]}|{place}", head["command"])


def _hooks(call: ToolCall) -> Iterator[Fact]:
    """What ran by itself when a commit was made: told by what stands before git's own line."""
    commit = commit_of(call)
    if commit is None:
        return
    before = call.output.partition(f"{commit[0][:7]}] ")[0]
    heads = list(_SCRIPT_HEAD.finditer(before))
    ran = any(_RUN_SCRIPT.match(" ".join(s.words)) for s in command_steps(call.arguments))
    if heads and not ran:
        yield Fact("hook", f"npm run {heads[0]['script']}")
    for hook in dict.fromkeys(match["hook"].strip() for match in _CHECKED.finditer(before)):
        yield Fact("hook", hook)


def _printed(call: ToolCall, steps: tuple[Step, ...]) -> Iterator[Fact]:
    """Versions that tools printed of themselves."""
    if not steps or any(_SHOWING.fullmatch(step.words[0]) for step in steps):
        return
    output = f"{call.output[:4_000]}\n{call.output[4_000:][-2_000:]}"
    for name, pattern in _VERSIONS:
        if match := pattern.search(output):
            yield Fact("version", name, match[1], certainty=_SEEN)
    asked = _ASKED.get(steps[0].words[0]) if len(steps) == 1 else None
    own = len(steps[0].words) == 2 and _OWN_VERSION.fullmatch(steps[0].words[1])
    match = _BARE_VERSION.fullmatch(call.output) if own else None
    if asked and match:
        yield Fact("version", asked, match[1], certainty=_SEEN)


def _wanted(execution: Execution, call: ToolCall) -> Iterator[Fact]:
    """The version of its language that a manifest at the project's root asks for."""
    for name, (language, pattern) in _MANIFESTS.items():
        if not call.intent.endswith(name) and name not in call.arguments:
            continue
        path = call.arguments if call.is_shell else execution.relative(call.intent[len("read ") :])
        if call.is_shell or path == name:
            match = re.search(pattern, content_of(call, name), re.MULTILINE)
            if match and (not call.is_shell or call.arguments.strip() == f"cat {name}"):
                yield Fact("wanted", f"{language}|{name}", match[1], certainty=_SEEN)
