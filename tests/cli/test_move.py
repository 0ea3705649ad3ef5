"""``move``: a store goes to a server and back, and what is refused."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from synthorg_tui.cli import main
from synthorg_tui.persistence.lock import DataDirLock
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.patience import PATIENCE
from tests.postgres_switch import files_only

pytestmark = files_only

TEXT = "The port is 5432"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with two memories."""
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, tmp_path_factory.mktemp("home"))
        folder = tmp_path_factory.mktemp("store")
        for text in (TEXT, "The host is shop-db"):
            command = ["--data-dir", str(folder), "memories", "add", text, "--agent", "me"]
            assert main(command) == 0
        yield folder


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "store")


@pytest.fixture
def url(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server without a store, as the environment names it."""
    monkeypatch.setenv("STORE_URL", postgres_url)
    return postgres_url


@pytest.fixture
def cli(store: Path, url: str, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(store, capsys)


def server_settings(folder: Path) -> Path:
    file = folder / "company.yaml"
    file.write_text("persistence: {backend: postgres, url_env: STORE_URL}\n", "utf-8")
    return file


def test_a_store_goes_to_a_server_is_used_there_and_comes_back(
    cli: Cli, store: Path, tmp_path: Path
) -> None:
    plan = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--dry-run", "--json").json
    assert (plan["rows"]["memories"], plan["present"], plan["is_continued"]) == (2, 0, False)
    done = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes", "--json")
    assert done.code == 0
    assert done.json.keys() == documented("move").keys()
    assert done.json["copied"] == sum(plan["rows"].values())
    assert done.json["settings"] == documented("move")["settings"]
    assert (done.json["from"].endswith(str(store)), "store@" in done.json["to"]) == (True, False)

    there = ("--config", str(server_settings(tmp_path)))
    assert TEXT in cli(*there, "memories", "list").out
    assert cli(*there, "memories", "add", "Written there", "--agent", "me").code == 0
    back = cli(*there, "move", "--to", "local", "--yes")
    assert back.code == 0
    assert "backend: duckdb" in back.out
    assert "memories" in back.err
    assert "Written there" in cli("memories", "list").out


def test_a_server_with_another_store_is_refused_with_what_it_has(cli: Cli, tmp_path: Path) -> None:
    assert cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes").code == 0
    other = tmp_path / "other"
    assert cli("memories", "add", "Of another", "--agent", "me", data_dir=other).code == 0
    refused = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes", data_dir=other)
    assert refused.code == 1
    assert "of another store" in refused.err
    assert "Name an empty database" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--to", "postgres"), 2, "no server is named"),
        (("--to", "local"), 2, "no server is named"),
        (("--to", "postgres", "--url-env", "NOT_THERE"), 2, "NOT_THERE"),
        (("--to", "postgres", "--url-env", "STORE_URL"), 2, "nobody is here to confirm"),
    ],
)
def test_what_is_missing_is_said(
    cli: Cli, arguments: tuple[str, ...], code: int, told: str
) -> None:
    refused = cli("move", *arguments)
    assert refused.code == code
    assert told in refused.err


def test_a_folder_without_a_store_has_nothing_to_move(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    refused = cli("move", "--to", "postgres", "--url-env", "STORE_URL", data_dir=folder)
    assert refused.code == 1
    assert "there is no store in" in refused.err
    assert list(folder.iterdir()) == []


def test_a_server_that_is_away_is_said_and_nothing_changes(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_URL", "postgresql://me:secret@/nowhere?host=/nowhere")
    refused = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes")
    assert refused.code == 1
    assert "can't be opened" in refused.err
    assert "secret" not in refused.err


def test_while_the_store_is_open_elsewhere_it_is_not_moved(cli: Cli, store: Path) -> None:
    with DataDirLock(store):
        refused = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes")
    assert refused.code == 3


def test_an_agents_command_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes")
    assert refused.code == 1
    assert "only a person decides" in refused.err


def test_a_killed_move_goes_on_with_the_same_command(cli: Cli, url: str, store: Path) -> None:
    command = [sys.executable, "-m", "synthorg_tui", "--data-dir", str(store), "move"]
    command += ["--to", "postgres", "--url-env", "STORE_URL", "--yes"]
    moving = subprocess.Popen(command, stderr=subprocess.PIPE, env=dict(os.environ))
    end = monotonic() + PATIENCE
    while moving.poll() is None and not begun(url):
        assert monotonic() < end
        sleep(0.01)
    moving.send_signal(signal.SIGKILL)
    moving.communicate()
    done = cli("move", "--to", "postgres", "--url-env", "STORE_URL", "--yes", "--json")
    assert done.code == 0
    assert done.json["rows"]["memories"] == 2


def begun(url: str) -> bool:
    """Whether anything was copied."""
    import psycopg

    with psycopg.connect(url) as raw:
        return raw.execute("SELECT 1 FROM meta WHERE name = 'move'").fetchone() is not None


def test_a_folder_that_only_had_an_index_of_what_is_there_gets_the_store(
    cli: Cli, postgres_url: str, tmp_path: Path
) -> None:
    file, folder = tmp_path / "company.yaml", tmp_path / "data"
    file.write_text(f"persistence: {{backend: postgres, url: '{postgres_url}'}}\n", "utf-8")
    there = ("--config", str(file))
    assert cli(*there, "memories", "add", TEXT, "--agent", "me", data_dir=folder).code == 0
    assert cli(*there, "move", "--to", "local", "--yes", data_dir=folder).code == 0
    assert TEXT in cli("memories", "list", data_dir=folder).out
    assert cli("doctor", data_dir=folder).code == 0
