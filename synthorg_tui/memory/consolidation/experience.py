"""Two tiers: raw records of runs, kept as they are, and what was learnt from them.

Only the second tier is for agents. A raw record is stored as JSON and told by its tag; what a model
makes of it names the record it came from, so that everybody can look it up.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.config import ExperienceCompressorConfig
from synthorg_tui.memory.consolidation.models import (
    COMPRESSED_TAG,
    DETAILED_TAG,
    CompressedExperience,
    ConsolidationResult,
    DetailedExperience,
)
from synthorg_tui.memory.consolidation.strategy import (
    ConsolidationGroup,
    ConsolidationProposal,
    ProposingStrategy,
    TextAuthor,
    carry_out,
    proposal_for,
)
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryMetadata, MemoryQuery
from synthorg_tui.memory.models import MemoryStoreRequest as StoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.json_answer import ask_for_json
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import CompletionProvider

COMPRESSOR_VERSION: Final = "llm-v1"
MAX_RAW_CHARS: Final = 20_000
"""Characters of a raw record that the model is shown."""
_CONTEXTS: Final = "applicable_contexts"
_LEAST_RATIO: Final = 0.01
_RAW_FIELDS: Final = (
    "prompt",
    "output",
    "verification_feedback",
    "reasoning_trace",
    "source_task_id",
)
_INSTRUCTION: Final = (
    "Below is the raw record of one task of an agent. Write down what it teaches: decisions that "
    "worked or failed and why, and when they apply. Keep names, numbers and commands exactly, and "
    "add nothing that isn't in the record. Answer with JSON: "
    '{"strategic_decisions": ["..."], "applicable_contexts": ["..."]}'
)
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"strategic_decisions": _TEXTS, "applicable_contexts": _TEXTS},
    "required": ["strategic_decisions", "applicable_contexts"],
    "additionalProperties": False,
}


def detailed_request(experience: DetailedExperience) -> StoreRequest:
    """Return how a raw record is stored as a memory."""
    raw = {field: getattr(experience, field) for field in _RAW_FIELDS}
    return StoreRequest(
        category=MemoryCategory.EPISODIC,
        content=json.dumps(raw, ensure_ascii=False),
        metadata=experience.metadata,
    )


def detailed_of(entry: MemoryEntry) -> DetailedExperience | None:
    """Return the raw record that a memory holds, or ``None`` when it holds none."""
    try:
        raw = json.loads(entry.content)
        given = {field: raw[field] for field in _RAW_FIELDS if raw.get(field) is not None}
        return DetailedExperience(
            id=entry.id,
            agent_id=entry.agent_id,
            metadata=entry.metadata,
            created_at=entry.created_at,
            **given,
        )
    except (ValueError, AttributeError, RecursionError):
        return None


class ExperienceCompressor:
    """Lets a model say what a raw record teaches.

    Args:
        provider: The model.
        config: Its bounds, and how much a compression has to say at least.
    """

    def __init__(
        self, provider: CompletionProvider, config: ExperienceCompressorConfig | None = None
    ) -> None:
        self._provider = provider
        self._config = config or ExperienceCompressorConfig()

    async def compress(self, raw: DetailedExperience) -> CompressedExperience | None:
        """Return what the record teaches; ``None`` when the model doesn't say, or too little.

        Raises:
            CompletionError: The model refused in a way that asking again won't change.
        """
        shown = detailed_request(raw).content
        answer: dict[str, Any] = {}
        refused: CompletionError | None = None
        with surviving(f"compressing the record {raw.id}"):
            try:
                answer = await ask_for_json(
                    self._provider,
                    _INSTRUCTION,
                    {"Record": ("untrusted-artifact", shown[:MAX_RAW_CHARS])},
                    schema=_SCHEMA,
                    max_tokens=self._config.max_tokens,
                    temperature=self._config.temperature,
                )
            except CompletionError as error:
                if error.retryable or isinstance(error, PromptTooLongError):
                    raise
                refused = error
        if refused is not None:
            raise refused
        return self._compressed(raw, answer, len(shown))

    def _compressed(
        self, raw: DetailedExperience, answer: dict[str, Any], raw_chars: int
    ) -> CompressedExperience | None:
        decisions, contexts = _texts(answer, "strategic_decisions"), _texts(answer, _CONTEXTS)
        ratio = len("".join((*decisions, *contexts))) / max(1, raw_chars)
        if not decisions or ratio < self._config.min_compression_ratio:
            return None
        return CompressedExperience(
            id=str(uuid.uuid4()),
            agent_id=raw.agent_id,
            strategic_decisions=decisions,
            applicable_contexts=contexts,
            source_artifact_ids=(raw.id,),
            compression_ratio=min(1.0, max(_LEAST_RATIO, ratio)),
            compressor_version=COMPRESSOR_VERSION,
            metadata=MemoryMetadata(source=raw.id, tags=(COMPRESSED_TAG,)),
            created_at=datetime.now(UTC),
        )


class TwoTierStrategy:
    """``ProposingStrategy`` that compresses raw records and leaves the rest to another one.

    Raw records are listed as removed but stay: they are only ever added to.

    Args:
        compressor: Compresses a record.
        backend: Where memories are stored and deleted.
        others: What becomes of the other memories; without one, nothing.
    """

    def __init__(
        self,
        compressor: ExperienceCompressor,
        backend: MemoryBackend,
        others: ProposingStrategy | None = None,
    ) -> None:
        self._compressor = compressor
        self._backend = backend
        self._others = others

    async def propose(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> tuple[ConsolidationProposal, ...]:
        """Return a proposal for each record that has no compression yet, then the others'."""
        raw = [entry for entry in entries if DETAILED_TAG in entry.metadata.tags]
        done = await self._compressed_before(agent_id) if raw else frozenset()
        made = [await self._proposed(entry, agent_id) for entry in raw if entry.id not in done]
        rest = tuple(entry for entry in entries if DETAILED_TAG not in entry.metadata.tags)
        further = await self._others.propose(rest, agent_id) if self._others is not None else ()
        return (*(one for one in made if one is not None), *further)

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> ConsolidationResult:
        """Store what was proposed, and delete what the other strategy replaces."""
        proposals = await self.propose(entries, agent_id)
        return await carry_out(proposals, entries, backend=self._backend)

    async def _compressed_before(self, agent_id: NotBlankStr) -> frozenset[str]:
        query = MemoryQuery(tags=(COMPRESSED_TAG,), limit=MAX_QUERY_LIMIT)
        found = await self._backend.retrieve(agent_id, query)
        return frozenset(entry.metadata.source for entry in found if entry.metadata.source)

    async def _proposed(
        self, entry: MemoryEntry, agent_id: NotBlankStr
    ) -> ConsolidationProposal | None:
        raw = detailed_of(entry)
        learnt = await self._compressor.compress(raw) if raw is not None else None
        if learnt is None:
            return None
        proposed = proposal_for(
            ConsolidationGroup(agent_id, MemoryCategory.EPISODIC, entry, ()),
            compressed_text(learnt),
            of=(entry,),
            replaces=(entry,),
            tags=learnt.metadata.tags,
            source=entry.id,
        )
        return replace(proposed, keeps_originals=True, written_by=TextAuthor.MODEL)


def compressed_text(learnt: CompressedExperience) -> str:
    """Return what was learnt as the JSON text that is stored."""
    fields = {
        "strategic_decisions",
        _CONTEXTS,
        "source_artifact_ids",
        "compression_ratio",
        "compressor_version",
    }
    return json.dumps(learnt.model_dump(mode="json", include=fields), ensure_ascii=False)


def compressed_of(entry: MemoryEntry) -> CompressedExperience | None:
    """Return what was learnt, of a memory that holds it; ``None`` for another memory."""
    try:
        return CompressedExperience(
            **json.loads(entry.content),
            id=entry.id,
            agent_id=entry.agent_id,
            metadata=entry.metadata,
            created_at=entry.created_at,
        )
    except (ValidationError, ValueError, TypeError, RecursionError):
        return None


def _texts(answer: dict[str, Any], field: str) -> tuple[str, ...]:
    """The texts in a field of an answer; what is none is left out."""
    given = answer.get(field)
    texts: Sequence[Any] = given if isinstance(given, list) else ()
    return tuple(text.strip() for text in texts if isinstance(text, str) and text.strip())
