"""``export wiki`` and ``export data``: the folder, what is said of it, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, documented, move_home, runner


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, tmp_path_factory.mktemp("home"))
        yield tmp_path_factory.mktemp("store")


@pytest.fixture
def cli(store: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(store, capsys)


def test_the_memories_become_files_and_later_ones_join_them(
    cli: Cli, store: Path, tmp_path: Path
) -> None:
    assert cli("memories", "add", "The port is 5432", "--agent", "me").code == 0
    done = cli("export", "wiki", "--json")
    assert done.code == 0
    assert done.json.keys() == documented("export wiki").keys()
    assert (done.json["raw"] + done.json["wiki"], done.json["root"]) == (1, str(store / "wiki"))
    (page,) = [path for path in (store / "wiki").rglob("*.md") if path.name != "index.md"]
    assert "The port is 5432" in page.read_text(encoding="utf-8")
    assert cli("memories", "add", "Another agent's", "--agent", "other").code == 0
    told = cli("export", "wiki", "--to", str(tmp_path / "notes"), "--agent", "other")
    assert told.code == 0
    assert "Wrote 1 memory to" in told.out
    assert len(list((tmp_path / "notes").rglob("*.md"))) == 2


def test_an_agent_without_memories_is_named_as_a_mistake(cli: Cli, tmp_path: Path) -> None:
    refused = cli("export", "wiki", "--to", str(tmp_path / "w"), "--agent", "nobody")
    assert refused.code == 2
    assert "no agent 'nobody' has memories" in refused.err
    assert not (tmp_path / "w").exists()


def test_what_could_not_be_written_is_named_and_fails(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# My site")
    failed = cli("export", "wiki", "--to", str(tmp_path))
    assert failed.code == 1
    assert "index.md couldn't be written" in failed.err
    assert (tmp_path / "index.md").read_text() == "# My site"


def test_a_folder_that_can_not_be_made_is_explained(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failed = cli("export", "wiki", "--to", str(tmp_path / "file" / "w"))
    assert failed.code == 1
    assert "can't be made" in failed.err


def test_tables_become_files_of_the_format_that_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    assert cli("memories", "add", "The shed is green", "--agent", "me").code == 0
    out = tmp_path / "desk"
    done = cli("export", "data", "--to", str(out), "--json")
    assert done.code == 0
    assert done.json.keys() == documented("export data").keys()
    assert done.json["path"] == str(out)
    assert done.json["tables"]["memories"] >= 1
    assert {each.suffix for each in out.iterdir()} == {".parquet", ".json"}
    told = cli("export", "data", "--to", str(out), "--format", "csv", "memories", "settings")
    assert told.code == 0
    assert "settings" in told.out
    assert "The shed is green" in (out / "memories.csv").read_text(encoding="utf-8")
    assert json.loads((out / "export.json").read_text())["tables"].keys() == {
        "memories",
        "settings",
    }


def test_tables_that_are_not_there_and_folders_of_others_are_refused(
    cli: Cli, tmp_path: Path
) -> None:
    refused = cli("export", "data", "--to", str(tmp_path / "x"), "vectors")
    assert refused.code == 2
    assert "cost_records" in refused.err
    (tmp_path / "mine.txt").write_text("mine")
    refused = cli("export", "data", "--to", str(tmp_path))
    assert refused.code == 1
    assert "something else in it: mine.txt" in refused.err
