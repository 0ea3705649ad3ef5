"""Failures that come again, whatever they are: what ended them each time, or that nothing has yet.

A failure teaches here once two sessions met it, or one met it three times, and ``mistakes`` found
no cause for it. What stood between failure and success is only a candidate: a command is named as
the remedy when it ended the failure more often than not. The words are made of the evidence alone,
so that they follow it as it grows. A checker's rules that bite again are one lesson of a project.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import repository_of
from synthorg_tui.curation.models import Evidence, Lesson, LessonKind
from synthorg_tui.executions.commands import Step, command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.outcomes import went_well
from synthorg_tui.executions.output_lines import clean_output, headline, signature
from synthorg_tui.executions.recoveries import (
    MAX_BETWEEN,
    aimed,
    is_failure,
    resolved_failures,
)
from synthorg_tui.learning.error_lines import ErrorKind, is_gate_output, read_error
from synthorg_tui.learning.explanations import explanation, quoted
from synthorg_tui.learning.failure_words import FAILURES
from synthorg_tui.learning.lessons import LessonWords, grounded_lesson, is_title
from synthorg_tui.learning.mistakes import find_mistakes
from synthorg_tui.learning.phrases import clean, joined, name_of, stored
from synthorg_tui.learning.preparations import changes_things
from synthorg_tui.learning.project_commands import PART, role_in
from synthorg_tui.learning.situations import program_words, situation_of

KEY = "repeat|"
"""How the keys of these lessons begin."""
_ONCE, _AGAIN, _MORE, _MOST = 0.3, 0.55, 0.1, 0.85
_TIMES_IN_ONE = 3
"""So often has one session to meet a failure before that is enough."""
_MAX_OF_A_RUN, _MAX_SHOWN = 6, 6
_SOON = 6
"""How many calls later another program may do what the failed one was for."""
_SHELL_ITSELF = "the shell"
_RUNS_CODE = frozenset({"node", "python", "python3", "bash", "sh", "ruby", "perl", "bun", "deno"})
_SAID = " — the agent said: "
"""What stands in evidence between an error and the agent's explanation of it."""
_RAN = "ran: "
"""What evidence begins with that names a command between failure and success."""


class RepeatCaptureStrategy:
    """Draws a lesson from each failure that no mistake explains; most wait for another session."""

    name: str = "repeats"

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return the run's unexplained failures as lessons; empty for a run only reported."""
        groups = {} if execution.is_reported else _groups(execution)
        found = (_lesson(execution, key, seen) for key, seen in groups.items())
        return tuple(lesson for lesson in found if lesson is not None)


def merged_repeats(known: Lesson, more: Lesson) -> Lesson:
    """Return ``known`` with the evidence of ``more``, worded again by what all of it shows.

    Words that a model or a person wrote stay. Without anything new that is ``known`` itself.
    """
    seen = (*known.evidence, *more.evidence)
    together = {(each.execution, each.lines, each.error): each for each in seen}
    evidence = tuple(each for _, each in sorted(together.items(), key=lambda item: item[0]))
    if set(evidence) == set(known.evidence):
        return known
    words, certainty = _words(known.key, evidence), _certainty(known.key, evidence)
    fresh = known.grounded.model_copy(update={**words.fields, "confidence": certainty})
    is_ours = known.proposal == known.grounded
    mine = known.proposal.model_copy(update={"confidence": certainty})
    update = {"evidence": evidence, "grounded": fresh, "proposal": fresh if is_ours else mine}
    return known.model_copy(update=update)


def _groups(execution: Execution) -> dict[str, list[Evidence]]:
    """The failures of a run by what they are."""
    groups: dict[str, list[Evidence]] = defaultdict(list)
    mistakes = list(find_mistakes(execution))
    told = {call.id for one in mistakes for call in (one.failed, *one.attempts)}
    answers = dict(resolved_failures(execution.calls, _failed))
    place = repository_of(execution.project) if execution.project else ""
    for position, call in enumerate(execution.calls):
        if call.outcome is CallOutcome.CANCELLED_WITH_SIBLING:
            cause = _batch_failure(execution.calls, position)
            groups["batch"].append(_evidence(execution, call, cause, None))
        if not _failed(call) or call.id in told or is_gate_output(call):
            continue
        for rule, line in _rules(call):
            seen = _evidence(execution, call, f"{rule}: {line}".strip(" :"), None)
            allowed = _allowed(execution.calls[position + 1 :], rule)
            groups[f"rules|{place}"].append(seen.model_copy(update={"between": allowed}))
        if situation := _situation(call):
            end = answers.get(position)
            seen = _evidence(execution, call, situation[1], end, position + 1)
            groups["|".join(situation[::2])].append(seen)
    return groups


def _failed(call: ToolCall) -> bool:
    counts = call.is_shell or call.tool.startswith("mcp__")
    return counts and call.outcome is CallOutcome.FAILED


def _situation(call: ToolCall) -> tuple[str, str, str] | None:
    """What failed, its error, and that error without what differs each time."""
    if shell := FAILURES["shell"].search(call.output):
        return _SHELL_ITSELF, shell["what"], shell["what"]
    if not call.is_shell:
        line = headline(call.output)
        return (call.tool, line, signature(line)) if line else None
    steps = aimed(command_steps(call.arguments)) if is_failure(call) else ()
    error = read_error(call.output, steps[-1]) if steps else None
    if (
        error is None
        or FAILURES["answer"].search(error.line.casefold())
        or FAILURES["placed"].search(error.line)
    ):
        return None
    if steps[-1].intent in _RUNS_CODE:
        return None
    if error.kind is ErrorKind.CODE and "formatter" not in error.line.casefold():
        return None
    own = [word for word in steps[-1].words[1:] if re.search(r"\w[-\d._/]\w", word)]
    return _named(steps[-1]), error.line, signature(error.line, own)


def _named(step: Step) -> str:
    """What a step runs, with the script that a runner was given."""
    name, words = name_of(step), step.words
    follows = words[len(name.split()) :][:1] if name.endswith((" run", " exec")) else ()
    return " ".join((name, *(word for word in follows if re.fullmatch(r"[\w:-]+", word))))


def _rules(call: ToolCall) -> Iterator[tuple[str, str]]:
    """The rules that a checker's output names, each once with its complaint."""
    known: set[str] = set()
    steps = command_steps(call.arguments) if call.is_shell else ()
    checks = any(role_in(step) not in {"test", PART} for step in steps)
    lines = clean_output(call.output).splitlines() if checks else []
    for place, line in enumerate(lines):
        found = FAILURES["rule"].search(line) if FAILURES["placed"].search(line) else None
        rule = found[found.lastgroup or 0] if found else ""
        if rule and rule not in known:
            known.add(rule)
            said = [_complaint(each) for each in (line, *lines[place + 1 : place + 4])]
            yield rule, next((one for one in said if one.count(" ") > 2), "")


def _allowed(later: Sequence[ToolCall], rule: str) -> tuple[str, ...]:
    """The comment with which an edit then allowed what a rule forbids; mostly none."""
    words = r"[^\w\s\"\\]+ *[\w-]*(?:ignore|nolint|noqa|disable|allow)\b"
    named = rf"{words}[^\"\\\n]*\b{re.escape(rule)}\b[^\"\\\n]*"
    texts = (call.arguments for call in later if call.changed_path)
    found = next((match for text in texts if (match := re.search(named, text))), None)
    return (stored(found[0], 120),) if found else ()


def _complaint(line: str) -> str:
    return clean(FAILURES["drawn"].sub("", FAILURES["placed"].sub("", line)).strip(" \t:|×✖!"), 140)


def _batch_failure(calls: Sequence[ToolCall], position: int) -> str:
    """The call of the same batch that failed, in short."""
    near = calls[max(0, position - 6) : position + 6]
    return next((call.intent for call in near if call.outcome is CallOutcome.FAILED), "")


def _evidence(
    execution: Execution, call: ToolCall, error: str, end: int | None, following: int = 0
) -> Evidence:
    calls = execution.calls
    near = end is not None and end - following <= MAX_BETWEEN
    ended = calls[end] if end is not None and near else None
    if end is None and following and call.is_shell:
        ended = _other_way(calls[following : following + _SOON], call)
    between = _candidates(calls[following : (end or 0) + 1], call) if ended and end else ()
    what = call.arguments if call.is_shell else call.tool
    said = explanation(execution, call, ended or call, error) if following else ""
    return Evidence(
        execution=execution.id,
        lines=str(execution.ref(call.call_line, (ended or call).last_line)),
        agent_id=execution.agent_id,
        failed=stored(execution.relative(what), 300),
        error=stored(error, 300) + (f"{_SAID}{said}" if said else ""),
        resolved_by=stored(execution.relative(ended.arguments), 300) if ended else "",
        between=between,
        at=call.at or execution.started_at,
        project=execution.project,
    )


def _other_way(later: Sequence[ToolCall], failed: ToolCall) -> ToolCall | None:
    """A call soon after of another program that did something to the same thing."""
    goal = command_steps(failed.arguments)[-1:]
    given = {word for step in goal for word in step.words[1:] if FAILURES["thing"].fullmatch(word)}
    things = re.compile("|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in given))
    return next(
        (
            call
            for call in later
            if given and call.is_shell and went_well(call)
            for step in command_steps(call.arguments)
            if step.intent != goal[0].intent
            and things.search(text := " ".join(step.words))
            and (FAILURES["writes"].search(text) or changes_things(step))
        ),
        None,
    )


def _candidates(later: Sequence[ToolCall], failed: ToolCall) -> tuple[str, ...]:
    """Commands that worked until the failure was gone, and may have ended it."""
    own = {step.intent for step in command_steps(failed.arguments)}
    steps = [
        step
        for call in later
        if call.is_shell and went_well(call)
        for step in command_steps(call.arguments)
    ]
    told = (
        " ".join(step.words) for step in steps if step.intent not in own and changes_things(step)
    )
    return tuple(dict.fromkeys(f"{_RAN}{stored(one, 160)}" for one in told))[-_MAX_SHOWN:]


def _plain(command: str) -> str:
    """A command without the places of this time, so that two runs of it are the same."""
    return " ".join("<path>" if "/" in word else word for word in command.split(" "))


def _lesson(execution: Execution, key: str, seen: Sequence[Evidence]) -> Lesson | None:
    kept = tuple(seen[:_MAX_OF_A_RUN] if not key.startswith("rules|") else seen[:30])
    key = f"{KEY}{execution.agent_id}|{key}"
    return grounded_lesson(
        execution,
        LessonKind.FAILURE,
        key,
        _words(key, kept),
        kept,
        certainty=_certainty(key, kept),
        tags=("repeated",),
    )


def _certainty(key: str, evidence: Sequence[Evidence]) -> float:
    """How certain a lesson is: by the sessions that met the failure, if anything ended it.

    What ended in another way each time teaches nothing yet, nor do rules of which none came again.
    """
    runs = len({seen.execution for seen in evidence})
    times = len({(seen.execution, seen.lines) for seen in evidence})
    is_plain = bool(_remedy(key, evidence)[0])
    if "|rules|" in key:
        rules = Counter(seen.error.partition(": ")[0] for seen in evidence)
        is_plain = max(rules.values()) > 1
    if not is_plain or (runs < 2 and times < _TIMES_IN_ONE):
        return _ONCE
    return round(min(_MOST, _AGAIN + _MORE * (runs - 1)), 3)


def _words(key: str, evidence: Sequence[Evidence]) -> LessonWords:
    what = key.removeprefix(KEY).split("|", 2)[1]
    if what == "batch":
        return _words_of_batch(evidence)
    if what == "rules":
        return _words_of_rules(evidence)
    return _words_of_failure(what, key.rpartition("|")[2], evidence)


def _counted(evidence: Sequence[Evidence]) -> str:
    runs = len({seen.execution for seen in evidence})
    times = len({(seen.execution, seen.lines) for seen in evidence})
    sessions = "1 session" if runs == 1 else f"{runs} sessions"
    return f"{times} calls in {sessions}" if times > 1 else f"1 call in {sessions}"


def _words_of_batch(evidence: Sequence[Evidence]) -> LessonWords:
    failing = [seen.error for seen in evidence if seen.error]
    usual = joined(f"`{clean(one, 60)}`" for one, _ in Counter(failing).most_common(3))
    return LessonWords(
        name="parallel-batch-cancelled",
        title="Keep a call that may fail out of a parallel batch",
        when="you are about to make several calls at once, one of which may fail.",
        do="Make a call that may fail by itself, or so that it can't fail: when one call of a "
        "parallel batch fails, its siblings are cancelled and have to be repeated."
        + (f" Here it was {usual} that failed." if usual else ""),
        why=f"{_counted(evidence)} were cancelled because a sibling failed.",
        check="No call is cancelled.",
    )


def _words_of_rules(evidence: Sequence[Evidence]) -> LessonWords:
    named = Counter(seen.error.partition(": ")[0] for seen in evidence)
    shown = {seen.error.partition(": ")[0]: seen.error.partition(": ")[2] for seen in evidence}
    allowed = {seen.error.partition(": ")[0]: one for seen in evidence for one in seen.between}
    top = [rule for rule, count in named.most_common(_MAX_SHOWN) if count > 1 or rule in allowed]
    top = top or [*named][:1]
    checks = Counter(_named(command_steps(seen.failed)[-1]) for seen in evidence)
    check = clean(next(iter(dict(checks.most_common(1))), "the check"), 60)
    listed = "; ".join(
        f"`{rule}`{f' ({named[rule]} times)' if named[rule] > 1 else ''}"
        f"{f': “{shown[rule]}”' if shown[rule] else ''}"
        f"{f' (allowed by `{allowed[rule]}`)' if rule in allowed else ''}"
        for rule in top
    )
    titles = (
        f"Write code that passes {joined(f'`{rule}`' for rule in top[:2])} of `{check}`",
        f"Write code that passes `{top[0]}` of `{check}`",
        f"Write code that passes `{check}` the first time",
    )
    return LessonWords(
        name="-".join((*program_words(check)[:2], "rules-that-bite"))[:64],
        title=next(filter(is_title, titles), "Write code that passes its checks"),
        when=f"you write code that `{check}` checks.",
        do=f"Keep to the rules that it found broken most: {listed}.",
        why=f"`{check}` failed for them; {_counted(evidence)} had to be put right.",
        check=f"`{check}` passes the first time.",
    )


def _words_of_failure(what: str, line: str, evidence: Sequence[Evidence]) -> LessonWords:
    known = situation_of("zsh" if what == _SHELL_ITSELF else what, line)
    error = clean(evidence[-1].error.partition(_SAID)[0].rstrip(" .:"), 160)
    said = [seen.error.partition(_SAID)[2] for seen in evidence if _SAID in seen.error]
    program = clean(what, 60).replace("`", "")
    seen_in = f"It failed so in {_counted(evidence)}."
    title, do = _remedy(program, evidence)
    return LessonWords(
        name=known.name,
        title=known.title or title or f"Expect `{program}` to fail so",
        when=f"{clean(known.when or f'{program} fails with “{error}”', 400)}.",
        do=clean(known.do or do, 1_000),
        why=" ".join(filter(None, (known.why, quoted("".join(said[-1:])), seen_in))),
        check=f"`{program}` ends without that error.",
    )


def _remedy(program: str, evidence: Sequence[Evidence]) -> tuple[str, str]:
    """The title and the instruction: what ended the failure more often than not, if anything.

    The title is empty where it ended, but otherwise each time.
    """
    program = program.rpartition("|")[0].rpartition("|")[2] or program
    ended = [seen for seen in evidence if seen.resolved_by]
    commands = Counter(plain for seen in ended for plain in {_plain(one) for one in seen.between})
    best, times = next(iter(commands.most_common(1)), ("", 0))
    if times > 1 and 2 * times >= len(ended):
        written = {one for seen in ended for one in seen.between if _plain(one) == best}
        command = (best if len(written) > 1 else written.pop()).removeprefix(_RAN)
        titles = (command, " ".join(command.split()[:3]), " ".join(command.split()[:2]))
        whole = (f"Run `{one}` when `{program}` fails so" for one in titles)
        title = next(filter(is_title, whole), f"Mend what makes `{program}` fail so")
        return title, f"Run `{command}`, then `{program}` again: that ended it {times} times."
    worked = [step for seen in ended if (step := _other_program(seen))]
    if worked and 2 * len(worked) >= len(evidence):
        shown = joined((f"`{one}`" for one in list(dict.fromkeys(worked))[-2:]), last="or")
        names = (worked[-1], " ".join(worked[-1].split()[:2]))
        whole = (f"Run `{one}` instead of `{program}`" for one in names)
        title = next(filter(is_title, whole), f"Use another way than `{program}`")
        return title, f"What worked instead was {shown}."
    if not ended:
        title = f"Don't repeat `{program}` when it fails so: nothing helped yet"
        return title, (
            f"`{program}` fails here, and nothing has helped yet: take another way, or say that it "
            "fails, instead of repeating it."
        )
    return "", f"It ended in {len(ended)} of {len(evidence)} cases, but otherwise each time."


def _other_program(seen: Evidence) -> str:
    """The call of another program that worked in the end, as it was written; mostly empty."""
    before, after = command_steps(seen.failed), command_steps(seen.resolved_by)
    if not before or not after or {step.intent for step in after} & {before[-1].intent}:
        return ""
    step = next((one for one in after if FAILURES["writes"].search(" ".join(one.words))), after[-1])
    if any(map(FAILURES["made_up"].match, (*step.lead, step.words[0]))):
        return ""
    words = (FAILURES["made_up"].sub(r"\1<text>", word) for word in (*step.lead, *step.words))
    return clean(re.sub(r"(?<![\w.-])\d{2,}(?![\w.-])", "<number>", " ".join(words)), 160)
