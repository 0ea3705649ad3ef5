"""What ``--project`` and ``--agent`` mean to each command."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, move_home, runner
from tests.ingest import transcript_kit


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """A program with a store of its own."""
    move_home(monkeypatch, tmp_path / "home")
    return runner(tmp_path / "desk", capfd)


@pytest.fixture
def place(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which the project ``shop`` is known, and its folder as the current one."""
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    text = "The broker of the shop listens on port 5673."
    cli("memories", "add", "--agent", "ole", "--project", str(shop), text)
    monkeypatch.chdir(shop / "src")
    return shop


def commands(project: str) -> list[tuple[str, ...]]:
    option = ("--project", project)
    return [
        ("digest", "which port has the broker", "--agent", "ole", *option),
        ("search", "which port has the broker", *option, "--json"),
        ("memories", "list", *option),
        ("sessions", "list", *option),
        ("proposals", "list", *option),
        ("org", "list", *option),
        ("org", "search", "port", *option),
        ("projects", "show", project),
    ]


def test_a_name_and_a_path_are_the_same_to_every_command(cli: Cli, place: Path) -> None:
    for named, path in zip(commands("shop"), commands(str(place)), strict=True):
        if named[0] == "projects":
            continue  # its page comes with a session
        one, other = cli(*named), cli(*path)
        texts = [re.sub(r'"took_ms": .*', "", each.out) for each in (one, other)]
        assert (one.code, texts[0]) == (0, texts[1]), named


def test_an_unknown_project_is_refused_with_the_nearest_names(cli: Cli, place: Path) -> None:
    for command in commands("shoop"):
        refused = cli(*command)
        assert (refused.code, refused.out) == (1 if command[0] == "projects" else 2, ""), command
        assert "no project is 'shoop'" in refused.err, command
        if command[0] != "projects":
            assert "shop" in refused.err, command


def test_a_digest_finds_a_project_by_name_from_anywhere(
    cli: Cli, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "5673" in cli("digest", "port of the broker", "--agent", "ole", "--project", "shop").out


def test_a_digest_in_no_project_says_for_which_it_answers_and_who_holds_more(
    cli: Cli, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("memories", "add", "--agent", "ole", "--project", str(tmp_path / "mill"), "Mills grind.")
    monkeypatch.chdir(tmp_path)
    told = cli("digest", "port of the broker", "--agent", "ole").err
    assert "this folder is no known project: as in" in told
    assert "other projects hold more (" in told
    assert "shop 1" in told


def test_the_agent_may_be_left_out_where_one_is_the_only_or_the_last(
    cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "5673" in cli("digest", "port of the broker").out
    cli("memories", "add", "--agent", "mia", "Mills grind.")
    assert "5673" in cli("digest", "port of the broker").out
    monkeypatch.chdir(place.parent)
    refused = cli("digest", "port of the broker")
    assert refused.code == 2
    assert "--agent is needed" in refused.err
    assert "One of mia, ole." in refused.err


def test_an_agent_without_memories_is_not_asked_for_its_digest(
    cli: Cli, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("memories", "add", "--agent", "mia", "Mills grind.")
    monkeypatch.setattr(transcript_kit, "START", datetime(2100, 1, 1, tzinfo=UTC))
    session = transcript_kit.CodexTranscript(cwd=str(place)).message("user", "hi")
    cli("import", str(session.write(tmp_path / "rollout-1.jsonl")))
    assert "5673" in cli("digest", "port of the broker").out


def test_a_note_by_hand_may_be_of_a_folder_that_is_not_known_yet(cli: Cli, tmp_path: Path) -> None:
    add = ("memories", "add", "--agent", "ole", "Mills grind.", "--project")
    assert cli(*add, str(tmp_path / "mill")).code == 0
    assert cli(*add, "no-such-name").code == 2
