"""The digest's configuration: documented defaults, ranges on both sides, and when it is on."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from synthorg_tui.memory.config import CompanyMemoryConfig
from synthorg_tui.memory.digest.config import KindBudget, MemoryV1Config
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.settings.loader import load_settings, shipped_settings
from synthorg_tui.settings.root import RootConfig
from tests.tables import rows

RANGES: list[tuple[str, int, int]] = [
    ("keyword.limit", 1, 200),
    ("semantic.limit", 1, 200),
    ("budgets.max_total_items", 0, 1000),
    ("budgets.max_total_chars", 0, 200_000),
    ("budgets.max_total_tokens", 0, 400_000),
]
PER_KIND: list[tuple[str, int, int]] = [
    ("max_items", 0, 1000),
    ("max_chars", 0, 200_000),
    ("max_tokens", 0, 400_000),
]


def nested(path: str, value: object) -> dict[str, Any]:
    *outer, name = path.split(".")
    made: dict[str, Any] = {name: value}
    for each in reversed(outer):
        made = {each: made}
    return made


def test_documented_defaults() -> None:
    config = MemoryV1Config()
    assert config.enabled
    assert config.allow_sensitivities == (Sensitivity.PUBLIC, Sensitivity.PRIVATE)
    assert (config.structured.fact_keys, config.structured.tags) == ((), ())
    assert (config.keyword.enabled, config.keyword.limit) == (True, 60)
    assert (config.semantic.enabled, config.semantic.limit) == (False, 20)
    total = config.budgets
    assert (total.max_total_items, total.max_total_chars, total.max_total_tokens) == (
        12,
        2400,
        None,
    )
    assert {
        kind: (budget["max_items"], budget["max_chars"], budget["max_tokens"])
        for kind, budget in total.per_kind.model_dump().items()
    } == {
        "fact": (6, 800, None),
        "note": (4, 1200, None),
        "procedure": (3, 1200, None),
        "episode": (2, 800, None),
    }


@rows(("path", "low", "high"), RANGES)
def test_ranges_hold_on_both_sides(path: str, low: int, high: int) -> None:
    for value in (low, high):
        MemoryV1Config.model_validate(nested(path, value))
    for value in (low - 1, high + 1):
        with pytest.raises(ValidationError):
            MemoryV1Config.model_validate(nested(path, value))


@pytest.mark.parametrize("kind", ["fact", "note", "procedure", "episode"])
@pytest.mark.parametrize(("name", "low", "high"), PER_KIND)
def test_ranges_of_a_kind_hold_on_both_sides(kind: str, name: str, low: int, high: int) -> None:
    def made(value: int) -> dict[str, Any]:
        budget = {"max_items": 1, "max_chars": 1, name: value}
        return nested(f"budgets.per_kind.{kind}", budget)

    for value in (low, high):
        MemoryV1Config.model_validate(made(value))
    for value in (low - 1, high + 1):
        with pytest.raises(ValidationError):
            MemoryV1Config.model_validate(made(value))


@rows(
    "wrong",
    [
        {"allow_sensitivities": ["secret"]},
        {"structured": {"tags": [" "]}},
        {"structured": {"fact_keys": [""]}},
        {"budget": {}},
        {"budgets": {"per_kind": {"rumour": {"max_items": 1, "max_chars": 1}}}},
    ],
)
def test_what_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MemoryV1Config.model_validate(wrong)


def test_a_budget_keeps_the_defaults_of_what_it_does_not_say() -> None:
    config = MemoryV1Config.model_validate(nested("budgets.per_kind.fact.max_items", 3))
    assert config.budgets.per_kind.fact == KindBudget(max_items=3, max_chars=800)
    assert config.budgets.per_kind.note == MemoryV1Config().budgets.per_kind.note


def test_it_is_off_where_nobody_asks_for_it() -> None:
    assert not CompanyMemoryConfig().v1.enabled
    assert not RootConfig().memory.v1.enabled
    assert not shipped_settings().memory.v1.enabled


@rows(("line", "enabled"), [("", False), ("enabled: true,", True)])
def test_settings_of_the_digest_alone_do_not_switch_it_on(
    tmp_path: Path, line: str, enabled: bool
) -> None:
    file = tmp_path / "company.yaml"
    file.write_text(f"memory: {{v1: {{{line} keyword: {{limit: 5}}}}}}", encoding="utf-8")
    v1 = load_settings(file, environ={}).memory.v1
    assert (v1.enabled, v1.keyword.limit) == (enabled, 5)


def test_a_variable_for_it_does_not_switch_it_on(tmp_path: Path) -> None:
    file = tmp_path / "company.yaml"
    file.write_text("agents: []", encoding="utf-8")
    environ = {"SYNTHORG__MEMORY__V1__SEMANTIC__ENABLED": "true"}
    v1 = load_settings(file, environ=environ).memory.v1
    assert (v1.enabled, v1.semantic.enabled) == (False, True)
