"""Which session changed a file, and which wrote a certain line of it."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.blame import Blame, blame_of, is_elsewhere
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.executions.written import ChangedLines, written_in
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.tables import rows

START = datetime(2026, 1, 2, 3, tzinfo=UTC)
NOTHING = frozenset[str]()


def lines(*texts: str) -> frozenset[str]:
    return frozenset(texts)


class Desk:
    """A store of sessions that change files, one after the other."""

    def __init__(self, database: StoreDatabase) -> None:
        self._store = ExecutionStore(database)
        self._database = database
        self._sessions = 0

    async def session(
        self, project: Path, *changes: tuple[str, str, dict[str, str]], shell: str = ""
    ) -> str:
        """Store a session that was asked for something and made these changes, or by a shell."""
        self._sessions += 1
        name = f"s{self._sessions}"
        at = START + timedelta(hours=self._sessions)
        calls, written = [], [json.dumps({"text": f"Repair gate {name}"})]
        for verb, path, arguments in changes:
            written.append(json.dumps({"input": {"file_path": path, **arguments}}))
            calls.append(
                ToolCall(
                    id=f"c{len(written)}",
                    tool="shell" if shell else verb.title(),
                    intent=f"{verb} {path}",
                    arguments=shell,
                    outcome=CallOutcome.OK,
                    at=at + timedelta(minutes=len(written)),
                    call_line=len(written),
                )
            )
        execution = Execution(
            id=f"claude:{name}",
            reader="claude",
            session_id=name,
            agent_id="ada",
            project=str(project),
            task=f"Repair gate {name}",
            ended_at=at,
            turns=(Turn(role="user", text=f"Repair gate {name}", first_line=1, last_line=1),),
            calls=tuple(calls),
            files_touched=tuple(path for _, path, _ in changes),
            line_count=len(written),
        )
        mark = FileMark(f"/logs/{name}.jsonl", 1, 1, "d")
        await self._store.save(execution, PackedLines(written), mark)
        return execution.id

    async def blame(self, path: Path, text: str | None = None) -> Blame:
        return await blame_of(self._database, self._store, str(path), text)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    (tmp_path / "data").mkdir()
    database = Database.in_dir(tmp_path / "data")
    await database.open()
    yield Desk(database)
    await database.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


async def test_a_file_names_the_calls_that_changed_it_the_latest_first(
    desk: Desk, project: Path
) -> None:
    target = project / "src" / "a.py"
    first = await desk.session(project, ("write", str(target), {"content": "x = 1\n"}))
    await desk.session(project, ("write", str(project / "src" / "b.py"), {"content": "x = 1"}))
    edit = {"old_string": "x = 1", "new_string": "x = 2"}
    third = await desk.session(project, ("edit", "src/a.py", edit), ("edit", "src/a.py", edit))
    told = await desk.blame(target)
    assert [(each.session_id, each.line) for each in told.touches] == [
        (third, 3),
        (third, 2),
        (first, 2),
    ]
    latest = told.touches[0]
    assert (latest.request, latest.call, latest.title) == (
        "Repair gate s3",
        "Edit src/a.py",
        "Repair gate s3 → changed a.py",
    )
    assert (latest.agent_id, latest.elsewhere, told.author) == ("ada", False, None)
    assert (await desk.blame(project / "src" / "c.py")).touches == ()


async def test_a_line_comes_with_the_call_that_wrote_it(desk: Desk, project: Path) -> None:
    target = project / "src" / "a.py"
    wrote = await desk.session(
        project, ("write", str(target), {"content": "import os\n\n\ndef f():\n    return 1\n"})
    )
    changed = await desk.session(
        project,
        (
            "edit",
            str(target),
            {"old_string": "def f():\n    return 1", "new_string": "def f():\n    return 2"},
        ),
    )
    await desk.session(
        project, ("write", str(target), {"content": "import os\n\n\ndef f():\n    return 2\n"})
    )
    for text, author in (
        ("import os", wrote),
        ("def f():", wrote),
        ("    return 2", changed),
        ("    return 1", wrote),
    ):
        told = await desk.blame(target, text)
        assert told.author == told.touches[0]
        assert told.author is not None
        assert told.author.session_id == author, text
        assert len(told.touches) == 3
    assert (await desk.blame(target, "    return 3")).author is None
    assert (await desk.blame(target, "   ")).author is None


async def test_a_line_that_came_back_is_of_who_brought_it_back(desk: Desk, project: Path) -> None:
    target = project / "src" / "a.py"
    await desk.session(project, ("write", str(target), {"content": "a\nb\n"}))
    await desk.session(project, ("write", str(target), {"content": "a\n"}))
    third = await desk.session(
        project, ("edit", str(target), {"old_string": "a", "new_string": "a\nb"})
    )
    told = await desk.blame(target, "b")
    assert told.author is not None
    assert told.author.session_id == third


async def test_a_patch_given_to_a_shell_and_a_change_without_a_call_are_found(
    desk: Desk, project: Path
) -> None:
    patch = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    shell = await desk.session(project, ("apply_patch", "src/a.py", {"cmd": patch}), shell=patch)
    bare = await desk.session(project, ("read", "src/a.py", {}))
    told = await desk.blame(project / "src" / "a.py", "in")
    assert told.author is not None
    assert (told.author.session_id, told.author.line) == (shell, 2)
    (other,) = told.touches[1:]
    assert (other.session_id, other.line, other.call) == (
        bare,
        1,
        "changed it, by no call on record",
    )


async def test_a_file_of_another_project_is_another_file(desk: Desk, project: Path) -> None:
    other = project.parent / "other"
    (other / "src").mkdir(parents=True)
    await desk.session(other, ("write", "src/a.py", {"content": "x"}))
    assert (await desk.blame(project / "src" / "a.py")).touches == ()


@pytest.mark.parametrize(
    ("named", "place", "found"),
    [
        ("src/a.py", "src/a.py", True),
        ("{project}/src/a.py", "src/a.py", True),
        ("src\\a.py", "src/a.py", True),
        ("src/a.py", "lib/src/a.py", True),
        ("src/a.py", "src/b.py", None),
        ("README.md", "README.md", None),
        ("/elsewhere/src/a.py", "src/a.py", None),
    ],
)
def test_a_project_that_was_renamed_has_the_same_files(
    project: Path, named: str, place: str, found: bool | None
) -> None:
    before = str(project.parent / "former")
    target = str(project / place)
    assert is_elsewhere(named.format(project=before), before, target) is found


def test_a_single_name_is_the_same_file_in_a_folder_of_the_same_name(project: Path) -> None:
    assert is_elsewhere("README.md", "/gone/shop", str(project / "README.md")) is True


def test_another_checkout_of_the_project_has_the_same_files(project: Path) -> None:
    checkout = project.parent / "checkout"
    checkout.mkdir()
    (project / ".git" / "worktrees" / "checkout").mkdir(parents=True)
    named = project / ".git" / "worktrees" / "checkout"
    (checkout / ".git").write_text(f"gitdir: {named}\n")
    target = str(project / "src" / "a.py")
    assert is_elsewhere("src/a.py", str(checkout), target) is True
    assert is_elsewhere("src/a.py", str(project), str(checkout / "src" / "a.py")) is True
    (checkout / ".git").unlink()
    assert is_elsewhere("src/a.py", str(checkout), target) is None


PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
 kept
-out
+in
*** Add File: src/b.py
+of another file
*** End Patch"""
BLOCKS = """------- SEARCH
out
same
=======
in
same
+++++++ REPLACE
"""


@rows(
    ("record", "added", "removed", "is_whole"),
    [
        ({"old_string": "out\nsame", "new_string": "in\nsame"}, "in", "out", False),
        ({"edits": [{"oldText": "out", "newText": "in"}]}, "in", "out", False),
        ({"arguments": json.dumps({"old_str": "out", "new_str": "in"})}, "in", "out", False),
        ({"input": PATCH}, "in", "out", False),
        ({"command": ["apply_patch", PATCH]}, "in", "out", False),
        ({"diff": BLOCKS}, "in", "out", False),
        ({"content": "in"}, "in", None, True),
        ({"input": {"file_text": "in"}}, "in", None, True),
    ],
)
def test_what_a_call_wrote_is_read_from_its_line(
    record: dict[str, object], added: str, removed: str | None, is_whole: bool
) -> None:
    found = written_in(json.dumps(record), "/shop/src/a.py")
    assert added in found.added
    assert found.removed == (lines(removed) if removed else NOTHING)
    assert not found.added & lines("same", "kept", "of another file")
    assert found.is_whole is is_whole


@rows("line", ["", "{}", '{"torn', "[]"])
def test_a_line_without_a_call_wrote_nothing_of_note(line: str) -> None:
    found = written_in(line, "/a.py")
    assert (found.removed, found.is_whole) == (NOTHING, False)
    assert isinstance(found, ChangedLines)
