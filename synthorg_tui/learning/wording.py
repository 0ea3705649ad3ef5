"""A model's words for a lesson beside those of code, and which of the two are proposed.

Lessons are complete without a model. It writes name, title, when, why and check, for a correction
also the rule; commands stay code's. Both versions are kept. Of what passed the fact check the
model's text is chosen, field by field, only where it is better by a rule that anybody can follow;
in doubt code's stays:

* name: code has none, or one of more than five words or 40 characters.
* title: code's is longer than ``MAX_TITLE``, or isn't an instruction.
* when: code's is longer than 160 characters, and the model's is shorter.
* why: code's only tells what happened (``was gone``, ``worked at once``...) and names no cause
  (``because``, ``needs``, ``until``...), which the model's does.
* check: code has none.
* rule: code's isn't an instruction.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.curation.models import (
    Author,
    FailureAnalysisPayload,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
    SuccessAnalysisPayload,
)
from synthorg_tui.learning.fact_check import FactCheck
from synthorg_tui.learning.lessons import MAX_TITLE
from synthorg_tui.learning.proposer import (
    ProposedTexts,
    TextLimits,
    TextRequest,
    WantedText,
    is_instruction,
    propose_texts,
)
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.protocol import CompletionProvider

FIELD_OF: Final[Mapping[str, str]] = {
    "name": "name",
    "title": "discovery",
    "when": "condition",
    "why": "rationale",
    "check": "check",
    "rule": "action",
}
"""What a model is asked for, and the field of the proposal that it is."""
_NAME = WantedText(
    "name",
    "two to five lower-case words joined by hyphens for the situation, the program first",
    most=48,
    words=(2, 5),
    is_name=True,
)
_TITLE = WantedText(
    "title",
    f"what to do, and when, as an instruction of at most {MAX_TITLE} characters; begins with a "
    "verb",
    most=MAX_TITLE,
    words=(3, 14),
    instructs=True,
    says_remedy=True,
)
_WHEN = WantedText(
    "when", "the situation, as it goes on after the words Use when", most=200, words=(3, 35)
)
_WHY = WantedText(
    "why", "the cause of the failure in one sentence, not what failed", most=300, words=(5, 45)
)
_CHECK = WantedText(
    "check", "how to see that it worked, in one sentence", most=200, words=(3, 30), instructs=True
)
_RULE = WantedText(
    "rule",
    "what the person wants from now on, as an instruction; begins with a verb",
    most=300,
    words=(3, 45),
    instructs=True,
    says_remedy=True,
)
_TASK: Final = (
    "You write down for developers what a session taught, so that a colleague who never saw it "
    "understands it at once."
)
_EXAMPLE: Final = """<evidence>
failed: terraform plan
error: Inconsistent dependency lock file
done in between: terraform init -upgrade
worked: terraform plan
</evidence>
{"reasoning": "The lock file was older than the configuration; init wrote it anew.", \
"name": "terraform-plan-stale-lock", \
"title": "Run `terraform init -upgrade` before `terraform plan`", \
"when": "`terraform plan` reports an inconsistent dependency lock file", \
"why": "The lock file no longer matches the configuration, so the plan refuses to start.", \
"check": "Run `terraform plan` again: it passes without the lock file error."}"""
_CORRECTION_EXAMPLE: Final = """<evidence>
the agent did: edit docs/guide.md
the person said: no emojis in the docs please, we keep them plain
</evidence>
{"reasoning": "The person wants plain documentation.", \
"name": "docs-no-emojis", \
"title": "Keep the docs plain, with no emojis", \
"when": "editing the docs", \
"why": "The person asked to keep the docs plain.", \
"check": "Read the changed docs: they have no emojis.", \
"rule": "Keep the docs plain: no emojis."}"""
_LONG_WHEN: Final = 160
_LONG_NAME: Final = 40
_CAUSE = re.compile(
    r"\b(?:because|since|so|needs?|needed|requires?|required|depends?|expects?|until|was not"
    r"|were not|had not|wasn['\u2019]t|hadn['\u2019]t|no longer|has no|missing|only)\b"
)
_TOLD = re.compile(
    r"\b(?:was gone|(?:worked|passed)(?: at once| afterwards)?\.|come first|said so)(?=\W|$)"
)
"""Words of a reason that only tells that something helped."""
_PLACED = re.compile(r"<[a-z][a-z-]*>")
_SPAN = re.compile(r"`([^`]*<[a-z][a-z-]*>[^`]*)`")
_MIN_OWN = 3


@dataclass(frozen=True, slots=True)
class Worded:
    """A lesson with the model's words, or as it was where none passed, and what that took."""

    lesson: Lesson
    took: ProposedTexts


class ProceduralMemoryProposer:
    """Has a model write a lesson's words; the agent of that run takes no part in it.

    Args:
        config: The least confidence of a proposal, the model's temperature, and the seconds and
            tokens that one lesson may cost.
        provider: The model; without one the grounded draft is the proposal.
    """

    def __init__(
        self, config: ProceduralMemoryConfig, provider: CompletionProvider | None = None
    ) -> None:
        self._config = config
        self._provider = provider

    async def propose(
        self,
        payload: FailureAnalysisPayload | SuccessAnalysisPayload,
        draft: Lesson,
        *,
        cancel: threading.Event | None = None,
        seconds: float | None = None,
    ) -> Worded | None:
        """Return the draft with the model's words, or ``None`` when it is too uncertain for any.

        ``seconds`` is what is left of the run, where that is less than a lesson may take. Fields
        not written by then stay as code wrote them. Raises ``CompletionError`` when the model
        fails and ``WordingCancelledError`` when ``cancel`` is set; the draft then stays as it is.
        """
        if draft.proposal.confidence < self._config.min_confidence:
            return None
        if self._provider is None:
            return Worded(draft, ProposedTexts())
        most = self._config.max_seconds
        limits = TextLimits(
            seconds=most if seconds is None else min(most, seconds),
            tokens=self._config.max_tokens,
            temperature=self._config.temperature,
        )
        request = lesson_request(draft, payload)
        took = await propose_texts(self._provider, request, limits, cancel=cancel)
        return Worded(with_words(draft, took.accepted, took.refused), took)


def lesson_request(
    lesson: Lesson, payload: FailureAnalysisPayload | SuccessAnalysisPayload | None = None
) -> TextRequest:
    """Return what a model is asked to write about a lesson.

    Names of one run are placeholders in it, as in the text of code: they are no part of a lesson.
    """
    said = {label: _general(lesson, text) for label, text in _facts_of(lesson).items()}
    grounded = lesson.grounded
    texts = (grounded.discovery, grounded.condition, grounded.action, grounded.rationale)
    is_correction = lesson.kind is LessonKind.CORRECTION
    fields = (_NAME, _TITLE, _WHEN, _WHY, _CHECK, *((_RULE,) if is_correction else ()))
    shown = {**said, "what to do": grounded.action}
    if isinstance(payload, FailureAnalysisPayload) and is_correction:
        shown["task"] = payload.task_title
    seen = lesson.evidence[0] if lesson.evidence else None
    return TextRequest(
        task=_TASK,
        evidence=shown,
        fields=fields,
        check=FactCheck(
            (*said.values(), *texts, grounded.check, *grounded.execution_steps),
            failed=_general(lesson, seen.failed) if seen else "",
            worked=_general(lesson, seen.resolved_by) if seen else "",
            stated=_general(lesson, seen.error) if seen else "",
        ),
        example=_CORRECTION_EXAMPLE if is_correction else _EXAMPLE,
        remedy=grounded.action,
        said={} if is_correction else {"what to do": grounded.action},
    )


def _facts_of(lesson: Lesson) -> dict[str, str]:
    """The evidence of a lesson with labels that say what it is; the first occurrence's."""
    seen = lesson.evidence[0] if lesson.evidence else None
    if seen is None:
        return {}
    between = "; ".join(seen.between)
    if lesson.kind is LessonKind.CORRECTION:
        return {"the agent did": seen.failed, "the person said": seen.error, "about": between}
    if lesson.kind in {LessonKind.HABIT, LessonKind.SUCCESS}:
        return {"commands that pass here": between, "the last of them": seen.resolved_by}
    failed = "blocked" if lesson.kind is LessonKind.GATE else "failed"
    said = "the hook said" if lesson.kind is LessonKind.GATE else "error"
    return {
        failed: seen.failed,
        said: seen.error,
        "done in between": between,
        "worked": seen.resolved_by,
    }


def _general(lesson: Lesson, text: str) -> str:
    """The text with the placeholders that code's commands have in place of names of one run."""
    for value, placeholder in _own_names(lesson):
        text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", placeholder, text)
    return text


def _own_names(lesson: Lesson) -> list[tuple[str, str]]:
    """Names of one run, each with its placeholder, found where code's commands have that."""
    seen = lesson.evidence[0] if lesson.evidence else None
    grounded, names = lesson.grounded, dict[str, str]()
    commands = "\n".join((seen.failed, seen.resolved_by, *seen.between)) if seen else ""
    for span in _SPAN.findall("\n".join((grounded.action, grounded.condition))):
        holes = _PLACED.findall(span)
        if not _PLACED.sub("", span).strip():
            continue
        pattern = r"(\"[^\"]*\"|[^\s\"-]\S*)".join(re.escape(part) for part in _PLACED.split(span))
        for match in re.finditer(pattern, commands):
            for value, placeholder in zip(match.groups(), holes, strict=True):
                if len(value) >= _MIN_OWN:
                    names.setdefault(value, placeholder)
    return sorted(names.items(), key=lambda item: -len(item[0]))


def with_words(lesson: Lesson, accepted: Mapping[str, str], refused: Mapping[str, str]) -> Lesson:
    """Return the lesson with the model's texts kept beside code's, and the better ones chosen."""
    if not accepted and not refused:
        return lesson
    texts = {FIELD_OF[name]: text for name, text in accepted.items()}
    chosen = {
        FIELD_OF[name]: text
        for name, text in accepted.items()
        if is_better(name, text, str(getattr(lesson.grounded, FIELD_OF[name])))
        and lesson.authors.get(FIELD_OF[name]) is not Author.PERSON
    }
    return lesson.model_copy(
        update={
            "proposal": lesson.proposal.model_copy(update=dict(chosen)),
            "suggested": _suggested(lesson, texts),
            "refused": {FIELD_OF[name]: f"{name} {why}" for name, why in refused.items()},
            "authors": lesson.authors | dict.fromkeys(chosen, Author.MODEL),
        }
    )


def _suggested(lesson: Lesson, texts: Mapping[str, str]) -> ProceduralMemoryProposal | None:
    return lesson.grounded.model_copy(update=dict(texts)) if texts else None


def is_better(name: str, text: str, grounded: str) -> bool:
    """Tell whether the model's text of a field is chosen over code's, by the rules above.

    Both are taken to be true; ``name`` is that of ``FIELD_OF``.
    """
    if text == grounded:
        return False
    if name == "name":
        return not grounded or grounded.count("-") > 4 or len(grounded) > _LONG_NAME
    if name == "title":
        return len(grounded) > MAX_TITLE or not is_instruction(grounded)
    if name == "when":
        return len(text) < len(grounded) > _LONG_WHEN
    if name == "why":
        is_told = _TOLD.search(grounded) and not _CAUSE.search(grounded)
        return bool(is_told and _CAUSE.search(text))
    return not grounded if name == "check" else not is_instruction(grounded)


def worded_fields(lesson: Lesson, before: Lesson) -> Sequence[str]:
    """Return the fields that the model wrote and that are chosen, other than ``before``."""
    return [
        name
        for name, author in lesson.authors.items()
        if author is Author.MODEL and before.authors.get(name) is not Author.MODEL
    ]
