"""``doctor --secrets``: what it prints, who may redact, and that no secret is on the screen."""

import asyncio
from pathlib import Path

import pytest

from synthorg_tui.persistence.database import Database
from tests.cli.cli_kit import Cli, move_home, runner
from tests.core.secret_kit import planted
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal, without_marks

TOKEN = planted("«glsoat-{A30}»", 3).secret


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    move_home(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(home / "store", capsys)


def _remember_as_an_older_version_did(cli: Cli, home: Path) -> None:
    cli("memories", "add", "--agent", "ada", "The key of the build is SECRET.")
    asyncio.run(_put_secret(home / "store"))


async def _put_secret(store: Path) -> None:
    database = Database.in_dir(store)
    await database.open()
    sql = "UPDATE memories SET content = replace(content, 'SECRET', ?)"
    await database.write(lambda db: db.execute(sql, [TOKEN]))
    await database.close()


def test_a_store_without_secrets_passes(cli: Cli) -> None:
    cli("memories", "add", "--agent", "ada", "Storks return in March.")
    assert cli("doctor", "--secrets").out == "No secrets found in what is stored.\n"
    clean = cli("doctor", "--secrets", "--json")
    assert clean.code == 0
    assert clean.json == {
        "secrets": 0,
        "redacted": False,
        "tables": [],
        "left": [],
        "pending": [],
    }


def test_kinds_and_numbers_are_printed_and_no_secret(cli: Cli, home: Path) -> None:
    _remember_as_an_older_version_did(cli, home)
    found = cli("doctor", "--secrets", "--json")
    assert found.code == 1
    assert found.json["tables"] == [{"table": "memories", "kinds": {"gitlab-token": 1}}]
    shown = cli("doctor", "--secrets")
    assert "memories: gitlab-token ×1" in shown.out
    assert "doctor --secrets --fix" in shown.err
    assert TOKEN not in shown.out + shown.err + found.out


def test_an_agent_cannot_redact(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _remember_as_an_older_version_did(cli, home)
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = cli("doctor", "--secrets", "--fix")
    assert refused.code != 0
    assert "only a person decides" in refused.err
    assert cli("doctor", "--secrets").code == 1


@files_only
@pytest.mark.parametrize(("answer", "code", "left"), [("redact\n", 0, 0), ("yes\n", 1, 1)])
def test_a_person_redacts_by_typing_so(
    cli: Cli, home: Path, answer: str, code: int, left: int
) -> None:
    _remember_as_an_older_version_did(cli, home)
    arguments = ["-m", "synthorg_tui", "--data-dir", str(home / "store")]
    ran = at_terminal(
        [*arguments, "doctor", "--secrets", "--fix"],
        answers={"Type redact:": answer},
        env=without_marks(),
    )
    assert (ran.code == 0) is (code == 0)
    assert TOKEN not in ran.screen
    assert cli("doctor", "--secrets", "--json").code == left
    memory = cli("memories", "list", "--json").json["memories"][0]
    assert ("[REDACTED:gitlab-token]" in memory["content"]) is (left == 0)
