"""Themes that a person wrote: what is read of their files, and what is said of wrong ones."""

import os
from pathlib import Path

from synthorg_tui.settings.theme_files import COLOURS, MAX_FILES, read_themes
from tests.tables import rows

GOOD = 'name: sea\ndark: false\nprimary: "#123456"\nerror: "#f00"\n'


def write(folder: Path, text: str, name: str = "sea.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_file_gives_a_theme(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    themes, problems = read_themes(tmp_path)
    assert not problems
    assert [(each.name, each.dark) for each in themes] == [("sea", False)]
    assert themes[0].colours == {"primary": "#123456", "error": "#f00"}


def test_a_theme_is_dark_and_named_like_its_file_unless_it_says_otherwise(tmp_path: Path) -> None:
    write(tmp_path, 'primary: "#123456"\n', "deep-sea.yaml")
    (theme,) = read_themes(tmp_path).themes
    assert (theme.name, theme.dark) == ("deep-sea", True)


def test_without_a_folder_there_are_no_themes(tmp_path: Path) -> None:
    assert read_themes(tmp_path / "themes") == ((), ())


@rows(
    ("text", "said"),
    [
        ("primary: #123456\n", ":1: primary: null isn't allowed; a colour in quotes is"),
        ('primary: "#12345"\n', ':1: primary: "#12345" isn\'t allowed; a colour in quotes'),
        ('primary: "#123456"\ndark: maybe\n', ':2: dark: "maybe" isn\'t allowed; true or false is'),
        ('primary: "#123456"\nprimry: x\n', ':2: primry: "x" isn\'t allowed; the fields are name'),
        ("dark: true\n", ": primary: null isn't allowed"),
        ("", ": primary: null isn't allowed"),
        ('primary: "#123456"\nname: "[b]x"\n', ':2: name: "[b]x" isn\'t allowed; up to 40 small'),
        (f'primary: "#123456"\nname: {"a" * 41}\n', "isn't allowed; up to 40 small"),
        ("primary: [\n", "sea.yaml:"),
        ("- a\n", "sea.yaml:1"),
    ],
)
def test_a_wrong_file_is_described_and_left_out(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    write(tmp_path, 'primary: "#123456"\n', "zoo.yaml")
    themes, problems = read_themes(tmp_path)
    assert [each.name for each in themes] == ["zoo"]
    assert len(problems) == 1
    assert str(path) in problems[0]
    assert said in problems[0]


def test_of_two_themes_with_one_name_the_first_holds(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD, "tide.yaml")
    themes, (problem,) = read_themes(tmp_path)
    assert [each.path.name for each in themes] == ["sea.yaml"]
    assert "tide.yaml: name: sea is the name of sea.yaml" in problem


def test_pipes_folders_and_unreadable_text_are_no_themes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").mkdir()
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "d.yaml").symlink_to(tmp_path / "nowhere")
    themes, problems = read_themes(tmp_path)
    assert not themes
    assert len(problems) == 4


def test_what_a_file_says_is_told_as_safe_text_of_bounded_length(tmp_path: Path) -> None:
    write(tmp_path, f'primary: "#123456"\n"{"x" * 5000}": 1\n', "a\x1b[31m.yaml")
    (problem,) = read_themes(tmp_path).problems
    assert "\x1b" not in problem
    assert len(problem) < 500 + len(str(tmp_path))


def test_no_more_files_are_read_than_a_person_writes(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        write(tmp_path, 'primary: "#123456"\n', f"theme-{number}.yaml")
    assert len(read_themes(tmp_path).themes) == MAX_FILES


def test_every_colour_of_a_theme_can_be_set(tmp_path: Path) -> None:
    write(tmp_path, "".join(f'{name}: "#abcdef"\n' for name in COLOURS))
    (theme,) = read_themes(tmp_path).themes
    assert set(theme.colours) == set(COLOURS)
