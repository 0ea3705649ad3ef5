"""``overview`` prints the figures of the store, as text and as data."""

from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, documented, move_home, runner


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path)
    return runner(tmp_path / "data", capsys)


def test_the_figures_are_printed_in_words_and_as_documented_data(cli: Cli) -> None:
    assert cli("memories", "add", "Port 6543 is taken.", "--agent", "ada").code == 0
    printed = cli("overview")
    assert printed.code == 0
    assert printed.out.startswith("Overview of 30 days, since ")
    assert "1 live · 1 in 30 days" in printed.out
    assert "none was asked for" in printed.out
    assert "written  1" in printed.out
    data = cli("overview", "--since", "all", "--json").json
    told = documented("overview")
    assert data.keys() == told.keys()
    for name in ("memories", "digests", "hints", "models", "approvals", "sizes", "scale"):
        assert data[name].keys() == told[name].keys()
    assert data["jobs"][0].keys() == told["jobs"][0].keys()
    assert data["health"][0].keys() == told["health"][0].keys()
    assert data["scale"]["span"] == "all"
    assert data["memories"]["kinds"] == [{"name": "written", "counts": [1]}]


def test_an_unknown_span_is_refused_with_those_there_are(
    cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli("overview", "--since", "2d")
    assert "90d" in capsys.readouterr().err
