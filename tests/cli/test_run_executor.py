"""``run`` with the agent of another: what a person reads of one that wrote into git's files."""

from pathlib import Path

from synthorg_tui.runtime.executors.patches import PATCH_DIR
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal, without_marks
from tests.runtime.executors.client_kit import CODEX_RUN, place

ATTACK = """
git config filter.x.clean 'touch RAN'
echo '* filter=x' > .gitattributes; echo two > readme.txt
rm .git; mkdir -p .git/objects .git/refs; echo 'ref: refs/heads/main' > .git/HEAD
printf '[core]\\nrepositoryformatversion = 0\\n[filter "y"]\\nclean = touch RAN\\n' > .git/config
"""


@files_only
def test_a_person_reads_what_was_written_for_git_and_none_of_it_ran(tmp_path: Path) -> None:
    where, ran = place(tmp_path), tmp_path / "ran"
    attack = ATTACK.replace("RAN", str(ran))
    where.install("codex", CODEX_RUN[0], ("run", attack), *CODEX_RUN[1:])
    data = tmp_path / "data"
    words = "run", "Tidy up.", "--agent", "builder", "--executor", "codex", "--data-dir", str(data)
    done = at_terminal(
        (
            "-m",
            "synthorg_tui",
            *words,
            "--workspace",
            str(where.project),
            "--profile",
            "unattended",
        ),
        env=without_marks(**where.environ),
        answers={"Run it?": "y\n"},
    )
    screen = "".join(done.screen.split())
    assert done.code == 0
    assert "refused.gitofthecopy,whichwasreplacedbyafolder" in screen
    assert f"config:filter.y.clean=touch{ran}" in screen
    assert f"git'sownfilesin{where.project}/.gitchangedwhileitran" in screen
    assert f"config:filter.x.clean=touch{ran}" in screen
    assert not ran.exists()
    (patch,) = (data / PATCH_DIR).iterdir()
    assert "+two" in patch.read_text()
