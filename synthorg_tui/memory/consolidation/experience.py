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

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.abstractive import is_refusal
from synthorg_tui.memory.consolidation.config import ExperienceCompressorConfig
from synthorg_tui.memory.consolidation.models import (
    COMPRESSED_TAG,
    DETAILED_TAG,
    CompressedExperience,
    DetailedExperience,
)
from synthorg_tui.memory.consolidation.plan import TextAuthor
from synthorg_tui.memory.consolidation.strategy import (
    ConsolidationGroup,
    ConsolidationProposal,
    ProposingStrategy,
    proposal_for,
)
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryMetadata, MemoryQuery
from synthorg_tui.memory.models import MemoryStoreRequest as StoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.json_answer import ask_for_json
from synthorg_tui.providers.completion.errors import PromptTooLongError
from synthorg_tui.providers.completion.protocol import CompletionProvider

MAX_RAW_CHARS: Final = 20_000
"""Characters of a raw record that the model is shown."""
_CONTEXTS: Final = "applicable_contexts"
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
_LEARNT: Final = {
    "strategic_decisions",
    _CONTEXTS,
    "source_artifact_ids",
    "compression_ratio",
    "compressor_version",
}
"""Fields of what was learnt that are stored as the text of its memory, as JSON."""
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
        with surviving(f"compressing the record {raw.id}") as failure:
            answer = await ask_for_json(
                self._provider,
                _INSTRUCTION,
                {"Record": ("untrusted-artifact", shown[:MAX_RAW_CHARS])},
                schema=_SCHEMA,
                max_tokens=self._config.max_tokens,
                temperature=self._config.temperature,
            )
            return self._compressed(raw, answer, len(shown))
        error = failure.error
        if is_refusal(error) and not isinstance(error, PromptTooLongError):
            raise error
        return None

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
            compression_ratio=min(1.0, max(0.01, ratio)),
            compressor_version="llm-v1",
            metadata=MemoryMetadata(source=raw.id, tags=(COMPRESSED_TAG,)),
            created_at=datetime.now(UTC),
        )


class TwoTierStrategy(ProposingStrategy):
    """Strategy that compresses raw records and leaves the rest to another one.

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
        super().__init__(backend)
        self._compressor = compressor
        self._others = others

    async def propose(
        self, entries: tuple[MemoryEntry, ...], agent_id: NotBlankStr
    ) -> tuple[ConsolidationProposal, ...]:
        """Return a proposal for each record that has no compression yet, then the others'."""
        records = {entry.id: entry for entry in entries if DETAILED_TAG in entry.metadata.tags}
        done: set[str | None] = set()
        if records:
            query = MemoryQuery(tags=(COMPRESSED_TAG,), limit=MAX_QUERY_LIMIT)
            compressed = await self._backend.retrieve(agent_id, query)
            done = {entry.metadata.source for entry in compressed}
        found = [await self._proposed(records[key], agent_id) for key in records if key not in done]
        rest = tuple(entry for entry in entries if entry.id not in records)
        further = await self._others.propose(rest, agent_id) if self._others is not None else ()
        return (*(one for one in found if one is not None), *further)

    async def _proposed(
        self, entry: MemoryEntry, agent_id: NotBlankStr
    ) -> ConsolidationProposal | None:
        raw = detailed_of(entry)
        learnt = await self._compressor.compress(raw) if raw is not None else None
        if learnt is None:
            return None
        group = ConsolidationGroup(agent_id, MemoryCategory.EPISODIC, entry, ())
        text = json.dumps(learnt.model_dump(mode="json", include=_LEARNT), ensure_ascii=False)
        author = TextAuthor.MODEL
        proposed = proposal_for(
            group, text, (entry,), learnt.metadata.tags, source=entry.id, written_by=author
        )
        return replace(proposed, keeps_originals=True)


def _texts(answer: dict[str, Any], field: str) -> tuple[str, ...]:
    """The texts in a field of an answer; what is none is left out."""
    given = answer.get(field)
    texts: Sequence[Any] = given if isinstance(given, list) else ()
    return tuple(text.strip() for text in texts if isinstance(text, str) and text.strip())
