"""Which of file, environment and kept value holds, and what a value is refused for."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.settings.kept import KeptOutcome, KeptSetting, SettingTrial, with_kept
from synthorg_tui.settings.listing import ListedSetting, list_settings
from synthorg_tui.settings.loader import load_settings, shipped_settings
from tests.tables import rows

MOST = "memory.retrieval.max_memories"
VARIABLE = "SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES"


def kept(path: str, text: str, over: str = "") -> KeptSetting:
    return KeptSetting(path, text, over, "ada (tui)", datetime(2026, 3, 1, tzinfo=UTC))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "company.yaml"
    path.write_text("memory:\n  retrieval:\n    max_memories: 5\n", encoding="utf-8")
    return path


def taken(file: Path, *each: KeptSetting, **environ: str) -> KeptOutcome:
    return with_kept(load_settings(file, environ=environ), {one.path: one for one in each})


def most(outcome: KeptOutcome) -> int:
    return outcome.settings.memory.retrieval.max_memories


def test_what_was_changed_in_the_app_stands_above_the_file_as_it_was_then(file: Path) -> None:
    assert most(taken(file, kept(MOST, "7", "5"))) == 7


def test_a_file_that_says_something_else_since_then_stands_above_it(file: Path) -> None:
    outcome = taken(file, kept(MOST, "7", "4"))
    assert most(outcome) == 5
    assert outcome.passed_over[MOST] == f"{file}:3 was changed since, and says 5"


def test_a_line_that_came_into_the_file_since_then_stands_above_it(file: Path) -> None:
    assert most(taken(file, kept(MOST, "7"))) == 5


def test_a_line_that_was_taken_out_of_the_file_leaves_it_in_force(file: Path) -> None:
    file.write_text("", encoding="utf-8")
    assert most(taken(file, kept(MOST, "7", "5"))) == 7


def test_the_environment_stands_above_both(file: Path) -> None:
    outcome = taken(file, kept(MOST, "7", "5"), **{VARIABLE: "9"})
    assert most(outcome) == 9
    assert VARIABLE in outcome.passed_over[MOST]


def test_a_value_of_another_version_is_passed_over_and_the_others_hold(file: Path) -> None:
    outcome = taken(
        file, kept("memory.telepathy", "true"), kept("jobs.packing", '"fortnightly"'),
        kept(MOST, "7", "5"),
    )  # fmt: skip
    assert most(outcome) == 7
    assert "unknown setting" in outcome.passed_over["memory.telepathy"]
    assert "one of" in outcome.passed_over["jobs.packing"]


def test_values_that_dont_go_together_are_passed_over_from_the_later_one_on(file: Path) -> None:
    outcome = taken(
        file, kept("memory.retrieval.strategy", '"context"'),
        kept("memory.retrieval.query_reformulation_enabled", "true"),
    )  # fmt: skip
    assert list(outcome.passed_over) == ["memory.retrieval.query_reformulation_enabled"]


def test_settings_made_by_a_program_are_left_as_they_are() -> None:
    settings = shipped_settings()
    assert with_kept(settings, {MOST: kept(MOST, "7")}).settings is settings


def trial(file: Path) -> SettingTrial:
    return SettingTrial(load_settings(file, environ={}), {})


@rows(
    ("path", "written", "told"),
    [
        (MOST, "101", "101 is not allowed; allowed: whole number from 1 to 100"),
        ("memory.level", "sesion", "one of persistent, project, session, none"),
        ("memory.procedural.enabled", "maybe", "true or false"),
        ("memory.retrieval.max_memory", "7", "did you mean 'max_memories'"),
        ("memory.retrieval.query_reformulation_enabled", "true", "needs strategy 'tool_based'"),
        ("memory.storage.data_dir", "/tmp/x", "where the store is"),
        ("agents", "[]", "edited as a whole"),
        ("memory.storage.server.api_key", "abc", "secrets are never stored"),
        ("memory.storage.server", "{url: 'http://h', api_key: abc}", "secrets are never stored"),
        ("org_memory.core_policies", "['ghp_0123456789abcdefghijABCDEFGHIJ456789']", "secret"),
    ],
)
def test_a_value_is_refused_with_field_value_and_what_is_allowed(
    file: Path, path: str, written: str, told: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        trial(file).parsed(path, written)
    assert told in str(refused.value)
    assert path.rpartition(".")[0] in str(refused.value)


@rows(
    ("path", "written", "value"),
    [
        (MOST, "100", 100),
        ("memory.level", "none", "none"),
        ("memory.storage.max_session_days", "null", None),
        ("memory.v1.structured.tags", "[a, b]", ["a", "b"]),
        ("memory.procedural.model", "123", "123"),
        ("memory.procedural.enabled", "false", False),
    ],
)
def test_a_value_is_read_as_in_the_settings_file(
    file: Path, path: str, written: str, value: object
) -> None:
    assert trial(file).parsed(path, written) == value


def listed(file: Path, *each: KeptSetting, **environ: str) -> dict[str, ListedSetting]:
    return {one.path: one for one in list_settings(file, environ=environ, kept=each)}


def test_a_kept_value_is_listed_with_who_and_when_and_what_the_file_says(file: Path) -> None:
    setting = listed(file, kept(MOST, "7", "5"))[MOST]
    assert (setting.value, setting.source, setting.default) == ("7", "kept in the app", "20")
    assert setting.notes[0].startswith("changed ada at the app, 2026-0")
    assert setting.notes[1] == f"{file}:3 says 5; R goes back to it"


def test_a_kept_value_that_does_not_hold_is_listed_with_the_reason(file: Path) -> None:
    setting = listed(file, kept(MOST, "7", "4"))[MOST]
    assert (setting.value, setting.source, setting.is_kept) == ("5", f"{file}:3", True)
    assert "was changed since" in setting.notes[1]


def test_a_kept_value_that_this_version_does_not_know_is_listed_last(file: Path) -> None:
    *_, last = listed(file, kept("memory.telepathy", "true")).values()
    assert (last.path, last.value) == ("memory.telepathy", "true")
    assert last.fixed


def test_every_setting_says_what_it_is_for_and_which_values_it_can_have(file: Path) -> None:
    settings = listed(file)
    assert [path for path, each in settings.items() if not each.about and path != "agents"] == []
    assert settings["memory.level"].choices == ("persistent", "project", "session", "none")
    assert settings["memory.procedural.enabled"].choices == ("true", "false")
    assert settings[MOST].choices == ()
    assert settings["memory.retrieval.recency_weight"].about.startswith("Weights of relevance")
    assert settings["memory.storage.data_dir"].fixed
