"""The mistakes of an execution: failed calls that teach what to do differently the next time.

``executions.recoveries`` says which call resolved which failure. Here each pair is narrowed to the
programs in question, compared word by word, and dropped unless it is plain what made the
difference: a lesson about an accident is worse than none. Words are for ``phrases`` and
``drafting``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import Step, command_steps, related
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.outcomes import went_well
from synthorg_tui.executions.output_lines import signature
from synthorg_tui.executions.recoveries import (
    MAX_BETWEEN,
    is_failure,
    next_attempt,
    resolved_failures,
)
from synthorg_tui.learning.changes import CallChange, change_between
from synthorg_tui.learning.error_lines import (
    CallError,
    ErrorKind,
    is_gate_output,
    read_error,
)
from synthorg_tui.learning.preparations import (
    Preparation,
    activates,
    leading_preparation,
    preparation,
)


class RootCause(StrEnum):
    """What made the difference between the call that failed and the one that worked.

    ``NEEDED``: a project file lacked a line (``Mistake.needed``), and perhaps something had to be
    run after it was added. ``ORDER``: something had to be run first (``setup``). ``ENVIRONMENT``:
    another environment was used: variables, ``sudo``, a runner or the program of a virtual
    environment (``change``), or one was entered first (``setup``). ``DIRECTORY``: it ran in another
    directory (``change.directory``, or an option such as ``-C``). ``SYMLINK``: the path led through
    a symbolic link (``change.prefix``) and has to be written as it really is. ``IGNORED``: paths
    were given that are ignored (``change.dropped``). ``OPTION``: what the error names was left out
    (``change.dropped``). ``PROGRAM``: another program does it. ``NAMED``: the error or its advice
    names what was put in. ``CALL``: what was lacking was put in, in words the error doesn't hold.
    """

    NEEDED = "needed"
    ORDER = "order"
    ENVIRONMENT = "environment"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    IGNORED = "ignored"
    OPTION = "option"
    PROGRAM = "program"
    NAMED = "named"
    CALL = "call"


_IGNORED = re.compile(r"\bignored by\b|\bare ignored\b|\bis ignored\b", re.IGNORECASE)
_SYMLINK = re.compile(r"symbolic link|symlink", re.IGNORECASE)
_LACKING = re.compile(
    r"\bno\b|\bnot\b|missing|\brequire[sd]?\b|\bmust\b|\bneeds?\b|specify|without|ambiguous|please"
    r"|\bwhich\b|could not|cannot|denied|interactive|tty|timed out|too (?:many|large|long|few)",
    re.IGNORECASE,
)
_OVERRIDE = re.compile(
    r"--break-system-packages|--legacy-peer-deps|--insecure|--skip-\S+|--no-check\S*|--allow-\S+"
    r"|--ignore-\S+|--disable-\S+|--unsafe\S*|--trust\S*|--privileged"
)
"""Options that switch a guard off: as a remedy only where the error itself names them."""
_DENIED = re.compile(r"denied|not permitted|eacces|root|superuser|lock", re.IGNORECASE)
_PLACE = re.compile(
    r"not found|no such|does ?n[o']t exist|enoent|could ?n[o']t (?:find|read|open|locate|load)"
    r"|cannot (?:find|open|read|locate)|missing|no rule|manifest|outside|must be run|director"
    r"|\broot\b|\bnot a\b"
    r"|\bno (?:\w+ ){0,2}(?:file|config\w*|project|package|tests?|workspace|module)",
    re.IGNORECASE,
)
"""Errors that a command gives where it is run in the wrong place."""
_PATIENCE = re.compile(r"timeout|nice|nohup|time|command|exec")
"""What may stand before a command without another environment."""
_NO_PROGRAM = re.compile(r"not found|not recogni[sz]ed|no such file|deprecated|\binstead\b|\buse\b")


_WAYS_ROUND = frozenset({RootCause.ENVIRONMENT, RootCause.PROGRAM})
"""Causes whose remedy goes round what is wrong, and gives way to what mends it."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A failed call with what put it right.

    ``failed`` is the call that failed, ``resolved`` the one that finally worked; ``step`` and
    ``worked`` are the programs in them that matter, and ``change`` is how these differ (empty when
    only something had to be done first). ``cause`` says which of it made the difference. ``setup``
    are commands that were run first, ``needed`` pairs the name of a project file with a line that
    was added to it. ``skipped`` are programs of the failed command that no longer ran. ``distance``
    is the number of calls before the next attempt. ``attempts`` are further tries that failed
    before the one that worked.
    """

    failed: ToolCall
    resolved: ToolCall
    step: Step
    worked: Step
    error: CallError
    change: CallChange
    cause: RootCause
    setup: tuple[Step, ...] = ()
    needed: tuple[tuple[str, str], ...] = ()
    skipped: tuple[Step, ...] = ()
    distance: int = 0
    attempts: tuple[ToolCall, ...] = ()

    @property
    def advised(self) -> bool:
        """True when the error itself named the command that worked."""
        text = " ".join(self.failed.output.split())
        return bool(self.change.added) and " ".join(self.worked.words) in text

    @property
    def has_own_answer(self) -> bool:
        """True when this failure was answered by itself, whatever was tried before it."""
        return self.advised or bool(self.setup or self.needed)


def find_mistakes(execution: Execution) -> Iterator[Mistake]:
    """Yield the mistakes of a run that teach something, in order, each once.

    Of several failures before one answer that is the first; a later one of them only if something
    answered it that the first did without.
    """
    seen: set[tuple[str, int]] = set()
    tried: set[str] = set()
    for failed, end in resolved_failures(execution.calls, is_failure):
        if not execution.calls[failed].is_shell:
            continue
        mistake = _Failure.read(execution, failed, end)
        found = mistake.explained() if mistake else None
        if found is None or (found.failed.id in tried and not found.has_own_answer):
            continue
        if found.cause in _WAYS_ROUND and _is_mended(execution.calls[end + 1 :], found.step):
            continue
        tried |= {call.id for call in found.attempts}
        same = (signature(found.error.line), end)
        if same not in seen:
            seen.add(same)
            yield found


def _is_mended(later: Sequence[ToolCall], step: Step) -> bool:
    """Whether the call that had failed worked later as it was: then the cause was put right."""
    return any(
        other.words == step.words and other.lead == step.lead and went_well(call)
        for call in later
        if call.is_shell
        for other in command_steps(call.arguments)
    )


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed command at ``position``, answered at ``end``."""

    execution: Execution
    position: int
    end: int
    error: CallError

    @classmethod
    def read(cls, execution: Execution, position: int, end: int) -> "_Failure | None":
        """``None`` when its output says nothing, or is a gate's: that is no mistake."""
        failed = execution.calls[position]
        steps = command_steps(failed.arguments)
        error = read_error(failed.output, steps[-1]) if steps else None
        if error is None or is_gate_output(failed):
            return None
        return cls(execution, position, end, error)

    @property
    def call(self) -> ToolCall:
        return self.execution.calls[self.position]

    def explained(self) -> Mistake | None:
        """The mistake, if it is plain what put it right."""
        calls = self.execution.calls
        last = self._last_with_error()
        attempt = None if last is None else next_attempt(calls, last, self.end, lambda _: False)
        if last is None or attempt is None:
            return None
        found = self._answered(last, attempt)
        if found is None and attempt != self.end:
            found = self._answered_after(last)
        return found

    def _last_with_error(self) -> int | None:
        """Where the same error came the last time, in tries that follow each other."""
        calls, last = self.execution.calls, self.position
        while last < self.end:
            attempt = next_attempt(calls, last, self.end, lambda _: False)
            if attempt is None:
                return None
            if not _fails_with(calls[attempt], self.error):
                return last
            last = attempt
        return None

    def _answered(self, last: int, attempt: int) -> Mistake | None:
        """The mistake when the ``attempt`` no longer has the error, even if it has another."""
        calls = self.execution.calls
        pair = _pair(self.call, calls[attempt], calls[self.end])
        if pair is None:
            return None
        ready = preparation(
            self.execution,
            calls[last + 1 : attempt],
            calls[attempt],
            self.error,
            is_same=self._is_same(*pair),
        )
        found = self._mistake(*pair, ready, attempt)
        if found is None or attempt == self.end or found.setup or found.needed:
            return found
        again = _pair(calls[attempt], calls[self.end], calls[self.end])
        return found if again and again[0].words == again[1].words else None

    def _is_same(self, step: Step, worked: Step) -> bool:
        """Whether the two want the same in words of which the error names none that was left."""
        plain = [{word for word in one.words if word[:1] != "-"} for one in (step, worked)]
        gone = {*step.words} - {*worked.words}
        return plain[0] == plain[1] and not any(named(word, self.call.output) for word in gone)

    def _answered_after(self, last: int) -> Mistake | None:
        """The mistake when other tries failed otherwise before the call that worked."""
        calls = self.execution.calls
        pair = _pair(self.call, calls[self.end], calls[self.end])
        between = calls[last + 1 : self.end]
        if pair is None or len(between) > MAX_BETWEEN:
            return None
        ready = preparation(self.execution, between, calls[self.end], self.error, is_same=False)
        found = self._mistake(*pair, ready, self.end)
        return None if found is None or found.setup or found.needed else found

    def _mistake(
        self, step: Step, worked: Step, ready: Preparation, attempt: int
    ) -> Mistake | None:
        calls = self.execution.calls
        steps = command_steps(self.call.arguments)
        later = command_steps(calls[attempt].arguments)
        setup = (*ready.steps, *leading_preparation(steps, later, worked, self.error))
        setup = tuple({one.words: one for one in setup if one.words != worked.words}.values())
        if ready.unclear or (self.error.kind is ErrorKind.CODE and not self._names(setup)):
            return None
        change = self._located(change_between(step, worked), ready.directory, worked)
        if setup or ready.needed:
            change = _beside_setup(change, self.error)
        if change is None:
            return None
        cause = _cause_before(setup, ready.needed)
        cause = cause or _cause(self.error, change, (step, worked), self.call.output)
        if cause is None:
            return None
        tries = [call for call in calls[self.position + 1 : self.end] if _retries(steps, call)]
        return Mistake(
            failed=self.call,
            resolved=calls[self.end],
            step=step,
            worked=worked,
            error=self.error,
            change=change,
            cause=cause,
            setup=setup,
            needed=ready.needed,
            skipped=_skipped(steps, step),
            distance=attempt - self.position - 1,
            attempts=tuple(tries),
        )

    def _names(self, setup: Sequence[Step]) -> bool:
        """Whether the error itself names what was run first: then it isn't the code's."""
        said = f"{self.error.line} {self.error.hint}"
        return bool(setup) and all(" ".join(step.words) in said for step in setup)

    def _located(self, change: CallChange | None, moved: str, worked: Step) -> CallChange | None:
        """The change with its directory as seen from the project."""
        if change is None:
            return None
        directory = change.directory or (moved if not worked.directory else "")
        if directory and self.execution.project:
            root = PurePosixPath(self.execution.project)
            path = PurePosixPath(directory)
            inside = path.is_relative_to(root)
            directory = str(path.relative_to(root)) if inside else directory
        return replace(change, directory=directory)


def _retries(steps: Sequence[Step], call: ToolCall) -> bool:
    if not call.is_shell or call.outcome is not CallOutcome.FAILED:
        return False
    return related(tuple(steps), command_steps(call.arguments))


def _fails_with(call: ToolCall, error: CallError) -> bool:
    return call.outcome is CallOutcome.FAILED and error.line in " ".join(call.output.split())


def _beside_setup(change: CallChange | None, error: CallError) -> CallChange | None:
    """What of a change still matters when something was done first: not the words, unless named."""
    if change is None:
        return CallChange()
    said = f"{error.line} {error.hint}"
    if all(word in said for word in change.added) and all(word in said for word in change.dropped):
        return change
    return replace(change, dropped=(), added=(), prefix="")


def _cause_before(setup: Sequence[Step], needed: Sequence[tuple[str, str]]) -> RootCause | None:
    """The cause when something was done first."""
    if needed:
        return RootCause.NEEDED
    entered = all(activates(step) for step in setup)
    return (RootCause.ENVIRONMENT if entered else RootCause.ORDER) if setup else None


def _cause(
    error: CallError, change: CallChange, pair: tuple[Step, Step], output: str
) -> RootCause | None:
    """What made the difference between two calls; ``None`` when that isn't plain."""
    if change.is_empty:
        return None
    if change.directory or change.goes_elsewhere:
        plain = change.goes_elsewhere or not (change.in_words or change.in_lead)
        is_place = _PLACE.search(f"{error.line} {error.hint}") is not None
        plain = plain and is_place and not change.prefix and not _are_siblings(change, *pair)
        return RootCause.DIRECTORY if plain else None
    return _cause_in_call(error, change, output)


def _are_siblings(change: CallChange, step: Step, worked: Step) -> bool:
    """Whether the two ran in folders side by side: then they were for different things."""
    if not step.directory or not worked.directory or change.directory == ".":
        return False
    one, other = PurePosixPath(step.directory), PurePosixPath(worked.directory)
    return not (one.is_relative_to(other) or other.is_relative_to(one))


def _cause_in_call(error: CallError, change: CallChange, output: str) -> RootCause | None:
    if change.prefix:
        return RootCause.SYMLINK if _SYMLINK.search(error.line) else None
    if change.other_program:
        return _cause_in_program(change, error)
    if change.in_lead:
        raised = any(word in {"sudo", "doas"} for word in change.lead_added)
        plain = not change.in_words and not any(map(_PATIENCE.fullmatch, change.lead_added))
        plain = plain and (not raised or _DENIED.search(error.line) is not None)
        return RootCause.ENVIRONMENT if plain else None
    if change.only_left_out:
        if not all(named(word, output) for word in change.dropped):
            return None
        return RootCause.IGNORED if _IGNORED.search(error.line) else RootCause.OPTION
    return _cause_in_words(error, change, output)


def _cause_in_program(change: CallChange, error: CallError) -> RootCause | None:
    """Another program: the same one of an environment, or one that takes its place."""
    names = [
        {re.sub(r"[\d.]+$", "", PurePosixPath(word).name) for word in words[:1]}
        for words in (change.dropped, change.added)
    ]
    if names[0] and names[0] == names[1]:
        return RootCause.ENVIRONMENT
    return RootCause.PROGRAM if _NO_PROGRAM.search(f"{error.line} {error.hint}") else None


def _cause_in_words(error: CallError, change: CallChange, output: str) -> RootCause | None:
    if error.kind is ErrorKind.NAME and change.only_names:
        return None  # a misspelt or outdated name is an accident
    said = [word for word in change.added if _is_said(word, output)]
    if any(_OVERRIDE.fullmatch(word) and word not in said for word in change.added):
        return None
    options = [word for word in change.added if word.startswith("-")]
    if any(word in said for word in options or said):
        return RootCause.NAMED
    if change.only_names:
        return None
    if change.dropped:
        return RootCause.CALL if all(named(word, output) for word in change.dropped) else None
    return RootCause.CALL if _LACKING.search(error.line) else None


def _is_said(word: str, output: str) -> bool:
    """Whether an output holds a word of a command, with its value or without."""
    bare = word.partition("=")[0] if word.startswith("--") else word
    return re.search(rf"(?<![\w-]){re.escape(bare)}(?![\w-])", output) is not None


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
    if word.startswith("-"):
        return _is_said(word, output)
    if len(word) <= 2:
        return False
    names = filter(None, re.split(r"[\s'\"`:,()]+", output))
    return any(name == word or word.startswith(f"{name.rstrip('/')}/") for name in names)


def _skipped(steps: Sequence[Step], failed: Step) -> tuple[Step, ...]:
    place = next((place for place, step in enumerate(steps) if step is failed), None)
    return () if place is None else tuple(steps[place + 1 :])
