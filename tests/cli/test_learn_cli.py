"""``learn`` on a real store: what an import proposed, and what learning says of it later."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synthorg_tui.cli import main
from tests.cli.cli_kit import DOCS, SAMPLE, move_home

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        assert main(["import", str(SAMPLE), "--data-dir", str(home / "desk")]) == 0
        yield home / "desk"


@pytest.fixture
def cli(store: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    def run(*args: str) -> tuple[int, str, str]:
        code = main(["--data-dir", str(store), *args])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def test_an_import_proposes_lessons_and_learning_knows_them(cli: Cli) -> None:
    waiting = json.loads(cli("proposals", "list", "--json")[1])
    code, out, _ = cli("learn", "--no-model", "--json")
    lessons = json.loads(out)["lessons"]
    assert code == 0
    assert {each["verdict"] for each in lessons} == {"known"}
    assert {each["id"] for each in waiting} == {each["id"] for each in lessons} != set()


def test_learning_is_told_in_words(cli: Cli) -> None:
    code, out, _ = cli("learn", "--no-model")
    assert code == 0
    assert "3 sessions read" in out
    assert "known · seen in 1 session · confidence" in out
    assert "Run `git push` with `--set-upstream origin <branch>`" in out


def test_without_sessions_there_is_nothing_to_learn(cli: Cli, tmp_path: Path) -> None:
    code, out, err = cli("learn", "--data-dir", str(tmp_path))
    assert code == 0
    assert "0 sessions read" in out
    assert "Nothing went wrong there" in err


def test_the_documented_fields_are_those_that_are_printed(cli: Cli) -> None:
    printed = json.loads(cli("learn", "--no-model", "--json")[1])
    section = DOCS.read_text(encoding="utf-8").partition("### learn\n")[2].partition("\n## ")[0]
    documented = json.loads(section.partition("```json\n")[2].partition("```")[0])
    assert documented.keys() == printed.keys()
    assert documented["lessons"][0].keys() == printed["lessons"][0].keys()
