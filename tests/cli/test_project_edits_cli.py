"""``projects merge``, ``split``, ``rename`` and ``undo``: shown first, made when agreed, undone."""

from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, move_home, runner

QUESTION = ("digest", "which port has the broker", "--agent", "ole", "--project")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """A program with a store in which two projects are known, ``oldname`` and ``newname``."""
    move_home(monkeypatch, tmp_path / "home")
    run = runner(tmp_path / "desk", capfd)
    for name, port in (("oldname", 5673), ("newname", 7788)):
        (tmp_path / name).mkdir()
        text = f"The broker of {name} listens on port {port}."
        run("memories", "add", "--agent", "ole", "--project", str(tmp_path / name), text)
    return run


def test_a_merge_says_what_moves_and_changes_nothing_before_it_is_agreed(cli: Cli) -> None:
    told = cli("projects", "merge", "newname", "oldname", "--dry-run")
    assert "oldname becomes part of newname: 1 memory, 0 sessions of 1 folder" in told.err
    assert told.out == "Nothing was changed.\n"
    assert cli("projects", "merge", "newname", "oldname").code == 2
    assert "5673" not in cli(*QUESTION, "newname").out


def test_merged_projects_are_given_as_one_and_apart_again_after_undo(cli: Cli) -> None:
    done = cli("projects", "merge", "newname", "oldname", "--yes", "--json").json
    assert (done["memories"], done["done"]) == (1, True)
    for name in ("newname", "oldname"):
        assert "5673" in cli(*QUESTION, name).out
        assert "7788" in cli(*QUESTION, name).out
    assert cli("projects", "undo").out == "Undone: merge of newname, oldname.\n"
    assert "5673" not in cli(*QUESTION, "newname").out
    assert cli("projects", "undo").out == "Nothing to undo.\n"


def test_a_folder_is_split_off_and_a_later_merge_holds_again(cli: Cli, tmp_path: Path) -> None:
    merge = ("projects", "merge", "newname", "oldname", "--yes")
    cli(*merge)
    split = cli("projects", "split", "newname", str(tmp_path / "oldname"), "--yes")
    assert split.code == 0
    assert "5673" not in cli(*QUESTION, "newname").out
    cli(*merge)
    assert "5673" in cli(*QUESTION, "newname").out


def test_a_project_is_called_as_a_person_says(cli: Cli) -> None:
    assert cli("projects", "rename", "oldname", "brokerage", "--yes").code == 0
    assert "5673" in cli(*QUESTION, "brokerage").out
    assert "brokerage" in cli("search", "broker 5673").out


def test_what_makes_no_sense_is_refused_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    for words, reason in (
        (("merge", "newname", "newname"), "newname is one project already"),
        (("merge", "newname", "oldnam"), "Did you mean oldname?"),
        (("split", "newname", str(tmp_path)), "is no folder of newname"),
        (("split", "newname", str(tmp_path / "newname")), "has no folder but this one"),
        (("rename", "newname", "oldname"), "another project is called oldname"),
        (("rename", "newname", "a/b"), "none of them / or"),
    ):
        refused = cli("projects", *words, "--yes")
        assert refused.code != 0, words
        assert reason in refused.err, words
