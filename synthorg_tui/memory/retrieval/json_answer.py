"""Asks a model for a small JSON object about text that nobody trusts."""

import json
import re
from collections.abc import Mapping
from typing import Any

from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

_BRACES = re.compile(r"\{.*\}", re.DOTALL)


async def ask_for_json(
    provider: CompletionProvider | None,
    instruction: str,
    parts: Mapping[str, tuple[str, str]],
    *,
    schema: Mapping[str, Any],
    max_tokens: int,
    temperature: float = 0.0,
) -> dict[str, Any]:
    """Ask a model for a JSON object about untrusted text and return the decoded object.

    The object need not match the schema, so the caller must check it.

    Args:
        provider: The model; ``None`` when there is none.
        instruction: What to do; must be trusted text.
        parts: The untrusted texts: heading to the tag of the fence and the text.
        schema: JSON schema of the answer, enforced by models that support it.
        max_tokens: Maximum length of the answer.
        temperature: How freely the model chooses its words.

    Raises:
        CompletionError: There is no model, it failed, or its answer is no JSON object.
    """
    if provider is None:
        raise CompletionError("no language model is configured", retryable=False)
    options = CompletionOptions(max_tokens=max_tokens, temperature=temperature, json_schema=schema)
    return _object((await provider.complete(question_about(instruction, parts), options)).text)


def question_about(
    instruction: str, parts: Mapping[str, tuple[str, str]]
) -> tuple[ChatMessage, ChatMessage]:
    """Return the messages that ask a model about untrusted texts, each in its fence.

    ``parts`` are a heading to the tag of the fence and the text.
    """
    directive = untrusted_content_directive(list(dict.fromkeys(tag for tag, _ in parts.values())))
    shown = "\n\n".join(
        f"{heading}:\n{wrap_untrusted(tag, text)}" for heading, (tag, text) in parts.items()
    )
    return (
        ChatMessage(role=MessageRole.SYSTEM, content=f"{instruction}\n\n{directive}"),
        ChatMessage(role=MessageRole.USER, content=shown),
    )


def _object(answer: str) -> dict[str, Any]:
    braces = _BRACES.search(answer)  # models that can't be held to a shape talk around it
    try:
        found = json.loads(braces[0]) if braces else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CompletionError("the model answered with no JSON object", retryable=True)
    return found
