"""Configuration of consolidation, retention and archival."""

from typing import Self

from pydantic import Field, field_validator, model_validator

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.consolidation.models import RetentionRule, require_unique_categories


class RetentionConfig(FrozenModel):
    """Number of days after which memories expire, by category, for agents without own rules.

    With ``default_retention_days`` ``None``, categories without a rule don't expire.
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
    """Archival that summarises low-density text and extracts facts verbatim from dense text.

    Text whose density is at least ``dense_threshold`` is dense. ``anchor_length`` is in characters.
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
    """Whether memories removed from the store are archived, and from which age on, in days."""

    enabled: bool = False
    age_threshold_days: int = Field(default=90, ge=1)
    dual_mode: DualModeConfig = DualModeConfig.model_construct()


class ConsolidationConfig(FrozenModel):
    """How often old memories are consolidated, and limits on age and number of memories."""

    enabled: bool = True
    interval: ConsolidationInterval = ConsolidationInterval.DAILY
    max_memories_per_agent: int = Field(default=10_000, ge=1)
    retention: RetentionConfig = RetentionConfig.model_construct()
    archival: ArchivalConfig = ArchivalConfig.model_construct()
