"""``projects``: what is known of each project, listed, shown and brought up to date."""

from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.ingest.transcript_kit import ClaudeTranscript


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path)
    return runner(tmp_path / "data", capsys)


def test_projects_are_listed_shown_and_refreshed(cli: Cli, tmp_path: Path) -> None:
    assert "they come with `synthorg-tui import`" in cli("projects").out
    told = ClaudeTranscript("11111111-2222-4333-8444-555555555555").user("Run the tests")
    for _ in range(3):
        told = told.bash("make test", "12 passed")
    cli("import", str(told.write(tmp_path / "t" / "a.jsonl")))
    listed = cli("projects", "list", "--json").json
    assert listed.keys() == documented("projects list").keys()
    (project,) = listed["projects"]
    assert project.keys() == documented("projects list")["projects"][0].keys()
    page = cli("projects", "show", project["name"], "--json").json
    sample = documented("projects show")
    assert (page.keys(), page["lines"][0].keys()) == (sample.keys(), sample["lines"][0].keys())
    shown = cli("projects", "show", project["project"]).out
    assert shown.startswith(f"# {project['name']}\n")
    assert "- Test with `make test`\n  (all 3 runs passed" in shown
    done = cli("projects", "refresh", "--json").json
    assert (done.keys(), done["sessions"]) == (documented("projects refresh").keys(), 0)
    unknown = cli("projects", "show", f"{project['name']}x")
    assert unknown.code == 1
    assert f"Did you mean {project['name']}?" in unknown.err


def test_what_is_known_is_listed_and_found_as_of_all_agents(cli: Cli, tmp_path: Path) -> None:
    told = ClaudeTranscript("11111111-2222-4333-8444-555555555555").user("Run the tests")
    for _ in range(3):
        told = told.bash("make test", "12 passed")
    cli("import", str(told.write(tmp_path / "t" / "a.jsonl")))
    listed = cli("memories", "list", "--agent", "all agents").out
    assert "make test" in listed
    assert ", for all agents" in listed
    assert "__synthorg_shared__" not in cli("memories", "list").out
    found = cli("search", "how to run the test", "--agent", "all agents").out
    assert "all agents" in found
    assert "__synthorg_shared__" not in found
