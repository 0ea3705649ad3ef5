"""The strategy of an agent that edits its memory: a core always in its prompt, and an archive."""

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import safely, surviving
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT, Sensitivity
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.filter import NON_INFERABLE_TAG
from synthorg_tui.memory.formatter import (
    PackedMemory,
    Packing,
    frame_tokens,
    messages_for,
    pack_memories,
)
from synthorg_tui.memory.injection import DefaultTokenEstimator, TokenEstimator
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.explanation import (
    Candidate,
    Explanation,
    PreparedMessages,
    Stopwatch,
    Verdict,
    text_of,
    too_small,
)
from synthorg_tui.memory.retrieval.sensitivity import FilteredMemories, SensitivityFilter
from synthorg_tui.memory.retrieval_config import SelfEditingMemoryConfig
from synthorg_tui.memory.strategies import replies, schemas
from synthorg_tui.memory.strategies.replies import Pending, ToolReply, WriteMemory
from synthorg_tui.memory.strategies.schemas import MemoryTool
from synthorg_tui.providers.models import ChatMessage, ToolDefinition

_log = logging.getLogger(__name__)

AUTO_TAG = "self_edited"
_FAILED = replies.error("Memory operation failed.")


class SelfEditingMemoryStrategy:
    """Strategy that puts core memories into the prompt and offers six tools to edit memory.

    Only memories whose sensitivity is in ``sensitivities`` reach the agent. Several instances for
    one store must share the lock ``core_writes``, so that concurrent writes respect the limit of
    core memories. Writes go through ``write`` if given, else directly to the backend.

    Raises:
        TypeError: ``backend`` isn't a ``MemoryBackend``.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        config: SelfEditingMemoryConfig,
        token_estimator: TokenEstimator | None = None,
        sensitivities: Collection[Sensitivity] = GIVEN_BY_DEFAULT,
        core_writes: asyncio.Lock | None = None,
        write: WriteMemory | None = None,
    ) -> None:
        if not isinstance(backend, MemoryBackend):
            raise TypeError(f"{type(backend).__name__} is no MemoryBackend")
        self._backend = backend
        self._config = config
        self._estimator = token_estimator or DefaultTokenEstimator()
        self._filter = SensitivityFilter(sensitivities)
        self._core_writes = core_writes or asyncio.Lock()
        self._write: WriteMemory = write or backend.store

    @property
    def strategy_name(self) -> str:
        return "self_editing"

    async def prepare_messages(
        self, agent_id: NotBlankStr, query_text: NotBlankStr, token_budget: int
    ) -> tuple[ChatMessage, ...]:
        """Return the core memories as messages, or ``()`` when there are none or reading fails.

        They don't depend on the query. Their size is limited by ``token_budget`` and by the
        configured core budget.
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
        """Return the messages with their explanation; pinned core memories come first."""
        watch, notes = Stopwatch(), list[str]()
        budget = min(token_budget, self._config.core_memory_token_budget)
        core: FilteredMemories | None = None
        if budget > 0:
            with watch.stage("search"):
                core = await safely(
                    self._core(agent_id), what="reading the core memories", notes=notes
                )
        core = core or FilteredMemories((), ())
        in_order = sorted(core.permitted, key=lambda entry: entry.id not in pinned)
        offered = [_as_core(entry) for entry in in_order if entry.id not in excluded]
        with watch.stage("packing"):
            packing = pack_memories(offered, estimator=self._estimator, token_budget=budget)
        messages = messages_for(packing)
        small = too_small(budget, frame_tokens(self._estimator) + 1)
        notes.extend([small] if small else [])
        explanation = Explanation(
            strategy=self.strategy_name,
            agent_id=agent_id,
            query=query_text,
            token_budget=token_budget,
            tokens_used=packing.tokens_used,
            frame_tokens=packing.frame_tokens,
            text=text_of(messages),
            candidates=(*_explained(packing, pinned), *self._left_out(core, excluded)),
            stages=watch.stages,
            degraded="; ".join(notes),
        )
        return PreparedMessages(messages, explanation)

    def _left_out(self, core: FilteredMemories, excluded: Collection[str]) -> Iterator[Candidate]:
        """Core memories that packing never sees: left out by hand, or withheld."""
        for entry in (*core.permitted, *core.withheld):
            if entry.id in excluded:
                yield Candidate(entry.listed(), Verdict.EXCLUDED, "excluded by hand")
            elif refusal := self._filter.refusal(entry):
                yield Candidate(entry.listed(), Verdict.SENSITIVE, refusal)

    def get_tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the definitions of the six tools."""
        return schemas.definitions()

    async def handle_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any], agent_id: NotBlankStr
    ) -> str:
        """Run a tool for an agent and return the text of the reply.

        All failures, unknown tools included, are returned as a reply that begins with ``Error:``.
        """
        return (await self.answer(tool_name, arguments, agent_id)).text

    async def answer(
        self, tool_name: str, arguments: Mapping[str, Any], agent_id: NotBlankStr
    ) -> ToolReply:
        """Run a tool as ``handle_tool_call`` does, but return a reply with structured fields."""
        try:
            tool = MemoryTool(tool_name)
        except ValueError:
            return replies.error("Unknown memory tool.")
        try:
            parsed = schemas.parse(tool, arguments)
        except ValidationError as error:
            return replies.error(f"Invalid arguments: {schemas.problems(error)}")
        with surviving(str(tool), _log):  # an agent's run goes on whatever a backend raises
            try:
                return await self._run(parsed, agent_id)
            except WriteRefusedError as refused:
                return replies.error(f"{refused.message}. {refused.remedy}".strip())
        return _FAILED

    async def _run(self, call: FrozenModel, agent_id: str) -> ToolReply:
        match call:
            case schemas.CoreWrite():
                return await self._write_core(call, agent_id)
            case schemas.ArchivalSearch():
                return await self._search_archive(call, agent_id)
            case schemas.ArchivalWrite():
                return await self._write_archive(call, agent_id)
            case schemas.RecallRead():
                entry = await self._filter.read(self._backend, agent_id, call.memory_id)
                line = replies.plain_line(entry) if entry else ""
                return replies.quoted((line,)) if line else replies.not_found(call.memory_id)
            case schemas.RecallWrite():
                outcome = await self._store(agent_id, call, MemoryCategory.EPISODIC)
                return replies.stored("Episodic memory recorded", outcome)
            case _:
                return self._told(await self._core(agent_id))

    async def _write_core(self, call: schemas.CoreWrite, agent_id: str) -> ToolReply:
        if not self._config.allow_core_writes:
            return replies.error("Core memory writes are disabled.")
        async with self._core_writes:  # or two writes at once could both take the last place
            core = await self._core(agent_id)
            size = len(core.permitted) + len(core.withheld)
            if size >= self._config.core_max_entries:
                return replies.error(
                    f"Core memory is full ({size} entries). Archive what matters less."
                )
            request = MemoryStoreRequest(
                category=MemoryCategory.SEMANTIC,
                content=call.content,
                metadata=MemoryMetadata(
                    tags=(
                        self._config.core_memory_tag,
                        *((NON_INFERABLE_TAG,) if call.non_inferable else ()),
                    )
                ),
            )
            outcome = await self._write(agent_id, request)
        return replies.stored("Core memory stored", outcome)

    async def _search_archive(self, call: schemas.ArchivalSearch, agent_id: str) -> ToolReply:
        categories = self._config.archival_categories
        if call.category is not None:
            categories &= {call.category}
        if not categories:
            return replies.error("Invalid arguments: category: this one is not searched.")
        limit = min(call.limit or schemas.MAX_SEARCH_LIMIT, self._config.archival_search_limit)
        query = MemoryQuery(text=call.query, categories=categories, limit=limit)
        return self._told(await self._filter.search(self._backend, agent_id, query))

    async def _write_archive(self, call: schemas.ArchivalWrite, agent_id: str) -> ToolReply:
        if call.category not in self._config.archival_categories:
            return replies.error("Invalid arguments: category: this one isn't archived.")
        outcome = await self._store(agent_id, call, call.category)
        more = f", category={call.category}"
        return replies.stored("Archival memory stored", outcome, more=more)

    def _told(self, memories: FilteredMemories) -> ToolReply:
        """The memories by their ids, which stand in the text."""
        reply = replies.found(memories.permitted, replies.id_line, self._estimator)
        return replace(reply, ids=())

    async def _store(
        self,
        agent_id: str,
        call: schemas.ArchivalWrite | schemas.RecallWrite,
        category: MemoryCategory,
    ) -> str | Pending:
        tags = (AUTO_TAG,) if self._config.write_auto_tag else ()
        metadata = MemoryMetadata(
            tags=(*tags, *((NON_INFERABLE_TAG,) if call.non_inferable else ()))
        )
        request = MemoryStoreRequest(category=category, content=call.content, metadata=metadata)
        return await self._write(agent_id, request)

    async def _core(self, agent_id: str) -> FilteredMemories:
        query = MemoryQuery(
            categories=frozenset({MemoryCategory.SEMANTIC}),
            tags=(self._config.core_memory_tag,),
            limit=self._config.core_max_entries,
        )
        return await self._filter.search(self._backend, agent_id, query)


def _as_core(entry: MemoryEntry) -> ScoredMemory:
    """Core memories are all as relevant as can be."""
    return ScoredMemory(entry=entry, relevance_score=1.0, recency_score=1.0, combined_score=1.0)


def _explained(packing: Packing, pinned: Collection[str]) -> Iterator[Candidate]:
    """Explain the memories that fit, in the order given, then those that don't."""
    in_order = sorted(packing.packed, key=lambda memory: not memory.fits)
    return (_candidate(memory, rank, pinned) for rank, memory in enumerate(in_order, start=1))


def _candidate(packed: PackedMemory, rank: int, pinned: Collection[str]) -> Candidate:
    entry = packed.memory.entry
    if not packed.fits:
        verdict = Verdict.OVER_BUDGET
        reason = f"needs {packed.tokens} tokens, {packed.room} were left"
    elif entry.id in pinned:
        verdict, reason = Verdict.PINNED, "pinned by hand"
    else:
        verdict, reason = Verdict.INCLUDED, "core memory, whatever the query"
    return Candidate(
        entry=entry.listed(),
        verdict=verdict,
        reason=reason,
        relevance=packed.memory.relevance_score,
        recency=packed.memory.recency_score,
        combined=packed.memory.combined_score,
        rank=rank,
        tokens=packed.tokens,
    )
