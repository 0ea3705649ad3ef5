"""The customs of a project: what its people said, what its gates want, how its commits are written.

Only a person's own turns give conventions: no output of a tool, no text that an agent was given by
another, and nothing of a run that an agent reported itself.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution, SourceRef, ToolCall, slug
from synthorg_tui.executions.titles import commit_of
from synthorg_tui.ingest.extract.phrases import commit_body
from synthorg_tui.ingest.extract.said import STANDING, WORDS, reactions
from synthorg_tui.knowledge.facts import Fact
from synthorg_tui.learning.corrections import CorrectionCaptureStrategy
from synthorg_tui.learning.drafting import mistake_lesson
from synthorg_tui.learning.mistakes import find_mistakes

CONVENTION: Final = 0.5
"""The least certainty of a person's words that make a convention and not a remark in passing."""
_MAX_TOPIC: Final = 8
_COMMITTED: Final = 0.6
_REFUSED: Final = 0.4
_FORMS: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("type: subject", r"[a-z]+!?: \S"),
        ("type(scope): subject", r"[a-z]+\([^)]{1,40}\)!?: \S"),
        ("[area] subject", r"\[[^\]]{1,30}\] ?\S"),
        ("KEY-1: subject", r"[A-Z][A-Z0-9]*-\d+:? \S"),
        ("area: subject", r"[\w./-]{2,30}: [a-z]"),
        ("Subject", r"[A-Z][a-z]+ \S"),
        ("subject", r"[a-z]+ \S"),
    )
)
"""How the first line of a commit may be written; the first that matches."""
_REFERENCE: Final = re.compile(r"\((?:#?[\w.-]*\d[\w.-]*|[\w]+-[\w.]+)\)$")
_DECIDES: Final = re.compile(
    r"\b(?:us(?:e[sd]?|ing)|switch\w*|replac\w+|keeps?|kept|stor(?:e[sd]?|ing)|reject(?:s|ed)?"
    r"|calls?|reads?|runs?|moves?|avoids?)\b.{2,120}\b(?:instead of|rather than|in favou?r of"
    r"|because|so that|to (?:avoid|prevent))\b|\bprefer(?:s|red)?\b.{2,60}\bover\b",
    re.IGNORECASE,
)
"""Words of a commit that say which of two ways is taken, and why; others only tell what is new."""
_NO_DECISION: Final = re.compile(r"(?i)(?:merge|fix|bump|pr #|revert)\b|.*:$")
_SENTENCE: Final = re.compile(r"(?<=[.!?:])\s+(?=[A-Z-])|\s[-*•]\s+(?=[A-Z])")
_IGNORED: Final = re.compile(
    r"paths are ignored by one of your \.gitignore files:\n((?:(?!hint:)\S[^\n]*\n)+)"
)


def custom_facts(execution: Execution) -> Iterator[Fact]:
    """Yield the conventions, gates, commits and decisions of a session."""
    yield from _said(execution)
    yield from _gates(execution)
    yield from _commits(execution)
    for call in execution.calls:
        for fact in (*_decisions(call), *_in_the_way(call)):
            yield replace(fact, at=call.at, lines=(call.call_line, call.last_line))


def _said(execution: Execution) -> Iterator[Fact]:
    """What a person said of how to work: after something was done, or as a rule at any time."""
    if execution.parent_id is not None:
        return
    covered: set[int] = set()
    for lesson in CorrectionCaptureStrategy().capture(execution):
        for seen in lesson.evidence:
            if (ref := SourceRef.parse(seen.lines)) is not None:
                covered.add(ref.last_line)
        ref = SourceRef.parse(lesson.evidence[0].lines)
        if lesson.proposal.confidence >= CONVENTION and ref is not None:
            _, _, polarity, topic = lesson.key.split("|", 3)
            yield Fact(
                "said",
                f"{polarity}|{topic}",
                _quoted(lesson.proposal.discovery, lesson.evidence[0].error),
                good=len(lesson.evidence),
                certainty=lesson.proposal.confidence,
                at=lesson.evidence[0].at,
                lines=(ref.first_line, ref.last_line),
            )
    for turn in execution.turns:
        if turn.role != "user" or turn.last_line in covered:
            continue
        for reaction in reactions(turn.text):
            if reaction.certainty >= STANDING:
                polarity = "not" if reaction.negative else "do"
                yield Fact(
                    "said",
                    f"{polarity}|{' '.join(sorted(reaction.topic)[:_MAX_TOPIC])}",
                    _quoted(reaction.rule, reaction.said),
                    certainty=reaction.certainty,
                    at=turn.at,
                    lines=(turn.first_line, turn.last_line),
                )


def _quoted(rule: str, said: str) -> str:
    """A rule with the words that it was said in, without insults."""
    said = WORDS["insult"].sub("", said).strip(" .…!")
    return rule if rule.strip("“”") == said else f"{rule} — “{said}”"


def _gates(execution: Execution) -> Iterator[Fact]:
    for gate in filter(lambda one: one.is_gate, find_mistakes(execution)):
        lesson = mistake_lesson(execution, gate)
        seen = lesson.evidence[0]
        ref = SourceRef.parse(seen.lines)
        if ref is not None:
            yield Fact(
                "gate",
                lesson.key.split("|", 2)[2],
                f"{lesson.proposal.discovery} — {lesson.proposal.rationale}",
                certainty=lesson.proposal.confidence,
                at=seen.at,
                lines=(ref.first_line, ref.last_line),
            )


def _commits(execution: Execution) -> Iterator[Fact]:
    """How the first lines of a session's commits are written, each way with how many are so."""
    calls: dict[str, list[tuple[str, ToolCall]]] = {}
    references, seen = Counter[str](), set[str]()
    for call in execution.calls:
        commit = commit_of(call)
        if commit is not None and commit[1] not in seen:
            seen.add(commit[1])
            form = next((name for name, pattern in _FORMS if pattern.match(commit[1])), "other")
            calls.setdefault(form, []).append((commit[1], call))
            references[form] += _REFERENCE.search(commit[1]) is not None
    for form, commits in calls.items():
        first, last = commits[0][1], commits[-1][1]
        yield Fact(
            "commit",
            form,
            commits[-1][0],
            good=len(commits),
            bad=references[form],
            at=last.at,
            lines=(first.call_line, last.last_line),
        )


def _decisions(call: ToolCall) -> Iterator[Fact]:
    """A commit that says which of two ways was taken: its subject, or the sentence that says so."""
    commit = commit_of(call)
    if commit is None:
        return
    sentences = (
        [commit[1]]
        if _DECIDES.search(commit[1])
        else _SENTENCE.split(" ".join(commit_body(call).split()))
    )
    for sentence in sentences:
        text = sentence.lstrip("-* ").rstrip(".")
        if _DECIDES.search(text) and len(text) <= 200 and not _NO_DECISION.match(text):
            yield Fact(
                "decision", slug(text), f"{text} (commit {commit[0][:7]})", certainty=_COMMITTED
            )


def _in_the_way(call: ToolCall) -> Iterator[Fact]:
    """A path that git refused to add since it is ignored; added by force it is no such."""
    if not call.is_shell:
        return
    if call.outcome is CallOutcome.FAILED and (match := _IGNORED.search(call.output)):
        for path in match[1].split("\n"):
            if path.strip() and "/" in path:
                yield Fact("ignored", path.strip(), certainty=_REFUSED)
    for step in command_steps(call.arguments) if call.outcome is CallOutcome.OK else ():
        if step.intent == "git add" and {"-f", "--force"} & {*step.words}:
            for path in step.words[2:]:
                yield Fact("ignored", path, good=0, bad=1, certainty=_REFUSED)
