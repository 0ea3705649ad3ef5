"""Has a model write texts from evidence, and takes only what the evidence bears out.

A model is given fenced evidence and answers with one JSON object. Each of its fields is judged by
itself: by its form, and by a fact check against that evidence. What is refused is told with the
reason, and the caller's own text stays. Who asks for what, and whose text is used, is not decided
here.
"""

import asyncio
import json
import re
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from synthorg_tui.approvals.scan import scan
from synthorg_tui.core.text import has_hidden, safe_text
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.learning.fact_check import FactCheck
from synthorg_tui.learning.failure_words import REASONS
from synthorg_tui.learning.telling_words import telling_stems, words_of
from synthorg_tui.providers.completion.protocol import (
    Completion,
    CompletionOptions,
    CompletionProvider,
)
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

REASONING: Final = "reasoning"
"""The first field of every answer, thrown away: a model that reasons first judges better."""
_TAG: Final = "evidence"
_LOOK_SECONDS = 0.2
_SEED = 11
_REPEAT_PENALTY = 1.05
_MAX_ANSWER = 20_000
_MAX_REFUSAL = 160
_RULES: Final = (
    "Use only what the evidence says: no command, option, path, number or name of your own. Copy "
    "commands exactly, in backticks. Keep placeholders such as <branch>. Answer in plain English "
    "with one JSON object and nothing else."
)
_MOSTLY: Final = 0.9
_COPIED_WORDS: Final = 6
"""So many words in a row from the instruction are a copy of it."""
_FEW: Final = 3
_REPEATED: Final = 0.85
"""A text with so many of its words in another one says it again."""


class WordingCancelledError(Exception):
    """The person cancelled before the model had answered."""


@dataclass(frozen=True, slots=True)
class WantedText:
    """A field that a model is to write.

    ``ask`` tells the model what belongs there. ``most`` is its length in characters; ``words`` the
    least and most words.
    """

    name: str
    ask: str
    most: int
    words: tuple[int, int] = (3, 60)


@dataclass(frozen=True, slots=True)
class TextRequest:
    """What a model is asked for: a sentence that says its task, the evidence, and the fields.

    ``evidence`` maps labels to texts, which may be hostile. ``examples`` are other cases, each with
    its evidence and the answer to it. ``check`` judges what comes back. ``said`` holds texts, by
    the names of their fields, that needn't be said again.
    """

    task: str
    evidence: Mapping[str, str]
    fields: Sequence[WantedText]
    check: FactCheck
    examples: Sequence[tuple[str, str]] = ()
    said: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextLimits:
    """What one request may cost: seconds, tokens of the answer, and the model's temperature."""

    seconds: float
    tokens: int
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class ProposedTexts:
    """The fields that were accepted, and for each of the others the reason why it wasn't.

    ``tokens`` were read and written; ``is_complete`` is false when the time was up first.
    """

    accepted: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    tokens: int = 0
    seconds: float = 0.0
    is_complete: bool = True


async def propose_texts(
    provider: CompletionProvider,
    request: TextRequest,
    limits: TextLimits,
    *,
    cancel: threading.Event | None = None,
) -> ProposedTexts:
    """Ask the model once, and return what of its answer passes.

    When the time is up, fields that were complete by then are judged. Raises ``CompletionError``
    when the model fails, and ``WordingCancelledError`` soon after ``cancel`` is set.
    """
    so_far: list[str] = [""]
    options = CompletionOptions(
        max_tokens=limits.tokens,
        temperature=limits.temperature,
        seed=_SEED,
        repeat_penalty=_REPEAT_PENALTY,
        json_schema=_schema(request.fields),
        on_text=lambda text: so_far.__setitem__(0, text),
    )
    messages = _messages(request)
    started, tokens, complete = time.monotonic(), 0, True
    try:
        async with asyncio.timeout(limits.seconds):
            answer = await _unless(cancel, provider.complete(messages, options))
            text, tokens = answer.text, answer.usage.prompt_tokens + answer.usage.completion_tokens
    except TimeoutError:
        text, complete = so_far[0], False
    seconds = time.monotonic() - started
    late = "" if complete else f"no answer within {limits.seconds:g} seconds"
    accepted, refused = judged(text, request, missing=late or "not answered")
    return ProposedTexts(accepted, refused, tokens, seconds, complete)


def judged(
    answer: str, request: TextRequest, *, missing: str = "not answered"
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the fields of an answer that pass, and why the others don't.

    ``missing`` is the reason for a field that the answer doesn't have.
    """
    raw = _read(answer[:_MAX_ANSWER], [wanted.name for wanted in request.fields])
    accepted: dict[str, str] = {}
    refused: dict[str, str] = {}
    for wanted in request.fields:
        if wanted.name not in raw:
            refused[wanted.name] = missing
            continue
        text = _tidied(raw[wanted.name], wanted)
        why = _form(text, wanted, request) or request.check.refusal(text)
        why = why or _said_before(text, {**request.said, **accepted})
        if why:
            refused[wanted.name] = safe_text(why)[:_MAX_REFUSAL]
        else:
            accepted[wanted.name] = text
    return accepted, refused


def _schema(fields: Sequence[WantedText]) -> dict[str, Any]:
    names = [REASONING, *(wanted.name for wanted in fields)]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
        "additionalProperties": False,
    }


def _messages(request: TextRequest) -> tuple[ChatMessage, ...]:
    """What is the same for all requests comes first: a local model reads it only once."""
    described = "\n".join(f"- {w.name}: {w.ask}" for w in request.fields)
    system = (
        f"{request.task} {_RULES}\n{untrusted_content_directive((_TAG,))}\nFields:\n"
        f"- {REASONING}: one short sentence: what is the cause?\n{described}"
    )
    said = [(MessageRole.SYSTEM, system)]
    for evidence, answer in request.examples:
        said.append((MessageRole.USER, wrap_untrusted(_TAG, evidence)))
        said.append((MessageRole.ASSISTANT, answer))
    lines = "\n".join(f"{label}: {text}" for label, text in request.evidence.items() if text)
    names = ", ".join((REASONING, *(wanted.name for wanted in request.fields)))
    user = f"{wrap_untrusted(_TAG, lines)}\nWrite the JSON object with {names}."
    said.append((MessageRole.USER, user))
    return tuple(ChatMessage(role=role, content=content) for role, content in said)


async def _unless(
    cancel: threading.Event | None, answering: Coroutine[Any, Any, Completion]
) -> Completion:
    """The answer, given up soon after ``cancel`` is set."""
    task = asyncio.ensure_future(answering)
    try:
        while cancel is None or not cancel.is_set():
            if (await asyncio.wait([task], timeout=_LOOK_SECONDS))[0]:
                return task.result()
        raise WordingCancelledError
    finally:
        task.cancel()


def _read(answer: str, names: Sequence[str]) -> dict[str, str]:
    """The fields of an answer: of its first JSON object, or what is whole of a broken one."""
    answer = REASONS["shown_placeholder"].sub("<", answer)
    start = answer.find("{")
    if start < 0:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(answer[start:])
    except (ValueError, RecursionError):
        found = {name: _piece(answer, name) for name in names}
    if not isinstance(found, dict):
        return {}
    return {name: found[name] for name in names if isinstance(found.get(name), str)}


def _piece(answer: str, name: str) -> str | None:
    match = re.search(rf'"{re.escape(name)}"\s*:\s*("(?:[^"\\]|\\.)*")', answer)
    try:
        return str(json.loads(match[1], strict=False)) if match else None
    except ValueError:
        return None


def _tidied(text: str, wanted: WantedText) -> str:
    """The text without what models put around it."""
    text = text.strip().strip("*").strip()
    label = REASONS["label"].match(text)
    if label and label[0].strip(' ":*#').casefold() == wanted.name:
        text = text[label.end() :]
    if len(text) > 1 and text[0] == text[-1] == '"' and text.count('"') == 2:
        text = text[1:-1].strip()
    return text


def _form(text: str, wanted: WantedText, request: TextRequest) -> str:
    """Say what is wrong with the form of a text; empty when nothing is."""
    if not text:
        return "is empty"
    if "\n" in text:
        return "has more than one line"
    if has_hidden(text):
        return "has hidden characters"
    if len(text) > wanted.most:
        return f"has {len(text)} characters; {wanted.most} fit"
    return _task_form(text, wanted, request) or _prose_form(text, wanted)


def _prose_form(text: str, wanted: WantedText) -> str:
    """Say what keeps a text from being a plain sentence."""
    words, (least, most) = len(text.split()), wanted.words
    if not least <= words <= most:
        return f"has {words} words; {least} to {most} are asked for"
    if text.count("`") % 2:
        return "has a backtick too many"
    letters = sum(letter.isalpha() for letter in text)
    if (
        not REASONS["english"].search(text)
        or len(REASONS["latin"].findall(text)) < _MOSTLY * letters
    ):
        return "isn't English"
    return ""


def _task_form(text: str, wanted: WantedText, request: TextRequest) -> str:
    """Say what shows that a text isn't about the case."""
    if REASONS["about_itself"].search(text):
        return "speaks of the task instead of the case"
    if _is_copy(text, request):
        return "copies the instruction"
    flags = scan({wanted.name: text})
    return f"has what needs a second look: {flags[0].found}" if flags else ""


def _is_copy(text: str, request: TextRequest) -> bool:
    """Whether it repeats the instruction or its example rather than speaking of the evidence.

    Words in the same order are no copy when all that they speak of stands in the evidence.
    """
    told = " ".join(
        (_RULES, request.task, *sum(request.examples, ()), *(w.ask for w in request.fields))
    )
    sources = " ".join(request.check.sources)
    known, told_of = _runs(told) - _runs(sources), {*telling_stems(words_of(sources))}
    return any({*telling_stems(run)} - told_of for run in _runs(text) & known)


def _said_before(text: str, others: Mapping[str, str]) -> str:
    """Say which other text this one, or a clause of it, repeats."""
    clauses = [set(_runs(clause, 1)) for clause in re.split(r"[:;]\s|\.\s", text)]
    for name, other in others.items():
        known = set(_runs(other, 1))
        if any(len(said) > _FEW and len(said & known) >= _REPEATED * len(said) for said in clauses):
            return f"repeats the text of {name}"
    return ""


def _runs(text: str, length: int = _COPIED_WORDS) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w'-]+", text.casefold())
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
