"""``evolve``, ``prune`` and ``models`` on the command line."""

import re
from pathlib import Path

import pytest

from tests.cli.cli_kit import SAMPLE, Cli, documented, runner

ON = "SYNTHORG__MEMORY__PROCEDURAL__EVOLVER__"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SYNTHORG__PROVIDERS__COMPLETION__TYPE", "none")

    return runner(tmp_path / "desk", capsys)


def test_the_evolver_is_off_unless_switched_on(cli: Cli) -> None:
    result = cli("evolve")
    assert result.code == 2
    assert "memory.procedural.evolver.enabled" in result.err


def switch_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evolver on, content with one agent that learnt something once."""
    settings = {"ENABLED": "true", "MIN_AGENTS_SEEN_PATTERN": "1", "WINDOW_DAYS": "9999"}
    settings["MIN_CONFIDENCE_FOR_ORG_PROMOTION"] = "0.5"
    for name, value in settings.items():
        monkeypatch.setenv(ON + name, value)


def test_a_cycle_is_a_job_that_says_what_it_proposed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(monkeypatch)
    assert cli("import", str(SAMPLE)).code == 0
    ran = cli("jobs", "run", "evolver", "--json").json
    assert (ran["state"], ran["done"]) == ("done", ran["total"])
    assert re.fullmatch(r"\d+ lessons compared: [1-9] proposed for all agents, .*", ran["told"])
    items = cli("evolve", "--json").json["items"]
    assert {each["state"] for each in items} == {"unchanged"}  # they were in the queue already


def test_a_cycle_proposes_and_tells(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("import", str(SAMPLE)).code == 0
    switch_on(monkeypatch)
    found = cli("evolve", "--json").json
    assert set(found) == set(documented("evolve"))
    assert found["items"]
    assert set(found["items"][0]) == set(documented("evolve")["items"][0])
    assert {each["state"] for each in found["items"]} == {"proposed"}
    again = cli("evolve")
    assert again.code == 0
    assert "unchanged" in again.out
    assert found["items"][0]["id"] in again.out


def test_approval_can_not_be_switched_off_in_the_settings(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ON + "REQUIRES_HUMAN_APPROVAL", "false")
    result = cli("config", "check")
    assert result.code == 2
    assert "requires_human_approval" in result.err + result.out


def test_pruning_an_empty_store_proposes_nothing(cli: Cli) -> None:
    assert cli("prune", "--json").json == {
        "skills": 0,
        "chosen": 0,
        "proposed": [],
        "revised": [],
    }
    assert "all worth keeping" in cli("prune").out


def test_models_are_listed_with_what_they_were_used_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synthorg_tui.providers.inspection.LOCAL_SERVERS", ())
    found, shape = cli("models", "list", "--json").json, documented("models list")
    assert set(found) == set(shape)
    assert set(found["models"][0]) == set(shape["models"][0])
    assert found["usage"] == {"today_tokens": 0, "daily_token_limit": None, "last_30_days": []}
    assert "minilm" in cli("models", "list").out


def test_a_model_that_does_not_work_fails_the_check(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good = cli("models", "check", "--json")
    assert (good.code, good.json["ok"]) == (0, True)
    assert set(good.json["checks"][0]) == set(documented("models check")["checks"][0])
    monkeypatch.setenv("SYNTHORG__PROVIDERS__COMPLETION__TYPE", "gguf")
    monkeypatch.setenv("SYNTHORG__PROVIDERS__COMPLETION__PATH", str(tmp_path / "gone.gguf"))
    bad = cli("models", "check")
    assert bad.code == 1
    assert "FAIL" in bad.out
