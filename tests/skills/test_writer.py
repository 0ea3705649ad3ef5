"""Writing skills: at once or not at all, and never outside the root."""

from pathlib import Path

import pytest

from synthorg_tui.skills.disk import remove_skill, skill_path, write_skill
from synthorg_tui.skills.document import SkillPathError, SkillWriteError
from tests.tables import rows

LEFTOVER = ".SKILL.md.999999999-00000000.synthorg-tmp"
"""What a process of a number that none has left when it was killed while it wrote."""


def test_a_skill_is_written_into_a_folder_of_its_name(tmp_path: Path) -> None:
    path = write_skill(tmp_path / "new" / "root", "push", "text é\n")
    assert path == tmp_path / "new" / "root" / "push" / "SKILL.md"
    assert path.read_bytes() == "text é\n".encode()


def test_writing_again_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_skill(tmp_path, "push", "one")
    path = write_skill(tmp_path, "push", "two")
    assert path.read_text() == "two"
    assert [each.name for each in path.parent.iterdir()] == ["SKILL.md"]


def test_what_a_killed_write_left_is_cleared(tmp_path: Path) -> None:
    path = write_skill(tmp_path, "push", "one")
    path.with_name(LEFTOVER).write_text("half")
    write_skill(tmp_path, "push", "two")
    assert [each.name for each in path.parent.iterdir()] == ["SKILL.md"]


@rows("name", ["", ".", "..", "../x", "a/b", "/etc", "A", "a\0", "a--b"])
def test_only_slugs_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(SkillPathError):
        write_skill(tmp_path / "root", name, "text")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (root / "push").symlink_to(outside)
    with pytest.raises(SkillPathError, match="no plain folder"):
        write_skill(root, "push", "text")
    assert not list(outside.iterdir())


def test_a_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep")
    (tmp_path / "root" / "push").mkdir(parents=True)
    (tmp_path / "root" / "push" / "SKILL.md").symlink_to(secret)
    for act in (
        lambda: write_skill(tmp_path / "root", "push", "x"),
        lambda: remove_skill(tmp_path / "root", "push"),
    ):
        with pytest.raises(SkillPathError, match="no plain file"):
            act()
    assert secret.read_text() == "keep"


def test_a_temporary_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep")
    (tmp_path / "push").mkdir()
    (tmp_path / "push" / LEFTOVER).symlink_to(secret)
    write_skill(tmp_path, "push", "text")
    assert secret.read_text() == "keep"


def test_a_refusal_of_the_file_system_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file, not a folder")
    with pytest.raises(SkillWriteError, match="can't be reached"):
        write_skill(tmp_path / "root", "push", "text")


def test_removing_takes_the_folder_along_when_it_is_empty(tmp_path: Path) -> None:
    write_skill(tmp_path, "push", "text")
    assert remove_skill(tmp_path, "push")
    assert not list(tmp_path.iterdir())


def test_removing_leaves_other_files(tmp_path: Path) -> None:
    path = write_skill(tmp_path, "push", "text")
    note = path.with_name("notes.md")
    note.write_text("mine")
    assert remove_skill(tmp_path, "push")
    assert note.read_text() == "mine"


def test_removing_what_is_not_there_says_so(tmp_path: Path) -> None:
    assert not remove_skill(tmp_path, "push")


def test_the_path_of_a_skill_is_in_the_root(tmp_path: Path) -> None:
    assert skill_path(tmp_path, "push") == tmp_path / "push" / "SKILL.md"
