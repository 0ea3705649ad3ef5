"""What was done between a failure and its answer, as far as it can be what put it right.

Only commands that belong to the error count: other work is done in between as well, and a cause
that isn't plain is worse than none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.learning.error_lines import CallError, ErrorKind
from synthorg_tui.learning.phrases import name_of
from synthorg_tui.learning.project_commands import role_in

_MAX_KEPT = 3
_INSTALL = (
    r"(?:npm|pnpm|yarn|bun|pip|pip3|uv|poetry|pdm|cargo|gem|bundle|brew|apt|apt-get|dnf|apk|conda"
    r"|composer|go|mix|rustup|pre-commit|playwright|terraform|flutter|pod|dotnet|nix|mise|asdf|nvm"
    r"|corepack|pipx|dart|rails|tofu|helm) (?:install|i|ci|add|get|sync|update|deps\.get|setup"
    r"|restore|init|mod|tool|use|enable|venv|lock|local\.\w+|pub|download|dependency|target"
    r"|component)"
    r"|corepack|virtualenv|(?:python[\d.]* )?venv|make (?:install|setup|deps|bootstrap)"
)
_GIT = (
    r"git (?:fetch|pull|stash|config|init|submodule|remote|rebase|checkout|switch|add|lfs|worktree"
    r"|push|commit|merge|tag|branch|clone)|gh (?:auth|repo)"
)
_START = (
    r"(?:docker|docker-compose|podman) ?(?:compose|up|start|run|machine)?"
    r"|(?:systemctl|service|launchctl|brew|supabase|minikube|colima|pg_ctl\w*|redis-server|mongod"
    r"|emulator|adb) ?(?:start|restart|services|enable|up|start-server)?"
)
_LOGIN = (
    r"(?:gh|glab|aws|az|gcloud|npm|heroku|fly|vercel|kubectl|firebase|docker|podman|oc|doctl)"
    r" (?:auth|login|sso|config|use|eks)"
    r"|ssh-add|ssh-keyscan|direnv \w+"
)
_MAKE = r"mkdir|touch|ln|cp|install|git (?:clone|submodule|init)"
_DATABASE = (
    r"createdb(?: [\w-]+)?"
    r"|alembic \w+|prisma \w+|mix ecto\.\w+|rails db:\w+|rake db:\w+|(?:npm|pnpm|yarn|bun)"
    r" (?:run )?(?:db|migrat)\S*|(?:python[\d.]* )?manage\.py(?: \w+)?|diesel \w+|sqlx \w+|knex \w+"
)
_BUILD = (
    r"(?:npm|pnpm|yarn|bun) (?:run|build|generate)|make(?: \w+)?|cargo build|go (?:build|generate)"
    r"|mix (?:compile|phx\.\w+)|prisma \w+|protoc|buf \w+|tsc|cmake|meson \w+|autoreconf"
    r"|\./configure|gradlew? \w+|flutter pub|dart run|turbo \w+|nx \w+"
)
_RELATED = (
    (
        re.compile(
            r"no module named|cannot find (?:module|package)|command not found|: not found"
            r"|not installed|modulenotfound|dependenc|could ?n[o']t (?:resolve|find) (?:module"
            r"|package|\S+ (?:executable|installation))|lock ?file"
            r"|no such (?:command|subcommand|task)|unresolved"
            r"|executable doesn|plugin|node_modules|missing (?:module|package|go\.sum)|go\.sum"
            r"|unknown (?:command|subcommand)|no required module|externally[- ]managed"
            r"|toolchain|target may not be installed|can't find crate|cannot find crate|uninstalled"
            r"|not initiali[sz]ed|or newer"
            r"|requires (?:\w+ )?(?:>=|v?\d)|could not find .*gem|requires? \S+ as",
            re.IGNORECASE,
        ),
        re.compile(_INSTALL),
    ),
    (
        re.compile(
            r"unstaged|uncommitted|not clean|local changes|overwritten|working tree|dirty",
            re.IGNORECASE,
        ),
        re.compile(r"git (?:stash|commit|add|restore|rm)"),
    ),
    (
        re.compile(
            r"\brejected\b|fetch first|diverg|non-fast-forward|behind|unrelated histories"
            r"|failed to push|stale info",
            re.IGNORECASE,
        ),
        re.compile(r"git (?:pull|fetch|rebase|merge)"),
    ),
    (
        re.compile(
            r"unknown revision|bad revision|invalid reference|ancestor"
            r"|could ?n[o']t find remote ref|not a valid (?:ref|object|branch)|invalid upstream"
            r"|not a commit|pathspec '[\w./-]+' did not match",
            re.IGNORECASE,
        ),
        re.compile(r"git (?:fetch|branch|tag|switch|checkout|worktree)"),
    ),
    (
        re.compile(r"(?:must|need to) (?:first )?push|push the current branch|no commits between"),
        re.compile(r"git push"),
    ),
    (
        re.compile(
            r"not a git repo|no submodule|submodule|does not appear to be a git|no such remote"
        ),
        re.compile(r"git (?:init|clone|submodule|remote)"),
    ),
    (
        re.compile(
            r"tell me who you are|identity unknown|author identity|user\.email", re.IGNORECASE
        ),
        re.compile(r"git config"),
    ),
    (
        re.compile(r"already (?:exists|checked out|used by)|is checked out", re.IGNORECASE),
        re.compile(r"git (?:worktree|branch|remote|tag|switch|checkout)|docker (?:rm|container)"),
    ),
    (
        re.compile(
            r"refused|could ?n[o']t connect|cannot connect|failed to connect|connection|daemon"
            r"|econnrefused|is the server running|unreachable|timed out|not running|no such service"
            r"|is not up|no (?:emulators|devices)",
            re.IGNORECASE,
        ),
        re.compile(_START),
    ),
    (
        re.compile(
            r"authenti|not logged in|log ?in\b|credential|unauthori[sz]ed|\b40[13]\b|forbidden"
            r"|publickey|access denied|denied|token|expired|host key",
            re.IGNORECASE,
        ),
        re.compile(_LOGIN),
    ),
    (
        re.compile(
            r"no such file|does ?n[o']t exist|not a directory|enoent|cannot (?:create|open|find)"
            r"|not found",
            re.IGNORECASE,
        ),
        re.compile(rf"{_MAKE}|{_BUILD}"),
    ),
    (
        re.compile(r"permission denied|not permitted|eacces|not executable", re.IGNORECASE),
        re.compile(r"chmod|chown|usermod|newgrp"),
    ),
    (
        re.compile(
            r"(?:database|relation|table|schema|role) .*(?:does ?n[o']t exist|not exist|missing)"
            r"|no such table|unknown database|pending migration|migrations? (?:are|is) pending"
            r"|unapplied migration|not been (?:created|migrated)",
            re.IGNORECASE,
        ),
        re.compile(_DATABASE),
    ),
    (
        re.compile(
            r"(?:not|never) (?:been )?(?:built|generated|compiled)|run .{0,40}(?:build|generate)"
            r"|\bdist/|did not initialize yet|stale|out of date|outdated",
            re.IGNORECASE,
        ),
        re.compile(f"{_BUILD}|{_INSTALL}"),
    ),
)
"""Errors of one sort, and the commands that prepare what is missing then."""
_ANY = re.compile(
    "|".join((_INSTALL, _GIT, _START, _LOGIN, _MAKE, _DATABASE, r"chmod|chown|usermod|newgrp"))
)
_ACTIVATION = re.compile(
    r"(?:^|[\s;&(])(?P<how>(?:source|\.)\s+\S*(?:activate|\.env\S*|nvm\.sh|env\.sh|setup\.sh|envrc)"
    r"|(?:conda|mamba|micromamba)\s+activate\s+\S+|nvm\s+use(?:\s+\S+)?|direnv\s+allow"
    r"|eval\s+\"?\$\([\w ./-]+\)\"?)"
)
_SHELL_EDIT = re.compile(
    r"\bsed -i|\bperl -p?i|\btee (?!/dev)|\bpatch\b"
    r"|\bgit (?:apply|restore|revert|checkout (?:\S+ )?-- |stash pop|reset --hard)"
    r"|(?<![-=\d&>])>{1,2}\s*(?!/dev/|/tmp/|&)[\w./~$\"']"
)
_MENDS = re.compile(
    r"\b(?:fix|fmt|format|gen|generate|codegen|install|sync|migrate|restart|black|prettier|gofmt"
    r"|rustfmt)\b|--(?:fix|write)\b"
)
_COMMON = frozenset({"git", "python", "python3", "node", "npx", "bash", "sh"})
"""Programs whose name alone names no command."""
_CHANGES_NOTHING = re.compile(
    r"(?:git (?:-C \S+ )?(?:status|add|commit|push|log|diff|show|rev-parse|fetch|pull|fsck|cat-file"
    r"|diff-index|ls-\S+|remote -v|remote get-url|remote show|stash|branch)|gh|glab|echo|printf"
    r"|sleep|pwd|cd|kill|pkill|ps|node -|python[\d.]* -|bash -|sh -|curl|wget|ssh|mkdir|touch|rm|mv"
    r"|cp|ls|cat|head|tail|e?grep|rg|find|which|type|command|stat|test|sed|awk|nl|wc|diff|jq|tree|less"
    r"|sort|for|while|if|do|done|then|fi|true|false|open|set|export|readlink|realpath|file|env"
    r"|pytest|tox|jest|vitest|mypy|tsc|eslint|ruff check|(?:\S+ )*(?:run )?(?:test|check|lint"
    r"|typecheck|build|status|list|info|show|version|config)\S*)(?: .*)?"
    r"|.*(?:^| )(?:--help|--version|-h|-V|-v|--list|--dry-run|list|status|show|info|ls"
    r"|capture)(?: .*)?"
)
"""Commands that look at something, examine or deliver it, or only tidy up."""
_NONE_FOUND = re.compile(r"\bno (?:\w+ ){1,3}found\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What was done between a failure and its answer and belongs to the error.

    ``steps`` are commands, ``directory`` is where a call of its own changed to. ``unclear`` is set
    when files were changed, or only things that the error has nothing to do with: then no cause is
    plain.
    """

    steps: tuple[Step, ...] = ()
    directory: str = ""
    unclear: bool = False


def preparation(
    between: Sequence[ToolCall], attempt: ToolCall, error: CallError, *, is_same: bool
) -> Preparation:
    """Return what was done in ``between``, and by ``attempt`` before its own program.

    What the failed command did before as well must not be in ``attempt``: it didn't help. Where
    that is the very same command (``is_same``), the only one that changed anything is the cause.
    """
    ran = [call for call in between if call.is_shell and call.outcome is CallOutcome.OK]
    steps = [step for call in ran for step in command_steps(call.arguments)]
    prepared = [step for step in steps if _belongs(step, error)]
    unrelated = [step for step in steps if step not in prepared and _ANY.match(step.intent)]
    edited = any(call.changed_path for call in between)
    edited = edited or any(_SHELL_EDIT.search(call.arguments) for call in ran)
    kept = _distinct([*prepared, *_activations([*ran, attempt])])
    is_alone = is_same and not (kept or edited or unrelated)
    if is_alone and not _NONE_FOUND.search(error.line):
        counts = builds if error.kind is ErrorKind.CODE else changes_things
        acts = _distinct([step for step in steps if counts(step)])
        kept = acts if len(acts) == 1 else ()
    return Preparation(kept, _moved(ran), unclear=edited or bool(unrelated and not kept))


def wanted_by_gate(ran: Sequence[Step], output: str) -> tuple[Step, ...]:
    """Return the steps that a gate's text names; else the only one, if it puts files right."""
    acts = _distinct([step for step in ran if not step.intent.startswith(("git ", "gh "))])
    asked = tuple(step for step in acts if is_named(step, output))
    return asked or (acts if len(acts) == 1 and _MENDS.search(" ".join(acts[0].words)) else ())


def is_named(step: Step, output: str) -> bool:
    """Tell whether an output names a command, with its arguments or without."""
    name = name_of(step)
    if name in _COMMON or len(name) <= 2:
        return " ".join(step.words) in output
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w:-])", output) is not None


def leading_preparation(
    before: Sequence[Step], after: Sequence[Step], worked: Step, error: CallError
) -> tuple[Step, ...]:
    """Return what an attempt ran ahead of ``worked``, as far as the failed command didn't."""
    known = {step.words for step in before}
    first: list[Step] = []
    for step in after:
        if step.words == worked.words:
            break
        if step.words not in known and _belongs(step, error):
            first.append(step)
    return _distinct(first)


def changes_things(step: Step) -> bool:
    """Tell whether a step may put something right: it doesn't look, examine, deliver or wait."""
    text = " ".join(step.words)
    return _MENDS.search(text) is not None or _CHANGES_NOTHING.fullmatch(text) is None


def builds(step: Step) -> bool:
    """Tell whether a step makes files that others then use, so that stale ones may be the cause."""
    return role_in(step) in {"build", "generate"}


def activates(step: Step) -> bool:
    """Tell whether a step enters an environment, such as a virtual environment."""
    return _ACTIVATION.match(" ".join(step.words)) is not None


def _distinct(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple({step.words: step for step in steps}.values())[-_MAX_KEPT:]


def _belongs(step: Step, error: CallError) -> bool:
    """Whether a command prepares what the error misses, or is the one that the error names."""
    said = error.plain
    if step.words and " ".join(step.words) in said:
        return True
    if len(step.intent.split()) > 1 and re.search(rf"\b{re.escape(step.intent)}\b", said):
        return True
    return any(
        wrong.search(said) and done.fullmatch(step.intent.removeprefix("./"))
        for wrong, done in _RELATED
    )


def _activations(calls: Sequence[ToolCall]) -> Iterator[Step]:
    for call in calls:
        if match := _ACTIVATION.search(call.arguments):
            words = tuple(match["how"].split())
            yield Step(words[0], frozenset(), words)


def _moved(ran: Sequence[ToolCall]) -> str:
    """The directory that calls of their own changed to and stayed in."""
    directory = ""
    for call in ran:
        match = re.fullmatch(
            r"\s*cd\s+([^\s;&|$`]+)\s*(?:&&\s*(?:pwd|ls)\b[^;&|]*)?", call.arguments
        )
        directory = match[1] if match else directory
    return directory
