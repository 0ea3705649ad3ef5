"""Calls that a hook or a check stopped, and what let them through.

What a gate wants is known for sure only when a command that it names was run and the same call then
passed. Without that, or without a single thing that was done in between and puts files right,
nothing is found.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.outcomes import went_well
from synthorg_tui.executions.output_lines import clean_output, signature
from synthorg_tui.executions.recoveries import (
    MAX_BETWEEN,
    next_attempt,
    resolved_failures,
)
from synthorg_tui.learning.error_lines import CI_CHECK, is_gate_output
from synthorg_tui.learning.phrases import clean, name_of

_MAX_LINE = 160
_MAX_KEPT = 3
_MAX_INSTEAD = 3
"""How many calls later another command may take the place of one that a hook refuses."""
_NAMED_AND_RUN, _ONLY_THING_DONE = 0.8, 0.6
_TELLING = re.compile(
    r"\[[A-Z][A-Z_-]+\]|not formatted|\berrors?\b|\bfail(?:ed|s|ure)?\b|\bmust\b|blocked"
    r"|not allowed|\brequire|\binstead\b|\bplease\b|\buse\b|\brun\b|✖"
    r"|\bmissing\b|declined|protected|invalid",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^(?:(?:Pre|Post)ToolUse(?::\S+)? hook (?:\w+ ){0,2}error:?"
    r"|hook (?:returned )?blocking error:?"
    r"|(?:remote|error|Error|husky|✖|×|❌|⧗|➤)\s*[:>-]*|-|\[[^\]]*/[^\]]*\]:?)\s*"
)
_HEADER = re.compile(r"^[^.]{0,60}:$|^>|^\s*$")
_HOOK_ID = re.compile(r"hook id: (\S+)")
_REWROTE = re.compile(
    r"files were modified by this hook|hook .{0,30}(?:changed|modified) files", re.I
)
_MESSAGE_RULE = re.compile(
    r"\[(?:subject|type|body|header|scope)-[a-z-]+\]|conventional commit", re.I
)
_CONVENTIONAL = re.compile(r"['\"(\s]*[a-z]+(?:\([\w./-]+\))?!?: \S")
_PROTECTED = re.compile(r"protected branch|GH006|changes must be made through a pull request", re.I)
_FAILED_CHECK = re.compile(
    r"^(?P<name>[\w ./()-]{2,60}?)\s+(?:fail|failed|failing)\b", re.MULTILINE
)
_FIXING = re.compile(
    r"\b(?:fix|fmt|format|generate|gen|codegen|install|sync|lock|tidy|update|migrate|precommit)\b"
    r"|\b(?:black|prettier|isort|gofmt|rustfmt)\b"
)
"""What a command says that puts files right by itself."""
_LOOKING = re.compile(
    r"(?:ls|cat|head|tail|grep|rg|find|which|stat|test|wc|diff|pwd|sleep|less|tree|jq|echo)(?: .*)?"
    r"|git (?:status|diff|log|show|branch|stash|add|commit|push|remote|fetch|rev-parse)"
    r"|(?:gh|glab) .*"
)
"""Commands that look, stage or deliver: none of them is what a gate wants."""


class GateRule(StrEnum):
    """What a gate wants where that isn't a command of its own.

    ``REWROTE``: files that it changed are to be staged again. ``MESSAGE``: commit messages begin
    with a type. ``PROTECTED``: the branch takes no pushes.
    """

    NONE = ""
    REWROTE = "rewrote files"
    MESSAGE = "message"
    PROTECTED = "protected branch"


@dataclass(frozen=True, slots=True)
class PassedGate:
    """A call that a gate stopped, with what let it through.

    ``line`` is what the gate said, ``advice`` its line about what to do or ``""``. ``wants`` are
    the commands that satisfied it; ``certainty`` is in [0, 1]. With ``instead`` the call was never
    let through, and the first of ``wants`` took its place. ``edited`` is set when files were
    changed by hand in between.
    """

    blocked: ToolCall
    passed: ToolCall
    step: Step
    line: str
    advice: str
    wants: tuple[Step, ...]
    certainty: float
    instead: bool = False
    edited: bool = False
    rule: GateRule = GateRule.NONE


def find_gates(execution: Execution) -> Iterator[PassedGate]:
    """Yield the gates of a run of which it is known what they want, each once."""
    calls = execution.calls
    seen: set[tuple[str, str]] = set()
    for position, end in _stopped(calls):
        gate = _gate(calls, position, end)
        if gate is None:
            continue
        situation = (gate.step.intent, signature(gate.line))
        if situation not in seen:
            seen.add(situation)
            yield gate


def _stopped(calls: Sequence[ToolCall]) -> Iterator[tuple[int, int | None]]:
    """Shell calls that a gate stopped, and where they passed, if they did."""
    passed = dict(resolved_failures(calls, is_gate_output))
    for position, call in enumerate(calls):
        if not call.is_shell or not is_gate_output(call):
            continue
        if CI_CHECK.search(call.arguments):
            if _FAILED_CHECK.search(call.output):
                yield position, _later_check(calls, position)
        else:
            yield position, passed.get(position)


def _later_check(calls: Sequence[ToolCall], position: int) -> int | None:
    after = range(position + 1, min(len(calls), position + 2 + MAX_BETWEEN))
    return next(
        (at for at in after if CI_CHECK.search(calls[at].arguments) and went_well(calls[at])), None
    )


def _gate(calls: Sequence[ToolCall], position: int, end: int | None) -> PassedGate | None:
    blocked = calls[position]
    steps = command_steps(blocked.arguments)
    line, said = gate_line(blocked.output), " ".join(clean_output(blocked.output).split())
    if not steps or not line:
        return None
    if end is None:
        return _instead(calls, position, steps[-1], line, said)
    attempt = next_attempt(calls, position, end, lambda call: line in gate_lines(call.output))
    if attempt is None or not (went_well(calls[attempt]) or is_gate_output(calls[attempt])):
        return None
    between = calls[position + 1 : attempt]
    found = _satisfied(blocked, calls[attempt], between, said)
    if found is None:
        return None
    wants, certainty, rule = found
    step = _same_step(steps, calls[attempt])
    advice = next((text for text in gate_lines(blocked.output) if _names_any(text, wants)), "")
    edited = any(call.changed_path for call in between)
    return PassedGate(
        blocked=blocked,
        passed=calls[attempt],
        step=step,
        line=line,
        advice="" if advice.rstrip(" .:") == line else advice,
        wants=wants,
        certainty=certainty,
        edited=edited,
        rule=rule,
    )


def _same_step(steps: Sequence[Step], passed: ToolCall) -> Step:
    """The step that the gate stopped: the last that is in both commands."""
    intents = {step.intent for step in command_steps(passed.arguments)}
    return next((step for step in reversed(steps) if step.intent in intents), steps[-1])


def _satisfied(
    blocked: ToolCall, passed: ToolCall, between: Sequence[ToolCall], said: str
) -> tuple[tuple[Step, ...], float, GateRule] | None:
    """The commands that satisfied a gate, how sure that is, and the rule if it isn't a command."""
    before = {step.words for step in command_steps(blocked.arguments)}
    ran = [
        step
        for call in between
        if (call.is_shell and went_well(call))
        for step in command_steps(call.arguments)
    ]
    leading = [step for step in command_steps(passed.arguments) if step.words not in before]
    goal = {step.intent for step in command_steps(blocked.arguments)[-1:]}
    done = [step for step in (*ran, *leading) if step.intent not in goal]
    edited = any(call.changed_path for call in between)
    acted = _distinct([step for step in done if not _LOOKING.fullmatch(step.intent)])
    wanted = tuple(step for step in acted if _is_named(step, said))
    if wanted and _opens_branch(wanted[0]):
        return wanted[:1], _NAMED_AND_RUN, GateRule.PROTECTED
    if wanted:
        return wanted[:_MAX_KEPT], _NAMED_AND_RUN, GateRule.NONE
    if _REWROTE.search(said) and not acted and not edited:
        staged = (*ran, *command_steps(passed.arguments))
        again = _distinct([step for step in staged if step.intent == "git add"])
        return (again[:1], _NAMED_AND_RUN, GateRule.REWROTE) if again else None
    if _MESSAGE_RULE.search(said) and not acted and not edited:
        follows = _is_conventional(passed) and not _is_conventional(blocked)
        return ((), _NAMED_AND_RUN, GateRule.MESSAGE) if follows else None
    if _PROTECTED.search(said) and not edited:
        switched = _distinct([step for step in done if _opens_branch(step)])
        return (switched[:1], _NAMED_AND_RUN, GateRule.PROTECTED) if switched else None
    alone = len(acted) == 1 and not edited and _FIXING.search(" ".join(acted[0].words)) is not None
    return (acted, _ONLY_THING_DONE, GateRule.NONE) if alone else None


def _opens_branch(step: Step) -> bool:
    return step.intent in {"git checkout", "git switch"} and bool({"-b", "-c"} & {*step.words})


def _is_conventional(call: ToolCall) -> bool:
    match = re.search(
        r"\s(?:-\w*m|--message)[\s=](?P<text>[^\n]{1,80})(?P<more>\n[^\n]*)?", call.arguments
    )
    if match is None:
        return False
    text = match["more"].strip() if "<<" in match["text"] and match["more"] else match["text"]
    return _CONVENTIONAL.match(text) is not None


def _instead(
    calls: Sequence[ToolCall], position: int, step: Step, line: str, said: str
) -> PassedGate | None:
    """The gate when another command, which it names, took the place of the one it refuses."""
    if calls[position].outcome is not CallOutcome.BLOCKED_BY_HOOK:
        return None
    for call in calls[position + 1 : position + 1 + _MAX_INSTEAD]:
        if not (call.is_shell and went_well(call)):
            continue
        for other in command_steps(call.arguments):
            is_asked = _is_named(other, said) or _is_quoted(other, step, said)
            if other.intent != step.intent and is_asked and _takes_place(step, other):
                return PassedGate(
                    calls[position], call, step, line, "", (other,), _NAMED_AND_RUN, instead=True
                )
    return None


def _is_quoted(other: Step, step: Step, said: str) -> bool:
    """Whether a gate's text holds another program, alone and in quotes."""
    program = re.escape(PurePosixPath(other.words[0]).name)
    is_other = other.words[0] != step.words[0]
    return is_other and re.search(rf"[`'\"]{program}[`'\"]", said) is not None


def _takes_place(step: Step, other: Step) -> bool:
    """Whether a command is given what the other one was."""
    rest = [word for word in step.words[len(step.intent.split()) :] if not word.startswith("-")]
    return not rest or list(other.words[-len(rest) :]) == rest


def _distinct(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple({step.words: step for step in steps}.values())


def _names_any(text: str, steps: Sequence[Step]) -> bool:
    return any(_is_named(step, text) for step in steps)


def _is_named(step: Step, said: str) -> bool:
    """Whether a gate's text holds a command, with its arguments or without."""
    if step.words and " ".join(step.words) in said:
        return True
    name = name_of(step)
    program = PurePosixPath(step.words[0]).name
    whole = name if " " in name else program
    if program in {"git", "python", "python3", "node", "npx", "bash", "sh"} and " " not in name:
        return False
    return (
        len(whole) > 2 and re.search(rf"(?<![\w-]){re.escape(whole)}(?![\w:-])", said) is not None
    )


def gate_lines(output: str) -> list[str]:
    """Return what a gate said, line by line, without labels and terminal codes."""
    lines = []
    for raw in clean_output(output).splitlines():
        text = raw.strip(" \t│┃|~^")
        while (bare := _LABEL.sub("", text)) != text:
            text = bare
        if re.search(r"[A-Za-z]{3}", text):
            lines.append(clean(re.sub(r"\.{4,}", " ", text), _MAX_LINE))
    return lines


def gate_line(output: str) -> str:
    """Return the line of a gate's output that tells most of why; empty when none says anything."""
    if check := _FAILED_CHECK.search(output) if "\t" in output else None:
        return clean(f"{check['name'].strip()} failed", _MAX_LINE)
    if hook := _HOOK_ID.search(output):
        return clean(f"{hook[1]} failed", _MAX_LINE)
    lines = gate_lines(output)
    telling = [line for line in lines if _TELLING.search(line) and not _HEADER.match(line)]
    return next(iter([*telling, *lines]), "").rstrip(" .:")
