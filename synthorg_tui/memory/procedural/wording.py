"""Has a model reword a grounded lesson, one labelled line at a time."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.procedural.config import ProceduralMemoryConfig
from synthorg_tui.memory.procedural.gate import Gate
from synthorg_tui.memory.procedural.models import (
    Author,
    Evidence,
    Lesson,
    ProceduralMemoryProposal,
)
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
_LEAST_TOKENS = 24
_TAGS = ("task-data", "tool-result", "lesson")


class WordingCancelledError(Exception):
    """The person doesn't want to wait for the model."""


class Wording:
    """Asks a model for better words and keeps those that the gate finds better.

    Args:
        provider: The model.
        config: Its temperature and the tokens that one lesson may cost.
        role: Who the model is to be, as a sentence.
    """

    def __init__(
        self, provider: CompletionProvider, config: ProceduralMemoryConfig, *, role: str
    ) -> None:
        self._provider = provider
        self._config = config
        self._role = role

    async def reword(
        self, lesson: Lesson, facts: str, cancel: threading.Event | None = None
    ) -> Lesson:
        """The lesson with the fields that the model worded better, and its name on them.

        ``facts`` are about the run, fenced already. Raises ``CompletionError`` when the model
        fails and ``WordingCancelledError`` when ``cancel`` is set; the lesson given is complete.
        """
        kept: dict[str, str] = {}
        source = _source(lesson)
        left = self._config.max_tokens
        try:
            async with asyncio.timeout(PROPOSAL_SECONDS):
                for field in _FIELDS:
                    grounded = str(getattr(lesson.grounded, field))
                    allowed = min(_LEAST_TOKENS + len(grounded) // 3, left)
                    if allowed < 1:
                        break
                    answer = await self._ask(lesson, field, facts, allowed, cancel)
                    left -= answer.usage.completion_tokens or allowed
                    text = _line(answer.text, field)
                    if Gate(grounded, source).better(text):
                        kept[field] = text
        except TimeoutError:
            pass
        return _with_words(lesson, kept)

    async def _ask(
        self,
        lesson: Lesson,
        field: str,
        facts: str,
        allowed: int,
        cancel: threading.Event | None,
    ) -> Completion:
        options = CompletionOptions(
            max_tokens=allowed,
            temperature=self._config.temperature,
            stop=("\n",),
            seed=_SEED,
            repeat_penalty=_REPEAT_PENALTY,
        )
        messages = self._messages(lesson.grounded, field, facts)
        return await _unless(cancel, self._provider.complete(messages, options))

    def _messages(
        self, draft: ProceduralMemoryProposal, field: str, facts: str
    ) -> Sequence[ChatMessage]:
        """What is the same for all fields comes first: a local model reads it only once."""
        system = (
            f"{self._role} You reword one line at a time: the same facts in one plain English "
            "sentence, every command in backticks exactly as it stands, nothing added. "
            f"{untrusted_content_directive(_TAGS)}"
        )
        lines = "\n".join(f"{each.capitalize()}: {getattr(draft, each)}" for each in _FIELDS)
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
    """Everything that a wording may say."""
    draft = lesson.grounded
    texts = [str(getattr(draft, field)) for field in _FIELDS]
    return "\n".join([*texts, *draft.execution_steps, *map(_said, lesson.evidence)])


def _said(evidence: Evidence) -> str:
    said = (evidence.failed, evidence.error, evidence.resolved_by, *evidence.between)
    return "\n".join(said)


def _with_words(lesson: Lesson, kept: dict[str, str]) -> Lesson:
    if not kept:
        return lesson
    proposal = lesson.proposal.model_copy(update=dict(kept))
    authors = lesson.authors | dict.fromkeys(kept, Author.MODEL)
    return lesson.model_copy(update={"proposal": proposal, "authors": authors})


def fenced_facts(numbers: str, task: str, tools: Sequence[str]) -> str:
    """Facts of a run for a prompt: what strangers wrote, fenced, and its numbers."""
    names = ", ".join(dict.fromkeys(tools)) or "none"
    return "\n".join(
        (wrap_untrusted("task-data", task), wrap_untrusted("tool-result", names), numbers)
    )
