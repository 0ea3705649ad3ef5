"""Commands with safety settings that somebody loosened: the stricter ones hold, and why is told."""

from pathlib import Path

import pytest

from synthorg_tui.persistence import DATABASE_FILE
from tests.cli.cli_kit import SAMPLE, Cli, documented, move_home, runner
from tests.postgres_switch import files_only

OFF = "SYNTHORG__MEMORY__PROCEDURAL__REQUIRE_APPROVAL"
RESUME = ("agents", "resume", "ada")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    move_home(monkeypatch, home)
    return home


@pytest.fixture
def cli(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(tmp_path / "data", capsys)


def write(home: Path, text: str) -> Path:
    """The person's own settings file with this text."""
    file = home / "synthorg-tui" / "company.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_an_import_adopts_nothing_because_of_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OFF, "false")
    done = cli("import", str(SAMPLE))
    assert done.code == 0
    assert f"memory.procedural.require_approval: false from {OFF} is ignored" in done.err
    assert cli("proposals", "list", "--json").json != []
    assert cli("proposals", "list", "--status", "approved", "--json").json == []
    assert cli("proposals", "trail", "--json").json == {"entries": []}


def test_it_does_when_the_persons_own_file_says_so_and_the_trail_tells(
    cli: Cli, home: Path
) -> None:
    write(home, "memory: {procedural: {require_approval: false}}")
    assert "require_approval" not in cli("import", str(SAMPLE)).err
    entries = cli("proposals", "trail", "--json").json["entries"]
    assert {entry["how"] for entry in entries} == {"policy"}
    assert entries[0].keys() == documented("proposals trail")["entries"][0].keys()
    news = cli("proposals", "trail", "--since", "last")
    assert "by the setting memory.procedural" not in news.err
    assert "adopted by a setting" in news.err
    assert "adopted" in news.out
    assert cli("proposals", "trail", "--since", "last", "--json").json["entries"] == entries


def test_what_was_stricter_holds_for_commands_until_somebody_says_yes(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write(home, "approvals: {allow_cli: false}")
    assert "allow_cli is off" in cli(*RESUME).err
    monkeypatch.setenv("SYNTHORG__APPROVALS__ALLOW_CLI", "true")
    assert "allow_cli is off" in cli(*RESUME).err
    monkeypatch.delenv("SYNTHORG__APPROVALS__ALLOW_CLI")
    other = tmp_path / "other.yaml"
    other.write_text("approvals: {allow_cli: true}")
    assert "allow_cli is off" in cli("--config", str(other), *RESUME).err
    own.unlink()
    told = cli(*RESUME).err
    assert "allow_cli is off" in told
    assert f"approvals.allow_cli: true in {own} is not taken yet; false holds" in told
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    assert "allow_cli is off" in cli(*RESUME).err


def test_check_and_show_explain_what_holds(cli: Cli, home: Path) -> None:
    own = write(home, "approvals: {allow_cli: false}")
    assert cli("config", "check", "--json").json["not_taken"] == []
    cli("agents")
    write(home, "approvals: {allow_cli: true}")
    checked = cli("config", "check")
    assert checked.out == f"{own}: ok\n"
    assert checked.err == (
        f"warning: approvals.allow_cli: true in {own} is not taken yet; "
        "false holds until you say yes when the app opens\n"
    )
    told = cli("config", "check", "--json").json
    assert told.keys() == documented("config check").keys()
    assert told["not_taken"] == [{"path": "approvals.allow_cli", "holds": False, "wanted": True}]
    assert cli("config", "show", "--json").json["approvals"]["allow_cli"] is False


def test_checking_makes_no_store(cli: Cli, tmp_path: Path) -> None:
    assert cli("config", "check").code == 0
    assert cli("config", "show").code == 0
    assert not (tmp_path / "data").exists()


@files_only
def test_a_store_that_cannot_be_asked_is_told_and_the_settings_are_checked(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / DATABASE_FILE).write_bytes(b"no database")
    checked = cli("config", "check")
    assert checked.code == 0
    assert "the store can't be asked what it holds to" in checked.err
