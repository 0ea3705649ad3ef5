"""A model's reason for a lesson beside that of code, and which of the two is proposed.

Lessons are complete without a model: names, titles, situations, commands and checks are code's. A
model is asked only for a reason that code couldn't find: why a lesson's remedy helps, where code
only tells that it did (``was gone``, ``worked at once``...). Both versions are kept. The model's is
proposed if it passed the fact check and names a cause (``because``, ``needs``, ``until``...); in
doubt code's stays. What a person said is put in no other words: small models turn it into its
opposite.
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
)
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.learning.fact_check import FactCheck
from synthorg_tui.learning.failure_words import REASONS
from synthorg_tui.learning.proposer import (
    ProposedTexts,
    TextLimits,
    TextRequest,
    WantedText,
    propose_texts,
)
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.protocol import CompletionProvider

_WHY = WantedText(
    "why",
    "one sentence: what the failed command needs that was missing or wrong",
    most=240,
    words=(5, 40),
)
_FIELD: Final = "rationale"
"""The field of a proposal that the model's text is for."""
_EXPLAINED: Final = frozenset({LessonKind.FAILURE, LessonKind.GATE})
_TASK: Final = (
    "You write down for developers what a session taught, so that a colleague who never saw it "
    "understands it at once."
)
_EXAMPLES: Final = (
    (
        "failed: terraform plan\nerror: Inconsistent dependency lock file\n"
        "done in between: terraform init -upgrade\nworked: terraform plan",
        '{"reasoning": "The lock file was stale.", '
        '"why": "`terraform plan` needs a lock file that is consistent with the configuration."}',
    ),
    (
        "failed: rsync notes backup\nerror: skipping directory notes\n"
        "worked: rsync -r notes backup",
        '{"reasoning": "The option for directories was missing.", '
        '"why": "`rsync` needs `-r` to copy a directory instead of skipping it."}',
    ),
)
_MAX_SHOWN: Final = 300
"""So much of a text of the evidence is shown; the fact check has all of it."""
_FIELD_TOKENS: Final = 90
"""What a field takes at most; a model that goes on for longer repeats itself."""
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
        if self._provider is None or not lacks_reason(draft):
            return Worded(draft, ProposedTexts())
        most = self._config.max_seconds
        limits = TextLimits(
            seconds=most if seconds is None else min(most, seconds),
            tokens=min(self._config.max_tokens, 2 * _FIELD_TOKENS),
            temperature=self._config.temperature,
        )
        request = lesson_request(draft)
        took = await propose_texts(self._provider, request, limits, cancel=cancel)
        return Worded(with_words(draft, took.accepted, took.refused), took)


def lesson_request(lesson: Lesson) -> TextRequest:
    """Return what a model is asked to write about a lesson.

    Names of one run are placeholders in it, as in the text of code: they are no part of a lesson.
    """
    seen = lesson.evidence[0]
    is_gate = lesson.kind is LessonKind.GATE
    facts = {
        "blocked" if is_gate else "failed": seen.failed,
        "the hook said" if is_gate else "error": seen.error,
        "done in between": "; ".join(seen.between),
        "worked": seen.resolved_by,
    }
    said = {label: _general(lesson, text) for label, text in facts.items()}
    grounded = lesson.grounded
    texts = (grounded.discovery, grounded.condition, grounded.action, grounded.rationale)
    return TextRequest(
        task=_TASK,
        evidence={label: one_line(text, _MAX_SHOWN) for label, text in said.items()},
        fields=(_WHY,),
        check=FactCheck(
            (*said.values(), *texts, grounded.check, *grounded.execution_steps),
            failed=_general(lesson, seen.failed),
            stated=_general(lesson, seen.error),
        ),
        examples=_EXAMPLES,
        said={"what to do": grounded.action},
    )


def lacks_reason(lesson: Lesson) -> bool:
    """Tell whether code's reason only says that something helped, so that a model is asked."""
    text = lesson.grounded.rationale
    is_explained = bool(lesson.evidence) and lesson.kind in _EXPLAINED
    return is_explained and bool(REASONS["told"].search(text)) and not REASONS["cause"].search(text)


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
    for span in REASONS["wording_span"].findall("\n".join((grounded.action, grounded.condition))):
        holes = REASONS["placed"].findall(span)
        if not REASONS["placed"].sub("", span).strip():
            continue
        pattern = r"(\"[^\"]*\"|[^\s\"-]\S*)".join(
            re.escape(part) for part in REASONS["placed"].split(span)
        )
        for match in re.finditer(pattern, commands):
            for value, placeholder in zip(match.groups(), holes, strict=True):
                if len(value) >= _MIN_OWN:
                    names.setdefault(value, placeholder)
    return sorted(names.items(), key=lambda item: -len(item[0]))


def with_words(lesson: Lesson, accepted: Mapping[str, str], refused: Mapping[str, str]) -> Lesson:
    """Return the lesson with the model's reason kept beside code's, and the better one chosen."""
    if not accepted and not refused:
        return lesson
    text = accepted.get(_WHY.name, "")
    is_ours = lesson.authors.get(_FIELD) is not Author.PERSON
    words: dict[str, object] = {_FIELD: text} if text else {}
    chosen = words if is_ours and REASONS["cause"].search(text) else {}
    return lesson.model_copy(
        update={
            "proposal": lesson.proposal.model_copy(update=chosen),
            "suggested": lesson.grounded.model_copy(update=words) if words else None,
            "refused": {_FIELD: f"{_WHY.name} {refused[_WHY.name]}"} if refused else {},
            "authors": lesson.authors | dict.fromkeys(chosen, Author.MODEL),
        }
    )


def worded_fields(lesson: Lesson, before: Lesson) -> Sequence[str]:
    """Return the fields that the model wrote and that are chosen, other than ``before``."""
    return [
        name
        for name, author in lesson.authors.items()
        if author is Author.MODEL and before.authors.get(name) is not Author.MODEL
    ]
