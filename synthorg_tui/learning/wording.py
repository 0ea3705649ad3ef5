"""A model's words for a lesson beside those of code, and which of the two are proposed.

Lessons are complete without a model, and commands stay code's. A model is asked only for what code
couldn't say well: a lesson whose texts are all good isn't shown to it and takes no time. Both
versions are kept. Of what passed the fact check the model's text is chosen, field by field, only
where it is better by a rule that anybody can follow; in doubt code's stays:

* name: code has none, or one of more than five words or 40 characters.
* title: code's is longer than ``MAX_TITLE`` or isn't an instruction.
* when: code's is longer than 160 characters or lists words of what a person said, and the model's
  is shorter.
* why: code's only tells what happened (``was gone``, ``worked at once``...) and names no cause
  (``because``, ``needs``, ``until``...), which the model's does.
* check: code has none.

What a person said is proposed as it was said: no model is asked for its title or its rule. Small
models turn such words into their opposite, and nothing tells that in every language.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.curation.models import (
    Author,
    Lesson,
    LessonKind,
    ProceduralMemoryProposal,
)
from synthorg_tui.executions.output_lines import one_line
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
    f"at most {MAX_TITLE} characters; begins with a verb, has the command that helped",
    most=MAX_TITLE,
    words=(3, 14),
    instructs=True,
    says_remedy=True,
)
_WHEN = WantedText("when", "what somebody is doing when this matters", most=160, words=(2, 30))
_WHY = WantedText(
    "why",
    "one sentence: what the failed command needs that was missing or wrong",
    most=240,
    words=(5, 40),
)
_CHECK = WantedText(
    "check", "how to see that it worked, in one sentence", most=200, words=(3, 30), instructs=True
)
_TASK: Final = (
    "You write down for developers what a session taught, so that a colleague who never saw it "
    "understands it at once."
)
_EXAMPLES: Final = (
    (
        "failed: terraform plan\nerror: Inconsistent dependency lock file\n"
        "done in between: terraform init -upgrade\nworked: terraform plan",
        '{"reasoning": "The lock file was stale.", '
        '"title": "Run `terraform init -upgrade` when the lock file is inconsistent", '
        '"why": "`terraform plan` needs a lock file that is consistent with the configuration."}',
    ),
    (
        "failed: rsync notes backup\nerror: skipping directory notes\n"
        "worked: rsync -r notes backup",
        '{"reasoning": "The option for directories was missing.", '
        '"title": "Copy a directory with `rsync -r`, or it is skipped", '
        '"why": "`rsync` needs `-r` to copy a directory instead of skipping it."}',
    ),
    (
        "the agent did: edit docs/guide.md\n"
        "the person said: no emojis in the docs please, we keep them plain",
        '{"reasoning": "The person wants plain documentation.", '
        '"when": "editing or adding a page of the docs"}',
    ),
)
_LONG_WHEN: Final = 160
_LONG_NAME: Final = 40
_CAUSE = re.compile(
    r"\b(?:because|since|so|needs?|needed|requires?|required|depends?|expects?|until|was not"
    r"|were not|had not|wasn['\u2019]t|hadn['\u2019]t|no longer|has no|missing|only)\b"
)
_TOLD = re.compile(
    r"\b(?:was gone|(?:worked|passed)(?: at once| afterwards)?\.|come first|said so"
    r"|with nothing else changed"
    r"|error itself (?:asks for that line|names the command that works))(?=\W|$)"
)
"""Words of a reason that only tells that something helped."""
_LISTED = re.compile(r"\banything to do with:")
"""What a situation begins with that only lists words of what a person said."""
_MAX_SHOWN: Final = 300
"""So much of a text of the evidence is shown; the fact check has all of it."""
_FIELD_TOKENS: Final = 90
"""What a field takes at most; a model that goes on for longer repeats itself."""
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
        request = lesson_request(draft)
        if not request.fields:
            return Worded(draft, ProposedTexts())
        most = self._config.max_seconds
        limits = TextLimits(
            seconds=most if seconds is None else min(most, seconds),
            tokens=min(self._config.max_tokens, _FIELD_TOKENS * (1 + len(request.fields))),
            temperature=self._config.temperature,
        )
        took = await propose_texts(self._provider, request, limits, cancel=cancel)
        return Worded(with_words(draft, took.accepted, took.refused), took)


def lesson_request(lesson: Lesson) -> TextRequest:
    """Return what a model is asked to write about a lesson.

    Names of one run are placeholders in it, as in the text of code: they are no part of a lesson.
    """
    said = {label: _general(lesson, text) for label, text in _facts_of(lesson).items()}
    grounded = lesson.grounded
    texts = (grounded.discovery, grounded.condition, grounded.action, grounded.rationale)
    is_correction = lesson.kind is LessonKind.CORRECTION
    seen = lesson.evidence[0] if lesson.evidence else None
    return TextRequest(
        task=_TASK,
        evidence={label: one_line(text, _MAX_SHOWN) for label, text in said.items()},
        fields=_wanted(lesson),
        check=FactCheck(
            (*said.values(), *texts, grounded.check, *grounded.execution_steps),
            failed=_general(lesson, seen.failed) if seen else "",
            worked=_general(lesson, seen.resolved_by) if seen else "",
            stated=_general(lesson, seen.error) if seen else "",
        ),
        examples=_EXAMPLES,
        known=(_NAME, _TITLE, _WHEN, _WHY, _CHECK),
        remedy=grounded.action,
        said={} if is_correction else {"what to do": grounded.action},
    )


def _wanted(lesson: Lesson) -> tuple[WantedText, ...]:
    """The fields that a model is asked for; none where code's texts are good as they are."""
    texts = lesson.grounded
    if lesson.kind in {LessonKind.HABIT, LessonKind.SUCCESS}:
        return ()
    is_correction = lesson.kind is LessonKind.CORRECTION
    lacks = (
        (_NAME, _lacks_name(texts.name)),
        (_TITLE, not is_correction and _lacks_title(texts.discovery)),
        (_WHEN, _lacks_when(texts.condition)),
        (_WHY, not is_correction and _lacks_why(texts.rationale)),
        (_CHECK, not is_correction and not texts.check),
    )
    return tuple(field for field, is_lacking in lacks if is_lacking)


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
        return _lacks_name(grounded)
    if name == "title":
        return _lacks_title(grounded)
    if name == "when":
        return _lacks_when(grounded) and len(text) < len(grounded)
    if name == "why":
        return _lacks_why(grounded) and _CAUSE.search(text) is not None
    return name == "check" and not grounded


def _lacks_name(text: str) -> bool:
    return not text or text.count("-") > 4 or len(text) > _LONG_NAME


def _lacks_title(text: str) -> bool:
    return len(text) > MAX_TITLE or not is_instruction(text)


def _lacks_when(text: str) -> bool:
    return len(text) > _LONG_WHEN or _LISTED.search(text) is not None


def _lacks_why(text: str) -> bool:
    return bool(_TOLD.search(text)) and not _CAUSE.search(text)


def worded_fields(lesson: Lesson, before: Lesson) -> Sequence[str]:
    """Return the fields that the model wrote and that are chosen, other than ``before``."""
    return [
        name
        for name, author in lesson.authors.items()
        if author is Author.MODEL and before.authors.get(name) is not Author.MODEL
    ]
