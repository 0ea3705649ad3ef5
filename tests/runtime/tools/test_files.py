"""Tools for files: what they answer, what they refuse, and that a search has an end."""

import os
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.executions.commands import call_intent
from synthorg_tui.memory.tools import ToolRegistry
from synthorg_tui.runtime.invoker import Invocation, ToolInvoker
from synthorg_tui.runtime.models import RunProfile
from synthorg_tui.runtime.tools import files, workspace_tools
from tests.runtime.tool_kit import use

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one = 1\ntwo = 2\n")
    (tmp_path / "src" / "b.ts").write_text("const two = 2\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "c.ts").write_text("const two = 2\n")
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


async def call(workspace: Path, name: str, **arguments: Any) -> Invocation:
    tools = ToolRegistry(workspace_tools(workspace, RunProfile.UNATTENDED))
    return await ToolInvoker(tools, RunProfile.UNATTENDED).invoke(use(name, **arguments))


def said(found: Invocation) -> list[str]:
    return found.content.splitlines()[1:-1]


def test_a_reading_run_has_tools_that_read_alone(workspace: Path) -> None:
    names = [tool.name for tool in workspace_tools(workspace, RunProfile.READ_ONLY)]
    assert names == ["read_file", "list_files", "search_files"]


def test_intents_of_calls_are_those_of_other_agents() -> None:
    assert call_intent(files.READ_FILE, {"path": "a.py"}) == "read a.py"
    assert call_intent(files.WRITE_FILE, {"path": "a.py", "content": ""}) == "write a.py"
    assert call_intent(files.EDIT_FILE, {"path": "a.py"}) == "edit a.py"
    assert call_intent(files.SEARCH_FILES, {"pattern": "x"}) == "search_files x"


class TestReading:
    async def test_a_file_is_read_whole_or_by_lines(self, workspace: Path) -> None:
        assert said(await call(workspace, "read_file", path="src/a.py"))[:2] == [
            "one = 1",
            "two = 2",
        ]
        part = said(await call(workspace, "read_file", path="src/a.py", offset=1, limit=1))
        assert part[0] == "one = 1"
        assert part[-1] == "[lines 1 to 1 of 2: go on with offset 2]"

    async def test_a_place_behind_the_end_is_an_error(self, workspace: Path) -> None:
        found = await call(workspace, "read_file", path="src/a.py", offset=3)
        assert found.is_error
        assert said(found) == ["the file has 2 lines; 3 is behind its end"]

    async def test_secrets_in_files_are_not_shown(self, workspace: Path) -> None:
        (workspace / ".env").write_text(f"GITHUB_TOKEN={SECRET}\n")
        found = await call(workspace, "read_file", path=".env")
        assert SECRET not in found.content

    @pytest.mark.parametrize("path", ["link.txt", "pipe", "../x", "src", "none"])
    async def test_what_is_no_plain_file_inside_is_refused(
        self, workspace: Path, path: str
    ) -> None:
        found = await call(workspace, "read_file", path=path)
        assert found.is_error
        assert "root:" not in found.content


class TestSearching:
    async def test_files_are_listed_without_installed_packages(self, workspace: Path) -> None:
        found = said(await call(workspace, "list_files"))
        assert "src/a.py" in found
        assert not [path for path in found if path.startswith("node_modules")]

    @pytest.mark.parametrize(
        ("pattern", "paths"),
        [
            ("*.py", ["src/a.py"]),
            ("src/*", ["src/a.py", "src/b.ts"]),
            ("**/*.ts", ["src/b.ts"]),
            ("[ab].ts", ["src/b.ts"]),
        ],
    )
    async def test_a_glob_chooses_files(
        self, workspace: Path, pattern: str, paths: list[str]
    ) -> None:
        assert said(await call(workspace, "list_files", pattern=pattern)) == paths

    async def test_lines_are_found_in_plain_files_alone(self, workspace: Path) -> None:
        found = said(await call(workspace, "search_files", pattern="two|root:"))
        assert found == ["src/a.py:2:two = 2", "src/b.ts:1:const two = 2"]

    async def test_a_name_with_a_line_break_stays_one_line(self, workspace: Path) -> None:
        (workspace / "a\nsrc/../b.txt".replace("/", "_")).write_text("")
        found = said(await call(workspace, "list_files", pattern="a*"))
        assert found == ["a\\nsrc_.._b.txt", "src/a.py"]

    async def test_a_folder_narrows_a_search(self, workspace: Path) -> None:
        found = await call(workspace, "search_files", pattern="two", path="src", glob="*.ts")
        assert said(found) == ["src/b.ts:1:const two = 2"]

    async def test_a_pattern_that_cannot_be_read_is_told(self, workspace: Path) -> None:
        found = await call(workspace, "search_files", pattern="(")
        assert found.is_error
        assert "the pattern can't be read" in found.content

    async def test_a_pattern_that_never_ends_is_ended(
        self, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "SEARCH_SECONDS", 0.5)
        (workspace / "long.txt").write_text("a" * 60 + "b")
        found = await call(workspace, "search_files", pattern="^(a+)+$")
        assert found.is_error
        assert "stopped after 0.5 s" in found.content

    async def test_results_have_an_end(
        self, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "MAX_RESULTS", 3)
        (workspace / "many.txt").write_text("x\n" * 10)
        found = said(await call(workspace, "search_files", pattern="x"))
        assert found[3:] == ["[there is more: narrow the search]"]


class TestWriting:
    async def test_a_file_is_made_and_written_over(self, workspace: Path) -> None:
        made = await call(workspace, "write_file", path="new/n.txt", content="a\n")
        assert said(made) == ["'new/n.txt' is made: 1 line."]
        again = await call(workspace, "write_file", path="new/n.txt", content="a\nb\n")
        assert said(again) == ["'new/n.txt' is written: 2 lines."]
        assert (workspace / "new" / "n.txt").read_text() == "a\nb\n"

    async def test_an_edit_changes_the_one_place(self, workspace: Path) -> None:
        await call(workspace, "edit_file", path="src/a.py", old_string="1", new_string="3")
        assert (workspace / "src" / "a.py").read_text() == "one = 3\ntwo = 2\n"

    async def test_an_edit_of_what_is_not_there_changes_nothing(self, workspace: Path) -> None:
        found = await call(workspace, "edit_file", path="src/a.py", old_string="9", new_string="3")
        assert "isn't in the file" in found.content
        assert (workspace / "src" / "a.py").read_text() == "one = 1\ntwo = 2\n"

    async def test_an_edit_keeps_secrets_that_were_not_shown(self, workspace: Path) -> None:
        (workspace / ".env").write_text(f"GITHUB_TOKEN={SECRET}\nPORT=1\n")
        await call(workspace, "edit_file", path=".env", old_string="PORT=1", new_string="PORT=2")
        assert (workspace / ".env").read_text() == f"GITHUB_TOKEN={SECRET}\nPORT=2\n"

    @pytest.mark.parametrize("mark", ["[REDACTED:github-token]", "a‹U+200B›b"])
    async def test_a_mark_is_never_written_for_what_it_stands_for(
        self, workspace: Path, mark: str
    ) -> None:
        found = await call(workspace, "write_file", path="src/a.py", content=f"one = '{mark}'\n")
        assert "has a mark that stands for" in found.content
        assert (workspace / "src" / "a.py").read_text() == "one = 1\ntwo = 2\n"

    @pytest.mark.parametrize("path", ["link.txt", "pipe", "../x", "src", ".", "a\x1bb"])
    async def test_what_is_no_plain_file_inside_is_not_written(
        self, workspace: Path, path: str
    ) -> None:
        found = await call(workspace, "write_file", path=path, content="x")
        assert found.is_error
        assert (workspace / "link.txt").is_symlink()
        assert not (workspace.parent / "x").exists()
