"""The commands by which a project is worked on: what each is for, and how often it went well.

A run with other flags is one of the same command; one of a part of the tests is another command. A
run counts only where it is plain how it ended.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.outcomes import step_outcome
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.executions.programs import known_programs
from synthorg_tui.executions.roles import is_part, named_words, role_of, runs_script, shown_words
from synthorg_tui.executions.titles import commit_of

PART: Final = "part"
"""The role of a run of a part of the tests."""
_MAX_COMMAND = 80
_AROUND = 5
ALL_ROLES: Final = (*known_programs().roles[:1], PART, *known_programs().roles[1:])
"""What commands are for, in the order in which work is done."""
HABIT_ROLES: Final = ALL_ROLES[: _AROUND + 1]
"""Of these those that examine, build or run code; the rest is done around the work."""
_BEFORE_COMMITS = frozenset({"test", "check", "build", "format", "generate"})
_WRAPPER = re.compile(r"sudo|require_escalated|env|time|nice|nohup|command|timeout|\d+[smh]?")
_SETTING = re.compile(r"[A-Za-z_]\w*=")
_SHORT_SETTING = re.compile(r"\w+=[\w.-]{0,12}")
_PRINTED = re.compile(r"^> \S+(?:@\S+)? (?P<name>[\w:.-]+)(?: /\S+)?\n> (?P<runs>\S.*)$", re.M)
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|\| ?)", re.MULTILINE)
_DECLARED = (
    (
        re.compile(r"\b(?:package|composer|deno)\.jsonc?\b"),
        re.compile(r"\"(?:scripts|tasks)\"\s*:\s*\{([^{}]*)\}"),
        re.compile(r"\"(?P<name>[\w:.-]+)\"\s*:\s*\"(?P<runs>(?:[^\"\\\n]|\\.)+)\""),
    ),
    (
        re.compile(r"\bmise\.toml\b"),
        None,
        re.compile(
            r"^\[tasks\.\"?(?P<name>[\w:.-]+)\"?\]\n(?:(?!\[|run).*\n)*run\s*=\s*[\"']+(?P<runs>[^\"'\n]+)",
            re.MULTILINE,
        ),
    ),
    (
        re.compile(r"\b(?:[Mm]akefile|[Jj]ustfile)\b"),
        None,
        re.compile(r"^(?P<name>[\w-]+)(?: [\w=\"' -]*)?:(?!=).*\n[ \t]+@?(?P<runs>\S.*)$", re.M),
    ),
)
"""Files that declare scripts, the part of one that does, and a script in it."""
_PLAIN = re.compile(r"[\w.:=,@%+/*-]{1,40}")
_HELD = re.compile(r"[\w.:=,@%+/*-]*<(?:path|name)>")


@dataclass(slots=True)
class CommandUse:
    """How often one command ran in one session, with whichever files and flags.

    ``role`` is what it is for, ``first`` and ``last`` are its first and last call. ``passed`` are
    the runs that went well, ``forms`` those of each way to write it.
    """

    role: str
    first: ToolCall
    last: ToolCall
    ran: int = 0
    passed: int = 0
    forms: Counter[str] = field(default_factory=Counter)

    @property
    def command(self) -> str:
        """The way to write it that went well most often; one without files when there is any."""
        return min(self.forms, key=lambda form: ("<path>" in form, -self.forms[form]))


def command_uses(
    execution: Execution, roles: Collection[str] = HABIT_ROLES
) -> dict[str, CommandUse]:
    """Return the commands of a run that are for one of the roles, by their plain form."""
    uses: dict[str, CommandUse] = {}
    scripts = declared_scripts(execution)
    for call in execution.calls:
        if not call.is_shell:
            continue
        steps = command_steps(call.arguments)
        ours = [(step, role) for step in steps if (role := role_in(step, scripts)) in roles]
        for step, role in ours:
            went_well = step_outcome(call, step)
            command = _shown(execution, step, whole=role in HABIT_ROLES)
            if went_well is None or not command or (not went_well and len(ours) > 1):
                continue
            use = uses.setdefault(plain_form(command), CommandUse(role, call, call))
            use.last = call
            use.ran += 1
            use.passed += went_well
            use.forms[command] += went_well
    return uses


def declared_scripts(execution: Execution) -> dict[str, str]:
    """Return what scripts of a project run, by name, as far as a run printed or read them."""
    found: dict[str, str] = {}
    for call in execution.calls:
        found |= {match["name"]: match["runs"] for match in _PRINTED.finditer(call.output)}
        asked = f"{call.intent} {call.arguments}"
        for manifest, block, script in _DECLARED:
            if manifest.search(asked):
                shown = _NUMBERED.sub("", call.output)
                blocks = block.findall(shown) if block else [shown]
                found |= {m["name"]: m["runs"] for text in blocks for m in script.finditer(text)}
    return found


def passed_before_commits(execution: Execution) -> Iterator[tuple[str, str, ToolCall]]:
    """Yield for each commit of a run what had passed since the last change: role, command, call.

    Scripts count, too, of which nothing says what they are for.
    """
    passed: dict[str, str] = {}
    for call in execution.calls:
        if call.changed_path:
            passed.clear()
        for step in command_steps(call.arguments) if call.is_shell else ():
            role = role_in(step) or ("check" if runs_script(step) else "")
            if role in _BEFORE_COMMITS and step_outcome(call, step):
                passed.setdefault(_shown(execution, step, whole=True), role)
        if commit_of(call) is not None:
            yield from ((role, command, call) for command, role in passed.items() if command)
            passed.clear()


def role_in(step: Step, scripts: Mapping[str, str] | None = None) -> str:
    """Return what a step is for, one of ``ALL_ROLES``; empty when for none."""
    return PART if is_part(step) else role_of(step, scripts)


def plain_form(command: str) -> str:
    """Return what the runs of a command are counted by: without flags, and a part's as one."""
    mending = known_programs().options["mending"]
    words = [
        word
        for word in command.split()
        if word in mending or (word[0] != "-" and not _HELD.fullmatch(word))
    ]
    return " ".join([*words, f"<{PART}>"] if role_of_form(command) == PART else words)


def role_of_form(command: str) -> str:
    """Return what a command is for that is written as ``CommandUse`` does."""
    steps = command_steps(command.replace("<path>", "a.py").replace("<name>", "a"))
    return next((role for step in steps if (role := role_in(step)) in HABIT_ROLES), "check")


def _shown(execution: Execution, step: Step, *, whole: bool) -> str:
    """The command as one types it in the project; empty when only this once it was so.

    Files become ``<path>``. One that needs long settings or ran outside of the project is left out.
    Not ``whole`` it is without its arguments.
    """
    lead = [word for word in step.lead if not _WRAPPER.fullmatch(word)]
    given = shown_words(step) if whole else named_words(step)
    words = [execution.relative(word) for word in (*lead, *given)]
    if any(_SETTING.match(word) and not _SHORT_SETTING.fullmatch(word) for word in lead):
        return ""
    where = execution.relative(f"{step.directory.rstrip('/')}/") if step.directory else ""
    where = "" if where in {"./", "/"} else where.rstrip("/")
    if any(word.startswith(("/", "~", "../")) for word in (*words, where)):
        return ""
    if not all(_PLAIN.fullmatch(word) or _HELD.fullmatch(word) for word in words):
        return ""
    prefix = f"cd {where} && " if where else ""
    return one_line(
        safe_text(redact_text(f"{prefix}{' '.join(words)}", RedactionTally())), _MAX_COMMAND
    )
