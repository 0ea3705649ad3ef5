"""``digest`` prints the organisation's policies first, and says what else there is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from synthorg_tui.cli import main
from tests.cli.cli_kit import Cli, documented, move_home, runner

SETTINGS = """
memory: {level: persistent}
org_memory: {core_policies: [All code is reviewed before it is merged., Never push to main.]}
"""
ASK = ("--agent", "ada", "--token-budget", "800")
TASK = "which port has the staging database?"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    settings = home / "company.yaml"
    settings.write_text(SETTINGS)
    words = ["--config", str(settings), "--data-dir", str(home / "desk"), "memories", "add"]
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        patch.delenv("CLAUDECODE", raising=False)
        text = "The staging database listens on port 6543."
        assert main([*words, text, "--agent", "ada"]) == 0
        yield settings


@pytest.fixture
def cli(config: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    run = runner(config.parent / "desk", capfd)
    return lambda *words: run("--config", str(config), *words)


def test_the_json_has_the_documented_policies_as_their_own_part(cli: Cli) -> None:
    made, example = cli("digest", TASK, *ASK, "--json").json, documented("digest")
    assert made["policies"][0].keys() == example["policies"][0].keys()
    assert [each["verdict"] for each in made["policies"]] == ["included", "included"]
    assert made["facts"] == []
    memories = sum(each["tokens"] for each in made["candidates"] if each["verdict"] == "included")
    parts = made["policy_tokens"] + made["fact_tokens"] + made["frame_tokens"]
    assert made["tokens_used"] == parts + memories


def test_explain_lists_each_policy_with_why_it_is_told_before_the_candidates(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    shown = cli("digest", TASK, *ASK, "--explain").out
    assert shown.startswith("Policies of this organisation")
    table = shown[shown.index("WHY · POLICY") :]
    assert "core-policy-1  policy 2: every agent is told it · Never push to main." in table
    assert table.index("core-policy-1") < table.index("WHY · BY · MEMORY")


def test_where_only_policies_are_given_stderr_says_that_no_memory_is(cli: Cli) -> None:
    result = cli("digest", "zebra quantum marmalade", *ASK)
    assert result.out.endswith("- Never push to main.")
    assert "would be given no memory" in result.err
    unknown = cli("digest", TASK, "--agent", "nobody", "--token-budget", "800")
    assert "no agent 'nobody' has memories" in unknown.err
