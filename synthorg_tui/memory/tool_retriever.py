"""The strategy of an agent that searches its memories itself, with two tools."""

import logging
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import Failure, surviving
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.core.untrusted import untrusted_content_directive
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT, Sensitivity
from synthorg_tui.memory.injection import DefaultTokenEstimator, TokenEstimator
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.clusters import seen_words
from synthorg_tui.memory.retrieval.explanation import (
    Explanation,
    PreparedMessages,
    text_of,
    too_small,
)
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter
from synthorg_tui.memory.retrieval.wording import Worder
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.strategies import replies
from synthorg_tui.memory.strategies.replies import ToolReply
from synthorg_tui.memory.strategies.search_and_ask import (
    QueryReformulator,
    SearchAndAsk,
    SufficiencyChecker,
)
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

_log = logging.getLogger(__name__)

SEARCH_MEMORY: Final = "search_memory"
RECALL_MEMORY: Final = "recall_memory"
DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50
MAX_ID_CHARS: Final = 256
_SHOWN_CATEGORY_CHARS = 64
_PASSAGES_IN_A_REPLY: Final = 3
"""How many times as much of a long memory is given to who asks for it as in a digest."""

_INSTRUCTION = (
    f"You have memories of earlier work. Call {SEARCH_MEMORY} with a question before you rely on "
    f"guesses, and {RECALL_MEMORY} with an id to read one memory. "
)


class ToolBasedInjectionStrategy:
    """Strategy for agents that search their memories themselves, with two tools.

    The prompt gets only an instruction on how to use the tools.

    Args:
        backend: The memories that the tools search and read.
        config: ``max_memories`` limits a reply; the reformulation settings apply.
        reformulator: Required when ``config.query_reformulation_enabled``.
        sufficiency_checker: Required when ``config.query_reformulation_enabled``.
        token_estimator: Counts tokens; by default one for every four characters.
        sensitivities: Sensitivities of memories that may be found or read.

    Raises:
        ValueError: Reformulation is enabled and one of the two is missing.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        config: MemoryRetrievalConfig,
        reformulator: QueryReformulator | None = None,
        sufficiency_checker: SufficiencyChecker | None = None,
        token_estimator: TokenEstimator | None = None,
        sensitivities: Collection[Sensitivity] = GIVEN_BY_DEFAULT,
    ) -> None:
        self._backend = backend
        self.notice = ""
        """Says in words which configured part is missing, for the explanation."""
        self._estimator = token_estimator or DefaultTokenEstimator()
        self._filter = SensitivityFilter(sensitivities)
        self._config = config
        self._loop: SearchAndAsk | None = None
        if config.query_reformulation_enabled:
            if reformulator is None or sufficiency_checker is None:
                raise ValueError(
                    "query_reformulation_enabled needs a reformulator and a sufficiency checker"
                )
            self._loop = SearchAndAsk(
                reformulator, sufficiency_checker, rounds=config.max_reformulation_rounds
            )

    @property
    def strategy_name(self) -> str:
        return "tool_based"

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return one system message that explains the tools and marks their replies as data.

        Return ``()`` when ``token_budget`` has no room for it. The query isn't used.
        """
        return (await self.prepare(agent_id, query_text, token_budget)).messages

    async def prepare(
        self,
        agent_id: NotBlankStr,
        query_text: NotBlankStr,
        token_budget: int,
        *,
        pinned: Collection[str] = (),
        excluded: Collection[str] = (),
    ) -> PreparedMessages:
        """Return the message of ``prepare_messages`` and an explanation without candidates.

        No memory is put into the prompt; the agent fetches them with the tools.
        """
        directive = untrusted_content_directive((replies.TAG_TOOL_RESULT,))
        message = ChatMessage(role=MessageRole.SYSTEM, content=_INSTRUCTION + directive)
        tokens = self._estimator.estimate_tokens(message.content)
        small = too_small(token_budget, tokens)
        messages = (message,) if tokens <= token_budget else ()
        used = tokens if messages else 0
        explanation = Explanation(
            strategy=self.strategy_name,
            agent_id=agent_id,
            query=query_text,
            token_budget=token_budget,
            tokens_used=used,
            frame_tokens=used,
            text=text_of(messages),
            candidates=(),
            degraded="; ".join(note for note in (self.notice, small) if note),
        )
        return PreparedMessages(messages, explanation)

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the definitions of the search tool and the recall tool."""
        return (
            ToolDefinition(
                name=SEARCH_MEMORY,
                description="Find memories of earlier work that match a question. "
                + replies.CAUTION,
                parameters=_search_schema(),
            ),
            ToolDefinition(
                name=RECALL_MEMORY,
                description=f"Read one memory by its id. {replies.CAUTION}",
                parameters=_recall_schema(),
            ),
        )

    async def handle_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any], agent_id: NotBlankStr
    ) -> str:
        """Run a tool for an agent and return the text of the reply.

        Failures are returned as a reply that begins with ``Error:``.

        Raises:
            ValueError: There is no such tool.
        """
        return (await self.answer(tool_name, arguments, agent_id)).text

    async def answer(
        self, tool_name: str, arguments: Mapping[str, Any], agent_id: NotBlankStr
    ) -> ToolReply:
        """Run a tool as ``handle_tool_call`` does, but return a reply with structured fields.

        The ``ids`` of a search reply are those of the memories found, in order. Raises
        ``ValueError`` when there is no such tool.
        """
        if tool_name == SEARCH_MEMORY:
            return await self._search(arguments, agent_id)
        if tool_name == RECALL_MEMORY:
            return await self._recall(arguments, agent_id)
        raise ValueError(f"there is no memory tool {tool_name!r}")

    async def _search(self, arguments: Mapping[str, Any], agent_id: NotBlankStr) -> ToolReply:
        text = arguments.get("query")
        if not isinstance(text, str) or not text.strip():
            return replies.error("query must be a non-empty string.")
        limit = _limit(arguments.get("limit"), at_most=min(MAX_LIMIT, self._config.max_memories))
        categories, ignored = _categories(arguments.get("categories"))
        query = MemoryQuery(text=text, categories=categories, limit=limit)

        async def search(words: str) -> tuple[MemoryEntry, ...]:
            changed = query.model_copy(update={"text": words})
            return (await self._filter.search(self._backend, agent_id, changed)).permitted

        entries: tuple[MemoryEntry, ...] = ()
        with surviving("Memory search", _log) as failure:
            entries = await (search(text) if self._loop is None else self._loop.run(text, search))
        if failure.error is not None:
            return _unavailable(failure)
        worder = Worder(text, _PASSAGES_IN_A_REPLY * self._config.max_passage_tokens)

        def told(entry: MemoryEntry) -> str:
            seen = seen_words(entry.seen_times, entry.last_seen)
            return replies.told_line(entry, worder.worded(entry, seen=seen))

        reply = replies.found(entries[:limit], told, self._estimator)
        note = f"\n(Ignored invalid categories: {', '.join(ignored)})" if ignored else ""
        return replace(reply, text=reply.text + note)

    async def _recall(self, arguments: Mapping[str, Any], agent_id: str) -> ToolReply:
        memory_id = arguments.get("memory_id")
        if not isinstance(memory_id, str) or not memory_id.strip():
            return replies.error("memory_id is required.")
        if len(memory_id) > MAX_ID_CHARS:
            return replies.error(
                f"memory_id exceeds maximum allowed length of {MAX_ID_CHARS} characters."
            )
        with surviving("Memory recall", _log) as failure:
            entry = await self._filter.read(self._backend, agent_id, memory_id)
            if entry is None:
                return replies.not_found(memory_id)
            return replies.quoted((replies.relevance_line(entry),))
        return _unavailable(failure)


def _unavailable(failure: Failure) -> ToolReply:
    """The reply to a failure; the reason is for the log and not for the model."""
    if isinstance(failure.error, DomainError):
        return replies.error(f"{failure.what} is temporarily unavailable.")
    return replies.error(f"{failure.what} encountered an unexpected error.")


def _limit(value: object, *, at_most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        value = DEFAULT_LIMIT
    return max(1, min(int(value), at_most))


def _categories(value: object) -> tuple[frozenset[MemoryCategory] | None, tuple[str, ...]]:
    """The valid ones, ``None`` for no filter, and those to be reported as ignored."""
    if value is None:
        return None, ()
    named = list(value) if isinstance(value, list | tuple) else []
    valid = {name for name in named if isinstance(name, str) and name in set(MemoryCategory)}
    ignored = [name for name in named if not isinstance(name, str) or name not in valid]
    if not isinstance(value, list | tuple):
        ignored = [value]
    shown = (safe_text(str(name)[:_SHOWN_CATEGORY_CHARS]) for name in ignored)
    return frozenset(map(MemoryCategory, valid)) or None, tuple(shown)


def _search_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in plain words."},
            "categories": {
                "type": "array",
                "items": {
                    "type": "string",
                    "enum": [category.value for category in MemoryCategory],
                },
                "description": "Only memories of these kinds.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "default": DEFAULT_LIMIT,
                "description": "How many memories at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def _recall_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "memory_id": {
                "type": "string",
                "maxLength": MAX_ID_CHARS,
                "description": "The memory's id.",
            }
        },
        "required": ["memory_id"],
        "additionalProperties": False,
    }
