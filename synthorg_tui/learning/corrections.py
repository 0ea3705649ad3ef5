"""Corrections: what a person told an agent to do differently, kept in the person's own words.

A turn corrects only after the agent did something, and only in a run that was recorded: a subagent
hears no person, and a reported run proves none. ``reactions`` judges the words; here they get what
they were about, and near-equal words of several turns and sessions become one lesson. A turn can be
forged by whoever writes the transcript, so it stays a stranger's text until a person approves it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.text import jaccard
from synthorg_tui.curation.models import Evidence, Lesson, LessonKind
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.ingest.extract.said import (
    PASSING,
    PREFERENCE,
    Reaction,
    asked_whether_done,
    feedback,
    reactions,
    shown,
    told_afterwards,
    told_instead,
    undoing,
)
from synthorg_tui.learning.lessons import MAX_TITLE, grounded_lesson
from synthorg_tui.learning.wishes import (
    Correction,
    act_clause,
    answer_clause,
    stored,
    wish_words,
)

_MAX_ACT = 120
_MAX_FILES = 5
_MAX_TOPIC = 8
_MAX_OCCURRENCES = 5
_MOST_IN_ONE_RUN = 0.8
_SETTLED = 0.5
"""What is less certain was said in passing, and waits until it is said in another session."""
_SAID_AGAIN = 0.1
"""What a further turn of the same session adds to the certainty."""
_SAME_TOPIC = 0.6
"""Topics of at least this Jaccard similarity are one wish."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_UNDOES = re.compile(r"\bgit (?:revert|restore|checkout (?:\S+ )?--|reset --hard)|\bgit stash\b")
_NOTHING_DONE = re.compile(r"up[- ]to[- ]date|nothing to commit|no changes added", re.IGNORECASE)
_FORGOTTEN = {
    "commit": re.compile(r"git commit"),
    "push": re.compile(r"git push"),
    "test": re.compile(r"pytest|tox|jest|vitest|rspec|.* (?:test|t|tests|spec)"),
    "run": re.compile(r"pytest|tox|jest|vitest|rspec|.* (?:test|t|tests|spec)"),
    "format": re.compile(r"black|prettier|.* (?:format|fmt)"),
    "lint": re.compile(r"eslint|flake8|pylint|.* (?:lint|check|clippy|credo)"),
}


class CorrectionCaptureStrategy:
    """Draws lessons from what a person told the agent to do differently."""

    name: str = "corrections"

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return a lesson for each wish of a person, with all turns of the run that say it."""
        return tuple(_lesson(execution, same) for same in _alike(find_corrections(execution)))


def find_corrections(execution: Execution) -> tuple[Correction, ...]:
    """Return what a person corrected in a run, in order; nothing of a run that was reported."""
    if execution.is_reported or execution.parent_id is not None:
        return ()
    said = [turn for turn in execution.turns if turn.role == "user"]
    copies = _copies(said)
    refused = [
        _correction(execution, reaction, [call], call.call_line, call.last_line, call.at)
        for call in execution.calls
        if (reaction := told_instead(feedback(call))) is not None
    ]
    found = [
        correction
        for before, turn in pairwise(said)
        if turn not in copies
        for correction in _in_turn(execution, before, turn, said)
    ]
    return tuple(sorted([*refused, *found], key=lambda one: one.last_line))


def _copies(said: Sequence[Turn]) -> list[Turn]:
    """The turns that say what one before them said: a resumed session holds its turns again."""
    first = {" ".join(turn.text.split()): turn for turn in reversed(said)}
    return [turn for turn in said if first[" ".join(turn.text.split())] is not turn]


def one_key_each(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Return lessons of which those corrections that say nearly the same have the same key.

    That is the key of the one that was said first, so that a wish keeps it when it is said again.
    Other lessons, and wishes to different agents, stay as they are.
    """
    leaders: list[tuple[str, frozenset[str], str]] = []
    renamed: dict[str, str] = {}
    for key in _keys_by_time(lessons):
        situation, _, topic = key.rpartition("|")
        words = frozenset(topic.split())
        leader = next(
            (
                known
                for where, others, known in leaders
                if where == situation and jaccard(words, others) >= _SAME_TOPIC
            ),
            None,
        )
        if leader is None:
            leaders.append((situation, words, key))
        renamed[key] = leader or key
    return [
        one.model_copy(update={"key": renamed[one.key]}) if one.key in renamed else one
        for one in lessons
    ]


def _keys_by_time(lessons: Iterable[Lesson]) -> list[str]:
    said = sorted(
        (min((seen.at for seen in one.evidence if seen.at), default=_LONG_AGO), one.key)
        for one in lessons
        if one.kind is LessonKind.CORRECTION
    )
    return list(dict.fromkeys(key for _, key in said))


def _in_turn(
    execution: Execution, before: Turn, turn: Turn, said: Sequence[Turn]
) -> Iterator[Correction]:
    """The corrections of one turn; ``before`` is the person's turn before it."""
    start, end = before.first_line, turn.first_line
    calls = [call for call in execution.calls if start < call.call_line < end]
    answers = [
        other.text
        for other in execution.turns
        if other.role == "assistant" and start < other.first_line < end
    ]
    if not _has_acted(execution, end):
        return
    for reaction, then in _heard(execution, turn, calls, _following(execution, turn, said)):
        yield replace(
            _correction(
                execution, reaction, calls, turn.first_line, turn.last_line, turn.at, answers
            ),
            then=then,
        )


def _heard(
    execution: Execution, turn: Turn, calls: Sequence[ToolCall], following: Sequence[ToolCall]
) -> Iterator[tuple[Reaction, str]]:
    """What a turn says, each with the command that followed because of it."""
    heard = False
    for reaction in reactions(turn.text):
        heard = True
        yield reaction, ""
    verb = asked_whether_done(turn.text)
    if verb and (then := _done_late(following, verb)):
        yield _left_out(turn, verb), stored(then, _MAX_ACT)
    undone = undoing(turn.text)
    if undone is not None and not heard:
        heard = True
        yield undone, stored(_undo_command(execution, following), _MAX_ACT)
    if not heard and calls and calls[-1].outcome is CallOutcome.DENIED_BY_USER:
        told = told_afterwards(turn.text)
        if told is not None:
            yield told, ""


def _following(execution: Execution, turn: Turn, said: Sequence[Turn]) -> list[ToolCall]:
    """The calls after a turn and before the person's next one."""
    later = (other.first_line for other in said if other.first_line > turn.first_line)
    end = min(later, default=None)
    return [
        call
        for call in execution.calls
        if call.call_line > turn.first_line and (end is None or call.call_line < end)
    ]


def _has_acted(execution: Execution, line: int) -> bool:
    acted = any(call.call_line < line for call in execution.calls)
    return acted or any(
        turn.role == "assistant" and turn.first_line < line for turn in execution.turns
    )


def _left_out(turn: Turn, verb: str) -> Reaction:
    """The wish behind a question such as "did you push?"."""
    done = "run the tests" if verb in {"run", "test"} else verb
    title = f"{done[:1].upper()}{done[1:]} before saying that it is done"
    said = shown(turn.text, 2 * MAX_TITLE)
    return Reaction(said, title, frozenset({"done", done}), negative=False, certainty=PREFERENCE)


def _done_late(following: Sequence[ToolCall], verb: str) -> str:
    """The intent that shows that it hadn't been done: what the agent ran before changing more."""
    for call in following:
        if call.changed_path is not None:
            break
        if call.is_shell and call.outcome is CallOutcome.OK:
            intents = [step.intent for step in command_steps(call.arguments)]
            done = next((one for one in intents if _FORGOTTEN[verb].fullmatch(one)), "")
            if done and not _NOTHING_DONE.search(call.output[-2_000:]):
                return done
    return ""


def _undo_command(execution: Execution, following: Sequence[ToolCall]) -> str:
    commands = (execution.relative(call.arguments) for call in following if call.is_shell)
    return next((command for command in commands if _UNDOES.search(command)), "")


def _correction(
    execution: Execution,
    reaction: Reaction,
    calls: Sequence[ToolCall],
    first_line: int,
    last_line: int,
    at: datetime | None,
    answers: Sequence[str] = (),
) -> Correction:
    act, after = _act(execution, calls, answers)
    files = dict.fromkeys(
        stored(execution.relative(path), _MAX_ACT)
        for call in calls
        if call.changed_path
        for path in call.changed_path.split(", ")
    )
    start = calls[-1].call_line if calls else first_line
    return Correction(
        reaction=reaction,
        act=act,
        files=tuple(files)[-_MAX_FILES:],
        first_line=min(start, first_line),
        last_line=last_line,
        at=at or execution.started_at,
        after=after,
    )


def _act(
    execution: Execution, calls: Sequence[ToolCall], answers: Sequence[str]
) -> tuple[str, str]:
    """What the agent did last, and that as a clause about it.

    That is its last change, else its last command or call, else how its answer began.
    """
    ended = [call for call in calls if call.outcome in {CallOutcome.OK, CallOutcome.FAILED}]
    changed = [call for call in ended if call.changed_path is not None]
    for call in [*changed[-1:], *ended[-1:], *calls[-1:]]:
        what = call.arguments if call.is_shell else call.intent
        return stored(execution.relative(what), _MAX_ACT), act_clause(execution, call)
    return (stored(answers[-1], _MAX_ACT), answer_clause(answers[-1])) if answers else ("", "")


def _alike(corrections: Sequence[Correction]) -> list[list[Correction]]:
    """The corrections of a run, those together that say nearly the same."""
    groups: list[list[Correction]] = []
    for correction in corrections:
        for group in groups:
            known, said = group[0].reaction, correction.reaction
            if known.negative == said.negative and jaccard(known.topic, said.topic) >= _SAME_TOPIC:
                group.append(correction)
                break
        else:
            groups.append([correction])
    return groups


def _lesson(execution: Execution, same: Sequence[Correction]) -> Lesson:
    """The lesson of one wish, in the words of the turn that makes it the plainest rule."""
    best = max(same, key=lambda one: one.reaction.certainty)
    reaction = best.reaction
    certainty = reaction.certainty + _SAID_AGAIN * (len(same) - 1)
    polarity = "not" if reaction.negative else "do"
    topic = " ".join(sorted(reaction.topic)[:_MAX_TOPIC])
    return grounded_lesson(
        execution,
        LessonKind.CORRECTION,
        f"correction|{execution.agent_id}|{polarity}|{stored(topic, 200)}",
        wish_words(execution, best, same),
        [_evidence(execution, one) for one in same[:_MAX_OCCURRENCES]],
        certainty=round(min(certainty, max(_MOST_IN_ONE_RUN, PASSING)), 3),
        tags=("correction", "said-by-a-person"),
    )


def _evidence(execution: Execution, correction: Correction) -> Evidence:
    return Evidence(
        execution=execution.id,
        lines=str(execution.ref(correction.first_line, correction.last_line)),
        agent_id=execution.agent_id,
        failed=correction.act,
        error=stored(correction.reaction.said, 300),
        resolved_by=correction.then,
        between=correction.files,
        at=correction.at,
        project=execution.project,
    )
