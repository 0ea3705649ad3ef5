"""The digest as the part of a prompt that holds memories."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.core.untrusted import untrusted_content_directive
from synthorg_tui.memory.digest.builder import MemoryDigest
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.digest.lines import tokens_of
from synthorg_tui.memory.digest.models import (
    DATA_TAG,
    UNAVAILABLE,
    DigestResult,
)
from synthorg_tui.memory.enums import InjectionPoint
from synthorg_tui.memory.formatter import role_of
from synthorg_tui.memory.injection import TokenEstimator
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.explanation import (
    Explanation,
    PreparedMessages,
    Stopwatch,
    text_of,
    too_small,
)
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

STRATEGY_NAME: Final = "memory_digest"
_DIRECTIVE: Final = untrusted_content_directive((DATA_TAG,))


@dataclass(frozen=True)
class DigestInjection:
    """Injection strategy that gives an agent the digest of its memories and nothing else.

    The part is there in any case, since "nothing was found" is something to know, unless the
    budget has no room for it. Only the local
    backend has what a digest is made from; any other makes it unavailable.
    """

    memory: MemoryBackend
    config: MemoryV1Config
    injection_point: InjectionPoint
    estimator: TokenEstimator

    @property
    def strategy_name(self) -> str:
        return STRATEGY_NAME

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return ``()``: this strategy offers no tools."""
        return ()

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return a system message with the directive, then the digest; ``()`` without a budget."""
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
        """Return the messages of ``prepare_messages`` together with the explanation."""
        watch = Stopwatch()
        result, tokens, small = DigestResult(""), 0, ""
        room = token_budget - self._count(f"{_DIRECTIVE}\n\n")
        while token_budget > 0:
            with watch.stage("digest"):
                result = await self._digest(agent_id, query_text, room, pinned, excluded)
            tokens = self._count(text_of(self._messages(result)))
            if tokens <= token_budget or not result.included_ids:
                small = too_small(token_budget, tokens)
                break
            room -= tokens - token_budget  # this tokenizer counts lines lower than the whole
        messages = self._messages(result) if 0 < tokens <= token_budget else ()
        used = tokens if messages else 0
        explanation = Explanation(
            strategy=STRATEGY_NAME,
            agent_id=agent_id,
            query=query_text,
            token_budget=token_budget,
            tokens_used=used,
            frame_tokens=used - result.tokens if messages else 0,
            text=text_of(messages),
            candidates=result.candidates,
            stages=watch.stages,
            degraded="; ".join(note for note in (result.degraded, small) if note),
        )
        return PreparedMessages(messages, explanation)

    async def _digest(
        self,
        agent_id: str,
        query: str,
        token_budget: int,
        pinned: Collection[str],
        excluded: Collection[str],
    ) -> DigestResult:
        from synthorg_tui.memory.backends.digest_items import DigestItems

        if not isinstance(self.memory, DigestItems):
            name = self.memory.backend_name
            return DigestResult(
                UNAVAILABLE, degraded=f"the {name} backend has nothing to make a digest from"
            )
        digest = MemoryDigest(self.memory.digest_items(), self.config, count=self._count)
        return await digest.build(
            agent_id, query, token_budget=token_budget, pinned=pinned, excluded=excluded
        )

    def _messages(self, result: DigestResult) -> tuple[ChatMessage, ...]:
        return (
            ChatMessage(role=MessageRole.SYSTEM, content=_DIRECTIVE),
            ChatMessage(role=role_of(self.injection_point), content=result.part),
        )

    def _count(self, text: str) -> int:
        """Never fewer than the estimator says, so that the budget holds by both counts."""
        return max(tokens_of(text), self.estimator.estimate_tokens(text))
