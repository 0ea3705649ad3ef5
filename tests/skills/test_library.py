"""What the library finds in its roots, what it refuses to read, and which skill wins."""

import os
import stat
from pathlib import Path

import pytest

from synthorg_tui.core.files import MAX_FILE_BYTES
from synthorg_tui.skills import SkillsConfig, disk, library
from synthorg_tui.skills.document import RootScope, Severity, SkillFile, SkillRoot
from synthorg_tui.skills.library import SkillLibrary, skill_roots
from tests.odd_files import KINDS, NAMES, put_kind, put_odd_kinds, put_odd_names
from tests.tables import rows

TEXT = '---\nname: {name}\ndescription: "Use when {why}."\n---\n\nDo it.\n'


def put(root: Path, name: str, why: str = "asked") -> Path:
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(name=name, why=why))
    return path


def own(path: Path) -> SkillLibrary:
    return SkillLibrary([SkillRoot(path, RootScope.OWN)])


def only(files: tuple[SkillFile, ...]) -> SkillFile:
    assert len(files) == 1, files
    return files[0]


def refusal(file: SkillFile) -> str:
    assert file.document is None
    assert file.text == ""
    return next(each.message for each in file.findings if each.severity is Severity.ERROR)


def test_skills_are_found_by_name(tmp_path: Path) -> None:
    put(tmp_path, "b")
    put(tmp_path, "a")
    assert [file.name for file in own(tmp_path).scan()] == ["a", "b"]


def test_a_skill_comes_with_its_bytes_and_their_hash(tmp_path: Path) -> None:
    path = put(tmp_path, "push")
    file = only(own(tmp_path).scan())
    assert (file.path, file.text, file.findings) == (path, path.read_text(), ())
    assert file.document is not None
    assert len(file.sha256) == 64


def test_a_root_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    survey = own(tmp_path / "none").survey()
    assert survey.files == ()
    assert not survey.roots[0].exists


def test_a_root_that_is_a_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    state = own(path).survey().roots[0]
    assert not state.is_read
    assert "Not a directory" in state.problem


def test_folders_without_a_skill_and_hidden_ones_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.md").write_text("")
    put(tmp_path, ".hidden")
    assert own(tmp_path).scan() == ()


def test_an_invalid_skill_is_listed_with_what_is_wrong(tmp_path: Path) -> None:
    put(tmp_path, "push").write_text("no front matter")
    file = only(own(tmp_path).scan())
    assert file.document is None
    assert file.text == "no front matter"
    assert file.findings


def test_a_name_in_another_case_is_read_and_told(tmp_path: Path) -> None:
    path = put(tmp_path, "push")
    path.rename(path.with_name("skill.md"))
    file = only(own(tmp_path).scan())
    assert file.document is not None
    assert "called skill.md" in file.findings[0].message


@rows(("size", "is_read"), [(MAX_FILE_BYTES, True), (MAX_FILE_BYTES + 1, False)])
def test_a_file_has_at_most_a_megabyte(tmp_path: Path, size: int, is_read: bool) -> None:
    path = put(tmp_path, "push")
    path.write_text(path.read_text().ljust(size, "x"))
    file = only(own(tmp_path).scan())
    assert (file.document is not None) is is_read
    assert is_read or "larger than 1 MB" in refusal(file)


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path) -> None:
    path = put(tmp_path, "push")
    path.write_bytes(path.read_bytes() + b"fine\n\xff\xfe")
    file = only(own(tmp_path).scan())
    assert "is not UTF-8" in refusal(file)
    assert file.findings[0].line == 8
    assert file.sha256


def test_a_folder_linked_from_outside_is_not_read(tmp_path: Path) -> None:
    put(tmp_path / "outside", "secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "alias").symlink_to(tmp_path / "outside" / "secret")
    assert "link to outside" in refusal(only(own(tmp_path / "root").scan()))


def test_a_file_linked_from_outside_is_not_read(tmp_path: Path) -> None:
    secret = put(tmp_path / "outside", "secret")
    (tmp_path / "root" / "push").mkdir(parents=True)
    (tmp_path / "root" / "push" / "SKILL.md").symlink_to(secret)
    assert "a link, which isn't followed" in refusal(only(own(tmp_path / "root").scan()))


def test_a_link_to_a_skill_of_another_root_is_listed_once(tmp_path: Path) -> None:
    path = put(tmp_path / "agents", "push")
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "push").symlink_to(path.parent)
    roots = [SkillRoot(tmp_path / name, RootScope.USER) for name in ("claude", "agents")]
    assert only(SkillLibrary(roots).scan()).path == path


def test_links_that_lead_nowhere_or_in_a_circle_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    assert own(tmp_path).scan() == ()


def test_a_root_may_be_a_link_itself(tmp_path: Path) -> None:
    put(tmp_path / "dotfiles", "push")
    (tmp_path / "root").symlink_to(tmp_path / "dotfiles")
    assert only(own(tmp_path / "root").scan()).document is not None


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "push").mkdir()
    os.mkfifo(tmp_path / "push" / "SKILL.md")
    assert "no plain file" in refusal(only(own(tmp_path).scan()))


def test_a_folder_called_like_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "push" / "SKILL.md").mkdir(parents=True)
    assert "no plain file" in refusal(only(own(tmp_path).scan()))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    put(tmp_path, "push").chmod(0)
    assert "Permission denied" in refusal(only(own(tmp_path).scan()))


def test_a_folder_whose_name_is_no_text_is_passed_over(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).mkdir()
    assert own(tmp_path).scan() == ()


def test_odd_names_and_kinds_of_files_hide_no_skill(tmp_path: Path) -> None:
    put(tmp_path, "push")
    put_odd_names(tmp_path, "", b"no folder")
    put_odd_kinds(tmp_path, "")
    for kind in KINDS:
        put_kind(tmp_path / f"with-{kind}" / "SKILL.md", kind)
    for name in NAMES:
        path = tmp_path / os.fsdecode(b"skill-" + name) / "SKILL.md"
        path.parent.mkdir()
        path.write_text(TEXT.format(name="push", why="asked"))
    skills = {file.name: file for file in own(tmp_path).scan()}
    assert skills["push"].document is not None
    assert {f"with-{kind}" for kind in KINDS} <= skills.keys()
    assert not any("\udcff" in name for name in skills)


def test_a_root_whose_links_lead_in_a_circle_hides_no_other(tmp_path: Path) -> None:
    loop, user = tmp_path / "loop", tmp_path / "user"
    loop.symlink_to("loop")
    put(user, "push")
    roots = skill_roots(SkillsConfig(user_roots=(loop, user)), own=tmp_path / "own")
    survey = SkillLibrary(roots).survey()
    assert [file.name for file in survey.files] == ["push"]
    assert "symbolic links" in survey.roots[0].problem


def test_only_so_many_folders_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAX_SKILLS", 2)
    for name in "abc":
        put(tmp_path, name)
    survey = own(tmp_path).survey()
    assert [file.name for file in survey.files] == ["a", "b"]
    assert survey.roots[0].problem == "1 more folders aren't looked at"


def test_a_change_within_one_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    skills = own(tmp_path)
    path = put(tmp_path, "push", why="one")
    before = path.stat()
    assert "one" in only(skills.scan()).text
    path.write_text(path.read_text().replace("one", "two"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "two" in only(skills.scan()).text


def test_a_file_at_rest_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_SETTLED_NS", -10_000_000_000)
    skills = own(tmp_path)
    put(tmp_path, "push")
    assert only(skills.scan()) is only(skills.scan())


def test_a_project_s_skill_shadows_the_user_s_and_ours(tmp_path: Path) -> None:
    project, user, ours = (tmp_path / name for name in ("project", "user", "ours"))
    for root in (ours, user, project):
        put(root, "push")
    roots = [
        SkillRoot(ours, RootScope.OWN),
        SkillRoot(user, RootScope.USER),
        SkillRoot(project, RootScope.PROJECT, tmp_path),
    ]
    files = SkillLibrary(roots).scan()
    winner = project / "push" / "SKILL.md"
    assert [file.root.path for file in files] == [project, user, ours]
    assert [file.shadowed_by for file in files] == [None, winner, winner]


def test_an_unusable_skill_shadows_nothing(tmp_path: Path) -> None:
    put(tmp_path / "user", "push").write_text("")
    put(tmp_path / "ours", "push")
    roots = [
        SkillRoot(tmp_path / "user", RootScope.USER),
        SkillRoot(tmp_path / "ours", RootScope.OWN),
    ]
    assert [file.shadowed_by for file in SkillLibrary(roots).scan()] == [None, None]


def test_projects_do_not_shadow_each_other(tmp_path: Path) -> None:
    roots = [SkillRoot(tmp_path / name, RootScope.PROJECT, tmp_path / name) for name in ("a", "b")]
    for root in roots:
        put(root.path, "push")
    assert [file.shadowed_by for file in SkillLibrary(roots).scan()] == [None, None]


def test_the_roots_of_the_settings_come_in_order_of_precedence(tmp_path: Path) -> None:
    roots = skill_roots(
        SkillsConfig(), own=tmp_path / "data", projects=[tmp_path / "p"], home=tmp_path / "home"
    )
    assert [(root.path.relative_to(tmp_path).as_posix(), root.scope.value) for root in roots] == [
        ("p/.agents/skills", "project"),
        ("p/.claude/skills", "project"),
        ("home/.agents/skills", "user"),
        ("home/.claude/skills", "user"),
        ("data", "own"),
    ]


def test_a_folder_that_is_two_roots_is_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    roots = skill_roots(SkillsConfig(), own=home / ".claude" / "skills", projects=[home], home=home)
    assert [root.scope for root in roots] == [RootScope.PROJECT, RootScope.PROJECT]


def test_a_folder_can_become_another_s_root(tmp_path: Path) -> None:
    put(tmp_path, "push")
    skills = own(tmp_path)
    assert only(skills.scan()).root.scope is RootScope.OWN
    skills.look_in([SkillRoot(tmp_path, RootScope.USER)])
    assert only(skills.scan()).root.scope is RootScope.USER


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = put(tmp_path, "push")
    path.chmod(stat.S_IRUSR)
    before = path.stat()
    own(tmp_path).scan()
    assert path.stat().st_mtime_ns == before.st_mtime_ns
