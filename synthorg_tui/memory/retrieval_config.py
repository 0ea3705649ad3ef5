"""Configuration of retrieval, of ranking, and of memory that an agent edits itself."""

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject, warn
from synthorg_tui.memory.enums import FusionStrategy, InjectionPoint, InjectionStrategy

_WEIGHT_SUM_TOLERANCE = 1e-6
_ARCHIVAL: Final = frozenset(MemoryCategory) - {MemoryCategory.WORKING}


class MemoryRetrievalConfig(FrozenModel):
    """Settings for finding and ranking memories and giving them to an agent.

    Scores and weights are in [0, 1]; ``recency_decay_rate`` is per hour. Contradictory settings
    fail validation; settings without effect are logged as warnings.
    """

    strategy: InjectionStrategy = InjectionStrategy.CONTEXT
    relevance_weight: float = Field(default=0.7, ge=0.0, le=1.0)
    recency_weight: float = Field(default=0.3, ge=0.0, le=1.0)
    recency_decay_rate: float = Field(default=0.01, ge=0.0)
    personal_boost: float = Field(default=0.1, ge=0.0, le=1.0)
    min_relevance: float = Field(default=0.3, ge=0.0, le=1.0)
    max_memories: int = Field(default=20, ge=1, le=100)
    include_shared: bool = True
    default_relevance: float = Field(default=0.5, ge=0.0, le=1.0)
    injection_point: InjectionPoint = InjectionPoint.SYSTEM
    non_inferable_only: bool = False
    fusion_strategy: FusionStrategy = FusionStrategy.LINEAR
    rrf_k: int = Field(default=60, ge=1, le=1000)
    diversity_penalty_enabled: bool = False
    diversity_lambda: float = Field(default=0.7, ge=0.0, le=1.0)
    candidate_pool_multiplier: int = Field(default=3, ge=1, le=10)
    neighbour_factor: float = Field(default=0.3, ge=0.0, le=0.5)
    max_diary: int = Field(default=1, ge=0, le=100)
    max_passage_tokens: int = Field(default=48, ge=16, le=10_000)
    query_reformulation_enabled: bool = False
    max_reformulation_rounds: int = Field(default=2, ge=1, le=5)
    retriever: Literal["flat", "hierarchical"] = "flat"
    max_workers_per_query: int = Field(default=2, ge=1, le=4)
    reflective_retry_enabled: bool = True
    max_retry_count: int = Field(default=2, ge=0, le=5)
    query_specific_rerank_enabled: bool = False
    rerank_cache_ttl_seconds: int = Field(default=3600, ge=60, le=86400)

    @model_validator(mode="after")
    def _validate_weight_sum(self) -> Self:
        total = self.relevance_weight + self.recency_weight
        linear = self.fusion_strategy is FusionStrategy.LINEAR
        if linear and abs(total - 1.0) > _WEIGHT_SUM_TOLERANCE:
            reason = f"relevance_weight + recency_weight must equal 1.0, not {total:g}"
            reject("relevance_weight", self.relevance_weight, reason)
        return self

    @model_validator(mode="after")
    def _validate_strategy(self) -> Self:
        reformulates, hierarchical = self.query_reformulation_enabled, self.retriever != "flat"
        if reformulates and self.strategy is not InjectionStrategy.TOOL_BASED:
            reason = f"needs strategy 'tool_based', not '{self.strategy}'"
            reject("query_reformulation_enabled", True, f"query_reformulation_enabled {reason}")
        if hierarchical and self.strategy is not InjectionStrategy.CONTEXT:
            reason = f"retriever 'hierarchical' needs strategy 'context', not '{self.strategy}'"
            reject("retriever", self.retriever, reason)
        return self

    @model_validator(mode="after")
    def _warn_about_unused_fields(self) -> Self:
        is_rrf = self.fusion_strategy is FusionStrategy.RRF
        unused = {
            "only used with fusion_strategy rrf": () if is_rrf else ("rrf_k",),
            "only used when diversity_penalty_enabled is true": ()
            if self.diversity_penalty_enabled
            else ("diversity_lambda", "candidate_pool_multiplier"),
            "only used with retriever hierarchical": ()
            if self.retriever == "hierarchical"
            else ("max_workers_per_query", "reflective_retry_enabled", "max_retry_count"),
            "only used when query_specific_rerank_enabled is true": ()
            if self.query_specific_rerank_enabled
            else ("rerank_cache_ttl_seconds",),
        }
        for reason, names in unused.items():
            for name in names:
                if (value := getattr(self, name)) != type(self).model_fields[name].default:
                    warn(name, value, reason)
        if is_rrf and "personal_boost" in self.model_fields_set and self.personal_boost > 0:
            reason = "no effect with fusion_strategy rrf, unless keyword search finds nothing"
            warn("personal_boost", self.personal_boost, reason)
        if self.diversity_penalty_enabled and self.strategy is not InjectionStrategy.CONTEXT:
            reason = f"strategy '{self.strategy}' ignores it; only 'context' uses it"
            warn("diversity_penalty_enabled", True, reason)
        return self


class SelfEditingMemoryConfig(FrozenModel):
    """Limits for an agent that edits its own memory.

    Core memories are always in the prompt, within ``core_memory_token_budget`` tokens; they are
    read-only unless ``allow_core_writes``. With ``write_auto_tag`` memories that the agent writes
    to the archive get a tag that says so.
    """

    core_memory_token_budget: int = Field(default=1024, ge=256, le=8192)
    core_memory_tag: NotBlankStr = "core"
    allow_core_writes: bool = True
    core_max_entries: int = Field(default=20, ge=1, le=200)
    archival_search_limit: int = Field(default=10, ge=1, le=50)
    archival_categories: frozenset[MemoryCategory] = _ARCHIVAL
    write_auto_tag: bool = True

    @field_validator("archival_categories")
    @classmethod
    def _validate_categories(
        cls, categories: frozenset[MemoryCategory]
    ) -> frozenset[MemoryCategory]:
        if not categories:
            reject("archival_categories", [], "needs at least one category")
        if MemoryCategory.WORKING in categories:
            reason = "'working' is not archival: it ends with the work"
            reject("archival_categories", sorted(categories), reason)
        return categories
