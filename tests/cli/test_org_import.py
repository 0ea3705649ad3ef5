"""``org import`` as a person uses it: shown to anyone, applied at a terminal only."""

import json
from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal

PROGRAM = ("-c", "import sys; from synthorg_tui.cli import main; sys.exit(main())")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path)
    return runner(tmp_path / "data", capsys)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("## Git\n\n- Never push to main.\n- Write short subjects.\n")
    (folder / "GEMINI.md").symlink_to("/etc/hostname")
    return folder


def test_without_files_it_says_so(cli: Cli, tmp_path: Path) -> None:
    ran = cli("org", "import", str(tmp_path))
    assert (ran.code, "No files of rules or decisions" in ran.out) == (0, True)
    assert cli("org", "import", str(tmp_path / "nowhere")).code == 1


def test_a_plan_is_shown_and_nothing_is_written(cli: Cli, project: Path) -> None:
    ran = cli("org", "import", str(project))
    assert "new  core_policy  L3  Git" in ran.out
    assert "1 file read, 0 unchanged, 2 new; 2 chosen." in ran.out
    assert "GEMINI.md: not read: it is a link that leads out of the project" in ran.err
    shown = cli("org", "import", str(project), "--only", "convention", "--json").json
    example = documented("org import")
    assert shown.keys() == example.keys()
    assert shown["changes"][0].keys() == example["changes"][0].keys()
    assert [change["chosen"] for change in shown["changes"]] == [False, True]
    assert shown["applied"] is None


def test_an_unknown_kind_is_refused(cli: Cli, project: Path) -> None:
    with pytest.raises(SystemExit):
        cli("org", "import", str(project), "--only", "everything")


@files_only
def test_a_plan_is_applied_by_a_person_only(
    cli: Cli, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (*PROGRAM, "--data-dir", str(tmp_path / "data"), "org", "import", str(project))
    declined = at_terminal((*program, "--apply"), answers={"[y/N]": "n\n"})
    assert declined.code == 130
    applied = at_terminal((*program, "--apply", "--json"), answers={"[y/N]": "y\n"})
    assert applied.code == 0
    report = json.loads(applied.screen[applied.screen.index("{") :])
    assert report["applied"] == {"added": 2, "changed": 0, "retracted": 0}
    assert "2 unchanged; 0 chosen." in cli("org", "import", str(project), "--apply").out

    (project / "AGENTS.md").write_text("- Use tabs.\n")
    monkeypatch.setenv("CLAUDECODE", "1")
    ran = cli("org", "import", str(project), "--apply")
    assert (ran.code, "only a person decides" in ran.err) == (1, True)
    assert "2 gone" in cli("org", "import", str(project)).out
