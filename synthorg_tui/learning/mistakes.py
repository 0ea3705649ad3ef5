"""The mistakes of an execution: failed calls that teach what to do differently the next time.

``executions.recoveries`` says which call resolved which failure. Here each pair is narrowed to the
programs in question, compared word by word, and dropped unless it is plain what made the
difference: a lesson about an accident is worse than none. A call that a hook stopped is one of
them: what it wants is what its text names and what was then run. Words are for ``remedies``.
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
from synthorg_tui.learning.changes import CallChange, change_between, is_said, named, same_step
from synthorg_tui.learning.error_lines import (
    CI_CHECK,
    CallError,
    ErrorKind,
    gate_error,
    is_gate_output,
    read_error,
)
from synthorg_tui.learning.failure_words import FAILURES
from synthorg_tui.learning.preparations import (
    activates,
    builds,
    is_named,
    leading_preparation,
    preparation,
    wanted_by_gate,
)


class RootCause(StrEnum):
    """What made the difference between the call that failed and the one that worked.

    ``ORDER``: something had to be run first (``setup``). ``ENVIRONMENT``: another environment was
    used: variables, ``sudo``, a runner or the program of a virtual environment (``change``), or one
    was entered first (``setup``). ``DIRECTORY``: it ran in another directory (``change.directory``,
    or an option such as ``-C``). ``OPTION``: what the error names was left out
    (``change.dropped``). ``PROGRAM``: another program does it. ``NAMED``: the error or its advice
    names what was put in. ``CALL``: what was lacking was put in, in words the error doesn't hold.
    """

    ORDER = "order"
    ENVIRONMENT = "environment"
    DIRECTORY = "directory"
    OPTION = "option"
    PROGRAM = "program"
    NAMED = "named"
    CALL = "call"


_MAX_INSTEAD = 3
"""How many calls later another command may take the place of one that a hook refuses."""
_WAYS_ROUND = frozenset({RootCause.ENVIRONMENT, RootCause.PROGRAM})
"""Causes whose remedy goes round what is wrong, and gives way to what mends it."""
_ENDED_BADLY = frozenset({CallOutcome.FAILED, CallOutcome.BLOCKED_BY_HOOK})


@dataclass(frozen=True, slots=True)
class Mistake:
    """A failed call with what put it right.

    ``failed`` is the call that failed, ``resolved`` the one that finally worked; ``step`` and
    ``worked`` are the programs in them that matter, and ``change`` is how these differ (empty when
    only something had to be done first). ``cause`` says which of it made the difference. ``setup``
    are commands that were run first. ``distance`` is the number of calls before the next attempt.
    ``attempts`` are further tries that failed before the one that worked. With ``is_gate`` a hook
    or a check stopped the call.
    """

    failed: ToolCall
    resolved: ToolCall
    step: Step
    worked: Step
    error: CallError
    change: CallChange
    cause: RootCause
    setup: tuple[Step, ...] = ()
    distance: int = 0
    attempts: tuple[ToolCall, ...] = ()
    is_gate: bool = False

    @property
    def advised(self) -> bool:
        """True when the error itself named the command that worked."""
        text = " ".join(self.failed.output.split())
        if self.is_gate:
            return any(is_named(step, text) for step in self.setup or (self.worked,))
        return bool(self.change.added) and " ".join(self.worked.words) in text


def find_mistakes(execution: Execution) -> Iterator[Mistake]:
    """Yield the mistakes of a run that teach something, in order, each once.

    Of several failures before one answer that is the first; a later one of them only if something
    answered it that the first did without.
    """
    calls = execution.calls
    seen: set[tuple[str, int]] = set()
    tried: set[str] = set()
    answers = dict(resolved_failures(calls, _counts))
    for position in filter(lambda at: _counts(calls[at]), range(len(calls))):
        end = answers.get(position) or _instead(calls, position)
        found = _Failure.read(execution, position, end).explained() if end else None
        if end is None or found is None:
            continue
        if found.failed.id in tried and not (found.advised or found.setup):
            continue
        if found.cause in _WAYS_ROUND and _is_mended(calls[end + 1 :], found.step):
            continue
        tried |= {call.id for call in found.attempts}
        same = (signature(found.error.line), end)
        if same not in seen:
            seen.add(same)
            yield found


def _counts(call: ToolCall) -> bool:
    """Whether a call failed or was stopped by a hook; checks elsewhere may yet be running."""
    is_own = call.is_shell and not CI_CHECK.search(call.arguments)
    return is_own and (is_failure(call) or is_gate_output(call))


def _instead(calls: Sequence[ToolCall], position: int) -> int | None:
    """Where another command that a hook's text names took the place of the one it refused."""
    blocked = calls[position]
    steps = command_steps(blocked.arguments)[-1:]
    if blocked.outcome is not CallOutcome.BLOCKED_BY_HOOK:
        return None
    after = range(position + 1, min(len(calls), position + 1 + _MAX_INSTEAD))
    return next(
        (
            at
            for at in after
            if calls[at].is_shell and went_well(calls[at])
            for other in command_steps(calls[at].arguments)
            if steps and _takes_place(steps[0], other, blocked.output)
        ),
        None,
    )


def _takes_place(step: Step, other: Step, output: str) -> bool:
    """Whether a gate's text asks for another command, and that is given what the first one was."""
    program = re.escape(PurePosixPath(other.words[0]).name)
    quoted = other.words[0] != step.words[0] and re.search(rf"[`'\"]{program}[`'\"]", output)
    rest = [word for word in step.words[len(step.intent.split()) :] if not word.startswith("-")]
    is_asked = other.intent != step.intent and (quoted or is_named(other, output))
    return bool(is_asked) and (not rest or list(other.words[-len(rest) :]) == rest)


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
    error: CallError | None
    is_gate: bool

    @classmethod
    def read(cls, execution: Execution, position: int, end: int) -> "_Failure":
        call = execution.calls[position]
        is_gate = is_gate_output(call)
        return cls(execution, position, end, _error_of(call, is_gate=is_gate), is_gate)

    @property
    def call(self) -> ToolCall:
        return self.execution.calls[self.position]

    def explained(self) -> Mistake | None:
        """The mistake, if it is plain what put it right."""
        calls = self.execution.calls
        last = self._last_with_error() if self.error else None
        attempt = None if last is None else next_attempt(calls, last, self.end, lambda _: False)
        if last is None or attempt is None:
            return None
        found = self._answered(last, attempt)
        if found is None and attempt != self.end and not self.is_gate:
            found = self._answered(last, self.end)
            found = None if found is None or found.setup else found
        return found

    def _last_with_error(self) -> int | None:
        """Where the same error came the last time, in tries that follow each other."""
        calls, last = self.execution.calls, self.position
        while last < self.end:
            attempt = next_attempt(calls, last, self.end, lambda _: False)
            if attempt is None:
                return None
            if not self._came_again(calls[attempt]):
                return last
            last = attempt
        return None

    def _came_again(self, call: ToolCall) -> bool:
        if call.outcome not in _ENDED_BADLY or self.error is None:
            return False
        line = self.error.line
        if not self.is_gate:
            return line in " ".join(call.output.split())
        error = _error_of(call, is_gate=True)
        return error is not None and error.line == line

    def _answered(self, last: int, attempt: int) -> Mistake | None:
        """The mistake when the ``attempt`` no longer has the error, even if it has another."""
        calls = self.execution.calls
        pair = _pair(self.call, calls[attempt], calls[self.end])
        between = calls[last + 1 : attempt]
        if pair is None or self.error is None or len(between) > MAX_BETWEEN:
            return None
        if self.is_gate:
            return self._passed_gate(between, attempt)
        found = self._mistake(*pair, between, attempt)
        if found is None or attempt == self.end or found.setup:
            return found
        again = _pair(calls[attempt], calls[self.end], calls[self.end])
        same = again and (again[0].lead, again[0].words) == (again[1].lead, again[1].words)
        return found if same else None

    def _is_same(self, step: Step, worked: Step) -> bool:
        """Whether the two want the same in words of which the error names none that was left."""
        plain = [{word for word in one.words if word[:1] != "-"} for one in (step, worked)]
        gone = {*step.words} - {*worked.words}
        return plain[0] == plain[1] and not any(named(word, self.call.output) for word in gone)

    def _mistake(
        self, step: Step, worked: Step, between: Sequence[ToolCall], attempt: int
    ) -> Mistake | None:
        calls, error = self.execution.calls, self.error
        assert error is not None
        steps, later = (command_steps(call.arguments) for call in (self.call, calls[attempt]))
        is_same = self._is_same(step, worked)
        ready = preparation(between, calls[attempt], error, is_same=is_same)
        setup = (*ready.steps, *leading_preparation(steps, later, worked, error))
        setup = tuple({one.words: one for one in setup if one.words != worked.words}.values())
        stale = is_same and bool(setup) and all(map(builds, setup))
        if ready.unclear or (error.kind is ErrorKind.CODE and not (stale or _names(error, setup))):
            return None
        change = self._located(change_between(step, worked), ready.directory, worked)
        if setup:
            entered = all(activates(step) for step in setup)
            cause: RootCause | None = RootCause.ENVIRONMENT if entered else RootCause.ORDER
            change = _beside_setup(change, error)
        else:
            cause = (
                None if change is None else _cause(error, change, (step, worked), self.call.output)
            )
        if change is None or cause is None:
            return None
        return self._told(step, worked, change, cause, setup, attempt)

    def _passed_gate(self, between: Sequence[ToolCall], attempt: int) -> Mistake | None:
        """What a gate wanted: what was run and its text names, or another command in its place."""
        steps = command_steps(self.call.arguments)
        later = {one.intent: one for one in command_steps(self.execution.calls[attempt].arguments)}
        step = next((one for one in reversed(steps) if one.intent in later), steps[-1])
        worked = later.get(step.intent) or next(reversed(later.values()))
        before = {*(one.words for one in steps)}
        instead = step.intent != worked.intent
        well = [call for call in between if call.is_shell and went_well(call)]
        ran = [
            one
            for call in (*well, self.execution.calls[attempt])
            for one in command_steps(call.arguments)
            if one.words not in before and one.intent != step.intent
        ]
        wanted = () if instead else wanted_by_gate(ran, self.call.output)
        cause = RootCause.PROGRAM if instead else RootCause.ORDER
        change = CallChange(other_program=instead)
        is_plain = instead or wanted
        return self._told(step, worked, change, cause, wanted, attempt) if is_plain else None

    def _told(
        self,
        step: Step,
        worked: Step,
        change: CallChange,
        cause: RootCause,
        setup: tuple[Step, ...],
        attempt: int,
    ) -> Mistake:
        assert self.error is not None
        calls, steps = self.execution.calls, command_steps(self.call.arguments)
        tries = [call for call in calls[self.position + 1 : self.end] if _retries(steps, call)]
        return Mistake(
            failed=self.call,
            resolved=calls[attempt if self.is_gate else self.end],
            step=step,
            worked=worked,
            error=self.error,
            change=change,
            cause=cause,
            setup=setup,
            distance=attempt - self.position - 1,
            attempts=tuple(tries),
            is_gate=self.is_gate,
        )

    def _located(self, change: CallChange | None, moved: str, worked: Step) -> CallChange | None:
        """The change with its directory as seen from the project."""
        if change is None:
            return None
        directory = change.directory or (moved if not worked.directory else "")
        root = PurePosixPath(self.execution.project or "")
        if directory and root.is_absolute() and PurePosixPath(directory).is_relative_to(root):
            directory = str(PurePosixPath(directory).relative_to(root))
        return replace(change, directory=directory)


def _error_of(call: ToolCall, *, is_gate: bool) -> CallError | None:
    """The error of a call; ``None`` when its output says nothing."""
    steps = command_steps(call.arguments)
    if not steps:
        return None
    return gate_error(call.output) if is_gate else read_error(call.output, steps[-1])


def _names(error: CallError, setup: Sequence[Step]) -> bool:
    """Whether the error itself names what was run first: then it isn't the code's."""
    said = error.plain
    return bool(setup) and all(" ".join(step.words) in said for step in setup)


def _retries(steps: Sequence[Step], call: ToolCall) -> bool:
    if not call.is_shell or call.outcome is not CallOutcome.FAILED:
        return False
    return related(tuple(steps), command_steps(call.arguments))


def _beside_setup(change: CallChange | None, error: CallError) -> CallChange:
    """What of a change still matters when something was done first: not the words, unless named."""
    change = change or CallChange()
    said = error.plain
    is_named = all(word in said for word in (*change.added, *change.dropped))
    return change if is_named else replace(change, dropped=(), added=())


def _cause(
    error: CallError, change: CallChange, pair: tuple[Step, Step], output: str
) -> RootCause | None:
    """What made the difference between two calls; ``None`` when that isn't plain."""
    if change.directory or change.goes_elsewhere:
        plain = change.goes_elsewhere or not (change.in_words or change.in_lead)
        is_place = FAILURES["place"].search(error.plain) is not None
        plain = plain and is_place and not _are_siblings(change, *pair)
        return RootCause.DIRECTORY if plain else None
    if change.other_program:
        return _cause_in_program(change, error)
    if change.in_lead:
        raised = any(word in {"sudo", "doas"} for word in change.lead_added)
        plain = not change.in_words and not any(
            map(FAILURES["patience"].fullmatch, change.lead_added)
        )
        plain = plain and (not raised or FAILURES["denied"].search(error.plain) is not None)
        return RootCause.ENVIRONMENT if plain else None
    if change.only_left_out:
        return RootCause.OPTION if all(named(word, output) for word in change.dropped) else None
    return _cause_in_words(error, change, output) if change.added else None


def _are_siblings(change: CallChange, step: Step, worked: Step) -> bool:
    """Whether the two ran in folders side by side: then they were for different things."""
    if not step.directory or not worked.directory or change.directory == ".":
        return False
    one, other = PurePosixPath(step.directory), PurePosixPath(worked.directory)
    return not (one.is_relative_to(other) or other.is_relative_to(one))


def _cause_in_program(change: CallChange, error: CallError) -> RootCause | None:
    """Another program: the same one of an environment, or one that takes its place."""
    names = [
        {re.sub(r"[\d.]+$", "", PurePosixPath(word).name) for word in words[:1]}
        for words in (change.dropped, change.added)
    ]
    if names[0] and names[0] == names[1]:
        return RootCause.ENVIRONMENT
    return RootCause.PROGRAM if FAILURES["no_program"].search(error.plain) else None


def _cause_in_words(error: CallError, change: CallChange, output: str) -> RootCause | None:
    if error.kind is ErrorKind.NAME and change.only_names:
        return None  # a misspelt or outdated name is an accident
    said = [word for word in change.added if is_said(word, output)]
    if any(FAILURES["override"].fullmatch(word) and word not in said for word in change.added):
        return None
    options = [word for word in change.added if word.startswith("-")]
    if any(word in said for word in options or said):
        return RootCause.NAMED
    if change.only_names:
        return None
    if change.dropped:
        return RootCause.CALL if all(named(word, output) for word in change.dropped) else None
    return RootCause.CALL if FAILURES["lacking"].search(error.plain) else None


def _pair(failed: ToolCall, attempt: ToolCall, resolved: ToolCall) -> tuple[Step, Step] | None:
    """The step that failed and the same step of the ``attempt`` without the error."""
    before = command_steps(failed.arguments)
    after = command_steps(attempt.arguments) or command_steps(resolved.arguments)
    last = (before[-1], after[-1]) if before and after else None
    return same_step(before, after, failed.output) or last
