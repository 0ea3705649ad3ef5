"""A model's wording of a lesson, taken line by line where it measures better than code's.

Lessons are complete without a model. One may only say the same in better words: it is shown the
grounded text and fenced facts of the run, never the conversation, and ``Gate`` drops whatever adds
a name, a command or a negation, or loses one. What is measured must stay computable from the
lesson alone, so that nothing a model says about itself counts.
"""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from synthorg_tui.core.text import has_hidden
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.curation.models import (
    Author,
    FailureAnalysisPayload,
    Lesson,
    ProceduralMemoryProposal,
    SuccessAnalysisPayload,
)
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
)
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

PROPOSAL_SECONDS = 17.0
"""What one lesson may cost; what isn't worded by then stays as code wrote it."""
_LOOK_SECONDS = 0.2
_FIELDS = ("discovery", "condition", "action", "rationale")
"""Single sentences. Steps are commands, which nobody words better."""
_SEED = 11
_REPEAT_PENALTY = 1.15
_MIN_TOKENS = 24
_TAGS = ("task-data", "tool-result", "lesson")
_FAILURE_ROLE = "You write down for developers what to do differently after a call that failed."
_SUCCESS_ROLE = "You write down for developers which way of working went well."
_CODE = re.compile(r"`([^`]+)`")
_QUOTED = re.compile(r"“([^”]*)”")
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_SPECIAL = re.compile(r"--?[A-Za-z][\w-]*|\S*[/\\=@{}<>$]\S*|\b\S*\d\S*\b")
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|without|avoid|cannot|nor|unless|refrain|stop)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:discovery|condition|action|rationale|rewritten|answer|sure|note|line|output)\b"
    r"[^.]{0,20}:",
    re.IGNORECASE,
)
_SMALL = frozenset(
    """
    a an and are as at be because been before but by can do does for from had has have if in into
    is it its make must of on or out over should so than that the their them then there these this
    to up use used using was were what when where which while will with would you your run running
    command need needs needed after again always already also first
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
_MIN_WORDS = 6
_ROOM = 1.3
"""How many times as long as the grounded text a wording may be."""
_MIN_ROOM = 40
"""How many characters longer it may be in any case."""
_STEM = 5
_BREVITY = 400
"""A text of so many characters counts half as much for its length as an empty one."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges a model's wordings of one field of a lesson.

    ``grounded`` is the text that code made of the evidence; ``source`` is everything that a wording
    may say: all grounded fields and the evidence itself.
    """

    grounded: str
    source: str

    def better(self, wording: str) -> bool:
        """Tell whether ``wording`` measures higher than the grounded text."""
        return self.measure(wording) > self.measure(self.grounded)

    def measure(self, text: str) -> float:
        """Return how good a text is, from 0 (unacceptable) to 1.

        The product of the share of its words that the source supports, of the facts of the grounded
        text that it contains (weighted 0.6 for commands, 0.4 for words of the error), of the share
        of its phrases that aren't repetition, and of a factor that falls with its length.
        """
        if self._is_unfit(text):
            return 0.0
        brevity = _BREVITY / (_BREVITY + len(text))
        return self._support(text) * self._facts(text) * _distinct(text) * brevity

    def _is_unfit(self, text: str) -> bool:
        longest = max(len(self.grounded) * _ROOM, len(self.grounded) + _MIN_ROOM)
        bare = text.strip()
        if not bare or len(text) > longest or "\n" in text or has_hidden(text):
            return True
        prose = _WORD.findall(_CODE.sub(" ", text))
        if len(prose) < min(_MIN_WORDS, len(_WORD.findall(_CODE.sub(" ", self.grounded)))):
            return True
        if _LABEL.match(text) or bare[-1] not in ".!”\"'`" or not _starts_well(bare):
            return True
        return bare.count("`") % 2 == 1 or self._says_otherwise(text)

    def _says_otherwise(self, text: str) -> bool:
        """Whether it has names or commands of its own, or a negation that wasn't there."""
        special = (word.strip(".,;:`'\"()“”") for word in _SPECIAL.findall(text))
        unknown = [word for word in special if word not in self.source]
        negations = len(_NEGATION.findall(_QUOTED.sub(" ", text)))
        allowed = len(_NEGATION.findall(self.grounded))
        spans = set(_CODE.findall(text)) - set(_CODE.findall(self.grounded))
        return bool(unknown or spans) or negations > allowed

    def _support(self, text: str) -> float:
        words = _content(text)
        known = _content(self.source)
        return sum(word in known for word in words) / len(words) if words else 1.0

    def _facts(self, text: str) -> float:
        spans = set(_CODE.findall(self.grounded))
        commands = len(spans & set(_CODE.findall(text))) / len(spans) if spans else 1.0
        quoted = set().union(*(_content(quote) for quote in _QUOTED.findall(self.grounded)))
        errors = len(quoted & _content(text)) / len(quoted) if quoted else 1.0
        return 0.6 * commands + 0.4 * errors


def _content(text: str) -> set[str]:
    """The words that carry meaning, cut to their first letters so that forms compare equal."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word[:_STEM] for word in words if word not in _SMALL and len(word) > 2}


def _distinct(text: str) -> float:
    """The share of its runs of three words that occur for the first time."""
    words = text.casefold().split()
    runs = [tuple(words[place : place + 3]) for place in range(len(words) - 2)]
    if not runs:
        return 1.0
    repeated = sum(count - 1 for count in Counter(runs).values())
    return 1.0 - repeated / len(runs)


def _starts_well(text: str) -> bool:
    return text[0].isupper() or text[0] in '`“"'


class WordingCancelledError(Exception):
    """Wording was cancelled by the person before the model had answered."""


class ProceduralMemoryProposer:
    """Has a model reword the lesson of a run; the agent of that run takes no part in it.

    Args:
        config: The least confidence of a proposal, the model's temperature, and the tokens that
            one lesson may cost.
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
    ) -> Lesson | None:
        """Return the reworded draft, or ``None`` when it is less certain than ``min_confidence``.

        It takes at most ``PROPOSAL_SECONDS``; fields not worded by then stay as code wrote them.
        Raises ``CompletionError`` when the model fails and ``WordingCancelledError`` when
        ``cancel`` is set; the caller can then use the draft as it is.
        """
        if draft.proposal.confidence < self._config.min_confidence:
            return None
        if isinstance(payload, FailureAnalysisPayload):
            return await self.reword(draft, _FAILURE_ROLE, _failure_facts(payload), cancel=cancel)
        return await self.reword(draft, _SUCCESS_ROLE, _success_facts(payload), cancel=cancel)

    async def reword(
        self, lesson: Lesson, role: str, facts: str, *, cancel: threading.Event | None = None
    ) -> Lesson:
        """Return the lesson with the fields replaced that the model worded better.

        Their author is then the model. ``role`` says in a sentence who the model is to be;
        ``facts`` are about the run, already fenced as untrusted. Raises as ``propose`` does.
        """
        if self._provider is None:
            return lesson
        worded: dict[str, str] = {}
        source = _source(lesson)
        left = self._config.max_tokens
        try:
            async with asyncio.timeout(PROPOSAL_SECONDS):
                for field in _FIELDS:
                    grounded = str(getattr(lesson.grounded, field))
                    allowed = min(_MIN_TOKENS + len(grounded) // 3, left)
                    if allowed < 1:
                        break
                    messages = _messages(lesson.grounded, field, role, facts)
                    asking = self._provider.complete(messages, self._options(allowed))
                    answer = await _unless(cancel, asking)
                    left -= answer.usage.completion_tokens or allowed
                    text = _line(answer.text, field)
                    if Gate(grounded, source).better(text):
                        worded[field] = text
        except TimeoutError:
            pass
        return _with_words(lesson, worded)

    def _options(self, max_tokens: int) -> CompletionOptions:
        return CompletionOptions(
            max_tokens=max_tokens,
            temperature=self._config.temperature,
            stop=("\n",),
            seed=_SEED,
            repeat_penalty=_REPEAT_PENALTY,
        )


def _failure_facts(payload: FailureAnalysisPayload) -> str:
    numbers = f"Turns: {payload.turn_count}. Failed attempts: {payload.retry_count + 1}."
    task = f"{payload.task_title}\nError ({payload.error_category}): {payload.error_message}"
    return _fenced(numbers, task, payload.tool_calls_made)


def _success_facts(payload: SuccessAnalysisPayload) -> str:
    return _fenced(f"Turns: {payload.turn_count}.", payload.outcome, payload.tool_names)


def _fenced(numbers: str, task: str, tools: Sequence[str]) -> str:
    """Facts of a run for a prompt: what strangers wrote, fenced, and its numbers."""
    names = ", ".join(dict.fromkeys(tools)) or "none"
    return "\n".join(
        (wrap_untrusted("task-data", task), wrap_untrusted("tool-result", names), numbers)
    )


def _messages(
    draft: ProceduralMemoryProposal, field: str, role: str, facts: str
) -> Sequence[ChatMessage]:
    """What is the same for all fields comes first: a local model reads it only once."""
    system = (
        f"{role} You reword one line at a time: the same facts in one plain English "
        "sentence, every command in backticks exactly as it stands, nothing added. "
        f"{untrusted_content_directive(_TAGS)}"
    )
    lines = "\n".join(f"{name.capitalize()}: {getattr(draft, name)}" for name in _FIELDS)
    user = (
        f"{facts}\n{wrap_untrusted('lesson', lines)}\n"
        f'Write the line "{field.capitalize()}" of the lesson in other words, as one sentence.'
    )
    return (
        ChatMessage(role=MessageRole.SYSTEM, content=system),
        ChatMessage(role=MessageRole.USER, content=user),
    )


async def _unless(
    cancel: threading.Event | None, answering: Coroutine[Any, Any, Completion]
) -> Completion:
    """The answer, given up soon after ``cancel`` is set."""
    task = asyncio.ensure_future(answering)
    try:
        while not (await asyncio.wait([task], timeout=_LOOK_SECONDS))[0]:
            if cancel is not None and cancel.is_set():
                raise WordingCancelledError
        return task.result()
    finally:
        task.cancel()


def _line(answer: str, field: str) -> str:
    """The first line of an answer, without the label that was asked for."""
    text = next((line.strip() for line in answer.splitlines() if line.strip()), "")
    label, colon, rest = text.partition(":")
    if colon and label.strip(" *#-").casefold() == field:
        text = rest.strip(" *")
    return text


def _source(lesson: Lesson) -> str:
    """Everything that a wording may say: the grounded text and the evidence."""
    draft = lesson.grounded
    texts = [str(getattr(draft, field)) for field in _FIELDS]
    texts += draft.execution_steps
    for evidence in lesson.evidence:
        texts += (evidence.failed, evidence.error, evidence.resolved_by, *evidence.between)
    return "\n".join(texts)


def _with_words(lesson: Lesson, worded: dict[str, str]) -> Lesson:
    if not worded:
        return lesson
    proposal = lesson.proposal.model_copy(update=dict(worded))
    authors = lesson.authors | dict.fromkeys(worded, Author.MODEL)
    return lesson.model_copy(update={"proposal": proposal, "authors": authors})
