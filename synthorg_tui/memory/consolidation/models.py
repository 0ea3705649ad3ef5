"""Models of consolidation: retention rules, what a run did, archived memories, and two tiers.

A run never changes these; they are what its parts hand to each other and to callers.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, Self

from pydantic import AwareDatetime, ConfigDict, Field, computed_field, model_validator

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.models import MemoryMetadata

DETAILED_TAG: Final = "detailed_experience"
"""Tag of raw records of a run (tier 1): read by id only, never given to agents."""

COMPRESSED_TAG: Final = "compressed_experience"
"""Tag of what was learnt from raw records (tier 2): what agents are given."""


class ArchivalMode(StrEnum):
    """How the text that stands for an archived memory was made: summarised, or quoted."""

    ABSTRACTIVE = "abstractive"
    EXTRACTIVE = "extractive"


class ContentDensity(StrEnum):
    """Density of a text: ``SPARSE`` is talk and narrative, ``DENSE`` is code, data, identifiers."""

    SPARSE = "sparse"
    DENSE = "dense"


class RetentionRule(FrozenModel):
    """Number of days after which memories of one category expire."""

    category: MemoryCategory
    retention_days: int = Field(ge=1)


class ArchivalModeAssignment(FrozenModel):
    """The archival mode of one removed memory; set by strategies that choose between modes."""

    original_id: NotBlankStr
    mode: ArchivalMode


class ArchivalIndexEntry(FrozenModel):
    """Where a removed memory is in the archive, so that it can be restored by id, unsearched."""

    original_id: NotBlankStr
    archival_id: NotBlankStr
    mode: ArchivalMode


class ConsolidationResult(FrozenModel):
    """What a consolidation run did; unknown fields are ignored.

    ``removed_ids`` and ``summary_ids`` are in the order in which it happened. ``archival_index``
    has one entry for each memory that was archived.
    """

    model_config = ConfigDict(extra="ignore")

    removed_ids: tuple[NotBlankStr, ...] = ()
    summary_ids: tuple[NotBlankStr, ...] = ()
    archived_count: int = Field(default=0, ge=0)
    mode_assignments: tuple[ArchivalModeAssignment, ...] = ()
    archival_index: tuple[ArchivalIndexEntry, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def consolidated_count(self) -> int:
        """Number of memories that were removed."""
        return len(self.removed_ids)

    @property
    def summary_id(self) -> NotBlankStr | None:
        """Id of the last summary, or ``None``; not dumped, so that a dump validates again."""
        return self.summary_ids[-1] if self.summary_ids else None

    @model_validator(mode="after")
    def _validate_archival_consistency(self) -> Self:
        removed, archived = len(self.removed_ids), self.archived_count
        if archived > removed:
            reason = f"archived_count exceeds consolidated_count ({removed})"
            reject("archived_count", archived, reason)
        if len(self.archival_index) > archived:
            reason = f"archival_index is longer than archived_count ({archived})"
            reject("archival_index", len(self.archival_index), reason)
        lists: dict[str, Sequence[str]] = {
            "removed_ids": self.removed_ids,
            "summary_ids": self.summary_ids,
            "mode_assignments": [entry.original_id for entry in self.mode_assignments],
            "archival_index": [entry.original_id for entry in self.archival_index],
        }
        for field, ids in lists.items():
            if len(set(ids)) != len(ids):
                reject(field, ids, f"{field} contains duplicates")
            unknown = sorted(set(ids) - set(self.removed_ids))
            if unknown and field != "summary_ids":
                reject(field, unknown, f"{field} names ids that are not in removed_ids: {unknown}")
        return self


class ArchivalEntry(FrozenModel):
    """A memory as it is archived: all that a restore needs."""

    original_id: NotBlankStr
    agent_id: NotBlankStr
    content: NotBlankStr
    category: MemoryCategory
    metadata: MemoryMetadata = MemoryMetadata.model_construct()
    created_at: AwareDatetime
    archived_at: AwareDatetime
    archival_mode: ArchivalMode

    @model_validator(mode="after")
    def _validate_temporal_order(self) -> Self:
        if self.archived_at < self.created_at:
            reason = f"archived_at ({self.archived_at}) must be >= created_at ({self.created_at})"
            reject("archived_at", self.archived_at, reason)
        return self


class DetailedExperience(FrozenModel):
    """Raw record of one task or turn (tier 1).

    It is kept as it is, read by its id for audits, and never given to agents.
    """

    id: NotBlankStr
    agent_id: NotBlankStr
    prompt: NotBlankStr
    output: NotBlankStr
    verification_feedback: NotBlankStr | None = None
    reasoning_trace: tuple[NotBlankStr, ...] = ()
    metadata: MemoryMetadata
    created_at: AwareDatetime
    source_task_id: NotBlankStr | None = None

    @model_validator(mode="after")
    def _validate_tier_tag(self) -> Self:
        _require_tag(self.metadata, DETAILED_TAG)
        return self


class CompressedExperience(FrozenModel):
    """What was learnt from raw records (tier 2): decisions, and when they apply.

    ``compression_ratio`` is its length divided by theirs, in (0, 1].
    """

    id: NotBlankStr
    agent_id: NotBlankStr
    strategic_decisions: tuple[NotBlankStr, ...]
    applicable_contexts: tuple[NotBlankStr, ...] = ()
    source_artifact_ids: tuple[NotBlankStr, ...]
    compression_ratio: float = Field(gt=0.0, le=1.0)
    compressor_version: NotBlankStr
    metadata: MemoryMetadata
    created_at: AwareDatetime

    @model_validator(mode="after")
    def _validate_non_empty(self) -> Self:
        for field in ("strategic_decisions", "source_artifact_ids"):
            if not getattr(self, field):
                reject(field, (), f"{field} must not be empty")
        _require_tag(self.metadata, COMPRESSED_TAG)
        return self


def require_unique_categories(
    field: str, rules: Iterable[RetentionRule]
) -> tuple[RetentionRule, ...]:
    """Return the rules unchanged as a tuple.

    Raises ``ValueError`` when a category occurs more than once.
    """
    ordered = tuple(rules)
    names = [rule.category.value for rule in ordered]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        reject(field, names, f"Duplicate retention categories: {repeated}")
    return ordered


def retention_days(
    category: MemoryCategory,
    *,
    overrides: Mapping[MemoryCategory, int],
    rules: Iterable[RetentionRule],
    agent_default: int | None,
    default: int | None,
) -> int | None:
    """Return for how many days an agent's memories of a category stay; ``None`` is for ever.

    The first that is set wins: the agent's override for the category, the company's rule for it,
    the agent's own days, the company's.
    """
    if category in overrides:
        return overrides[category]
    ruled = {rule.category: rule.retention_days for rule in rules}
    return ruled.get(category) or agent_default or default


def _require_tag(metadata: MemoryMetadata, tag: str) -> None:
    if tag not in metadata.tags:
        reject("metadata.tags", metadata.tags, f"metadata.tags must contain {tag!r}")
