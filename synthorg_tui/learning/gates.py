"""Gates: what a hook or a check wants before it lets a call through.

A gate that stops a call does its work; the agent made no mistake. What it wants is known for sure
only when a command that it names was run and the same call then passed. Without that, or without a
single thing that was done in between, nothing is told.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import (
    MAX_REPORTED_RECOVERIES,
    Execution,
    ToolCall,
    slug,
)
from synthorg_tui.executions.output_lines import clean_output
from synthorg_tui.executions.recoveries import (
    MAX_BETWEEN,
    next_attempt,
    really_ok,
    resolved_failures,
)
from synthorg_tui.learning.captured import Captured, incident_payload
from synthorg_tui.learning.error_lines import CI_CHECK, is_gate_output, signature
from synthorg_tui.learning.lessons import MAX_TITLE, LessonWords, grounded_lesson
from synthorg_tui.learning.phrases import clean, joined, name_of

GATE_TAG = "gate"
_MAX_LINE = 160
_MAX_COMMAND = 300
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
    rule: str = ""


class GateCaptureStrategy:
    """Draws one lesson from each gate that stopped a call and then let it through."""

    name: str = "gates"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return a lesson for each gate of the run; for the first ones of a reported run."""
        most = MAX_REPORTED_RECOVERIES if execution.is_reported else None
        return tuple(_captured(execution, gate) for gate in islice(find_gates(execution), most))

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Return true for a gate: it stays whatever others do."""
        return captured.lesson.kind is LessonKind.GATE


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
        (at for at in after if CI_CHECK.search(calls[at].arguments) and really_ok(calls[at])), None
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
    if attempt is None or not (really_ok(calls[attempt]) or is_gate_output(calls[attempt])):
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
        advice=advice if advice != line else "",
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
) -> tuple[tuple[Step, ...], float, str] | None:
    """The commands that satisfied a gate, how sure that is, and the rule if it isn't a command."""
    before = {step.words for step in command_steps(blocked.arguments)}
    ran = [step for call in between if _ran(call) for step in command_steps(call.arguments)]
    leading = [step for step in command_steps(passed.arguments) if step.words not in before]
    goal = {step.intent for step in command_steps(blocked.arguments)[-1:]}
    done = [step for step in (*ran, *leading) if step.intent not in goal]
    edited = any(call.changed_path for call in between)
    acted = _distinct([step for step in done if not _LOOKING.fullmatch(step.intent)])
    wanted = tuple(step for step in acted if _is_named(step, said))
    if wanted:
        return wanted[:_MAX_KEPT], _NAMED_AND_RUN, ""
    if _REWROTE.search(said) and not acted and not edited:
        staged = (*ran, *command_steps(passed.arguments))
        again = _distinct([step for step in staged if step.intent == "git add"])
        return (again[:1], _NAMED_AND_RUN, "rewrote") if again else None
    if _MESSAGE_RULE.search(said) and not acted and not edited:
        follows = _is_conventional(passed) and not _is_conventional(blocked)
        return ((), _NAMED_AND_RUN, "message") if follows else None
    if _PROTECTED.search(said) and not edited:
        switched = _distinct([step for step in done if _opens_branch(step)])
        return (switched[:1], _NAMED_AND_RUN, "protected") if switched else None
    alone = len(acted) == 1 and not edited and _FIXING.search(" ".join(acted[0].words)) is not None
    return (acted, _ONLY_THING_DONE, "") if alone else None


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
        if not (call.is_shell and really_ok(call)):
            continue
        for other in command_steps(call.arguments):
            if other.intent != step.intent and _is_named(other, said) and _takes_place(step, other):
                return PassedGate(
                    calls[position], call, step, line, "", (other,), _NAMED_AND_RUN, instead=True
                )
    return None


def _takes_place(step: Step, other: Step) -> bool:
    """Whether a command is given what the other one was."""
    rest = step.words[len(step.intent.split()) :]
    return not rest or other.words[-len(rest) :] == rest


def _ran(call: ToolCall) -> bool:
    return call.is_shell and really_ok(call)


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


def _captured(execution: Execution, gate: PassedGate) -> Captured:
    error = _safe(" — ".join(filter(None, (gate.line, gate.advice))), 400)
    line = signature(gate.line, (execution.branch or "", execution.project or ""))
    evidence = Evidence(
        execution=execution.id,
        lines=str(execution.ref(gate.blocked.call_line, gate.passed.last_line)),
        agent_id=execution.agent_id,
        failed=_command(gate.blocked, gate.step),
        error=error,
        resolved_by=_command(gate.passed, gate.wants[0] if gate.instead else gate.step),
        between=() if gate.instead else tuple(_typed(step) for step in gate.wants),
        at=gate.blocked.at or execution.started_at,
        project=execution.project,
        reported=execution.is_reported,
    )
    lesson = grounded_lesson(
        execution,
        LessonKind.GATE,
        f"gate|{execution.agent_id}|{name_of(gate.step)}|{line}",
        gate_words(execution, gate),
        (evidence,),
        certainty=gate.certainty,
        tags=(GATE_TAG, gate.step.intent.partition(" ")[0].lower()),
    )
    return Captured(lesson, incident_payload(execution, gate.line, category="gate"))


def gate_words(execution: Execution, gate: PassedGate) -> LessonWords:
    """Return the words of a gate's lesson."""
    blocked = clean(name_of(gate.step), 60)
    said = clean(execution.relative(gate.line), 120)
    check = f"`{blocked}` goes through and “{said}” is gone."
    when = f"`{blocked}` is next in this project, or was stopped with “{said}”"
    if gate.rule or gate.instead:
        return _words_of_rule(gate, blocked, said, when, check)
    commands = [f"`{_typed(step)}`" for step in gate.wants]
    wants = joined(commands)
    short = joined(f"`{clean(name_of(step), 60)}`" for step in gate.wants)
    verb = "Have {} pass" if gate.edited else "Run {}"
    title = f"{verb.format(wants)} before `{blocked}`"
    title = title if len(title) <= MAX_TITLE else f"{verb.format(short)} before `{blocked}`"
    staged = any(step.intent == "git add" for step in command_steps(gate.passed.arguments))
    again = " Stage what it changed before you commit." if staged else ""
    fix = " and put right what it reports" if gate.edited else ""
    sure = f" Its message names the command: “{_safe(gate.advice, 160)}”." if gate.advice else ""
    return LessonWords(
        name=_name(gate, [name_of(gate.wants[0])]),
        title=clean(title, MAX_TITLE),
        when=when,
        do=f"Run {wants}{fix}, then `{blocked}`.{again}",
        why=f"{_stopper(gate)} stops `{blocked}` until then; after it the same call passed.{sure}",
        check=check,
    )


def _words_of_rule(gate: PassedGate, blocked: str, said: str, when: str, check: str) -> LessonWords:
    if gate.instead:
        other, name = _typed(gate.wants[0]), clean(name_of(gate.wants[0]), 60)
        return LessonWords(
            name=_name(gate, ["use", name]),
            title=clean(f"Use `{name}` instead of `{blocked}` here", MAX_TITLE),
            when=when,
            do=f"Run `{other}`.",
            why=f"A hook refuses `{blocked}` and names the command to use: “{said}”.",
            check=f"`{name}` runs without the hook stopping it.",
        )
    if gate.rule == "message":
        return LessonWords(
            name=_name(gate, ["message", "format"]),
            title="Write commit messages as `type: subject`, as the hook wants them",
            when=when,
            do="Begin the message with a type and a colon, such as `fix: ` or `feat(scope): `.",
            why=f"The commit hook checks messages and said “{said}”; so written, it passed.",
            check=check,
        )
    if gate.rule == "protected":
        start = " ".join(gate.wants[0].words[:3])
        return LessonWords(
            name="git-push-protected-branch",
            title="Push a branch of your own: this one is protected",
            when=when,
            do=f"Start a branch with `{start} <branch>` (a name of your choice), push it, and open"
            " a pull request.",
            why=f"The server refuses pushes to the protected branch: “{said}”.",
            check="The push of the new branch is accepted.",
        )
    return LessonWords(
        name=_name(gate, ["stage", "again"]),
        title=clean(f"Stage again and repeat `{blocked}` when a hook rewrote files", MAX_TITLE),
        when=when,
        do=f"Run `git add` on the files that the hook changed, then the same `{blocked}` again.",
        why="The hook puts files right by itself and stops once, so that the changes get staged.",
        check=check,
    )


def _stopper(gate: PassedGate) -> str:
    return "A check" if CI_CHECK.search(gate.blocked.arguments) else "A hook"


def _name(gate: PassedGate, about: Sequence[str]) -> str:
    parts = slug(name_of(gate.step)).split("-")[:3]
    more = [part for words in about for part in slug(words).split("-") if part]
    return "-".join([*parts, *more][:5])


def _command(call: ToolCall, step: Step) -> str:
    if len(call.arguments) <= _MAX_COMMAND and "\n" not in call.arguments:
        return _safe(call.arguments, 400)
    words = ["…" if re.search(r"[\s$]", word) else word for word in step.words[:12]]
    return _safe(f"… {' '.join(words)}", 400)


def _typed(step: Step) -> str:
    return _safe(" ".join([*step.lead, *step.words]), 120)


def _safe(text: str, limit: int) -> str:
    return clean(redact_text(text, RedactionTally()), limit)
