"""Checks what an agent writes: limits the rate, redacts, and stores a memory once or proposes it.

This is the only way from a tool to the store for a text that an agent writes. What agents read
and delete is checked in the memory strategies and in ``agents.toolbox`` instead.

Two tags say different things. ``ORIGIN_TAG`` is a fact, which only the program states. That a
memory is non-inferable is a judgement, and the agent claims it for each memory, since only who
writes knows where the content was found. The claim needs no check: what an agent writes is private,
so a false one only brings the memory into that agent's own digests. In a report the code that reads
it judges instead.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.hits import ContentLookup
from synthorg_tui.memory.retrieval.tags import ORIGIN_TAG as ORIGIN_TAG
from synthorg_tui.memory.strategies.replies import Pending

_SAME_AMONG: Final = 5


class WriteAllowance:
    """Limits an agent to ``per_minute`` writes a minute, and as many at once after a pause.

    It is a token bucket. ``take`` comes before each write; several writes at once are reserved, and
    the difference to what was written is charged afterwards.
    """

    def __init__(self, per_minute: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._left, self._at = float(per_minute), monotonic()

    def take(self) -> None:
        """Use one write of the allowance; raises ``WriteRefusedError`` when none is left."""
        if not self.reserve(1):
            seconds = (1 - self._left) * 60 / self._per_minute
            raise WriteRefusedError(
                f"too many writes: {self._per_minute} a minute are allowed",
                remedy=f"Try again in {seconds:.0f} s.",
            )

    def reserve(self, wanted: int) -> int:
        """Use as many of the ``wanted`` writes as are left, and return how many."""
        now = self._monotonic()
        self._left = min(self._per_minute, self._left + (now - self._at) * self._per_minute / 60)
        self._at = now
        granted = max(0, min(wanted, int(self._left)))
        self._left -= granted
        return granted

    def charge(self, writes: int) -> None:
        """Count writes that were made already, or give back reserved ones (less than 0)."""
        self._left -= writes


AskPerson = Callable[[str, MemoryStoreRequest], Awaitable[str]]
"""Proposes an agent's memory to a person; returns the id of the proposal."""


class GuardedWrites:
    """Writes the memories of one agent, within its allowance.

    Secrets are redacted and ``ORIGIN_TAG`` is added. Writing a memory that the agent has already
    returns the id of the existing one, so a write can be repeated when its reply was lost.
    With ``ask`` nothing new is stored: the memory becomes a proposal that a person decides on.
    """

    def __init__(
        self,
        backend: MemoryBackend,
        allowance: WriteAllowance,
        client: str,
        *,
        ask: AskPerson | None = None,
    ) -> None:
        self._ask = ask
        self._backend = backend
        self._allowance = allowance
        self._client = client
        self._writing = asyncio.Lock()

    async def write(self, agent_id: str, request: MemoryStoreRequest) -> str | Pending:
        """Store a memory and return its id, or propose it to a person and return ``Pending``.

        Raises ``WriteRefusedError`` when the agent's allowance is used up or a person rejected
        the same memory before, and the errors of the store.
        """
        self._allowance.take()
        careful = of_agent(request, self._client)
        async with self._writing:  # or two writes of the same at once would both be stored
            known = await known_memory(self._backend, agent_id, careful)
            if known:
                return known
            if self._ask is not None:
                return Pending(await self._ask(agent_id, careful))
            return await self._backend.store(agent_id, careful)


def of_agent(request: MemoryStoreRequest, client: str) -> MemoryStoreRequest:
    """Return an agent's request with secrets redacted, and ``ORIGIN_TAG`` and source set."""
    return request.model_copy(
        update={
            "content": redact_text(request.content, RedactionTally()),
            "metadata": MemoryMetadata(
                source=f"agent:{client}" if client else "agent",
                confidence=request.metadata.confidence,
                tags=(*request.metadata.tags, ORIGIN_TAG),
            ),
        }
    )


async def known_memory(
    backend: MemoryBackend, agent_id: str, request: MemoryStoreRequest
) -> str | None:
    """Return the id of the agent's memory with exactly this content; ``None`` without one.

    A backend that can't look up contents is searched by text instead.
    """
    if isinstance(backend, ContentLookup):
        return await backend.with_content(agent_id, request)
    query = MemoryQuery(
        text=request.content,
        categories=frozenset({request.category}),
        tags=request.metadata.tags,
        limit=_SAME_AMONG,
    )
    entries = await backend.retrieve(agent_id, query)
    return next((entry.id for entry in entries if entry.content == request.content), None)
