"""Configuration of consolidation, retention and archival.

Two names of one setting are made to agree here (``mirrored_sections``), so that code asks for one.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.types import FrozenModel, NotBlankStr, reject
from synthorg_tui.memory.consolidation.models import RetentionRule, require_unique_categories

DEFAULT_MAX_MEMORIES: Final = 10_000
SWITCH: Final = "consolidation_enabled"
"""Name of the kill switch in the section ``memory``."""

ONE_SETTING: Final = {
    "max_memories_per_agent": "max_memories_per_agent",
    "consolidation_interval": "interval",
}
"""Names in ``memory.options`` and what the same is called in ``memory.consolidation``."""


class ConsolidationStrategyType(StrEnum):
    """What stands for merged memories: a list of their beginnings, or texts by density or model."""

    SIMPLE = "simple"
    DUAL_MODE = "dual_mode"
    LLM = "llm"


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
    """Whether memories are archived before they are removed.

    Consolidation then leaves memories younger than ``age_threshold_days`` alone. What expires, or
    leaves to make room, is archived at any age.
    """

    enabled: bool = False
    age_threshold_days: int = Field(default=90, ge=1)
    dual_mode: DualModeConfig = DualModeConfig.model_construct()


class LLMConsolidationConfig(FrozenModel):
    """Bounds of summaries that a model writes: of what it is shown, and of what it answers.

    ``group_threshold`` is the least number of memories of a category. A memory is shown with at
    most ``max_entry_input_chars`` characters, all together with ``max_total_user_content_chars``;
    what exceeds these stays as it is. Where no model answers, the summary lists each memory's first
    ``fallback_truncate_length`` characters.
    """

    group_threshold: int = Field(default=3, ge=3)
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    max_summary_tokens: int = Field(default=500, ge=50)
    include_distillation_context: bool = True
    max_trajectory_context_entries: int = Field(default=5, ge=1)
    max_trajectory_chars_per_entry: int = Field(default=500, ge=50)
    max_entry_input_chars: int = Field(default=2000, ge=100)
    max_total_user_content_chars: int = Field(default=20_000, ge=1000)
    fallback_truncate_length: int = Field(default=200, ge=50)

    @model_validator(mode="after")
    def _validate_entry_vs_total_chars(self) -> Self:
        total = self.max_total_user_content_chars
        if self.max_entry_input_chars > total:
            reason = f"must not exceed max_total_user_content_chars ({total})"
            reject("max_entry_input_chars", self.max_entry_input_chars, reason)
        return self


class ExperienceCompressorConfig(FrozenModel):
    """Whether raw records of runs are compressed into what was learnt, and how.

    ``model`` ``None`` is the configured model. A compression whose length divided by the raw
    record's is below ``min_compression_ratio`` is dropped: it says too little.
    """

    enabled: bool = False
    model: NotBlankStr | None = None
    temperature: float = Field(default=0.3, ge=0.0, le=1.0)
    max_tokens: int = Field(default=1000, ge=100, le=4000)
    min_compression_ratio: float = Field(default=0.0, ge=0.0, lt=1.0)


class WikiExportConfig(FrozenModel):
    """Whether, when and where memories are exported as Markdown files.

    ``export_root`` ``None`` is ``wiki`` in the data directory; ``max_entries_per_view`` ``None`` is
    no bound.
    """

    enabled: bool = False
    export_root: NotBlankStr | None = None
    trigger: Literal["manual", "on_consolidation"] = "manual"
    include_raw_tier: bool = True
    include_compressed_tier: bool = True
    max_entries_per_view: int | None = Field(default=None, ge=1, le=1000)

    @field_validator("export_root")
    @classmethod
    def _reject_traversal(cls, path: str | None) -> str | None:
        if path is None:
            return None
        if ".." in PurePosixPath(path).parts or ".." in PureWindowsPath(path).parts:
            reject("export_root", path, "must not contain '..' as a path segment")
        if "\0" in path:
            reject("export_root", path, "must not contain a null byte")
        return path


class ConsolidationConfig(FrozenModel):
    """How memories are merged, and limits on their age and number.

    ``enabled`` false stops retention, consolidation and making room alike; it can also be written
    as ``memory.consolidation_enabled``. ``max_share_per_run`` is the share of an agent's memories
    whose texts may leave by one plan; copies to the letter and expired ones don't count. With
    ``archival.dual_mode`` enabled, strategy ``simple`` is ``dual_mode``.
    """

    enabled: bool = True
    interval: ConsolidationInterval = ConsolidationInterval.DAILY
    max_memories_per_agent: int = Field(default=DEFAULT_MAX_MEMORIES, ge=1)
    max_share_per_run: float = Field(default=0.05, gt=0.0, le=1.0)
    strategy: ConsolidationStrategyType = ConsolidationStrategyType.SIMPLE
    retention: RetentionConfig = RetentionConfig.model_construct()
    archival: ArchivalConfig = ArchivalConfig.model_construct()
    llm: LLMConsolidationConfig = LLMConsolidationConfig.model_construct()
    experience_compressor: ExperienceCompressorConfig = ExperienceCompressorConfig.model_construct()
    wiki_export: WikiExportConfig = WikiExportConfig.model_construct()

    @property
    def lists_beginnings(self) -> bool:
        """Whether a list of their beginnings stands for merged memories, as shipped."""
        is_simple = self.strategy is ConsolidationStrategyType.SIMPLE
        return is_simple and not self.archival.dual_mode.enabled

    @model_validator(mode="before")
    @classmethod
    def _apply_mirrors(cls, data: Any) -> Any:
        return renamed(data, {SWITCH: "enabled"})


def renamed(data: Any, names: Mapping[str, str]) -> Any:
    """Return settings in which each value given under another name has the field's own name.

    The other name wins over the field's own, so that a switch holds whatever the file says.
    """
    if not isinstance(data, Mapping) or not names.keys() & data.keys():
        return data
    own = {name: value for name, value in data.items() if name not in names}
    return own | {field: data[name] for name, field in names.items() if name in data}


def mirrored_sections(data: Any) -> Any:
    """Return the settings of memory in which ``options`` and ``consolidation`` agree.

    The bound on memories and the interval have a name in both. The one that isn't the default
    holds for both, and the kill switch goes to ``consolidation``.

    Raises:
        ValueError: They are set to two different values.
    """
    if not isinstance(data, Mapping):
        return data
    options, consolidation = _values(data.get("options")), _values(data.get("consolidation"))
    changed: dict[str, Any] = {}
    for name, mirror in ONE_SETTING.items():
        value = _agreed(name, options.get(name), consolidation.get(mirror))
        if value is not None:
            changed["options"] = options = options | {name: value}
            changed["consolidation"] = consolidation = consolidation | {mirror: value}
    if SWITCH in data:
        changed["consolidation"] = consolidation | {SWITCH: data[SWITCH]}
    return {name: value for name, value in data.items() if name != SWITCH} | changed


def _agreed(name: str, option: object, own: object) -> object:
    """The value of one setting with two names; ``None`` when both are the default or not set."""
    field = ConsolidationConfig.model_fields[ONE_SETTING[name]]
    values = [value for value in (option, own) if value not in (None, field.default)]
    if len(values) == 2 and values[0] != values[1]:
        reason = (
            f"memory.options.{name} ({option}) and memory.consolidation.{ONE_SETTING[name]} "
            f"({own}) are one setting with two names: set one of them, or both to the same"
        )
        reject(f"options.{name}", option, reason)
    return values[0] if values else None


def _values(section: object) -> dict[str, Any]:
    """What is set in a section, given as data or as a model."""
    if isinstance(section, BaseModel):
        return {name: getattr(section, name) for name in section.model_fields_set}
    return dict(section) if isinstance(section, Mapping) else {}
