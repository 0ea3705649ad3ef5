"""Triggers of approved lessons: which calls of an agent a lesson speaks about.

Nothing else is stored for them: a trigger is worked out of what kind of lesson it is and of its
evidence. Before a call one fires only when the call has the failing form; after a failure when the
same program failed with the same error. A hint that isn't sure is not given, so whatever isn't
understood fires nowhere.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

from synthorg_tui.core.projects import same_project
from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.output_lines import clean_output, signature
from synthorg_tui.learning.actions import (
    AgentAction,
    FailingForm,
    arguments,
    in_folder,
)
from synthorg_tui.learning.changes import is_said, same_step
from synthorg_tui.learning.error_lines import MAX_ERROR, ErrorKind, gate_lines, read_error
from synthorg_tui.learning.failure_words import FAILURES

_MAX_ERROR_LINES = 60
_MAX_GAP = 100
"""Characters that a name in an error may have."""
_LEAST_LETTERS, _LEAST_WORDS = 8, 2
"""What an error must have besides names to be told from others."""
_SURE_RUNS = 3
"""Runs in which a preparation was missing before it is spoken of ahead of the call."""
_SHORT_PLACE = "/_"
_CUT, _CUT_WORDS = "…", 4
"""The end of an error that was too long, and its last words, which another one may lack."""
_HARMLESS = frozenset({"ls", "cat", "head", "tail", "grep", "rg", "find", "wc", "stat", "less"})
_CHANGING = frozenset({"edit", "write"})
_NO_STEP = Step("", frozenset())


@dataclass(frozen=True, slots=True)
class Trigger:
    """What makes a lesson come up: a call in a failing form, an error, or a file.

    ``intent`` is the program with its subcommand, or the kind of file tool. ``error`` is the error
    with ``<>`` for names, empty when it can't be told from others. ``project`` is the only one in
    which it holds, ``None`` for everywhere. ``satisfied_by`` are the intents that have to come
    first: before the call it holds only while none of them is known to have run. With
    ``same_call`` the call was right, and something else had to be done.
    """

    kind: LessonKind
    intent: str = ""
    error: str = ""
    form: FailingForm | None = None
    files: frozenset[str] = frozenset()
    project: str | None = None
    satisfied_by: tuple[str, ...] = ()
    same_call: bool = False

    def holds_in(self, action: AgentAction) -> bool:
        """Tell whether the lesson holds in the project of the call."""
        return same_project(self.project, action.where)

    def matches_before(self, action: AgentAction) -> bool:
        """Tell whether the call is sure to be one that the lesson is about."""
        if not self.holds_in(action):
            return False
        if self.files:
            return self.kind is LessonKind.CORRECTION and self._changes_file(action)
        return any(
            step.intent == self.intent and self._fails(step, action) for step in action.steps
        )

    def is_known_from(self, action: AgentAction) -> bool:
        """Tell whether a call is written as the lesson says, so that its agent knows the answer."""
        form = self.form
        return form is not None and any(
            step.intent == self.intent and form.is_answered_by(step) for step in action.steps
        )

    def matches_after(self, action: AgentAction) -> bool:
        """Tell whether the call failed as in the lesson's evidence."""
        if not (self.error and action.error and self.holds_in(action)):
            return False
        if self.kind is LessonKind.FILE:
            same = action.verb == self.intent and (not self.files or self._is_file(action.path))
            return same and self._same_error(action, _NO_STEP)
        return any(
            step.intent == self.intent and self._unanswered(step) and self._same_error(action, step)
            for step in action.steps
        )

    def _fails(self, step: Step, action: AgentAction) -> bool:
        form = self.form
        if self.satisfied_by:
            return True
        if form is None or self.same_call:
            return False
        if form.directory:
            return form.words == step.words and self._is_elsewhere(step, action)
        return (form.differs or self.kind is LessonKind.CORRECTION) and form.is_of(step)

    def _is_elsewhere(self, step: Step, action: AgentAction) -> bool:
        """Whether it is known that the step runs in another folder than where it works."""
        assert self.form is not None
        base = action.cwd or action.project
        if not base:
            return False
        there = in_folder(self.form.directory, action.project, base)
        here = in_folder(step.directory, base)
        return here != there and not here.startswith(f"{there}/")

    def _unanswered(self, step: Step) -> bool:
        """Whether the step isn't written yet as the lesson would have it."""
        form = self.form
        if form is None or self.satisfied_by or form.replaced:
            return True
        names, flags = arguments(step)
        if form.names_matter and names != form.names:
            return False
        if self.same_call or form.directory:
            return True
        words, lead = frozenset(step.words), frozenset(step.lead)
        if not {word for word in form.dropped if word.startswith("-")} <= set(flags):
            return False
        left = form.dropped & words or form.lead_dropped & lead
        return bool(left or form.added - words or form.lead_added - lead)

    def _same_error(self, action: AgentAction, step: Step) -> bool:
        error = action.error
        for name in filter(None, (action.path, action.file)):
            error = error.replace(name, _SHORT_PLACE)
        lines = _error_lines(error, step)
        if self.kind is LessonKind.GATE:
            lines += tuple(
                comparable(line.rstrip(" .:")) for line in gate_lines(error)[:_MAX_ERROR_LINES]
            )
        return any(fits(self.error, line) for line in lines)

    def _changes_file(self, action: AgentAction) -> bool:
        if action.verb:
            return action.verb in _CHANGING and self._is_file(action.path)
        targets = (
            in_folder(target, step.directory or action.cwd, action.project)
            for step in action.steps
            if step.intent not in _HARMLESS
            for target in step.targets
        )
        return any(map(self._is_file, targets))

    def _is_file(self, path: str) -> bool:
        return any(path == file or path.endswith(f"/{file}") for file in self.files)


def triggers_of(
    kind: LessonKind | None, evidence: Sequence[Evidence], *, project: str | None = None
) -> tuple[Trigger, ...]:
    """Return the triggers of a lesson, each once; none when its evidence says too little.

    ``project`` stands for that of evidence that names none. What only worked in a project, since
    files or folders of it are named, has triggers of that project alone.
    """
    build = _BUILDERS.get(kind) if kind is not None else None
    if kind is None or build is None:
        return ()
    runs = len({seen.execution for seen in evidence})
    worked = [command_steps(_written(seen.resolved_by)) for seen in evidence]
    found: dict[Trigger, None] = {}
    for seen in evidence:
        trigger = build(kind, seen, seen.project or project)
        if trigger is None:
            continue
        if trigger.satisfied_by and kind is not LessonKind.GATE and runs < _SURE_RUNS:
            trigger = replace(trigger, satisfied_by=())
        if any(_would_fail(trigger, step) for steps in worked for step in steps):
            trigger = replace(trigger, same_call=True)
        if trigger.error or trigger.files or not trigger.same_call or trigger.satisfied_by:
            found[trigger] = None
    return tuple(found)


def _would_fail(trigger: Trigger, worked: Step) -> bool:
    """Whether a command that is known to have worked has the failing form."""
    form = trigger.form
    if form is None or trigger.kind is LessonKind.CORRECTION or form.directory:
        return False
    return worked.intent == trigger.intent and form.is_of(worked)


def _of_failure(kind: LessonKind, seen: Evidence, project: str | None) -> Trigger | None:
    if not seen.resolved_by:
        return _of_unsolved(kind, seen, project)
    pair = _pair(seen)
    form = _form(*pair, seen.error) if pair is not None else None
    if pair is None or form is None:
        return None
    failed, worked = pair
    error = read_error(_line(seen, failed), failed)
    is_name = error is not None and error.kind is ErrorKind.NAME
    if not (form.differs or form.directory or seen.between):
        return None
    if is_name and failed.words[0] == worked.words[0]:
        form = replace(form, names_matter=True)
    values = {word for word in form.added if not word.startswith("-")} | failed.targets
    return Trigger(
        kind,
        failed.intent,
        error_pattern(_line(seen, failed), {*values, PurePosixPath(project or "").name}),
        form,
        project=project if _names_project(failed, worked, form, seen) else None,
        satisfied_by=_needed(seen.between),
        same_call=bool(seen.between),
    )


def _of_unsolved(kind: LessonKind, seen: Evidence, project: str | None) -> Trigger | None:
    """What only an error tells: nothing has helped yet, so no form of the call is better."""
    steps = command_steps(_written(seen.failed))
    if not steps:
        return None
    error = error_pattern(_line(seen, steps[-1]), steps[-1].targets)
    return Trigger(kind, steps[-1].intent, error, project=project, same_call=True)


def _of_gate(kind: LessonKind, seen: Evidence, project: str | None) -> Trigger | None:
    needs = _needed(seen.between)
    refused = None if needs else _refused(seen)
    if refused is not None:
        error = error_pattern(_line(seen, refused), refused.targets)
        return Trigger(kind, refused.intent, error, _as_written(refused, True), project=project)
    pair = _pair(seen)
    form = _form(*pair, seen.error) if pair is not None else None
    if pair is None or not (needs or (form is not None and form.differs)):
        return None
    error = error_pattern(_line(seen, pair[0]), pair[0].targets)
    form = None if needs else form
    return Trigger(kind, pair[0].intent, error, form, project=project, satisfied_by=needs)


def _refused(seen: Evidence) -> Step | None:
    """The step that a gate lets through in no form, since it wants another program."""
    before, after = command_steps(_written(seen.failed)), command_steps(_written(seen.resolved_by))
    is_kept = not (before and after) or before[-1].intent in {step.intent for step in after}
    return None if is_kept else before[-1]


def _of_file(kind: LessonKind, seen: Evidence, project: str | None) -> Trigger | None:
    tool, _, path = seen.failed.partition(" ")
    error = read_error(seen.error, _NO_STEP)
    if not path or error is None:
        return None
    verb = AgentAction(tool=tool, file=path).verb
    about_name = error.kind is ErrorKind.NAME and not seen.between
    files = frozenset({_plain(path)} if about_name else ())
    pattern = error_pattern(_line(seen, _NO_STEP), {path, PurePosixPath(path).name})
    return Trigger(kind, verb, pattern, files=files, project=project if about_name else None)


def _of_correction(kind: LessonKind, seen: Evidence, project: str | None) -> Trigger | None:
    verb, _, path = seen.failed.partition(" ")
    about = [file for file in seen.between if file.strip()]
    if not about and verb in _CHANGING and path:
        about = [path]
    if about:
        return Trigger(kind, files=frozenset(map(_plain, about)), project=project)
    steps = command_steps(_written(seen.failed))
    if len(steps) != 1 or not project:
        return None
    return Trigger(kind, steps[0].intent, form=_as_written(steps[0]), project=project)


_BUILDERS = {
    LessonKind.FAILURE: _of_failure,
    LessonKind.EVOLVED: _of_failure,
    LessonKind.GATE: _of_gate,
    LessonKind.FILE: _of_file,
    LessonKind.CORRECTION: _of_correction,
}


def _as_written(step: Step, replaced: bool = False) -> FailingForm:
    """The form of a step of which no word alone was wrong."""
    names, flags = arguments(step)
    none = frozenset[str]()
    return FailingForm(step.words, none, none, none, none, none, names, flags, replaced=replaced)


def _plain(path: str) -> str:
    return in_folder(path)


def _written(command: str) -> str:
    """The command of an evidence; of a long one only the step that matters was stored."""
    return command.removeprefix("… ")


def _pair(seen: Evidence) -> tuple[Step, Step] | None:
    """The step that failed, and the one that took its place in the command that worked."""
    before, after = command_steps(_written(seen.failed)), command_steps(_written(seen.resolved_by))
    alone = (before[0], after[0]) if len(before) == len(after) == 1 else None
    return same_step(before, after, seen.error) or alone


def _mentions(error: str, word: str) -> bool:
    return len(word) > 1 and is_said(word, error)


def _form(failed: Step, worked: Step, error: str) -> FailingForm | None:
    """How the failed step was written; ``None`` when the other one is another command."""
    if failed.intent != worked.intent and not FAILURES["not_there"].search(error):
        return None
    dropped = frozenset(failed.words) - frozenset(worked.words)
    added = frozenset(worked.words) - frozenset(failed.words)
    if any(re.search(r"\s", word) for word in dropped | added):
        dropped = added = frozenset()  # another message, or code: nothing that was wrong
    names, flags = arguments(failed)
    options = [word for word in dropped if word.startswith("-")]
    return FailingForm(
        words=failed.words,
        lead=frozenset(failed.lead),
        dropped=dropped,
        added=added,
        lead_dropped=frozenset(failed.lead) - frozenset(worked.lead),
        lead_added=frozenset(worked.lead) - frozenset(failed.lead),
        names=names,
        flags=flags,
        names_matter=any(_mentions(error, name) for name in names),
        told=bool(options) and all(_mentions(error, word) for word in dropped),
        directory=worked.directory if worked.directory != failed.directory else "",
    )


def _needed(between: Iterable[str]) -> tuple[str, ...]:
    """The intents of the commands that were run first; lines that files gained are none."""
    ran = (command_steps(text)[-1:] for text in between if not FAILURES["added_line"].match(text))
    return tuple(dict.fromkeys(step.intent for steps in ran for step in steps))


def _names_project(failed: Step, worked: Step, form: FailingForm, seen: Evidence) -> bool:
    """Whether the remedy names something that only one project has."""
    words = {*form.dropped, *form.added}
    local = any("/" in word or PurePosixPath(word).suffix for word in words if "://" not in word)
    script = (
        failed.words[0].startswith(".") or FAILURES["scripts"].fullmatch(failed.intent) is not None
    )
    lead = bool(form.lead_added or form.lead_dropped or form.directory)
    other = failed.words[0] != worked.words[0]
    return local or script or lead or other or bool(seen.between)


def _line(seen: Evidence, step: Step) -> str:
    """The error line of an evidence, without the tool's advice after it."""
    error = read_error(seen.error.partition(" — ")[0], step)
    return error.line if error is not None else ""


def error_pattern(line: str, values: Iterable[str]) -> str:
    """An error with ``<>`` for what differs each time; empty when nothing else is left of it.

    One that was cut off ends with an ellipsis, and more may follow it.
    """
    shown = comparable(line, (value for value in values if len(value) > 2))
    words = re.findall(r"[^\W\d_]{2,}", shown)
    enough = sum(map(len, words)) >= _LEAST_LETTERS and len(words) >= _LEAST_WORDS
    return shown if enough else ""


@lru_cache(maxsize=32)
def _error_lines(error: str, step: Step) -> tuple[str, ...]:
    """The signatures of the lines of an output, made as those of evidence are."""
    lines = [line for line in clean_output(error).splitlines() if line.strip()]
    half = _MAX_ERROR_LINES // 2
    some = lines if len(lines) <= _MAX_ERROR_LINES else [*lines[:half], *lines[-half:]]
    read = (
        read_error(
            FAILURES["triggers_place"].sub(_SHORT_PLACE, line) if len(line) > MAX_ERROR else line,
            step,
        )
        for line in some
    )
    return tuple(comparable(found.line.rstrip(_CUT)) for found in read if found is not None)


def comparable(line: str, values: Iterable[str] = ()) -> str:
    """Return the signature of an error, the same for a path at the end of a sentence or not."""
    return FAILURES["names"].sub("<>", signature(line, values))


def fits(pattern: str, line: str) -> bool:
    """Tell whether a line is the pattern with some name for each ``<>``.

    A pattern that ends with an ellipsis need only be the beginning.
    """
    is_cut = pattern.endswith(_CUT)
    whole = " ".join(pattern.split(" ")[:-_CUT_WORDS]) if is_cut else pattern
    first, *others = whole.split("<>")
    if not line.startswith(first):
        return False
    place = len(first)
    for piece in others:
        found = line.find(piece, place, place + _MAX_GAP + len(piece)) if piece else len(line)
        if found < 0 or found - place > _MAX_GAP:
            return False
        place = found + len(piece)
    return is_cut or place == len(line)
