"""Settings of consolidation: ranges, the kill switch, and one bound with two names."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from synthorg_tui.core.enums import ConsolidationInterval, MemoryCategory, MemoryLevel
from synthorg_tui.memory.config import CompanyMemoryConfig, MemoryOptionsConfig
from synthorg_tui.memory.consolidation.config import (
    ConsolidationConfig,
    ConsolidationStrategyType,
    ExperienceCompressorConfig,
    LLMConsolidationConfig,
    WikiExportConfig,
)
from synthorg_tui.memory.consolidation.models import RetentionRule, retention_days
from tests.tables import rows

LLM, TIERS, WIKI = LLMConsolidationConfig, ExperienceCompressorConfig, WikiExportConfig

RANGES: list[tuple[type[BaseModel], str, list[Any], list[Any]]] = [
    (LLM, "group_threshold", [3, 100], [2]),
    (LLM, "temperature", [0.0, 2.0], [-0.1, 2.1]),
    (LLM, "max_summary_tokens", [50], [49]),
    (LLM, "max_trajectory_context_entries", [1], [0]),
    (LLM, "max_trajectory_chars_per_entry", [50], [49]),
    (LLM, "max_entry_input_chars", [100, 20_000], [99, 20_001]),
    (LLM, "max_total_user_content_chars", [2000, 50_000], [999, 1999]),
    (LLM, "fallback_truncate_length", [50], [49]),
    (TIERS, "temperature", [0.0, 1.0], [-0.1, 1.1]),
    (TIERS, "max_tokens", [100, 4000], [99, 4001]),
    (TIERS, "min_compression_ratio", [0.0, 0.99], [-0.1, 1.0]),
    (TIERS, "model", [None, "m"], [" "]),
    (WIKI, "max_entries_per_view", [None, 1, 1000], [0, 1001]),
    (WIKI, "trigger", ["manual", "on_consolidation"], ["daily"]),
    (WIKI, "export_root", ["/srv/wiki", "a/..b"], ["a/../b", "..", "a\\..\\b", "a\0b", " "]),
]


@rows(("model", "field", "inside", "outside"), RANGES)
def test_ranges_hold_on_both_sides(
    model: type[BaseModel], field: str, inside: list[Any], outside: list[Any]
) -> None:
    for value in inside:
        assert getattr(model.model_validate({field: value}), field) == value
    for value in outside:
        with pytest.raises(ValidationError):
            model.model_validate({field: value})


def test_the_documented_defaults() -> None:
    config = ConsolidationConfig()
    assert (config.enabled, config.interval.value) == (True, "daily")
    assert config.max_memories_per_agent == 10_000
    assert config.strategy is ConsolidationStrategyType.SIMPLE
    assert [kind.value for kind in ConsolidationStrategyType] == ["simple", "dual_mode", "llm"]
    assert config.llm.model_dump() == {
        "group_threshold": 3,
        "temperature": 0.3,
        "max_summary_tokens": 500,
        "include_distillation_context": True,
        "max_trajectory_context_entries": 5,
        "max_trajectory_chars_per_entry": 500,
        "max_entry_input_chars": 2000,
        "max_total_user_content_chars": 20_000,
        "fallback_truncate_length": 200,
    }
    assert config.experience_compressor.model_dump() == {
        "enabled": False,
        "model": None,
        "temperature": 0.3,
        "max_tokens": 1000,
        "min_compression_ratio": 0.0,
    }
    wiki = config.wiki_export
    assert (wiki.enabled, wiki.trigger, wiki.max_entries_per_view) == (False, "manual", None)
    assert wiki.include_raw_tier
    assert wiki.include_compressed_tier


class TestKillSwitch:
    def test_the_switch_holds_whatever_the_section_says(self) -> None:
        off = CompanyMemoryConfig.model_validate(
            {
                "consolidation_enabled": False,
                "consolidation": {"enabled": True, "interval": "weekly"},
            }
        )
        assert not off.consolidation.enabled
        assert off.consolidation.interval is ConsolidationInterval.WEEKLY

    def test_without_the_switch_the_section_decides(self) -> None:
        config = CompanyMemoryConfig.model_validate({"consolidation": {"enabled": False}})
        assert not config.consolidation.enabled
        assert CompanyMemoryConfig().consolidation.enabled

    def test_it_must_be_yes_or_no(self) -> None:
        with pytest.raises(ValidationError):
            CompanyMemoryConfig.model_validate({"consolidation_enabled": "perhaps"})

    def test_the_usual_level_has_a_second_name_too(self) -> None:
        config = CompanyMemoryConfig.model_validate({"default_level": "project"})
        assert config.level is MemoryLevel.PROJECT


class TestOneBound:
    @rows("section", ["options", "consolidation"])
    def test_set_in_one_section_it_holds_in_both(self, section: str) -> None:
        config = CompanyMemoryConfig.model_validate({section: {"max_memories_per_agent": 7}})
        assert config.options.max_memories_per_agent == 7
        assert config.consolidation.max_memories_per_agent == 7

    def test_the_default_in_the_other_section_does_not_count_as_another_value(self) -> None:
        config = CompanyMemoryConfig.model_validate(
            {
                "options": {"max_memories_per_agent": 50_000},
                "consolidation": {"max_memories_per_agent": 10_000},
            }
        )
        assert config.consolidation.max_memories_per_agent == 50_000

    def test_twice_the_same_is_fine_and_two_values_are_refused_by_both_names(self) -> None:
        def both(second: int) -> dict[str, Any]:
            return {
                "options": {"max_memories_per_agent": 7},
                "consolidation": {"max_memories_per_agent": second},
            }

        config = CompanyMemoryConfig.model_validate(both(7))
        assert config.options.max_memories_per_agent == 7
        with pytest.raises(ValidationError) as refused:
            CompanyMemoryConfig.model_validate(both(8))
        told = str(refused.value)
        assert "memory.options.max_memories_per_agent (7)" in told
        assert "memory.consolidation.max_memories_per_agent (8)" in told

    def test_the_interval_is_one_setting_likewise(self) -> None:
        config = CompanyMemoryConfig.model_validate(
            {"options": {"consolidation_interval": "never"}}
        )
        assert config.consolidation.interval is ConsolidationInterval.NEVER
        two = {
            "options": {"consolidation_interval": "never"},
            "consolidation": {"interval": "weekly"},
        }
        with pytest.raises(ValidationError, match="one setting with two names"):
            CompanyMemoryConfig.model_validate(two)

    def test_sections_made_by_a_program_agree_too(self) -> None:
        config = CompanyMemoryConfig(options=MemoryOptionsConfig(max_memories_per_agent=7))
        assert config.consolidation.max_memories_per_agent == 7
        assert config.options.retention_days is None

    @rows("value", ["many", 0, [], {}])
    def test_a_wrong_value_is_blamed_as_any_other(self, value: object) -> None:
        with pytest.raises(ValidationError):
            CompanyMemoryConfig.model_validate({"options": {"max_memories_per_agent": value}})


class TestDays:
    CATEGORY = MemoryCategory.EPISODIC

    @rows(
        ("override", "rule", "own", "default", "days"),
        [
            (1, 2, 3, 4, 1),
            (None, 2, 3, 4, 2),
            (None, None, 3, 4, 3),
            (None, None, None, 4, 4),
            (None, None, None, None, None),
        ],
    )
    def test_the_most_specific_that_is_set_wins(
        self,
        override: int | None,
        rule: int | None,
        own: int | None,
        default: int | None,
        days: int | None,
    ) -> None:
        rules = (RetentionRule(category=self.CATEGORY, retention_days=rule),) if rule else ()
        found = retention_days(
            self.CATEGORY,
            overrides={self.CATEGORY: override} if override else {},
            rules=rules,
            agent_default=own,
            default=default,
        )
        assert found == days
