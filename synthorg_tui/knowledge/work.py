"""What a session shows of how a project is worked on: its commands, scripts and hooks."""

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

_ENDED: Final = frozenset({CallOutcome.OK, CallOutcome.FAILED})
_SCRIPT_HEAD: Final = re.compile(
    r"^> (?P<package>\S+?)(?:@\S+)? (?P<script>[\w:.-]+)(?: /\S+)?\n> (?P<command>\S.*)$",
    re.MULTILINE,
)
_CHECKED: Final = re.compile(r"^(?P<hook>[\w][\w ./()-]{1,50}?)\.{3,}(?:Passed|Failed)$", re.M)
_RUN_SCRIPT: Final = re.compile(r"(?:npm run(?:-script)?|pnpm(?: run)?|yarn(?: run)?) ([\w:.-]+)")
_PIPED: Final = re.compile(r"(?<!\|)\|(?!\|)")


def work_facts(execution: Execution) -> Iterator[Fact]:
    """Yield what a session shows of the project's commands, scripts and hooks."""
    yield from _commands(execution)
    yield from _before_commits(execution)
    for call in execution.calls:
        if call.is_shell and call.outcome in _ENDED:
            steps = command_steps(call.arguments)
            for fact in (*_scripts(execution, call, steps), *_hooks(call)):
                yield replace(fact, at=call.at, lines=(call.call_line, call.last_line))


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
    where = execution.relative(f"{steps[0].directory.rstrip('/')}/")
    if steps[0].directory and where.startswith(("/", "~", "../")):
        return
    yield Fact("script", f"{named[0]}|{place}", head["command"])


def _hooks(call: ToolCall) -> Iterator[Fact]:
    """What ran by itself when a commit was made or pushed: it stands before git's own line."""
    commit = commit_of(call)
    if commit is None and call.intent != "git push":
        return
    end = f"{commit[0][:7]}] " if commit else "\nTo "
    before = call.output.partition(end)[0]
    when = "pre-commit" if commit else "pre-push"
    heads = list(_SCRIPT_HEAD.finditer(before))
    ran = any(_RUN_SCRIPT.match(" ".join(s.words)) for s in command_steps(call.arguments))
    if heads and not ran:
        yield Fact("hook", when, f"npm run {heads[0]['script']}")
    for hook in dict.fromkeys(match["hook"].strip() for match in _CHECKED.finditer(before)):
        yield Fact("hook", when, hook)
