"""The customs of a project: what its people said, what its gates want, how its commits are written.

Only a person's own turns give conventions: no output of a tool, no text that an agent was given by
another, and nothing of a run that an agent reported itself. What a project's own file of
instructions says is kept apart, as that file's words.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import Execution, SourceRef, ToolCall, slug
from synthorg_tui.executions.titles import commit_of
from synthorg_tui.ingest.extract.phrases import commit_body
from synthorg_tui.knowledge.facts import Fact
from synthorg_tui.knowledge.places import inside
from synthorg_tui.knowledge.work import content_of
from synthorg_tui.learning.corrections import CorrectionCaptureStrategy
from synthorg_tui.learning.cues import INSULT
from synthorg_tui.learning.gates import GateCaptureStrategy
from synthorg_tui.learning.reactions import STANDING, reactions

CONVENTION: Final = 0.5
"""The least certainty of a person's words that make a convention and not a remark in passing."""
_MAX_TOPIC: Final = 8
_COMMITTED: Final = 0.6
_READ: Final = 0.5
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
    r"\b(?:instead of|rather than|in favou?r of|no longer|because|so that|to (?:avoid|prevent)"
    r"|prefer(?:s|red)?\b.{2,60}\bover|replac(?:e|es|ed|ing)\b.{2,80}\b(?:with|by)"
    r"|switch(?:e[sd]|ing)? (?:from\b.{2,60}\bto|to)|mov(?:e|es|ed|ing)\b.{2,80}\b(?:in)?to"
    r"|renam(?:e|es|ed|ing)\b.{2,60}\bto|migrat(?:e|es|ed|ing)\b.{2,60}\bto|deprecat(?:e|es|ed|ing)"
    r"|drop(?:s|ped)? support|stop(?:s|ped)? using|split(?:s|ting)?\b.{2,60}\binto"
    r"|merg(?:e|es|ed|ing)\b.{2,60}\binto)\b",
    re.IGNORECASE,
)
"""Words of a commit that decide between two ways, and don't only tell what is new."""
_SENTENCE: Final = re.compile(r"(?<=[.!?:])\s+(?=[A-Z-])|\s[-*•]\s+(?=[A-Z])")
_NO_UPSTREAM: Final = re.compile(r"has no upstream branch")
_IGNORED: Final = re.compile(
    r"paths are ignored by one of your \.gitignore files:\n((?:(?!hint:)\S[^\n]*\n)+)"
)
_TOLD: Final = re.compile(
    r"(?:AGENTS|CLAUDE|GEMINI|CONTRIBUTING|CONVENTIONS)\.md|\.cursorrules|\.windsurfrules"
    r"|\.github/copilot-instructions\.md"
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(?P<rule>\S.{8,180})$", re.MULTILINE)
_STRICT: Final = re.compile(
    r"\b(?:never|always|must(?: not)?|do not|don'?t|only|avoid|no|before|after|required?)\b",
    re.IGNORECASE,
)
_MAX_TOLD: Final = 8


def custom_facts(execution: Execution) -> Iterator[Fact]:
    """Yield the conventions, gates, commits and decisions of a session."""
    yield from _said(execution)
    yield from _gates(execution)
    yield from _commits(execution)
    for call in execution.calls:
        for fact in (*_decisions(call), *_in_the_way(execution, call), *_told(execution, call)):
            yield replace(fact, at=call.at, lines=(call.call_line, call.last_line))


def _said(execution: Execution) -> Iterator[Fact]:
    """What a person said of how to work: after something was done, or as a rule at any time."""
    if execution.parent_id is not None:
        return
    covered: set[int] = set()
    for captured in CorrectionCaptureStrategy().capture(execution):
        lesson = captured.lesson
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
    said = INSULT.sub("", said).strip(" .…!")
    return rule if rule.strip("“”") == said else f"{rule} — “{said}”"


def _gates(execution: Execution) -> Iterator[Fact]:
    for captured in GateCaptureStrategy().capture(execution):
        lesson = captured.lesson
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
    subject = commit[1]
    if _DECIDES.search(subject):
        yield Fact(
            "decision", slug(subject), f"{subject} (commit {commit[0][:7]})", certainty=_COMMITTED
        )
        return
    for sentence in _SENTENCE.split(" ".join(commit_body(call).split())):
        if _DECIDES.search(sentence) and len(sentence) <= 200:
            text = sentence.lstrip("-* ").rstrip(".")
            yield Fact(
                "decision", slug(text), f"{text} (commit {commit[0][:7]})", certainty=_COMMITTED
            )


def _in_the_way(execution: Execution, call: ToolCall) -> Iterator[Fact]:
    """What git refused, and will again: a push without upstream, a path that is ignored."""
    if not call.is_shell or call.outcome is not CallOutcome.FAILED:
        return
    if _NO_UPSTREAM.search(call.output):
        yield Fact("refused", "push", certainty=_REFUSED)
    if match := _IGNORED.search(call.output):
        for path in match[1].split("\n"):
            if path.strip() and "/" in path:
                yield Fact("refused", f"ignored|{path.strip()}", certainty=_REFUSED)


def _told(execution: Execution, call: ToolCall) -> Iterator[Fact]:
    """The strict rules of the project's own file of instructions, as far as they were read."""
    name = call.intent.removeprefix("read ")
    if call.is_shell:
        name = call.arguments.strip().removeprefix("cat ")
    path = inside(execution, name) or name
    if not _TOLD.fullmatch(path):
        return
    rules = [match["rule"].strip() for match in _BULLET.finditer(content_of(call, path))]
    strict = [rule for rule in rules if _STRICT.search(rule) and not rule.endswith(":")]
    for rule in strict[:_MAX_TOLD]:
        yield Fact("told", f"{path}|{slug(rule)}", rule, certainty=_READ)
