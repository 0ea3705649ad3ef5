"""``proposals edit``: one file in the editor decides, once the person at the terminal agrees."""

import json
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus
from synthorg_tui.persistence import REVIEW_DIR
from tests.cli.cli_kit import documented
from tests.cli.test_proposals_cli import ID, Desk, desk, item
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal, without_marks, without_terminal

__all__ = ["desk"]

OTHER = "lesson-9999456789ab"


def editor(tmp_path: Path, change: str) -> dict[str, str]:
    """The environment with an editor that changes the file's ``text`` as this Python says."""
    script = tmp_path / "editor.py"
    script.write_text(
        f"import re, sys\ntext = open(sys.argv[-1]).read()\n{change}\n"
        "open(sys.argv[-1], 'w').write(text)\n"
    )
    return without_marks(EDITOR=f"python3 {script}", VISUAL="")


@files_only
def test_a_file_that_cannot_be_read_is_opened_again_and_then_decides(
    desk: Desk, tmp_path: Path
) -> None:
    desk.add(item(), item(OTHER, title="Something else", action="Do something else"))
    seen = tmp_path / "seen"
    change = (
        f"import os, stat\nwith open({str(seen)!r}, 'w') as told:\n"
        f"    told.write(sys.argv[-1] + ' ' + oct(os.stat(sys.argv[-1]).st_mode & 0o777))\n"
        f"bad = 'decision: approve' in text\n"
        f"text = text.replace('decision: approve', 'decision: hm') if bad else re.sub(\n"
        f"  r'=== {OTHER} .*?(?==== |\\Z)', '', text.replace('hm', 'approve'), flags=re.S)"
    )
    ran = at_terminal(
        desk.program("edit", "--json"),
        answers={"Open it again?": "\n", "Type decide:": "decide\n"},
        env=editor(tmp_path, change),
        piped=True,
    )
    assert "hm is none of approve, reject and later" in ran.screen
    assert "1 approved, 1 rejected" in ran.screen
    told = json.loads(ran.out)
    assert told.keys() == documented("proposals edit").keys()
    assert {each["id"]: each["decision"] for each in told["decided"]} == {
        ID: "approved",
        OTHER: "rejected",
    }
    assert (ran.code, desk.status()) == (0, ApprovalStatus.APPROVED)
    path, mode = seen.read_text().split()
    assert mode == "0o600"
    assert Path(path).is_relative_to(desk.directory)
    assert not (desk.directory / REVIEW_DIR).exists()


@files_only
def test_what_was_not_agreed_to_is_kept_in_private_until_the_next_time(
    desk: Desk, tmp_path: Path
) -> None:
    desk.add(item())
    refused = {"Type decide:": "no\n"}
    env = editor(tmp_path, "text = text.replace('decision: approve', 'decision: reject')")
    ran = at_terminal(desk.program("edit"), answers=refused, env=env)
    (kept,) = (desk.directory / REVIEW_DIR).rglob("*.md")
    assert "decision: reject" in kept.read_text()
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert (desk.status(), ran.code == 0) == (ApprovalStatus.PENDING, False)
    at_terminal(desk.program("edit"), env=editor(tmp_path, "text = ''"))
    assert not (desk.directory / REVIEW_DIR).exists()


@files_only
@pytest.mark.parametrize("marks", [{}, {"CLAUDECODE": "1"}])
def test_without_a_person_no_editor_is_opened_and_the_trail_says_so(
    desk: Desk, tmp_path: Path, marks: dict[str, str]
) -> None:
    desk.add(item())
    seen = tmp_path / "seen"
    env = editor(tmp_path, f"open({str(seen)!r}, 'w')") | marks
    program = desk.program("edit", ID)
    ran = at_terminal(program, env=env) if marks else without_terminal(program, env=env)
    assert ran.code != 0
    assert not seen.exists()
    assert desk.status() is ApprovalStatus.PENDING
    assert len(desk.refusals()) == 1
