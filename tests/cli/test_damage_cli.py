"""Commands at a damaged store, at backups, and with arguments that no text holds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from synthorg_tui.cli import main
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.persistence.damage_kit import BLOCK, FIRST_BLOCK, fill, flip, table_blocks
from tests.postgres_switch import files_only
from tests.tables import rows

pytestmark = files_only


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    move_home(monkeypatch, tmp_path)
    return runner(tmp_path / "desk", capsys)


@pytest.fixture
def database(cli: Cli, tmp_path: Path) -> Path:
    """The database of a closed store with one memory."""
    assert cli("memories", "add", "--agent", "a", "Storks return.").code == 0
    return tmp_path / "desk" / "memory.duckdb"


def leave_log(database: Path) -> Path:
    """Have a process killed that has changed the store; its log."""
    script = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1])\n"
        "c.execute('INSERT INTO meta VALUES (?, ?)', ['late', 'x' * 500]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(database)], check=True)
    return database.with_name("memory.duckdb.wal")


def test_a_store_whose_log_is_damaged_opens_after_doctor_was_told_to(
    cli: Cli, database: Path
) -> None:
    log = leave_log(database)
    flip(log, log.read_bytes(), 100)
    closed = cli("doctor")
    assert closed.code == 4
    assert "doctor --fix" in closed.err
    asked = cli("doctor", "--fix")
    assert (asked.code, log.exists()) == (2, True), "nobody was there to say yes"
    assert "at most what changed since" in " ".join(asked.err.split())
    fixed = cli("doctor", "--fix", "--yes")
    assert fixed.code == 0, fixed.out + fixed.err
    assert "memory.duckdb.replaced-" in fixed.err
    found = cli("search", "storks", "--json").json["results"]
    assert [hit["content"] for hit in found] == ["Storks return."]


def test_doctor_and_backup_tell_of_a_damaged_table(cli: Cli, database: Path) -> None:
    import duckdb

    connection = duckdb.connect(str(database))
    fill(connection, "skill_versions", 50)
    connection.close()
    block = table_blocks(database)["skill_versions"]
    flip(database, database.read_bytes(), FIRST_BLOCK + block * BLOCK + 77)
    examined = cli("doctor", "--json")
    assert examined.code == 1
    (check,) = [check for check in examined.json["checks"] if check["name"] == "database"]
    assert "skill_versions" in check["detail"]
    refused = cli("backup")
    assert refused.code == 4
    assert "Backed up" not in refused.out
    assert "skill_versions" in refused.err


def test_a_missing_database_is_told_and_no_store_is_made(cli: Cli, database: Path) -> None:
    database.unlink()
    for command in (["doctor"], ["search", "storks"], ["memories", "list"]):
        told = cli(*command)
        assert told.code == 4, command
        assert "is missing" in told.err
        assert "restore" in told.err
    assert not database.exists()


def test_restoring_without_a_name_offers_the_newest(cli: Cli, database: Path) -> None:
    older = cli("backup", "--json").json["path"]
    cli("memories", "add", "--agent", "a", "Owls stay.")
    newest = cli("backup", "--json").json["path"]
    assert older < newest
    asked = cli("restore")
    assert (asked.code, "nobody is here" in asked.err) == (2, True)
    assert cli("restore", "--yes", "--json").json == {"path": newest}
    assert cli("restore", older, "--json").json == {"path": older}, "a name needs no question"


COMMANDS = (
    ("memories", "add", "--agent", "a"),
    ("memories", "list", "--tag"),
    ("scenarios", "save"),
    ("search",),
    ("digest", "storks", "--agent", "a", "--token-budget", "300", "--project"),
    ("import",),
    ("backup",),
    ("restore",),
    ("--config",),
)


@rows("command", COMMANDS)
def test_an_argument_that_is_no_text_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(tmp_path / "desk"), *command, os.fsdecode(b"a\xff\x1b[2Jb")])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "error: an argument isn't UTF-8: a\\xff␛[2Jb\n")
    assert not (tmp_path / "desk").exists()


def test_a_data_directory_below_a_folder_that_is_no_text_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", "desk", "memories", "list"])
    assert ended.value.code == 2
    assert "working directory isn't UTF-8" in capsys.readouterr().err
    assert not (folder / "desk").exists()


def test_backups_are_listed(cli: Cli, database: Path) -> None:
    assert "No backups yet" in cli("restore", "--list").out
    assert cli("restore", "--list", "--json").json == {"backups": []}
    path = cli("backup", "--json").json["path"]
    (listed,) = cli("restore", "--list", "--json").json["backups"]
    assert listed.keys() == documented("restore")["backups"][0].keys()
    assert (listed["path"], listed["daily"]) == (path, False)
    assert listed["bytes"] == Path(path).stat().st_size
    assert path in cli("restore", "--list").out
