"""Tests of what the settings say of single agents: their place, and values of their own."""

from pathlib import Path

import pytest

from synthorg_tui.core.enums import SeniorityLevel
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.memory.enums import InjectionStrategy
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig
from tests.tables import rows


def settings_of(tmp_path: Path, text: str) -> RootConfig:
    file = tmp_path / "company.yaml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environ={})


def problem_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        settings_of(tmp_path, text)
    return str(raised.value)


LOCKED = """\
memory:
  retrieval: {max_memories: 12, relevance_weight: 0.9, recency_weight: 0.1}
  self_editing: {core_max_entries: 7}
agents:
  - id: locked
    role: Intern
    department: Support
    seniority: junior
    retrieval: {strategy: self_editing, max_memories: 5}
    digest: {budgets: {max_total_items: 3}}
    self_editing: {allow_core_writes: false}
  - id: free
"""


def test_only_named_values_stand_in_place_of_the_companys(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, LOCKED)
    own = settings.memory_of("locked")
    assert own.retrieval.max_memories == 5
    assert own.retrieval.strategy is InjectionStrategy.SELF_EDITING
    assert own.retrieval.relevance_weight == 0.9
    assert own.retrieval.recency_decay_rate == settings.memory.retrieval.recency_decay_rate
    assert (own.self_editing.allow_core_writes, own.self_editing.core_max_entries) == (False, 7)
    assert own.v1.budgets.max_total_items == 3
    assert own.v1.budgets.max_total_chars == settings.memory.v1.budgets.max_total_chars
    assert own.v1.enabled is settings.memory.v1.enabled


def test_an_agent_without_values_of_its_own_has_the_companys(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, LOCKED)
    assert settings.memory_of("free") is settings.memory
    assert settings.memory_of("nobody") is settings.memory
    assert settings.own_settings().keys() == {"locked"}


def test_an_agent_has_role_department_and_seniority_which_is_mid_unless_said(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path, LOCKED)
    locked, free = settings.agent("locked"), settings.agent("free")
    assert locked is not None
    assert free is not None
    assert (locked.role, locked.department) == ("Intern", "Support")
    assert locked.seniority is SeniorityLevel.JUNIOR
    assert free.seniority is SeniorityLevel.MID


def test_overrides_are_named_by_their_path(tmp_path: Path) -> None:
    locked = settings_of(tmp_path, LOCKED).agent("locked")
    assert locked is not None
    assert locked.overridden() == (
        "retrieval.strategy = self_editing",
        "retrieval.max_memories = 5",
        "digest.budgets.max_total_items = 3",
        "self_editing.allow_core_writes = false",
    )


def test_only_what_was_named_is_shown_as_the_agents_setting(tmp_path: Path) -> None:
    shown = settings_of(tmp_path, LOCKED).model_dump(mode="json")["agents"]
    assert shown[0]["retrieval"] == {"strategy": "self_editing", "max_memories": 5}
    assert shown[0]["digest"] == {"budgets": {"max_total_items": 3}}
    assert shown[1]["retrieval"] is None


@rows(
    ("section", "text", "told"),
    [
        ("retrieval", "max_memories: 101", "from 1 to 100"),
        ("retrieval", "max_memories: null", "from 1 to 100"),
        ("retrieval", "strategy: none", "one of context, tool_based, self_editing"),
        ("digest", "budgets: {max_total_items: -1}", "from 0 to 1000"),
        ("self_editing", "core_max_entries: 0", "from 1 to 200"),
        ("self_editing", "allow_core_writes: maybe", "true or false"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_line_field_value_and_what_is_allowed(
    tmp_path: Path, section: str, text: str, told: str
) -> None:
    problem = problem_of(tmp_path, f"agents:\n  - id: a\n    {section}:\n      {text}\n")
    assert "company.yaml:4: " in problem
    assert f"agents[0].{section}.{text.split(':')[0]}" in problem
    assert text.rpartition(": ")[2].rstrip("}") in problem
    assert told in problem


@rows("value", ["1", "100"])
def test_a_value_at_its_bounds_is_accepted(tmp_path: Path, value: str) -> None:
    text = f"agents:\n  - id: a\n    retrieval: {{max_memories: {value}}}\n"
    assert settings_of(tmp_path, text).memory_of("a").retrieval.max_memories == int(value)


@rows("section", ["retrieval", "digest", "self_editing"])
def test_an_unknown_field_is_refused_with_those_there_are(tmp_path: Path, section: str) -> None:
    problem = problem_of(tmp_path, f"agents:\n  - id: a\n    {section}: {{nonsense: 1}}\n")
    assert f"agents[0].{section}.nonsense: unknown setting" in problem
    assert "allowed: " in problem


def test_values_that_dont_go_with_the_companys_are_refused(tmp_path: Path) -> None:
    company = "memory:\n  retrieval: {fusion_strategy: linear, relevance_weight: 0.9, "
    company += "recency_weight: 0.1}\n"
    own = "agents:\n  - id: a\n    retrieval: {relevance_weight: 0.7}\n"
    problem = problem_of(tmp_path, company + own)
    assert "agents[0].retrieval doesn't fit memory.retrieval" in problem
    assert "must equal 1.0" in problem
    fitting = own.replace("0.7", "0.7, recency_weight: 0.3")
    assert settings_of(tmp_path, company + fitting).memory_of("a").retrieval.recency_weight == 0.3
