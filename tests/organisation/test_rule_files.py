"""Files of rules: which are found, what is read of them, and what never is."""

import os
from pathlib import Path

import pytest

from synthorg_tui.organisation.project_files import (
    MAX_BYTES,
    FileProblem,
    SourceFile,
    SourceFileKind,
    find_files,
    kind_of_file,
)
from synthorg_tui.organisation.rule_files import BLOCK_BEGIN, BLOCK_END, read_rules
from synthorg_tui.organisation.rule_text import FoundRule
from tests.tables import rows

RULE = "- Never push to main.\n"


def write(root: Path, path: str, text: str | bytes = RULE) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def found(root: Path) -> list[str]:
    return [file.path for file in find_files(root).files]


def reasons(root: Path) -> dict[str, str]:
    return {problem.path: problem.reason for problem in find_files(root).problems}


def read(root: Path, path: str) -> tuple[list[FoundRule], list[str]]:
    """The rules that a file says, and what of it couldn't be read."""
    (file,) = [file for file in find_files(root).files if file.path == path]
    problems: list[FileProblem] = []
    rules = read_rules(root.resolve(), file, problems)
    return rules, [problem.reason for problem in problems]


def texts(rules: list[FoundRule]) -> list[str]:
    return [each.text for each in rules]


@rows(
    "path",
    [
        *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "agents.md", "CONVENTIONS.md"),
        *(".cursorrules", ".windsurfrules", ".clinerules", "packages/web/AGENTS.md"),
        *(".cursor/rules/style.mdc", "docs/.cursor/rules/deep/style.mdc"),
        *(".github/copilot-instructions.md", ".github/instructions/web.instructions.md"),
        *(".clinerules/style.md", ".windsurf/rules/style.md", ".kiro/steering/tech.md"),
        *(".junie/guidelines.md", ".roo/rules-code/style.md", ".claude/CLAUDE.md"),
    ],
)
def test_files_of_rules_are_known_by_their_place(path: str) -> None:
    assert kind_of_file(path) is SourceFileKind.RULES


@rows(
    "path", ["README.md", "docs/guide.md", "cursor/rules/a.mdc", ".cursor/rules/a.py", "claude.txt"]
)
def test_other_files_are_not(path: str) -> None:
    assert kind_of_file(path) is None


def test_files_are_found_in_all_folders_but_those_of_others(tmp_path: Path) -> None:
    for path in ("AGENTS.md", "web/AGENTS.md", "node_modules/x/AGENTS.md", ".git/AGENTS.md"):
        write(tmp_path, path, f"- Use {path}.\n")
    assert found(tmp_path) == ["AGENTS.md", "web/AGENTS.md"]


def test_a_link_to_another_file_of_the_project_is_one_file_with_two_paths(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (file,) = find_files(tmp_path).files
    assert (file.path, file.also) == ("AGENTS.md", ("CLAUDE.md",))


def test_a_link_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "secret.md")
    project = tmp_path / "project"
    write(project, "sub/AGENTS.md")
    (project / "CLAUDE.md").symlink_to("../secret.md")
    (project / "linked").symlink_to(tmp_path)
    assert found(project) == ["sub/AGENTS.md"]
    assert reasons(project) == {"CLAUDE.md": "not read: it is a link that leads out of the project"}


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md", b"- Use\x00this\n")
    write(tmp_path, "CLAUDE.md", b"x" * (MAX_BYTES + 1))
    (tmp_path / "GEMINI.md").symlink_to("nowhere.md")
    os.mkfifo(tmp_path / ".cursorrules")
    assert found(tmp_path) == []
    assert reasons(tmp_path) == {
        "AGENTS.md": "not read: it is no text",
        "CLAUDE.md": "not read: larger than 262.1 kB",
        "GEMINI.md": "not read: the link leads nowhere",
        ".cursorrules": "not read: no plain file",
    }


@rows("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_and_line_ends_make_no_difference(tmp_path: Path, encoding: str) -> None:
    write(tmp_path, "AGENTS.md", "- Écris court.\r\n- Use tabs.\r\n".encode(encoding))
    (rule,), _ = read(tmp_path, "AGENTS.md")
    assert (rule.text, rule.source) == ("Use tabs.", "AGENTS.md#L2")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError):
        find_files(tmp_path / "nowhere")


def test_leading_fields_say_what_a_rule_is_about(tmp_path: Path) -> None:
    write(
        tmp_path,
        ".cursor/rules/web.mdc",
        "---\ndescription: Pages\nglobs: *.tsx\nalwaysApply: false\n---\n- Use hooks.\n",
    )
    (rule,), _ = read(tmp_path, ".cursor/rules/web.mdc")
    assert (rule.source, rule.scope) == (".cursor/rules/web.mdc#L6", "*.tsx")
    assert rule.section == "Pages"


def test_our_own_block_is_never_read_back(tmp_path: Path) -> None:
    block = f"{BLOCK_BEGIN}\n- Never guess.\n{BLOCK_END}\n"
    write(tmp_path, "AGENTS.md", f"- Use tabs.\n{block}- Keep it short.\n")
    rules, _ = read(tmp_path, "AGENTS.md")
    assert [(each.text, each.line) for each in rules] == [
        ("Use tabs.", 1),
        ("Keep it short.", 5),
    ]


def test_a_block_without_an_end_is_told(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md", f"- Use tabs.\n{BLOCK_BEGIN}\n- Never guess.\n")
    rules, problems = read(tmp_path, "AGENTS.md")
    assert texts(rules) == ["Use tabs."]
    assert "line 2 has no end" in problems[0]


def test_imports_are_followed_inside_the_project_only(tmp_path: Path) -> None:
    write(tmp_path, "outside.md")
    project = tmp_path / "project"
    write(project, "docs/style.md", "- Use tabs.\n@../AGENTS.md\n")
    write(
        project,
        "AGENTS.md",
        "- Keep it short.\n\nSee @docs/style.md and @../outside.md and @~/mine.md.\n"
        "`@docs/none.md`, @someone and me@docs.md\n",
    )
    rules, problems = read(project, "AGENTS.md")
    assert [each.source for each in rules] == ["AGENTS.md#L1", "docs/style.md#L1"]
    assert problems == [
        "@../outside.md not read: it is a link that leads out of the project",
        "@~/mine.md not read: it is outside of the project",
    ]


def test_hostile_fields_do_not_stop_the_reading(tmp_path: Path) -> None:
    text = "---\n" + "a: &a [*a]\n" * 50 + "---\n- Use tabs.\n"
    file = SourceFile("AGENTS.md", SourceFileKind.RULES, text)
    assert texts(read_rules(tmp_path, file, [])) == ["Use tabs."]
