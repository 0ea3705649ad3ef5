"""The mistakes of an execution: failed calls that teach what to do differently the next time.

``executions.recoveries`` says which call resolved which failure. Here each pair is narrowed to the
programs in question, compared word by word, and dropped unless it is plain what made the
difference: a lesson about an accident is worse than none. Words are for ``phrases`` and
``drafting``.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.recoveries import next_attempt
from synthorg_tui.learning.error_lines import CallError, ErrorKind, read_error, signature

MAX_WORDS = 6
"""A call that differs in more words is another call, not a correction."""
_MAX_WORD = 80


@dataclass(frozen=True, slots=True)
class CallChange:
    """The difference between a failed step and the one that worked.

    ``dropped`` and ``added`` are words of the command, ``lead_dropped`` and ``lead_added`` words
    before it (variables, ``sudo``). ``prefix`` is what paths of the failed step begin with and
    those of the working one don't. ``directory`` is where the working one ran, if only that one
    changed directory; ``other_program`` is set when another program was run.
    """

    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    lead_dropped: tuple[str, ...] = ()
    lead_added: tuple[str, ...] = ()
    directory: str = ""
    prefix: str = ""
    other_program: bool = False

    @property
    def is_empty(self) -> bool:
        """True when the two steps are the same call."""
        return self == CallChange()

    @property
    def only_names(self) -> bool:
        """True when only names (of files, branches, services) were replaced by others."""
        words = (*self.dropped, *self.added)
        flags = any(word.startswith("-") for word in words)
        elsewhere = self.lead_added or self.lead_dropped or self.directory or self.other_program
        return bool(words) and not (flags or self.prefix or elsewhere)


def change_between(failed: Step, worked: Step) -> CallChange | None:
    """Compare a failed step with the one that worked, word by word.

    Returns ``None`` when they differ in more than ``MAX_WORDS`` words, or in made-up text such as
    messages and inline code.
    """
    dropped, added = _difference(failed.words, worked.words)
    lead_dropped, lead_added = _difference(failed.lead, worked.lead)
    prefix = _common_prefix(dropped, added)
    if prefix:
        dropped = tuple(word for word in dropped if word.startswith(prefix))
        added = tuple(word for word in added if f"{prefix}{word}" in dropped)
    words = (*dropped, *added, *lead_dropped, *lead_added)
    if len(words) > MAX_WORDS or any(_made_up(word) for word in words):
        return None
    directory = worked.directory if worked.directory != failed.directory else ""
    other = failed.words[:1] != worked.words[:1]
    return CallChange(dropped, added, lead_dropped, lead_added, directory, prefix, other)


def _difference(
    before: tuple[str, ...], after: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words left out and words put in; a word that only moved is neither."""
    dropped: list[str] = []
    added: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            dropped += before[first:last]
            added += after[start:end]
    return (
        tuple(word for word in dropped if word not in added),
        tuple(word for word in added if word not in dropped),
    )


def _made_up(word: str) -> bool:
    """Inline code, messages and the like: nothing of it holds for the next time."""
    return len(word) > _MAX_WORD * 2 or any(mark in word for mark in "\n\r;{}()$`") or " " in word


def _common_prefix(dropped: tuple[str, ...], added: tuple[str, ...]) -> str:
    """What all paths that were written otherwise begin with too much."""
    prefixes = {
        before[: -len(after)]
        for before in dropped
        for after in added
        if before != after and "/" in before and before.endswith(f"/{after}")
    }
    whole = {prefix for prefix in prefixes if PurePosixPath(prefix).parts}
    return next(iter(whole)) if len(whole) == 1 else ""


_MAX_SETUP = 3
_SETUP = re.compile(
    r"(?:npm|pnpm|yarn|bun|pip|pip3|uv|poetry|pdm|cargo|gem|bundle|brew|apt|apt-get|dnf|apk|conda"
    r"|composer|go|mix|rustup|rails|pre-commit|playwright|terraform|flutter|pod|dotnet|nix|mise"
    r"|asdf|nvm|corepack|pipx) (?:install|i|ci|add|get|sync|update|deps\.get|ecto\.\w+|setup"
    r"|restore|init|mod|tool|generate|use|enable|venv|lock|local\.\w+|pub|db:\w+|download)"
    r"|git (?:fetch|pull|stash|config|init|submodule|remote|rebase|checkout|switch|add|lfs"
    r"|worktree|push|commit|merge|tag|branch)"
    r"|(?:docker|docker-compose|podman) (?:compose|up|start|login|pull|network|volume|build)"
    r"|(?:gh|aws|az|gcloud|npm|heroku|fly|vercel|kubectl|firebase) (?:auth|login|sso|config|use)"
    r"|(?:systemctl|service|launchctl|pg_ctl|brew) (?:start|restart|services|enable|\w+)"
    r"|mkdir|chmod|chown|touch|ln|createdb|ssh-add|ssh-keyscan|corepack|virtualenv|direnv \w+"
    r"|(?:python[\d.]* )?venv|alembic \w+|prisma \w+|make (?:install|setup|deps|init|bootstrap)"
)
"""Commands that prepare something for others."""
_MANIFESTS = re.compile(
    r"package\.json|pyproject\.toml|requirements[\w.-]*\.(?:txt|in)|setup\.(?:py|cfg)|mix\.exs"
    r"|Cargo\.toml|go\.mod|Gemfile|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|Pipfile|Podfile"
    r"|environment\.ya?ml|pubspec\.yaml|deno\.jsonc?|[\w.-]+\.csproj|Brewfile|\.tool-versions"
    r"|\.npmrc|\.python-version|\.nvmrc|\.env[\w.]*|\.gitignore|\.gitattributes"
)
"""Files that say what a project needs."""
_MAX_ADDED_LINE = 120


@dataclass(frozen=True, slots=True)
class Mistake:
    """A failed call with what put it right.

    ``failed`` is the call that failed, ``resolved`` the one that finally worked; ``step`` and
    ``worked`` are the programs in them that matter, and ``change`` is how these differ (empty when
    only something had to be done first). ``setup`` are commands that were run first, ``needed``
    pairs the name of a project file with a line that was added to it. ``skipped`` are programs of
    the failed command that no longer ran. ``distance`` is the number of calls before the next
    attempt.
    """

    failed: ToolCall
    resolved: ToolCall
    step: Step
    worked: Step
    error: CallError
    change: CallChange
    setup: tuple[Step, ...] = ()
    needed: tuple[tuple[str, str], ...] = ()
    skipped: tuple[Step, ...] = ()
    distance: int = 0

    @property
    def advised(self) -> bool:
        """True when the error itself named the command that worked."""
        text = " ".join(self.failed.output.split())
        return bool(self.change.added) and " ".join(self.worked.words) in text


def find_mistakes(execution: Execution) -> Iterator[Mistake]:
    """Yield the mistakes of a run that teach something, in order, each once."""
    positions = {call.id: position for position, call in enumerate(execution.calls)}
    seen: set[tuple[str, int]] = set()
    for recovery in execution.recoveries:
        failed, end = positions.get(recovery.failed_call), positions.get(recovery.resolved_by)
        if failed is None or end is None or not execution.calls[failed].is_shell:
            continue
        mistake = _mistake(execution.calls, failed, end)
        if mistake is None:
            continue
        same = (signature(mistake.error.line), end)
        if same not in seen:
            seen.add(same)
            yield mistake


def _mistake(calls: Sequence[ToolCall], position: int, end: int) -> Mistake | None:
    failed, resolved = calls[position], calls[end]
    steps = command_steps(failed.arguments)
    error = read_error(failed.output, steps[-1]) if steps else None
    if error is None:
        return None
    attempt = next_attempt(calls, position, end, lambda call: _fails_with(call, error))
    pair = _pair(failed, calls[attempt], resolved) if attempt is not None else None
    if attempt is None or pair is None:
        return None
    step, worked = pair
    between = calls[position + 1 : attempt]
    needed, others = _edits(between)
    if others:
        return None
    change = change_between(step, worked)
    mistake = Mistake(
        failed=failed,
        resolved=resolved,
        step=step,
        worked=worked,
        error=error,
        change=change or CallChange(),
        setup=_setup(between, before=failed, attempt=calls[attempt], worked=worked),
        needed=needed,
        skipped=_skipped(steps, step),
        distance=len(between),
    )
    return mistake if _teaches(mistake, change, whole=attempt == end) else None


def _fails_with(call: ToolCall, error: CallError) -> bool:
    return call.outcome is CallOutcome.FAILED and error.line in " ".join(call.output.split())


def _teaches(mistake: Mistake, change: CallChange | None, *, whole: bool) -> bool:
    """Whether the mistake is in the call or in what it needs, and it is known what put it right.

    ``whole``: the error was gone with the call that worked, not with one that failed otherwise.
    """
    if mistake.error.kind is ErrorKind.CODE:
        return False
    if mistake.setup:
        return change is not None or bool(mistake.needed)
    if change is None or change.is_empty or not whole or mistake.needed:
        return False
    if mistake.error.kind is ErrorKind.NAME and change.only_names:
        return False  # a misspelt or outdated name is an accident
    return not (change.only_names and change.added and not _advised_words(mistake, change))


def _advised_words(mistake: Mistake, change: CallChange) -> bool:
    """Whether what was put in place of other names is what the error had asked for."""
    return any(word in mistake.failed.output for word in change.added)


def _pair(failed: ToolCall, attempt: ToolCall, resolved: ToolCall) -> tuple[Step, Step] | None:
    """The step that failed and the same step of the ``attempt`` without the error.

    Of a command with several, the one whose words the error repeats, else one that was changed.
    """
    before = command_steps(failed.arguments)
    after = command_steps(attempt.arguments) or command_steps(resolved.arguments)
    if not before or not after:
        return None
    pairs = [
        (_fit(step, other, failed.output), place, step, other)
        for place, step in enumerate(before)
        for other in after
        if step.intent == other.intent
    ]
    if not pairs:
        return before[-1], after[-1]
    best = max(pairs, key=lambda pair: pair[:2])
    return best[2], best[3]


def _fit(step: Step, other: Step, output: str) -> tuple[int, bool, int]:
    """How likely ``step`` is what failed, and ``other`` what took its place."""
    names = sum(named(word, output) for word in step.words[1:])
    shared = len({*step.words} & {*other.words})
    return names, step.words != other.words, shared


def named(word: str, output: str) -> bool:
    """Tell whether an output mentions a word of a command, or the folder that contains it."""
    if len(word) <= 2 or (word.startswith("-") and word not in output):
        return False
    names = filter(None, re.split(r"[\s'\"`:,()]+", output))
    return any(name == word or word.startswith(f"{name.rstrip('/')}/") for name in names)


def _edits(calls: Sequence[ToolCall]) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Lines added to files that say what the project needs, and whether others were changed."""
    needed: list[tuple[str, str]] = []
    others = False
    for call in calls:
        path = call.changed_path
        if path is None:
            continue
        name = PurePosixPath(path.replace("\\", "/")).name
        if _MANIFESTS.fullmatch(name):
            needed += [(name, line) for line in _added_lines(call)]
        else:
            others = True
    return tuple(needed[:_MAX_SETUP]), others


def _added_lines(call: ToolCall) -> list[str]:
    try:
        arguments = json.loads(call.arguments)
        before, after = str(arguments["old_string"]), str(arguments["new_string"])
    except (ValueError, KeyError, TypeError):
        return []
    old = {line.strip().rstrip(",") for line in before.splitlines()}
    lines = (line.strip().rstrip(",") for line in after.splitlines())
    return [line for line in lines if line and line not in old and len(line) <= _MAX_ADDED_LINE]


def _setup(
    between: Sequence[ToolCall], *, before: ToolCall, attempt: ToolCall, worked: Step
) -> tuple[Step, ...]:
    """Successful preparations between the attempts, and those that the second begins with."""
    setup: dict[tuple[str, ...], Step] = {}
    for call in between:
        if call.is_shell and call.outcome is CallOutcome.OK:
            for step in command_steps(call.arguments):
                if _SETUP.match(step.intent):
                    setup[step.words] = step
    known = {step.words for step in command_steps(before.arguments)}
    for step in command_steps(attempt.arguments):
        if step.words == worked.words:
            break
        if step.words not in known and _SETUP.match(step.intent):
            setup[step.words] = step
    return tuple(setup.values())[-_MAX_SETUP:]


def _skipped(steps: Sequence[Step], failed: Step) -> tuple[Step, ...]:
    place = next((place for place, step in enumerate(steps) if step is failed), None)
    return () if place is None else tuple(steps[place + 1 :])
