"""The commands by which a project is worked on: what each is for, and how often it went well.

A run with other files or flags is one of the same command. A run counts only where it is plain how
it ended.
"""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.outcomes import step_outcome
from synthorg_tui.executions.output_lines import one_line

_MAX_COMMAND = 80
_TOOL = r"(?:make|just|task|gradlew?|mvnw?)"
_ROLES: tuple[tuple[str, str], ...] = (
    (
        "test",
        r"(?:pytest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|(?:playwright|cypress)"
        rf" (?:test|run))|(?:mix|cargo|go|dotnet|swift|zig|bun|deno|rake|rails|flutter|sbt|{_TOOL})"
        r" (?:t|tests?|spec|nextest)|SCRIPT (?:t|tests?|specs?|unit|e2e)(?:[:-].*)?",
    ),
    (
        "check",
        r"(?:mypy|pyright|tsc|tsgo|pre-commit|biome|lint-imports|eslint|flake8|pylint|shellcheck"
        r"|rubocop|golangci-lint|stylelint)(?: .*)?|ruff check|cargo (?:check|clippy)|go vet"
        rf"|mix (?:check|precommit|dialyzer|credo)|{_TOOL} (?:check|verify|ci|lint|typecheck)"
        r"|SCRIPT (?:checks?|verify|validate|ci|type-?check|types|precommit|lint)(?:[:-].*)?",
    ),
    (
        "build",
        rf"(?:mix|go|cargo|dotnet|swift|zig|bun|docker|flutter|sbt|{_TOOL}) (?:build|compile|all"
        r"|assemble|package)|make|SCRIPT (?:build|compile|bundle)(?:[:-].*)?",
    ),
    (
        "format",
        r"ruff format|(?:black|isort|prettier|gofmt|rustfmt)(?: .*)?"
        rf"|(?:mix|cargo|go|dotnet|deno|{_TOOL}) (?:format|fmt)|SCRIPT (?:format|fmt)(?:[:-].*)?",
    ),
    (
        "run",
        r"SCRIPT (?:start|dev|serve|preview)(?:[:-].*)?|mix phx\.server"
        rf"|(?:cargo|go|dotnet|{_TOOL}) run|flask run|rails (?:s|server)",
    ),
)
_AROUND: tuple[tuple[str, str], ...] = (
    (
        "install",
        r"(?:npm|pnpm|yarn|bun) (?:install|i|ci|add)|mix deps\.get|(?:pip3?|uv pip) install|uv sync"
        r"|(?:poetry|bundle|composer) install|cargo fetch|go mod (?:tidy|download)|dotnet restore",
    ),
    (
        "migrate",
        r"mix (?:ecto\.(?:migrate|setup|reset)|ash\.(?:migrate|setup))|rails db:migrate"
        r"|alembic upgrade|prisma (?:migrate|db)|python3? manage\.py migrate|knex migrate.*"
        r"|SCRIPT (?:migrate|db)(?:[:-].*)?",
    ),
    (
        "generate",
        r"mix [\w.]*(?:codegen|gen)(?:\.[\w.]+)?|go generate|prisma generate|buf generate"
        r"|(?:rails|rake) (?:g|generate)|SCRIPT (?:gen|generate|codegen)(?:[:-].*)?",
    ),
    (
        "release",
        r"(?:npm|pnpm|cargo|uv|poetry) publish|npm version|mix (?:release|hex\.publish)"
        r"|twine upload|gh release|git tag|goreleaser(?: .*)?|fly deploy|docker push"
        rf"|{_TOOL} (?:release|publish|deploy)"
        r"|SCRIPT (?:release|publish|version|deploy)(?:[:-].*)?",
    ),
)
"""What is done around the work; of these a lesson on how a project is checked says nothing."""
HABIT_ROLES: Final = tuple(role for role, _ in _ROLES)
"""What commands that examine, build or run code are for, in the order in which work is done."""
ALL_ROLES: Final = (*HABIT_ROLES, *(role for role, _ in _AROUND))
"""``HABIT_ROLES`` and what is done around the work."""
_SCRIPT = re.compile(
    r"npm (?:run |run-script )(?P<npm>[\w:.-]+)|npm (?P<short>t|test|start)"
    r"|(?:yarn|pnpm|bun) (?:run )?(?P<other>[\w:.-]+)"
)
_WRAPPER = re.compile(r"sudo|env|time|nice|nohup|command|timeout|\d+[smh]?")
_PART = re.compile(r"-k|-t|--(?:grep|filter|only|seed|testNamePattern)(?:=.*)?")
"""Flags that pick a part of the tests: such a run is none of the whole."""
_SETTING = re.compile(r"[A-Za-z_]\w*=")
_SHORT_SETTING = re.compile(r"\w+=[\w.-]{0,12}")
_PLAIN = re.compile(r"[\w.:=,@%+/*-]{1,40}")


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
    for call in execution.calls:
        if call.is_shell:
            _count(execution, call, roles, uses)
    return uses


def plain_form(command: str) -> str:
    """Return a command without files and flags: what its runs are counted by."""
    return " ".join(word for word in command.split() if word[0] != "-" and word != "<path>")


def role_of(step: Step) -> str:
    """Return what a step is for, one of ``HABIT_ROLES`` or ``ALL_ROLES``; empty when of neither."""
    name = step.intent
    if match := _SCRIPT.match(" ".join(word for word in step.words if word[:1] != "-")):
        name = f"SCRIPT {match['npm'] or match['short'] or match['other']}"
    return next((role for role, names in (*_ROLES, *_AROUND) if re.fullmatch(names, name)), "")


def _count(
    execution: Execution, call: ToolCall, roles: Collection[str], uses: dict[str, CommandUse]
) -> None:
    """Add a call's commands, those of which it is plain how they ended."""
    steps = command_steps(call.arguments)
    ours = [(step, role) for step in steps if (role := role_of(step)) in roles]
    for step, role in ours:
        went_well = step_outcome(call, step)
        if went_well is None or (not went_well and len(ours) > 1):
            continue
        command = _shown(execution, step) if role in HABIT_ROLES else step.intent
        if command:
            use = uses.setdefault(plain_form(command), CommandUse(role, call, call))
            use.last = call
            use.ran += 1
            use.passed += went_well
            use.forms[command] += went_well


def _shown(execution: Execution, step: Step) -> str:
    """The command as one types it in the project; empty when only this once it was so.

    Files become ``<path>``. One that needs long settings, that picks a part of the tests or ran
    outside of the project is left out.
    """
    words = [execution.relative(word) for word in (*_lead(step), *step.words)]
    if any(map(_PART.fullmatch, words)):
        return ""
    if any(_SETTING.match(word) and not _SHORT_SETTING.fullmatch(word) for word in _lead(step)):
        return ""
    files = [_is_file(word) and place > 0 for place, word in enumerate(words)]
    shown = ["<path>" if file else word for word, file in zip(words, files, strict=True)]
    first = shown.index("<path>") + 1 if "<path>" in shown else len(shown)
    once = [*shown[:first], *(word for word in shown[first:] if word != "<path>")]
    where = execution.relative(f"{step.directory.rstrip('/')}/") if step.directory else ""
    where = "" if where in {"./", "/"} else where.rstrip("/")
    if any(word.startswith(("/", "~", "../")) for word in (*once, where)):
        return ""
    if not all(word == "<path>" or _PLAIN.fullmatch(word) for word in once):
        return ""
    prefix = f"cd {where} && " if where else ""
    return one_line(
        safe_text(redact_text(f"{prefix}{' '.join(once)}", RedactionTally())), _MAX_COMMAND
    )


def _lead(step: Step) -> list[str]:
    return [word for word in step.lead if not _WRAPPER.fullmatch(word)]


def _is_file(word: str) -> bool:
    path = PurePosixPath(word.partition("::")[0].partition(":")[0])
    return word[:1] != "-" and word != "./..." and len(path.suffix) > 1 and "=" not in word
