"""Configuration of consolidation, retention and archival."""

from typing import Self

from pydantic import Field, field_validator, model_validator

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.consolidation.models import RetentionRule, require_unique_categories


class RetentionConfig(FrozenModel):
    """How long memories are kept, by category, for agents that don't say otherwise.

    ``default_retention_days`` ``None`` keeps the categories without a rule for good.
    """

    rules: tuple[RetentionRule, ...] = ()
    default_retention_days: int | None = Field(default=None, ge=1)

    @field_validator("rules")
    @classmethod
    def _validate_unique_categories(
        cls, rules: tuple[RetentionRule, ...]
    ) -> tuple[RetentionRule, ...]:
        return require_unique_categories("rules", rules)


class DualModeConfig(FrozenModel):
    """Archival that summarises loose text and keeps the facts of dense text verbatim.

    Text whose density is at least ``dense_threshold`` is dense. ``anchor_length`` is in
    characters.
    """

    enabled: bool = False
    dense_threshold: float = Field(default=0.5, ge=0.0, le=1.0)
    summarization_model: NotBlankStr | None = None
    max_summary_tokens: int = Field(default=200, ge=50, le=1000)
    max_facts: int = Field(default=20, ge=1, le=100)
    anchor_length: int = Field(default=150, ge=50, le=500)

    @model_validator(mode="after")
    def _validate_model_when_enabled(self) -> Self:
        if self.enabled and self.summarization_model is None:
            reason = "summarization_model is required when dual_mode is enabled"
            reject("summarization_model", None, reason)
        return self


class ArchivalConfig(FrozenModel):
    """Whether memories that leave the store are archived, and from which age on."""

    enabled: bool = False
    age_threshold_days: int = Field(default=90, ge=1)
    dual_mode: DualModeConfig = DualModeConfig.model_construct()


class ConsolidationConfig(FrozenModel):
    """When old memories are condensed and how many an agent may have."""

    enabled: bool = True
    interval: ConsolidationInterval = ConsolidationInterval.DAILY
    max_memories_per_agent: int = Field(default=10_000, ge=1)
    retention: RetentionConfig = RetentionConfig.model_construct()
    archival: ArchivalConfig = ArchivalConfig.model_construct()
