"""Gates as lessons: what a hook or a check wants before it lets a call through.

A gate that stops a call does its work; the agent made no mistake. The same gate satisfied by the
same command is the same lesson in every run.
"""

import re
from collections.abc import Sequence
from itertools import islice

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import MAX_REPORTED_RECOVERIES, Execution, ToolCall, slug
from synthorg_tui.executions.output_lines import signature
from synthorg_tui.learning.captured import Captured, incident_payload
from synthorg_tui.learning.error_lines import CI_CHECK
from synthorg_tui.learning.lessons import MAX_TITLE, LessonWords, grounded_lesson
from synthorg_tui.learning.phrases import clean, explained, joined, name_of
from synthorg_tui.learning.stopped_calls import GateRule, PassedGate, find_gates

GATE_TAG = "gate"
_MAX_COMMAND = 300


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


def _captured(execution: Execution, gate: PassedGate) -> Captured:
    error = _safe(" — ".join(filter(None, (gate.line, gate.advice))), 400)
    line = signature(gate.line, (execution.branch or "", execution.project or ""))
    wanted = str(gate.rule) or ", ".join(name_of(step) for step in gate.wants)
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
        f"gate|{execution.agent_id}|{name_of(gate.step)}|{line}|{wanted}",
        _GateWords(execution, gate).words(),
        (evidence,),
        certainty=gate.certainty,
        tags=(GATE_TAG, gate.step.intent.partition(" ")[0].lower()),
    )
    return Captured(lesson, incident_payload(execution, gate.line, category="gate"))


class _GateWords:
    """Words what a gate wants."""

    def __init__(self, execution: Execution, gate: PassedGate) -> None:
        self._gate = gate
        self._blocked = clean(name_of(gate.step), 60)
        self._is_check = CI_CHECK.search(gate.blocked.arguments) is not None
        self._said = clean(execution.relative(gate.line), 120).rstrip(" .")
        self._next = "you push" if self._is_check else f"`{self._blocked}`"
        self._advice = _safe(gate.advice, 160).rstrip(" .")

    def words(self) -> LessonWords:
        """All words of the lesson."""
        if self._gate.instead:
            return self._of_other_command()
        if self._gate.rule:
            return self._of_rule()
        gate = self._gate
        wants = joined(f"`{_general(step)}`" for step in gate.wants)
        staged = any(step.intent == "git add" for step in command_steps(gate.passed.arguments))
        again = " Stage what it changed before you commit." if staged else ""
        fix = " and put right what it reports" if gate.edited else ""
        here = f" Here {meaning}." if (meaning := explained(wants)) else ""
        sure = f" Its message names the command: “{self._advice}”." if self._advice else ""
        stopper = "A check" if self._is_check else "A hook"
        stops = "fails" if self._is_check else f"stops `{self._blocked}`"
        passed = "it" if self._is_check else "the same call"
        return LessonWords(
            name=self._name(name_of(gate.wants[0])),
            title=self._title(),
            when=self._when,
            do=f"Run {wants}{fix}, then {'push' if self._is_check else self._next}.{again}{here}",
            why=f"{stopper} {stops} until then; after it {passed} passed.{sure}",
            check=self._check,
        )

    @property
    def _when(self) -> str:
        if self._is_check:
            return f"you are about to push in this project, or a check said “{self._said}”."
        return f"`{self._blocked}` is next in this project, or was stopped with “{self._said}”."

    @property
    def _check(self) -> str:
        goes = "The check passes" if self._is_check else f"`{self._blocked}` goes through"
        return f"{goes} and “{self._said}” is gone."

    def _title(self) -> str:
        verb = "Have {} pass" if self._gate.edited else "Run {}"
        whole = joined(f"`{_general(step)}`" for step in self._gate.wants)
        short = joined(f"`{clean(name_of(step), 60)}`" for step in self._gate.wants)
        titles = [f"{verb.format(wants)} before {self._next}" for wants in (whole, short)]
        last = f"Do what the hook names before {self._next}"
        return next((title for title in titles if len(title) <= MAX_TITLE), last)

    def _name(self, *about: str) -> str:
        parts = slug(name_of(self._gate.step)).split("-")[:3]
        more = [part for words in about for part in slug(words).split("-") if part]
        return "-".join([*parts, *more][:5])

    def _of_other_command(self) -> LessonWords:
        other = self._gate.wants[0]
        is_whole = name_of(other) in " ".join(self._gate.blocked.output.split())
        name = clean(name_of(other) if is_whole else other.words[0], 60)
        given = len(self._gate.step.words) > len(self._gate.step.intent.split())
        example = f", such as `{_typed(other)}`" if given else ""
        return LessonWords(
            name=self._name("use", name),
            title=f"Use `{name}` instead of `{self._blocked}` here",
            when=self._when,
            do=f"Run `{name}` with what you would give `{self._blocked}`{example}.",
            why=f"A hook refuses `{self._blocked}` and says “{self._said}”.",
            check=f"`{name}` runs without the hook stopping it.",
        )

    def _of_rule(self) -> LessonWords:
        if self._gate.rule is GateRule.MESSAGE:
            return LessonWords(
                name=self._name("message", "format"),
                title="Write commit messages as `type: subject`, as the hook wants them",
                when=self._when,
                do="Begin the message with a type and a colon, such as `fix: ` or `feat(scope): `.",
                why=f"The hook checks messages and said “{self._said}”; so written, it passed.",
                check=self._check,
            )
        if self._gate.rule is GateRule.PROTECTED:
            start = " ".join(self._gate.wants[0].words[:3])
            is_push = self._blocked == "git push"
            push = "push it, and open a pull request" if is_push else f"then `{self._blocked}`"
            own = "Push a branch of your own: this one is protected"
            return LessonWords(
                name=self._name("protected", "branch"),
                title=own if is_push else f"Start a branch before `{self._blocked}`",
                when=self._when,
                do=f"Start a branch with `{start} <branch>` (a name of your choice), {push}.",
                why=f"The branch is protected: `{self._blocked}` on it is refused with"
                f" “{self._said}”.",
                check=f"`{self._blocked}` on the new branch is accepted.",
            )
        again = f"Stage again and repeat `{self._blocked}` when a hook rewrote files"
        return LessonWords(
            name=self._name("stage", "again"),
            title=again,
            when=self._when,
            do="Run `git add` on the files that the hook changed, then the same"
            f" `{self._blocked}` again.",
            why="The hook puts files right by itself and stops once, so that they get staged.",
            check=self._check,
        )


def _general(step: Step) -> str:
    """A command as one would type it, with a placeholder for the files of this run."""
    words: list[str] = []
    for word in (*step.lead, *step.words):
        shown = "<path>" if word in step.targets and word != step.words[0] else word
        if shown != "<path>" or words[-1:] != ["<path>"]:
            words.append(shown)
    return _safe(" ".join(words), 120)


def _command(call: ToolCall, step: Step) -> str:
    if len(call.arguments) <= _MAX_COMMAND and "\n" not in call.arguments:
        return _safe(call.arguments, 400)
    words = ["…" if re.search(r"[\s$]", word) else word for word in step.words[:12]]
    return _safe(f"… {' '.join(words)}", 400)


def _typed(step: Step) -> str:
    return _safe(" ".join([*step.lead, *step.words]), 120)


def _safe(text: str, limit: int) -> str:
    return clean(redact_text(text, RedactionTally()), limit)
