"""Every setting is listed with its value, where it comes from, and what is allowed."""

from pathlib import Path

from synthorg_tui.settings.listing import ListedSetting, list_settings
from synthorg_tui.settings.loader import load_settings, shipped_settings


def listed(path: Path, **environ: str) -> dict[str, ListedSetting]:
    settings = list_settings(path, running=shipped_settings(), environ=environ)
    return {setting.path: setting for setting in settings}


def test_a_setting_says_where_its_value_comes_from_and_what_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "company.yaml"
    file.write_text("memory:\n  level: session\n", encoding="utf-8")
    settings = listed(file, SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES="7")
    assert settings["memory.level"].source == f"{file}:2"
    assert settings["memory.level"].allowed.startswith("one of ")
    limit = settings["memory.retrieval.max_memories"]
    assert (limit.value, limit.source) == ("7", "SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES")
    assert settings["memory.backend"].source == "default"


def test_only_what_differs_from_the_running_program_waits_for_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "company.yaml"
    file.write_text("memory:\n  level: session\n  backend: local\n", encoding="utf-8")
    assert [path for path, each in listed(file).items() if each.waits] == ["memory.level"]
    again = list_settings(file, running=load_settings(file, environ={}), environ={})
    assert not any(setting.waits for setting in again)


def test_each_value_of_an_agent_says_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "company.yaml"
    file.write_text("agents:\n  - id: a\n    retrieval:\n      max_memories: 5\n", encoding="utf-8")
    settings = listed(file)
    own = settings["agents[0].retrieval.max_memories"]
    assert (own.value, own.source) == ("5", f"{file}:4")
    assert own.allowed == "whole number from 1 to 100"
    assert settings["agents[0].seniority"].source == "default"
    assert "agents[0].retrieval.min_relevance" not in settings


def test_secrets_are_hidden(tmp_path: Path) -> None:
    file = tmp_path / "company.yaml"
    file.write_text("", encoding="utf-8")
    for path, setting in listed(file).items():
        if path.endswith(("token", "password", "secret", "key")):
            assert setting.value == "(hidden)"
